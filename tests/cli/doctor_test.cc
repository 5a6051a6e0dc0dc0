// partita doctor, as a steward meets it: one thing wrong at a time, each with its name and a
// remedy.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/cli/process.h"
#include "tests/cli/study_folder.h"

namespace partita::testing::doctor_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// A loopback socket of this process; listening or only bound.
class Port {
 public:
  Port() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    ::bind(fd_, reinterpret_cast<sockaddr*>(&address), size);
    ::getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size);
    address_ = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  }
  ~Port() { Close(); }
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;

  void Listen() { ::listen(fd_, 8); }
  void Close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }
  const std::string& address() const { return address_; }

 private:
  int fd_;
  std::string address_;
};

class DoctorTest : public ::testing::Test {
 protected:
  const std::vector<std::string> parties_ = {"north", "south", "dealer"};

  void SetUp() override {
    for (const std::string& party : parties_) {
      MakeIdentity(party, "365");
      ports_[party] = std::make_unique<Port>();
      AddToRoster(party);
      ports_[party]->Close();
    }
  }

  std::string Home(const std::string& party) { return folder_.path() + "/" + party; }
  std::string Roster() { return folder_.path() + "/roster.toml"; }

  void MakeIdentity(const std::string& party, const std::string& days) {
    std::filesystem::remove(Home(party) + "/key.pem");
    std::filesystem::remove(Home(party) + "/cert.pem");
    ASSERT_EQ(Partita({"cert", "new", party, "--folder", Home(party), "--days", days}).exit_code,
              0);
  }
  void AddToRoster(const std::string& party) {
    ASSERT_EQ(Partita({"cert", "roster", Roster(), "--certificate", Home(party) + "/cert.pem",
                       "--address", ports_[party]->address()})
                  .exit_code,
              0);
  }

  std::vector<std::string> Arguments(const std::string& party) {
    return {PartitaProgram(),
            "doctor",
            "--study",
            folder_.study_file(),
            "--party",
            party,
            "--folder",
            Home(party),
            "--roster",
            Roster(),
            "--format",
            "json",
            "--quiet",
            "--peer-timeout",
            "1s"};
  }
  ProcessResult Visit(const std::string& party, std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = Arguments(party);
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Process(arguments).Wait();
  }

  // The check of that name: "verdict: found | fix".
  static std::string Line(const ProcessResult& result, const std::string& name) {
    std::string lines;
    const auto output = nlohmann::json::parse(result.out);
    for (const auto& check : output["data"]["checks"]) {
      if (check["name"] != name) continue;
      lines += check["verdict"].get<std::string>() + ": " + check["found"].get<std::string>() +
               " | " + check["fix"].get<std::string>() + "\n";
    }
    return lines;
  }

  // One problem of that name, and exit code 1.
  void ExpectProblem(const ProcessResult& result, const std::string& name,
                     const std::vector<std::string>& words) {
    EXPECT_EQ(result.exit_code, 1) << result.out << result.err;
    const std::string line = Line(result, name);
    EXPECT_THAT(line, HasSubstr("problem: ")) << result.out;
    for (const std::string& word : words) EXPECT_THAT(line, HasSubstr(word));
  }

  StudyFolder folder_;
  std::map<std::string, std::unique_ptr<Port>> ports_;
};

TEST_F(DoctorTest, AHealthyHostHasNoProblems) {
  const ProcessResult result = Visit("north");
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  for (const char* name : {"partita", "OpenSSL", "libsodium", "study file", "roster", "key",
                           "certificate", "table", "port", "disk", "cores", "memory"}) {
    EXPECT_THAT(Line(result, name), HasSubstr("ok: ")) << name;
  }
  EXPECT_THAT(Line(result, "table"), HasSubstr("40 rows"));
}

TEST_F(DoctorTest, ADealerNeedsNoTable) {
  const ProcessResult result = Visit("dealer");
  EXPECT_EQ(result.exit_code, 0) << result.out;
  EXPECT_EQ(Line(result, "table"), "");
  EXPECT_THAT(Line(result, "port"), HasSubstr("not needed"));
}

TEST_F(DoctorTest, WithoutAnythingItLooksAtTheHost) {
  const ProcessResult result =
      Partita({"doctor", "--folder", folder_.path() + "/south", "--quiet"});
  EXPECT_THAT(result.out, AllOf(HasSubstr("ok       partita:"), HasSubstr("warning")));
}

TEST_F(DoctorTest, AKeyThatOthersCanRead) {
  ::chmod((Home("north") + "/key.pem").c_str(), 0644);
  ExpectProblem(Visit("north"), "key", {"key.pem", "chmod"});
}

TEST_F(DoctorTest, AKeyOfAnotherCertificate) {
  std::filesystem::copy_file(Home("south") + "/key.pem", Home("north") + "/key.pem",
                             std::filesystem::copy_options::overwrite_existing);
  ExpectProblem(Visit("north"), "key", {"does not belong"});
}

TEST_F(DoctorTest, ACertificateThatTheRosterDoesNotList) {
  MakeIdentity("north", "365");
  ExpectProblem(Visit("north"), "certificate", {"fingerprint", "partita cert new"});
}

TEST_F(DoctorTest, ACertificateThatExpiresSoon) {
  MakeIdentity("north", "10");
  AddToRoster("north");
  const ProcessResult result = Visit("north");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(Line(result, "certificate"),
              AllOf(HasSubstr("warning: "), HasSubstr("9 more days"), HasSubstr("expires")));
}

TEST_F(DoctorTest, ARosterWithoutAParty) {
  const std::string other = folder_.path() + "/other.toml";
  for (const char* party : {"north", "south"}) {
    ASSERT_EQ(Partita({"cert", "roster", other, "--certificate", Home(party) + "/cert.pem",
                       "--address", ports_[party]->address()})
                  .exit_code,
              0);
  }
  std::vector<std::string> arguments = Arguments("north");
  for (std::string& argument : arguments) {
    if (argument == Roster()) argument = other;
  }
  ExpectProblem(Process(arguments).Wait(), "roster", {"'dealer'", "partita cert roster"});
}

TEST_F(DoctorTest, ABrokenStudyFile) {
  folder_.Edit(folder_.study_file(), "name = \"small\"", "name = small");
  ExpectProblem(Visit("north"), "study file", {"study.toml:2"});
}

TEST_F(DoctorTest, APartyThatTheStudyDoesNotHave) {
  std::vector<std::string> arguments = Arguments("north");
  arguments[5] = "nroth";
  ExpectProblem(Process(arguments).Wait(), "study file", {"did you mean 'north'"});
}

TEST_F(DoctorTest, ATableThatTheStudyWouldRefuse) {
  folder_.Edit(folder_.data("north"), "p003,", "p003,tall #");
  ExpectProblem(Visit("north"), "table", {"'x1'", "partita data check"});
}

TEST_F(DoctorTest, ATableThatEverybodyCanRead) {
  ::chmod(folder_.data("north").c_str(), 0644);
  EXPECT_THAT(Line(Visit("north"), "table access"),
              AllOf(HasSubstr("warning: "), HasSubstr("chmod o-r")));
  ::chmod(folder_.data("north").c_str(), 0600);
  EXPECT_EQ(Line(Visit("north"), "table access"), "");
}

TEST_F(DoctorTest, APortThatIsTaken) {
  ports_["north"] = std::make_unique<Port>();
  ports_["north"]->Listen();
  AddToRoster("north");
  ExpectProblem(Visit("north"), "port", {"cannot listen", ports_["north"]->address()});
}

TEST_F(DoctorTest, PeersThatListenOrDoNot) {
  EXPECT_THAT(Line(Visit("south"), "reach north"),
              AllOf(HasSubstr("warning: nobody listens"), HasSubstr("has not started")));
  ports_["north"] = std::make_unique<Port>();
  ports_["north"]->Listen();
  AddToRoster("north");
  EXPECT_THAT(Line(Visit("south"), "reach north"), HasSubstr("ok: something listens"));
  // North connects to nobody: the others come to it.
  EXPECT_EQ(Line(Visit("north"), "reach south"), "");
}

TEST_F(DoctorTest, AnAddressThatNoNameServiceKnows) {
  ASSERT_EQ(Partita({"cert", "roster", Roster(), "--certificate", Home("north") + "/cert.pem",
                     "--address", "no-such-host.invalid:7400"})
                .exit_code,
            0);
  ExpectProblem(Visit("south"), "reach north", {"no-such-host.invalid"});
}

TEST_F(DoctorTest, AFolderThatIsNotThere) {
  std::vector<std::string> arguments = Arguments("dealer");
  for (std::string& argument : arguments) {
    if (argument == Home("dealer")) argument = "/no/such/folder";
  }
  ExpectProblem(Process(arguments).Wait(), "folder", {"/no/such/folder"});
}

TEST_F(DoctorTest, DoctorsMeetAndCompareClocks) {
  std::map<std::string, std::unique_ptr<Process>> visits;
  for (const std::string& party : parties_) {
    std::vector<std::string> arguments = Arguments(party);
    arguments.insert(arguments.end(), {"--with-peers", "--wait", "30s"});
    visits[party] = std::make_unique<Process>(arguments);
  }
  std::set<std::string> times;
  for (const std::string& party : parties_) {
    const ProcessResult result = visits[party]->Wait();
    EXPECT_EQ(result.exit_code, 0) << party << result.out << result.err;
    for (const std::string& peer : parties_) {
      if (peer == party) continue;
      // All clocks are this machine's.
      EXPECT_THAT(Line(result, "peer " + peer),
                  AllOf(HasSubstr("ok: connected"), HasSubstr("its clock is 0.")));
    }
    times.insert(Line(result, "time"));
  }
  // All tell the same: the slowest link is not one of everybody's.
  ASSERT_EQ(times.size(), 1u);
  EXPECT_THAT(*times.begin(), AllOf(HasSubstr("the slowest link between two parties takes"),
                                    HasSubstr("one way; the messages of a run take about"),
                                    HasSubstr("the phase '")));
}

TEST_F(DoctorTest, DoctorsWithDifferentStudyFilesSayWhose) {
  const std::string other = folder_.path() + "/other.toml";
  StudyFolder::Write(other, StudyFolder::Read(folder_.study_file()) + "\n# a remark\n");
  std::map<std::string, std::unique_ptr<Process>> visits;
  for (const std::string& party : parties_) {
    std::vector<std::string> arguments = Arguments(party);
    if (party == "south") arguments[3] = other;
    arguments.insert(arguments.end(), {"--with-peers", "--wait", "30s"});
    visits[party] = std::make_unique<Process>(arguments);
  }
  ExpectProblem(visits["north"]->Wait(), "peers", {"south", "study file"});
  ExpectProblem(visits["south"]->Wait(), "peers", {"study file"});
  EXPECT_EQ(visits["dealer"]->Wait().exit_code, 1);
}

TEST_F(DoctorTest, AnAbsentDoctorIsNamed) {
  ExpectProblem(Visit("north", {"--with-peers", "--wait", "300ms"}), "peers", {"south", "dealer"});
}

TEST_F(DoctorTest, MeetingPeersNeedsAStudy) {
  const ProcessResult result = Partita({"doctor", "--with-peers"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("--study, --party"));
}

}  // namespace
}  // namespace partita::testing::doctor_test
