// Errors of clusters at level sealed against their twin in the clear: splits, engines, families, weights, rows
// that are left out, clusters of several blocks, what counts as a cluster, how large one may be and why, and the
// limits of what one cluster may move.
#include <gtest/gtest.h>

#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "mpc/fixed_point.h"
#include "mpc/functions/arithmetic.h"
#include "mpc/functions/cluster_sandwich.h"
#include "mpc/functions/scoring_step.h"
#include "tests/methods/glm/sealed_twin.h"
#include "tests/study/edited.h"
#include "tests/thorough.h"

namespace partita::methods::glm::sealed_clusters_test {
namespace {

using study::Edited;
using testing::ExpectTwin;
using testing::Ran;
using testing::Robust;
using testing::RunSealed;
using testing::SealedCase;
using testing::SealedText;
using testing::WithWards;
using testing::WithWeights;

constexpr int kMostWard = 15;  // wards 0 and 13 to 15 have no rows

SealedCase Made(const std::string& family, const std::string& formula, const std::string& split,
                uint64_t seed, bool at_second = true, const std::string& engine = "dealer",
                const std::string& missing = "refuse", size_t rows = 300) {
  return {WithWards(SealedText(family, formula, split, engine, missing), kMostWard, at_second),
          seed, rows};
}

// At the holder with the outcome, and at the other one.
TEST(SealedClustersTest, ColumnsSplit) {
  ExpectTwin(Made("binomial", "event ~ age + dose * smoker + stage", "columns", 1, true));
  ExpectTwin(Made("gaussian", "score ~ age * dose + stage", "columns", 2, true));
  for (const SealedCase& made :
       Cases<SealedCase>({Made("poisson", "visits ~ age + smoker * dose + offset(log(years))",
                               "columns", 3, false),
                          Made("modified-poisson", "event ~ dose + smoker", "columns", 4, false)},
                         {Made("binomial", "event ~ age + dose - 1", "columns", 5, false),
                          Made("gaussian", "score ~ dose + smoker - 1", "columns", 6, false)}))
    ExpectTwin(made);
}

TEST(SealedClustersTest, GammaModels) {
  ExpectTwin(
      testing::WithCosts(Made("gamma", "years ~ age + dose + smoker", "columns", 7, true), 2));
}

// A ward at two holders is two clusters.
TEST(SealedClustersTest, RowsAndBothSplit) {
  ExpectTwin(Made("binomial", "event ~ age + smoker + stage", "rows", 8));
  ExpectTwin(Made("gaussian", "score ~ age + dose", "both", 9));
  for (const SealedCase& made :
       Cases<SealedCase>({Made("poisson", "visits ~ age + dose + smoker:stage + stage + smoker",
                               "both", 10, false)},
                         {Made("gaussian", "score ~ age + dose - 1", "rows", 11),
                          Made("poisson", "visits ~ dose + smoker", "rows", 12)}))
    ExpectTwin(made);
}

TEST(SealedClustersTest, HoldersLeaveRowsOut) {
  ExpectTwin(
      Made("binomial", "event ~ age + dose * smoker", "columns", 13, true, "dealer", "complete"));
  ExpectTwin(Made("gaussian", "score ~ age + dose", "both", 14, false, "dealer", "complete"));
}

TEST(SealedClustersTest, EveryEngine) {
  ExpectTwin(
      Made("binomial", "event ~ dose * smoker", "columns", 15, true, "replicated", "refuse", 240));
  ExpectTwin(Made("gaussian", "score ~ dose + smoker", "both", 16, false, "shamir", "refuse", 160));
  ExpectTwin(Made("gaussian", "score ~ smoker", "columns", 17, true, "ot", "refuse", 120));
  for (const SealedCase& made : Cases<SealedCase>(
           {}, {Made("binomial", "event ~ dose", "columns", 18, false, "shamir", "refuse", 200),
                Made("poisson", "visits ~ smoker", "both", 19, true, "replicated", "refuse", 160),
                Made("binomial", "event ~ smoker", "columns", 20, false, "ot", "refuse", 120)}))
    ExpectTwin(made);
}

TEST(SealedClustersTest, WeightsAndRidges) {
  const auto weighted = [](const std::string& text, const char* kind, bool at_second,
                           uint64_t seed) {
    return SealedCase{WithWards(WithWeights(text, kind, !at_second), kMostWard, at_second), seed};
  };
  ExpectTwin(
      weighted(SealedText("binomial", "event ~ age + stage", "columns"), "sampling", true, 21));
  ExpectTwin(weighted(SealedText("gaussian", "score ~ age + dose", "rows"), "frequency", true, 22));
  SealedCase ridge = Made("gaussian", "score ~ age + stage", "columns", 23);
  ridge.text += "penalty = {ridge = 0.05}\n";
  ExpectTwin(ridge);
  for (const SealedCase& made : Cases<SealedCase>(
           {weighted(
               SealedText("gaussian", "score ~ dose + smoker", "columns", "dealer", "complete"),
               "precision", false, 24)},
           {weighted(SealedText("poisson", "visits ~ age + dose", "both", "dealer", "complete"),
                     "sampling", true, 25),
            weighted(SealedText("binomial", "event ~ dose + smoker", "rows"), "frequency", true,
                     26)}))
    ExpectTwin(made);
}

// ---- clusters of several blocks

// Two clinics have rows of their own, a registry the wards and events of both.
SealedCase Registry(uint64_t seed) {
  const std::string text = SealedText("binomial", "event ~ age + dose", "columns");
  const size_t parties = text.find("[[party]]"), table = text.find("[table]"),
               variables = text.find("[[variable]]");
  const char* const columns =
      "columns = [\"visits\", \"age\", \"smoker\", \"years\", \"score\", \"dose\", \"stage\"]\n";
  return {WithWards(text.substr(0, parties) +
                        fmt::format("[[party]]\nname = \"first\"\nroles = [\"holder\", "
                                    "\"receiver\"]\n{0}rows = [\"a\"]\n[[party]]\nname = "
                                    "\"second\"\nroles = [\"holder\"]\n{0}rows = [\"b\"]\n"
                                    "[[party]]\nname = \"registry\"\nroles = [\"holder\"]\n"
                                    "columns = [\"event\", \"ward\"]\nrows = [\"a\", \"b\"]\n"
                                    "[[party]]\nname = \"helper\"\nroles = [\"dealer\"]\n",
                                    columns) +
                        text.substr(table, text.find("[[rows]]") - table) + "block = \"part\"\n" +
                        "[[rows]]\nname = \"a\"\ncount = ROWS\n[[rows]]\nname = \"b\"\ncount = "
                        "ROWS\n" +
                        text.substr(variables),
                    kMostWard, true),
          seed, 200};
}

TEST(SealedClustersTest, AWardOfTheRegistryIsOneCluster) {
  const SealedCase made = Registry(31);
  const GlmStudy study = testing::SealedStudyOf(made);
  EXPECT_EQ(NumClusters(testing::SealedRowsOf(study, made).pooled), made.wards);
  ExpectTwin(made);
}

// ---- what counts as a cluster

// All rows of ward 0 lack an age: the ward's holder leaves them out, or keeps them, as it has no ages. Then nobody
// tells it that others leave them out.
TEST(SealedClustersTest, AClusterIsOneOfWhichItsHolderTakesARow) {
  for (const std::string split : {"columns", "rows"}) {
    SealedCase made = Made("gaussian", "score ~ age + dose", split, 32, true, "dealer", "complete");
    made.ward_of_lacking = true;
    const GlmStudy study = testing::SealedStudyOf(made);
    const testing::SealedRows rows = testing::SealedRowsOf(study, made);
    EXPECT_EQ(NumClusters(rows.pooled), study.layout.groups.size() * made.wards);
    EXPECT_EQ(rows.clusters, split == "columns" ? made.wards + 1 : 2 * made.wards);
    ExpectTwin(made);
  }
}

// Persons with a ward each: who of them the other holder leaves out the number does not tell. It is above that of
// the rows that take part.
TEST(SealedClustersTest, TheNumberTellsNothingOfRowsThatOthersLeaveOut) {
  SealedCase made{
      WithWards(SealedText("gaussian", "score ~ age + smoker", "columns", "dealer", "complete"),
                149, true),
      40, 150};
  made.wards = 0;
  const GlmStudy study = testing::SealedStudyOf(made);
  const testing::SealedRows rows = testing::SealedRowsOf(study, made);
  const OwnBlock& own = rows.blocks[1].front();
  EXPECT_EQ(static_cast<double>(rows.clusters), own.selector.sum());
  EXPECT_GT(rows.clusters, NumClusters(rows.pooled));
  ExpectTwin(made);
}

bool ClustersPass(const SealedCase& made, int min_cell) {
  SealedCase asked = made;
  asked.text = Edited(made.text, "min_cell = 1\n", fmt::format("min_cell = {}\n", min_cell));
  const GlmStudy study = testing::SealedStudyOf(asked);
  return RunSealed(study, testing::SealedRowsOf(study, asked)).answers.value().clusters;
}

TEST(SealedClustersTest, FewClustersAreFound) {
  SealedCase made = Made("gaussian", "score ~ age", "columns", 33);
  EXPECT_TRUE(ClustersPass(made, 12));
  EXPECT_FALSE(ClustersPass(made, 13));
  // More than columns.
  made.wards = 3;
  EXPECT_TRUE(ClustersPass(made, 1));
  made.wards = 2;
  EXPECT_FALSE(ClustersPass(made, 1));
  // 24 of two groups of holders, 12 without each of them; of the registry's all are in either clinic's rows.
  EXPECT_TRUE(ClustersPass(Made("gaussian", "score ~ age", "both", 34), 12));
  EXPECT_FALSE(ClustersPass(Made("gaussian", "score ~ age", "both", 34), 13));
  EXPECT_TRUE(ClustersPass(Registry(35), 12));
  EXPECT_FALSE(ClustersPass(Registry(35), 13));
}

// What the plan refuses is what the check refuses of the best rows that there can be: a value each in turn, then a row
// each. By split, values that the dictionary allows, rows of each block and min_cell.
bool PlanRefuses(const SealedCase& made) {
  try {
    testing::SealedStudyOf(made);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBadInput);
    EXPECT_NE(error.message().find("level sealed opens nothing without at least"),
              std::string::npos)
        << error.message();
    EXPECT_NE(error.hint().find("take a variable of more clusters"), std::string::npos);
    return true;
  }
  return false;
}

TEST(SealedClustersTest, ThePlanRefusesWhatNoRowsWouldPass) {
  const auto asked = [](const std::string& split, int values, int min_cell, size_t rows = 60,
                        const std::string& formula = "score ~ age") {
    SealedCase made{Edited(WithWards(SealedText("gaussian", formula, split), values - 1, true),
                           "min_cell = 1\n", fmt::format("min_cell = {}\n", min_cell)),
                    61, rows};
    made.wards = static_cast<size_t>(values) - 1;  // without ward 0, which is of no row
    return made;
  };
  // By columns and min_cell, at one holder; of two they are twice as many, but not without each.
  for (const auto& [split, columns, cell] :
       {std::tuple{"columns", 5, 7}, std::tuple{"rows", 3, 7}, std::tuple{"both", 3, 7}}) {
    SCOPED_TRACE(split);
    const std::string four = "score ~ age + dose + smoker";  // columns, with the intercept
    EXPECT_TRUE(PlanRefuses(asked(split, columns - 1, 1, 60, four)));
    EXPECT_FALSE(PlanRefuses(asked(split, columns, 1, 60, four)));
    EXPECT_TRUE(PlanRefuses(asked(split, cell - 1, cell)));
    EXPECT_FALSE(PlanRefuses(asked(split, cell, cell)));
    // One value more, as ward 0 has no rows: all others are there, and the check passes.
    const SealedCase best = asked(split, cell + 1, cell);
    const GlmStudy study = testing::SealedStudyOf(best);
    EXPECT_TRUE(RunSealed(study, testing::SealedRowsOf(study, best)).answers.value().clusters);
    // With the values that are refused it does not.
    SealedCase few = best;
    few.wards = static_cast<size_t>(cell) - 1;
    EXPECT_FALSE(RunSealed(study, testing::SealedRowsOf(study, few)).answers.value().clusters);
  }
  // Not more than rows.
  EXPECT_TRUE(PlanRefuses(asked("rows", 40, 21, 20)));
  EXPECT_FALSE(PlanRefuses(asked("rows", 40, 20, 20)));
  EXPECT_TRUE(PlanRefuses(asked("columns", 40, 21, 20)));
  EXPECT_FALSE(PlanRefuses(asked("columns", 40, 20, 20)));
}

// A registry's wards are those of either clinic: as many without one of them.
TEST(SealedClustersTest, ThePlanCountsARegistrysValuesOnce) {
  const auto asked = [](int most_ward, int min_cell) {
    SealedCase made = Registry(62);
    made.text = Edited(made.text, "min_cell = 1\n", fmt::format("min_cell = {}\n", min_cell));
    made.text =
        Edited(made.text, "upper = 15\n[design]", fmt::format("upper = {}\n[design]", most_ward));
    return made;
  };
  EXPECT_TRUE(PlanRefuses(asked(2, 1)));  // 3 columns
  EXPECT_FALSE(PlanRefuses(asked(3, 1)));
  EXPECT_TRUE(PlanRefuses(asked(5, 7)));
  EXPECT_FALSE(PlanRefuses(asked(6, 7)));
}

// ---- the largest cluster

bool LargestPasses(const SealedCase& made) {
  const GlmStudy study = testing::SealedStudyOf(made);
  const Ran ran = RunSealed(study, testing::SealedRowsOf(study, made));
  EXPECT_TRUE(ran.answers.value().clusters);
  return ran.answers->largest_cluster;
}

// Of pooled rows from `first` to before `last`, copies counted.
bool AtMostHalf(const stats::glm::Rows& rows, Eigen::Index first, Eigen::Index last) {
  std::map<uint32_t, double> by_cluster;
  double all = 0, most = 0;
  for (Eigen::Index i = first; i < last; ++i) {
    double& count = by_cluster[rows.clusters[static_cast<size_t>(i)]];
    count += rows.weight(i);
    all += rows.weight(i);
    most = std::max(most, count);
  }
  return 2 * most <= all;
}

// From how many rows of one ward on `passes` of the rows in the clear is false.
template <typename Passes>
size_t FirstRefused(SealedCase made, Passes passes) {
  for (made.in_one_ward = 1; made.in_one_ward < made.rows; ++made.in_one_ward) {
    const GlmStudy study = testing::SealedStudyOf(made);
    if (!passes(testing::SealedRowsOf(study, made))) break;
  }
  return made.in_one_ward;
}

void ExpectFirstRefused(SealedCase made, size_t rows) {
  made.in_one_ward = rows - 1;
  EXPECT_TRUE(LargestPasses(made));
  made.in_one_ward = rows;
  EXPECT_FALSE(LargestPasses(made));
}

TEST(SealedClustersTest, NoClusterHasMoreThanHalfOfTheRows) {
  ExpectFirstRefused(Made("gaussian", "score ~ age", "columns", 41), 151);
  // 151 of 600 in a ward, but of 300 without the other holder's.
  ExpectFirstRefused(Made("gaussian", "score ~ age", "rows", 42), 151);
  ExpectFirstRefused(Made("gaussian", "score ~ age", "both", 43, false, "replicated"), 151);
  // Of two blocks together.
  ExpectFirstRefused(Registry(44), 101);
}

// Over rows that take part, and of frequencies over the rows that they stand for.
TEST(SealedClustersTest, HalfIsOfTheRowsThatTakePart) {
  const SealedCase lacking =
      Made("gaussian", "score ~ age + dose", "columns", 45, true, "dealer", "complete");
  const size_t of_lacking = FirstRefused(lacking, [](const testing::SealedRows& rows) {
    return AtMostHalf(rows.pooled, 0, rows.pooled.y.size());
  });
  ASSERT_NE(of_lacking, 151u);
  ExpectFirstRefused(lacking, of_lacking);
  const SealedCase copies{
      WithWards(WithWeights(SealedText("gaussian", "score ~ age", "rows"), "frequency", false),
                kMostWard, true),
      46};
  const size_t of_copies = FirstRefused(copies, [](const testing::SealedRows& rows) {
    const auto first =
        static_cast<Eigen::Index>((rows.blocks[0].front().weights.array() > 0).count());
    return AtMostHalf(rows.pooled, 0, first) &&
           AtMostHalf(rows.pooled, first, rows.pooled.y.size());
  });
  ASSERT_NE(of_copies, 151u);
  ExpectFirstRefused(copies, of_copies);
}

// Four rows with a ward each, all others in one. Their scores are those of the four, with the other sign.
SealedCase FourBesideOneWard(uint64_t seed) {
  SealedCase made = Made("binomial", "event ~ age + dose + smoker", "columns", seed);
  made.in_one_ward = made.rows - 4;
  return made;
}

// What would open otherwise: who has the columns tries all outcomes of the four rows.
TEST(SealedClustersTest, ErrorsBesideOneWardTellTheOutcomesOfFourRows) {
  EXPECT_FALSE(LargestPasses(FourBesideOneWard(50)));
  constexpr uint64_t kTables = 20;
  constexpr double kGrid = 0x1p-6;
  uint64_t found = 0;
  for (uint64_t seed = 50; seed < 50 + kTables; ++seed) {
    const SealedCase made = FourBesideOneWard(seed);
    const GlmStudy study = testing::SealedStudyOf(made);
    const stats::glm::Rows rows = testing::SealedRowsOf(study, made).pooled;
    const testing::Twin twin = testing::TwinOf(study.task, rows);
    // As they open.
    const Eigen::ArrayXd errors = twin.covariance.diagonal().array().sqrt();
    const Eigen::ArrayXd steps = errors.unaryExpr(
        [](double error) { return kGrid * std::exp2(std::floor(std::log2(error))); });
    const Eigen::ArrayXd told = (errors / steps).round() * steps;
    const Eigen::VectorXd point = (twin.point.array() / steps).round() * steps;
    const Eigen::MatrixXd inverse =
        SumsAt(study.task.spec.law, rows, point, study.task.units.limits).information.inverse();
    int best = -1;
    double least = std::numeric_limits<double>::infinity();
    for (int tried = 0; tried < 16; ++tried) {
      Eigen::MatrixXd scores = Eigen::MatrixXd::Zero(5, rows.x.cols());
      for (Eigen::Index i = 0; i < 4; ++i) {
        const double mean = 1 / (1 + std::exp(-rows.x.row(i).dot(point)));
        scores.row(i) = (((tried >> i) & 1) - mean) * rows.x.row(i);
        scores.row(4) -= scores.row(i);
      }
      const Eigen::MatrixXd moves = scores * inverse;
      const Eigen::ArrayXd guess = moves.colwise().norm().transpose().array();
      const double distance = ((guess - told) / steps).square().sum();
      if (distance >= least) continue;
      least = distance;
      best = tried;
    }
    int truth = 0;
    for (int i = 0; i < 4; ++i) truth |= (rows.y[i] > 0 ? 1 : 0) << i;
    found += best == truth ? 1 : 0;
  }
  EXPECT_EQ(found, kTables);
}

// Its score is 0 at the maximum, so that there is no error to tell.
TEST(SealedClustersTest, OneClusterHasNoErrors) {
  SealedCase made = Made("gaussian", "score ~ age", "columns", 36);
  made.wards = 1;
  const GlmStudy study = testing::SealedStudyOf(made);
  const Ran ran = RunSealed(study, testing::SealedRowsOf(study, made));
  EXPECT_FALSE(ran.answers.value().clusters);
  EXPECT_EQ(ran.fitted.model.value().clusters, 1u);
  EXPECT_FALSE(ran.fitted.model->converged);
}

// Clusters of one row each are robust errors of rows.
TEST(SealedClustersTest, ARowEachIsAsRobust) {
  for (const std::string family : {"gaussian", "binomial"}) {
    const std::string formula = family == "gaussian" ? "score ~ age + dose" : "event ~ age + dose";
    SealedCase each{WithWards(SealedText(family, formula, "columns"), 149, true), 37, 150};
    each.wards = 0;
    ExpectTwin(each);
    const SealedCase robust{Robust(SealedText(family, formula, "columns")), 37, 150};
    const auto errors = [](const SealedCase& made) {
      const GlmStudy study = testing::SealedStudyOf(made);
      return RunSealed(study, testing::SealedRowsOf(study, made)).fitted.model.value();
    };
    const FittedModel clustered = errors(each), of_rows = errors(robust);
    EXPECT_EQ(clustered.clusters, 150u);
    // The same up to what the two ways err by, and then rounded.
    for (Eigen::Index j = 0; j < of_rows.standard_errors.size(); ++j)
      EXPECT_NEAR(clustered.standard_errors[j], of_rows.standard_errors[j], of_rows.steps[j]);
  }
}

// ---- what a cluster may move

// Counts of tens of thousands that vary as an exponential law: Pearson's sums of wards are above
// kMostPearson, beyond which level iterates leaves them out and has no result.
TEST(SealedClustersTest, NoPearsonSumIsTooLarge) {
  SealedCase made = Made("poisson", "visits ~ age + smoker", "columns", 38);
  made.text = Edited(made.text, "name = \"visits\"\ntype = \"integer\"\nlower = 0\nupper = 60\n",
                     "name = \"visits\"\ntype = \"integer\"\nlower = 0\nupper = 1000000\n");
  made.visits_times = 6000;
  made.rows = 600;
  made.wards = 6;
  const GlmStudy study = testing::SealedStudyOf(made);
  const testing::SealedRows rows = testing::SealedRowsOf(study, made);
  const stats::glm::Maximum maximum =
      Maximise(study.task.spec.law, rows.pooled, study.task.units.limits, Eigen::VectorXd::Zero(3));
  EXPECT_EQ(
      MeatAt(study.task.spec.law, rows.pooled, maximum.point, study.task.units.limits).outside,
      made.wards);
  ExpectTwin(made);
}

mpc::IntMatrix AsWhole(const Eigen::MatrixXd& values, int bits) {
  mpc::IntMatrix whole{{static_cast<size_t>(values.rows()), static_cast<size_t>(values.cols())},
                       {}};
  for (Eigen::Index r = 0; r < values.rows(); ++r) {
    for (Eigen::Index c = 0; c < values.cols(); ++c)
      whole.values.push_back(mpc::EncodeFixed(values(r, c), bits));
  }
  return whole;
}

// X N X from scores that are as large as they may be, beside the same in doubles; and influences beyond 2^10
// and beyond every product are failures, of the unit's both parities.
TEST(SealedClustersTest, TheSandwichOfScores) {
  constexpr size_t kClusters = 20, kColumns = 3;
  std::mt19937_64 random(39);
  std::normal_distribution<double> normal;
  for (const int unit_bits : {16, 17}) {
    for (const double largest : {1.0, 900.0, 3000.0, 1e9}) {
      SCOPED_TRACE(fmt::format("{} {}", unit_bits, largest));
      Eigen::MatrixXd root = Eigen::MatrixXd::NullaryExpr(
          kColumns, 6, [&](Eigen::Index, Eigen::Index) { return normal(random); });
      Eigen::MatrixXd k = root * root.transpose();
      const Eigen::VectorXd unit = (1.01 * k.diagonal()).cwiseSqrt().cwiseInverse();
      k = unit.asDiagonal() * k * unit.asDiagonal();
      const Eigen::MatrixXd x = k.inverse();
      Eigen::VectorXd d(kColumns);
      d << 1, 8, 64;
      // Influences in the unit, and the scores that make them.
      Eigen::MatrixXd a = Eigen::MatrixXd::NullaryExpr(
          kClusters, kColumns, [&](Eigen::Index, Eigen::Index) { return normal(random); });
      a(7, 1) = largest;
      const double root_of_unit = std::exp2(0.5 * unit_bits);
      const Eigen::MatrixXd g = root_of_unit * a * k * d.cwiseInverse().asDiagonal();
      const double bound = std::exp2(std::ceil(std::log2(g.cwiseAbs().maxCoeff())));
      const Eigen::MatrixXd wanted = a.transpose() * a;
      const bool fits = largest < 1024;
      const mpc::IntMatrix whole_g = AsWhole(g, 60), whole_d = AsWhole(d, 36),
                           whole_x = AsWhole(x, 40);
      mpc::testing::RunOptions options;
      options.releases = {{"test", "", "all", "exact", 1, mpc::kEverybody, kColumns + 1}};
      const auto result =
          mpc::testing::RunAndComparePlan(options, [&](mpc::Engine& engine, size_t) {
            const std::vector<mpc::PrivateMatrix> inputs = {
                mpc::testing::Private(engine, 0, whole_g, bound, 60),
                mpc::testing::Private(engine, 0, whole_d, 0x1p14, 36),
                mpc::testing::Private(engine, 0, whole_x, 0x1p20, 40)};
            const std::vector<mpc::Shared> shared = engine.Input(inputs);
            mpc::Shared failures = mpc::WithBound(engine.Public({{{1, 1}, {0}}, 0}), 0);
            const mpc::Sandwich sandwich = mpc::SandwichOfClusters(engine, shared[0], unit_bits,
                                                                   shared[1], shared[2], failures);
            const std::vector<mpc::Shared> opened = {failures, sandwich.diagonal};
            const auto numbers = engine.Reveal("test", opened, mpc::kEverybody);
            if (!engine.self()) return;
            EXPECT_EQ(numbers[0].values.front() > 0, !fits);
            for (Eigen::Index j = 0; fits && j < wanted.rows(); ++j) {
              EXPECT_NEAR(mpc::DecodeFixed(numbers[1].values[static_cast<size_t>(j)],
                                           sandwich.diagonal.fraction_bits),
                          wanted(j, j), 0x1p-20 * (1 + wanted(j, j)));
            }
          });
      result.ThrowIfFailed();
    }
  }
}

}  // namespace
}  // namespace partita::methods::glm::sealed_clusters_test
