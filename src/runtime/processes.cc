// SimulateProcesses: one `partita study join` per role.
#include <fmt/format.h>
#include <stdlib.h>

#include <cerrno>
#include <cstring>

#include "crypto/certificate.h"
#include "net/roster.h"
#include "net/socket.h"
#include "runtime/approval_files.h"
#include "runtime/build_plan.h"
#include "runtime/child.h"
#include "runtime/simulate.h"

namespace partita::runtime {
namespace {

// A folder that only this user can enter, removed with everything in it.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string path = (std::filesystem::temp_directory_path() / "partita-XXXXXX").string();
    if (::mkdtemp(path.data()) == nullptr) {
      throw Error(ErrorCode::kUsage,
                  fmt::format("cannot make a folder like {}: {}", path, std::strerror(errno)),
                  "set TMPDIR to a folder that this user can write to");
    }
    path_ = path;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

std::string ApprovalIn(const std::filesystem::path& folder, const std::string& party) {
  return (folder / party / "approval.json").string();
}

// What the stewards do before a study between hosts.
void Approve(const MleStudy& study, const std::vector<std::filesystem::path>& data,
             const net::Roster& roster, const std::vector<crypto::Identity>& identities,
             const std::filesystem::path& folder) {
  crypto::SystemRandom random;
  ApprovalRequest request;
  request.fingerprints = Fingerprints(roster);
  const study::ApprovalTerms terms =
      TermsOf(study, StudyIdentityOf(study, request.fingerprints), BuildPlan(study));
  for (size_t i = 0; i < study.parties.size(); ++i) {
    request.party = study.parties[i].name;
    request.identity = identities[i];
    request.data = data[i];
    SaveApproval(MakeApproval(study, terms, request, random), ApprovalIn(folder, request.party));
  }
}

}  // namespace

std::vector<ProcessEnd> SimulateProcesses(const MleStudy& study,
                                          const ProcessSimulation& simulation) {
  TemporaryFolder folder;
  std::vector<net::Listener> listeners;
  net::Roster roster;
  std::vector<crypto::Identity> identities;
  for (const study::Party& party : study.parties) {
    listeners.push_back(net::Listen("127.0.0.1", "0"));
    const std::filesystem::path home = folder.path() / party.name;
    std::filesystem::create_directory(home);
    const crypto::Identity identity = crypto::MakeIdentity({.name = party.name, .days = 1});
    crypto::SaveIdentity(identity, home / "cert.pem", home / "key.pem");
    identities.push_back(identity);
    roster.push_back(
        {party.name, listeners.back().address, crypto::Fingerprint(*identity.certificate)});
  }
  const std::filesystem::path roster_file = folder.path() / "roster.toml";
  net::SaveRoster(roster, roster_file);
  Approve(study, simulation.data, roster, identities, folder.path());

  std::vector<Child> children;
  try {
    for (size_t i = 0; i < study.parties.size(); ++i) {
      const std::filesystem::path home = folder.path() / study.parties[i].name;
      std::vector<std::string> arguments = {simulation.executable.string(),
                                            "study",
                                            "join",
                                            simulation.study_file.string(),
                                            "--party",
                                            study.parties[i].name,
                                            "--folder",
                                            home.string(),
                                            "--roster",
                                            roster_file.string(),
                                            "--approval",
                                            ApprovalIn(folder.path(), study.parties[i].name),
                                            "--listen-descriptor",
                                            "3",
                                            "--format",
                                            simulation.format};
      if (simulation.accept_useless) arguments.push_back("--accept-useless");
      // The folder of the run is removed afterwards, and so would be what it says.
      arguments.push_back("--unrecorded");
      if (study.parties[i].holder) {
        arguments.insert(arguments.end(), {"--data", simulation.data[i].string()});
      }
      if (simulation.link.latency.count() > 0) {
        arguments.insert(
            arguments.end(),
            {"--latency",
             fmt::format(
                 "{}us",
                 std::chrono::ceil<std::chrono::microseconds>(simulation.link.latency).count())});
      }
      if (simulation.link.bytes_per_second > 0) {
        arguments.insert(
            arguments.end(),
            {"--bandwidth", fmt::format("{}bit/s", simulation.link.bytes_per_second * 8)});
      }
      const bool show = i == study.receiver && simulation.show_receiver_progress;
      if (!show) arguments.push_back("--quiet");
      if (i != study.receiver || simulation.output.empty()) {
        arguments.push_back("--no-output");
      } else {
        arguments.insert(
            arguments.end(),
            {"--output", std::filesystem::absolute(simulation.output).string(), "--force"});
      }
      children.push_back(
          SpawnChild(study.parties[i].name, arguments, listeners[i].socket.fd(), show));
      listeners[i].socket = net::Socket();
    }
  } catch (...) {
    StopChildren(children);
    throw;
  }
  const auto failed = [&](const Child& child) {
    return child.signal != 0 || simulation.failed(child.exit_code);
  };
  WatchChildren(children, failed, simulation.poll);

  std::vector<ProcessEnd> ends;
  for (Child& child : children) {
    ends.push_back({child.name, child.exit_code, child.signal, std::move(child.standard_output),
                    std::move(child.standard_error)});
  }
  return ends;
}

}  // namespace partita::runtime
