#include "base/error.h"

namespace partita {

std::string_view ErrorCodeName(ErrorCode code) {
  switch (code) {
    case ErrorCode::kUsage:
      return "usage";
    case ErrorCode::kBadInput:
      return "bad-input";
    case ErrorCode::kBadData:
      return "bad-data";
    case ErrorCode::kUnreachable:
      return "unreachable";
    case ErrorCode::kUntrusted:
      return "untrusted";
    case ErrorCode::kPeerFault:
      return "peer-fault";
    case ErrorCode::kTimeout:
      return "timeout";
    case ErrorCode::kRefused:
      return "refused";
    case ErrorCode::kBudget:
      return "budget";
    case ErrorCode::kNotConverged:
      return "not-converged";
    case ErrorCode::kPeerLost:
      return "peer-lost";
    case ErrorCode::kCancelled:
      return "cancelled";
    case ErrorCode::kStorage:
      return "storage";
    case ErrorCode::kInternal:
      return "internal";
  }
  return "internal";
}

std::string Error::PublicMessage() const {
  switch (code_) {
    case ErrorCode::kUnreachable:
    case ErrorCode::kUntrusted:
    case ErrorCode::kPeerFault:
    case ErrorCode::kTimeout:
    case ErrorCode::kRefused:
    case ErrorCode::kPeerLost:
    case ErrorCode::kCancelled:
      return message();
    case ErrorCode::kBadData:
      return "its data failed a check (details are shown to the owner only)";
    case ErrorCode::kUsage:
    case ErrorCode::kBadInput:
    case ErrorCode::kBudget:
    case ErrorCode::kNotConverged:
    case ErrorCode::kStorage:
    case ErrorCode::kInternal:
      break;
  }
  return "it failed (its own message says why)";
}

}  // namespace partita
