// Studies of incomplete rows by full information maximum likelihood: however rows and columns are
// split, the fit of the pooled rows in plain code; what is refused, by whom, and what is opened.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "methods/mle/study/study.h"
#include "methods/prepare_study.h"
#include "run/party/build_plan.h"
#include "stats/sem/fiml.h"
#include "tests/methods/mle/design_study.h"
#include "tests/run/results.h"

namespace partita::methods::mle::fiml_study_test {
namespace {

using testing::Design;
using ::testing::HasSubstr;
using testing::kMissing;
using testing::MakeRows;
using ::testing::Not;
using testing::Row;
using testing::RunEnds;
using testing::RunSplit;
using testing::Split;
using testing::Splits;

double Value(const Row& row, const std::string& name) {
  return name == "y" ? row.y : name == "x1" ? row.x1 : name == "x2" ? row.x2 : row.sex;
}

using Weight = std::function<int(const Row&)>;

int All(const Row&) { return 1; }

// The rows of one group, each as often as its weight says; the library's own patterns.
std::vector<stats::PatternMoments> PlainPatterns(const std::vector<Row>& rows,
                                                 const std::vector<std::string>& names,
                                                 const Weight& weight, size_t group) {
  std::vector<Row> counted;
  for (const Row& row : rows) {
    for (int i = 0; i < weight(row); ++i) counted.push_back(row);
  }
  Eigen::MatrixXd values(counted.size(), names.size());
  for (size_t r = 0; r < counted.size(); ++r) {
    for (size_t v = 0; v < names.size(); ++v)
      values(static_cast<Eigen::Index>(r), static_cast<Eigen::Index>(v)) =
          Value(counted[r], names[v]);
  }
  return stats::PatternsOf(values, group);
}

void ExpectFit(const MleResult& result, const std::vector<Row>& rows,
               const std::vector<Weight>& groups) {
  std::vector<stats::PatternMoments> patterns;
  for (size_t g = 0; g < groups.size(); ++g) {
    double n = 0;
    for (auto& pattern : PlainPatterns(rows, result.table.observed, groups[g], g)) {
      n += pattern.moments.n;
      patterns.push_back(std::move(pattern));
    }
    EXPECT_EQ(result.group_n.at(g), n);
  }
  stats::SemFitOptions options;
  options.information = stats::Information::kObserved;
  SilentProgress progress;
  const stats::SemFit fit = stats::FitFiml(result.table, patterns, options, progress);
  ASSERT_TRUE(fit.converged);
  ASSERT_EQ(fit.estimates.size(), result.fit.estimates.size());
  for (size_t i = 0; i < fit.estimates.size(); ++i) {
    const double scale = std::max(1.0, std::abs(fit.estimates[i].estimate));
    EXPECT_NEAR(result.fit.estimates[i].estimate, fit.estimates[i].estimate, 1e-7 * scale)
        << result.table.rows[i].lhs << result.table.rows[i].op << result.table.rows[i].rhs;
    EXPECT_NEAR(result.fit.estimates[i].standard_error, fit.estimates[i].standard_error,
                1e-7 * scale);
  }
  for (const char* name : {"logl", "chisq", "unrestricted.logl"})
    EXPECT_NEAR(result.fit.fit_measures.at(name), fit.fit_measures.at(name), 1e-6) << name;
}

Design Fiml(const std::string& patterns, std::vector<std::string> analyses) {
  Design design;
  design.design = "site = \"ignore\"\nmissing = \"fiml\"\npatterns = " + patterns + "\n";
  design.analyses = std::move(analyses);
  return design;
}

const std::string kModel = "model = \"y ~ x1 + x2\"\n";
// With a degree of freedom.
const std::string kChain = "model = \"y ~ x1\\nx1 ~ x2\"\n";
const std::string kPatterns = "[[], [\"y\"], [\"x1\"], [\"y\", \"x1\"]]";

void ExpectFits(const std::vector<Split>& splits, const Design& design,
                const std::vector<Row>& rows, const std::vector<std::vector<Weight>>& expected) {
  for (const Split& split : splits) {
    for (const std::string engine : {"dealer", "replicated", "shamir"}) {
      if (engine != "dealer" && split.columns.size() != 3) continue;
      SCOPED_TRACE(split.name + " " + engine);
      const auto results = RunSplit(split, design, engine, rows);
      ASSERT_EQ(results.size(), expected.size());
      for (size_t a = 0; a < results.size(); ++a) ExpectFit(results[a], rows, expected[a]);
      if (::testing::Test::HasFailure()) return;
    }
  }
}

// Rows where only y or x1 is missing.
std::vector<Row> IncompleteRows(size_t n, uint64_t seed) {
  std::vector<Row> rows = MakeRows(n, seed, true);
  for (Row& row : rows) {
    if (std::isnan(row.age)) row.age = 50;
  }
  return rows;
}

TEST(FimlStudyTest, EveryRowCountsWithWhatItHas) {
  Design design = Fiml(kPatterns, {kChain});
  design.disclosure = "min_cell = 1\n";
  ExpectFits(Splits(), design, IncompleteRows(400, 21), {{All}});
}

TEST(FimlStudyTest, SubsetsWeightsAndGroups) {
  Design design = Fiml(
      kPatterns, {"name = \"all\"\n" + kModel,
                  "name = \"women\"\n" + kChain + "subset = [{variable = \"sex\", is = [\"f\"]}]\n",
                  "name = \"by-sex\"\n" + kModel + "group = \"sex\"\n",
                  "name = \"one-variable-less\"\nmodel = \"x1 ~ x2\"\n"});
  design.population = "subset = [{variable = \"age\", at_least = 20}]\n";
  design.design += "weights = \"w\"\nweights_type = \"frequency\"\n";
  design.disclosure = "min_cell = 1\n";
  const auto weight = [](const Row& row) { return row.age >= 20 ? row.weight : 0; };
  const auto sex = [weight](int level) {
    return [=](const Row& row) { return row.sex == level ? weight(row) : 0; };
  };
  ExpectFits(Splits(), design, IncompleteRows(500, 22),
             {{weight}, {sex(0)}, {sex(0), sex(1)}, {weight}});
}

// One holder has no column x2 in the second block: for all of its rows it is missing.
TEST(FimlStudyTest, AVariableThatASiteDoesNotHaveIsAPattern) {
  std::vector<Split> splits = {Splits()[0], Splits()[2]};
  std::erase(splits[0].columns["q"], "x2");
  std::erase(splits[1].columns["r"], "x2");
  std::vector<Row> rows = IncompleteRows(400, 23);
  for (Row& row : rows) {
    if (row.block == 0) continue;
    row.x2 = kMissing;
    if (std::isnan(row.y) && std::isnan(row.x1)) row.y = 0;  // else without any value
  }
  Design design =
      Fiml("[[], [\"y\"], [\"x1\"], [\"y\", \"x1\"], [\"x2\"], [\"y\", \"x2\"], [\"x1\", \"x2\"]]",
           {kModel});
  design.disclosure = "min_cell = 1\n";
  ExpectFits(splits, design, rows, {{All}});
}

// The owner of whole rows is told which patterns its table has beside those of the study, how
// often, and what to do; the others are told that it stops.
TEST(FimlStudyTest, OtherPatternsStopTheStudyAtTheirOwner) {
  std::vector<Row> rows = MakeRows(200, 24, false);
  rows[5].y = rows[7].y = rows[150].x1 = kMissing;  // block 0 is p's
  for (int i = 20; i < 30; ++i) rows[static_cast<size_t>(i)].x1 = kMissing;
  for (const run::PartyEnd& end :
       RunEnds(Splits()[0], Fiml("[[], [\"x1\"]]", {kModel}), "dealer", rows)) {
    ASSERT_TRUE(end.error) << end.party;
    if (end.party == "p") {
      EXPECT_THAT(end.error->message(), HasSubstr("also has: 2 rows without y"));
      EXPECT_THAT(end.error->message(), Not(HasSubstr("x1")));
      EXPECT_THAT(end.error->hint(), HasSubstr("other_patterns = \"leave-out\""));
      EXPECT_THAT(end.error->hint(), HasSubstr("leaves these 2 of your 100 rows out"));
      EXPECT_THAT(end.error->hint(), HasSubstr("protocol = \"sealed\""));
    } else {
      EXPECT_THAT(end.error->hint(), Not(HasSubstr("of your")));
      EXPECT_THAT(end.error->message(), Not(HasSubstr("rows without")));
    }
  }
}

// What a site does not have at all belongs to the pattern that it has to list.
TEST(FimlStudyTest, WhatASiteDoesNotHaveIsNamedWithItsPatterns) {
  Split split = Splits()[0];
  std::erase(split.columns["q"], "x2");
  std::vector<Row> rows = MakeRows(200, 30, false);
  for (size_t i = 150; i < 158; ++i) rows[i].y = kMissing;
  for (const run::PartyEnd& end :
       RunEnds(split, Fiml("[[], [\"x2\"]]", {kModel}), "dealer", rows)) {
    ASSERT_TRUE(end.error) << end.party;
    if (end.party != "q") continue;
    EXPECT_THAT(end.error->message(), HasSubstr("also has: 8 rows without x2 and y"));
  }
}

// Where columns are split nobody can say alone; a check on shares does.
TEST(FimlStudyTest, WhereColumnsAreSplitACheckFindsOtherPatterns) {
  std::vector<Row> rows = MakeRows(200, 25, false);
  for (int i = 0; i < 20; ++i) rows[static_cast<size_t>(i)].y = kMissing;
  for (int i = 20; i < 40; ++i) rows[static_cast<size_t>(i)].x1 = kMissing;
  const Design design = Fiml("[[], [\"y\"], [\"x1\"]]", {kModel});
  ExpectFits({Splits()[1], Splits()[2]}, design, rows, {{All}});
  rows[0].x1 = kMissing;  // and y: each may be missing by itself
  rows[150].x1 = rows[150].y = kMissing;
  for (const std::string engine : {"dealer", "replicated"}) {
    for (const run::PartyEnd& end : RunEnds(Splits()[1], design, engine, rows)) {
      ASSERT_TRUE(end.error) << end.party;
      if (end.party == "dealer") continue;
      EXPECT_THAT(end.error->message(), HasSubstr("nothing was released"));
      EXPECT_THAT(end.error->message(), HasSubstr("no row has a pattern of missing values that"));
    }
  }
}

TEST(FimlStudyTest, OtherPatternsAreLeftOutIfTheStudySaysSo) {
  Design design = Fiml("[[], [\"x1\"]]", {kModel});
  design.design += "other_patterns = \"leave-out\"\n";
  ExpectFits(Splits(), design, IncompleteRows(300, 26),
             {{[](const Row& row) { return std::isnan(row.y) ? 0 : 1; }}});
  const auto rows = IncompleteRows(300, 26);
  const auto ends = RunEnds(Splits()[0], design, "dealer", rows);
  const auto left_out =
      static_cast<uint64_t>(std::count_if(rows.begin(), rows.end(), [](const Row& row) {
        return row.block == 0 && std::isnan(row.y);
      }));
  ASSERT_GT(left_out, 0u);
  ASSERT_TRUE(ends[0].outcome);
  EXPECT_EQ(ends[0].outcome->rows.incomplete, left_out);  // of p alone
}

// A pattern is a group of persons: few are not told apart, none may be.
TEST(FimlStudyTest, ARarePatternIsNamedAndNothingIsReleased) {
  std::vector<Row> rows = MakeRows(200, 27, false);
  for (size_t i = 0; i < 4; ++i) rows[i * 40].y = kMissing;
  const Design design = Fiml(kPatterns, {kModel});
  for (const Split& split : Splits()) {
    SCOPED_TRACE(split.name);
    for (const run::PartyEnd& end : RunEnds(split, design, "dealer", rows)) {
      ASSERT_TRUE(end.error) << end.party;
      if (end.party == "dealer") continue;
      EXPECT_THAT(end.error->message(), HasSubstr("nothing was released"));
      EXPECT_THAT(end.error->message(), HasSubstr("rows: none or at least 5 rows without y"));
      EXPECT_THAT(end.error->message(), Not(HasSubstr("x1")));
    }
  }
  rows[199].y = kMissing;  // the fifth
  ExpectFits(Splits(), design, rows, {{All}});
}

// What can be done about it, with what it costs: each owner is told of its own rows only.
TEST(FimlStudyTest, WhatRarePatternsCostIsToldToTheirOwner) {
  std::vector<Row> rows = MakeRows(200, 27, false);
  for (size_t i = 0; i < 4; ++i) rows[i * 40].y = kMissing;  // three of p, one of q
  rows[1].x1 = rows[121].x1 = kMissing;
  const Design design = Fiml(kPatterns, {kModel});
  const std::map<std::string, std::string> costs = {{"p", "leaves 4 of your own rows out"},
                                                    {"q", "leaves 2 of your own rows out"}};
  for (const run::PartyEnd& end : RunEnds(Splits()[0], design, "dealer", rows)) {
    ASSERT_TRUE(end.error) << end.party;
    if (end.party == "dealer") continue;
    EXPECT_THAT(end.error->hint(), HasSubstr("few rows have the 2 patterns named here"));
    EXPECT_THAT(end.error->hint(), HasSubstr("other_patterns = \"leave-out\""));
    EXPECT_THAT(end.error->hint(), HasSubstr(costs.at(end.party)));
    EXPECT_THAT(end.error->hint(), HasSubstr("protocol = \"sealed\" and keep all patterns"));
  }
  // Where columns are split a row's own holder knows a part of what is missing.
  for (const run::PartyEnd& end : RunEnds(Splits()[1], design, "dealer", rows)) {
    if (end.party != "p") continue;
    EXPECT_THAT(end.error->hint(), HasSubstr("at most 200 of your own rows"));
  }
  // The first way out.
  Design fewer = Fiml("[[]]", {kModel});
  fewer.design += "other_patterns = \"leave-out\"\n";
  ExpectFits({Splits()[0]}, fewer, rows,
             {{[](const Row& row) { return std::isnan(row.y) || std::isnan(row.x1) ? 0 : 1; }}});
}

// A real table has many: the most frequent are named.
TEST(FimlStudyTest, ManyPatternsAreNotAllListed) {
  const std::vector<std::string> names = {"y", "x1", "x2"};
  std::vector<Row> rows = MakeRows(200, 31, false);
  for (size_t i = 0; i < 42; ++i) {
    Row& row = rows[i];
    const size_t pattern = i % 7;  // but all three
    if ((pattern & 1) != 0) row.y = kMissing;
    if ((pattern & 2) != 0) row.x1 = kMissing;
    if ((pattern & 4) != 0) row.x2 = kMissing;
  }
  rows[50].y = kMissing;
  for (const run::PartyEnd& end : RunEnds(Splits()[0], Fiml("[[]]", {kModel}), "dealer", rows)) {
    if (end.party != "p") continue;
    EXPECT_THAT(end.error->message(), HasSubstr("also has: 7 rows without y; 6 rows without"));
    EXPECT_THAT(end.error->message(), HasSubstr("and 1 more"));
  }
}

// Of every pattern that has it, a 0/1 variable has both values often enough.
TEST(FimlStudyTest, LevelsAreCountedWithinPatterns) {
  std::vector<Row> rows = MakeRows(200, 28, false);
  for (size_t i = 0; i < 30; ++i) {
    rows[i * 6].y = kMissing;
    rows[i * 6].sex = i < 3 ? 1 : 0;
  }
  const Design design = Fiml("[[], [\"y\"]]", {"model = \"y ~ x1 + sex.m\"\n"});
  for (const Split& split : {Splits()[0], Splits()[1]}) {
    for (const run::PartyEnd& end : RunEnds(split, design, "dealer", rows)) {
      ASSERT_TRUE(end.error) << end.party;
      if (end.party == "dealer") continue;
      EXPECT_THAT(end.error->message(), HasSubstr("sex: at least 5 rows without y where sex is m"));
    }
  }
}

// From three rows on they leave the rows open.
TEST(FimlStudyTest, PlanCallsThePatternsOfOneOrTwoRowsRows) {
  for (const auto& [min_cell, level] : std::map<int, std::string>{
           {1, "rows"}, {2, "rows"}, {3, "sufficient-statistics"}, {5, "sufficient-statistics"}}) {
    Design design = Fiml(kPatterns, {kModel});
    design.disclosure = fmt::format("min_cell = {}\n", min_cell);
    const std::string text =
        testing::StudyText(Splits()[1], design, "dealer", IncompleteRows(100, 29));
    const study::Plan plan = run::BuildPlan(PrepareMleStudy(ParseStudyFile(text, "study.toml")));
    EXPECT_EQ(plan.leakage_level, level) << min_cell;
  }
}

// Rows by pattern, missing values by variable, and of nothing more numbers than the rows have.
TEST(FimlStudyTest, WhatIsOpenedAndReported) {
  const std::vector<Row> rows = IncompleteRows(400, 29);
  Design design = Fiml(kPatterns, {kModel});
  design.disclosure = "min_cell = 1\n";
  const auto ends = RunEnds(Splits()[1], design, "dealer", rows);
  for (const run::PartyEnd& end : ends) ASSERT_FALSE(end.error) << end.error->message();
  const run::PartyOutcome& outcome = *ends[0].outcome;
  // n, sums and products of three, two, two and one variables.
  const uint64_t numbers = (1 + 3 + 6) + 2 * (1 + 2 + 3) + (1 + 1 + 1);
  ASSERT_EQ(outcome.plan.exposures.size(), 1u);
  EXPECT_EQ(outcome.plan.exposures[0].opened, numbers);
  EXPECT_EQ(outcome.plan.exposures[0].statistics, numbers);
  // The moments of a pattern that one or two rows have are these rows.
  EXPECT_EQ(outcome.plan.leakage_level, "rows");
  EXPECT_THAT(outcome.plan.exposures[0].exposes,
              ::testing::Contains(HasSubstr("rows without y and x1")));
  EXPECT_THAT(outcome.plan.exposures[0].exposes,
              ::testing::Contains(HasSubstr("these rows, cell by cell: min_cell is 1")));
  for (const mpc::CountingReleaseGate::Count& count : outcome.releases) {
    if (count.release.id != "moments") continue;
    EXPECT_EQ(count.release.num_values, numbers);
  }
  const MleResult& result = partita::testing::MleResultsOf(outcome).at(0);
  ASSERT_GE(result.tables.size(), 2u);
  const auto without_y = static_cast<double>(
      std::count_if(rows.begin(), rows.end(), [](const Row& row) { return std::isnan(row.y); }));
  const auto only_y =
      static_cast<double>(std::count_if(rows.begin(), rows.end(), [](const Row& row) {
        return std::isnan(row.y) && !std::isnan(row.x1);
      }));
  EXPECT_EQ(result.tables[0].title, "Patterns of missing values");
  ASSERT_EQ(result.tables[0].rows.size(), 4u);
  EXPECT_EQ(std::get<std::string>(result.tables[0].rows[0][0]), "nothing");
  EXPECT_EQ(std::get<std::string>(result.tables[0].rows[1][0]), "y");
  EXPECT_EQ(std::get<double>(result.tables[0].rows[1][1]), only_y);
  EXPECT_EQ(std::get<std::string>(result.tables[1].rows[0][0]), "y");
  EXPECT_EQ(std::get<double>(result.tables[1].rows[0][1]), 400 - without_y);
  EXPECT_NEAR(std::get<double>(result.tables[1].rows[0][2]), without_y / 400, 1e-12);
  // Means and standard deviations of the variables are of the rows that have them.
  for (const run::VariableSummary& variable : outcome.variables) {
    if (variable.name != "y") continue;
    double sum = 0;
    for (const Row& row : rows) sum += std::isnan(row.y) ? 0 : row.y;
    EXPECT_EQ(variable.num_rows, 400 - static_cast<uint64_t>(without_y));
    ASSERT_TRUE(variable.mean);
    EXPECT_NEAR(*variable.mean, sum / (400 - without_y), 1e-9);
  }
}

// Every holder selects with its own columns, so that one round multiplies selectors, one columns
// into them, one the columns: no round more for any number of patterns.
TEST(FimlStudyTest, PatternsCostNoRounds) {
  const auto rounds = [](const std::string& patterns, const Split& split) {
    const std::string text =
        testing::StudyText(split, Fiml(patterns, {kModel}), "dealer", MakeRows(100, 1, false));
    const study::Plan plan = run::BuildPlan(PrepareMleStudy(ParseStudyFile(text, "study.toml")));
    for (const study::PlanPhase& phase : plan.phases) {
      if (phase.name == "moments") return phase.rounds;
    }
    return uint64_t{0};
  };
  for (const std::string& patterns : {std::string("[[]]"), kPatterns}) {
    EXPECT_EQ(rounds(patterns, Splits()[0]), 0u);  // whole rows: everybody adds up alone
    EXPECT_EQ(rounds(patterns, Splits()[1]), 4u);  // three holders with columns of the model
  }
}

TEST(FimlStudyTest, WhatItCannotDoIsRefusedByName) {
  const auto refusal = [](const Design& design) { return testing::RefusalOf(design, Splits()[1]); };
  EXPECT_EQ(refusal(Fiml("[[]]", {kModel})), "accepted");
  EXPECT_THAT(refusal(Fiml("[]", {kModel})), HasSubstr("needs 'patterns'"));
  EXPECT_THAT(refusal(Fiml("[[\"age\"]]", {kModel})), HasSubstr("which no model uses"));
  EXPECT_THAT(refusal(Fiml("[[\"sex\"]]", {kModel + "group = \"sex\"\n"})),
              HasSubstr("a group or the weights"));
  for (const auto& [line, reason] : std::vector<std::pair<std::string, std::string>>{
           {"robust = true\n", "of complete rows"},
           {"bootstrap = 100\n", "of complete rows"},
           {"modification_indices = true\n", "of complete rows"},
           {"fixed_x = true\n", "fixed covariates"},
           {"meanstructure = false\n", "no mean structure"},
           {"information = \"expected\"\n", "expected information"}}) {
    EXPECT_THAT(refusal(Fiml("[[]]", {kModel + line})), HasSubstr(reason)) << line;
  }
  Design design = Fiml("[[]]", {kModel});
  design.design = "site = \"fixed\"\nmissing = \"fiml\"\npatterns = [[]]\n";
  EXPECT_THAT(refusal(design), HasSubstr("removes the means"));
  design.design = "site = \"ignore\"\nmissing = \"complete\"\npatterns = [[]]\n";
  EXPECT_THAT(refusal(design), HasSubstr("is for missing = \"fiml\" and \"mi\""));
}

}  // namespace
}  // namespace partita::methods::mle::fiml_study_test
