// The example of method `marginals` by the program: plan, result and files, rows drawn from what
// opened, all JSON of its schema (process.h compares); and two institutions with own tables and a
// helper, from `init` to results over TLS, for `select = "group"` and `select = "scores"`.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>

#include "tests/cli/process.h"
#include "tests/cli/study_folder.h"
#include "tests/paths.h"

namespace partita::testing::marginals_command_test {
namespace {

using ::testing::HasSubstr;

const std::string kExample = SourcePath("examples/synthetic_registry/tables.toml");

nlohmann::json DataOf(const ProcessResult& run) {
  EXPECT_EQ(run.exit_code, 0) << run.err;
  return nlohmann::json::parse(run.out)["data"];
}

TEST(MarginalsCommandTest, ThePlanSaysWhatOpens) {
  const ProcessResult valid = Partita({"study", "validate", kExample});
  ASSERT_EQ(valid.exit_code, 0) << valid.err;
  EXPECT_THAT(valid.out, ::testing::EndsWith("6 variables\n"));
  const ProcessResult text = Partita({"study", "plan", kExample});
  ASSERT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("21 one-way and two-way tables of 6 columns"));
  EXPECT_THAT(text.out, HasSubstr("Forecast on made-up rows"));
  const auto json = DataOf(Partita({"study", "plan", kExample, "--format", "json"}));
  EXPECT_EQ(json["method"], "marginals");
  for (const auto& row : json["privacy"]) {
    if (row["adversary"] != "party insurer") continue;
    const std::string loss = row["loss"];
    ASSERT_EQ(loss.rfind("eps <= ", 0), 0u) << loss;
    EXPECT_LE(std::stod(loss.substr(7)), 3);
    EXPECT_GT(std::stod(loss.substr(7)), 2.9);
  }
}

TEST(MarginalsCommandTest, TheExampleRunsAndRowsAreDrawnAgain) {
  const StudyFolder folder;
  const std::string result = folder.path() + "/result.json";
  std::vector<std::string> simulate = {"study", "simulate", kExample, "--output", result};
  for (const std::string party : {"clinic", "insurer"}) {
    simulate.insert(
        simulate.end(),
        {"--data", party + "=" + SourcePath("examples/synthetic_registry/" + party + "/data.csv")});
  }
  const ProcessResult text = Partita(simulate);
  ASSERT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("Candidates"));
  EXPECT_THAT(StudyFolder::Read(folder.path() + "/report.html"), HasSubstr("Counts of smoking"));
  const std::string csv = StudyFolder::Read(folder.path() + "/synthetic_2.csv");
  EXPECT_EQ(csv.substr(0, csv.find('\n')), "age,sex,smoking,visits,region,cost");
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 801);
  const ProcessResult none =
      Partita({"study", "report", result, "--csv", folder.path() + "/none.csv"});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_THAT(none.err, HasSubstr("a result of method marginals that ended as 'converged' has no "
                                  "table of estimates"));
  const auto report = DataOf(Partita({"study", "report", result, "--format", "json"}));
  EXPECT_EQ(report["result"]["rows"], 800);
  const auto drawn =
      DataOf(Partita({"synthetic", "draw", folder.path() + "/model.json", "--folder",
                      folder.path() + "/north", "--rows", "25", "--format", "json"}));
  const std::string again = StudyFolder::Read(drawn["files"][0]);
  EXPECT_EQ(std::count(again.begin(), again.end(), '\n'), 26);
  EXPECT_FALSE(drawn["privacy"].is_null());
  EXPECT_THAT(drawn["purpose"].get<std::string>(), HasSubstr("pairs of columns"));
  EXPECT_THAT(StudyFolder::Read(folder.path() + "/counts.csv"),
              HasSubstr("column,level,with,with_level,count,lower,upper\nage,"));
  EXPECT_EQ(report["result"]["quartiles"].size(), 9);  // of age, visits and cost
  const auto women =
      DataOf(Partita({"synthetic", "draw", folder.path() + "/model.json", "--folder",
                      folder.path() + "/south", "--rows", "30", "--given",
                      "smoking=" + report["result"]["counts"][2]["levels"][0].get<std::string>(),
                      "--format", "json"}));
  EXPECT_EQ(women["rows"], 30);
  // Two tables for intervals, an estimate of each, and one interval.
  std::filesystem::create_directory(folder.path() + "/west");
  const auto sets = DataOf(Partita({"synthetic", "draw", folder.path() + "/model.json", "--folder",
                                    folder.path() + "/west", "--sets", "3", "--for-intervals",
                                    "sex,smoking", "--format", "json"}));
  ASSERT_EQ(sets["files"].size(), 3);
  EXPECT_EQ(sets["rows"], 800);
  const std::string first = StudyFolder::Read(sets["files"][0]);
  EXPECT_EQ(first.substr(0, first.find('\n')), "sex,smoking");
  const std::string estimates = folder.path() + "/estimates.csv";
  StudyFolder::Write(estimates, "term,estimate,se\na,1,0.5\na,2,0.5\nb,3,0.1\na,3,0.5\nb,5,0.1\n");
  const auto combined = DataOf(Partita({"synthetic", "combine", estimates, "--format", "json"}));
  ASSERT_EQ(combined["terms"].size(), 2);
  EXPECT_EQ(combined["terms"][0]["tables"], 3);
  EXPECT_EQ(combined["terms"][0]["estimate"], 2);
  // (1 + 1/3) 1 - 0.25.
  EXPECT_NEAR(combined["terms"][0]["se"].get<double>(), std::sqrt(4.0 / 3 - 0.25), 1e-12);
  StudyFolder::Write(estimates, "term,estimate,se\na,1,0.5\n");
  const ProcessResult one = Partita({"synthetic", "combine", estimates});
  EXPECT_NE(one.exit_code, 0);
  EXPECT_THAT(one.err, HasSubstr("has one estimate of 'a'"));
}

// Patients of a clinic, and what their insurer knows of them. Half of the patients of arm b and none
// of arm a have visits; weights and costs are mostly in one bin.
struct Registry {
  std::string clinic = "id,arm,age,weight\n", insurer = "id,visits,region,cost\n";
};

// So many that noise hides no bin of nearly all: the positive noise of nine bins of a standard deviation of 8 each would
// have to add up to a tenth of them, above 30 of its standard deviations.
constexpr size_t kPatients = 6000;

Registry RegistryTables() {
  std::mt19937_64 random(3);
  Registry tables;
  for (size_t n = 0; n < kPatients; ++n) {
    const bool second = n % 3 == 0;
    tables.clinic += fmt::format("p{},{},{},{}\n", n, second ? "b" : "a", 20 + random() % 60,
                                 n % 20 == 1 ? "" : fmt::format("{}.5", 60 + random() % 20));
    const size_t m = kPatients - 1 - n;  // in another order
    tables.insurer += fmt::format("p{},{},{},{}.25\n", m, m % 6 == 0 ? 3 : 0,
                                  m % 2 == 0 ? "north" : "south", random() % 900);
  }
  return tables;
}

// Three folders, as on three hosts: keys, cards, dictionaries.
class Institutions {
 public:
  Institutions() {
    const Registry tables = RegistryTables();
    for (const std::string party : {"clinic", "insurer", "helper"}) {
      std::filesystem::create_directory(Path(party));
      std::vector<std::string> init = {"init",        "--party",  party,      "--address",
                                       FreeAddress(), "--folder", Path(party)};
      if (party != "helper") {
        StudyFolder::Write(Path(party, "data.csv"),
                           party == "clinic" ? tables.clinic : tables.insurer);
        init.insert(init.end(), {"--table", Path(party, "data.csv")});
        Done({"ledger", "open", Path(party, "ledger.db"), "--table", "registry", "--epsilon", "9",
              "--delta", "1e-4"});
      }
      Done(init);
    }
  }

  std::string Path(const std::string& party, const std::string& file = "") const {
    return folder_.path() + "/" + party + (file.empty() ? "" : "/" + file);
  }

  static std::string Done(const std::vector<std::string>& arguments) {
    const ProcessResult run = Partita(arguments);
    EXPECT_EQ(run.exit_code, 0) << run.err;
    return run.out;
  }

  // The study with these options, in everybody's folder; what the insurer was told when it opened it.
  std::string Agree(const std::vector<std::string>& selected) {
    std::vector<std::string> start = {"study",
                                      "new",
                                      Path("clinic", "new.toml"),
                                      "--force",
                                      "--method",
                                      "marginals",
                                      "--party",
                                      "clinic",
                                      "--party",
                                      "insurer",
                                      "--helper",
                                      "helper",
                                      "--dictionary",
                                      "clinic=" + Path("clinic", "dictionary.toml"),
                                      "--dictionary",
                                      "insurer=" + Path("insurer", "dictionary.toml"),
                                      "--key",
                                      "id",
                                      "--rows",
                                      std::to_string(kPatients),
                                      "--bounds",
                                      "age=18..100",
                                      "--bounds",
                                      "weight=0..1000",
                                      "--bounds",
                                      "visits=0..5",
                                      "--bounds",
                                      "cost=0..1000",
                                      "--epsilon",
                                      "3",
                                      "--delta",
                                      "1e-5"};
    start.insert(start.end(), selected.begin(), selected.end());
    Done(start);
    std::vector<std::string> bundle = {
        "study",        "bundle",   Path("clinic", "new.toml"),    "--folder",
        Path("clinic"), "--output", Path("clinic", "bundle.json"), "--force"};
    for (const std::string party : {"clinic", "insurer", "helper"})
      bundle.insert(bundle.end(), {"--card", Path(party, party + ".card.toml")});
    Done(bundle);
    std::string told;
    for (const std::string party : {"clinic", "helper", "insurer"}) {
      told = Done(
          {"study", "open", Path("clinic", "bundle.json"), "--folder", Path(party), "--force"});
    }
    return told;
  }

  std::vector<std::string> JoinOf(const std::string& party) const {
    return {"study",    "join",      Path(party, "study.toml"),
            "--folder", Path(party), "--approve",
            "--yes",    "--wait",    "60s",
            "--force"};
  }

  // Three processes over TLS; what the clinic printed.
  std::string Run() const {
    std::vector<std::unique_ptr<Process>> running;
    for (const std::string party : {"clinic", "insurer", "helper"}) {
      std::vector<std::string> join = JoinOf(party);
      if (party != "helper") join.insert(join.end(), {"--ledger", Path(party, "ledger.db")});
      join.insert(join.begin(), PartitaProgram());
      running.push_back(std::make_unique<Process>(join));
    }
    std::string printed;
    for (size_t p = running.size(); p-- > 0;) {
      const ProcessResult run = running[p]->Wait();
      EXPECT_EQ(run.exit_code, 0) << run.err;
      printed = run.out;
    }
    return printed;
  }

 private:
  StudyFolder folder_;
};

TEST(MarginalsCommandTest, TwoInstitutionsMakeATableOne) {
  Institutions all;
  const std::string told = all.Agree({"--group", "arm"});
  EXPECT_THAT(told, HasSubstr("--approve --ledger FILE"));
  EXPECT_THAT(told, HasSubstr("partita ledger open FILE"));
  // Without a ledger nothing is signed.
  const ProcessResult refused = Partita(all.JoinOf("insurer"));
  EXPECT_EQ(refused.exit_code, 5);
  EXPECT_THAT(refused.err, HasSubstr("no ledger is named"));
  EXPECT_FALSE(std::filesystem::exists(all.Path("insurer", "approval-new-insurer.json")));
  const std::string printed = all.Run();
  EXPECT_THAT(printed, HasSubstr("By arm:"));
  // A group without rows has no shares and no quartiles; nothing is "-0".
  EXPECT_THAT(printed, HasSubstr("- (18 to 100)"));
  EXPECT_THAT(printed, ::testing::Not(HasSubstr(" -0 ")));
  EXPECT_THAT(printed, HasSubstr("in one bin of 'weight'"));
  EXPECT_THAT(printed, HasSubstr("Counted tables that the generator misses most (of 11)"));
  EXPECT_THAT(StudyFolder::Read(all.Path("clinic", "report.html")), HasSubstr("Table 1"));
  const auto result =
      nlohmann::json::parse(StudyFolder::Read(all.Path("clinic", "result.json")))["result"];
  const double most = 8 * result["noise_stddev"].get<double>();
  size_t seen = 0;
  for (const auto& entry : result["table_one"]) {
    if (entry["column"] != "visits") continue;
    ++seen;
    if (entry["group"].is_null()) continue;
    const double with = entry["group"] == "b" ? kPatients / 6.0 : 0;
    EXPECT_NEAR(entry["counts"][3], with, most) << entry["group"];
  }
  EXPECT_EQ(seen, 4u);  // all, a, b, missing
  // The insurer has the tables, too, and draws rows of one group; it is no receiver.
  const auto drawn = DataOf(Partita({"synthetic", "draw", all.Path("insurer", "model.json"),
                                     "--folder", all.Path("insurer", "rows"), "--rows", "20",
                                     "--given", "arm=b", "--format", "json"}));
  EXPECT_EQ(drawn["rows"], 20);
}

TEST(MarginalsCommandTest, TwoInstitutionsCountPairsByScores) {
  Institutions all;
  all.Agree({"--pairs", "4", "--synthetic-rows", "500"});
  EXPECT_THAT(StudyFolder::Read(all.Path("clinic", "study.toml")),
              HasSubstr("select = \"scores\""));
  const std::string printed = all.Run();
  EXPECT_THAT(printed, HasSubstr("Pairs chosen by scores"));
  const auto result =
      nlohmann::json::parse(StudyFolder::Read(all.Path("clinic", "result.json")))["result"];
  ASSERT_EQ(result["scores"].size(), 15u);
  size_t counted = 0;
  for (const auto& score : result["scores"]) counted += score["counted"].get<bool>() ? 1 : 0;
  EXPECT_EQ(counted, 4u);
  EXPECT_EQ(result["tables"].size(), 6u + 4u);
  // Both have the same tables.
  EXPECT_EQ(StudyFolder::Read(all.Path("clinic", "model.json")),
            StudyFolder::Read(all.Path("insurer", "model.json")));
  const std::string csv = StudyFolder::Read(all.Path("clinic", "synthetic_1.csv"));
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 501);
  EXPECT_FALSE(std::filesystem::exists(all.Path("insurer", "synthetic_1.csv")));
}

}  // namespace
}  // namespace partita::testing::marginals_command_test
