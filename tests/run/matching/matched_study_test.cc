// Studies of matched rows: the same numbers open as from the merged table in equal lists; both sides
// check that the result of the matching is of this matching and of this table; rehearsals.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <map>
#include <random>

#include "methods/prepare_study.h"
#include "run/party/build_plan.h"
#include "run/party/local_data.h"
#include "run/party/row_sets.h"
#include "run/rehearse/rehearsal.h"
#include "run/simulate/simulate.h"
#include "tests/run/matching/matching_group.h"

namespace partita::run::matched_study_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::MatchingGroup;
using testing::OfAll;

struct Row {
  int id = 0;
  double x = 0, z = 0;
  int y = 0;
};

std::vector<Row> RowsOf(int first, int last) {
  std::mt19937_64 random(5);
  std::vector<Row> rows;
  for (int id = 0; id < last; ++id) {
    Row row;
    row.id = id;
    row.x = static_cast<double>(random() % 2000) / 100 - 10;
    row.z = static_cast<double>(random() % 2000) / 100 - 10;
    row.y = row.x + row.z + static_cast<double>(random() % 1500) / 100 > 7 ? 1 : 0;
    if (id >= first) rows.push_back(row);
  }
  std::shuffle(rows.begin(), rows.end(), random);
  return rows;
}

// The clinic has x and y, the registry z.
std::string TableOf(const std::vector<Row>& rows, size_t party) {
  std::string csv = party == 0 ? "nid,name,born,x,y\n" : "number,name,born,z\n";
  for (const Row& row : rows) {
    csv += fmt::format("{:04},n{},2001-01-01,", row.id, row.id);
    csv += party == 0 ? fmt::format("{},{}\n", row.x, row.y) : fmt::format("{}\n", row.z);
  }
  return csv;
}

std::string HexOf(const crypto::Digest& digest) { return ToHex(digest); }

// rows: what stands in [[rows]] and [table].
std::string StudyText(const std::string& rows, const std::string& analysis) {
  return "partita = 1\nname = \"s\"\n"
         "[[party]]\nname = \"clinic\"\nroles = [\"holder\", \"receiver\"]\ncolumns = [\"x\", "
         "\"y\"]\n"
         "[[party]]\nname = \"registry\"\nroles = [\"holder\"]\ncolumns = [\"z\"]\n"
         "[[party]]\nname = \"helper\"\nroles = [\"dealer\"]\n" +
         rows +
         "[[variable]]\nname = \"x\"\ntype = \"numeric\"\nlower = -20\nupper = 20\n"
         "[[variable]]\nname = \"y\"\ntype = \"integer\"\nlower = 0\nupper = 1\n"
         "[[variable]]\nname = \"z\"\ntype = \"numeric\"\nlower = -20\nupper = 20\n"
         "[design]\nsite = \"ignore\"\nmissing = \"refuse\"\n"
         "[disclosure]\nmin_rows = 20\nmin_cell = 2\n[engine]\nname = \"dealer\"\n[[analysis]]\n" +
         analysis;
}

std::string Matched(const crypto::Digest& record, size_t count) {
  return fmt::format(
      "[[rows]]\nname = \"both\"\ncount = {}\n[rows.match]\nlevel = \"matched-ids\"\n"
      "matching = \"cohort\"\nrecord = \"{}\"\n",
      count, HexOf(record));
}
std::string Equal(size_t count) {
  return fmt::format("[[rows]]\nname = \"both\"\ncount = {}\n[table]\nkey = \"name\"\n", count);
}

constexpr const char* kMoments =
    "method = \"mle\"\nprotocol = \"pooled-moments\"\nfunction = \"sem\"\nmodel = \"y ~ x + z\"\n"
    "release = [\"estimates\", \"moments\"]\n";
constexpr const char* kSealed =
    "method = \"glm\"\nprotocol = \"sealed\"\nfamily = \"binomial\"\nformula = \"y ~ x + z\"\n"
    "release = [\"estimates\"]\n";
constexpr const char* kMixture =
    "method = \"mixture\"\ncomponents = 2\niterations = 4\nlearning_rate = 0.05\n"
    "columns = [\"x\", \"y\", \"z\"]\n[analysis.batch]\nmode = \"poisson\"\nsize = 8\n"
    "[analysis.privacy]\nnoise_multiplier = 1.5\ndelta = 1e-5\nadjacency = \"replace\"\n";

std::unique_ptr<const Study> Prepared(const std::string& text) {
  return methods::PrepareStudy(methods::ParseStudyFile(text, "study.toml"));
}

class MatchedStudyTest : public ::testing::Test {
 protected:
  // 50 of clinic's 55 rows are among registry's 70.
  void SetUp() override {
    pair_.Write(0, TableOf(clinic_, 0));
    pair_.Write(1, TableOf(registry_, 1));
    results_ = pair_.RunAndSave();
    ASSERT_EQ(results_[0].rows.size(), 50U);
  }
  std::vector<PartyEnd> Run(const std::string& text) {
    SilentProgress progress;
    return SimulateInProcess(*Prepared(text), {pair_.Table(0), pair_.Table(1), {}}, {}, progress,
                             Keep::kOpenings);
  }
  // What opened at the receiver.
  std::vector<Opening> Opened(const std::string& text) {
    std::vector<PartyEnd> ends = Run(text);
    for (const PartyEnd& end : ends) {
      if (end.error) ADD_FAILURE() << end.party << ": " << end.error->message();
    }
    return ends[0].outcome ? ends[0].outcome->openings : std::vector<Opening>{};
  }
  std::string TextOf(const std::string& analysis) {
    return StudyText(Matched(results_[0].record, 50), analysis);
  }
  // Of a study that party `party` refuses; what it says.
  std::string Refusal(const std::string& text, size_t party, ErrorCode code) {
    const std::vector<PartyEnd> ends = Run(text);
    if (!ends[party].error) return "ran";
    EXPECT_EQ(ends[party].error->code(), code) << ends[party].error->message();
    EXPECT_FALSE(ends[1 - party].outcome);
    return ends[party].error->message();
  }

  const std::vector<Row> clinic_ = RowsOf(0, 55), registry_ = RowsOf(5, 75);
  MatchingGroup pair_;
  OfAll<MatchedRows> results_;
};

TEST_F(MatchedStudyTest, OpensTheSameAsTheMergedTable) {
  for (const std::string analysis : {kMoments, kSealed}) {
    SCOPED_TRACE(analysis);
    pair_.Write(0, TableOf(clinic_, 0));
    pair_.Write(1, TableOf(registry_, 1));
    const std::vector<Opening> matched = Opened(TextOf(analysis));
    pair_.Write(0, TableOf(RowsOf(5, 55), 0));
    pair_.Write(1, TableOf(RowsOf(5, 55), 1));
    const std::vector<Opening> merged = Opened(StudyText(Equal(50), analysis));
    ASSERT_EQ(matched.size(), merged.size());
    ASSERT_GE(matched.size(), 1U);
    for (size_t i = 0; i < matched.size(); ++i) {
      ASSERT_EQ(matched[i].values.size(), merged[i].values.size());
      for (size_t k = 0; k < matched[i].values.size(); ++k)
        EXPECT_TRUE(matched[i].values[k].values == merged[i].values[k].values)
            << matched[i].release_id;
    }
  }
}

TEST_F(MatchedStudyTest, ThePlanSaysTheLevelAndWhatWasLearnt) {
  const study::Plan plan = BuildPlan(*Prepared(TextOf(kMoments)));
  EXPECT_THAT(plan.parties[1].learns,
              ::testing::Contains(HasSubstr("which of its own rows clinic has too (block both)")));
  EXPECT_THAT(plan.assumptions,
              ::testing::Contains(AllOf(HasSubstr("level matched-ids"), HasSubstr("'cohort'"))));
  const study::Plan of_private = BuildPlan(*Prepared(TextOf(kMixture)));
  EXPECT_THAT(of_private.assumptions, ::testing::Contains(HasSubstr("not about who is matched")));
}

TEST_F(MatchedStudyTest, AResultOfAnotherMatchingOrPartyIsRefusedBeforeAnythingIsSent) {
  crypto::Digest other = results_[0].record;
  other[0] ^= 1;
  EXPECT_THAT(Refusal(StudyText(Matched(other, 50), kMoments), 0, ErrorCode::kRefused),
              HasSubstr("is of another matching than the study names"));
  const std::filesystem::path own = MatchedRowsPath(pair_.Table(0), "cohort");
  std::filesystem::copy_file(MatchedRowsPath(pair_.Table(1), "cohort"), own,
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_THAT(Refusal(TextOf(kMoments), 0, ErrorCode::kRefused),
              HasSubstr("is of party registry, not of clinic"));
  std::filesystem::remove(own);
  EXPECT_THAT(Refusal(TextOf(kMoments), 0, ErrorCode::kBadInput), HasSubstr("does not exist"));
  SaveMatchedRows(results_[0], own);
  EXPECT_THAT(Refusal(StudyText(Matched(results_[0].record, 49), kMoments), 1, ErrorCode::kBadData),
              HasSubstr("50 rows of block 'both', but the study declares 49"));
}

TEST_F(MatchedStudyTest, ATableThatChangedIsRefusedByItsOwner) {
  std::vector<Row> changed = clinic_;
  std::swap(changed[0], changed[1]);
  pair_.Write(0, TableOf(changed, 0));
  EXPECT_THAT(Refusal(TextOf(kMoments), 0, ErrorCode::kBadData),
              HasSubstr("is not the table that was matched by 'cohort'"));
  changed = clinic_;
  changed[0].x = 3.25;  // no key
  pair_.Write(0, TableOf(changed, 0));
  for (const PartyEnd& end : Run(TextOf(kMoments))) EXPECT_FALSE(end.error) << end.error->message();
}

TEST_F(MatchedStudyTest, AResultOfAMatchingWithSomebodyElseIsRefused) {
  results_[0].partners = {"office"};
  SaveMatchedRows(results_[0], MatchedRowsPath(pair_.Table(0), "cohort"));
  EXPECT_THAT(Refusal(TextOf(kMoments), 0, ErrorCode::kRefused),
              HasSubstr("is of a matching with office, and this study's rows are shared with "
                        "registry"));
}

// The table of the second matching lacks a person, and has a column more that nobody uses.
TEST_F(MatchedStudyTest, RowsOfTwoMatchingsAreComparedWhateverElseTheTableHas) {
  crypto::SystemRandom random;
  SilentProgress progress;
  const auto serve = [&](const std::string& text) {
    const std::unique_ptr<const Study> study = Prepared(text);
    const LocalData local =
        LoadLocalData(*study, 0, pair_.Table(0), crypto::RandomKey(random), progress);
    RowSets sets(RowSetsPath(pair_.Table(0)), random);
    sets.Require(*study, 0, local, pair_.Table(0));
    sets.Record();
  };
  // Of clinic's people up to `last`, with the new column.
  const auto matched_up_to = [&](int last) {
    std::string csv;
    for (const char c : TableOf(RowsOf(0, last), 0)) csv += c == '\n' ? ",7\n" : std::string(1, c);
    pair_.Write(0, csv);
    return StudyText(Matched(pair_.RunAndSave()[0].record, static_cast<size_t>(last - 5)),
                     kMoments);
  };
  serve(TextOf(kMoments));
  try {
    serve(matched_up_to(54));
    FAIL() << "not refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kRefused);
    EXPECT_THAT(error.message(), HasSubstr("by 1, fewer than"));
  }
  // Matched anew, in another order: the same rows.
  serve(matched_up_to(55));
}

// By another column of the same table all texts of keys are others: the rows are known by their cells.
TEST_F(MatchedStudyTest, RowsMatchedByAnotherColumnAreComparedByTheirCells) {
  const auto with_other = [](int first, int last) {
    std::string csv = "nid,name,born,x,y,other\n";
    for (const Row& row : RowsOf(first, last)) {
      csv += fmt::format("{:04},n{},2001-01-01,{},{},{}\n", row.id, row.id, row.x, row.y,
                         row.id + 5000);
    }
    return csv;
  };
  std::string file = testing::kPairFile;
  const std::string bound = "rows = 60\n";
  file.replace(file.find(bound), bound.size(),
               bound + "[[party.column]]\nname = \"nid\"\nheader = \"other\"\n");
  MatchingGroup again(file);
  std::string registry = "number,name,born,z\n";
  for (const Row& row : RowsOf(6, 75))
    registry += fmt::format("{},n{},2001-01-01,{}\n", row.id + 5000, row.id, row.z);
  pair_.Write(0, with_other(0, 55));
  again.Write(0, with_other(0, 55));
  again.Write(1, registry);
  crypto::SystemRandom random;
  SilentProgress progress;
  const auto serve = [&](MatchingGroup& group, size_t count) {
    const std::unique_ptr<const Study> study =
        Prepared(StudyText(Matched(group.RunAndSave()[0].record, count), kMoments));
    const LocalData local =
        LoadLocalData(*study, 0, group.Table(0), crypto::RandomKey(random), progress);
    RowSets sets(RowSetsPath(pair_.Table(0)), random);
    sets.Require(*study, 0, local, group.Table(0));
    sets.Record();
  };
  serve(pair_, 50);
  try {
    serve(again, 49);
    FAIL() << "not refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kRefused);
    EXPECT_THAT(error.message(), HasSubstr("by 1, fewer than"));
  }
}

// Both say that their results are of the record that the study names, and one of them lies.
TEST_F(MatchedStudyTest, ResultsThatAreNotOfOneMatchingAreNoticedByBoth) {
  const OfAll<MatchedRows> first = results_;
  pair_.ApproveAll();
  OfAll<MatchedRows> second = pair_.RunAndSave();
  EXPECT_NE(first[0].record, second[0].record);
  second[1].record = first[0].record;
  SaveMatchedRows(first[0], MatchedRowsPath(pair_.Table(0), "cohort"));
  SaveMatchedRows(second[1], MatchedRowsPath(pair_.Table(1), "cohort"));
  const std::vector<PartyEnd> ends = Run(StudyText(Matched(first[0].record, 50), kMoments));
  // Who finds it first stops the other, who may not have come so far.
  bool found = false;
  for (size_t party = 0; party < kMatchedHolders; ++party) {
    ASSERT_TRUE(ends[party].error);
    const Error& error = *ends[party].error;
    const bool own = error.code() == ErrorCode::kBadData;
    found = found || own;
    EXPECT_THAT(error.message(), own ? HasSubstr("row lists of block 'both' differ")
                                     : HasSubstr("its data failed a check"));
  }
  EXPECT_TRUE(found);
}

TEST(MatchedRehearsalTest, OnMadeUpUnequalListsEqualsTheClear) {
  const crypto::Digest record = crypto::Sha256Of(AsBytes("any"));
  for (const std::string analysis : {kMoments, kSealed, kMixture}) {
    SCOPED_TRACE(analysis);
    SilentProgress progress;
    const Rehearsal rehearsal =
        Rehearse(*Prepared(StudyText(Matched(record, 200), analysis)), {}, progress);
    EXPECT_EQ(rehearsal.rows, 200U);
    EXPECT_TRUE(rehearsal.passed(6));
  }
}

// Three holders of a column each, linked by a fourth party: clinic has 50 rows, registry 60, office 70.
constexpr const char* kThreeFile = R"(matching = 1
name = "cohort"
keys = [["nid"]]
minimum = 1
[[column]]
name = "nid"
rule = "digits"
length = 4
[[party]]
name = "clinic"
rows = 60
[[party]]
name = "registry"
rows = 80
[[party.column]]
name = "nid"
header = "number"
[[party]]
name = "office"
rows = 90
[[party]]
name = "trust"
role = "linker"
)";

std::string OfficeTable(const std::vector<Row>& rows) {
  std::string csv = "nid,y\n";
  for (const Row& row : rows) csv += fmt::format("{:04},{}\n", row.id, row.y);
  return csv;
}

std::string ThreeText(const std::string& rows, const std::string& dealer) {
  return "partita = 1\nname = \"s\"\n"
         "[[party]]\nname = \"clinic\"\nroles = [\"holder\", \"receiver\"]\ncolumns = [\"x\"]\n"
         "[[party]]\nname = \"registry\"\nroles = [\"holder\"]\ncolumns = [\"z\"]\n"
         "[[party]]\nname = \"office\"\nroles = [\"holder\"]\ncolumns = [\"y\"]\n"
         "[[party]]\nname = \"" +
         dealer + "\"\nroles = [\"dealer\"]\n" + rows +
         "[[variable]]\nname = \"x\"\ntype = \"numeric\"\nlower = -20\nupper = 20\n"
         "[[variable]]\nname = \"y\"\ntype = \"integer\"\nlower = 0\nupper = 1\n"
         "[[variable]]\nname = \"z\"\ntype = \"numeric\"\nlower = -20\nupper = 20\n"
         "[design]\nsite = \"ignore\"\nmissing = \"refuse\"\n"
         "[disclosure]\nmin_rows = 20\nmin_cell = 2\n[engine]\nname = \"dealer\"\n[[analysis]]\n" +
         kMoments;
}

class LinkedStudyTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Write(RowsOf(0, 50), RowsOf(5, 65), RowsOf(0, 70));
    results_ = group_.RunAndSave();
    ASSERT_EQ(results_[2].rows.size(), 45U);
  }
  void Write(const std::vector<Row>& clinic, const std::vector<Row>& registry,
             const std::vector<Row>& office) {
    group_.Write(0, TableOf(clinic, 0));
    group_.Write(1, TableOf(registry, 1));
    group_.Write(2, OfficeTable(office));
  }
  std::vector<PartyEnd> Run(const std::string& text) {
    SilentProgress progress;
    return SimulateInProcess(*Prepared(text),
                             {group_.Table(0), group_.Table(1), group_.Table(2), {}}, {}, progress,
                             Keep::kOpenings);
  }
  std::string Rows(const std::string& linker = "trust") {
    return Matched(results_[0].record, 45) + fmt::format("linker = \"{}\"\n", linker);
  }

  MatchingGroup group_{kThreeFile};
  OfAll<MatchedRows> results_;
};

TEST_F(LinkedStudyTest, RowsOfThreeHoldersOpenTheSameAsTheMergedTable) {
  const std::vector<PartyEnd> matched = Run(ThreeText(Rows(), "helper"));
  for (const PartyEnd& end : matched) ASSERT_FALSE(end.error) << end.error->message();
  Write(RowsOf(5, 50), RowsOf(5, 50), RowsOf(5, 50));
  std::string equal = Equal(45);
  equal.replace(equal.find("\"name\"\n", equal.find("[table]")), 7, "\"nid\"\n");
  // Registry calls its key otherwise: in equal lists all have one name.
  std::string registry = TableOf(RowsOf(5, 50), 1);
  group_.Write(1, registry.replace(0, 6, "nid"));
  const std::vector<PartyEnd> merged = Run(ThreeText(equal, "helper"));
  for (const PartyEnd& end : merged) ASSERT_FALSE(end.error) << end.error->message();
  const std::vector<Opening>&a = matched[0].outcome->openings, &b = merged[0].outcome->openings;
  ASSERT_EQ(a.size(), b.size());
  ASSERT_GE(a.size(), 1U);
  for (size_t i = 0; i < a.size(); ++i) {
    for (size_t k = 0; k < a[i].values.size(); ++k)
      EXPECT_TRUE(a[i].values[k].values == b[i].values[k].values) << a[i].release_id;
  }
}

TEST_F(LinkedStudyTest, ThePlanSaysWhatTheLinkerSaw) {
  const study::Plan plan = BuildPlan(*Prepared(ThreeText(Rows(), "helper")));
  EXPECT_THAT(plan.assumptions,
              ::testing::Contains(HasSubstr("In that matching trust saw which rows")));
  EXPECT_THAT(plan.parties[0].learns,
              ::testing::Contains(
                  HasSubstr("which of its own rows registry, office all have too (block both)")));
  EXPECT_THAT(plan.assumptions, ::testing::Contains(HasSubstr("found in all lists")));
  const study::Plan dealing = BuildPlan(*Prepared(ThreeText(Rows(), "trust")));
  EXPECT_THAT(dealing.assumptions,
              ::testing::Contains(HasSubstr("as dealer it has, together with any one of the "
                                            "holders, all data of all holders besides")));
}

// What the plan says of a linker is what the result says.
TEST_F(LinkedStudyTest, AnotherLinkerOrNoneIsRefused) {
  for (PartyEnd& end : Run(ThreeText(Rows("notary"), "helper"))) {
    ASSERT_TRUE(end.error);
    if (end.party == "clinic") {
      EXPECT_THAT(end.error->message(),
                  HasSubstr("is of a matching linked by trust, and the study says linked by "
                            "notary"));
    }
  }
  const auto refusal = [](const std::string& text) -> std::string {
    try {
      Prepared(text);
    } catch (const Error& error) {
      return error.message();
    }
    return "accepted";
  };
  EXPECT_THAT(refusal(ThreeText(Matched(results_[0].record, 45), "helper")),
              HasSubstr("is matched, and 3 parties hold it"));
  EXPECT_THAT(refusal(ThreeText(Rows("office"), "helper")),
              HasSubstr("holds the row block 'both' and linked it"));
}

// A cell that the dictionary does not allow, of somebody whom the others lack.
TEST_F(LinkedStudyTest, CellsOfRowsThatDoNotMatchAreNotLookedAt) {
  std::vector<Row> clinic = RowsOf(0, 50);
  for (Row& row : clinic) {
    if (row.id < 5) row.x = 5000;
  }
  std::string csv = TableOf(clinic, 0);
  const size_t at = csv.find("0003,n3,2001-01-01,");
  csv.replace(at, csv.find('\n', at) - at, "0003,n3,2001-01-01,tall,");
  group_.Write(0, csv);
  for (const PartyEnd& end : Run(ThreeText(Rows(), "helper")))
    EXPECT_FALSE(end.error) << end.error->message();
  for (Row& row : clinic) {
    if (row.id == 5) row.x = 5000;
  }
  group_.Write(0, TableOf(clinic, 0));
  EXPECT_THAT(Run(ThreeText(Rows(), "helper"))[0].error->message(), HasSubstr("1 cell"));
}

TEST_F(LinkedStudyTest, AResultThatOthersMayReadIsRefusedToItsOwner) {
  const std::unique_ptr<const Study> study = Prepared(ThreeText(Rows(), "helper"));
  RequireOwnersResult(*study, 0, group_.Table(0));
  RequireOwnersResult(*study, 3, {});  // the dealer has none
  const std::filesystem::path result = MatchedRowsPath(group_.Table(0), "cohort");
  std::filesystem::permissions(result, std::filesystem::perms::group_read,
                               std::filesystem::perm_options::add);
  try {
    RequireOwnersResult(*study, 0, group_.Table(0));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBadInput);
    EXPECT_THAT(error.message(), HasSubstr("can be read by other users"));
    EXPECT_THAT(error.hint(), HasSubstr("chmod 600"));
  }
}

// Methods for split columns take matched rows; the others say which method it is that cannot.
TEST(MatchedMethodsTest, RunOnMatchedRowsOrAreRefusedByName) {
  const crypto::Digest record = crypto::Sha256Of(AsBytes("any"));
  // y may be a variable of another kind, and z one that is positive.
  const auto said = [&](const std::string& analysis, const std::string& y = "") -> std::string {
    std::string text = StudyText(Matched(record, 200), analysis);
    const std::string integer = "type = \"integer\"\nlower = 0\nupper = 1\n",
                      z = "name = \"z\"\ntype = \"numeric\"\nlower = -20";
    if (!y.empty()) {
      text.replace(text.find(integer), integer.size(), y);
      text.replace(text.find(z), z.size(), "name = \"z\"\ntype = \"numeric\"\nlower = 0.1");
    }
    try {
      Prepared(text);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kBadInput);
      return error.message();
    }
    return "accepted";
  };
  for (const char* const analysis : {kMoments, kSealed, kMixture})
    EXPECT_EQ(said(analysis), "accepted");
  EXPECT_EQ(said("method = \"describe\"\nrelease = [\"table\"]\n"), "accepted");
  const std::string marginals =
      "method = \"marginals\"\ncolumns = [{variable = \"x\", bins = 4}, \"y\"]\n"
      "synthetic_rows = 50\n[analysis.privacy]\nepsilon = 3\ndelta = 1e-5\nadjacency = "
      "\"replace\"\nagainst = \"parties\"\n";
  const std::string complete = [&] {
    std::string text = StudyText(Matched(record, 200), marginals);
    const std::string refuse = "missing = \"refuse\"";
    return text.replace(text.find(refuse), refuse.size(), "missing = \"complete\"");
  }();
  EXPECT_NO_THROW(Prepared(complete));
  const std::string logistic =
      "family = \"binomial\"\nformula = \"y ~ x + z\"\n"
      "release = [\"estimates\"]\n";
  const std::vector<std::pair<std::string, std::string>> refused = {
      {"glm", "protocol = \"iterates\"\n" + logistic},
      {"glm", "protocol = \"aggregates\"\n" + logistic},
      {"mixed", "formula = \"x ~ z + (1 | y)\"\nrelease = [\"estimates\"]\n"},
      {"meta", "estimate = \"x\"\nstandard_error = \"z\"\nrelease = [\"pooled\"]\n"},
      {"survival", "formula = \"Surv(t, e) ~ z\"\nmodel = \"cox\"\nrelease = [\"estimates\"]\n"},
      {"mcmc",
       "protocol = \"decisions\"\nmodel = \"logistic\"\noutcome = \"y\"\npredictors = "
       "[\"x\"]\nrelease = [\"decisions\"]\n"},
      {"classify",
       "protocol = \"dp-sgd\"\noutcome = \"y\"\npositive = \"yes\"\npredictors = [\"x\"]\nrow_norm "
       "= 1\n"
       "lambda = 0.1\niterations = 10\nstep = 1\nsampling_rate = 0.2\n"
       "[analysis.privacy]\nepsilon = 2\ndelta = 1e-5\nadjacency = \"replace\"\n"}};
  const std::map<std::string, std::string> kinds = {
      {"meta", "type = \"integer\"\nlower = 0\nupper = 1\n"},
      {"survival", "type = \"survival\"\ntime = \"t\"\nevent = \"e\"\nlower = 0\nupper = 9\n"},
      {"classify", "type = \"factor\"\nlevels = [\"no\", \"yes\"]\n"}};
  for (const auto& [method, analysis] : refused) {
    const auto kind = kinds.find(method);
    EXPECT_THAT(
        said("method = \"" + method + "\"\n" + analysis, kind == kinds.end() ? "" : kind->second),
        AllOf(HasSubstr("method '" + method + "'"), HasSubstr("columns are split")))
        << method;
  }
}

// The study file's own mistakes.
TEST(MatchedStudyFileTest, SaysWhatIsWrong) {
  const auto refusal = [](const std::string& text) -> std::string {
    try {
      Prepared(text);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kBadInput);
      return error.message();
    }
    return "accepted";
  };
  const crypto::Digest record = crypto::Sha256Of(AsBytes("any"));
  const std::string good = StudyText(Matched(record, 50), kMoments);
  EXPECT_EQ(refusal(good), "accepted");
  const auto edited = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    return refusal(text);
  };
  EXPECT_THAT(edited("\"matched-ids\"", "\"open\""), HasSubstr("level"));
  EXPECT_THAT(edited("\"matched-ids\"", "\"hidden\""), HasSubstr("count"));
  EXPECT_THAT(edited(HexOf(record), "12ab"), HasSubstr("is no record of a matching"));
  EXPECT_THAT(edited("count = 50\n", ""), HasSubstr("needs a 'count'"));
  EXPECT_THAT(edited("matching = \"cohort\"\n", ""), HasSubstr("matching"));
  EXPECT_THAT(edited("columns = [\"z\"]", "columns = [\"z\"]\nrows = [\"own\"]"), HasSubstr("own"));
  // Where a holder has another block as well.
  const std::string two =
      StudyText("[table]\nkey = \"id\"\nblock = \"b\"\n[[rows]]\nname = \"own\"\ncount = 9\n" +
                    Matched(record, 50),
                kMoments);
  EXPECT_THAT(refusal(two), HasSubstr("holds the matched row block 'both' and another one"));
  std::string three = good;
  three.replace(three.find("roles = [\"dealer\"]"), 18, "roles = [\"holder\"]\ncolumns = [\"y\"]");
  three.replace(three.find("[\"x\", \"y\"]"), 10, "[\"x\"]");
  three.replace(three.find("\"dealer\""), 8, "\"replicated\"");
  EXPECT_THAT(refusal(three), HasSubstr("is matched, and 3 parties hold it"));
}

}  // namespace
}  // namespace partita::run::matched_study_test
