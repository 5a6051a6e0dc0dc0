// partita doctor: whether this host is ready.
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/text_table.h"
#include "cli/commands.h"
#include "cli/study/party_files.h"
#include "cli/study/simulate.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/units.h"
#include "methods/prepare_study.h"
#include "report/progress.h"
#include "run/doctor/doctor.h"

namespace partita::cli {
namespace {

namespace fs = std::filesystem;
using run::DoctorCheck;
using run::Verdict;

struct DoctorCommand {
  std::string study, party, listen, wait = "60s", peer_timeout = "3s";
  PartyFiles files;
  bool with_peers = false;
};

// What was named, or what `study join` would take from the folder if it is there.
fs::path IfThere(const std::string& given, const fs::path& path) {
  return !given.empty() || fs::exists(path) ? path : fs::path();
}

// The party: what was named, or whom the certificate names. What is wrong with it the doctor says.
std::string PartyIfThere(const DoctorCommand& command, const fs::path& certificate) {
  if (!command.party.empty() || certificate.empty()) return command.party;
  try {
    return PartyOf(command.files, "");
  } catch (const Error&) {
    return "";
  }
}

run::DoctorOptions DoctorOptionsOf(const DoctorCommand& command) {
  run::DoctorOptions options;
  options.study = command.study;
  options.folder = command.files.folder;
  options.key = IfThere(command.files.key, command.files.Key());
  options.certificate = IfThere(command.files.certificate, command.files.Certificate());
  options.party = PartyIfThere(command, options.certificate);
  options.roster = IfThere(command.files.roster, command.files.Roster());
  options.data = IfThere(command.files.data, command.files.Data());
  options.listen_address = command.listen;
  options.with_peers = command.with_peers;
  options.wait = MillisecondsOf(command.wait);
  options.peer_timeout = MillisecondsOf(command.peer_timeout);
  return options;
}

std::string DoctorText(const std::vector<DoctorCheck>& checks) {
  size_t warnings = 0, problems = 0;
  std::string text;
  for (const DoctorCheck& check : checks) {
    warnings += check.verdict == Verdict::kWarning ? 1 : 0;
    problems += check.verdict == Verdict::kProblem ? 1 : 0;
    const std::string_view verdict = run::VerdictName(check.verdict);
    text += WrapText(check.name + ": " + check.found, 9).replace(0, verdict.size(), verdict);
    if (!check.fix.empty()) text += WrapText("fix: " + check.fix, 11);
  }
  return text + fmt::format("\n{} problem{}, {} warning{}\n", problems, problems == 1 ? "" : "s",
                            warnings, warnings == 1 ? "" : "s");
}

int RunDoctor(const OutputOptions& output, const DoctorCommand& command) {
  report::TerminalProgress terminal(std::cerr, report::DetectProgressStyle(STDERR_FILENO), "",
                                    &Interrupted());
  CancellableProgress quiet;
  const std::vector<DoctorCheck> checks = run::Doctor(
      DoctorOptionsOf(command),
      [](const fs::path& file) {
        return methods::PrepareStudy(methods::LoadStudyFile(file.string()));
      },
      output.quiet ? static_cast<Progress&>(quiet) : terminal);
  terminal.Finish();
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  bool healthy = true;
  for (const DoctorCheck& check : checks) {
    healthy = healthy && check.verdict != Verdict::kProblem;
    list.push_back({{"name", check.name},
                    {"verdict", run::VerdictName(check.verdict)},
                    {"found", check.found},
                    {"fix", check.fix}});
  }
  PrintResult(output, DoctorText(checks), nlohmann::ordered_json{{"checks", list}}.dump(),
              healthy ? "done" : "problems");
  return healthy ? kDone : kFailed;
}

}  // namespace

void AddDoctorCommand(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<DoctorCommand>();
  CLI::App* command = app.add_subcommand(
      "doctor", "Look for everything that could keep this host from running a study");
  AddOutputOptions(*command, invocation, "doctor");
  command->add_option("--study", options->study, "The study file");
  AddParty(command, options->party, "study");
  AddPartyFolder(command, options->files,
                 "Where data.csv, key.pem, cert.pem and roster.toml are, and results go");
  AddPartyData(command, options->files);
  AddPartyIdentity(command, options->files);
  command->add_option("--listen", options->listen,
                      "HOST:PORT to listen on (default: this party's address in the roster)");
  command
      ->add_option("--peer-timeout", options->peer_timeout,
                   "How long to wait for an answer from another party's address")
      ->capture_default_str();
  command->add_flag("--with-peers", options->with_peers,
                    "Connect to the doctors of all parties, run at the same time: compares study "
                    "file, plan and clocks, measures links, says how long a run takes on them, and "
                    "sends nothing else");
  command->add_option("--wait", options->wait, "With --with-peers: how long to wait for the others")
      ->capture_default_str();
  command->footer(
      "Checks versions, study file, roster, key and certificate, the table against the "
      "dictionary,\n"
      "port, reachability, clock, disk, memory and locale, as far as the files for it are there.\n"
      "Exit code 1 if there is a problem; warnings alone are 0.");
  command->callback([&invocation, options] {
    invocation.run = [&invocation, options] { return RunDoctor(invocation.output, *options); };
  });
}

}  // namespace partita::cli
