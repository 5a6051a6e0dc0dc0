// All parties of a study on this machine: as processes over TLS on loopback (the same program and
// code as deployment), or as threads for tests and debugging.
#pragma once

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "run/party/join.h"
#include "run/party/party.h"

namespace partita::run {

// Default place of a party's table: STUDY_FOLDER/PARTY/data.csv.
std::filesystem::path DefaultDataPath(const std::filesystem::path& study_file,
                                      const std::string& party);

// How one party ended.
struct PartyEnd {
  std::string party;
  std::optional<PartyOutcome> outcome;
  std::optional<Error> error;
};

// Runs every party as a thread over an in-memory transport. data: by channel index. progress: the
// receiver's; cancellation stops all. A study with stored correlations is prepared first; its
// dealer ends then, with an empty outcome. keep: of every party.
std::vector<PartyEnd> SimulateInProcess(const Study& study,
                                        const std::vector<std::filesystem::path>& data,
                                        const net::LinkModel& link, Progress& progress,
                                        Keep keep = Keep::kResult);

// The one to report: not an error that only repeats what another party said. Null if nobody failed.
const PartyEnd* RootCause(const std::vector<PartyEnd>& ends);

// How one party's process ended.
struct ProcessEnd {
  std::string party;
  int exit_code = 0;
  int signal = 0;  // that ended it; 0: it exited
  std::string standard_output, standard_error;
};

struct ProcessSimulation {
  std::filesystem::path executable;  // the partita program
  std::filesystem::path study_file;
  std::vector<std::filesystem::path> data;  // by channel index
  net::LinkModel link;
  bool accept_useless = false;                // passed on to every party
  std::string format = "text";                // of the parties' standard output
  std::function<bool(int exit_code)> failed;  // whether a party that exited with it failed
  // Called about ten times a second while the parties run; throws kCancelled to stop them all.
  std::function<void()> poll;
  // The receiver writes its standard error (progress, errors) straight to this process's instead of
  // into a pipe.
  bool show_receiver_progress = false;
  bool json_progress = false;    // which is then made for programs
  std::filesystem::path output;  // where the receiver writes result.json; empty: nowhere
};

// Makes keys, certificates, a roster and approvals for this run only, in a folder that is removed
// afterwards, and runs `partita study join` once per role. A study with stored correlations is
// prepared first, by `partita correlations prepare` once per role. Returns when all have ended.
std::vector<ProcessEnd> SimulateProcesses(const Study& study, const ProcessSimulation& simulation);

}  // namespace partita::run
