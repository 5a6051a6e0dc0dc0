// A matching between two processes over TLS, and a study of the rows that match: as docs/matching.md
// says it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/cli/process.h"
#include "tests/cli/study_folder.h"
#include "tests/paths.h"

namespace partita::testing::match_run_test {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

// A copy of examples/matched_lists without its results.
class MatchRunTest : public ::testing::Test {
 protected:
  std::vector<std::string> parties_ = {"clinic", "registry"};

  void SetUp() override {
    std::filesystem::copy(SourcePath("examples/matched_lists"), Root(),
                          std::filesystem::copy_options::recursive);
    for (const std::string& party : parties_) {
      std::filesystem::remove(Result(party));
      MakeIdentity(party);
    }
  }
  void MakeIdentity(const std::string& party) {
    ASSERT_EQ(Partita({"cert", "new", party, "--folder", Home(party)}).exit_code, 0);
    ASSERT_EQ(Partita({"cert", "roster", Root() + "/roster.toml", "--certificate",
                       Home(party) + "/cert.pem", "--address", FreeAddress()})
                  .exit_code,
              0);
  }
  std::string Root() const { return folder_.path() + "/matched"; }
  std::string File() const { return Root() + "/matching.toml"; }
  std::string Home(const std::string& party) const { return Root() + "/" + party; }
  std::string Result(const std::string& party) const {
    return Home(party) + "/cohort-2026.matched";
  }

  std::vector<std::string> Arguments(const std::string& what, const std::string& party,
                                     const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = {"match",     what,       File(),
                                          "--party",   party,      "--folder",
                                          Home(party), "--roster", Root() + "/roster.toml"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  void Approve(const std::string& party, const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = Arguments("approve", party, {"--yes", "--force"});
    arguments.insert(arguments.end(), more.begin(), more.end());
    const ProcessResult approved = Partita(arguments);
    ASSERT_EQ(approved.exit_code, 0) << approved.err;
  }
  std::map<std::string, ProcessResult> Run(const std::vector<std::string>& more = {}) {
    std::map<std::string, std::unique_ptr<Process>> processes;
    for (const std::string& party : parties_) {
      std::vector<std::string> arguments = Arguments("run", party, {"--wait", "20s"});
      arguments.insert(arguments.begin(), PartitaProgram());
      arguments.insert(arguments.end(), more.begin(), more.end());
      processes[party] = std::make_unique<Process>(arguments);
    }
    std::map<std::string, ProcessResult> results;
    for (auto& [party, process] : processes) results[party] = process->Wait();
    return results;
  }

  StudyFolder folder_;
};

TEST_F(MatchRunTest, TwoProcessesMatchAndAStudyUsesIt) {
  const ProcessResult plan = Partita({"match", "plan", File(), "--format", "json"});
  ASSERT_EQ(plan.exit_code, 0) << plan.err;
  EXPECT_EQ(Json::parse(plan.out)["data"]["level"], "matched-ids");
  const ProcessResult shown =
      Partita(Arguments("approve", "clinic", {"--yes", "--format", "json"}));
  ASSERT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_THAT(shown.err,
              AllOf(HasSubstr("What this does not prevent"), HasSubstr("0 with registry (limit 5)"),
                    HasSubstr("Past matchings of people of this list"),
                    HasSubstr("nid = column 'nid' of the table, 8 digits"),
                    HasSubstr("pass 1 (nid): 940 rows can match")));
  Approve("registry");
  auto ends = Run({"--format", "json"});
  for (const auto& [party, end] : ends) ASSERT_EQ(end.exit_code, 0) << party << ": " << end.err;
  const Json clinic = Json::parse(ends["clinic"].out)["data"],
             registry = Json::parse(ends["registry"].out)["data"];
  EXPECT_EQ(clinic["matches"], 750);
  EXPECT_EQ(clinic["record"], registry["record"]);
  EXPECT_EQ(clinic["matches_by_pass"], registry["matches_by_pass"]);
  EXPECT_EQ(clinic["table_rows"], 1000);
  for (const std::string& party : parties_) {
    struct stat status {};
    ASSERT_EQ(::stat(Result(party).c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, 0600U);
  }

  // The study of the example, with this record.
  const std::string study = Root() + "/study.toml";
  const std::string text = StudyFolder::Read(study);
  const size_t record = text.find("record = \"") + 10;
  StudyFolder::Write(study, std::string(text).replace(record, 64, clinic["record"]));
  for (const std::string& party : parties_) {
    const ProcessResult check =
        Partita({"data", "check", Home(party) + "/data.csv", "--study", study, "--party", party});
    EXPECT_EQ(check.exit_code, 0) << check.out;
    EXPECT_THAT(Partita({"doctor", "--study", study, "--party", party, "--folder", Home(party),
                         "--roster", Root() + "/roster.toml"})
                    .out,
                HasSubstr(" rows, fits the dictionary"));
  }
  const std::string result = Root() + "/result.json";
  const ProcessResult run = Partita({"study", "simulate", study, "--output", result});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  // R: lm(pressure ~ age + weight + income) of the merged table.
  const Json parameters = Json::parse(StudyFolder::Read(result))["analyses"][0]["parameters"];
  EXPECT_NEAR(parameters[0]["est"].get<double>(), 0.356535377, 1e-9);
  EXPECT_NEAR(parameters[1]["est"].get<double>(), 0.247234832, 1e-9);
  EXPECT_NEAR(parameters[2]["est"].get<double>(), -0.083488606, 1e-9);

  // A new study begins with it.
  for (const std::string& party : parties_) {
    const ProcessResult draft = Partita({"data", "describe", Home(party) + "/data.csv", "--draft",
                                         "--output", Root() + "/" + party + ".toml"});
    ASSERT_EQ(draft.exit_code, 0) << draft.err;
  }
  const std::string begun = Root() + "/begun.toml";
  const std::string words =
      "--party clinic --party registry --receiver clinic --method mle "
      "--function sem --bounds pressure=60..240 --bounds weight=30..200 "
      "--bounds income=0..150 --model";
  std::vector<std::string> arguments = {"study", "new", begun, "--matched", Result("clinic")};
  for (const std::string& party : parties_) {
    arguments.emplace_back("--dictionary");
    arguments.push_back(party + "=" + Root() + "/" + party + ".toml");
  }
  std::istringstream stream(words);
  for (std::string word; stream >> word;) arguments.push_back(word);
  arguments.emplace_back("pressure ~ weight + income");
  const ProcessResult written = Partita(arguments);
  ASSERT_EQ(written.exit_code, 0) << written.err;
  EXPECT_THAT(
      StudyFolder::Read(begun),
      AllOf(HasSubstr("[rows.match]\nlevel = \"matched-ids\"\nmatching = \"cohort-2026\"\n"),
            HasSubstr(clinic["record"].get<std::string>()), Not(HasSubstr("key ="))));
  const ProcessResult valid = Partita({"study", "validate", begun});
  EXPECT_EQ(valid.exit_code, 0) << valid.err;

  // Shown again, and as rows.
  const std::string rows = Root() + "/rows.csv";
  const ProcessResult show =
      Partita({"match", "show", Result("clinic"), "--rows", rows, "--format", "json"});
  ASSERT_EQ(show.exit_code, 0) << show.err;
  const std::string csv = StudyFolder::Read(rows);
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 751);
  const ProcessResult past =
      Partita({"match", "past", "--folder", Home("clinic"), "--format", "json"});
  EXPECT_EQ(Json::parse(past.out)["data"]["matchings"].size(), 1U);
  EXPECT_THAT(Partita({"match", "past", "--folder", Home("clinic")}).out,
              AllOf(HasSubstr("1 matching in the last 365 days, limit 5"),
                    HasSubstr("with registry: 750 matches")));

  // Nothing is overwritten, and the approval was for one run.
  const ProcessResult again = Partita(Arguments("run", "clinic", {"--wait", "1s"}));
  EXPECT_EQ(again.exit_code, 2) << again.err;
  EXPECT_THAT(again.err, HasSubstr("--force"));
  const ProcessResult used = Partita(Arguments("run", "clinic", {"--wait", "1s", "--force"}));
  EXPECT_EQ(used.exit_code, 5) << used.err;
  EXPECT_THAT(used.err, AllOf(HasSubstr("is used up"), HasSubstr("match approve")));
}

// Three processes, each with its own folder: the holders' results come from `match run`.
TEST_F(MatchRunTest, AStudyBetweenProcessesUsesTheRowsThatMatch) {
  for (const std::string& party : parties_) Approve(party);
  auto ends = Run({"--format", "json"});
  for (const auto& [party, end] : ends) ASSERT_EQ(end.exit_code, 0) << party << ": " << end.err;
  const std::string study = Root() + "/study.toml";
  const std::string text = StudyFolder::Read(study);
  StudyFolder::Write(study,
                     std::string(text).replace(text.find("record = \"") + 10, 64,
                                               Json::parse(ends["clinic"].out)["data"]["record"]));
  MakeIdentity("helper");
  const std::vector<std::string> all = {"clinic", "registry", "helper"};
  const auto arguments = [&](const std::string& what, const std::string& party) {
    return std::vector<std::string>{"study",     what,       study,
                                    "--party",   party,      "--folder",
                                    Home(party), "--roster", Root() + "/roster.toml"};
  };
  // A result that others may read is refused before anything is signed, and in the run.
  ASSERT_EQ(::chmod(Result("clinic").c_str(), 0640), 0);
  std::vector<std::string> approve = arguments("approve", "clinic");
  approve.emplace_back("--yes");
  const ProcessResult open = Partita(approve);
  EXPECT_EQ(open.exit_code, 2) << open.err;
  EXPECT_THAT(open.err, AllOf(HasSubstr("can be read by other users"), HasSubstr("chmod 600")));
  const ProcessResult simulated = Partita({"study", "simulate", study});
  EXPECT_EQ(simulated.exit_code, 2) << simulated.err;
  EXPECT_THAT(simulated.err,
              AllOf(HasSubstr("can be read by other users"), Not(HasSubstr("interrupted"))));
  ASSERT_EQ(::chmod(Result("clinic").c_str(), 0600), 0);
  for (const std::string& party : all) {
    std::vector<std::string> sign = arguments("approve", party);
    sign.emplace_back("--yes");
    const ProcessResult approved = Partita(sign);
    ASSERT_EQ(approved.exit_code, 0) << approved.err;
  }
  std::map<std::string, std::unique_ptr<Process>> processes;
  for (const std::string& party : all) {
    std::vector<std::string> join = arguments("join", party);
    join.insert(join.begin(), PartitaProgram());
    for (const char* const word : {"--wait", "20s"}) join.emplace_back(word);
    processes[party] = std::make_unique<Process>(join);
  }
  for (auto& [party, process] : processes) {
    const ProcessResult end = process->Wait();
    ASSERT_EQ(end.exit_code, 0) << party << ": " << end.err;
  }
  const Json parameters =
      Json::parse(StudyFolder::Read(Home("clinic") + "/result.json"))["analyses"][0]["parameters"];
  EXPECT_NEAR(parameters[0]["est"].get<double>(), 0.356535377, 1e-9);
  EXPECT_NEAR(parameters[1]["est"].get<double>(), 0.247234832, 1e-9);
  EXPECT_NEAR(parameters[2]["est"].get<double>(), -0.083488606, 1e-9);
}

// A third process links pseudonyms and keeps nothing.
TEST_F(MatchRunTest, ALinkerMatchesForTheHolders) {
  StudyFolder::Write(
      File(), StudyFolder::Read(File()) + "\n[[party]]\nname = \"trust\"\nrole = \"linker\"\n");
  MakeIdentity("trust");
  parties_.emplace_back("trust");
  const ProcessResult plan = Partita({"match", "plan", File(), "--format", "json"});
  ASSERT_EQ(plan.exit_code, 0) << plan.err;
  const Json parties = Json::parse(plan.out)["data"]["parties"];
  EXPECT_EQ(parties[2]["role"], "linker");
  EXPECT_TRUE(parties[2]["rows"].is_null());
  const ProcessResult shown = Partita(Arguments("approve", "trust", {"--yes", "--format", "json"}));
  ASSERT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_THAT(shown.err,
              AllOf(HasSubstr("this party links the pseudonyms"),
                    HasSubstr("trust and any one holder together"), Not(HasSubstr("secret"))));
  Approve("clinic");
  Approve("registry");
  auto ends = Run({"--format", "json"});
  for (const auto& [party, end] : ends) ASSERT_EQ(end.exit_code, 0) << party << ": " << end.err;
  const Json clinic = Json::parse(ends["clinic"].out)["data"],
             registry = Json::parse(ends["registry"].out)["data"],
             trust = Json::parse(ends["trust"].out)["data"];
  EXPECT_EQ(clinic["matches"], 750);
  EXPECT_EQ(clinic["matches_by_pass"], Json({663, 87}));
  EXPECT_EQ(clinic["record"], registry["record"]);
  EXPECT_EQ(clinic["linker"], "trust");
  EXPECT_EQ(trust["matches"], 750);
  EXPECT_TRUE(trust["file"].is_null());
  EXPECT_FALSE(std::filesystem::exists(Result("trust")));
  EXPECT_FALSE(std::filesystem::exists(Home("trust") + "/key.pem.matchings"));
  const ProcessResult show = Partita({"match", "show", Result("registry"), "--format", "json"});
  EXPECT_EQ(Json::parse(show.out)["data"]["linker"], "trust");

  // Without its linker the study would say less than was learnt.
  const std::string study = Root() + "/study.toml";
  std::string text = StudyFolder::Read(study);
  text.replace(text.find("record = \"") + 10, 64, clinic["record"]);
  StudyFolder::Write(study, text);
  const ProcessResult silent =
      Partita({"study", "simulate", study, "--output", Root() + "/r.json"});
  EXPECT_EQ(silent.exit_code, 5) << silent.err;
  EXPECT_THAT(silent.err, HasSubstr("is of a matching linked by trust"));
  text.insert(text.find("record = \""), "linker = \"trust\"\n");
  StudyFolder::Write(study, text);
  const ProcessResult run = Partita({"study", "simulate", study, "--output", Root() + "/r.json"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const Json parameters =
      Json::parse(StudyFolder::Read(Root() + "/r.json"))["analyses"][0]["parameters"];
  EXPECT_NEAR(parameters[0]["est"].get<double>(), 0.356535377, 1e-9);

  // Fewer than a steward's minimum: all three say so, and a holder no number.
  Approve("clinic", {"--minimum", "800"});
  Approve("registry");
  Approve("trust");
  for (const auto& [party, end] : Run({"--force"})) {
    EXPECT_EQ(end.exit_code, 5) << end.err;
    EXPECT_THAT(end.err, AllOf(HasSubstr("fewer people are in all lists than the minimum of 800"),
                               Not(HasSubstr("750"))));
  }
}

TEST_F(MatchRunTest, BelowTheMinimumNobodyHasAResult) {
  Approve("clinic", {"--minimum", "700"});
  Approve("registry");
  for (const auto& [party, end] : Run()) {
    EXPECT_EQ(end.exit_code, 5) << end.err;
    EXPECT_THAT(end.err, HasSubstr("663 people are in both lists, fewer than the minimum of 700"));
    EXPECT_FALSE(std::filesystem::exists(Result(party)));
  }
}

TEST_F(MatchRunTest, AnotherFileStopsBothAndALimitTheOther) {
  const std::string other = Root() + "/other.toml";
  StudyFolder::Write(other, StudyFolder::Read(File()) + "# a remark\n");
  Approve("clinic");
  ASSERT_EQ(Partita({"match", "approve", other, "--party", "registry", "--folder", Home("registry"),
                     "--roster", Root() + "/roster.toml", "--yes", "--force"})
                .exit_code,
            0);
  std::vector<std::string> arguments = Arguments("run", "registry", {"--wait", "20s"}),
                           of_clinic = Arguments("run", "clinic", {"--wait", "20s"});
  arguments[2] = other;
  arguments.insert(arguments.begin(), PartitaProgram());
  of_clinic.insert(of_clinic.begin(), PartitaProgram());
  {
    Process clinic(of_clinic), registry(arguments);
    for (Process* process : {&clinic, &registry}) {
      const ProcessResult end = process->Wait();
      EXPECT_EQ(end.exit_code, 3) << end.err;
      EXPECT_THAT(end.err, HasSubstr("matching file"));
    }
  }
  // Its steward wants none with this partner.
  Approve("registry");
  ASSERT_EQ(Partita({"match", "past", "--folder", Home("registry"), "--partner", "clinic",
                     "--limit", "0"})
                .exit_code,
            0);
  auto ends = Run();
  EXPECT_EQ(ends["registry"].exit_code, 5) << ends["registry"].err;
  EXPECT_THAT(ends["registry"].err, HasSubstr("the limit is 0"));
  EXPECT_EQ(ends["clinic"].exit_code, 9) << ends["clinic"].err;
  EXPECT_THAT(ends["clinic"].err, Not(HasSubstr("limit")));
  const ProcessResult approve = Partita(Arguments("approve", "registry", {"--yes", "--force"}));
  EXPECT_EQ(approve.exit_code, 5) << approve.err;
}

TEST_F(MatchRunTest, AKilledPeerIsNamedAndInterruptionEndsIt) {
  for (const std::string& party : parties_) Approve(party, {"--runs", "3"});
  const auto arguments = [&](const std::string& party) {
    std::vector<std::string> all = Arguments("run", party, {"--wait", "20s", "--latency", "300ms"});
    all.insert(all.begin(), PartitaProgram());
    return all;
  };
  {
    Process clinic(arguments("clinic")), registry(arguments("registry"));
    ASSERT_TRUE(clinic.WaitForStandardError("lists"));
    registry.Kill(SIGKILL);
    const ProcessResult end = clinic.Wait();
    EXPECT_EQ(end.exit_code, 9) << end.err;
    EXPECT_THAT(end.err, HasSubstr("registry"));
  }
  {
    Process clinic(arguments("clinic")), registry(arguments("registry"));
    ASSERT_TRUE(registry.WaitForStandardError("lists"));
    registry.Kill(SIGINT);
    EXPECT_EQ(registry.Wait().exit_code, 130);
    EXPECT_EQ(clinic.Wait().exit_code, 9);
  }
  for (const std::string& party : parties_) EXPECT_FALSE(std::filesystem::exists(Result(party)));
}

}  // namespace
}  // namespace partita::testing::match_run_test
