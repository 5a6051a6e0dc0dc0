#include "study/file/study_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "methods/mle/section.h"
#include "tests/study/all_methods.h"
#include "tests/study/study_text.h"

namespace partita::study::study_file_test {
namespace {

using methods::mle::MleOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

StudyFile Parse(const std::string& text) { return ParseStudyFile(text, "study.toml"); }

TEST(StudyFileTest, RowsPerPersonArePartOfTheSchema) {
  const StudyFile study = Parse(kSmallStudy + "[population]\nmax_rows_per_person = 4\n");
  EXPECT_EQ(study.population.max_rows_per_person, 4);
  EXPECT_EQ(study.dictionary.max_rows_per_person, 4);
}

TEST(StudyFileTest, WhatAStudyDeclares) {
  EXPECT_FALSE(IsSaid(Parse(kSmallStudy).declared));
  const StudyFile study = Parse(kSmallStudy +
                                "[study]\npurpose = \"Why?\"\nethics = \"EK 1/26\"\n"
                                "legal_basis = \"Article 6\"\ncontact = \"a@example.org\"\n");
  EXPECT_EQ(study.declared, (Declaration{"Why?", "EK 1/26", "Article 6", "a@example.org"}));
  EXPECT_EQ(Parse(kSmallStudy + "[study]\nethics = \"EK\"\n").declared,
            (Declaration{"", "EK", "", ""}));
  EXPECT_EQ(Parse(kSmallStudy + "[study]\npurpose = \"" + std::string(1000, 'p') + "\"\n")
                .declared.purpose.size(),
            1000u);
}

TEST(StudyFileTest, ReadsEveryKey) {
  const StudyFile study = Parse(kSmallStudy);
  EXPECT_EQ(study.file_name, "study.toml");
  EXPECT_EQ(study.text, kSmallStudy);
  EXPECT_EQ(study.name, "small");
  EXPECT_EQ(study.title, "small");  // the name stands in for a title

  ASSERT_EQ(study.parties.size(), 3U);
  const Party& north = study.parties[0];
  EXPECT_EQ(north.name, "north");
  EXPECT_TRUE(north.holder && north.receiver && !north.dealer);
  EXPECT_THAT(north.columns, ElementsAre("x1", "x2"));
  EXPECT_THAT(north.rows, ElementsAre("all"));
  EXPECT_EQ(north.position.line, 3U);
  EXPECT_TRUE(study.parties[1].holder && !study.parties[1].receiver);
  EXPECT_TRUE(study.parties[2].dealer && !study.parties[2].holder);
  EXPECT_THAT(study.parties[2].columns, IsEmpty());
  EXPECT_THAT(study.parties[2].rows, IsEmpty());

  ASSERT_EQ(study.blocks.size(), 1U);
  EXPECT_EQ(study.blocks[0].name, "all");
  EXPECT_EQ(study.blocks[0].count, 156U);
  EXPECT_EQ(study.table.key, "id");
  EXPECT_EQ(study.table.block, "");
  EXPECT_EQ(study.table.separator, ',');
  EXPECT_EQ(study.dictionary.max_rows_per_person, 1);
  EXPECT_EQ(study.table.decimal, '.');

  ASSERT_EQ(study.dictionary.columns.size(), 4U);
  const data::ColumnSchema& x1 = study.dictionary.columns[0];
  EXPECT_EQ(x1.name, "x1");
  EXPECT_EQ(x1.type, data::ColumnType::kNumeric);
  EXPECT_EQ(x1.lower, -10);
  EXPECT_EQ(x1.upper, 20.5);
  EXPECT_EQ(x1.unit, "points");
  EXPECT_THAT(x1.missing_codes, ElementsAre("-9", "NA"));
  EXPECT_EQ(study.dictionary.columns[2].type, data::ColumnType::kInteger);
  const data::ColumnSchema& school = study.dictionary.columns[3];
  EXPECT_EQ(school.type, data::ColumnType::kFactor);
  EXPECT_THAT(school.levels, ElementsAre("Pasteur", "Grant-White"));
  EXPECT_EQ(school.reference, "Grant-White");

  EXPECT_EQ(study.engine.name, "dealer");
  EXPECT_EQ(study.engine.fraction_bits, 38);
  EXPECT_EQ(study.network.timeout_seconds, 2.5);
  EXPECT_EQ(study.analyses[0].method, "mle");
  EXPECT_EQ(study.analyses[0].protocol, "pooled-moments");
  EXPECT_EQ(MleOf(study.analyses[0]).function, "cfa");
  EXPECT_EQ(MleOf(study.analyses[0]).model, "f =~ x1 + x2 + x3\n");
  EXPECT_EQ(MleOf(study.analyses[0]).group, "school");
  EXPECT_THAT(MleOf(study.analyses[0]).group_equal, ElementsAre("loadings", "intercepts"));
  EXPECT_TRUE(MleOf(study.analyses[0]).std_lv);
  EXPECT_EQ(MleOf(study.analyses[0]).meanstructure, true);
  EXPECT_EQ(MleOf(study.analyses[0]).fixed_x, false);
  EXPECT_EQ(MleOf(study.analyses[0]).information, "observed");
}

TEST(StudyFileTest, FillsInDefaults) {
  std::string text = kSmallStudy;
  for (const char* line : {"fraction_bits = 38\n", "[network]\ntimeout_seconds = 2.5\n",
                           "group = \"school\"\ngroup_equal = [\"loadings\", \"intercepts\"]\n",
                           "std_lv = true\n", "meanstructure = true\n", "fixed_x = false\n",
                           "information = \"observed\"\n", "reference = \"Grant-White\"\n"}) {
    text = Edited(text, line, "");
  }
  const StudyFile study = Parse(text);
  EXPECT_EQ(study.engine.fraction_bits, 40);
  EXPECT_FALSE(study.engine.input_bits);
  EXPECT_EQ(study.engine.stripes, 1u);
  EXPECT_EQ(study.network.timeout_seconds, 60);
  EXPECT_EQ(MleOf(study.analyses[0]).group, "");
  EXPECT_THAT(MleOf(study.analyses[0]).group_equal, IsEmpty());
  EXPECT_FALSE(MleOf(study.analyses[0]).std_lv);
  EXPECT_FALSE(MleOf(study.analyses[0]).meanstructure.has_value());
  EXPECT_FALSE(MleOf(study.analyses[0]).fixed_x.has_value());
  EXPECT_EQ(MleOf(study.analyses[0]).information, "expected");
  EXPECT_EQ(study.dictionary.columns[3].reference, "Pasteur");
}

TEST(StudyFileTest, HoldersWithoutListsHoldEverything) {
  const StudyFile study = Parse(Edited(kSmallStudy, "columns = [\"x3\", \"school\"]\n", ""));
  EXPECT_THAT(study.parties[1].columns, ElementsAre("x1", "x2", "x3", "school"));
}

TEST(StudyFileTest, SelectionsComeInTheOrderOfTheDictionary) {
  const StudyFile study =
      Parse(Edited(kSmallStudy, "[\"x3\", \"school\"]", "[\"school\", \"x3\"]"));
  EXPECT_THAT(study.parties[1].columns, ElementsAre("x3", "school"));
}

TEST(StudyFileTest, RowsOfOneHolderNeedNeitherCountNorKey) {
  std::string text = Edited(kSmallStudy, "name = \"all\"\ncount = 156\n",
                            "name = \"a\"\n[[rows]]\nname = \"b\"\n");
  text = Edited(text, "key = \"id\"\n", "");
  text = Edited(text, "columns = [\"x1\", \"x2\"]", "rows = [\"a\"]");
  text = Edited(text, "columns = [\"x3\", \"school\"]", "rows = [\"b\"]");
  const StudyFile study = Parse(text);
  EXPECT_FALSE(study.blocks[0].count.has_value());
  EXPECT_THAT(study.parties[1].rows, ElementsAre("b"));
  EXPECT_THAT(study.parties[1].columns, ElementsAre("x1", "x2", "x3", "school"));
}

TEST(StudyFileTest, FindsTheModelInTheFile) {
  // The model starts on the line after its opening quotes, or right behind them.
  const std::string model = "model = \"\"\"\nf =~ x1 + x2 + x3\n\"\"\"";
  const auto position = [&](const std::string& other) {
    return MleOf(Parse(Edited(kSmallStudy, model, other)).analyses[0]).model_position;
  };
  const StudyFile study = Parse(kSmallStudy);
  EXPECT_EQ(MleOf(study.analyses[0]).model_position.line, 52U);
  EXPECT_EQ(MleOf(study.analyses[0]).model_position.column, 1U);
  const Position one_line = position("model = \"f =~ x1 + x2 + x3\"");
  EXPECT_EQ(one_line.line, 51U);
  EXPECT_EQ(one_line.column, 10U);
  const Position behind = position("model = '''f =~ x1 + x2 + x3\n'''");
  EXPECT_EQ(behind.line, 51U);
  EXPECT_EQ(behind.column, 12U);
}

TEST(StudyFileTest, FindsParties) {
  const StudyFile study = Parse(kSmallStudy);
  EXPECT_EQ(PartyIndexByName(study, "south"), 1U);
  EXPECT_TRUE(study.parties[0].receiver);
  EXPECT_TRUE(study.parties[2].dealer);
  try {
    PartyIndexByName(study, "sout");
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBadInput);
    EXPECT_THAT(error.message(), HasSubstr("'sout'"));
    EXPECT_THAT(error.hint(), HasSubstr("did you mean 'south'"));
  }
}

TEST(StudyFileTest, GivesThePartition) {
  const StudyFile study = Parse(kSmallStudy);
  const data::Partition partition = StudyPartition(study, study.parties);
  EXPECT_EQ(partition.kind, data::PartitionKind::kVertical);
  EXPECT_THAT(partition.variables, ElementsAre("x1", "x2", "x3", "school"));
  ASSERT_EQ(partition.holders.size(), 2U);
  EXPECT_EQ(partition.holders[1].name, "south");
  EXPECT_EQ(partition.holders[1].party, 1U);
  EXPECT_THAT(partition.holders[1].columns, ElementsAre("x3", "school"));
  EXPECT_EQ(partition.TotalRows(), 156U);
  // A hole is found here.
  const StudyFile hole = Parse(Edited(kSmallStudy, "[\"x1\", \"x2\"]", "[\"x1\"]"));
  EXPECT_THROW(StudyPartition(hole, hole.parties), Error);
}

TEST(StudyFileTest, ReplicatedHasThreePartiesAndNoDealer) {
  std::string text = Edited(kSmallStudy, "name = \"dealer\"", "name = \"replicated\"");
  text = Edited(text, "roles = [\"holder\", \"receiver\"]", "roles = [\"holder\"]");
  text = Edited(text, "roles = [\"dealer\"]", "roles = [\"receiver\"]");
  const StudyFile study = Parse(text);
  EXPECT_TRUE(study.parties[2].receiver);
  for (const Party& party : study.parties) EXPECT_FALSE(party.dealer);
}

TEST(StudyFileTest, OtHasTwoPartiesAndNoDealer) {
  const std::string text = Edited(kSmallStudy, "name = \"dealer\"", "name = \"ot\"");
  const StudyFile study =
      Parse(Edited(text, "[[party]]\nname = \"helper\"\nroles = [\"dealer\"]\n", ""));
  EXPECT_EQ(study.engine.name, "ot");
  EXPECT_EQ(study.parties.size(), 2U);
  for (const Party& party : study.parties) EXPECT_FALSE(party.dealer);
}

TEST(StudyFileTest, CorrelationsAreLiveOrStored) {
  EXPECT_FALSE(Parse(kSmallStudy).engine.stored_correlations);
  for (const bool stored : {false, true}) {
    const std::string key = stored ? "correlations = \"stored\"" : "correlations = \"live\"";
    const StudyFile study =
        Parse(Edited(kSmallStudy, "name = \"dealer\"", "name = \"dealer\"\n" + key));
    EXPECT_EQ(study.engine.stored_correlations, stored);
    EXPECT_EQ(study.engine.fraction_bits, 38) << "the key after it is still read";
    EXPECT_TRUE(study.parties[2].dealer);
  }
}

class LoadStudyFileTest : public ::testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }
  void Write(const std::string& text) { std::ofstream(path_, std::ios::binary) << text; }
  std::string LoadMessage() {
    try {
      LoadStudyFile(path_);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kBadInput);
      return error.message();
    }
    return "accepted";
  }
  const std::string path_ = ::testing::TempDir() + "partita_study_file_test.toml";
};

TEST_F(LoadStudyFileTest, KeepsTheExactBytes) {
  const std::string text = Edited(kSmallStudy, "name = \"small\"\n", "name = \"small\"\r\n");
  Write(text);
  EXPECT_EQ(LoadStudyFile(path_).text, text);
}

TEST_F(LoadStudyFileTest, RefusesWhatCannotBeRead) {
  EXPECT_THAT(LoadMessage(), HasSubstr("cannot read"));      // not there
  EXPECT_THROW(LoadStudyFile(::testing::TempDir()), Error);  // a folder
  Write("");
  EXPECT_THAT(LoadMessage(), HasSubstr(":1:1: the study file needs the key 'partita'"));
}

TEST_F(LoadStudyFileTest, LimitsTheSize) {
  // Comments up to the limit are fine, one byte more is not.
  Write(kSmallStudy + "#" + std::string(kMaxStudyFileBytes - kSmallStudy.size() - 1, 'x'));
  EXPECT_EQ(LoadMessage(), "accepted");
  Write(kSmallStudy + "#" + std::string(kMaxStudyFileBytes - kSmallStudy.size(), 'x'));
  EXPECT_THAT(LoadMessage(), HasSubstr("larger than 1 MiB"));
}

}  // namespace
}  // namespace partita::study::study_file_test
