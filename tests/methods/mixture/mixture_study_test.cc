// Studies of method mixture through the whole path: plan and traffic, the result at every party,
// synthetic tables, privacy, ledgers, a party that stops and a run that goes on, wrong inputs.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "methods/mixture/adult.h"
#include "methods/mixture/held_out_rows.h"
#include "methods/mixture/model_file.h"
#include "methods/mixture/study.h"
#include "methods/prepare_study.h"
#include "net/memory_transport.h"
#include "run/ledger/ledger_charges.h"
#include "run/party/build_plan.h"
#include "run/party/party.h"
#include "tests/data/expect_error.h"
#include "tests/paths.h"
#include "tests/run/interrupted_runs.h"
#include "tests/run/reference_study.h"
#include "tests/run/results.h"

namespace partita::methods::mixture::mixture_study_test {
namespace {

namespace fs = std::filesystem;
using privacy::ledger::Policy;
using run::OpenLedger;
using ::testing::Contains;
using ::testing::Each;
using testing::End;
using testing::ExpectAllDone;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int kRows = 60;

struct Options {
  std::string engine = "dealer";
  size_t holders = 2;
  std::string analysis =
      "components = 3\niterations = 12\ncheckpoint_every = 4\n"
      "learning_rate = 0.05\nsynthetic_rows = 30\nsynthetic_sets = 2\n";
  std::string batch = "mode = \"poisson\"\nsize = 12\n";
  std::string privacy = "noise_multiplier = 1.5\ndelta = 1e-5\nadjacency = \"replace\"\n";
  std::string utility;  // [analysis.utility]
};

std::string StudyText(const Options& options) {
  std::string toml = "partita = 1\nname = \"registry\"\n";
  const auto party = [&](const std::string& name, const std::string& columns) {
    toml += fmt::format("[[party]]\nname = \"{}\"\nroles = [\"holder\"{}]\ncolumns = [{}]\n", name,
                        name == "north" ? ", \"receiver\"" : "", columns);
  };
  party("north", "\"income\", \"visits\"");
  party("south", options.holders == 2 ? "\"sex\", \"score\"" : "\"sex\"");
  if (options.holders == 3) party("west", "\"score\"");
  if (options.engine == "replicated" && options.holders == 2)
    toml += "[[party]]\nname = \"centre\"\nroles = []\n";
  if (options.engine == "dealer") toml += "[[party]]\nname = \"helper\"\nroles = [\"dealer\"]\n";
  toml += fmt::format("[[rows]]\nname = \"all\"\ncount = {}\n[table]\nkey = \"id\"\n", kRows);
  toml +=
      "[[variable]]\nname = \"income\"\ntype = \"numeric\"\nlower = 0\nupper = 100\n"
      "[[variable]]\nname = \"visits\"\ntype = \"integer\"\nlower = 0\nupper = 5\n"
      "[[variable]]\nname = \"sex\"\ntype = \"factor\"\nlevels = [\"f\", \"m\"]\n"
      "[[variable]]\nname = \"score\"\ntype = \"numeric\"\nlower = -5\nupper = 5\n";
  toml += fmt::format(
      "[design]\nsite = \"ignore\"\nmissing = \"refuse\"\n[engine]\nname = \"{}\"\n"
      "[[analysis]]\nmethod = \"mixture\"\ncolumns = [\"income\", \"visits\", \"sex\", "
      "{{variable = \"score\", family = \"gaussian\"}}]\n{}[analysis.batch]\n{}"
      "[analysis.privacy]\n{}{}",
      options.engine, options.analysis, options.batch, options.privacy, options.utility);
  return toml;
}

std::unique_ptr<const run::Study> Prepare(const Options& options) {
  return PrepareStudy(ParseStudyFile(StudyText(options), "study.toml"));
}
const MixtureStudy& AsMixture(const run::Study& study) {
  return dynamic_cast<const MixtureStudy&>(study);
}

class MixtureStudyTest : public testing::InterruptedRuns {
 protected:
  void WriteTables(const Options& options) {
    std::mt19937_64 random(7);
    std::map<std::string, std::string> tables;
    tables["north"] = "id,income,visits\n";
    tables["south"] = options.holders == 2 ? "id,sex,score\n" : "id,sex\n";
    tables["west"] = "id,score\n";
    for (int i = 0; i < kRows; ++i) {
      const auto unit = static_cast<double>(random() >> 11) * 0x1p-53;
      const bool man = random() % 2 == 0;
      const std::string score = fmt::format("{:.4f}", 8 * unit - 4);
      tables["north"] += fmt::format("k{},{:.3f},{}\n", i, 100 * unit, random() % 6);
      tables["south"] +=
          fmt::format("k{},{}{}\n", i, man ? "m" : "f", options.holders == 2 ? "," + score : "");
      tables["west"] += fmt::format("k{},{}\n", i, score);
    }
    for (const auto& [party, csv] : tables) std::ofstream(Data(party)) << csv;
  }
};

// Messages and bytes by phase, as planned; rounds at whoever waits longest.
void ExpectPlannedTraffic(const std::map<std::string, End>& ends) {
  const study::Plan& plan = ends.begin()->second.outcome->plan;
  struct Cost {
    uint64_t messages = 0, bytes = 0;
    bool operator==(const Cost&) const = default;
  };
  std::map<std::string, Cost> planned, counted;
  uint64_t planned_rounds = 0, counted_rounds = 0;
  for (const study::PlanPhase& phase : plan.phases) {
    planned_rounds += phase.rounds;
    for (const study::PlanLink& link : phase.links) {
      planned[phase.name].messages += link.messages;
      planned[phase.name].bytes += link.bytes;
    }
  }
  for (const auto& [party, end] : ends) {
    uint64_t rounds = 0;
    for (const net::PhaseTraffic& phase : end.outcome->traffic) {
      rounds += phase.rounds;
      for (const net::LinkTraffic& link : phase.links) {
        counted[phase.phase].messages += link.messages_sent;
        counted[phase.phase].bytes += link.bytes_sent;
      }
    }
    counted_rounds = std::max(counted_rounds, rounds);
  }
  for (const auto& [phase, cost] : planned) {
    EXPECT_EQ(counted[phase].messages, cost.messages) << phase;
    EXPECT_EQ(counted[phase].bytes, cost.bytes) << phase;
  }
  EXPECT_EQ(counted_rounds, planned_rounds);
}

nlohmann::json ResultOf(const End& end) {
  return nlohmann::json::parse(testing::DocumentOf(*end.outcome).json);
}

const study::DocumentFile& FileOf(const End& end, const std::string& name) {
  for (const study::DocumentFile& file : testing::DocumentOf(*end.outcome).files) {
    if (file.name == name) return file;
  }
  throw Error(ErrorCode::kUsage, "no file " + name);
}

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

const study::DocumentSection* SectionOf(const End& end, const std::string& heading) {
  for (const study::DocumentSection& section : testing::DocumentOf(*end.outcome).sections) {
    if (section.heading == heading) return &section;
  }
  return nullptr;
}

std::vector<std::string> FirstCells(const study::DocumentTable& table) {
  std::vector<std::string> cells;
  for (const auto& row : table.rows) cells.push_back(std::get<std::string>(row.front()));
  return cells;
}

// Each holder sees how like its own columns synthetic rows are, and nobody else does.
TEST_F(MixtureStudyTest, HoldersCompareTheirOwnColumns) {
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
    ASSERT_EQ(own->tables.size(), 3u);
    EXPECT_EQ(FirstCells(own->tables[0]), columns);
    for (const auto& row : own->tables[0].rows) {
      EXPECT_GT(std::get<double>(row.at(1)), 0);
      EXPECT_LE(std::get<double>(row.at(1)), 1);
    }
    EXPECT_EQ(own->tables[1].columns,
              (std::vector<std::string>{"column", "cell", "real", "synthetic"}));
    EXPECT_EQ(own->tables[1].rows.size(), 10u);
    EXPECT_THAT(FirstCells(own->tables[1]), Each(::testing::AnyOfArray(columns)));
    EXPECT_EQ(FirstCells(own->tables[2]),
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

const char* const kSetAside =
    "[analysis.utility]\ntest_rows = 20\nseed = 3\ntargets = [{variable = \"sex\", level = "
    "\"m\"}]\n";

// What holders do with rows that were set aside, told to themselves only.
TEST_F(MixtureStudyTest, HoldersTestOnRowsSetAside) {
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
    ASSERT_EQ(own->tables.size(), party == "north" ? 3u : 4u);  // south holds the target
    const std::string model = FileOf(ends.at(party), "model.json").contents;
    EXPECT_THAT(privacy::ParseStatementJson(ParseModelJson(model).privacy).caveats,
                Contains(HasSubstr("place in the order of keys")));
  }
  const study::DocumentTable& scores =
      SectionOf(ends.at("south"), "Own columns, real against synthetic")->tables[3];
  EXPECT_THAT(scores.title, HasSubstr("whether sex is m"));
  EXPECT_EQ(FirstCells(scores), (std::vector<std::string>{"synthetic rows", "own training rows"}));
  for (const auto& row : scores.rows) {
    const double wrong = std::get<double>(row.at(1)) * 20;  // of 20 rows
    EXPECT_NEAR(wrong, std::round(wrong), 1e-9);
    EXPECT_GE(wrong, 0);
    EXPECT_LE(wrong, 20);
  }
}

// All holders set aside the same places of the agreed order, and train on the others.
TEST_F(MixtureStudyTest, TheSameRowsAreSetAsideEverywhere) {
  Options options;
  options.utility = kSetAside;
  const auto study = Prepare(options);
  const MixtureStudy& prepared = AsMixture(*study);
  const auto split = SplitRows(kRows, 20, 3);
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
TEST_F(MixtureStudyTest, RowsSetAsideDoNotAmplify) {
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
TEST_F(MixtureStudyTest, UsesOfRandomBatchesStayWithTheParties) {
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

// South stops in the second block. The run goes on behind it, without another charge and with
// nothing lost, and a run that is over gives its result again.
TEST_F(MixtureStudyTest, StopsAndGoesOn) {
  Options options;
  WriteTables(options);
  for (const std::string party : {"north", "south"}) OpenLedger(party, "1000");
  const auto study = Prepare(options);
  auto ends = Run(*study, true, "south", 6);
  for (const std::string party : {"north", "south", "helper"})
    EXPECT_TRUE(ends.at(party).error) << party;
  EXPECT_EQ(StudiesSpent("north"), 1u);
  EXPECT_EQ(StudiesSpent("south"), 1u);

  ends = Run(*study, true);
  ExpectAllDone(ends);
  ASSERT_FALSE(HasFailure());
  const nlohmann::json result = ResultOf(ends.at("north"));
  EXPECT_EQ(result["openings"], 12);
  EXPECT_EQ(result["iterations"], 12);
  EXPECT_EQ(result["lost_openings"], 0);
  EXPECT_EQ(testing::DocumentOf(*ends.at("north").outcome).ending, study::Ending::kConverged);
  EXPECT_FALSE(ends.at("helper").outcome->not_trained);
  EXPECT_EQ(ends.at("north").outcome->releases.at(0).opened, 6u);
  EXPECT_EQ(StudiesSpent("north"), 1u);
  EXPECT_EQ(StudiesSpent("south"), 1u);
  EXPECT_TRUE(ends.at("north").outcome->ledger.spent);

  const auto again = Run(*study, true);
  ExpectAllDone(again);
  ASSERT_FALSE(HasFailure());
  EXPECT_EQ(again.at("north").outcome->releases.at(0).opened, 0u);
  EXPECT_EQ(ResultOf(again.at("north"))["weights"], result["weights"]);
  EXPECT_EQ(StudiesSpent("south"), 1u);

  // Without what it left, a party cannot go on, and nothing opens.
  fs::remove_all(State("south"));
  const auto without = Run(*study, true);
  ASSERT_TRUE(without.at("north").error);
  EXPECT_EQ(without.at("north").error->code(), ErrorCode::kRefused);
  EXPECT_EQ(StudiesSpent("south"), 1u);
}

// What stopped before its first block was over: the charge is the same, and nothing is lost.
TEST_F(MixtureStudyTest, TheFirstBlockIsNotChargedAgain) {
  WriteTables({});
  for (const std::string party : {"north", "south"}) OpenLedger(party, "10000");
  const auto study = Prepare({});
  Run(*study, true, "south", 2);
  EXPECT_EQ(StudiesSpent("north"), 1u);
  const auto ends = Run(*study, true);
  ExpectAllDone(ends);
  EXPECT_EQ(StudiesSpent("north"), 1u);
  EXPECT_EQ(ResultOf(ends.at("north"))["openings"], 12);
  EXPECT_EQ(ResultOf(ends.at("north"))["iterations"], 12);
}

// Openings that were marked and that nobody kept, as after a failure of all machines before their
// first checkpoint: announced, no synthetic tables, and a status of its own at every process.
TEST_F(MixtureStudyTest, LostOpeningsAreAnnounced) {
  struct Case {
    uint64_t lost, reserve;
    bool accept_useless;
  };
  uint64_t studies = 0;
  for (const Case& c :
       {Case{12, 0, false}, {2, 0, false}, {2, 0, true}, {2, 2, false}, {4, 1, false}}) {
    SCOPED_TRACE(fmt::format("{} lost, {} in reserve", c.lost, c.reserve));
    Options options;
    options.analysis += fmt::format("reserve = {}\n", c.reserve);
    WriteTables(options);
    for (const std::string party : {"north", "south"}) {
      fs::remove_all(State(party));
      if (studies == 0) OpenLedger(party, "10000");
    }
    ++studies;
    const auto study = Prepare(options);
    Run(*study, true, "south", 2);
    for (const std::string party : {"north", "south"}) {
      ASSERT_TRUE(fs::exists(State(party) / "openings")) << party;
      fs::remove(State(party) / "checkpoint");
    }
    std::ofstream(State("south") / "openings", std::ios::binary | std::ios::app)
        << std::string(c.lost - 2, '+');
    accept_useless_ = c.accept_useless;
    const auto ends = Run(*study, true);
    ExpectAllDone(ends);
    ASSERT_FALSE(HasFailure());
    const uint64_t made = std::min<uint64_t>(12, 12 + c.reserve - c.lost);
    const bool trained = made == 12;
    for (const std::string party : {"north", "south"}) {
      const nlohmann::json result = ResultOf(ends.at(party));
      EXPECT_EQ(result["iterations"], made);
      EXPECT_EQ(result["planned_iterations"], 12);
      EXPECT_EQ(result["openings"], made + c.lost);
      EXPECT_EQ(result["lost_openings"], c.lost);
      EXPECT_EQ(result["reserve"], c.reserve);
      EXPECT_EQ(testing::DocumentOf(*ends.at(party).outcome).ending,
                trained ? study::Ending::kConverged : study::Ending::kNotTrained);
      const study::DocumentSection* model = SectionOf(ends.at(party), "Model");
      ASSERT_NE(model, nullptr);
      EXPECT_THAT(model->paragraphs.at(1), HasSubstr(fmt::format("Lost: {} of", c.lost)));
      EXPECT_EQ(ParseModelJson(FileOf(ends.at(party), "model.json").contents).trained(), trained);
      EXPECT_EQ(StudiesSpent(party), studies);
    }
    EXPECT_EQ(ends.at("helper").outcome->not_trained, !trained);
    EXPECT_EQ(testing::DocumentOf(*ends.at("north").outcome).files.size(),
              trained || c.accept_useless ? 3u : 1u);
    EXPECT_EQ(ResultOf(ends.at("north"))["synthetic"].size(),
              trained || c.accept_useless ? 2u : 0u);
  }
}

// A table that changed between the attempts.
TEST_F(MixtureStudyTest, AnotherTableDoesNotGoOn) {
  WriteTables({});
  const auto study = Prepare({});
  Run(*study, true, "south", 6);
  std::string csv;
  {
    std::ifstream in(Data("south"));
    csv.assign(std::istreambuf_iterator<char>(in), {});
  }
  const size_t at = csv.find(",m,");
  ASSERT_NE(at, std::string::npos);
  csv[at + 1] = 'f';
  std::ofstream(Data("south")) << csv;
  const auto ends = Run(*study, true);
  ASSERT_TRUE(ends.at("south").error);
  EXPECT_EQ(ends.at("south").error->code(), ErrorCode::kRefused);
  EXPECT_THAT(ends.at("south").error->message(), HasSubstr("another study, plan or table"));
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
}  // namespace partita::methods::mixture::mixture_study_test
