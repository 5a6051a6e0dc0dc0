#include "cli/terminal/exit_code.h"

namespace partita::cli {
namespace {

constexpr ExitCodeMeaning kExitCodes[] = {
    {kDone, "done"},
    {kFailed,
     "the run failed: a peer broke the protocol; or doctor found a problem, a rehearsal disagreed, "
     "an audit refuted its claim"},
    {kUsage, "wrong usage, or an error in a study file, model, roster or schema"},
    {kUnreachable, "a party could not be reached, or is not who the roster says"},
    {kTimedOut, "a deadline passed"},
    {kRefused, "refused by a policy, an approval or the release gate"},
    {kBudgetExceeded, "the privacy budget would be exceeded"},
    {kBadData, "data failed its checks"},
    {kNotConverged,
     "finished, but the optimiser did not converge, or the model was not trained as planned"},
    {kPartyLost, "a required party was lost, or stopped and said so"},
    {kStorage, "a file could not be written: the disk is full, or it failed"},
    {kInternal, "an internal error: please report it"},
    {kInterrupted, "interrupted"},
};

}  // namespace

std::span<const ExitCodeMeaning> ExitCodes() { return kExitCodes; }

ExitCode ExitCodeOf(ErrorCode code) {
  switch (code) {
    case ErrorCode::kUsage:
    case ErrorCode::kBadInput:
      return kUsage;
    case ErrorCode::kBadData:
      return kBadData;
    case ErrorCode::kUnreachable:
    case ErrorCode::kUntrusted:
      return kUnreachable;
    case ErrorCode::kPeerFault:
      return kFailed;
    case ErrorCode::kTimeout:
      return kTimedOut;
    case ErrorCode::kRefused:
      return kRefused;
    case ErrorCode::kBudget:
      return kBudgetExceeded;
    case ErrorCode::kNotConverged:
      return kNotConverged;
    case ErrorCode::kPeerLost:
      return kPartyLost;
    case ErrorCode::kCancelled:
      return kInterrupted;
    case ErrorCode::kStorage:
      return kStorage;
    case ErrorCode::kInternal:
      return kInternal;
  }
  return kInternal;
}

}  // namespace partita::cli
