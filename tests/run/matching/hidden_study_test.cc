// Studies of rows of which nobody knows which match (level hidden): the same opens as from the inner
// join in equal lists, to the last bit; every holder's presence counts; what cannot is refused by name.
#include <gmock/gmock.h>

#include "methods/mle/report/report.h"
#include "run/party/build_plan.h"
#include "run/party/local_data.h"
#include "run/party/row_sets.h"
#include "run/rehearse/rehearsal.h"
#include "tests/run/matching/hidden_lists.h"

namespace partita::run::hidden_study_test {
namespace {

using namespace hidden_lists;  // NOLINT(google-build-using-namespace)

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

std::string Sem(const std::string& model, const std::string& more = "") {
  return "method = \"mle\"\nprotocol = \"pooled-moments\"\nfunction = \"sem\"\nmodel = \"" + model +
         "\"\nrelease = [\"estimates\", \"moments\"]\n" + more;
}

std::string Robust(const std::string& model,
                   const std::string& release = "\"moments\", \"robust\"") {
  return "method = \"mle\"\nprotocol = \"pooled-moments\"\nfunction = \"sem\"\nmodel = \"" + model +
         "\"\nrobust = true\nrelease = [" + release + "]\n";
}

class HiddenStudyTest : public HiddenLists {
 protected:
  // What clinic's record of served rows says of a study of these rows.
  void AskClinic(const std::string& rows, bool record) {
    const std::unique_ptr<const Study> study =
        Prepared(StudyText(rows, {.analysis = Sem("y ~ x + z")}));
    crypto::SystemRandom random;
    SilentProgress progress;
    const std::filesystem::path table = group_->Table(0);
    const LocalData local = LoadLocalData(*study, 1, table, crypto::RandomKey(random), progress);
    EXPECT_EQ(local.rows.observed, 60U);
    EXPECT_EQ(local.rows.match_is_hidden, rows.find("\"hidden\"") != std::string::npos);
    RowSets sets(RowSetsPath(table), random);
    sets.Require(*study, 1, local, table);
    if (record) sets.Record();
  }
  void Serve(const std::string& rows) { AskClinic(rows, true); }
  void ExpectNotServed(const std::string& rows) {
    try {
      AskClinic(rows, false);
      ADD_FAILURE() << "not refused";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kRefused);
      EXPECT_THAT(error.message(), HasSubstr("how few these are nobody can see"));
    }
  }
  // Of positions, and of the inner join in equal lists.
  void ExpectTheJoin(const StudyParts& parts) {
    Write(false);
    const std::vector<Opening> hidden = Opened(StudyText(rows_, parts));
    Write(true);
    const std::vector<Opening> joined = Opened(StudyText(kJoined, parts));
    Write(false);
    ASSERT_GE(hidden.size(), 1U);
    size_t numbers = 0;
    for (const Opening& opening : joined) {
      for (const Opening& same : hidden) {
        if (same.release_id != opening.release_id || opening.release_id == "disclosure") continue;
        ASSERT_EQ(same.values.size(), opening.values.size());
        for (size_t k = 0; k < same.values.size(); ++k) {
          EXPECT_TRUE(same.values[k].values == opening.values[k].values) << opening.release_id;
          numbers += same.values[k].values.size();
        }
      }
    }
    EXPECT_GE(numbers, 5U);
  }
};

TEST_F(HiddenStudyTest, OpensTheMomentsOfTheInnerJoin) {
  for (const std::string& count : {kExact, kNobody}) {
    Match(count);
    for (const std::string engine : {"dealer", "shamir"}) {
      SCOPED_TRACE(engine);
      ExpectTheJoin({.analysis = Sem("y ~ x + z"), .engine = engine});
    }
  }
}

// Registry, and office, have no variable of the analysis, or none but the group: they have a say in
// which rows take part all the same.
TEST_F(HiddenStudyTest, AHolderWithoutVariablesSelectsAsWell) {
  Match(kExact);
  ExpectTheJoin({.analysis = Sem("y ~ x")});
  ExpectTheJoin({.analysis = Sem("z ~ x")});
}

TEST_F(HiddenStudyTest, SubsetsWeightsAndIncompleteRows) {
  Match(kExact, 12);
  const std::string complete = "site = \"ignore\"\nmissing = \"complete\"\n";
  ExpectTheJoin({.analysis = Sem("y ~ x + z"), .design = complete});
  ExpectTheJoin({.analysis = Sem("y ~ x + z"),
                 .design = complete + "weights = \"w\"\nweights_type = \"frequency\"\n"});
  ExpectTheJoin({.analysis = Sem("y ~ x + z"),
                 .design = complete,
                 .more = "[population]\nsubset = [{variable = \"x\", at_least = -8}]\n"});
}

// One large value of somebody outside the join: it is multiplied by a zero.
TEST_F(HiddenStudyTest, AValueOutsideTheJoinDoesNotShow) {
  Match(kExact);
  const std::vector<Opening> before = Opened(StudyText(rows_, {.analysis = Sem("y ~ x + z")}));
  for (Row& row : people_) {
    if (!lists_.AllHave(row.id)) row.x = "20";
  }
  Write(false);
  const std::vector<Opening> after = Opened(StudyText(rows_, {.analysis = Sem("y ~ x + z")}));
  ASSERT_EQ(before.size(), after.size());
  for (size_t i = 0; i < before.size(); ++i) {
    for (size_t k = 0; k < before[i].values.size(); ++k)
      EXPECT_TRUE(before[i].values[k].values == after[i].values[k].values);
  }
}

// Standard errors of the rows that match, of a study that tells nobody but the receiver anything.
TEST_F(HiddenStudyTest, RobustErrorsAreThoseOfTheInnerJoin) {
  const auto robust_of = [&](const std::string& text, std::vector<std::string>* opened) {
    std::vector<double> errors;
    for (const PartyEnd& end : Run(text)) {
      EXPECT_FALSE(end.error) << end.party << ": " << (end.error ? end.error->message() : "");
      if (!end.outcome) continue;
      for (const Opening& opening : end.outcome->openings) {
        const bool told = std::any_of(opening.values.begin(), opening.values.end(),
                                      [](const auto& value) { return !value.values.empty(); });
        if (told && opened != nullptr) opened->push_back(end.party + " " + opening.release_id);
      }
      if (end.party != "analyst") continue;
      const auto analyses = methods::mle::AnalysesOf(end.outcome->result.get());
      EXPECT_EQ(analyses.size(), 1U);
      if (analyses.empty() || !analyses.front().robust) continue;
      for (const stats::ParameterEstimate& estimate : analyses.front().robust->estimates)
        errors.push_back(estimate.standard_error);
      errors.push_back(analyses.front().robust->scaling_factor);
    }
    return errors;
  };
  const std::string with_estimates =
      "\"moments\", \"robust\", {what = \"estimates\", to = \"all\"}";
  Match(kNobody, 12);
  Write(true);
  const std::string complete = "site = \"ignore\"\nmissing = \"complete\"\n";
  const std::vector<double> joined = robust_of(
      StudyText(kJoined, {.analysis = Robust("y ~ x + 0*z", with_estimates), .design = complete}),
      nullptr);
  Write(false);
  for (const std::string engine : {"dealer", "shamir"}) {
    SCOPED_TRACE(engine);
    std::vector<std::string> opened;
    const std::vector<double> hidden = robust_of(
        StudyText(rows_, {.analysis = Robust("y ~ x + 0*z"), .design = complete, .engine = engine}),
        &opened);
    ASSERT_EQ(hidden.size(), joined.size());
    ASSERT_GT(hidden.size(), 3U);
    for (size_t i = 0; i < hidden.size(); ++i)
      EXPECT_NEAR(hidden[i], joined[i], 1e-6 * std::abs(joined[i])) << i;
    EXPECT_THAT(opened, Contains(HasSubstr("analyst robust-meat/")));
    for (const std::string& opening : opened) {
      EXPECT_THAT(opening, AnyOf(HasSubstr("analyst "), HasSubstr("disclosure")));
    }
  }
}

// The join is smaller than min_rows, whatever the number of positions: nothing opens.
TEST_F(HiddenStudyTest, MinRowsCountsTheJoin) {
  Match(kNobody);
  std::string text = StudyText(rows_, {.analysis = Sem("y ~ x + z")});
  const auto with = [&](const std::string& min_rows) {
    std::string changed = text;
    changed.replace(changed.find("min_rows = 10"), 13, "min_rows = " + min_rows);
    const std::vector<PartyEnd> ends = Run(changed);
    return ends[0].error ? ends[0].error->message() : std::string("ran");
  };
  EXPECT_EQ(with("50"), "ran");
  EXPECT_THAT(with("51"), HasSubstr("at least min_rows = 51 rows"));
}

TEST_F(HiddenStudyTest, AResultOfAnotherLevelCountOrNumberOfPositionsIsRefused) {
  Match(kExact);
  const auto said = [&](const std::string& from, const std::string& to) {
    std::string text = StudyText(rows_, {.analysis = Sem("y ~ x + z")});
    text.replace(text.find(from), from.size(), to);
    for (const PartyEnd& end : Run(text)) {
      if (end.party == "clinic" && end.error) return end.error->message();
    }
    return std::string("ran");
  };
  EXPECT_EQ(said("partita", "partita"), "ran");
  EXPECT_THAT(said("count = \"exact\"", "count = \"nobody\""), HasSubstr("with another count"));
  std::string ids = StudyText(rows_, {.analysis = Sem("y ~ x + z")});
  ids.replace(ids.find("\"hidden\""), 8, "\"matched-ids\"");
  EXPECT_THAT(Refusal(ids), HasSubstr("is for level"));
  EXPECT_THAT(said("count = 200", "count = 201"), HasSubstr("200 rows of block 'all'"));
}

// What opens of rows of few people is their own: the record of served rows has the rows at positions.
TEST_F(HiddenStudyTest, ServedRowsAreTheHoldersOwn) {
  Match(kExact);
  Serve(rows_);
  Serve(rows_);
  // The registry has one person fewer, in another matching: clinic's own rows are the same.
  std::string registry;
  for (const Row& row : people_) {
    if (row.id == 20) registry = fmt::format("{:04},{},{}\n", row.id, row.z, row.sex);
  }
  std::string fewer = TableOf(people_, lists_, 1, false);
  group_->Write(1, fewer.erase(fewer.find(registry), registry.size()));
  results_ = group_->RunAndSave();
  ExpectNotServed(Hidden(results_[0].record, results_[0].rows.size(), "exact"));
}

// One own cell taken out, and the number of complete rows says whether that row matches.
TEST_F(HiddenStudyTest, AnotherCellIsNotServed) {
  Match(kExact);
  Serve(rows_);
  std::string table = TableOf(people_, lists_, 0, false);
  const size_t line = table.find('\n', table.find('\n') + 1);
  table[line - 1] = table[line - 1] == '9' ? '8' : '9';
  group_->Write(0, table);
  ExpectNotServed(rows_);
}

// A study that names rows by a key column, of nearly the people of a hidden join, before it and after it.
TEST_F(HiddenStudyTest, RowsNamedByAKeyAreComparedWithHiddenOnes) {
  Match(kExact);
  const std::string keyed = "[[rows]]\nname = \"all\"\ncount = 60\n[table]\nkey = \"id\"\n";
  Serve(rows_);
  ExpectNotServed(keyed);
  std::filesystem::remove(RowSetsPath(group_->Table(0)));
  Serve(keyed);
  ExpectNotServed(rows_);
}

// A list of other people has nothing to do with what was served.
TEST_F(HiddenStudyTest, AnotherMatchingOfOtherPeopleIsServed) {
  Match(kExact);
  crypto::SystemRandom random;
  SilentProgress progress;
  const std::vector<Row> first = people_;
  for (const int shift : {0, 1000}) {
    people_ = first;
    for (Row& row : people_) row.x = fmt::format("{:.2f}", std::stod(row.x) / (1 + shift));
    std::string tables[3];
    for (size_t holder = 0; holder < 3; ++holder) {
      tables[holder] = TableOf(people_, lists_, holder, false);
      if (shift > 0) {
        for (size_t at = tables[holder].find('\n'); at + 1 < tables[holder].size();
             at = tables[holder].find('\n', at + 1))
          tables[holder][at + 1] = '1';
      }
      group_->Write(holder, tables[holder]);
    }
    results_ = group_->RunAndSave();
    const std::unique_ptr<const Study> study = Prepared(
        StudyText(Hidden(results_[0].record, 200, "exact"), {.analysis = Sem("y ~ x + z")}));
    const LocalData local =
        LoadLocalData(*study, 1, group_->Table(0), crypto::RandomKey(random), progress);
    RowSets sets(RowSetsPath(group_->Table(0)), random);
    EXPECT_NO_THROW(sets.Require(*study, 1, local, group_->Table(0)));
    sets.Record();
  }
}

// ------------------------------------------------------------------- without tables

const std::string kAny = Hidden(crypto::Sha256Of(AsBytes("any")), 200, "exact");

std::string Of(const std::string& protocol, const std::string& release) {
  return "method = \"mle\"\nprotocol = \"" + protocol +
         "\"\nfunction = \"sem\"\nmodel = \"y ~ x + z\"\nrelease = [" + release + "]\n";
}

// Made-up lists, each without other rows: as their join in the clear, at the planned cost.
TEST(HiddenRehearsalTest, EqualsTheClearAtThePlannedCost) {
  const std::vector<StudyParts> studies = {
      {.analysis = Sem("y ~ x + z")},
      {.analysis = Sem("y ~ x + z"), .engine = "shamir"},
      {.analysis = Robust("y ~ x + z")},
      {.analysis = Robust("y ~ x + 0*z"), .engine = "shamir"},
      {.analysis = Of("likelihood", "\"likelihood\"")},
      {.analysis = Of("sealed", "\"estimates\", \"standard-errors\"")},
      {.analysis = Sem("y ~ x + z"), .design = "site = \"ignore\"\nmissing = \"complete\"\n"}};
  for (const StudyParts& parts : studies) {
    SCOPED_TRACE(parts.design + parts.engine + parts.analysis);
    SilentProgress progress;
    const Rehearsal rehearsal = Rehearse(*Prepared(StudyText(kAny, parts)), {}, progress);
    EXPECT_LT(rehearsal.rows, 170U);
    EXPECT_GT(rehearsal.rows, 100U);
    EXPECT_TRUE(rehearsal.passed(6)) << rehearsal.lowest_digits();
  }
}

TEST(HiddenPlanTest, SaysWhoKnowsWhat) {
  const study::Plan plan = BuildPlan(*Prepared(StudyText(kAny, {.analysis = Sem("y ~ x + z")})));
  EXPECT_THAT(
      plan.assumptions,
      AllOf(
          Contains(AllOf(HasSubstr("Block all has 200 positions"), HasSubstr("at the level hidden"),
                         HasSubstr("How many people match follows"))),
          Contains(HasSubstr("By how many two matchings of a list differ in their joins no "
                             "holder can see")),
          Contains(HasSubstr("In that matching trust saw which rows"))));
  EXPECT_THAT(plan.parties[1].contributes, HasSubstr("of all (200 positions)"));
  EXPECT_THAT(plan.parties[1].learns,
              AllOf(Contains(HasSubstr("but not at which of them all holders have a row, only how "
                                       "many there are")),
                    Not(Contains(HasSubstr("which of its own rows")))));
  const study::Plan nobody = BuildPlan(*Prepared(StudyText(
      Hidden(crypto::Sha256Of(AsBytes("any")), 200, "nobody"), {.analysis = Sem("y ~ x + z")})));
  EXPECT_THAT(nobody.assumptions, Contains(HasSubstr("the number of positions does not say")));
}

TEST(HiddenPlanTest, RobustErrorsTellNoEstimate) {
  const study::Plan plan = BuildPlan(*Prepared(StudyText(kAny, {.analysis = Robust("y ~ x + z")})));
  EXPECT_THAT(plan.assumptions, Contains(AllOf(HasSubstr("no estimate leaves it"),
                                               HasSubstr("how long its fit took"))));
  for (const study::PlanExposure& exposure : plan.exposures) EXPECT_EQ(exposure.to, "analyst");
  for (const study::PlanRelease& release : plan.releases) {
    EXPECT_EQ(release.to, release.id == "disclosure" ? "all" : "analyst") << release.id;
  }
}

// The plan promises no more unknown rows than min_rows: nobody knows how many positions are people.
TEST(HiddenPlanTest, TheReleaseRuleCountsNoPositions) {
  const auto unknown = [](const std::string& rows) {
    const study::Plan plan = BuildPlan(*Prepared(StudyText(rows, {.analysis = Sem("y ~ x + z")})));
    return plan.exposures.at(0).bits ? plan.exposures.at(0).bits->rows : 0;
  };
  EXPECT_EQ(unknown(kAny), 10U);
  EXPECT_EQ(unknown("[[rows]]\nname = \"all\"\ncount = 200\n[table]\nkey = \"id\"\n"), 200U);
}

TEST(HiddenRefusalsTest, WhatCannotTakeHiddenRowsIsRefusedByName) {
  EXPECT_EQ(Refusal(StudyText(kAny, {.analysis = Sem("y ~ x + z")})), "accepted");
  EXPECT_THAT(Refusal(StudyText(kAny, {.analysis = Robust("y ~ x", "\"moments\"")})),
              HasSubstr("which 'release' does not list"));
  EXPECT_THAT(Refusal(StudyText(kAny, {.analysis = Robust("y ~ x",
                                                          "\"moments\", \"robust\", {what = "
                                                          "\"estimates\", to = \"all\"}")})),
              HasSubstr("tells estimates to others than the receiver"));
  EXPECT_THAT(Refusal(StudyText(kAny, {.analysis = Robust("y ~ x"),
                                       .design = "site = \"ignore\"\nmissing = \"complete\"\n"
                                                 "weights = \"w\"\nweights_type = "
                                                 "\"frequency\"\n"})),
              HasSubstr("without site effects and weights only"));
  EXPECT_THAT(Refusal(StudyText(kAny, {.analysis = Sem("y ~ x"),
                                       .design = "site = \"fixed\"\nmissing = \"refuse\"\n"})),
              HasSubstr("site = \"fixed\""));
  EXPECT_THAT(Refusal(StudyText(kAny, {.analysis = Sem("y ~ x"),
                                       .more = "[release]\naccept = \"checked cells\"\n"})),
              HasSubstr("accept = \"checked cells\""));
  EXPECT_THAT(
      Refusal(StudyText(kAny, {.analysis = "method = \"mixture\"\ncomponents = 2\niterations = 4\n"
                                           "learning_rate = 0.05\ncolumns = [\"x\", \"y\"]\n"
                                           "[analysis.batch]\nmode = \"poisson\"\nsize = 8\n"
                                           "[analysis.privacy]\nnoise_multiplier = 1.5\ndelta = "
                                           "1e-5\nadjacency = \"replace\"\n"})),
      AllOf(HasSubstr("which rows of block 'all' match is hidden"), HasSubstr("method 'mixture'")));
  // What would tell a holder which of its own rows match.
  std::string reads = StudyText(kAny, {.analysis = Sem("y ~ x + z")});
  reads.erase(reads.find(Party("analyst", "\"receiver\"", "")),
              Party("analyst", "\"receiver\"", "").size());
  reads.replace(reads.find("roles = [\"holder\"]"), 18, "roles = [\"holder\", \"receiver\"]");
  EXPECT_THAT(Refusal(reads),
              HasSubstr("the receiver 'clinic' holds rows of which it may not know"));
  EXPECT_THAT(Refusal(StudyText(
                  kAny, {.analysis = "method = \"mle\"\nprotocol = \"pooled-moments\"\n"
                                     "function = \"sem\"\nmodel = \"y ~ x\"\nrelease = "
                                     "[\"moments\", {what = \"estimates\", to = \"all\"}]\n"})),
              HasSubstr("tells estimates to others than the receiver"));
  std::string few_values = StudyText(kAny, {.analysis = Sem("y ~ x + w")});
  few_values.replace(few_values.find("upper = 3"), 9, "upper = 1");
  EXPECT_THAT(Refusal(few_values), HasSubstr("could learn which of its rows match"));
  EXPECT_THAT(Refusal(StudyText(kAny, {.analysis = Sem("y ~ x", "group = \"sex\"\n")})),
              HasSubstr("has groups"));
  EXPECT_THAT(Refusal(StudyText(kAny, {.analysis = Sem("y ~ x",
                                                       "subset = [{variable = \"x\", "
                                                       "at_least = 0}]\n")})),
              HasSubstr("has a subset of its own"));
  for (const std::string missing : {"fiml", "mi"}) {
    EXPECT_THAT(Refusal(StudyText(kAny, {.analysis = Sem("y ~ x"),
                                         .design = "site = \"ignore\"\nmissing = \"" + missing +
                                                   "\"\npatterns = [[], [\"x\"]]\n"})),
                HasSubstr("how many rows have a pattern"));
  }
  std::string beside =
      StudyText("[table]\nkey = \"id\"\n[[rows]]\nname = \"own\"\ncount = 50\n" + kAny,
                {.analysis = Sem("y ~ x")});
  beside.insert(beside.find("[table]"),
                "[[party]]\nname = \"hospital\"\nroles = [\"holder\"]\nrows = [\"own\"]\n");
  for (const char* const holder : kHolders) {
    const std::string name = std::string("name = \"") + holder + "\"\n";
    beside.insert(beside.find(name) + name.size(), "rows = [\"all\"]\n");
  }
  EXPECT_THAT(Refusal(beside), HasSubstr("stands beside another one"));
  std::string unlinked = kAny;
  unlinked.erase(unlinked.find("linker = "));
  EXPECT_THAT(Refusal(StudyText(unlinked, {.analysis = Sem("y ~ x")})),
              HasSubstr("is matched, and 3 parties hold it"));
  unlinked.replace(unlinked.find("\"exact\""), 7, "\"nobody\"");
  EXPECT_THAT(Refusal(StudyText(unlinked, {.analysis = Sem("y ~ x")})),
              HasSubstr("count = \"nobody\" and no linker"));
}

}  // namespace
}  // namespace partita::run::hidden_study_test
