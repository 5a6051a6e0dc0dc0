#include "cli/terminal/exit_code.h"

namespace partita::cli {

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
