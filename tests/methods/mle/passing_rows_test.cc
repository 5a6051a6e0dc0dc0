// Rows that pass piece by piece against the same rows in memory: sums, counts, sets of exact releases and
// errors are the same, whatever the pieces.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "crypto/random.h"
#include "data/csv_reader.h"
#include "methods/mle/moments/own_moments.h"
#include "methods/mle/study/protocol.h"
#include "methods/prepare_study.h"
#include "run/party/local_data.h"
#include "tests/methods/mle/design_study.h"

namespace partita::methods::mle::passing_rows_test {
namespace {

using testing::Design;
using testing::MakeRows;
using testing::Row;
using testing::Splits;

constexpr char kParty[] = "q";  // holds the second block

MleStudy StudyOf(const Design& design, const std::vector<Row>& rows) {
  return PrepareMleStudy(methods::ParseStudyFile(
      testing::StudyText(Splits()[0], design, "dealer", rows), "study.toml"));
}

Design DesignOf(const std::string& analyses, const std::string& design,
                const std::string& population = "") {
  Design made;
  made.analyses = {analyses};
  made.design = design;
  made.population = population;
  return made;
}

void ExpectSame(const MleStudy& study, size_t party, const LocalRows& passed,
                const LocalRows& kept) {
  ASSERT_EQ(passed.blocks.size(), kept.blocks.size());
  for (size_t c = 0; c < study.computations.size(); ++c) {
    const MomentsTask& task = study.computations[c].task;
    const OwnMoments one = AddOwnMoments(task, party, passed.blocks[c]);
    const OwnMoments other = AddOwnMoments(task, party, kept.blocks[c]);
    EXPECT_TRUE(one.counts == other.counts);
    EXPECT_TRUE(one.sums == other.sums);
    EXPECT_TRUE(one.cross == other.cross);
    EXPECT_TRUE(std::any_of(one.cross.begin(), one.cross.end(), [](Int128 x) { return x != 0; }));
  }
}

class PassingRowsTest : public ::testing::Test {
 protected:
  ~PassingRowsTest() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path Table() const { return folder_ + "/q/data.csv"; }

  run::LocalData Load(const run::Study& study, run::Rows rows) const {
    SilentProgress progress;
    return run::LoadLocalData(study, run::PartyByName(study, kParty), Table(), {}, progress, rows);
  }

  // The message and hint of what reading the table throws; "" if nothing.
  std::string Refusal(const run::Study& study, run::Rows rows) const {
    try {
      Load(study, rows);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kBadData);
      return error.message() + "; " + error.hint();
    }
    return "";
  }

  const std::string folder_ = partita::testing::MakeTemporaryFolder("passing_rows");
};

TEST_F(PassingRowsTest, AnyPiecesGiveTheSameSumsToTheBit) {
  const auto rows = MakeRows(230, 3, true);
  const std::string model = "model = \"y ~ x1 + x2\"\n";
  const std::string drop = "missing = \"complete\"\n";
  const Design designs[] = {
      DesignOf(model, "site = \"ignore\"\n" + drop),
      DesignOf(model, "site = \"fixed\"\n" + drop),
      DesignOf(model + "subset = [{variable = \"sex\", is = \"f\"}]\n",
               "site = \"ignore\"\n" + drop + "weights = \"w\"\nweights_type = \"frequency\"\n",
               "subset = [{variable = \"age\", at_least = 30}]\n"),
      DesignOf(model + "group = \"region\"\n", "site = \"ignore\"\n" + drop),
  };
  testing::WriteTables(Splits()[0], rows, folder_);
  for (const Design& design : designs) {
    SCOPED_TRACE(design.design + design.analyses.front());
    const MleStudy study = StudyOf(design, rows);
    const size_t party = run::PartyByName(study, kParty);
    const run::LocalData kept = Load(study, run::Rows::kKept);
    ASSERT_EQ(kept.holding.table->num_rows, 115u);
    const auto sets = study.ExactRowSets(*kept.method, kept.holding);
    ASSERT_FALSE(sets.empty());
    const data::Schema schema =
        data::SchemaForParty(study.file.dictionary, study.partition, party, study.row_columns);
    for (const uint64_t of_piece : {1, 7, 114, 115, 4096}) {
      SCOPED_TRACE(of_piece);
      run::OwnRows counts;
      const auto pieces = study.PassRows(party, counts);
      ASSERT_NE(pieces, nullptr);
      const data::CheckRules rules{.allow_missing = true, .allow_constant = true};
      data::ReadCsvFileInPieces(
          Table(), schema, {}, of_piece, [&](data::Table piece, const data::CheckReport&) {
            EXPECT_LE(piece.num_rows, of_piece);
            study.DeriveColumns(piece);
            pieces->Add(data::HoldingOfPiece(std::move(piece), study.partition, party, rules));
          });
      const auto passed = pieces->Finish();
      ExpectSame(study, party, static_cast<const LocalRows&>(*passed),
                 static_cast<const LocalRows&>(*kept.method));
      EXPECT_EQ(counts.observed, kept.rows.observed);
      EXPECT_EQ(counts.not_in_population, kept.rows.not_in_population);
      EXPECT_EQ(counts.incomplete, kept.rows.incomplete);
      EXPECT_EQ(study.ExactRowSets(*passed, {}), sets);
    }
  }
}

// More rows than a piece has, through the path of a run.
TEST_F(PassingRowsTest, ARunTakesLongTablesInPieces) {
  const auto rows = MakeRows(2 * run::kRowsOfPiece + 4321, 5, false);
  testing::WriteTables(Splits()[0], rows, folder_);
  const MleStudy study = StudyOf(
      DesignOf("model = \"y ~ x1\"\n", "site = \"ignore\"\nmissing = \"complete\"\n"), rows);
  const size_t party = run::PartyByName(study, kParty);
  const run::LocalData passed = Load(study, run::Rows::kPass), kept = Load(study, run::Rows::kKept);
  EXPECT_EQ(passed.holding.table->num_rows, 0u);
  EXPECT_GT(kept.holding.table->num_rows, run::kRowsOfPiece);
  ExpectSame(study, party, static_cast<const LocalRows&>(*passed.method),
             static_cast<const LocalRows&>(*kept.method));
  EXPECT_EQ(passed.cells.rows, kept.cells.rows);
  EXPECT_EQ(passed.rows.observed, kept.holding.table->num_rows);
  EXPECT_EQ(passed.snapshot.commitment, kept.snapshot.commitment);
}

TEST_F(PassingRowsTest, WhatIsWrongIsSaidOfTheWholeTable) {
  const auto rows = MakeRows(2 * run::kRowsOfPiece + 4321, 5, true);
  testing::WriteTables(Splits()[0], rows, folder_);
  Design refuse = DesignOf("model = \"y ~ x1\"\n", "site = \"ignore\"\nmissing = \"refuse\"\n");
  const std::string missing = Refusal(StudyOf(refuse, rows), run::Rows::kKept);
  EXPECT_THAT(missing, ::testing::HasSubstr("'x1'"));
  EXPECT_EQ(Refusal(StudyOf(refuse, rows), run::Rows::kPass), missing);
  // The first cell out of bounds stands in the second piece.
  auto beyond = MakeRows(4 * run::kRowsOfPiece, 5, false);
  beyond.back().x1 = 21;
  testing::WriteTables(Splits()[0], beyond, folder_);
  const std::string outside = Refusal(StudyOf(refuse, beyond), run::Rows::kKept);
  EXPECT_THAT(outside, ::testing::HasSubstr(fmt::format("{}", 2 * run::kRowsOfPiece + 1)));
  EXPECT_EQ(Refusal(StudyOf(refuse, beyond), run::Rows::kPass), outside);
  std::ofstream(Table()) << "y,x1,x2,age,sex,region,w\n";
  const std::string none = Refusal(StudyOf(refuse, beyond), run::Rows::kKept);
  EXPECT_NE(none, "");
  EXPECT_EQ(Refusal(StudyOf(refuse, beyond), run::Rows::kPass), none);
}

TEST_F(PassingRowsTest, WhatLooksAtRowsAgainKeepsThem) {
  const auto rows = MakeRows(230, 3, false);
  run::OwnRows counts;
  const std::string plain = "site = \"ignore\"\nmissing = \"refuse\"\n";
  Design scores = DesignOf("model = \"y ~ x1\"\nrobust = true\n", plain);
  scores.release = "[\"moments\", \"robust\", {what = \"estimates\", to = \"all\"}]";
  const MleStudy robust = StudyOf(scores, rows);
  EXPECT_EQ(robust.PassRows(run::PartyByName(robust, kParty), counts), nullptr);
  const MleStudy fiml =
      StudyOf(DesignOf("model = \"y ~ x1\"\n",
                       "site = \"ignore\"\nmissing = \"fiml\"\npatterns = [[], [\"x1\"]]\n"),
              rows);
  EXPECT_EQ(fiml.PassRows(run::PartyByName(fiml, kParty), counts), nullptr);
}

}  // namespace
}  // namespace partita::methods::mle::passing_rows_test
