// What the holders of a mixture's rows see of their own columns and rows, and nobody else does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "methods/mixture/model_file.h"
#include "run/party/build_plan.h"
#include "stats/mixture/held_out_rows.h"
#include "tests/methods/mixture/mixture_study.h"

namespace partita::methods::mixture::mixture_studies::mixture_holders_test {
namespace {

using ::testing::Contains;
using ::testing::Each;
using testing::ExpectAllDone;
using ::testing::HasSubstr;
using ::testing::Not;

using MixtureHoldersTest = MixtureStudyTest;

std::vector<std::string> FirstCells(const study::DocumentTable& table) {
  std::vector<std::string> cells;
  for (const auto& row : table.rows) cells.push_back(std::get<std::string>(row.front()));
  return cells;
}

// Each holder sees how like its own columns synthetic rows are, and nobody else does.
TEST_F(MixtureHoldersTest, HoldersCompareTheirOwnColumns) {
  WriteTables({});
  const auto study = Prepare({});
  const auto ends = Run(*study);
  ExpectAllDone(ends);
  ASSERT_FALSE(HasFailure());
  const std::map<std::string, std::vector<std::string>> held = {{"north", {"income", "visits"}},
                                                                {"south", {"sex", "score"}}};
  for (const auto& [party, columns] : held) {
    const study::DocumentSection* own =
        SectionOf(ends.at(party), "Own columns, real against synthetic");
    ASSERT_NE(own, nullptr) << party;
    EXPECT_TRUE(own->own_rows);
    EXPECT_THAT(own->paragraphs.front(), HasSubstr("may fit them better"));
    ASSERT_EQ(own->tables.size(), 4u);
    EXPECT_THAT(own->tables[0].title, HasSubstr("5 synthetic tables"));
    EXPECT_EQ(FirstCells(own->tables[1]), columns);
    for (const auto& row : own->tables[1].rows) {
      EXPECT_GT(std::get<double>(row.at(1)), 0);
      EXPECT_LE(std::get<double>(row.at(1)), 1);
    }
    EXPECT_EQ(own->tables[2].columns,
              (std::vector<std::string>{"column", "cell", "real", "synthetic"}));
    EXPECT_EQ(own->tables[2].rows.size(), 10u);
    EXPECT_THAT(FirstCells(own->tables[2]), Each(::testing::AnyOfArray(columns)));
    EXPECT_EQ(FirstCells(own->tables[3]),
              (std::vector<std::string>{columns[0] + ", " + columns[1]}));
    EXPECT_EQ(testing::DocumentOf(*ends.at(party).outcome).json.find("log_density"),
              std::string::npos);
  }
  // What may be passed on says of associations only what synthetic rows say.
  const study::DocumentSection* synthetic = SectionOf(ends.at("north"), "Synthetic data");
  ASSERT_NE(synthetic, nullptr);
  EXPECT_FALSE(synthetic->own_rows);
  EXPECT_EQ(synthetic->tables.at(0).columns, (std::vector<std::string>{"pair", "synthetic"}));
  EXPECT_EQ(synthetic->tables.at(0).rows.size(), 6u);  // of four columns
  EXPECT_EQ(SectionOf(ends.at("south"), "Synthetic data"), nullptr);
  EXPECT_EQ(SectionOf(ends.at("north"), "Model")->plots.at(0).series.at(0).y.size(), 3u);
}

// Levels that the dictionary does not have: no row of south says anything of its columns.
TEST_F(MixtureHoldersTest, ATableWithoutAUsableRowLeavesTheModel) {
  WriteTables({});
  std::string table = "id,sex,score\n";
  for (int i = 0; i < kRows; ++i) table += fmt::format("k{},woman,1\n", i);
  std::ofstream(Data("south")) << table;
  const auto study = Prepare({});
  const auto ends = Run(*study);
  ExpectAllDone(ends);
  ASSERT_FALSE(HasFailure());
  const study::DocumentSection* own =
      SectionOf(ends.at("south"), "Own columns, real against synthetic");
  ASSERT_NE(own, nullptr);
  EXPECT_TRUE(own->own_rows);
  EXPECT_THAT(own->paragraphs.front(), HasSubstr("No row of this party can be compared"));
  EXPECT_TRUE(own->tables.empty());
  EXPECT_FALSE(FileOf(ends.at("south"), "model.json").contents.empty());
}

const char* const kSetAside =
    "[analysis.utility]\ntest_rows = 20\nseed = 3\ntargets = [{variable = \"sex\", level = "
    "\"m\"}]\n";

// What holders do with rows that were set aside, told to themselves only.
TEST_F(MixtureHoldersTest, HoldersTestOnRowsSetAside) {
  Options options;
  options.utility = kSetAside;
  WriteTables(options);
  const auto study = Prepare(options);
  const auto ends = Run(*study);
  ExpectAllDone(ends);
  ASSERT_FALSE(HasFailure());
  ExpectPlannedTraffic(ends);
  for (const std::string party : {"north", "south"}) {
    const study::DocumentSection* own =
        SectionOf(ends.at(party), "Own columns, real against synthetic");
    ASSERT_NE(own, nullptr);
    EXPECT_TRUE(own->own_rows);
    EXPECT_THAT(own->paragraphs.front(), HasSubstr("of the 20 rows set aside"));
    EXPECT_THAT(own->paragraphs.front(), Not(HasSubstr("may fit them better")));
    ASSERT_EQ(own->tables.size(), party == "north" ? 4u : 5u);  // south holds the target
    const std::string model = FileOf(ends.at(party), "model.json").contents;
    EXPECT_THAT(privacy::ParseStatementJson(ParseModelJson(model).privacy).caveats,
                Contains(HasSubstr("place in the order of keys")));
  }
  const study::DocumentTable& scores =
      SectionOf(ends.at("south"), "Own columns, real against synthetic")->tables[4];
  EXPECT_THAT(scores.title, HasSubstr("whether sex is m"));
  EXPECT_EQ(FirstCells(scores),
            (std::vector<std::string>{"synthetic rows, on average", "own training rows"}));
  for (const auto& row : scores.rows) {
    const double wrong = std::get<double>(row.at(1)) * 100;  // of 20 rows, over 5 tables
    EXPECT_NEAR(wrong, std::round(wrong), 1e-9);
    EXPECT_GE(wrong, 0);
    EXPECT_LE(wrong, 100);
  }
}

// All holders set aside the same places of the agreed order, and train on the others.
TEST_F(MixtureHoldersTest, TheSameRowsAreSetAsideEverywhere) {
  Options options;
  options.utility = kSetAside;
  const auto study = Prepare(options);
  const MixtureStudy& prepared = AsMixture(*study);
  const auto split = stats::mixture::SplitRows(kRows, 20, 3);
  std::map<size_t, stats::mixture::Values> test;
  for (size_t party = 0; party < 2; ++party) {
    data::Table table;
    table.num_rows = kRows;
    for (const auto& column : prepared.columns) {
      if (column.party != party) continue;
      data::Column cells{column.encoding.column, {}, {}, {}};
      for (int row = 0; row < kRows; ++row) {
        if (data::HasLevels(column.encoding.column.type)) {
          cells.codes.push_back(row % 2);
        } else {
          cells.numbers.push_back(column.encoding.column.name == "visits" ? row % 6 : row / 15.0);
        }
      }
      table.columns.push_back(std::move(cells));
    }
    data::Holding holding;
    holding.table = std::make_shared<const data::Table>(std::move(table));
    run::OwnRows counts;
    const auto rows = prepared.PrepareRows(party, holding, counts);
    const auto& own = dynamic_cast<const MixtureRows&>(*rows);
    EXPECT_EQ(counts.observed, 60u);
    EXPECT_EQ(own.rows.num_rows, 40u);
    ASSERT_TRUE(own.values->train);
    EXPECT_EQ(own.values->train->front().size(), 40u);
    test[party] = own.values->test;
  }
  for (size_t i = 0; i < split.test.size(); ++i) {
    EXPECT_EQ(test[0][1][i], split.test[i] % 6) << i;  // visits
    EXPECT_EQ(test[1][0][i], split.test[i] % 2) << i;  // sex
  }
}

// The losses are those of the rows that are trained on: a study of 40 rows alone has the same.
TEST_F(MixtureHoldersTest, RowsSetAsideDoNotAmplify) {
  Options options;
  options.utility = kSetAside;
  const auto set_aside = Prepare(options);
  const study::Plan plan = run::BuildPlan(*set_aside);
  EXPECT_THAT(plan.notes, Contains(HasSubstr("20 of 60 rows are set aside by the public seed 3")));
  EXPECT_THAT(plan.notes, Contains(HasSubstr("predicts whether it is 'm'")));
  EXPECT_THAT(plan.assumptions, Contains(HasSubstr("keys of all rows stay")));
  EXPECT_NEAR(AsMixture(*set_aside).plan.sampling_rate, 12.0 / 40, 1e-12);
  std::string text = StudyText({});
  text.replace(text.find("count = 60"), 10, "count = 40");
  const auto fewer = PrepareStudy(ParseStudyFile(text, "study.toml"));
  const privacy::Statement& with = AsMixture(*set_aside).statement;
  const privacy::Statement& alone = AsMixture(*fewer).statement;
  ASSERT_EQ(with.rows.size(), alone.rows.size());
  for (size_t i = 0; i < with.rows.size(); ++i)
    EXPECT_EQ(with.rows[i].loss.epsilon_upper, alone.rows[i].loss.epsilon_upper) << i;
}

// How often a row was used depends on the batches that hide it from outsiders: parties are shown
// it, files have the bound of the plan. A row is in all of 12 batches of a fifth of 60 rows with
// probability 60 / 5^12 < 3e-7, so that the two differ.
TEST_F(MixtureHoldersTest, UsesOfRandomBatchesStayWithTheParties) {
  WriteTables({});
  const auto study = Prepare({});
  const auto& prepared = AsMixture(*study);
  const uint64_t bound = *StepsOf(prepared.plan, prepared.audience, {12, {}}).max_uses;
  const auto ends = Run(*study);
  ExpectAllDone(ends);
  ASSERT_FALSE(HasFailure());
  for (const std::string party : {"north", "south"}) {
    EXPECT_EQ(ResultOf(ends.at(party))["max_uses"], bound);
    const std::string model = FileOf(ends.at(party), "model.json").contents;
    for (const privacy::StatementRow& row :
         privacy::ParseStatementJson(ParseModelJson(model).privacy).rows) {
      EXPECT_FALSE(row.uses_realised);
      if (row.uses_cap) {
        EXPECT_EQ(*row.uses_cap, bound);
      }
    }
    const study::DocumentSection* uses = SectionOf(ends.at(party), "Uses of rows in this run");
    ASSERT_NE(uses, nullptr);
    EXPECT_TRUE(uses->own_rows);
    EXPECT_THAT(uses->paragraphs.front(), HasSubstr("was in"));
  }
  Options disjoint;
  disjoint.batch = "mode = \"disjoint\"\nsize = 15\n";
  const auto other = Prepare(disjoint);
  const auto same = Run(*other);
  ExpectAllDone(same);
  EXPECT_EQ(ResultOf(same.at("north"))["max_uses"], 3);  // in public: once in each of three passes
  EXPECT_EQ(SectionOf(same.at("north"), "Uses of rows in this run"), nullptr);
}

}  // namespace
}  // namespace partita::methods::mixture::mixture_studies::mixture_holders_test
