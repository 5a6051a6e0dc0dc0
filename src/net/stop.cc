#include "net/stop.h"

#include <array>

namespace partita::net {
namespace {

// By reason, from kFailed on.
constexpr std::array<std::string_view, 14> kReasonTexts = {
    "it failed (its own message says why)",
    "its data failed a check (details are shown to the owner only)",
    "its own approval does not allow this run",
    "its own privacy ledger does not allow this run",
    "its own store of correlations does not allow this run",
    "a rule of its own or of the study does not allow this run",
    "it was interrupted",
    "it waited too long for another party",
    "it received what the protocol does not allow",
    "another party is not who, or does not run what, it expects",
    "it cannot reach another party",
    "it lost another party",
    "it closed the connection",
    "it takes no part in this run",
};
static_assert(kReasonTexts.size() == static_cast<size_t>(StopReason::kNoPart));

}  // namespace

StopReason ReasonFor(ErrorCode code) {
  switch (code) {
    case ErrorCode::kBadData:
      return StopReason::kData;
    case ErrorCode::kRefused:
      return StopReason::kRefused;
    case ErrorCode::kBudget:
      return StopReason::kLedger;
    case ErrorCode::kCancelled:
      return StopReason::kCancelled;
    case ErrorCode::kTimeout:
      return StopReason::kTimeout;
    case ErrorCode::kPeerFault:
      return StopReason::kPeerFault;
    case ErrorCode::kUntrusted:
      return StopReason::kUntrusted;
    case ErrorCode::kUnreachable:
      return StopReason::kUnreachable;
    case ErrorCode::kPeerLost:
      return StopReason::kLost;
    case ErrorCode::kUsage:
    case ErrorCode::kBadInput:
    case ErrorCode::kNotConverged:
    case ErrorCode::kStorage:
    case ErrorCode::kInternal:
      break;
  }
  return StopReason::kFailed;
}

std::string_view ReasonText(StopReason reason) {
  return kReasonTexts.at(static_cast<size_t>(reason) - 1);
}

Bytes EncodeStop(const Stop& stop) {
  ByteWriter writer;
  writer.U16(static_cast<uint16_t>(stop.reason));
  writer.U16(static_cast<uint16_t>(stop.party));
  return writer.Take();
}

std::optional<Stop> DecodeStop(ByteView bytes, size_t num_parties) {
  if (bytes.size() != kStopBytes) return std::nullopt;
  ByteReader reader(bytes);
  const size_t reason = reader.U16();
  const size_t party = reader.U16();
  if (reason == 0 || reason > kReasonTexts.size() || party >= num_parties) return std::nullopt;
  return Stop{static_cast<StopReason>(reason), party};
}

}  // namespace partita::net
