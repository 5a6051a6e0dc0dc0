// Calibration and the area under the curve of sealed fits: rows on shares counted as in the clear, to the last step
// of a predictor, whole fits against their twin, groups of few rows, and what does not converge.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <random>

#include "methods/glm/sealed/risk.h"
#include "methods/glm/sealed/row_values.h"
#include "mpc/functions/scoring_step.h"
#include "stats/glm/risk.h"
#include "tests/methods/glm/sealed_tables.h"
#include "tests/methods/glm/sealed_twin.h"
#include "tests/mpc/harness.h"
#include "tests/thorough.h"

namespace partita::methods::glm::sealed_risk_test {
namespace {

using Eigen::Index;
using Eigen::VectorXd;
using mpc::Engine;
using mpc::IntMatrix;
using mpc::Shared;
using stats::glm::BinnedArea;
using stats::glm::RiskTable;
using testing::SealedCase;
using testing::SealedText;

constexpr Int128 kStep = 1;  // of a predictor
constexpr double kMostPredictor = 2048;

std::string WithCuts(const std::string& text, const std::string& cuts) {
  return text + "[analysis.risk_groups]\ncuts = " + cuts + "\n";
}

// ---- rows on shares

// A row as it is shared. One that is left out has predictor, outcome and copies 0.
struct Row {
  Int128 predictor = 0;  // at mpc::kStepBits
  int outcome = 0;
  bool taken = true;
  int copies = 1;
};

Int128 Predictor(double value) { return mpc::EncodeFixed(value, mpc::kStepBits); }
double Probability(Int128 predictor) {
  return 1 / (1 + std::exp(-mpc::DecodeFixed(predictor, mpc::kStepBits)));
}

// Three blocks, of which the first and the last are of the same holders.
using Blocks = std::vector<std::vector<Row>>;
SealedLayout LayoutOfBlocks(const Blocks& blocks) {
  SealedLayout layout;
  for (size_t b = 0; b < blocks.size(); ++b) {
    SealedBlock& block = layout.blocks.emplace_back();
    block.block = b;
    block.rows = blocks[b].size();
  }
  layout.groups = {{0, 2}, {1}};
  return layout;
}

struct Counted {
  std::vector<IntMatrix> cells;  // by group
  IntMatrix expected, bins, numbers;
};

struct Setting {
  std::string engine = "dealer";
  size_t parties = 2;
  uint64_t min_cell = 1;
};

Counted CountOnShares(const GlmStudy& study, const Blocks& blocks, const Setting& setting) {
  const Task& task = study.task;
  const SealedLayout layout = LayoutOfBlocks(blocks);
  mpc::testing::RunOptions options;
  options.kind = setting.engine;
  options.num_parties = setting.parties;
  options.releases = {{"out", "", "all", "exact", 10'000}};
  Counted counted;
  const auto result = mpc::testing::RunAndComparePlan(options, [&](Engine& engine, size_t) {
    std::vector<mpc::PrivateMatrix> inputs;
    std::deque<IntMatrix> kept;
    const auto add = [&](size_t rows, int bits, double bound, const auto& value) {
      IntMatrix& values = kept.emplace_back(IntMatrix{{rows, 1}, {}});
      for (size_t r = 0; r < rows; ++r) values.values.push_back(value(r));
      inputs.push_back(mpc::testing::Private(engine, 0, values, bound, bits));
    };
    std::vector<Row> all;
    for (const std::vector<Row>& rows : blocks) all.insert(all.end(), rows.begin(), rows.end());
    add(all.size(), mpc::kStepBits, kMostPredictor, [&](size_t r) { return all[r].predictor; });
    add(all.size(), kMeanBits, 1,
        [&](size_t r) { return mpc::EncodeFixed(Probability(all[r].predictor), kMeanBits); });
    const double most = task.spec.copies() ? task.spec.most_weight : 1;
    for (const std::vector<Row>& rows : blocks) {
      add(rows.size(), 0, most, [&](size_t r) { return rows[r].copies; });
      add(rows.size(), 0, 1, [&](size_t r) { return rows[r].outcome; });
      add(rows.size(), 0, most, [&](size_t r) { return rows[r].copies * rows[r].outcome; });
    }
    for (const std::vector<size_t>& group : layout.groups) {
      Int128 taken = 0;
      for (const size_t b : group) {
        for (const Row& row : blocks[b]) taken += row.taken ? row.copies : 0;
      }
      add(1, 0, static_cast<double>(task.max_rows()), [&](size_t) { return taken; });
    }
    const std::vector<Shared> shared = engine.Input(inputs);
    std::vector<SharedBlock> parts;
    size_t next = 2;
    for (const std::vector<Row>& rows : blocks) {
      SharedBlock& part = parts.emplace_back();
      part.rows = rows.size();
      if (task.spec.copies()) part.weights = shared[next];
      part.outcome = shared[next + 1];
      part.weighted_outcome = shared[next + 2];
      next += 3;
    }
    const SealedRisk risk{&layout, &parts, {shared[next], shared[next + 1]}, setting.min_cell};
    const SharedRisk made = SealedRiskAt(engine, task, risk, {shared[0], shared[1]});
    ASSERT_EQ(made.cells.size(), 2u);
    const std::vector<Shared> opened = {made.cells[0], made.cells[1], made.expected, made.bins,
                                        RiskNumbersFrom(engine, task, made, setting.min_cell)};
    const std::vector<IntMatrix> told = engine.Reveal("out", opened, mpc::kEverybody);
    if (engine.self() == std::optional<size_t>(0))
      counted = {{told[0], told[1]}, told[2], told[3], told[4]};
  });
  result.ThrowIfFailed();
  return counted;
}

// The rows of a group of the layout in the clear, with the predictor as the only column.
stats::glm::Rows PlainRows(const Blocks& blocks, const std::vector<size_t>& of) {
  std::vector<Row> kept;
  for (const size_t b : of) {
    for (const Row& row : blocks[b]) {
      for (int copy = 0; row.taken && copy < row.copies; ++copy) kept.push_back(row);
    }
  }
  const auto n = static_cast<Index>(kept.size());
  stats::glm::Rows rows{Eigen::MatrixXd(n, 1), VectorXd(n), VectorXd::Zero(n)};
  for (Index i = 0; i < n; ++i) {
    const Row& row = kept[static_cast<size_t>(i)];
    rows.x(i, 0) = mpc::DecodeFixed(row.predictor, mpc::kStepBits);
    rows.y[i] = row.outcome;
  }
  return rows;
}

RiskTable PlainTable(const GlmStudy& study, const Blocks& blocks, const std::vector<size_t>& of) {
  return RiskTableAt(study.task.spec.law, PlainRows(blocks, of), VectorXd::Ones(1),
                     study.task.units.limits, study.task.spec.cuts);
}

std::vector<Int128> Whole(const VectorXd& first, const VectorXd& second) {
  std::vector<Int128> numbers;
  for (const VectorXd* part : {&first, &second}) {
    for (const double number : *part) numbers.push_back(static_cast<Int128>(number));
  }
  return numbers;
}

void ExpectNumbers(const Task& task, const Counted& counted, const RiskTable& table, bool shown) {
  std::vector<double> numbers;
  for (const Int128 number : counted.numbers.values)
    numbers.push_back(mpc::DecodeFixed(number, kTotalBits));
  ASSERT_EQ(numbers.size(), NumRiskNumbers(task.spec));
  const BinnedArea area = stats::glm::AreaOf(table.bin_others, table.bin_events);
  const size_t groups = task.spec.cuts.size() + 1;
  EXPECT_EQ(numbers[0], shown ? 1 : 0);
  for (size_t g = 0; g < groups; ++g) {
    const auto i = static_cast<Index>(g);
    const double rows = table.others[i] + table.events[i];
    // Withheld is 0, not only not printed.
    EXPECT_EQ(numbers[1 + g], shown ? rows : 0);
    EXPECT_EQ(numbers[1 + groups + g], shown ? table.events[i] : 0);
    EXPECT_NEAR(numbers[1 + 2 * groups + g], shown ? table.expected[i] : 0,
                shown ? std::ldexp(rows + 1, -39) : 0);
  }
  EXPECT_NEAR(numbers[1 + 3 * groups], kTimesArea * area.area, kTimesArea * 0x1p-18);
  EXPECT_NEAR(numbers[2 + 3 * groups], kTimesArea * area.error, kTimesArea * 0x1p-18);
}

// Each count to the unit, group of holders by group.
void ExpectCounted(const GlmStudy& study, const Blocks& blocks, const Setting& setting,
                   bool shown = true) {
  SCOPED_TRACE(setting.engine);
  const Counted counted = CountOnShares(study, blocks, setting);
  const RiskTable all = PlainTable(study, blocks, {0, 1, 2});
  EXPECT_EQ(counted.bins.values, Whole(all.bin_others, all.bin_events));
  const SealedLayout layout = LayoutOfBlocks(blocks);
  for (size_t g = 0; g < layout.groups.size(); ++g) {
    const RiskTable table = PlainTable(study, blocks, layout.groups[g]);
    EXPECT_EQ(counted.cells[g].values, Whole(table.others, table.events));
  }
  for (size_t g = 0; g < counted.expected.values.size(); ++g) {
    EXPECT_NEAR(mpc::DecodeFixed(counted.expected.values[g], kMeanBits),
                all.expected[static_cast<Index>(g)], 0x1p-32);
  }
  ExpectNumbers(study.task, counted, all, shown);
}

Blocks RandomBlocks(uint64_t seed, double spread, bool copies) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  Blocks blocks;
  for (const size_t rows : {70, 50, 60}) {
    std::vector<Row>& block = blocks.emplace_back();
    for (size_t r = 0; r < rows; ++r) {
      Row row;
      row.copies = copies ? static_cast<int>(random() % 5) : 1;
      row.taken = copies ? row.copies > 0 : random() % 10 > 0;
      const double predictor = spread * normal(random) - 0.3;
      if (row.taken) row.predictor = Predictor(predictor);
      row.outcome = row.taken && random() % 3 == 0 ? 1 : 0;
      block.push_back(row);
    }
  }
  return blocks;
}

GlmStudy StudyOfRows(const std::string& cuts, bool copies, const std::string& engine = "dealer") {
  std::string text = SealedText("binomial", "event ~ dose", "rows", engine);
  if (copies) text = testing::WithWeights(text, "frequency", false);
  return testing::SealedStudyOf({WithCuts(text, cuts), 1, 100});
}

TEST(SealedRiskTest, RandomRowsAreCountedAsInTheClear) {
  for (const bool copies : {false, true}) {
    for (const double spread : {0.02, 1.5, 4.0}) {
      SCOPED_TRACE(fmt::format("{} {}", copies, spread));
      ExpectCounted(StudyOfRows("[0.1, 0.4, 0.5, 0.9]", copies), RandomBlocks(3, spread, copies),
                    {});
    }
  }
  ExpectCounted(StudyOfRows("[0.35]", false), RandomBlocks(4, 1, false), {});
}

TEST(SealedRiskTest, EveryEngineCountsTheSame) {
  for (const Setting& setting : {Setting{"replicated", 3}, Setting{"shamir", 3}, Setting{"ot", 2}})
    ExpectCounted(StudyOfRows("[0.3, 0.5]", false), RandomBlocks(5, 1.5, false), setting);
  for (const Setting& setting : Cases<Setting>({}, {{"replicated", 3}, {"shamir", 4}, {"ot", 2}}))
    ExpectCounted(StudyOfRows("[0.3, 0.5]", true), RandomBlocks(6, 1.5, true), setting);
}

// A predictor at a cut point is in the group above, one a step below in the one below it; bins likewise, and what
// is beyond them is in the first and the last. Rows that are left out are in none, wherever a predictor of 0 lies.
TEST(SealedRiskTest, CutPointsAreTakenToTheLastStep) {
  struct At {
    Int128 predictor;
    size_t group, bin;
  };
  const Int128 third = Predictor(std::log(0.25 / 0.75)), high = Predictor(std::log(0.9 / 0.1));
  const std::vector<At> rows = {{third, 1, 110},
                                {third - kStep, 0, 110},
                                {0, 2, 128},
                                {-kStep, 1, 127},
                                {high, 3, 163},
                                {high - kStep, 2, 163},
                                {Predictor(8), 3, 255},
                                {Predictor(8) - kStep, 3, 255},
                                {Predictor(7.9375), 3, 255},
                                {Predictor(7.9375) - kStep, 3, 254},
                                {Predictor(-8), 0, 0},
                                {Predictor(-8) - kStep, 0, 0},
                                {Predictor(-7.9375), 0, 1},
                                {Predictor(-7.9375) - kStep, 0, 0},
                                {Predictor(0.0625), 2, 129},
                                {Predictor(0.0625) - kStep, 2, 128},
                                {Predictor(16), 3, 255},
                                {Predictor(-24), 0, 0},
                                {Predictor(2000), 3, 255},
                                {Predictor(-2000), 0, 0}};
  const GlmStudy study = StudyOfRows("[0.25, 0.5, 0.9]", false);
  Blocks blocks(3);
  std::vector<Int128> cells(8), bins(2 * stats::glm::kRiskBins);
  for (size_t r = 0; r < rows.size(); ++r) {
    const int outcome = r % 3 == 0 ? 1 : 0;
    blocks[0].push_back({rows[r].predictor, outcome});
    cells[rows[r].group + (outcome == 1 ? 4 : 0)] += 1;
    bins[rows[r].bin + (outcome == 1 ? stats::glm::kRiskBins : 0)] += 1;
  }
  blocks[0].push_back({0, 0, false});
  for (int r = 0; r < 7; ++r) blocks[1].push_back({0, 0, r > 3});
  blocks[2].push_back({0, 0, false});
  bins[128] += 3;
  for (const Setting& setting :
       Cases<Setting>({{"dealer", 2}}, {{"replicated", 3}, {"shamir", 3}})) {
    SCOPED_TRACE(setting.engine);
    const Counted counted = CountOnShares(study, blocks, setting);
    EXPECT_EQ(counted.cells[0].values, cells);
    EXPECT_EQ(counted.cells[1].values, (std::vector<Int128>{0, 0, 3, 0, 0, 0, 0, 0}));
    EXPECT_EQ(counted.bins.values, bins);
  }
}

// Two outcomes below and from a probability of 1/2, at two groups of holders.
TEST(SealedRiskTest, GroupsOfFewRowsAreZeroBesideOwnRowsAsWell) {
  const GlmStudy study = StudyOfRows("[0.5]", false);
  const auto rows_of = [](int others_below, int events_above) {
    std::vector<Row> rows;
    const auto add = [&](double predictor, int outcome, int count) {
      for (int i = 0; i < count; ++i) rows.push_back({Predictor(predictor), outcome});
    };
    add(-1.03, 0, others_below);
    add(1.03, 1, events_above);
    add(-1.03, 1, 6);
    add(1.03, 0, 6);
    return rows;
  };
  const auto expect = [&](const std::vector<Row>& one, const std::vector<Row>& other, bool shown) {
    ExpectCounted(study, {one, other, {{0, 0, false}}}, {"dealer", 2, 5}, shown);
  };
  expect(rows_of(5, 5), rows_of(5, 9), true);
  expect(rows_of(0, 5), rows_of(0, 9), true);
  expect(rows_of(7, 5), rows_of(0, 9), true);
  // Six in all, but without one of the groups two.
  expect(rows_of(2, 6), rows_of(4, 6), false);
  expect(rows_of(6, 4), rows_of(6, 2), false);
  expect(rows_of(0, 6), rows_of(3, 6), false);
}

// What the plan says that no check asks: a holder with the outcome knows of all rows but one in which group they
// are, whatever another holder's 0/1 column z is there. Every cell passes, and what is left is z of that person.
TEST(SealedRiskTest, WhoKnowsTheOtherRowsFindsTheGroupOfOne) {
  const GlmStudy study = StudyOfRows("[0.5]", false);
  constexpr int kKnown = 10;
  for (const int z : {0, 1}) {
    std::vector<Row> known;
    for (int r = 0; r < kKnown; ++r) {
      for (const int outcome : {0, 1}) {
        known.push_back({Predictor(-1.03), outcome});
        known.push_back({Predictor(1.03), outcome});
      }
    }
    const std::vector<Row> person = {{Predictor(-0.53 + z), 1}};
    const Counted counted = CountOnShares(study, {known, known, person}, {"dealer", 2, 5});
    const auto told = [&](size_t number) {
      return mpc::DecodeFixed(counted.numbers.values[number], kTotalBits);
    };
    EXPECT_EQ(told(0), 1);
    const double events_above = told(4);
    EXPECT_EQ(events_above - 2 * kKnown, z);
  }
}

// ---- whole fits

void ExpectRisk(const SealedCase& made) {
  SCOPED_TRACE(made.text.substr(made.text.find("[[analysis]]")));
  const GlmStudy study = testing::SealedStudyOf(made);
  const testing::SealedRows rows = testing::SealedRowsOf(study, made);
  const testing::Ran ran = testing::RunSealed(study, rows);
  const Task& task = study.task;
  const testing::Twin twin = testing::TwinOf(task, rows.pooled);
  ASSERT_TRUE(ran.fitted.model.has_value() && ran.fitted.model->converged);
  const RiskTable table =
      RiskTableAt(task.spec.law, rows.pooled, twin.point, task.units.limits, task.spec.cuts);
  const BinnedArea area = stats::glm::AreaOf(table.bin_others, table.bin_events);
  // The point is 2^-14 standard errors from the maximum at most: rows that close to a limit may be beyond it.
  constexpr double kClose = 1e-4;
  double close_to_cut = 0, close_to_bin = 0;
  const VectorXd predictors = rows.pooled.x * twin.point + rows.pooled.offset;
  for (Index i = 0; i < predictors.size(); ++i) {
    for (const double cut : task.spec.cuts) {
      if (std::abs(predictors[i] - std::log(cut / (1 - cut))) < kClose)
        close_to_cut += rows.pooled.weight(i);
    }
    const double sixteenths = 16 * predictors[i];
    if (std::abs(sixteenths - std::round(sixteenths)) < 16 * kClose)
      close_to_bin += rows.pooled.weight(i);
  }
  EXPECT_LE(close_to_cut, 1);
  EXPECT_LE(close_to_bin, 8);
  const Risk risk = RiskOf(task.spec, ran.fitted.model->risk);
  ASSERT_TRUE(risk.shown);
  ASSERT_EQ(risk.groups.size(), task.spec.cuts.size() + 1);
  const double on_grid = std::ldexp(testing::kRounding, -task.grid_bits);
  // A row that moves to another bin changes half of its pairs at most.
  const double fewest = std::min(table.bin_events.sum(), table.bin_others.sum());
  const double moved = close_to_bin / (2 * fewest) + on_grid / kTimesArea;
  EXPECT_NEAR(risk.area, area.area, moved);
  EXPECT_NEAR(risk.error, area.error, moved);
  for (size_t g = 0; g < risk.groups.size(); ++g) {
    const auto i = static_cast<Index>(g);
    EXPECT_NEAR(risk.groups[g].rows, table.others[i] + table.events[i], close_to_cut);
    EXPECT_NEAR(risk.groups[g].events, table.events[i], close_to_cut);
    EXPECT_NEAR(risk.groups[g].expected, table.expected[i],
                close_to_cut + on_grid + kClose * risk.groups[g].rows);
  }
}

TEST(SealedRiskTest, FitsOfEverySplit) {
  const std::string formula = "event ~ age + dose * smoker + stage", cuts = "[0.3, 0.5, 0.7]";
  ExpectRisk({WithCuts(SealedText("binomial", formula, "columns"), cuts), 1});
  ExpectRisk({WithCuts(SealedText("binomial", formula, "both", "dealer", "complete"), cuts), 2});
  for (const SealedCase& made : Cases<SealedCase>(
           {{WithCuts(SealedText("binomial", "event ~ age + smoker", "rows", "dealer", "complete"),
                      cuts),
             3},
            {WithCuts(testing::WithWeights(SealedText("binomial", "event ~ age + stage", "rows"),
                                           "frequency", false),
                      cuts),
             4}},
           {{WithCuts(testing::Robust(SealedText("binomial", formula, "columns")), cuts), 5},
            {WithCuts(SealedText("binomial", formula, "columns") + "penalty = {ridge = 0.02}\n",
                      cuts),
             6},
            {WithCuts(SealedText("binomial", "event ~ dose + offset(log(years))", "columns"), cuts),
             7},
            {WithCuts(
                 SealedText("binomial", "event ~ age + dose - 1", "columns", "dealer", "complete"),
                 cuts),
             8}}))
    ExpectRisk(made);
}

// What both open comes from the same counts.
TEST(SealedRiskTest, BesideErrorsOfClusters) {
  for (const char* split : {"columns", "both"}) {
    const SealedCase made{
        WithCuts(testing::WithWards(SealedText("binomial", "event ~ age + dose + smoker", split,
                                               "dealer", "complete"),
                                    15, true),
                 "[0.4, 0.6]"),
        12};
    ExpectRisk(made);
    testing::ExpectTwin(made);
  }
}

TEST(SealedRiskTest, FitsOnEveryEngine) {
  const auto made = [](const char* engine, const char* split, size_t rows) {
    const std::string text =
        SealedText("binomial", "event ~ dose + smoker", split, engine, "complete");
    return SealedCase{WithCuts(text, "[0.4, 0.6]"), 11, rows};
  };
  ExpectRisk(made("replicated", "columns", 240));
  for (const SealedCase& each :
       Cases<SealedCase>({made("shamir", "both", 160)}, {made("ot", "columns", 120)}))
    ExpectRisk(each);
}

// Beside the first row of zeros of a fit that does not converge everything of the groups is 0, the area as well.
TEST(SealedRiskTest, NothingOpensWhereTheFitDoesNotConverge) {
  SealedCase made{WithCuts(SealedText("binomial", "event ~ age + smoker", "columns"), "[0.3, 0.7]"),
                  15};
  made.separated = true;
  const GlmStudy study = testing::SealedStudyOf(made);
  const testing::Ran ran = testing::RunSealed(study, testing::SealedRowsOf(study, made));
  const FittedModel& told = ran.fitted.model.value();
  EXPECT_FALSE(told.converged);
  EXPECT_EQ(told.risk, std::vector<double>(NumRiskNumbers(study.task.spec)));
  EXPECT_FALSE(RegressionOf(study.task, ran.fitted).risk.has_value());
}

// More than there are in any group.
TEST(SealedRiskTest, WithheldGroupsOpenAsZeros) {
  const SealedCase made{
      WithCuts(SealedText("binomial", "event ~ age + smoker", "columns"), "[0.3, 0.7]"), 16};
  const GlmStudy study = testing::SealedStudyOf(made);
  const testing::Ran ran = testing::RunSealed(study, testing::SealedRowsOf(study, made), 290);
  const FittedModel& told = ran.fitted.model.value();
  ASSERT_TRUE(told.converged);
  const std::vector<double> groups(told.risk.begin(), told.risk.end() - 2);
  EXPECT_EQ(groups, std::vector<double>(groups.size()));
  const Risk risk = RiskOf(study.task.spec, told.risk);
  EXPECT_FALSE(risk.shown);
  EXPECT_GT(risk.area, 0.5);
}

}  // namespace
}  // namespace partita::methods::glm::sealed_risk_test
