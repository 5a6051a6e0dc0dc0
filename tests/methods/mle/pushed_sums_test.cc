// Sums that a database formed against the same rows in memory: the same to the bit in every design; what needs rows
// says so; sums of rows that differ by few, or that changed, are not formed.
#include "run/party/pushed_sums.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "methods/mle/moments/own_moments.h"
#include "methods/mle/study/protocol.h"
#include "methods/prepare_study.h"
#include "run/party/build_plan.h"
#include "run/party/row_sets.h"
#include "tests/data/expect_error.h"
#include "tests/data/source/sqlite_of_csv.h"
#include "tests/methods/mle/design_study.h"
#include "tests/study/edited.h"

namespace partita::methods::mle::pushed_sums_test {
namespace {

using testing::Design;
using testing::MakeRows;
using testing::Row;
using testing::Splits;

Design DesignOf(const std::string& analyses, const std::string& design,
                const std::string& population = "") {
  Design made;
  made.analyses = {analyses};
  made.design = design;
  made.population = population;
  return made;
}

const std::string kModel = "model = \"y ~ x1 + x2\"\n";
const std::string kPlain = "site = \"ignore\"\nmissing = \"refuse\"\n";
const std::string kDrop = "site = \"ignore\"\nmissing = \"complete\"\n";

std::string TextOf(const Design& design, const std::vector<Row>& rows, size_t split = 0,
                   const std::string& bits = "input_bits = 30\n") {
  return study::Edited(testing::StudyText(Splits()[split], design, "dealer", rows), "[engine]\n",
                       "[engine]\n" + bits);
}

MleStudy Prepared(const std::string& text) {
  return PrepareMleStudy(methods::ParseStudyFile(text, "study.toml"));
}

class PushedSumsTest : public ::testing::Test {
 protected:
  ~PushedSumsTest() override { std::filesystem::remove_all(folder_); }

  void MakeTables(const std::vector<Row>& rows) {
    testing::WriteTables(Splits()[0], rows, folder_);
    std::filesystem::remove(folder_ + "/q/t.db");
    std::filesystem::remove(Record());
    data::testing::SqliteOfCsv(folder_ + "/q/data.csv", folder_ + "/q/t.db");
    std::ofstream(Source()) << "source = \"sqlite:t.db\"\ntable = \"t\"\nmode = \"push-down\"\n";
  }
  std::filesystem::path Source() const { return folder_ + "/q/t.toml"; }
  std::filesystem::path Record() const { return run::SumSetsPath(Source()); }

  static size_t Party(const run::Study& study) { return run::PartyByName(study, "q"); }
  run::FormedSums Form(const run::Study& study) const {
    return run::FormSums(study, Party(study), Source(), Record());
  }
  std::string File(const run::FormedSums& formed) const {
    std::ofstream(folder_ + "/q/t.sums") << data::SumFileText(formed.query, formed.sums);
    return folder_ + "/q/t.sums";
  }
  static run::LocalData Load(const run::Study& study, const std::string& file) {
    SilentProgress progress;
    return run::LoadLocalData(study, Party(study), file, {}, progress);
  }

  const std::string folder_ = partita::testing::MakeTemporaryFolder("pushed_sums");
};

TEST_F(PushedSumsTest, EveryDesignGivesWhatItsRowsGive) {
  const auto rows = MakeRows(230, 3, true);
  MakeTables(rows);
  const Design designs[] = {
      DesignOf(kModel, kDrop),
      DesignOf(kModel, "site = \"fixed\"\nmissing = \"complete\"\n"),
      DesignOf("model = \"y ~ x1 + sex.m + region.b + region.c + age\"\n", kDrop),
      DesignOf(kModel + "subset = [{variable = \"sex\", is = \"f\"}]\n",
               kDrop + "weights = \"w\"\nweights_type = \"frequency\"\n",
               "subset = [{variable = \"age\", at_least = 30}, {variable = \"region\", is_not = "
               "\"b\"}]\n"),
      DesignOf(kModel + "group = \"region\"\n", kDrop),
  };
  for (const Design& design : designs) {
    SCOPED_TRACE(design.design + design.analyses.front());
    std::filesystem::remove(Record());
    const MleStudy study = Prepared(TextOf(design, rows));
    const size_t party = Party(study);
    const run::LocalData kept = Load(study, folder_ + "/q/data.csv");
    const run::LocalData pushed = Load(study, File(Form(study)));
    const MomentsTask& task = study.computations.at(0).task;
    const OwnMoments one =
        AddOwnMoments(task, party, static_cast<LocalRows&>(*kept.method).blocks.at(0));
    const OwnMoments other =
        AddOwnMoments(task, party, static_cast<LocalRows&>(*pushed.method).blocks.at(0));
    EXPECT_TRUE(one.counts == other.counts);
    EXPECT_TRUE(one.sums == other.sums);
    EXPECT_TRUE(one.cross == other.cross);
    EXPECT_TRUE(
        std::all_of(one.counts.begin(), one.counts.end() - 1, [](Int128 n) { return n > 0; }));
    EXPECT_EQ(pushed.rows.observed, kept.rows.observed);
    EXPECT_EQ(pushed.rows.not_in_population, kept.rows.not_in_population);
    EXPECT_EQ(pushed.rows.incomplete, kept.rows.incomplete);
    EXPECT_EQ(pushed.cells.rows, kept.cells.rows);
    EXPECT_EQ(pushed.cells.missing, kept.cells.missing);
    EXPECT_EQ(pushed.holding.table->num_rows, 0u);
    EXPECT_TRUE(study.ExactRowSets(*pushed.method, pushed.holding).empty());
  }
}

TEST_F(PushedSumsTest, WhatTheStudyRefusesIsRefusedHere) {
  const auto rows = MakeRows(60, 3, true);
  MakeTables(rows);
  const MleStudy refuse = Prepared(TextOf(DesignOf(kModel, kPlain), rows));
  ExpectError(ErrorCode::kBadData, "column 'y' has", "missing = \"complete\"",
              [&] { Form(refuse); });
  EXPECT_FALSE(std::filesystem::exists(Record()));
  auto beyond = MakeRows(60, 3, false);
  beyond.back().x1 = 21;
  MakeTables(beyond);
  ExpectError(ErrorCode::kBadData, "column 'x1' has 1 cells outside of its bounds [-20, 20]", "",
              [&] { Form(refuse); });
  MakeTables(MakeRows(60, 3, false));
  data::testing::ChangeSqlite(folder_ + "/q/t.db", "UPDATE t SET sex = 'F' WHERE rowid = 7");
  ExpectError(ErrorCode::kBadData, "column 'sex' has 1 cells that are no level of it", "",
              [&] { Form(refuse); });
  data::testing::ChangeSqlite(folder_ + "/q/t.db", "DELETE FROM t");
  ExpectError(ErrorCode::kBadData, "gives no rows", "", [&] { Form(refuse); });
}

TEST_F(PushedSumsTest, WhatNeedsRowsSaysSo) {
  const auto rows = MakeRows(100, 3, false);
  const auto refused = [&](const std::string& text, const std::string& message,
                           const std::string& hint) {
    const auto study = methods::PrepareStudy(methods::ParseStudyFile(text, "study.toml"));
    ExpectError(ErrorCode::kRefused, message, hint,
                [&] { study->SumsOf(run::PartyByName(*study, "q")); });
  };
  refused(TextOf(DesignOf(kModel, kPlain), rows, 0, ""), "on a grid of 30 bits or fewer",
          "input_bits = 30");
  refused(TextOf(DesignOf(kModel, kPlain), rows, 0, "input_bits = 31\n"), "on a grid of 30 bits",
          "input_bits = 30");
  refused(TextOf(DesignOf(kModel, kPlain), rows, 1), "rows whose columns are split", "freeze");
  refused(TextOf(DesignOf(kModel,
                          "site = \"ignore\"\nmissing = \"fiml\"\n"
                          "patterns = [[], [\"x1\"]]\n"),
                 rows),
          "patterns of missing values are found row by row", "complete");
  Design robust = DesignOf(kModel + "robust = true\n", kPlain);
  robust.release = "[\"moments\", \"robust\", {what = \"estimates\", to = \"all\"}]";
  refused(TextOf(robust, rows), "robust standard errors", "robust = true");
  Design noisy = DesignOf(kModel +
                              "[analysis.privacy]\nepsilon = 100\ndelta = 1e-6\n"
                              "adjacency = \"replace\"\nnorm = 1.8\nplanning_rows = 100\n",
                          kPlain);
  noisy.rule = "";
  refused(TextOf(noisy, rows, 0, ""), "noise is made for rows", "freeze");
  const std::string derived =
      study::Edited(TextOf(DesignOf("model = \"y ~ x1_x2\"\n", kPlain), rows), "[design]\n",
                    "[[derived]]\nname = \"x1_x2\"\nfrom = \"x1\"\nwith = \"x2\"\ntransform = "
                    "\"product\"\n[design]\n");
  refused(derived, "'x1_x2' is derived from another variable", "in the query");
}

// The values of y of one row are the difference of two exact results.
TEST_F(PushedSumsTest, RowsThatDifferByFewAreNotServed) {
  const auto rows = MakeRows(400, 3, false);
  MakeTables(rows);
  const MleStudy all = Prepared(TextOf(DesignOf(kModel, kPlain), rows));
  const auto subset = [&](const std::string& condition) {
    return Prepared(
        TextOf(DesignOf("model = \"y ~ x1\"\n", kPlain, "subset = [" + condition + "]\n"), rows));
  };
  const run::FormedSums first = Form(all);
  EXPECT_TRUE(std::filesystem::exists(Record()));
  const auto permissions = std::filesystem::status(Record()).permissions();
  EXPECT_EQ(permissions & (std::filesystem::perms::group_all | std::filesystem::perms::others_all),
            std::filesystem::perms::none);
  // Again the same, and the same rows for other variables.
  EXPECT_EQ(data::SumFileText(Form(all).query, Form(all).sums),
            data::SumFileText(first.query, first.sums));
  Form(Prepared(TextOf(DesignOf("model = \"y ~ x2\"\n", kPlain), rows)));
  size_t oldest = 0, men = 0;
  double most = 0;
  for (const Row& row : rows) most = std::max(most, row.block == 1 ? row.age : 0);
  for (const Row& row : rows) {
    oldest += row.block == 1 && row.age == most ? 1 : 0;
    men += row.block == 1 && row.sex == 1 ? 1 : 0;
  }
  ASSERT_GT(oldest, 0u);
  ASSERT_LT(oldest, all.LeastRowsApart());
  ASSERT_GT(men, all.LeastRowsApart());
  const MleStudy few = subset(fmt::format("{{variable = \"age\", below = {}}}", most));
  ExpectError(ErrorCode::kRefused, fmt::format("differ from those of this study by {},", oldest),
              "use the same rows as before", [&] { Form(few); });
  const MleStudy women = subset("{variable = \"sex\", is = \"f\"}");
  EXPECT_EQ(ToString(Form(women).sums.answer.cells.at(0).n), fmt::format("{}", 200 - men));
  // From the women's rows by few.
  const MleStudy others = subset(
      fmt::format("{{variable = \"sex\", is = \"f\"}}, {{variable = \"age\", below = {}}}", most));
  size_t women_of_that_age = 0;
  for (const Row& row : rows)
    women_of_that_age += row.block == 1 && row.sex == 0 && row.age == most;
  if (women_of_that_age > 0)
    ExpectError(ErrorCode::kRefused, "differ from those", "", [&] { Form(others); });
}

TEST_F(PushedSumsTest, RowsThatChangedAreNotServed) {
  const auto rows = MakeRows(400, 3, false);
  MakeTables(rows);
  const MleStudy study = Prepared(TextOf(DesignOf(kModel, kPlain), rows));
  const MleStudy other = Prepared(TextOf(DesignOf("model = \"y ~ x2\"\n", kPlain), rows));
  Form(study);
  const std::string database = folder_ + "/q/t.db";
  const auto refused = [&](const std::string& sql, const std::string& undo) {
    SCOPED_TRACE(sql);
    data::testing::ChangeSqlite(database, sql);
    for (const MleStudy* asked : {&study, &other}) {
      ExpectError(ErrorCode::kRefused, "rows have come, gone or changed since", "next edition",
                  [&] { Form(*asked); });
    }
    data::testing::ChangeSqlite(database, undo);
  };
  refused("INSERT INTO t SELECT * FROM t WHERE rowid = 9", "DELETE FROM t WHERE rowid = 201");
  // No number of rows changes, and no column that `other` has.
  refused("UPDATE t SET x1 = x1 + 0.001 WHERE rowid = 9",
          "UPDATE t SET x1 = x1 - 0.001 WHERE rowid = 9");
  EXPECT_NO_THROW(Form(other));
}

TEST_F(PushedSumsTest, ASourceGivesRowsOrSums) {
  const auto rows = MakeRows(100, 3, false);
  MakeTables(rows);
  const MleStudy study = Prepared(TextOf(DesignOf(kModel, kPlain), rows));
  EXPECT_NO_THROW(run::RequireOneRecord(Source(), false));
  Form(study);
  ExpectError(ErrorCode::kRefused, "served of sums of this source", "leave the mode as it was",
              [&] { run::RequireOneRecord(Source(), false); });
  std::filesystem::rename(Record(), run::RowSetsPath(Source()));
  ExpectError(ErrorCode::kRefused, "served of rows of this source", "leave the mode as it was",
              [&] { Form(study); });
}

TEST_F(PushedSumsTest, AFileOfOtherSumsIsRefused) {
  const auto rows = MakeRows(100, 3, false);
  MakeTables(rows);
  const MleStudy study = Prepared(TextOf(DesignOf(kModel, kPlain), rows));
  const std::string file = File(Form(study));
  const run::LocalData good = Load(study, file);
  EXPECT_EQ(good.cells.rows, 50u);
  const MleStudy other = Prepared(TextOf(DesignOf("model = \"y ~ x2\"\n", kPlain), rows));
  ExpectError(ErrorCode::kRefused, "were formed for another study", "data freeze",
              [&] { Load(other, file); });
  std::ifstream in(file);
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  const auto refused = [&](const std::string& changed, ErrorCode code, const std::string& message) {
    std::ofstream(file) << changed;
    ExpectError(code, message, "data freeze", [&] { Load(study, file); });
  };
  for (const std::string& changed :
       {text.substr(0, text.size() - 1), text + "1\n", text.substr(0, text.size() / 2),
        study::Edited(text, "\n50\n", "\n+50\n"), study::Edited(text, "\n50\n", "\n050\n"),
        study::Edited(text, "sums 1", "sums 2"), std::string("x1,x2\n1,2\n")})
    refused(changed, ErrorCode::kBadInput, "is no file of sums, or a damaged one");
  // More than 50 values in [-1, 1] can add up to.
  const std::string last = text.substr(text.rfind('\n', text.size() - 2) + 1);
  refused(text.substr(0, text.size() - last.size()) + "9999999999999999999999999\n",
          ErrorCode::kBadData, "no rows add up to these sums");
  // Of what is approved every digit counts.
  std::string digit = text;
  digit[digit.size() - 2] = digit[digit.size() - 2] == '1' ? '2' : '1';
  std::ofstream(file) << digit;
  EXPECT_NE(Load(study, file).snapshot.commitment, good.snapshot.commitment);
}

TEST(PushedSumsPlanTest, ThePlanSaysWhatACommitmentIsTo) {
  const auto rows = MakeRows(100, 1, false);
  const auto notes = [&](const std::string& bits) {
    const auto study = methods::PrepareStudy(
        methods::ParseStudyFile(TextOf(DesignOf(kModel, kPlain), rows, 0, bits), "study.toml"));
    return run::BuildPlan(*study).assumptions;
  };
  const auto says = ::testing::Contains(::testing::HasSubstr("its commitment is to these sums"));
  EXPECT_THAT(notes("input_bits = 30\n"), says);
  EXPECT_THAT(notes(""), ::testing::Not(says));
  EXPECT_THAT(notes("input_bits = 31\n"), ::testing::Not(says));
}

}  // namespace
}  // namespace partita::methods::mle::pushed_sums_test
