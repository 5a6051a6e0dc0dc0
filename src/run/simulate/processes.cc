// SimulateProcesses: one `partita study join` per role.
#include <fmt/format.h>

#include <chrono>

#include "crypto/certificate.h"
#include "net/roster.h"
#include "net/socket.h"
#include "run/approval/approval_files.h"
#include "run/party/build_plan.h"
#include "run/simulate/child.h"
#include "run/simulate/simulate.h"
#include "run/simulate/temporary_folder.h"

namespace partita::run {
namespace {

std::string ApprovalIn(const std::filesystem::path& folder, const std::string& party) {
  return (folder / party / "approval.json").string();
}

// What the stewards do before a study between hosts.
void Approve(const Study& study, const std::vector<std::filesystem::path>& data,
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

// What one simulation has on disk and in sockets.
struct Site {
  TemporaryFolder folder;
  std::vector<net::Listener> listeners;  // by channel index
  std::filesystem::path roster_file;

  std::string Home(const std::string& party) const { return (folder.path() / party).string(); }
};

void AddLinkArguments(const net::LinkModel& link, std::vector<std::string>& arguments) {
  if (link.latency.count() > 0) {
    arguments.insert(
        arguments.end(),
        {"--latency",
         fmt::format("{}us", std::chrono::ceil<std::chrono::microseconds>(link.latency).count())});
  }
  if (link.bytes_per_second > 0) {
    arguments.insert(arguments.end(),
                     {"--bandwidth", fmt::format("{}bit/s", link.bytes_per_second * 8)});
  }
}

// What every command of a party's own begins with.
std::vector<std::string> OwnArguments(const Study& study, const ProcessSimulation& simulation,
                                      const Site& site, size_t i, const std::string& group,
                                      const std::string& command) {
  const std::string& party = study.parties[i].name;
  return {simulation.executable.string(),
          group,
          command,
          simulation.study_file.string(),
          "--party",
          party,
          "--folder",
          site.Home(party),
          "--roster",
          site.roster_file.string(),
          "--listen-descriptor",
          "3",
          "--format",
          simulation.format};
}

std::vector<std::string> PrepareArguments(const Study& study, const ProcessSimulation& simulation,
                                          const Site& site, size_t i) {
  std::vector<std::string> arguments =
      OwnArguments(study, simulation, site, i, "correlations", "prepare");
  AddLinkArguments(simulation.link, arguments);
  return arguments;
}

std::vector<std::string> JoinArguments(const Study& study, const ProcessSimulation& simulation,
                                       const Site& site, size_t i) {
  std::vector<std::string> arguments = OwnArguments(study, simulation, site, i, "study", "join");
  arguments.insert(arguments.end(),
                   {"--approval", ApprovalIn(site.folder.path(), study.parties[i].name)});
  if (simulation.accept_useless) arguments.push_back("--accept-useless");
  // The folder of the run is removed afterwards, and so would be what it says.
  arguments.push_back("--unrecorded");
  if (study.parties[i].holder) {
    arguments.insert(arguments.end(), {"--data", simulation.data[i].string()});
  }
  AddLinkArguments(simulation.link, arguments);
  if (i == study.receiver && simulation.show_receiver_progress && simulation.json_progress)
    arguments.insert(arguments.end(), {"--progress", "jsonl"});
  if (i != study.receiver || simulation.output.empty()) {
    arguments.push_back("--no-output");
  } else {
    arguments.insert(
        arguments.end(),
        {"--output", std::filesystem::absolute(simulation.output).string(), "--force"});
  }
  return arguments;
}

using ArgumentsOf = std::vector<std::string> (*)(const Study&, const ProcessSimulation&,
                                                 const Site&, size_t);

// One process for each of the first `count` parties, until all have ended. last: the listening
// sockets are not needed afterwards.
std::vector<ProcessEnd> RunAll(const Study& study, const ProcessSimulation& simulation, Site& site,
                               size_t count, ArgumentsOf arguments_of, bool last) {
  std::vector<Child> children;
  try {
    for (size_t i = 0; i < count; ++i) {
      std::vector<std::string> arguments = arguments_of(study, simulation, site, i);
      const bool show = i == study.receiver && simulation.show_receiver_progress;
      if (!show) arguments.push_back("--quiet");
      children.push_back(
          SpawnChild(study.parties[i].name, arguments, site.listeners[i].socket.fd(), show));
      if (last) site.listeners[i].socket = net::Socket();
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

}  // namespace

std::vector<ProcessEnd> SimulateProcesses(const Study& study, const ProcessSimulation& simulation) {
  Site site;
  net::Roster roster;
  std::vector<crypto::Identity> identities;
  for (const study::Party& party : study.parties) {
    site.listeners.push_back(net::Listen("127.0.0.1", "0"));
    const std::filesystem::path home = site.Home(party.name);
    std::filesystem::create_directory(home);
    const crypto::Identity identity = crypto::MakeIdentity({.name = party.name, .days = 1});
    crypto::SaveIdentity(identity, home / "cert.pem", home / "key.pem");
    identities.push_back(identity);
    roster.push_back(
        {party.name, site.listeners.back().address, crypto::Fingerprint(*identity.certificate)});
  }
  site.roster_file = site.folder.path() / "roster.toml";
  net::SaveRoster(roster, site.roster_file);
  Approve(study, simulation.data, roster, identities, site.folder.path());

  const size_t online = OnlineNames(study).size();
  std::vector<ProcessEnd> prepared;
  if (study.file.engine.stored_correlations) {
    prepared =
        RunAll(study, simulation, site, study.parties.size(), PrepareArguments, /*last=*/false);
    for (const ProcessEnd& end : prepared) {
      if (end.signal != 0 || simulation.failed(end.exit_code)) return prepared;
    }
  }
  std::vector<ProcessEnd> ends =
      RunAll(study, simulation, site, online, JoinArguments, /*last=*/true);
  // A dealer that was there before the run only.
  for (size_t i = online; i < prepared.size(); ++i) ends.push_back(std::move(prepared[i]));
  return ends;
}

}  // namespace partita::run
