// Studies of method mixture through the whole path: plan and traffic, the result at every party,
// synthetic tables, privacy, ledgers, wrong inputs.
#include "tests/methods/mixture/mixture_study.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "methods/mixture/adult.h"
#include "methods/mixture/model_file.h"
#include "run/ledger/ledger_charges.h"
#include "run/party/build_plan.h"
#include "tests/data/expect_error.h"
#include "tests/paths.h"

namespace partita::methods::mixture::mixture_studies::mixture_study_test {
namespace {

using privacy::ledger::Policy;
using ::testing::Contains;
using testing::End;
using testing::ExpectAllDone;
using ::testing::HasSubstr;

TEST_F(MixtureStudyTest, EveryEngineAndBatchAsPlanned) {
  struct Case {
    std::string engine;
    size_t holders;
    std::string batch;
  };
  for (const Case& c : {Case{"dealer", 2, "mode = \"poisson\"\nsize = 12\n"},
                        {"dealer", 2, "mode = \"full\"\n"},
                        {"ot", 2, "mode = \"disjoint\"\nsize = 15\n"},
                        {"dealer", 3, "mode = \"disjoint\"\nsize = 15\n"},
                        {"replicated", 3, "mode = \"poisson\"\nsize = 12\n"}}) {
    SCOPED_TRACE(c.engine + fmt::format(" {} ", c.holders) + c.batch);
    Options options;
    options.engine = c.engine;
    options.holders = c.holders;
    options.batch = c.batch;
    if (c.engine == "ot")  // its correlations take a while
      options.analysis = "components = 2\niterations = 2\nsynthetic_rows = 30\n";
    WriteTables(options);
    const auto study = Prepare(options);
    const auto ends = Run(*study);
    ExpectAllDone(ends);
    if (HasFailure()) return;
    ExpectPlannedTraffic(ends);
    const nlohmann::json result = ResultOf(ends.at("north"));
    const uint64_t iterations = AsMixture(*study).spec().iterations;
    EXPECT_EQ(result["iterations"], iterations);
    EXPECT_EQ(result["openings"], iterations);
    EXPECT_EQ(ends.at("north").outcome->releases.at(0).opened, iterations);
    EXPECT_EQ(ResultOf(ends.at("south"))["weights"], result["weights"]);
    EXPECT_EQ(FileOf(ends.at("south"), "model.json").contents,
              FileOf(ends.at("north"), "model.json").contents);
    if (c.engine == "dealer") {
      EXPECT_EQ(ends.at("helper").outcome->result, nullptr);
    }
  }
}

// examples/adult_census is the experiment of the paper: its columns, K, T, q, C and sigma.
TEST(MixtureExampleTest, TheCensusIsTheExperiment) {
  const MixtureStudy study =
      PrepareMixtureStudy(LoadStudyFile(SourcePath("examples/adult_census/study.toml")));
  const RunRequest& request = study.plan.request;
  const std::vector<ModelColumn> columns = AdultColumns();
  const stats::mixture::Layout paper = ModelLayout(columns);
  ASSERT_EQ(request.layout.features.size(), paper.features.size());
  for (size_t f = 0; f < paper.features.size(); ++f) {
    const stats::mixture::Feature &ours = request.layout.features[f], &theirs = paper.features[f];
    EXPECT_EQ(ours.name, theirs.name);
    EXPECT_EQ(ours.family, theirs.family) << ours.name;
    EXPECT_EQ(ours.levels, theirs.levels) << ours.name;
    EXPECT_EQ(ours.party, theirs.party) << ours.name;
    const data::ColumnSchema &column = study.columns[f].encoding.column,
                             &expected = columns[f].encoding.column;
    EXPECT_EQ(column.levels, expected.levels) << ours.name;
    EXPECT_EQ(column.lower, expected.lower) << ours.name;
    EXPECT_EQ(column.upper, expected.upper) << ours.name;
  }
  EXPECT_EQ(request.num_rows, 30162u);
  EXPECT_EQ(request.components, 20u);
  EXPECT_EQ(request.variational.steps, 20000u);
  EXPECT_EQ(request.batch_size, 100u);
  EXPECT_EQ(request.clip, 1);
  EXPECT_EQ(request.noise_multiplier, 2.042);
}

TEST_F(MixtureStudyTest, TheReceiverDrawsTablesOfTheDictionary) {
  WriteTables({});
  const auto study = Prepare({});
  const auto ends = Run(*study);
  ExpectAllDone(ends);
  ASSERT_FALSE(HasFailure());
  const End& north = ends.at("north");
  for (const std::string name : {"synthetic_1.csv", "synthetic_2.csv"}) {
    std::istringstream csv(FileOf(north, name).contents);
    std::string line;
    std::getline(csv, line);
    EXPECT_EQ(line, "income,visits,sex,score");
    int rows = 0;
    while (std::getline(csv, line)) {
      ++rows;
      std::istringstream cells(line);
      std::string income, visits, sex, score;
      std::getline(cells, income, ',');
      std::getline(cells, visits, ',');
      std::getline(cells, sex, ',');
      std::getline(cells, score, ',');
      EXPECT_GE(std::stod(income), 0);
      EXPECT_LE(std::stod(income), 100);
      EXPECT_EQ(std::stod(visits), std::floor(std::stod(visits)));
      EXPECT_LE(std::stod(visits), 5);
      EXPECT_TRUE(sex == "f" || sex == "m") << sex;
      EXPECT_LE(std::abs(std::stod(score)), 5);
    }
    EXPECT_EQ(rows, 30);
  }
  EXPECT_NE(FileOf(north, "synthetic_1.csv").contents, FileOf(north, "synthetic_2.csv").contents);
  EXPECT_EQ(testing::DocumentOf(*ends.at("south").outcome).files.size(), 1u);  // the model only
  // The model's file is what `partita synthetic` reads, with the statement of the run.
  const FittedModel model = ParseModelJson(FileOf(north, "model.json").contents);
  EXPECT_EQ(model.parties, (std::vector<std::string>{"north", "south"}));
  EXPECT_EQ(model.steps, 12u);
  const privacy::Statement after = privacy::ParseStatementJson(model.privacy);
  const privacy::Statement& before = AsMixture(*study).statement;
  ASSERT_EQ(after.rows.size(), before.rows.size());
  EXPECT_EQ(after.rows[0].adversary.party, "north");  // the receiver's is the headline
  for (size_t i = 0; i < after.rows.size(); ++i) {
    if (after.rows[i].loss.infinite) continue;
    EXPECT_LE(after.rows[i].loss.epsilon_upper, before.rows[i].loss.epsilon_upper * (1 + 1e-9));
  }
}

TEST_F(MixtureStudyTest, ThePlanSaysWhatBatchesCost) {
  const auto study = Prepare({});
  const study::Plan plan = run::BuildPlan(*study);
  EXPECT_EQ(plan.method, "mixture");
  EXPECT_EQ(plan.releases.at(0).max_count, 12u);
  EXPECT_EQ(plan.releases.at(0).to, "all");
  EXPECT_THAT(plan.notes, Contains(HasSubstr("Batches poisson: 12 iterations")));
  EXPECT_THAT(plan.notes,
              Contains(HasSubstr("Batches disjoint: 12 iterations, a row in at most 3")));
  EXPECT_THAT(plan.notes, Contains(HasSubstr("Batches full: 3 iterations, a row in at most 3")));
  // 60 rows of 2 + 6 + 2 + 2 statistics, 16 bytes each, to the one other party.
  EXPECT_THAT(plan.notes, Contains(HasSubstr(fmt::format("masked once: {} bytes", 60 * 12 * 16))));
  for (const study::PlanParty& party : plan.parties) {
    EXPECT_THAT(party.learns, Contains(HasSubstr("which rows each batch has")));
    if (party.name == "helper") continue;
    EXPECT_THAT(party.learns, Contains(HasSubstr("its own share of the noise")));
  }
}

// The noise that is chosen keeps the promise, and 2 % less would not.
TEST_F(MixtureStudyTest, TheNoiseKeepsTheEpsilon) {
  struct Case {
    std::string against, batch;
    privacy::AdversaryKind kind;
    double epsilon = 2;
  };
  // The last one takes more than 1000 times the clipping bound.
  for (const Case& c :
       {Case{"outside", "mode = \"poisson\"\nsize = 12\n", privacy::AdversaryKind::kOutsideAnalyst},
        {"outside", "mode = \"full\"\n", privacy::AdversaryKind::kOutsideAnalyst},
        {"parties", "mode = \"disjoint\"\nsize = 15\n", privacy::AdversaryKind::kParty},
        {"outside", "mode = \"full\"\n", privacy::AdversaryKind::kOutsideAnalyst, 0.01}}) {
    Options options;
    options.batch = c.batch;
    options.privacy =
        fmt::format("epsilon = {}\nagainst = \"{}\"\ndelta = 1e-5\nadjacency = \"replace\"\n",
                    c.epsilon, c.against);
    const auto epsilon = [&](const Options& of) {
      const auto study = Prepare(of);
      for (const privacy::StatementRow& row : AsMixture(*study).statement.rows) {
        if (row.adversary.kind == c.kind) return row.loss.epsilon_upper;
      }
      return 0.0;
    };
    EXPECT_LE(epsilon(options), c.epsilon);
    const double noise = AsMixture(*Prepare(options)).plan.request.noise_multiplier;
    options.privacy =
        fmt::format("noise_multiplier = {}\ndelta = 1e-5\nadjacency = \"replace\"\n", noise * 0.98);
    EXPECT_GT(epsilon(options), c.epsilon) << c.against << c.batch;
  }
}

TEST_F(MixtureStudyTest, AThirdPartyAddsTheNoise) {
  Options options;
  options.holders = 3;  // west holds only the score
  options.privacy += "noise_from = \"west\"\n";
  ExpectError(ErrorCode::kBadInput, "would know all of the noise", "", [&] { Prepare(options); });
  std::string text = StudyText(options);
  const std::string score = ", {variable = \"score\", family = \"gaussian\"}";
  text.erase(text.find(score), score.size());
  WriteTables(options);
  const auto study = PrepareStudy(ParseStudyFile(text, "study.toml"));
  const auto ends = Run(*study);
  ExpectAllDone(ends);
  ASSERT_FALSE(HasFailure());
  ExpectPlannedTraffic(ends);
  std::map<std::string, bool> infinite;
  for (const privacy::StatementRow& row : AsMixture(*study).statement.rows) {
    if (row.adversary.kind == privacy::AdversaryKind::kParty && !row.adversary.with_dealer)
      infinite[row.adversary.party] = row.loss.infinite;
  }
  EXPECT_EQ(infinite,
            (std::map<std::string, bool>{{"north", false}, {"south", false}, {"west", true}}));
}

TEST_F(MixtureStudyTest, ABudgetThatIsTooSmallIsRefusedBeforeAnythingIsSent) {
  WriteTables({});
  OpenLedger("south", "1");
  const auto study = Prepare({});
  const auto ends = Run(*study);
  ASSERT_TRUE(ends.at("south").error);
  EXPECT_EQ(ends.at("south").error->code(), ErrorCode::kBudget);
  ASSERT_TRUE(ends.at("north").error);
  EXPECT_EQ(StudiesSpent("south"), 0u);
}

// They stop nothing; faulty_tables_test.cc has all kinds of them and what the others see.
TEST_F(MixtureStudyTest, CellsOutsideTheDictionaryAreToldToTheirOwner) {
  WriteTables({});
  std::string csv;
  {
    std::ifstream in(Data("south"));
    csv.assign(std::istreambuf_iterator<char>(in), {});
  }
  csv.replace(csv.find(",m,"), 3, ",x,");
  std::ofstream(Data("south")) << csv;
  const auto study = Prepare({});
  const auto ends = Run(*study);
  ExpectAllDone(ends);
  EXPECT_EQ(ends.at("south").outcome->rows.neutral, 1u);
  EXPECT_EQ(ends.at("south").outcome->repaired.without_value, 1u);
  EXPECT_EQ(ends.at("north").outcome->rows.neutral, 0u);
}

TEST_F(MixtureStudyTest, StudiesThatCannotBe) {
  Options options;
  options.engine = "shamir";
  options.holders = 3;
  ExpectError(ErrorCode::kBadInput, "runs on the engines", "[engine]", [&] { Prepare(options); });
  options = {};
  options.analysis += "protocol = \"pooled-moments\"\n";
  ExpectError(ErrorCode::kBadInput, "unknown key 'protocol'", "", [&] { Prepare(options); });
  options = {};
  const std::string two = StudyText(options) + "[[analysis]]\nname = \"b\"\nmethod = \"mixture\"\n";
  EXPECT_THROW(ParseStudyFile(two, "study.toml"), Error);
  Policy policy;
  policy.table = "registry";
  policy.outside.adjacency = privacy::Adjacency::kAddRemove;
  ExpectError(ErrorCode::kRefused, "add-remove", "", [&] { run::ChargesOf(*Prepare({}), policy); });
}

}  // namespace
}  // namespace partita::methods::mixture::mixture_studies::mixture_study_test
