// Gaussian regressions of sums that a database formed: what its holder brings is what the rows of a CSV file give, in
// every design; so is the whole result, to the last digit, and that of the rows themselves to its own; sums at a point
// are exact; what needs rows says so; sums of rows that differ by few are not formed.
#include "methods/glm/pushed_sums.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "run/party/pushed_sums.h"
#include "stats/glm/gaussian_moments.h"
#include "tests/data/expect_error.h"
#include "tests/data/source/sqlite_of_csv.h"
#include "tests/run/study_in_process.h"
#include "tests/study/edited.h"

namespace partita::methods::glm::pushed_sums_test {
namespace {

using nlohmann::json;
using partita::testing::Prepare;
using study::Edited;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr size_t kRowsOfEach = 200, kHolders = 2;

const std::string kStudy = R"(partita = 1
name = "linear"
[[party]]
name = "north"
roles = ["holder", "receiver"]
rows = ["r0"]
[[party]]
name = "south"
roles = ["holder"]
rows = ["r1"]
[[party]]
name = "helper"
roles = ["dealer"]
[[rows]]
name = "r0"
count = 200
[[rows]]
name = "r1"
count = 200
[[variable]]
name = "y"
type = "numeric"
lower = -4
upper = 9
[[variable]]
name = "age"
type = "numeric"
lower = 20
upper = 90
[[variable]]
name = "dose"
type = "numeric"
lower = -3
upper = 2
[[variable]]
name = "smoker"
type = "integer"
lower = 0
upper = 1
[[variable]]
name = "sex"
type = "factor"
levels = ["f", "m"]
[[variable]]
name = "ward"
type = "factor"
levels = ["a", "b", "c"]
contrasts = "sum"
[[variable]]
name = "stage"
type = "ordered"
levels = ["I", "II", "III"]
[[variable]]
name = "copies"
type = "integer"
lower = 0
upper = 3
[engine]
name = "dealer"
input_bits = 30
[design]
site = "ignore"
missing = "complete"
[disclosure]
min_cell = 2
[release]
accept = "table of covariates"
[[analysis]]
method = "glm"
family = "gaussian"
protocol = "aggregates"
steps = 2
formula = "y ~ age + dose"
release = ["estimates"]
)";

std::string WithFormula(const std::string& formula, const std::string& text = kStudy) {
  return Edited(text, "y ~ age + dose", formula);
}

// Of a holder; some cells are missing, some weights 0.
std::string CsvOfRows(uint32_t seed, bool missing = true) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<double> unit(0, 1);
  const auto choice = [&](uint32_t n) { return static_cast<uint32_t>(generator() % n); };
  std::string csv = "y,age,dose,smoker,sex,ward,stage,copies\n";
  for (size_t r = 0; r < kRowsOfEach; ++r) {
    const double age = 20 + 70 * unit(generator), dose = -3 + 5 * unit(generator);
    const uint32_t smoker = choice(2), sex = choice(2), ward = choice(3), stage = choice(3);
    const double y = 0.02 * age + 0.7 * dose - 0.5 * smoker + 0.3 * sex * dose + 0.2 * ward -
                     0.1 * stage + unit(generator);
    csv +=
        fmt::format("{:.17g},{},{:.17g},{},{},{},{},{}\n", y,
                    missing && r % 19 == 3 ? "" : fmt::format("{:.17g}", age), dose, smoker,
                    sex == 0 ? "f" : "m", missing && r % 23 == 5 ? "" : std::string(1, "abc"[ward]),
                    stage == 0   ? "I"
                    : stage == 1 ? "II"
                                 : "III",
                    choice(4));
  }
  return csv;
}

class GlmPushedSumsTest : public ::testing::Test {
 protected:
  ~GlmPushedSumsTest() override { std::filesystem::remove_all(folder_); }

  void MakeTables(bool missing = true) {
    for (size_t h = 0; h < kHolders; ++h)
      std::ofstream(Csv(h)) << CsvOfRows(static_cast<uint32_t>(7 + h), missing);
    std::filesystem::remove(folder_ / "t.db");
    std::filesystem::remove(Record());
    data::testing::SqliteOfCsv(Csv(0), folder_ / "t.db");
    std::ofstream(Source()) << "source = \"sqlite:t.db\"\ntable = \"t\"\nmode = \"push-down\"\n";
  }
  std::filesystem::path Csv(size_t holder) const { return folder_ / fmt::format("{}.csv", holder); }
  std::filesystem::path Source() const { return folder_ / "t.toml"; }
  std::filesystem::path Record() const { return run::SumSetsPath(Source()); }

  run::FormedSums Form(const run::Study& study) const {
    return run::FormSums(study, 0, Source(), Record());
  }
  std::filesystem::path File(const run::Study& study) const {
    const run::FormedSums formed = Form(study);
    std::ofstream(folder_ / "t.sums") << data::SumFileText(formed.query, formed.sums);
    return folder_ / "t.sums";
  }
  static run::LocalData Load(const run::Study& study, const std::filesystem::path& file) {
    SilentProgress progress;
    return run::LoadLocalData(study, 0, file, {}, progress);
  }
  json ResultOf(const std::string& text, const std::filesystem::path& first) const {
    const auto study = Prepare(text);
    SilentProgress progress;
    const auto outcomes = partita::testing::Outcomes(
        run::SimulateInProcess(*study, {first, Csv(1), {}}, {}, progress));
    partita::testing::ExpectPlannedTraffic(outcomes);
    return partita::testing::ResultOf(outcomes.at(0));
  }

  const std::filesystem::path folder_ = partita::testing::MakeTemporaryFolder("glm_pushed_sums");
};

const std::string kPopulation =
    Edited(kStudy, "[engine]\n",
           "[population]\nsubset = [{variable = \"age\", at_least = 30}]\n[engine]\n");
const std::string kSubset =
    Edited(kStudy, "release = [\"estimates\"]\n",
           "release = [\"estimates\"]\nsubset = [{variable = \"stage\", is_not = \"II\"}]\n");
const std::string kWeights = Edited(kStudy, "missing = \"complete\"\n",
                                    "missing = \"complete\"\nweights = \"copies\"\n"
                                    "weights_type = \"frequency\"\n");
const std::string kNested =
    WithFormula("y ~ age + sex + ward", kStudy) + "[analysis.nested]\ndrop = [\"ward\"]\n";

TEST_F(GlmPushedSumsTest, EveryDesignGivesWhatItsRowsGive) {
  MakeTables();
  const std::string texts[] = {
      kStudy,
      WithFormula("y ~ age + sex + ward + stage + smoker"),
      WithFormula("y ~ age*sex + dose*ward"),
      WithFormula("y ~ dose*smoker + sex*ward + smoker:sex"),
      WithFormula("y ~ 0 + dose + age"),
      WithFormula("y ~ sex*smoker", kPopulation),
      WithFormula("dose ~ y + stage", kSubset),
      WithFormula("y ~ age + sex*smoker", kWeights),
      Edited(kStudy, "input_bits = 30", "input_bits = 20"),
  };
  for (const std::string& text : texts) {
    SCOPED_TRACE(text.substr(text.find("formula")));
    std::filesystem::remove(Record());
    const auto prepared = Prepare(text);
    const auto& study = dynamic_cast<const GlmStudy&>(*prepared);
    const run::LocalData kept = Load(study, Csv(0)), pushed = Load(study, File(study));
    const OwnData& one = static_cast<GlmRows&>(*kept.method).own;
    const OwnData& other = static_cast<GlmRows&>(*pushed.method).own;
    ASSERT_TRUE(one.moments && other.moments);
    EXPECT_TRUE(one.counts == other.counts);
    EXPECT_TRUE(one.moments->rows == other.moments->rows);
    EXPECT_EQ(one.moments->bits, other.moments->bits);
    EXPECT_TRUE(one.moments->products == other.moments->products);
    EXPECT_EQ(one.rows.x.rows(), 0);
    EXPECT_EQ(pushed.rows.observed, kept.rows.observed);
    EXPECT_EQ(pushed.rows.not_in_population, kept.rows.not_in_population);
    EXPECT_EQ(pushed.rows.incomplete, kept.rows.incomplete);
    EXPECT_EQ(pushed.cells.missing, kept.cells.missing);
    EXPECT_TRUE(study.ExactRowSets(*pushed.method, pushed.holding).empty());
    EXPECT_EQ(study.ExactRowSets(*kept.method, kept.holding).size(), 1u);
  }
}

TEST_F(GlmPushedSumsTest, TheResultIsThatOfACsvFileToTheLastDigit) {
  MakeTables();
  for (const std::string& text : {WithFormula("y ~ age + dose*sex + ward"),
                                  WithFormula("y ~ age + sex", kWeights), kNested}) {
    SCOPED_TRACE(text.substr(text.find("formula")));
    std::filesystem::remove(Record());
    const json of_rows = ResultOf(text, Csv(0)), of_sums = ResultOf(text, File(*Prepare(text)));
    EXPECT_EQ(of_rows["converged"], true);
    EXPECT_EQ(of_rows, of_sums);
    // On another grid than doubles, that of the rows themselves.
    const json fine = ResultOf(Edited(text, "input_bits = 30\n", ""), Csv(0));
    for (size_t c = 0; c < fine["coefficients"].size(); ++c) {
      for (const char* what : {"estimate", "standard_error"}) {
        const double value = fine["coefficients"][c][what];
        EXPECT_NEAR(of_sums["coefficients"][c][what], value, 1e-6 * std::max(std::abs(value), 0.1));
      }
    }
    for (const char* what : {"deviance", "null_deviance"})
      EXPECT_NEAR(of_sums["fit"][what], fine["fit"][what].get<double>(), 1e-6) << what;
  }
}

// Outcomes that columns all but determine: 10^9 times less is left than there was.
TEST(GlmMomentsTest, WhatIsLeftOfLargeSumsIsExact) {
  std::mt19937 generator(5);
  std::uniform_real_distribution<double> unit(-1, 1);
  stats::glm::Rows rows{Eigen::MatrixXd(500, 3), Eigen::VectorXd(500), Eigen::VectorXd::Zero(500)};
  for (Eigen::Index r = 0; r < 500; ++r) {
    for (Eigen::Index c = 0; c < 3; ++c) rows.x(r, c) = c == 0 ? 1 : unit(generator);
    rows.y[r] = 0.25 * rows.x(r, 1) + 0.5 * rows.x(r, 2) + std::ldexp(unit(generator), -16);
  }
  stats::glm::RoundRows(rows, 30);
  const stats::glm::GaussianMoments moments = stats::glm::MomentsOf(rows, 3, 30);
  Eigen::VectorXd point(3);
  point << std::ldexp(3, -40), 0.25, 0.5;
  const stats::glm::PointSums sums = SumsAt(moments, point, 1);
  const Eigen::VectorXd residuals = rows.y - rows.x * point;
  // The residuals are exact to 2^-52 each.
  EXPECT_NEAR(sums.deviance, residuals.squaredNorm(), 1e-15 * residuals.squaredNorm() + 1e-18);
  EXPECT_LT(sums.deviance, 1e-9 * stats::glm::SumOfSquares(moments));
  const Eigen::VectorXd score = rows.x.transpose() * residuals;
  for (Eigen::Index c = 0; c < 3; ++c) EXPECT_NEAR(sums.score[c], score[c], 1e-13);
  EXPECT_EQ(sums.outside, 0u);
  EXPECT_EQ(SumsAt(moments, point, sums.deviance / 501).outside, 500u);
  EXPECT_DOUBLE_EQ(stats::glm::SumOfOutcome(moments), rows.y.sum());
  const std::vector<size_t> kept = {0, 2};
  const stats::glm::GaussianMoments fewer = MomentsOfColumns(moments, kept);
  EXPECT_EQ(fewer.num_columns(), 2u);
  rows.x = rows.x(Eigen::all, std::vector<Eigen::Index>{0, 2}).eval();
  EXPECT_TRUE(fewer.products == stats::glm::MomentsOf(rows, 2, 30).products);
}

TEST_F(GlmPushedSumsTest, WhatNeedsRowsSaysSo) {
  const std::string fine = Edited(kStudy, "input_bits = 30\n", "");
  const auto refused = [&](const std::string& text, const std::string& message,
                           const std::string& hint) {
    ExpectError(ErrorCode::kRefused, message + ", and only sums come from the database", hint,
                [&] { Prepare(text)->SumsOf(0); });
  };
  refused(fine, "on a grid of 30 bits or fewer, which all holders use", "input_bits = 30");
  refused(Edited(kStudy, "input_bits = 30", "input_bits = 40"), "which all holders use",
          "input_bits = 30");
  refused(Edited(WithFormula("smoker ~ age", fine), "gaussian", "binomial"),
          "a model of family binomial takes sums at points that are not known when they are formed",
          "freeze the rows");
  refused(Edited(fine, "protocol = \"aggregates\"\n", ""), "level iterates takes rows",
          "protocol = \"aggregates\"");
  refused(Edited(fine, "protocol = \"aggregates\"\nsteps = 2\n", "protocol = \"sealed\"\n"),
          "level sealed takes rows", "protocol = \"aggregates\"");
  refused(Edited(fine, "steps = 2\n", "steps = 2\nerrors = \"robust\"\n"),
          "robust standard errors are sums of squares that are formed row by row", "leave out");
  refused(Edited(fine, "site = \"ignore\"", "site = \"fixed\""),
          "effects of sites are taken off row by row", "site = \"ignore\"");
  refused(WithFormula("y ~ age + offset(dose)", fine),
          "an offset is taken off the outcome row by row", "in the query");
  refused(Edited(Edited(fine, "missing = \"complete\"\n",
                        "missing = \"complete\"\nweights = \"copies\"\nweights_type = "
                        "\"precision\"\n"),
                 "lower = 0\nupper = 3", "lower = 1\nupper = 3"),
          "a database multiplies by whole weights only", "frequency");
  refused(Edited(kWeights, "release = [\"estimates\"]\n",
                 "release = [\"estimates\"]\nsubset = [{variable = \"sex\", is = \"f\"}]\n"),
          "rows of weight 0 are counted apart from those that a subset leaves out", "[population]");
  refused(WithFormula("y ~ age*dose"),
          "'age:dose' is a product of numbers, which a grid rounds row by row", "in the query");
  refused(WithFormula("y ~ age + I(dose^2)"), "is derived from another variable by this program",
          "in the query");
}

TEST_F(GlmPushedSumsTest, AGridIsForExactMoments) {
  for (const std::string& text : {Edited(WithFormula("smoker ~ age"), "gaussian", "binomial"),
                                  Edited(kStudy, "protocol = \"aggregates\"\n", ""),
                                  Edited(kStudy, "steps = 2\n", "steps = 2\nerrors = \"robust\"\n"),
                                  Edited(kStudy, "site = \"ignore\"", "site = \"fixed\""),
                                  WithFormula("y ~ age + offset(dose)")}) {
    ExpectError(ErrorCode::kBadInput, "'input_bits' is for exact moments", "remove it",
                [&] { Prepare(text); });
  }
}

TEST_F(GlmPushedSumsTest, RowsThatDifferByFewAreNotServed) {
  MakeTables(false);
  const auto all = Prepare(kStudy);
  Form(*all);
  Form(*Prepare(WithFormula("y ~ age + sex")));
  // Fifteen rows have the three highest ages together with others; two columns and ones ask for 30.
  const std::string few = Edited(kPopulation, "at_least = 30", "at_least = 21");
  ExpectError(ErrorCode::kRefused, "differ from those of this study by", "use the same rows",
              [&] { Form(*Prepare(few)); });
  const std::string women =
      Edited(kStudy, "release = [\"estimates\"]\n",
             "release = [\"estimates\"]\nsubset = [{variable = \"sex\", is = \"f\"}]\n");
  EXPECT_NO_THROW(Form(*Prepare(women)));
  ExpectError(ErrorCode::kRefused, "differ from those of this study by", "use the same rows", [&] {
    Form(*Prepare(Edited(women, "[engine]\n",
                         "[population]\nsubset = [{variable = \"age\", above = 22}]\n[engine]\n")));
  });
  // Rows of weight 0 are left out, which the record has to know.
  std::filesystem::remove(Record());
  data::testing::ChangeSqlite(folder_ / "t.db",
                              "UPDATE t SET copies = 1; UPDATE t SET copies = 0 WHERE rowid < 4");
  Form(*all);
  ExpectError(ErrorCode::kRefused, "differ from those of this study by 3,", "use the same rows",
              [&] { Form(*Prepare(kWeights)); });
  data::testing::ChangeSqlite(folder_ / "t.db", "UPDATE t SET y = y + 0.01 WHERE rowid = 9");
  ExpectError(ErrorCode::kRefused, "rows have come, gone or changed since", "next edition",
              [&] { Form(*Prepare(WithFormula("dose ~ age"))); });
}

// Small cells are counted by the database, and refused together.
TEST_F(GlmPushedSumsTest, SmallCountsOpenNothing) {
  MakeTables(false);
  std::ofstream(Csv(1)) << CsvOfRows(8, false);
  data::testing::ChangeSqlite(folder_ / "t.db",
                              "UPDATE t SET smoker = 0; UPDATE t SET smoker = 1 WHERE rowid = 1");
  const std::string text = Edited(WithFormula("y ~ age + smoker"), "min_cell = 2", "min_cell = 5");
  const auto study = Prepare(text);
  SilentProgress progress;
  const auto ends = run::SimulateInProcess(*study, {File(*study), Csv(1), {}}, {}, progress);
  ASSERT_TRUE(ends.at(0).error);
  EXPECT_THAT(ends[0].error->message(), HasSubstr("each count of smoker is 0 or at least"));
}

TEST(GlmPushedSumsPlanTest, ThePlanSaysTheGridAndWhatACommitmentIsTo) {
  const auto plan = [](const std::string& bits) {
    return run::BuildPlan(*Prepare(Edited(kStudy, "input_bits = 30\n", bits)));
  };
  const auto commits = Contains(HasSubstr("its commitment is to these sums"));
  EXPECT_THAT(plan("input_bits = 30\n").assumptions, commits);
  EXPECT_THAT(plan("input_bits = 30\n").notes, Contains(HasSubstr("are rounded to 2^-30")));
  EXPECT_THAT(plan("input_bits = 31\n").assumptions, Not(commits));
  EXPECT_THAT(plan("").assumptions, Not(commits));
  EXPECT_THAT(plan("").notes, Not(Contains(HasSubstr("are rounded to"))));
}

}  // namespace
}  // namespace partita::methods::glm::pushed_sums_test
