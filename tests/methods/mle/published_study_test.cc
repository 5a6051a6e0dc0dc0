// The published protocols between the parties of a study: the fit of the pooled rows, what the plan
// and the result say of them, and what is refused before anybody connects.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "methods/mle/study/study.h"
#include "methods/prepare_study.h"
#include "run/party/build_plan.h"
#include "stats/sem/fit.h"
#include "tests/methods/mle/design_study.h"
#include "tests/run/results.h"

namespace partita::methods::mle::published_study_test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using testing::MakeRows;
using testing::Row;

// Who holds which columns of which third of the rows. The receiver, hub, holds nothing.
struct Holder {
  std::string name;
  std::vector<std::string> columns;
  std::vector<int> blocks;
};
using Layout = std::vector<Holder>;

const std::vector<std::string> kAll = {"y", "x1", "x2"};
const Layout kColumns = {
    {"a", {"y"}, {0, 1, 2}}, {"b", {"x1"}, {0, 1, 2}}, {"c", {"x2"}, {0, 1, 2}}};
const Layout kRows = {{"a", kAll, {0}}, {"b", kAll, {1}}, {"c", kAll, {2}}};
const Layout kComplex = {{"a", kAll, {0}}, {"b", {"x1", "y"}, {1, 2}}, {"c", {"x2"}, {1, 2}}};

int BlockOf(size_t row, size_t n) { return static_cast<int>(3 * row / n); }

std::string StudyText(const Layout& layout, const std::string& analysis, size_t n,
                      const std::string& receiver = "") {
  std::string toml = "partita = 1\nname = \"published\"\n";
  if (receiver.empty()) toml += "[[party]]\nname = \"hub\"\nroles = [\"receiver\"]\n";
  for (const Holder& holder : layout) {
    std::vector<std::string> blocks;
    for (const int b : holder.blocks) blocks.push_back(fmt::format("b{}", b));
    toml +=
        fmt::format("[[party]]\nname = \"{}\"\nroles = [\"holder\"{}]\ncolumns = {}\nrows = {}\n",
                    holder.name, holder.name == receiver ? ", \"receiver\"" : "",
                    testing::Quoted(holder.columns), testing::Quoted(blocks));
  }
  toml += "[[party]]\nname = \"dealer\"\nroles = [\"dealer\"]\n";
  for (int b = 0; b < 3; ++b) {
    size_t count = 0;
    for (size_t i = 0; i < n; ++i) count += BlockOf(i, n) == b ? 1 : 0;
    toml += fmt::format("[[rows]]\nname = \"b{}\"\ncount = {}\n", b, count);
  }
  toml += "[table]\nkey = \"id\"\nblock = \"block\"\n";
  for (const std::string& name : kAll) {
    toml += fmt::format("[[variable]]\nname = \"{}\"\ntype = \"numeric\"\nlower = -8\nupper = 8\n",
                        name);
  }
  return toml +
         "[design]\nsite = \"ignore\"\nmissing = \"refuse\"\n[engine]\nname = \"dealer\"\n"
         "[[analysis]]\nmethod = \"mle\"\nfunction = \"sem\"\nmodel = \"y ~ x1\\nx1 ~ x2\"\n"
         "fixed_x = false\nmeanstructure = true\nrelease = [\"rows\"]\n" +
         analysis;
}

std::string Protocol(const std::string& name, const std::string& more = "") {
  return fmt::format("protocol = \"{}\"\nrows_may_leak = true\n{}", name, more);
}

std::vector<run::PartyEnd> RunStudy(const Layout& layout, const std::string& analysis,
                                    const std::vector<Row>& rows) {
  const std::string folder = partita::testing::MakeTemporaryFolder("published");
  std::ofstream(folder + "/study.toml") << StudyText(layout, analysis, rows.size());
  for (const Holder& holder : layout) {
    std::filesystem::create_directories(folder + "/" + holder.name);
    std::ofstream csv(folder + "/" + holder.name + "/data.csv");
    csv << "id,block";
    for (const std::string& column : holder.columns) csv << "," << column;
    csv << "\n";
    for (size_t i = 0; i < rows.size(); ++i) {
      const int block = BlockOf(i, rows.size());
      if (std::find(holder.blocks.begin(), holder.blocks.end(), block) == holder.blocks.end())
        continue;
      csv << "k" << i << ",b" << block;
      for (const std::string& column : holder.columns) csv << "," << testing::Cell(rows[i], column);
      csv << "\n";
    }
  }
  std::vector<run::PartyEnd> ends = testing::RunStudyFile(folder + "/study.toml");
  std::filesystem::remove_all(folder);
  return ends;
}

stats::SemFit PooledFit(const stats::ParameterTable& table, const std::vector<Row>& rows) {
  Eigen::MatrixXd values(rows.size(), table.observed.size());
  for (size_t r = 0; r < rows.size(); ++r) {
    for (size_t v = 0; v < table.observed.size(); ++v) {
      const std::string& name = table.observed[v];
      values(static_cast<Eigen::Index>(r), static_cast<Eigen::Index>(v)) = name == "y" ? rows[r].y
                                                                           : name == "x1"
                                                                               ? rows[r].x1
                                                                               : rows[r].x2;
    }
  }
  const Eigen::VectorXd mean = values.colwise().mean();
  const Eigen::MatrixXd centred = values.rowwise() - mean.transpose();
  const auto n = static_cast<double>(rows.size());
  SilentProgress progress;
  return stats::FitSem(table, {{n, mean, centred.transpose() * centred / n}}, {}, progress);
}

// The limits, in standard errors.
void ExpectPooled(const std::vector<run::PartyEnd>& ends, const std::vector<Row>& rows,
                  double limit) {
  for (const run::PartyEnd& end : ends)
    ASSERT_FALSE(end.error) << end.party << ": " << end.error->message();
  const MleResult& result = partita::testing::MleResultsOf(*ends[0].outcome).at(0);
  const stats::SemFit fit = PooledFit(result.table, rows);
  ASSERT_TRUE(result.fit.converged);
  for (size_t i = 0; i < fit.estimates.size(); ++i) {
    if (!(fit.estimates[i].standard_error > 0)) continue;
    EXPECT_NEAR(result.fit.estimates[i].estimate, fit.estimates[i].estimate,
                limit * fit.estimates[i].standard_error)
        << result.table.rows[i].lhs << result.table.rows[i].op << result.table.rows[i].rhs;
  }
  for (size_t party = 1; party < ends.size(); ++party)
    EXPECT_TRUE(partita::testing::MleResultsOf(*ends[party].outcome).empty()) << ends[party].party;
}

TEST(PublishedStudyTest, EveryProtocolFitsThePooledRows) {
  const std::vector<Row> rows = MakeRows(150, 51, false);
  struct Case {
    std::string protocol, more;
    Layout layout;
    double limit;
  };
  const std::vector<Case> cases = {
      {"conditional", "", kColumns, 1e-4},
      {"conditional", "", kComplex, 1e-4},
      {"conditional", "masks = \"paper\"\n", kColumns, 1e-2},
      {"plain-passing", "", kComplex, 1e-4},
      {"secure-sum", "", kRows, 1e-4},
      {"secure-sum", "masks = \"paper\"\n", kRows, 1e-2},
      {"secure-matmul", "", kColumns, 1e-4},
      {"oblivious-transfer", "", kColumns, 1e-4},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.protocol + " " + one.more);
    const auto ends = RunStudy(one.layout, Protocol(one.protocol, one.more), rows);
    ExpectPooled(ends, rows, one.limit);
    if (::testing::Test::HasFailure()) return;
    const MleResult& result = partita::testing::MleResultsOf(*ends[0].outcome).at(0);
    EXPECT_THAT(result.notes, Contains(HasSubstr("for simulation and comparison")));
  }
}

// Plan, releases and ledger say that rows may be known, and every party has approved just that.
TEST(PublishedStudyTest, ItIsSaidThatRowsLeak) {
  const std::vector<Row> rows = MakeRows(90, 52, false);
  const auto ends = RunStudy(kColumns, Protocol("conditional"), rows);
  for (const run::PartyEnd& end : ends) ASSERT_FALSE(end.error) << end.error->message();
  const run::PartyOutcome& outcome = *ends[0].outcome;
  EXPECT_EQ(outcome.plan.leakage_level, "rows");
  ASSERT_EQ(outcome.plan.exposures.size(), 1u);
  EXPECT_EQ(outcome.plan.exposures[0].to, "all");
  EXPECT_EQ(outcome.plan.exposures[0].opened, 270u);
  EXPECT_EQ(outcome.plan.exposures[0].statistics, 270u);
  EXPECT_THAT(outcome.plan.assumptions,
              Contains(HasSubstr("says that rows may leak, and they do")));
  for (const study::PlanPrivacy& row : outcome.plan.privacy)
    EXPECT_THAT(row.loss, HasSubstr("no bound")) << row.adversary;
  for (const std::string& sentence : outcome.plan.assumptions)
    EXPECT_THAT(sentence, ::testing::Not(HasSubstr("hides the rows")));
  size_t counted = 0;
  for (const auto& count : outcome.releases) {
    if (count.release.id != "published/main") continue;
    EXPECT_EQ(count.opened, 1u);
    EXPECT_THAT(count.release.what, HasSubstr("all of them may become known"));
    ++counted;
  }
  EXPECT_EQ(counted, 1u);
  EXPECT_THAT(partita::testing::MleResultsOf(outcome).at(0).notes,
              Contains(HasSubstr("tell node 2 all rows of node 1")));
}

TEST(PublishedStudyTest, WhatDoesNotFitIsRefusedByName) {
  const auto refusal = [](const std::string& text) {
    std::string message = "accepted";
    try {
      PrepareMleStudy(ParseStudyFile(text, "study.toml"));
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kBadInput);
      EXPECT_FALSE(error.hint().empty());
      message = error.message();
    }
    return message;
  };
  const auto of = [](const Layout& layout, const std::string& analysis) {
    return StudyText(layout, analysis, 90);
  };
  EXPECT_EQ(refusal(of(kColumns, Protocol("conditional"))), "accepted");
  EXPECT_THAT(refusal(of(kColumns, "protocol = \"conditional\"\n")),
              HasSubstr("rows of one party become known to others"));
  EXPECT_THAT(refusal(of(kColumns, "protocol = \"pooled-moments\"\nrows_may_leak = true\n")),
              HasSubstr("'rows_may_leak' is for the published protocols"));
  EXPECT_THAT(refusal(of(kColumns, Protocol("secure-matmul", "masks = \"ring\"\n"))),
              HasSubstr("has no masks"));
  EXPECT_THAT(refusal(of(kColumns, Protocol("secure-sum"))), HasSubstr("does not fit"));
  EXPECT_THAT(refusal(StudyText(kColumns, Protocol("conditional"), 90, "a")),
              HasSubstr("needs a central node without rows"));
  EXPECT_THAT(refusal(of(kRows, Protocol("secure-sum", "robust = true\n"))),
              HasSubstr("robust standard errors"));
  EXPECT_THAT(refusal(of(kColumns, Protocol("conditional",
                                            "subset = [{variable = \"x1\", at_least = 0}]\n"))),
              HasSubstr("takes all rows"));
  std::string text = of(kColumns, Protocol("conditional"));
  text.replace(text.find("release = [\"rows\"]"), 18, "release = [\"moments\"]");
  EXPECT_THAT(refusal(text), HasSubstr("opens the rows to other parties"));
  text = of(kColumns, Protocol("conditional"));
  text.replace(text.find("meanstructure = true"), 20, "meanstructure = false");
  EXPECT_THAT(refusal(text), HasSubstr("a model with means"));
  text = of(kRows, Protocol("conditional"));
  text.replace(text.find("count = 30\n"), 11, "");
  EXPECT_THAT(refusal(text), HasSubstr("needs the number of rows of block 'b0'"));
}

}  // namespace
}  // namespace partita::methods::mle::published_study_test
