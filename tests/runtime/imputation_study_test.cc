// Studies of incomplete rows by multiple imputation: however rows and columns are split, Rubin's
// rules over imputations of the pooled rows in the clear; what is opened, to whom; refusals.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/distributions/normal.hpp>
#include <cmath>

#include "runtime/build_plan.h"
#include "stats/sem/imputation.h"
#include "tests/runtime/design_study.h"
#include "tests/stats/blr/random.h"

namespace partita::imputation_study_test {
namespace {

using testing::Design;
using ::testing::HasSubstr;
using testing::MakeRows;
using ::testing::Not;
using testing::Row;
using testing::RunEnds;
using testing::Split;
using testing::Splits;

constexpr size_t kImputations = 20, kIterations = 8;
// Of one number; a test compares fewer than 100.
constexpr double kFalseAlarm = 1e-8;

const std::string kModel = "model = \"y ~ x1 + x2\"\nmeanstructure = true\nfixed_x = false\n";

Design Imputed(std::vector<std::string> analyses) {
  Design design;
  design.design =
      "site = \"ignore\"\nmissing = \"mi\"\nimputation_iterations = 8\n"
      "patterns = [[], [\"y\"], [\"x1\"], [\"y\", \"x1\"]]\n";
  design.disclosure = "min_cell = 1\n";
  design.analyses = std::move(analyses);
  return design;
}

// A third of the values is missing, so that what is imputed matters.
std::vector<Row> IncompleteRows(size_t n, uint64_t seed) {
  std::vector<Row> rows = MakeRows(n, seed, false);
  std::mt19937_64 random(seed + 1);
  std::uniform_real_distribution<double> uniform;
  for (Row& row : rows) {
    const double chance = row.x2 > 0 ? 0.4 : 0.2;
    if (uniform(random) < chance) row.y = testing::kMissing;
    if (uniform(random) < chance) row.x1 = testing::kMissing;
  }
  return rows;
}

// Fits of imputations of the pooled rows in the clear.
struct PlainFits {
  std::vector<double> estimates, variances;  // of one parameter, by imputation
};

std::vector<PlainFits> Plain(const stats::ParameterTable& table, const std::vector<Row>& rows,
                             const std::vector<std::function<bool(const Row&)>>& groups,
                             size_t imputations) {
  stats::blr::TestRandom random(77);
  stats::VariateTape tape(random);
  SilentProgress progress;
  std::vector<std::vector<stats::GroupMoments>> by_imputation(imputations);
  for (size_t g = 0; g < groups.size(); ++g) {
    std::vector<const Row*> own;
    for (const Row& row : rows) {
      if (groups[g](row)) own.push_back(&row);
    }
    Eigen::MatrixXd values(own.size(), table.observed.size());
    for (size_t r = 0; r < own.size(); ++r) {
      for (size_t v = 0; v < table.observed.size(); ++v) {
        const std::string& name = table.observed[v];
        values(static_cast<Eigen::Index>(r), static_cast<Eigen::Index>(v)) = name == "y" ? own[r]->y
                                                                             : name == "x1"
                                                                                 ? own[r]->x1
                                                                                 : own[r]->x2;
      }
    }
    const auto moments = stats::ImputeMoments(table, stats::PatternsOf(values, 0),
                                              {imputations, kIterations}, tape, progress);
    for (size_t i = 0; i < imputations; ++i) by_imputation[i].push_back(moments[i]);
  }
  std::vector<PlainFits> fits(table.rows.size());
  for (const std::vector<stats::GroupMoments>& moments : by_imputation) {
    const stats::SemFit fit = stats::FitSem(table, moments, {}, progress);
    for (size_t r = 0; r < fits.size(); ++r) {
      fits[r].estimates.push_back(fit.estimates[r].estimate);
      fits[r].variances.push_back(std::pow(fit.estimates[r].standard_error, 2));
    }
  }
  return fits;
}

double MeanOf(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}
double VarianceOf(const std::vector<double>& values) {
  const double mean = MeanOf(values);
  double sum = 0;
  for (const double value : values) sum += std::pow(value - mean, 2);
  return sum / static_cast<double>(values.size() - 1);
}

// The mean estimate of m imputations is normal around that of all imputations, and (m - 1) times
// the variance between them a chi-square; both against 1000 in the clear. The variance between is
// what the standard error has beside the mean variance within, which varies by its own spread.
// Power: a mean that is off by 1.3 standard deviations of the imputations. Returns whether, for
// some parameter, the lower limit of the variance is above 0: then imputations without noise are
// seen.
bool ExpectRubin(const methods::mle::MleResult& result, const std::vector<PlainFits>& plain,
                 size_t imputations = kImputations) {
  const auto m = static_cast<double>(imputations);
  const double z =
      boost::math::quantile(boost::math::complement(boost::math::normal(), kFalseAlarm / 2));
  const boost::math::chi_squared law(m - 1);
  EXPECT_TRUE(result.fit.converged);
  EXPECT_EQ(result.fit.estimates.size(), plain.size());
  bool sees_noise = false;
  // The covariance matrix is Rubin's, too.
  for (size_t r = 0; r < plain.size(); ++r) {
    const int free = result.table.rows[r].free;
    if (free < 1) continue;
    EXPECT_NEAR(std::sqrt(result.fit.vcov(free - 1, free - 1)),
                result.fit.estimates[r].standard_error,
                1e-9 * result.fit.estimates[r].standard_error);
  }
  for (size_t r = 0; r < plain.size(); ++r) {
    const stats::ParameterEstimate& ours = result.fit.estimates[r];
    const double between = VarianceOf(plain[r].estimates), within = MeanOf(plain[r].variances);
    if (between <= 1e-9 * within) continue;  // no pattern lacks what it depends on
    SCOPED_TRACE(result.table.rows[r].lhs + result.table.rows[r].op + result.table.rows[r].rhs);
    const double runs = static_cast<double>(plain[r].estimates.size());
    EXPECT_NEAR(ours.estimate, MeanOf(plain[r].estimates),
                z * std::sqrt(between * (1 / m + 1 / runs)) + 1e-7);
    const double own_between =
        (std::pow(ours.standard_error, 2) - within) / (1 + 1 / m) * (m - 1) / between;
    const double slack =
        z * std::sqrt(VarianceOf(plain[r].variances) / m) / (1 + 1 / m) * (m - 1) / between;
    const double lower = boost::math::quantile(law, kFalseAlarm / 2) - slack;
    EXPECT_GT(own_between, lower);
    EXPECT_LT(own_between,
              boost::math::quantile(boost::math::complement(law, kFalseAlarm / 2)) + slack);
    sees_noise |= lower > 0;
  }
  return sees_noise;
}

TEST(ImputationStudyTest, RubinsRulesOverImputationsOfThePooledRows) {
  const std::vector<Row> rows = IncompleteRows(500, 41);
  std::vector<PlainFits> plain;
  for (const Split& split : Splits()) {
    for (const std::string engine : {"dealer", "replicated", "shamir"}) {
      if (engine != "dealer" && split.columns.size() != 3) continue;
      if (engine == "shamir" && split.name != "vertical") continue;
      SCOPED_TRACE(split.name + " " + engine);
      const auto results = testing::RunSplit(split, Imputed({kModel}), engine, rows);
      ASSERT_EQ(results.size(), 1u);
      if (plain.empty())
        plain = Plain(results[0].table, rows, {[](const Row&) { return true; }}, 1000);
      EXPECT_EQ(results[0].group_n.at(0), 500);
      ExpectRubin(results[0], plain);
    }
  }
}

TEST(ImputationStudyTest, ImputedValuesVaryAsTheyShould) {
  const std::vector<Row> rows = IncompleteRows(500, 46);
  Design design = Imputed({kModel});
  design.design += "imputations = 100\n";
  const auto results = testing::RunSplit(Splits()[0], design, "dealer", rows);
  ASSERT_EQ(results.size(), 1u);
  EXPECT_TRUE(ExpectRubin(
      results[0], Plain(results[0].table, rows, {[](const Row&) { return true; }}, 1000), 100));
}

TEST(ImputationStudyTest, GroupsAndSeveralAnalyses) {
  const std::vector<Row> rows = IncompleteRows(700, 42);
  const auto results = testing::RunSplit(
      Splits()[2],
      Imputed({"name = \"all\"\n" + kModel, "name = \"by-sex\"\n" + kModel + "group = \"sex\"\n",
               "name = \"chain\"\nmodel = \"y ~ x1\\nx1 ~ x2\"\nfixed_x = false\n"}),
      "dealer", rows);
  ASSERT_EQ(results.size(), 3u);
  const auto all = [](const Row&) { return true; };
  const auto sex = [](int level) { return [=](const Row& row) { return row.sex == level; }; };
  ExpectRubin(results[0], Plain(results[0].table, rows, {all}, 1000));
  ExpectRubin(results[1], Plain(results[1].table, rows, {sex(0), sex(1)}, 1000));
  ExpectRubin(results[2], Plain(results[2].table, rows, {all}, 1000));
}

TEST(ImputationStudyTest, WhatIsOpenedAndReported) {
  const std::vector<Row> rows = IncompleteRows(400, 43);
  const auto ends = RunEnds(Splits()[1], Imputed({kModel}), "dealer", rows);
  for (const runtime::PartyEnd& end : ends) ASSERT_FALSE(end.error) << end.error->message();
  const runtime::PartyOutcome& outcome = *ends[0].outcome;
  ASSERT_EQ(outcome.plan.exposures.size(), 1u);
  const uint64_t moments = kImputations * (3 + 6);
  EXPECT_EQ(outcome.plan.exposures[0].opened, moments + 4);
  // n, sums and products of three, two, two and one variables.
  EXPECT_EQ(outcome.plan.exposures[0].statistics, 10u + 2 * 6 + 3);
  EXPECT_EQ(outcome.plan.leakage_level, "sufficient-statistics");
  EXPECT_THAT(outcome.plan.exposures[0].exposes, ::testing::Contains(HasSubstr("at least of x2")));
  std::map<std::string, std::pair<std::string, uint64_t>> opened;
  for (const mpc::CountingReleaseGate::Count& count : outcome.releases)
    opened[count.release.id] = {count.release.to, count.release.num_values.value_or(0)};
  EXPECT_EQ(opened.at("pattern-counts"), (std::pair<std::string, uint64_t>{"all", 4}));
  EXPECT_EQ(opened.at("imputed"), (std::pair<std::string, uint64_t>{"all", 1}));
  EXPECT_EQ(opened.at("imputed-moments"), (std::pair<std::string, uint64_t>{"p", moments}));
  EXPECT_EQ(opened.count("moments"), 0u);
  const methods::mle::MleResult& result = outcome.results.at(0);
  ASSERT_GE(result.tables.size(), 2u);
  EXPECT_EQ(result.tables[0].title, "Multiple imputation");
  for (const auto& row : result.tables[0].rows) {
    EXPECT_GT(std::get<double>(row[1]), 1);
    EXPECT_LT(std::get<double>(row[1]), 400);
    EXPECT_GE(std::get<double>(row[2]), 0);
    EXPECT_LT(std::get<double>(row[2]), 1);
  }
  const auto with_y = static_cast<double>(
      std::count_if(rows.begin(), rows.end(), [](const Row& row) { return !std::isnan(row.y); }));
  EXPECT_EQ(std::get<std::string>(result.tables[1].rows[0][0]), "y");
  EXPECT_EQ(std::get<double>(result.tables[1].rows[0][1]), with_y);
  EXPECT_FALSE(result.fit_measures_available);
  for (const CellTable& table : result.tables)
    EXPECT_THAT(table.title, Not(HasSubstr("Test of the model")));  // no degrees of freedom
}

// Everybody sees the counts, so everybody is told; nothing else has opened.
TEST(ImputationStudyTest, TooFewRowsAreNamed) {
  std::vector<Row> rows = MakeRows(200, 44, false);
  rows[3].y = testing::kMissing;
  rows[7].y = testing::kMissing;
  bool advised = false;
  for (const runtime::PartyEnd& end : RunEnds(Splits()[0], Imputed({kModel}), "dealer", rows)) {
    ASSERT_TRUE(end.error) << end.party;
    if (end.party == "dealer") continue;
    EXPECT_THAT(end.error->message(), HasSubstr("only 2 rows lack y"));
    // A party may hear of it from its peer first, with another advice.
    advised |= end.error->code() == ErrorCode::kRefused &&
               end.error->hint().find("leave-out") != std::string::npos;
  }
  EXPECT_TRUE(advised);
  for (Row& row : rows) row.y = testing::kMissing;
  for (const runtime::PartyEnd& end : RunEnds(Splits()[0], Imputed({kModel}), "dealer", rows)) {
    ASSERT_TRUE(end.error) << end.party;
    if (end.party == "dealer") continue;
    EXPECT_THAT(end.error->message(), HasSubstr("no row has a value of y"));
  }
}

TEST(ImputationStudyTest, SingularCovariancesOpenNothing) {
  std::vector<Row> rows = IncompleteRows(300, 45);
  for (Row& row : rows) {
    if (!std::isnan(row.x1)) row.x1 = row.x2;
  }
  Design design = Imputed({kModel});
  // Imputed values begin independent of the others and end as determined by them.
  design.design = "site = \"ignore\"\nmissing = \"mi\"\nimputation_iterations = 20\n" +
                  design.design.substr(design.design.find("patterns"));
  for (const runtime::PartyEnd& end : RunEnds(Splits()[1], design, "dealer", rows)) {
    ASSERT_TRUE(end.error) << end.party;
    if (end.party == "dealer") continue;
    EXPECT_THAT(end.error->message(), HasSubstr("the rows could not be imputed"));
  }
}

TEST(ImputationStudyTest, WhatItCannotDoIsRefusedByName) {
  const auto refusal = [](const Design& design) {
    const std::string folder = testing::MakeTemporaryFolder("imputation");
    std::ofstream(folder + "/study.toml")
        << testing::StudyText(Splits()[1], design, "dealer", MakeRows(100, 1, false));
    std::string message = "accepted";
    try {
      runtime::PrepareMleStudy(study::LoadStudyFile(folder + "/study.toml"));
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kBadInput);
      EXPECT_FALSE(error.hint().empty());
      message = error.message();
    }
    std::filesystem::remove_all(folder);
    return message;
  };
  EXPECT_EQ(refusal(Imputed({kModel})), "accepted");
  for (const auto& [line, reason] : std::vector<std::pair<std::string, std::string>>{
           {"robust = true\n", "of complete rows"},
           {"bootstrap = 100\n", "of complete rows"},
           {"modification_indices = true\n", "of complete rows"}}) {
    EXPECT_THAT(refusal(Imputed({kModel + line})), HasSubstr(reason)) << line;
  }
  const auto with = [](const std::string& lines) {
    Design design = Imputed({kModel});
    design.design = "site = \"ignore\"\n" + lines;
    return design;
  };
  EXPECT_THAT(refusal(with("missing = \"mi\"\n")), HasSubstr("needs 'patterns'"));
  EXPECT_THAT(refusal(with("missing = \"mi\"\npatterns = [[\"y\"], [\"y\", \"x1\"]]\n")),
              HasSubstr("every pattern lacks y"));
  EXPECT_THAT(refusal(with("missing = \"mi\"\npatterns = [[]]\nimputations = 19\n")),
              HasSubstr("'imputations' must be between 20 and 200"));
  EXPECT_THAT(refusal(with("missing = \"mi\"\npatterns = [[]]\nimputation_iterations = 4\n")),
              HasSubstr("'imputation_iterations' must be between 5 and 1000"));
  EXPECT_THAT(refusal(with("missing = \"fiml\"\npatterns = [[]]\nimputations = 20\n")),
              HasSubstr("'imputations' is for missing = \"mi\""));
  EXPECT_THAT(refusal(Imputed({"name = \"wide\"\n" + kModel,
                               "name = \"narrow\"\nnested_in = \"wide\"\nmodel = \"y ~ x1\\nx1 ~ "
                               "x2\"\nfixed_x = false\n"})),
              HasSubstr("imputed tables have many"));
}

}  // namespace
}  // namespace partita::imputation_study_test
