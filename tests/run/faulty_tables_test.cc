// Private studies over tables that do not fit their dictionary: nothing that the other parties see
// tells them from tables that do, and only their holders learn of it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <regex>
#include <sstream>
#include <thread>

#include "methods/mle/study/protocol.h"
#include "methods/prepare_study.h"
#include "net/memory_transport.h"
#include "run/party/build_plan.h"
#include "run/party/party.h"
#include "tests/data/expect_error.h"
#include "tests/mpc/transcript.h"
#include "tests/run/reference_study.h"
#include "tests/run/results.h"

namespace partita::run::faulty_tables_test {
namespace {

namespace fs = std::filesystem;
using methods::PrepareStudy;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr int kRows = 40;  // of every block

using Cells = std::vector<std::vector<std::string>>;  // the header first

struct Design {
  bool vertical = false;
  std::string engine = "dealer", design = "missing = \"refuse\"\n", analysis;
  bool counts = true;
};

std::string StudyText(const Design& design) {
  std::string toml = "partita = 1\nname = \"faulty\"\n";
  const auto party = [&](const std::string& name, const std::string& more) {
    toml += fmt::format("[[party]]\nname = \"{}\"\nroles = [\"holder\"{}]\n{}", name,
                        name == "north" ? ", \"receiver\"" : "", more);
  };
  if (design.vertical) {
    party("north", "columns = [\"y\", \"k\"]\n");
    party("south", "columns = [\"x\", \"g\"]\n");
  } else {
    for (const std::string name : {"north", "south", "west"})
      party(name, fmt::format("rows = [\"{}\"]\n", name));
  }
  if (design.engine == "dealer") toml += "[[party]]\nname = \"helper\"\nroles = [\"dealer\"]\n";
  for (const std::string block : {"north", "south", "west"}) {
    toml += fmt::format("[[rows]]\nname = \"{}\"\n", design.vertical ? "all" : block);
    if (design.counts) toml += fmt::format("count = {}\n", kRows);
    if (design.vertical) break;
  }
  if (design.vertical) toml += "[table]\nkey = \"id\"\n";
  for (const std::string name : {"y", "x"})
    toml += fmt::format("[[variable]]\nname = \"{}\"\ntype = \"numeric\"\nlower = -5\nupper = 5\n",
                        name);
  toml +=
      "[[variable]]\nname = \"k\"\ntype = \"integer\"\nlower = 0\nupper = 1\n"
      "[[variable]]\nname = \"g\"\ntype = \"factor\"\nlevels = [\"f\", \"m\"]\n";
  return toml +
         fmt::format("[design]\nsite = \"ignore\"\n{}[engine]\nname = \"{}\"\n[[analysis]]\n{}",
                     design.design, design.engine, design.analysis);
}

std::string Mle(const std::string& more, const std::string& adjacency = "replace") {
  return "method = \"mle\"\nprotocol = \"pooled-moments\"\nrelease = [\"moments\"]\n"
         "function = \"sem\"\nmodel = \"y ~ x\"\n" +
         more +
         "[analysis.privacy]\nepsilon = 100\ndelta = 1e-6\nnorm = 1.2\nplanning_rows = 120\n"
         "adjacency = \"" +
         adjacency + "\"\n";
}

const std::string kChain =
    "method = \"mcmc\"\nprotocol = \"decisions\"\nmodel = \"logistic\"\noutcome = \"k\"\n"
    "release = [\"decisions\"]\npredictors = [\"x\", \"y\"]\nchains = 4\nwarmup = 8\ndraws = 12\n"
    "[analysis.privacy]\nepsilon = 50\ndelta = 1e-5\nadjacency = \"replace\"\nclip = 0.05\n";

std::string Classify(const std::string& protocol, const std::string& more) {
  return fmt::format(
      "method = \"classify\"\nprotocol = \"{}\"\noutcome = \"g\"\npositive = \"m\"\n"
      "predictors = [\"x\", \"y\"]\nintercept = true\nrow_norm = 1.5\nlambda = 0.3\n{}"
      "evaluation = \"private\"\ntest_share = 0.25\nscore_bins = 4\n"
      "[analysis.privacy]\nepsilon = 6\ndelta = 1e-4\nadjacency = \"replace\"\n",
      protocol, more);
}

std::map<std::string, Design> Designs() {
  const std::string descent =
      "iterations = 6\nstep = 1\nsampling_rate = 0.5\nclip_norm = 0.8\noptimiser = \"sgd\"\n";
  return {
      {"mle, columns split", {true, "dealer", "missing = \"refuse\"\n", Mle("")}},
      {"mle, filled", {true, "dealer", "missing = \"refuse\"\nfaulty_rows = \"fill\"\n", Mle("")}},
      {"mle, groups", {false, "replicated", "missing = \"refuse\"\n", Mle("group = \"g\"\n")}},
      {"mle, incomplete rows left out", {false, "dealer", "missing = \"complete\"\n", Mle("")}},
      {"mle, number of rows hidden",
       {false, "replicated", "missing = \"refuse\"\n", Mle("", "add-remove"), false}},
      {"mixture",
       {true, "dealer", "missing = \"refuse\"\n",
        "method = \"mixture\"\ncolumns = [\"y\", \"k\", \"x\", \"g\"]\ncomponents = 2\n"
        "iterations = 4\nlearning_rate = 0.05\nsynthetic_rows = 10\nsynthetic_sets = 1\n"
        "[analysis.batch]\nmode = \"poisson\"\nsize = 10\n[analysis.privacy]\n"
        "noise_multiplier = 1.5\ndelta = 1e-5\nadjacency = \"replace\"\n"}},
      {"classify, descent",
       {false, "dealer", "missing = \"refuse\"\n", Classify("dp-sgd", descent)}},
      {"classify, aggregation",
       {false, "dealer", "missing = \"refuse\"\n", Classify("local-aggregation", "")}},
      {"classify, minimum",
       {false, "dealer", "missing = \"refuse\"\n", Classify("approximate-minima", "")}},
      {"mcmc", {false, "dealer", "missing = \"refuse\"\n", kChain}},
      {"mcmc, incomplete rows left out", {false, "dealer", "missing = \"complete\"\n", kChain}},
  };
}

std::map<std::string, Cells> Tables(const Design& design) {
  const auto number = [](int i, int step, int period) {
    return fmt::format("{:.3f}", (i * step % period) * 8.0 / period - 4);
  };
  std::map<std::string, Cells> tables;
  int i = 0;
  for (const std::string party : {"north", "south", "west"}) {
    if (design.vertical && party == "west") break;
    const bool first = party == "north";
    if (design.vertical) i = 0;
    Cells& cells = tables[party];
    cells.push_back(design.vertical
                        ? std::vector<std::string>{"id", first ? "y" : "x", first ? "k" : "g"}
                        : std::vector<std::string>{"id", "y", "x", "k", "g"});
    for (int row = 0; row < kRows; ++row, ++i) {
      const std::string id = fmt::format("p{}", i), y = number(i, 37, 41), x = number(i, 23, 43),
                        k = std::to_string(i % 2), g = i % 3 == 0 ? "f" : "m";
      cells.push_back(design.vertical ? std::vector<std::string>{id, first ? y : x, first ? k : g}
                                      : std::vector<std::string>{id, y, x, k, g});
    }
  }
  return tables;
}

// One fault of every kind, each in a row of its own.
constexpr uint64_t kClampedCells = 1, kRaggedRows = 2;
Cells WithFaults(Cells cells) {
  const bool split = cells[0].size() == 3;
  cells[3][1] = "-1e300";             // far outside: clamped
  cells[5][1] = "";                   // missing
  cells[7][1] = "tall";               // no number
  cells[8][1] = "\xff\xfe";           // no text
  cells[9][split ? 2 : 4] = "other";  // no level, or no integer
  cells[11].pop_back();               // too few fields
  cells[13].emplace_back("17");       // too many
  return cells;
}

struct Ran {
  std::map<std::string, std::optional<PartyOutcome>> outcomes;
  std::map<std::string, std::optional<Error>> errors;
  mpc::testing::Transcript transcript;
};

class FaultyTablesTest : public ::testing::Test {
 protected:
  void SetUp() override { folder_ = testing::MakeTemporaryFolder("faulty"); }
  void TearDown() override { fs::remove_all(folder_); }

  void Write(const std::map<std::string, Cells>& tables) {
    for (const auto& [party, cells] : tables) {
      std::ofstream csv(Table(party), std::ios::binary);
      for (const std::vector<std::string>& row : cells) {
        for (size_t c = 0; c < row.size(); ++c) csv << (c > 0 ? "," : "") << row[c];
        csv << "\n";
      }
    }
  }
  fs::path Table(const std::string& party) const { return folder_ / (party + ".csv"); }

  void Run(const Study& study, Ran& ran) {
    const std::vector<std::string> names = PartyNames(study);
    crypto::SystemRandom setup;
    auto transports = net::MakeMemoryTransports(names, setup);
    for (const std::string& name : names) ran.outcomes[name], ran.errors[name];
    std::vector<std::thread> threads;
    for (size_t i = 0; i < names.size(); ++i) {
      threads.emplace_back([&, i,
                            transport = std::make_unique<mpc::testing::RecordingTransport>(
                                std::move(transports[i]), ran.transcript)]() mutable {
        crypto::SystemRandom random;
        SilentProgress progress;
        try {
          const std::unique_ptr<Approvals> approvals = UnsignedApprovals(random);
          const PartyInput input{i, Table(names[i]), {}, approvals.get()};
          ran.outcomes.at(names[i]) = RunParty(
              study, input, [&](bool) { return std::move(transport); }, random, progress);
        } catch (const Error& error) {
          ran.errors.at(names[i]) = error;
        }
        transport.reset();
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  fs::path folder_;
};

// Every frame on every link, and how every party ends, are those of a table without faults.
TEST_F(FaultyTablesTest, NobodyElseSeesAFault) {
  for (const auto& [name, design] : Designs()) {
    SCOPED_TRACE(name);
    const auto study = PrepareStudy(methods::ParseStudyFile(StudyText(design), "study.toml"));
    ASSERT_TRUE(study->IsPrivate());
    const std::map<std::string, Cells> tables = Tables(design);
    Write(tables);
    Ran clean;
    Run(*study, clean);
    std::map<std::string, Cells> faulty = tables;
    faulty["south"] = WithFaults(faulty["south"]);
    Write(faulty);
    Ran ran;
    Run(*study, ran);

    const std::vector<std::string> names = PartyNames(*study);
    for (size_t from = 0; from < names.size(); ++from) {
      for (size_t to = 0; to < names.size(); ++to) {
        if (from == to) continue;
        EXPECT_EQ(ran.transcript.Frames(from, to) == clean.transcript.Frames(from, to), true)
            << names[from] << " to " << names[to];
      }
    }
    for (const std::string& party : names) {
      ASSERT_FALSE(clean.errors.at(party)) << party << ": " << clean.errors.at(party)->message();
      ASSERT_FALSE(ran.errors.at(party)) << party << ": " << ran.errors.at(party)->message() << "; "
                                         << ran.errors.at(party)->hint();
      const PartyOutcome &one = *clean.outcomes.at(party), &other = *ran.outcomes.at(party);
      EXPECT_EQ(one.plan_hash, other.plan_hash);
      EXPECT_EQ(testing::MleResultsOf(one).size(), testing::MleResultsOf(other).size());
      EXPECT_EQ(one.result == nullptr, other.result == nullptr);
      const data::RepairedCells& cells = other.repaired;
      EXPECT_EQ(one.rows.neutral + one.rows.incomplete, 0u);
      EXPECT_THAT(one.repaired.where, IsEmpty());
      if (party != "south") {
        EXPECT_EQ(cells.clamped + cells.without_value + cells.ragged_rows, 0u) << party;
        EXPECT_EQ(other.rows.neutral + other.rows.incomplete, 0u) << party;
        continue;
      }
      EXPECT_EQ(cells.clamped, kClampedCells);
      EXPECT_EQ(cells.ragged_rows, kRaggedRows);
      EXPECT_THAT(cells.where, HasSubstr("outside the bounds (first at line 4)"));
      EXPECT_THAT(cells.where, HasSubstr("first at line 12"));
      EXPECT_EQ(other.rows.observed, uint64_t{kRows});
      // Missing, no number, no text, no level (of a factor that the analysis has), two ragged ones.
      const bool uses_level = design.analysis.find("\"g\"") != std::string::npos;
      const bool fills = design.design.find("fill") != std::string::npos;
      EXPECT_EQ(other.rows.neutral + other.rows.incomplete, (fills        ? 0u
                                                             : uses_level ? 4u
                                                                          : 3u) +
                                                                kRaggedRows);
    }
  }
}

// Of the moments a neutral row is zero in every column of its holder, which neither sums nor
// products see; the other rows are what they are without it.
TEST_F(FaultyTablesTest, ARowWithoutAValueIsZeroInTheMoments) {
  const Design design = Designs().at("mle, columns split");
  const auto study = PrepareStudy(methods::ParseStudyFile(StudyText(design), "study.toml"));
  std::map<std::string, Cells> tables = Tables(design);
  const auto values = [&](LocalData& local) {
    SilentProgress progress;
    local = LoadLocalData(*study, 1, Table("south"), {}, progress);
    std::vector<Int128> out(kRows);
    dynamic_cast<const methods::mle::LocalRows&>(*local.method)
        .blocks[0][0]
        .values(0, kRows, out.data());
    return out;
  };
  Write(tables);
  LocalData clean, faulty;
  const std::vector<Int128> before = values(clean);
  tables["south"] = WithFaults(tables["south"]);
  Write(tables);
  const std::vector<Int128> after = values(faulty);
  size_t neutral = 0, clamped = 0;
  for (size_t r = 0; r < after.size(); ++r) {
    if (faulty.holding.table->Neutral(r)) {
      ++neutral;
      EXPECT_TRUE(after[r] == 0 && before[r] != 0) << r;
    } else if (after[r] != before[r]) {
      ++clamped;
    }
  }
  EXPECT_EQ(neutral, 3 + kRaggedRows);
  EXPECT_EQ(clamped, kClampedCells);
  EXPECT_EQ(faulty.rows.neutral, neutral);
}

// Every row of a block whose number of rows is nobody's business may be gone.
TEST_F(FaultyTablesTest, ATableWithoutRowsIsNoSignalWhereTheirNumberIsHidden) {
  const std::vector<std::string> analyses = {
      Mle("", "add-remove"),
      "method = \"mcmc\"\nprotocol = \"decisions\"\nmodel = \"linear\"\noutcome = \"y\"\n"
      "release = [\"decisions\"]\npredictors = [\"x\"]\nchains = 4\nwarmup = 8\ndraws = 12\n"
      "[analysis.privacy]\nepsilon = 50\ndelta = 1e-5\nadjacency = \"add-remove\"\n"
      "clip = 0.05\n"};
  for (const std::string& analysis : analyses) {
    const Design design{false, "dealer", "missing = \"refuse\"\n", analysis, false};
    const auto study = PrepareStudy(methods::ParseStudyFile(StudyText(design), "study.toml"));
    std::map<std::string, Cells> tables = Tables(design);
    Write(tables);
    Ran clean;
    Run(*study, clean);
    tables["south"].resize(1);
    Write(tables);
    Ran ran;
    Run(*study, ran);
    const std::vector<std::string> names = PartyNames(*study);
    for (size_t from = 0; from < names.size(); ++from) {
      for (size_t to = 0; to < names.size(); ++to)
        EXPECT_TRUE(ran.transcript.Frames(from, to) == clean.transcript.Frames(from, to));
    }
    for (const std::string& party : names)
      EXPECT_FALSE(ran.errors.at(party)) << party << ": " << ran.errors.at(party)->message();
  }
}

// What still stops a run: the file is no table of the study. The others learn that the party takes
// no part, whatever the reason; its owner learns it.
TEST_F(FaultyTablesTest, OfAFileThatIsNoTableTheOthersLearnNothing) {
  const Design design = Designs().at("mle, columns split");
  const auto study = PrepareStudy(methods::ParseStudyFile(StudyText(design), "study.toml"));
  std::map<std::string, std::map<std::string, Cells>> broken;
  const std::map<std::string, Cells> tables = Tables(design);
  broken["the header has no column 'x'"] = tables;
  broken["the header has no column 'x'"]["south"][0][1] = "z";
  broken["but the study declares 40"] = tables;
  broken["but the study declares 40"]["south"].pop_back();
  broken["stands twice in row block"] = tables;
  broken["stands twice in row block"]["south"][7][0] = "p7";
  broken["the key is missing"] = tables;
  broken["the key is missing"]["south"][7][0] = "";
  broken["is not closed before the end"] = tables;
  broken["is not closed before the end"]["south"][7][1] = "\"1";
  broken["the file is empty"] = tables;
  broken["the file is empty"]["south"].clear();
  std::optional<std::string> heard;
  for (const auto& [own, cells] : broken) {
    SCOPED_TRACE(own);
    Write(cells);
    Ran ran;
    Run(*study, ran);
    ASSERT_TRUE(ran.errors.at("south"));
    EXPECT_THAT(ran.errors.at("south")->message(), HasSubstr(own));
    for (const std::string peer : {"north", "helper"}) {
      ASSERT_TRUE(ran.errors.at(peer));
      const Error& error = *ran.errors.at(peer);
      EXPECT_EQ(error.code(), ErrorCode::kPeerLost);
      EXPECT_THAT(error.message(), HasSubstr("south stopped"));
      EXPECT_THAT(error.message(), HasSubstr("it takes no part in this run"));
      EXPECT_THAT(error.message(), Not(AnyOf(HasSubstr("data"), HasSubstr(folder_.string()))));
      // Who tells whom first is a matter of time.
      std::string text = std::regex_replace(error.message(), std::regex(R"( \(as \w+ says\))"), "");
      text = std::regex_replace(text, std::regex(R"(, as \w+ says)"), "");
      if (!heard) heard = text;
      EXPECT_EQ(text, *heard);
    }
  }
}

// Without noise the result tells more than any check: such a study still stops at its holder.
TEST_F(FaultyTablesTest, AStudyWithoutNoiseStopsAsBefore) {
  Design design = Designs().at("mle, columns split");
  design.analysis = design.analysis.substr(0, design.analysis.find("[analysis.privacy]"));
  const auto study = PrepareStudy(methods::ParseStudyFile(StudyText(design), "study.toml"));
  ASSERT_FALSE(study->IsPrivate());
  std::map<std::string, Cells> tables = Tables(design);
  tables["south"][3][1] = "6";
  Write(tables);
  Ran ran;
  Run(*study, ran);
  EXPECT_THAT(ran.errors.at("south")->message(), HasSubstr("outside its bounds"));
  EXPECT_THAT(ran.errors.at("north")->message(), HasSubstr("its data failed a check"));
  design.design += "faulty_rows = \"neutral\"\n";
  ExpectError(ErrorCode::kBadInput, "for studies that promise privacy", "remove it",
              [&] { PrepareStudy(methods::ParseStudyFile(StudyText(design), "study.toml")); });
}

// Everybody reads in the plan what becomes of faults, on whom the bounds rest, and what no bound
// covers.
TEST_F(FaultyTablesTest, ThePlanSaysSo) {
  for (const auto& [name, design] : Designs()) {
    SCOPED_TRACE(name);
    const auto study = PrepareStudy(methods::ParseStudyFile(StudyText(design), "study.toml"));
    const study::Plan plan = BuildPlan(*study);
    std::string assumptions, caveats;
    for (const std::string& sentence : plan.assumptions) assumptions += sentence + "\n";
    for (const std::string& caveat : plan.privacy_statement.value().caveats) caveats += caveat;
    const std::string rule =
        design.design.find("fill") != std::string::npos ? "counts with the middle of the bounds"
        : design.design.find("complete") != std::string::npos ? "is incomplete"
                                                              : "contributes nothing";
    for (const std::string& text : {assumptions, caveats}) {
      EXPECT_THAT(text, HasSubstr("counts as the nearest bound"));
      EXPECT_THAT(text, HasSubstr(rule));
      EXPECT_THAT(text, HasSubstr("What the others see without any bound: that a holder refuses"));
      EXPECT_THAT(text, HasSubstr(design.vertical ? "one whose column is not clipped breaks this"
                                                  : "breaks this for its own rows"));
    }
  }
}

}  // namespace
}  // namespace partita::run::faulty_tables_test
