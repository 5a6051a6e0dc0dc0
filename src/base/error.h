// The one exception type of Partita: what happened, where, and what to do about it. Its texts are
// for the own terminal: a peer is told a reason of a fixed list at most (net/stop.h).
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace partita {

// Stable across releases: the command line maps each code to one exit code (cli/terminal/exit_code.h).
enum class ErrorCode {
  kUsage,         // the caller or the command line asked for something that makes no sense
  kBadInput,      // a study file, model, roster or schema has an error
  kBadData,       // a table failed its checks; detail goes to its owner only
  kUnreachable,   // a peer cannot be reached
  kUntrusted,     // a peer's certificate or hello is not what the roster and the study say
  kPeerFault,     // a peer sent something that the protocol does not allow
  kTimeout,       // a deadline passed
  kRefused,       // a policy, an approval or the release gate said no
  kBudget,        // the privacy budget would be exceeded
  kNotConverged,  // finished, but the optimiser did not converge
  kPeerLost,      // a required peer went away during the run, or told us that it stops
  kCancelled,     // interrupted by the user
  kStorage,       // a file could not be written: the disk is full, or it failed
  kInternal,      // a bug in Partita
};

// "bad-input", "peer-lost", ...: the machine-readable name used in JSON.
std::string_view ErrorCodeName(ErrorCode code);

class Error : public std::runtime_error {
 public:
  // message: what happened and where (party, file, line, column); one sentence, no trailing full
  // stop. hint: what to do about it; may be empty.
  Error(ErrorCode code, const std::string& message, std::string hint = {})
      : std::runtime_error(message), code_(code), hint_(std::move(hint)) {}

  ErrorCode code() const { return code_; }
  std::string message() const { return what(); }
  const std::string& hint() const { return hint_; }

 private:
  ErrorCode code_;
  std::string hint_;
};

}  // namespace partita
