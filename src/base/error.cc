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

}  // namespace partita
