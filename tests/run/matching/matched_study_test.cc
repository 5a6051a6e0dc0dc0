// Studies of matched rows: the same numbers open as from the merged table in equal lists; both sides
// check that the result of the matching is of this matching and of this table; rehearsals.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <random>

#include "methods/prepare_study.h"
#include "run/party/build_plan.h"
#include "run/party/local_data.h"
#include "run/party/row_sets.h"
#include "run/rehearse/rehearsal.h"
#include "run/simulate/simulate.h"
#include "tests/run/matching/matching_pair.h"

namespace partita::run::matched_study_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::MatchingPair;
using testing::OfBoth;

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
  MatchingPair pair_;
  OfBoth<MatchedRows> results_;
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
  results_[0].peer = "office";
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

// Both say that their results are of the record that the study names, and one of them lies.
TEST_F(MatchedStudyTest, ResultsThatAreNotOfOneMatchingAreNoticedByBoth) {
  const OfBoth<MatchedRows> first = results_;
  pair_.ApproveBoth();
  OfBoth<MatchedRows> second = pair_.RunAndSave();
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
  EXPECT_THAT(edited("\"matched-ids\"", "\"hidden\""), HasSubstr("level"));
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
