// The secure step against the same step in the clear.
#include "methods/mixture/step.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "crypto/prg.h"
#include "methods/mixture/mixture.h"
#include "stats/blr/variates.h"
#include "stats/mixture/gradient.h"
#include "tests/data/expect_error.h"
#include "tests/methods/mixture/adult_reference.h"
#include "tests/mpc/evaluate.h"

namespace partita::methods::mixture::step_test {
namespace {

using Eigen::ArrayXXd;
using Eigen::Index;
using mpc::testing::Setting;
using stats::mixture::Family;

constexpr double kClipTo = 1 - 0x1p-17;

stats::mixture::Layout EveryFamily(size_t parties) {
  return stats::mixture::MakeLayout({{"level", Family::kCategorical, 5, 1, 0},
                                     {"flag", Family::kBernoulli, 0, 1, 1},
                                     {"share", Family::kBeta, 0, 1, 0},
                                     {"size", Family::kGaussian, 0, 1, 1},
                                     {"count", Family::kPoisson, 0, 4, parties - 1},
                                     {"more", Family::kCategorical, 3, 1, parties - 1}});
}

std::vector<std::vector<double>> SomeValues(size_t rows, uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto unit = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };
  std::vector<std::vector<double>> values(6);
  for (size_t n = 0; n < rows; ++n) {
    values[0].push_back(static_cast<double>(random() % 5));
    values[1].push_back(static_cast<double>(random() % 2));
    values[2].push_back(1e-6 + (1 - 2e-6) * unit());
    values[3].push_back(3 * unit() - 1.5);
    values[4].push_back(static_cast<double>(random() % 12));
    values[5].push_back(static_cast<double>(random() % 3));
  }
  return values;
}

ArrayXXd RandomTheta(const stats::mixture::Layout& layout, Index components, uint8_t seed,
                     double spread) {
  crypto::Prg prg(crypto::Key(std::array<uint8_t, 32>{seed}));
  stats::blr::Variates variates(prg);
  ArrayXXd theta(components, static_cast<Index>(1 + layout.num_columns));
  for (Index i = 0; i < theta.size(); ++i) theta.data()[i] = spread * variates.Normal();
  return theta;
}

struct Problem {
  stats::mixture::Layout layout;
  std::vector<HolderModel> holders;
  std::vector<stats::mixture::Rows> rows;  // by holder, on the grid
  stats::mixture::Rows all;                // of the whole model, on the grid
  StepDesign design;
  std::vector<std::vector<uint8_t>> neutral = {};  // by holder
};

Problem MakeProblem(const stats::mixture::Layout& layout,
                    const std::vector<std::vector<double>>& values, size_t parties,
                    StepDesign design) {
  Problem problem;
  problem.layout = layout;
  std::vector<mpc::PartyIndex> index(parties);
  std::iota(index.begin(), index.end(), mpc::PartyIndex{0});
  problem.holders = HoldersOf(layout, index);
  problem.all = OnStatisticGrid(layout, stats::mixture::MakeRows(layout, values), 64);
  for (size_t p = 0; p < parties; ++p)
    problem.rows.push_back(stats::mixture::PartyRows(layout, p, problem.all));
  design.num_rows = values[0].size();
  if (design.batch_rows == 0) design.batch_rows = design.num_rows;
  if (design.noise_parties.empty()) design.noise_parties = {0};
  problem.design = DesignFor(problem.holders, std::move(design));
  return problem;
}

// Runs one step at every process, costs as planned; `noise` in grid units, by party. Returns what
// was opened, in the order of the model.
ArrayXXd RunStep(const Setting& setting, const Problem& problem, const ArrayXXd& theta,
                 const std::vector<uint32_t>& batch,
                 const std::vector<std::vector<Int128>>& noise) {
  mpc::testing::RunOptions options = mpc::testing::OptionsOf(setting);
  options.releases = {{kGradientRelease, "noisy sum", "all", "", 1000}};
  std::vector<ArrayXXd> opened(setting.num_parties);
  mpc::testing::RunAndComparePlan(options, [&](mpc::Engine& engine, size_t) {
    std::vector<StatisticReader> readers(problem.holders.size());
    std::optional<HolderValues> own;
    const bool knows = engine.self().has_value();
    ModelAt model = MakeModelAt(problem.holders, theta);
    for (size_t h = 0; h < problem.holders.size(); ++h) {
      if (engine.self() != problem.holders[h].party) continue;
      readers[h] = ReaderOf(problem.holders[h].layout, problem.rows[h]);
      own = ValuesAt(problem.holders[h], model.components[h], problem.rows[h], batch,
                     problem.neutral.empty() ? std::span<const uint8_t>() : problem.neutral[h]);
    }
    StepParameters parameters =
        knows ? model.parameters : NoParameters(problem.holders, problem.design.components);
    parameters.batch = batch;
    SecureStep step(engine, problem.design, readers);
    const auto self = engine.self().value_or(0);
    const ArrayXXd sum = step.Run(
        parameters, own, knows && self < noise.size() ? noise[self] : std::vector<Int128>{});
    if (knows) opened[self] = InModelOrder(problem.holders, sum);
  });
  for (const ArrayXXd& other : opened) EXPECT_TRUE((other == opened[0]).all());
  return opened[0];
}

std::vector<std::vector<Int128>> NoNoise(const Problem& problem, size_t parties) {
  return std::vector<std::vector<Int128>>(parties,
                                          std::vector<Int128>(problem.design.num_values()));
}

double RelativeDifference(const ArrayXXd& a, const ArrayXXd& b) {
  return (a - b).matrix().norm() / b.matrix().norm();
}

// The same step in the clear, with the slopes that the protocol applies.
ArrayXXd Expected(const Problem& problem, const ArrayXXd& theta,
                  const std::vector<uint32_t>& batch) {
  stats::mixture::Components components =
      stats::mixture::MakeComponents(problem.layout, theta.rightCols(theta.cols() - 1));
  components.slope = RoundSlopes(components.slope);
  components.below = RoundSlopes(components.below);
  const Eigen::ArrayXd log_pi = stats::mixture::LogSoftmax(theta.col(0));
  const stats::mixture::ClippedRows rows = stats::mixture::ClipRows(
      log_pi, stats::mixture::LogDensities(problem.layout, components, problem.all, batch),
      stats::mixture::SquaredScores(problem.layout, components, problem.all, batch),
      problem.design.clip * kClipTo);
  ArrayXXd sum(theta.rows(), theta.cols());
  const Eigen::ArrayXd weights = rows.weights.rowwise().sum();
  sum.col(0) = weights - log_pi.exp() * rows.scale.sum();
  sum.rightCols(theta.cols() - 1) = stats::mixture::ScoreSums(
      components,
      stats::mixture::WeightedStatistics(problem.layout, problem.all, batch, rows.weights),
      weights);
  return sum;
}

// The series for the inverse root errs by 4e-8, everything else by less.
constexpr double kTolerance = 6e-8;

TEST(DpviStepTest, IsTheStepInTheClear) {
  const stats::mixture::Layout layout = EveryFamily(2);
  for (const Setting& setting : mpc::testing::kSettings) {
    if (setting.kind == "shamir") continue;  // has no rows of fixed operands
    SCOPED_TRACE(setting.kind + std::to_string(setting.num_parties));
    const bool slow = setting.kind == "ot";
    for (const double clip : {1.0, 0.3, 20.0}) {
      if (slow && clip != 1) continue;
      StepDesign design;
      design.components = slow ? 3 : 7;
      design.clip = clip;
      const Problem problem = MakeProblem(layout, SomeValues(slow ? 6 : 40, 3), 2, design);
      const ArrayXXd theta =
          RandomTheta(layout, static_cast<Index>(design.components), 5, clip == 1 ? 1 : 2);
      std::vector<uint32_t> batch = {3, 1, 5, 2};
      if (!slow) batch.insert(batch.end(), {17, 39, 0, 22, 23, 24});
      const ArrayXXd got =
          RunStep(setting, problem, theta, batch, NoNoise(problem, setting.num_parties));
      EXPECT_LT(RelativeDifference(got, Expected(problem, theta, batch)), kTolerance);
    }
  }
}

TEST(DpviStepTest, EmptyBatchesAndOneComponent) {
  const stats::mixture::Layout layout = EveryFamily(2);
  const Setting& dealer = mpc::testing::kSettings[0];
  for (const size_t components : {1, 2}) {
    StepDesign design;
    design.components = components;
    design.batch_rows = 5;
    const Problem problem = MakeProblem(layout, SomeValues(9, 4), 2, design);
    const ArrayXXd theta = RandomTheta(layout, static_cast<Index>(components), 6, 1);
    const ArrayXXd none = RunStep(dealer, problem, theta, {}, NoNoise(problem, 2));
    EXPECT_EQ(none.abs().maxCoeff(), 0);
    const std::vector<uint32_t> full = {8, 0, 8, 3, 4};
    const ArrayXXd got = RunStep(dealer, problem, theta, full, NoNoise(problem, 2));
    EXPECT_LT(RelativeDifference(got, Expected(problem, theta, full)), kTolerance);
  }
}

TEST(DpviStepTest, MoreHolders) {
  for (const Setting& setting : {mpc::testing::kSettings[1], mpc::testing::kSettings[2]}) {
    SCOPED_TRACE(setting.kind);
    const stats::mixture::Layout layout = EveryFamily(3);
    for (const double clip : {1.0, 20.0}) {
      StepDesign design;
      design.components = 5;
      design.clip = clip;
      const Problem problem = MakeProblem(layout, SomeValues(12, 8), 3, design);
      const ArrayXXd theta = RandomTheta(layout, 5, 9, 1);
      const std::vector<uint32_t> batch = {0, 1, 2, 3, 11, 7};
      const ArrayXXd got = RunStep(setting, problem, theta, batch, NoNoise(problem, 3));
      EXPECT_LT(RelativeDifference(got, Expected(problem, theta, batch)), kTolerance);
    }
  }
}

// Four and five holders: two halvings, and factors that no weights are in.
TEST(DpviStepTest, FourAndFiveHolders) {
  const stats::mixture::Layout layout =
      stats::mixture::MakeLayout({{"level", Family::kCategorical, 5, 1, 0},
                                  {"flag", Family::kBernoulli, 0, 1, 1},
                                  {"share", Family::kBeta, 0, 1, 2},
                                  {"size", Family::kGaussian, 0, 1, 3},
                                  {"count", Family::kPoisson, 0, 4, 4},
                                  {"more", Family::kCategorical, 3, 1, 1}});
  std::vector<stats::mixture::Feature> features = layout.features;
  features[4].party = 3;
  const stats::mixture::Layout of_four = stats::mixture::MakeLayout(features);
  for (const size_t holders : {4, 5}) {
    StepDesign design;
    design.components = 5;
    const Problem problem =
        MakeProblem(holders == 4 ? of_four : layout, SomeValues(12, 8), holders, design);
    const ArrayXXd theta = RandomTheta(layout, 5, 9, 1);
    const std::vector<uint32_t> batch = {0, 1, 2, 3, 11, 7};
    const ArrayXXd got =
        RunStep({"dealer", holders}, problem, theta, batch, NoNoise(problem, holders));
    EXPECT_LT(RelativeDifference(got, Expected(problem, theta, batch)), kTolerance);
  }
}

// Three holders, of whom the first two, or one of them and the last, explain a row by different
// components: as below for two.
TEST(DpviStepTest, DisagreeingPairsShrinkRowsOnly) {
  const stats::mixture::Layout layout =
      stats::mixture::MakeLayout({{"a", Family::kCategorical, 2, 1, 0},
                                  {"b", Family::kCategorical, 2, 1, 1},
                                  {"c", Family::kCategorical, 2, 1, 2}});
  StepDesign design;
  design.components = 2;
  const Problem problem = MakeProblem(layout, {{0, 1}, {1, 1}, {0, 1}}, 3, design);
  const int floor = FormatOf(problem.design).floor;
  EXPECT_GE(floor, 25);
  for (const Index other : {3, 5}) {  // level 0 of b, of c
    for (int bits = 1; bits <= 60; bits += bits < 20 ? 9 : 3) {
      ArrayXXd theta = ArrayXXd::Zero(2, 7);
      const double logit = bits * std::log(2.0);
      theta(0, 1) = logit;  // level 0 of a
      theta(other == 3 ? 0 : 1, other) = logit;
      const ArrayXXd got = RunStep({"dealer", 3}, problem, theta, {0}, NoNoise(problem, 3));
      const ArrayXXd expected = Expected(problem, theta, {0});
      const double norm = got.matrix().norm(), whole = expected.matrix().norm();
      EXPECT_LE(norm, 1 - 0x1p-18) << bits;
      EXPECT_LE(norm, whole * (1 + 1e-5)) << bits;
      if (norm > 1e-3) {
        EXPECT_LT((got / norm - expected / whole).abs().maxCoeff(), 1e-4) << bits;
      }
      if (bits < floor - 1) {
        EXPECT_NEAR(norm, whole, 1e-5 * whole) << bits;
      }
    }
  }
}

// A row whose squared scores exceed a holder's part of the bound weighs nothing.
TEST(DpviStepTest, RowsBeyondTheBoundWeighNothing) {
  for (const size_t parties : {2, 3}) {
    StepDesign design;
    design.components = 3;
    const std::vector<uint32_t> batch = stats::mixture::AllRows(40);
    Problem problem = MakeProblem(EveryFamily(parties), SomeValues(40, 3), parties, design);
    const ArrayXXd theta = RandomTheta(problem.layout, 3, 5, 1);
    const ModelAt model = MakeModelAt(problem.holders, theta);
    ArrayXXd largest(parties, batch.size());  // by holder and row
    for (size_t h = 0; h < parties; ++h) {
      const HolderValues values =
          ValuesAt(problem.holders[h], model.components[h], problem.rows[h], batch);
      largest.row(static_cast<Index>(h)) = values.squared_scores.colwise().maxCoeff();
    }
    std::vector<double> of_rows;
    for (Index n = 0; n < largest.cols(); ++n) of_rows.push_back(largest.col(n).maxCoeff());
    std::vector<double> sorted = of_rows;
    std::sort(sorted.begin(), sorted.end());
    const double bound = (sorted[19] + sorted[20]) / 2;
    problem.design.max_square = 1 + static_cast<double>(parties) * bound;
    std::vector<uint32_t> kept;
    for (const uint32_t row : batch) {
      if (of_rows[row] <= bound) kept.push_back(row);
    }
    ASSERT_GT(kept.size(), 0u);
    ASSERT_LT(kept.size(), batch.size());
    const ArrayXXd got =
        RunStep({"dealer", parties}, problem, theta, batch, NoNoise(problem, parties));
    EXPECT_LT(RelativeDifference(got, Expected(problem, theta, kept)), kTolerance);
  }
}

// A row that one of its holders makes neutral adds nothing to the sum, whatever the others hold of
// it: the step is that of a batch without it, at the cost of the whole batch.
TEST(DpviStepTest, NeutralRowsAddNothing) {
  for (const size_t parties : {2, 3}) {
    StepDesign design;
    design.components = 3;
    const std::vector<uint32_t> batch = {0, 4, 7, 11, 12, 30, 31};
    Problem problem = MakeProblem(EveryFamily(parties), SomeValues(40, 3), parties, design);
    const ArrayXXd theta = RandomTheta(problem.layout, 3, 5, 1);
    const ArrayXXd whole =
        RunStep({"dealer", parties}, problem, theta, batch, NoNoise(problem, parties));
    problem.neutral.assign(parties, std::vector<uint8_t>(40));
    problem.neutral[0][7] = problem.neutral[0][31] = 1;
    problem.neutral[parties - 1][12] = problem.neutral[parties - 1][31] = 1;
    const ArrayXXd got =
        RunStep({"dealer", parties}, problem, theta, batch, NoNoise(problem, parties));
    const std::vector<uint32_t> kept = {0, 4, 11, 30};
    EXPECT_LT(RelativeDifference(got, Expected(problem, theta, kept)), kTolerance);
    EXPECT_GT(RelativeDifference(got, whole), 0.01);
  }
}

// So does one whose density is no number under parameters that noise has led astray: nothing stops.
TEST(DpviStepTest, ARowWithoutADensityIsNeutral) {
  StepDesign design;
  design.components = 2;
  const Problem problem = MakeProblem(EveryFamily(2), SomeValues(6, 1), 2, design);
  ModelAt model = MakeModelAt(problem.holders, RandomTheta(problem.layout, 2, 2, 1));
  const std::vector<uint32_t> batch = {3, 1};
  const HolderValues good =
      ValuesAt(problem.holders[0], model.components[0], problem.rows[0], batch);
  EXPECT_LT(good.squared_scores.maxCoeff(), problem.design.holder_square());
  const std::vector<uint8_t> neutral = {0, 1, 0, 0, 0, 0};
  const HolderValues marked =
      ValuesAt(problem.holders[0], model.components[0], problem.rows[0], batch, neutral);
  EXPECT_TRUE((marked.log_densities.col(0) == good.log_densities.col(0)).all());
  EXPECT_GT(marked.squared_scores.col(1).minCoeff(), problem.design.holder_square());
  model.components[0].log_normaliser(1) = HUGE_VAL;
  const HolderValues astray =
      ValuesAt(problem.holders[0], model.components[0], problem.rows[0], batch);
  EXPECT_TRUE(astray.log_densities.allFinite());
  EXPECT_TRUE(astray.squared_scores.allFinite());
  EXPECT_GT(astray.squared_scores.minCoeff(), problem.design.holder_square());
}

// The paper's formulation: 30 and 40 bits where the other has 60, a little less room when clipping.
TEST(DpviStepTest, ThePapersFormulation) {
  for (const Setting& setting : {mpc::testing::kSettings[0], mpc::testing::kSettings[2]}) {
    for (const double clip : {1.0, 20.0}) {
      StepDesign design;
      design.formulation = Formulation::kPaper;
      design.components = 3;
      design.clip = clip;
      design.batch_rows = 7;
      const Problem problem = MakeProblem(EveryFamily(2), SomeValues(12, 8), 2, design);
      const ArrayXXd theta = RandomTheta(problem.layout, 3, 9, 1);
      const std::vector<uint32_t> batch = {0, 1, 2, 3, 11};
      const ArrayXXd got =
          RunStep(setting, problem, theta, batch, NoNoise(problem, setting.num_parties));
      EXPECT_LT(RelativeDifference(got, Expected(problem, theta, batch)), 1e-5);
    }
  }
}

// Both holders' noise shares are in the sum, exactly, coordinate by coordinate.
TEST(DpviStepTest, NoiseSharesAreAdded) {
  StepDesign design;
  design.components = 2;
  design.noise_parties = {0, 1};
  design.noise_bound = 1e6;
  const Problem problem = MakeProblem(EveryFamily(2), SomeValues(4, 1), 2, design);
  const ArrayXXd theta = RandomTheta(problem.layout, 2, 2, 1);
  std::vector<std::vector<Int128>> noise = NoNoise(problem, 2);
  ArrayXXd in_order(2, static_cast<Index>(1 + problem.design.num_columns()));
  for (size_t i = 0; i < noise[0].size(); ++i) {
    noise[0][i] = (Int128{static_cast<int64_t>(i)} - 9) << kGridBits;
    noise[1][i] = Int128{1} << (kGridBits - 1);
    const auto columns = static_cast<size_t>(in_order.cols());
    in_order(static_cast<Index>(i / columns), static_cast<Index>(i % columns)) =
        static_cast<double>(i) - 8.5;
  }
  for (const Setting& setting : {mpc::testing::kSettings[0], mpc::testing::kSettings[2]}) {
    const ArrayXXd got = RunStep(setting, problem, theta, {}, noise);
    EXPECT_TRUE((got == InModelOrder(problem.holders, in_order)).all());
  }
}

// Rows that the holders explain by different components: den falls below every power that is told
// apart. Whatever the protocol makes of such a row, it is shorter than C, in its direction, and at
// its full length as long as den is above the floor.
TEST(DpviStepTest, DisagreeingHoldersShrinkRowsOnly) {
  const stats::mixture::Layout layout = stats::mixture::MakeLayout(
      {{"a", Family::kCategorical, 2, 1, 0}, {"b", Family::kCategorical, 2, 1, 1}});
  StepDesign design;
  design.components = 2;
  const Problem problem = MakeProblem(layout, {{0, 1}, {1, 1}}, 2, design);
  const int floor = FormatOf(problem.design).floor;
  EXPECT_GE(floor, 26);
  for (int bits = 1; bits <= 60; bits += bits < 20 ? 6 : 1) {
    // Row 0: component 0 by the first holder, 1 by the second, by a factor of 2^bits each.
    ArrayXXd theta = ArrayXXd::Zero(2, 5);
    const double logit = bits * std::log(2.0);
    theta(0, 1) = logit;  // level 0 of a
    theta(0, 3) = logit;  // level 0 of b
    const ArrayXXd got =
        RunStep(mpc::testing::kSettings[0], problem, theta, {0}, NoNoise(problem, 2));
    const ArrayXXd expected = Expected(problem, theta, {0});
    const double norm = got.matrix().norm(), whole = expected.matrix().norm();
    EXPECT_LE(norm, 1 - 0x1p-18) << bits;
    EXPECT_LE(norm, whole * (1 + 1e-5)) << bits;
    if (norm > 1e-3) {
      EXPECT_LT((got / norm - expected / whole).abs().maxCoeff(), 1e-4) << bits;
    }
    if (bits < floor - 1) {
      EXPECT_NEAR(norm, whole, 1e-5 * whole) << bits;
    }
  }
}

TEST(DpviStepTest, ReferenceStepOnAdult) {
  const auto reference = ReadAdultReference();
  const nlohmann::json check = reference.json["one_step_check"];
  const size_t components = 20;
  const FlatIndex index(reference.layout, components);
  StepDesign design;
  design.components = components;
  Problem problem;
  problem.layout = reference.layout;
  problem.holders = HoldersOf(problem.layout, {0, 1});
  const stats::mixture::Rows rows = OnStatisticGrid(problem.layout, reference.train, 64);
  for (size_t p : {0, 1})
    problem.rows.push_back(stats::mixture::PartyRows(problem.layout, p, rows));
  design.num_rows = rows.num_rows;
  design.batch_rows = 100;
  design.noise_parties = {0};
  problem.design = DesignFor(problem.holders, design);
  ArrayXXd theta(components, static_cast<Index>(1 + problem.layout.num_columns));
  for (Index j = 0; j < theta.cols(); ++j) {
    for (Index k = 0; k < theta.rows(); ++k) {
      theta(k, j) = std::sin(
          1.0 + static_cast<double>(index(static_cast<size_t>(k), static_cast<size_t>(j))));
    }
  }
  for (const Setting& setting : {mpc::testing::kSettings[0], mpc::testing::kSettings[2]}) {
    const ArrayXXd got = RunStep(setting, problem, theta, stats::mixture::AllRows(100),
                                 NoNoise(problem, setting.num_parties));
    const ArrayXXd whole = stats::mixture::ClippedGradientSum(
        problem.layout, reference.train, stats::mixture::AllRows(100), theta, 1);
    EXPECT_LT(RelativeDifference(got, whole), 1e-5);
    double difference = 0, norm = 0;
    for (size_t i = 0; i < check["indices"].size(); ++i) {
      const size_t wanted = check["indices"][i];
      for (Index j = 0; j < theta.cols(); ++j) {
        for (Index k = 0; k < theta.rows(); ++k) {
          if (index(static_cast<size_t>(k), static_cast<size_t>(j)) != wanted) continue;
          const double expected = check["clipped_sum_at_indices"][i];
          difference += std::pow(got(k, j) - expected, 2);
          norm += expected * expected;
        }
      }
    }
    EXPECT_LT(std::sqrt(difference / norm), 1e-5);
    const double of_sum = check["norm_of_clipped_sum"];
    EXPECT_NEAR(got.matrix().norm(), of_sum, 1e-5 * of_sum);
  }
}

// A plan of one step after the statistics were masked.
struct StepCost {
  uint64_t rounds = 0, bytes = 0, first_bytes = 0;
};
StepCost PlannedStep(const Setting& setting, size_t holders) {
  const stats::mixture::Layout adult = ModelLayout(AdultColumns());
  std::vector<stats::mixture::Feature> features = adult.features;
  if (holders > 2) {
    for (size_t f = 0; f < features.size(); ++f) features[f].party = f * holders / features.size();
  }
  std::vector<mpc::PartyIndex> index(holders);
  std::iota(index.begin(), index.end(), mpc::PartyIndex{0});
  const std::vector<HolderModel> models = HoldersOf(stats::mixture::MakeLayout(features), index);
  StepDesign design;
  design.num_rows = 30162;
  design.batch_rows = 100;
  design.components = 20;
  for (size_t p = 0; p < setting.num_parties; ++p) design.noise_parties.push_back(p);
  mpc::PlanEngine plan = mpc::testing::OnlinePlan(setting.kind, setting.num_parties);
  SecureStep step(plan, DesignFor(models, design), std::vector<StatisticReader>(holders));
  const StepParameters parameters = NoParameters(models, 20);
  for (const char* phase : {"first", "second"}) {
    plan.BeginPhase(phase);
    step.Run(parameters, {}, {});
  }
  const auto phases = plan.phases();
  StepCost cost;
  for (uint64_t rounds : phases[1].rounds) cost.rounds = std::max(cost.rounds, rounds);
  cost.bytes = phases[1].Total().bytes;
  cost.first_bytes = phases[0].Total().bytes;
  return cost;
}

TEST(DpviStepTest, StatedCosts) {
  const StepCost dealer = PlannedStep(mpc::testing::kSettings[0], 2);
  EXPECT_EQ(dealer.rounds, 23u);
  // Statistics travel once: N x J elements.
  EXPECT_EQ(dealer.first_bytes - dealer.bytes, uint64_t{30162} * 152 * 16);
  // Masking d afresh instead, as the element-wise way does, would take K J N_b more elements.
  EXPECT_LT(dealer.bytes, uint64_t{20} * 152 * 100 * 16 / 2);
  EXPECT_EQ(PlannedStep(mpc::testing::kSettings[2], 2).rounds, 30u);
  EXPECT_EQ(PlannedStep(mpc::testing::kSettings[1], 2).rounds, 23u);
  EXPECT_EQ(PlannedStep({"ot", 2}, 2).rounds, 25u);
  // More holders: fourteen rounds for every halving of all but the last.
  EXPECT_EQ(PlannedStep(mpc::testing::kSettings[1], 3).rounds, 37u);
  EXPECT_EQ(PlannedStep({"dealer", 5}, 4).rounds, 51u);
  EXPECT_EQ(PlannedStep({"dealer", 5}, 5).rounds, 51u);
}

TEST(DpviStepTest, DesignsThatCannotBe) {
  StepDesign good;
  good.components = 2;
  const StepDesign design = MakeProblem(EveryFamily(2), SomeValues(4, 1), 2, good).design;
  CheckDesign(design);
  const auto refused = [&](const std::function<void(StepDesign&)>& change, const char* message) {
    StepDesign bad = design;
    change(bad);
    ExpectError(ErrorCode::kBadInput, message, "", [&] { CheckDesign(bad); });
  };
  refused([](StepDesign& d) { d.components = 5; }, "5 components for 4 rows");
  refused([](StepDesign& d) { d.components = 0; }, "0 components");
  refused([](StepDesign& d) { d.batch_rows = 5; }, "a batch of 5 of 4 rows");
  refused([](StepDesign& d) { d.clip = 0; }, "clipping norm");
  refused([](StepDesign& d) { d.clip = std::nan(""); }, "clipping norm");
  refused([](StepDesign& d) { d.max_square = 1e9; }, "squared gradients");
  refused([](StepDesign& d) { d.holders.pop_back(); }, "fewer than two");
  refused([](StepDesign& d) { d.noise_parties.clear(); }, "nobody adds noise");
  refused([](StepDesign& d) { d.holders[0].statistic_bound = 1e6; }, "do not fit");
}

// A density that is not a number: its owner learns the row, before anything is sent.
TEST(DpviStepTest, NotANumberIsToldToItsOwner) {
  StepDesign good;
  good.components = 2;
  const Problem problem = MakeProblem(EveryFamily(2), SomeValues(4, 1), 2, good);
  const ArrayXXd theta = RandomTheta(problem.layout, 2, 2, 1);
  mpc::testing::RunOptions options;
  options.releases = {{kGradientRelease, "", "all", "", 10}};
  const mpc::testing::RunResult result =
      mpc::testing::RunAll(options, [&](mpc::Engine& engine, size_t) {
        std::vector<StatisticReader> readers(2);
        ModelAt model = MakeModelAt(problem.holders, theta);
        model.parameters.batch = {3, 2};
        std::optional<HolderValues> own;
        for (size_t h : {0, 1}) {
          if (engine.self() != h) continue;
          readers[h] = ReaderOf(problem.holders[h].layout, problem.rows[h]);
          own = ValuesAt(problem.holders[h], model.components[h], problem.rows[h],
                         model.parameters.batch);
          if (h == 1) own->log_densities(0, 1) = std::nan("");
        }
        SecureStep step(engine, problem.design, readers);
        step.Run(model.parameters, own,
                 engine.self() == 0 ? NoNoise(problem, 1)[0] : std::vector<Int128>{});
      });
  ASSERT_TRUE(result.errors[1]);
  ExpectError(ErrorCode::kBadData, "row 3 of the own table", "",
              [&] { std::rethrow_exception(result.errors[1]); });
  ASSERT_TRUE(result.errors[0]);
  try {
    std::rethrow_exception(result.errors[0]);
  } catch (const Error& error) {
    EXPECT_NE(error.code(), ErrorCode::kBadData);
    EXPECT_EQ(error.message().find("row 3"), std::string::npos);
  }
}

}  // namespace
}  // namespace partita::methods::mixture::step_test
