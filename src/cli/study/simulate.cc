#include "cli/study/simulate.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "cli/terminal/command_progress.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/outcome.h"
#include "cli/terminal/units.h"
#include "methods/prepare_study.h"
#include "run/method/useful.h"
#include "run/party/local_data.h"
#include "run/simulate/simulate.h"

namespace partita::cli {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> DataPaths(const run::Study& study, const SimulateOptions& options) {
  std::vector<fs::path> paths;
  for (const study::Party& party : study.parties)
    paths.push_back(run::DefaultDataPath(options.study_file, party.name));
  for (const std::string& assignment : options.data) {
    const size_t equals = assignment.find('=');
    if (equals == std::string::npos) {
      throw Error(ErrorCode::kUsage,
                  fmt::format("--data {}: not of the form PARTY=FILE", assignment),
                  "for example --data north=north.csv");
    }
    paths[run::PartyByName(study, assignment.substr(0, equals))] = assignment.substr(equals + 1);
  }
  return paths;
}

std::string Indented(const std::string& party, std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  std::string lines = party + ": ";
  for (char c : text) {
    lines.push_back(c);
    if (c == '\n') lines += party + ": ";
  }
  return lines;
}

int RunThreads(const OutputOptions& output, const SimulateOptions& options, const run::Study& study,
               const std::vector<fs::path>& data, const net::LinkModel& link) {
  std::unique_ptr<RoomOnDisk> room = RoomForResult(study, study.receiver, options.output);
  report::TerminalProgress terminal(std::cerr, ProgressStyleOf(output), "", &Interrupted());
  CancellableProgress quiet;
  const std::vector<run::PartyEnd> ends = run::SimulateInProcess(
      study, data, link, output.quiet ? static_cast<Progress&>(quiet) : terminal);
  terminal.Finish();
  if (const run::PartyEnd* cause = run::RootCause(ends)) {
    throw Error(cause->error->code(), fmt::format("{}: {}", cause->party, cause->error->message()),
                cause->error->hint());
  }
  return PrintOutcome(output, *ends[study.receiver].outcome, options.output, std::move(room));
}

bool Failed(int exit_code) { return exit_code != kDone && exit_code != kNotConverged; }

// How much an end says about why the run failed; 0: it did not fail. Being told that a peer is gone
// says least.
int Weight(const run::ProcessEnd& end) {
  if (end.signal != 0 || end.exit_code == kInternal) return 5;
  if (!Failed(end.exit_code)) return 0;
  switch (end.exit_code) {
    case kPartyLost:
      return 1;
    case kTimedOut:
    case kUnreachable:
      return 2;
    case kBadData:
      return 4;
    default:
      return 3;
  }
}

// The party whose own failure ended the run. Null if nobody failed.
const run::ProcessEnd* RootCause(const std::vector<run::ProcessEnd>& ends) {
  const auto cause = std::max_element(
      ends.begin(), ends.end(), [](const auto& a, const auto& b) { return Weight(a) < Weight(b); });
  return Weight(*cause) == 0 ? nullptr : &*cause;
}

// The error of a party that could not say anything itself.
Error KilledError(const run::ProcessEnd& end) {
  return Error(ErrorCode::kInternal,
               fmt::format("the process of party {} was ended by signal {}", end.party, end.signal),
               "out of memory? look at the system's log");
}

int RunProcesses(const OutputOptions& output, const SimulateOptions& options,
                 const run::Study& study, const std::vector<fs::path>& data,
                 const net::LinkModel& link) {
  run::ProcessSimulation simulation;
  simulation.executable = fs::read_symlink("/proc/self/exe");
  simulation.study_file = options.study_file;
  simulation.data = data;
  simulation.link = link;
  simulation.accept_useless = options.accept_useless;
  simulation.format = output.format;
  simulation.json_progress = output.progress == "jsonl";
  simulation.show_receiver_progress =
      !output.quiet && (simulation.json_progress || ::isatty(STDERR_FILENO) == 1);
  simulation.output = options.output;
  simulation.failed = Failed;
  simulation.poll = [] { CancellableProgress().CheckCancelled(); };
  const std::vector<run::ProcessEnd> ends = run::SimulateProcesses(study, simulation);
  const run::ProcessEnd* cause = RootCause(ends);
  if (cause == nullptr) {
    const std::string& text = ends[study.receiver].standard_output;
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
    return ends[study.receiver].exit_code;
  }
  for (const run::ProcessEnd& end : ends) {
    if (&end != cause && !end.standard_error.empty()) {
      PrintNote(output, Indented(end.party, end.standard_error));
    }
  }
  if (!cause->standard_error.empty()) {
    PrintNote(OutputOptions{}, Indented(cause->party, cause->standard_error));
  }
  if (cause->signal != 0) return PrintError(output, KilledError(*cause));
  // In JSON the failed party printed its own error object: pass on that one.
  std::fwrite(cause->standard_output.data(), 1, cause->standard_output.size(), stdout);
  std::fflush(stdout);
  return cause->exit_code;
}

}  // namespace

void CancellableProgress::CheckCancelled() {
  if (Interrupted()) throw Error(ErrorCode::kCancelled, "interrupted");
}

int Simulate(const OutputOptions& output, const SimulateOptions& options) {
  const std::unique_ptr<const run::Study> owner =
      methods::PrepareStudy(methods::LoadStudyFile(options.study_file));
  const run::Study& study = *owner;
  run::RequireUseful(study, options.accept_useless);
  const std::vector<fs::path> data = DataPaths(study, options);
  for (size_t i = 0; i < study.parties.size(); ++i) {
    if (study.parties[i].holder && !fs::exists(data[i])) {
      throw Error(ErrorCode::kUsage,
                  fmt::format("no table for party '{}': {} does not exist", study.parties[i].name,
                              data[i].string()),
                  fmt::format("put it there, or say --data {}=FILE", study.parties[i].name));
    }
    // Else a party says so when others have begun, and these are interrupted.
    run::RequireOwnersResult(study, i, data[i]);
  }
  RequireNewResult(study, study.receiver, options.output, output.force);
  net::LinkModel link;
  if (!options.latency.empty()) link.latency = ParseDuration(options.latency);
  if (!options.bandwidth.empty()) link.bytes_per_second = ParseBandwidth(options.bandwidth);
  return options.in_process ? RunThreads(output, options, study, data, link)
                            : RunProcesses(output, options, study, data, link);
}

}  // namespace partita::cli
