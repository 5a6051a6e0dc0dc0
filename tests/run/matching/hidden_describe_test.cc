// Tables of rows of which nobody knows which match: equal to the table in the clear of the rows that all
// lists have; what a holder sees is the same whichever of its rows match, also where everything is
// withheld; what would tell is refused by name.
#include <gmock/gmock.h>

#include <cmath>

#include "methods/describe/group_bits.h"
#include "methods/describe/study.h"
#include "run/party/build_plan.h"
#include "run/party/local_data.h"
#include "run/rehearse/rehearsal.h"
#include "tests/methods/describe/twin.h"
#include "tests/run/matching/hidden_lists.h"
#include "tests/run/matching/hidden_views.h"

namespace partita::run::hidden_describe_test {
namespace {

using namespace hidden_lists;  // NOLINT(google-build-using-namespace)

using methods::describe::DescribeRun;
using methods::describe::DescribeStudy;
using methods::describe::PlainTable;
using methods::describe::testing::ExpectTable;
using methods::describe::testing::Seen;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

// The rows are too few for the release rule.
const std::string kAccept = "[release]\naccept = \"table of covariates\"\n";

std::string Describe(const std::string& more) {
  return "method = \"describe\"\nrelease = [\"table\"]\n" + more;
}

StudyParts Parts(const std::string& analysis, const std::string& engine = "dealer") {
  StudyParts parts{.analysis = analysis, .engine = engine};
  parts.more = kAccept;
  return parts;
}

const std::string kBySex =
    "variables = [\"x\", \"y\", \"w\", \"z\"]\ngroup = \"sex\"\nquantiles = [0.5]\n"
    "compare = [\"ranks\"]\n";

class HiddenDescribeTest : public HiddenLists {
 protected:
  // Rows that all have, of the population, with a group if there are groups.
  data::Table JoinedRows(const DescribeStudy& study) const {
    data::Table table;
    for (const data::ColumnSchema& schema : study.file.dictionary.columns) {
      table.columns.emplace_back();
      table.columns.back().schema = schema;
    }
    for (const Row& row : people_) {
      if (!lists_.AllHave(row.id)) continue;
      ++table.num_rows;
      for (data::Column& column : table.columns) {
        const std::string& name = column.schema.name;
        const std::string& cell = name == "sex" ? row.sex
                                  : name == "x" ? row.x
                                  : name == "y" ? row.y
                                  : name == "z" ? row.z
                                                : row.w;
        if (name == "sex") {
          column.codes.push_back(cell.empty() ? -1 : cell == "f" ? 0 : 1);
        } else {
          column.numbers.push_back(cell.empty() ? std::nan("") : std::stod(cell));
        }
      }
    }
    study.DeriveColumns(table);
    std::vector<std::string> needed;
    if (study.spec.group) needed.push_back(study.spec.group->schema.name);
    TakenRows taken;
    OwnRows counts;
    return TakeRows(table, run::TakeRows(study, table, needed, taken, counts));
  }

  Seen ExpectTheJoinsTable(const StudyParts& parts) {
    SCOPED_TRACE(parts.engine + parts.design + parts.analysis);
    const std::unique_ptr<const Study> prepared = Prepared(StudyText(rows_, parts));
    const auto& study = dynamic_cast<const DescribeStudy&>(*prepared);
    const std::vector<PartyEnd> ends = Run(StudyText(rows_, parts));
    for (const PartyEnd& end : ends) {
      if (!end.error) continue;
      ADD_FAILURE() << end.party << ": " << end.error->message();
      return {};
    }
    const auto& run = dynamic_cast<const DescribeRun&>(*EndOf(ends, "analyst").outcome->protocol);
    const std::vector<data::Table> joined = {JoinedRows(study)};
    const std::vector<data::Table> left_out = {TakeRows(joined.front(), {})};
    PlainTable twin(study.spec, joined, run.min_cell);
    twin.HoldToNames({study.task.Crossed(study.task.holders.front())}, left_out);
    for (const char* const holder : kHolders) {
      const PartyOutcome& outcome = *EndOf(ends, holder).outcome;
      EXPECT_EQ(outcome.result, nullptr);
      // It takes part in opening the table, and gets none of its numbers.
      for (const Opening& opening : outcome.openings) {
        EXPECT_EQ(opening.release_id, "table");
        for (const mpc::IntMatrix& matrix : opening.values) EXPECT_TRUE(matrix.values.empty());
      }
      EXPECT_EQ(outcome.checks.size(), 1U);
      EXPECT_FALSE(dynamic_cast<const DescribeRun&>(*outcome.protocol).opened.has_value());
    }
    return ExpectTable(study.spec, run.opened.value(), twin);
  }

  std::vector<PartyEnd> EndsOf(const Lists& lists, const StudyParts& parts) {
    lists_ = lists;
    group_.reset();
    group_ = std::make_unique<MatchingGroup>(MatchingText(kExact));
    Write(false);
    results_ = group_->RunAndSave();
    rows_ = Hidden(results_[0].record, results_[0].rows.size(), "exact");
    return Run(StudyText(rows_, parts));
  }
};

TEST_F(HiddenDescribeTest, EqualsTheTableOfTheRowsThatAllHave) {
  Match(kExact);
  EXPECT_EQ(ExpectTheJoinsTable(Parts(Describe(kBySex))).by_group, 4U);
  EXPECT_EQ(ExpectTheJoinsTable(Parts(Describe("variables = [\"x\", \"sex\", \"w\"]\n"))).only_all,
            3U);
  Match(kNobody);
  EXPECT_EQ(ExpectTheJoinsTable(Parts(Describe(kBySex))).by_group, 4U);
  EXPECT_EQ(ExpectTheJoinsTable(Parts(Describe(kBySex), "shamir")).by_group, 4U);
}

// Of office's variables alone, or of registry's by its own group: the others have a say in which rows take
// part all the same. (A position that two holders share is one of all three.)
TEST_F(HiddenDescribeTest, AHolderWithoutVariablesSelectsAsWell) {
  Match(kExact);
  EXPECT_EQ(ExpectTheJoinsTable(Parts(Describe("variables = [\"y\", \"w\"]\n"))).only_all, 2U);
  EXPECT_EQ(ExpectTheJoinsTable(Parts(Describe("variables = [\"z\"]\ngroup = \"sex\"\n"))).by_group,
            1U);
}

// Conditions of two holders, and incomplete rows, of which the variables that they have are described.
TEST_F(HiddenDescribeTest, ConditionsAndIncompleteRows) {
  Match(kExact, 6);
  StudyParts parts = Parts(Describe(kBySex));
  parts.design = "site = \"ignore\"\nmissing = \"complete\"\n";
  EXPECT_EQ(ExpectTheJoinsTable(parts).by_group, 4U);
  Match(kExact);
  parts.more +=
      "[population]\nsubset = [{variable = \"x\", at_least = -8}, {variable = \"w\", at_most = "
      "2}]\n";
  EXPECT_EQ(ExpectTheJoinsTable(parts).by_group, 4U);
}

TEST_F(HiddenDescribeTest, EnoughRowsAreThoseOfTheJoin) {
  Match(kNobody);
  const std::string text = StudyText(rows_, Parts(Describe("variables = [\"x\"]\n")));
  const auto with = [&](const std::string& min_rows) {
    std::string changed = text;
    changed.replace(changed.find("min_rows = 10"), 13, "min_rows = " + min_rows);
    const std::vector<PartyEnd> ends = Run(changed);
    return ends[0].error ? ends[0].error->message() : std::string("ran");
  };
  EXPECT_EQ(with("50"), "ran");
  EXPECT_THAT(with("51"), HasSubstr("at least min_rows = 51 rows"));
}

// Clinic and registry have the same tables in both worlds; of the first their ids 20 to 69 match, of the
// second 30 to 79. In the first all that match have one value of clinic's variable, and one row alone is
// of the other sex, so that counts, groups and quantiles are withheld; in the second they open. No holder
// can tell the worlds from each other.
TEST_F(HiddenDescribeTest, HoldersSeeTheSameWhicheverRowsMatch) {
  const Lists first{{20, 15, 0}, {80, 90, 70}}, second{{20, 15, 30}, {80, 90, 120}};
  const std::string variables = "variables = [\"x\", \"z\", \"sex\"]\nquantiles = [0.5]\n";
  for (const std::string& analysis :
       {Describe(variables), Describe("variables = [\"x\", \"z\"]\ngroup = \"sex\"\n")}) {
    SCOPED_TRACE(analysis);
    people_ = People(0);
    for (Row& row : people_) {
      if (row.id >= 70) row.sex = row.id % 2 == 0 ? "m" : "f";
      if (!first.AllHave(row.id)) continue;
      row.sex = row.id == 20 ? "m" : "f";
      row.x = "2.5";
    }
    const std::vector<PartyEnd> withheld = EndsOf(first, Parts(analysis));
    const std::vector<PartyEnd> open = EndsOf(second, Parts(analysis));
    for (const char* const holder : {"clinic", "office", "registry"})
      EXPECT_EQ(ViewOf(EndOf(withheld, holder)), ViewOf(EndOf(open, holder))) << holder;
    const auto counts_of = [](const std::vector<PartyEnd>& ends) {
      const auto& run = dynamic_cast<const DescribeRun&>(*EndOf(ends, "analyst").outcome->protocol);
      return run.opened.value().counts;
    };
    // The one man is withheld with the others' sex, and where it is the group all groups are.
    EXPECT_THAT(counts_of(withheld), Contains(0U));
    EXPECT_THAT(counts_of(withheld), Not(Contains(1U)));
    EXPECT_THAT(counts_of(withheld), Not(Contains(49U)));
    EXPECT_NE(counts_of(withheld), counts_of(open));
  }
}

// ------------------------------------------------------------------- without tables

const std::string kAny = Hidden(crypto::Sha256Of(AsBytes("any")), 200, "exact");

// With registry's columns at office, for engines of a fixed number of parties.
std::string TwoHolders(std::string text) {
  const std::string registry = Party("registry", "\"holder\"", "\"z\", \"sex\"");
  text.erase(text.find(registry), registry.size());
  return text.replace(text.find("\"y\", \"w\""), 8, "\"y\", \"w\", \"z\", \"sex\"");
}

TEST(HiddenDescribeRehearsalTest, EqualsTheClearAtThePlannedCost) {
  for (const std::string& text :
       {StudyText(kAny, Parts(Describe(kBySex))),
        StudyText(kAny, Parts(Describe("variables = [\"x\", \"sex\"]\n"), "shamir")),
        TwoHolders(StudyText(kAny, Parts(Describe(kBySex), "replicated")))}) {
    SCOPED_TRACE(text);
    SilentProgress progress;
    const Rehearsal rehearsal = Rehearse(*Prepared(text), {}, progress);
    EXPECT_LT(rehearsal.rows, 190U);
    EXPECT_GT(rehearsal.rows, 100U);
    EXPECT_TRUE(rehearsal.passed(6));
  }
}

TEST(HiddenDescribePlanTest, SaysWhatHoldersAreToldAndWhoShallNotSeeTheTable) {
  const study::Plan plan = BuildPlan(*Prepared(StudyText(kAny, Parts(Describe(kBySex)))));
  EXPECT_THAT(plan.assumptions, Contains(HasSubstr("holders are told whether there are min_rows "
                                                   "rows, and nothing else")));
  EXPECT_THAT(plan.assumptions, Contains(HasSubstr("Whoever shows the table to a holder")));
  EXPECT_EQ(plan.releases.size(), 2U);
  EXPECT_EQ(plan.releases[1].to, "analyst");
  EXPECT_THAT(plan.analyses.at(0).rows, HasSubstr("at positions where all holders have a row"));
  for (const study::PlanCheck& check : plan.checks)
    EXPECT_THAT(check.rule, Not(HasSubstr("left out as well")));
  EXPECT_THAT(plan.exposures.at(0).exposes,
              Contains("the exact number of rows that match and take part"));
  EXPECT_EQ(plan.exposures.at(0).bits->rows, 10U);
}

// Of positions nobody says how many are persons of a holder: min_rows of them are counted.
TEST(HiddenDescribePlanTest, CountsPersonsOfAGroupAsTheFewestThatMatch) {
  const auto prepared = Prepared(StudyText(kAny, Parts(Describe(kBySex))));
  const auto bits = methods::describe::GroupBitsOf(dynamic_cast<const DescribeStudy&>(*prepared));
  ASSERT_EQ(bits.size(), 2U);  // clinic and office
  for (const methods::describe::GroupBits& of : bits) {
    EXPECT_EQ(of.rows, 10U);
    EXPECT_EQ(of.group, 5U);  // of C(10, 2) = 45
  }
}

TEST(HiddenDescribeRefusalsTest, WhatWouldTellIsRefusedByName) {
  const std::string variables = "variables = [\"x\", \"y\"]\n";
  EXPECT_EQ(Refusal(StudyText(kAny, Parts(Describe(variables)))), "accepted");
  std::string to_all = Describe(variables);
  to_all.replace(to_all.find("[\"table\"]"), 9, "[{what = \"table\", to = \"all\"}]");
  EXPECT_THAT(Refusal(StudyText(kAny, Parts(to_all))),
              HasSubstr("opens the table to others than the receiver"));
  EXPECT_THAT(
      Refusal(StudyText(
          kAny, Parts(Describe(variables + "subset = [{variable = \"x\", at_least = 0}]\n")))),
      HasSubstr("has a subset of its own"));
  EXPECT_THAT(Refusal(StudyText(kAny, Parts(Describe(variables + "group = \"site\"\n")))),
              HasSubstr("holders are what is compared"));
  EXPECT_THAT(Refusal(StudyText(
                  kAny, {.analysis = "method = \"describe\"\nvariables = [\"w\", \"sex\"]\n"
                                     "[analysis.privacy]\nepsilon = 1\ndelta = 1e-6\nadjacency = "
                                     "\"replace\"\n",
                         .design = "site = \"ignore\"\nmissing = \"complete\"\n"})),
              HasSubstr("which rows match is hidden, and noise on counts"));
  std::string reads = StudyText(kAny, Parts(Describe(variables)));
  reads.erase(reads.find(Party("analyst", "\"receiver\"", "")),
              Party("analyst", "\"receiver\"", "").size());
  reads.replace(reads.find("roles = [\"holder\"]"), 18, "roles = [\"holder\", \"receiver\"]");
  EXPECT_THAT(Refusal(reads),
              HasSubstr("the receiver 'clinic' holds rows of which it may not know"));
}

}  // namespace
}  // namespace partita::run::hidden_describe_test
