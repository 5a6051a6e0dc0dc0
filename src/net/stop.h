// What a party may tell its peers when it stops: one number of a fixed list, and which party it is
// about. Nothing else about a stop ever leaves a host: the text of an error may name files, users,
// hosts, rows or numbers of a table, or be a library's, so no function here takes a text.
//
// That a party stopped, when, and which of these reasons it gave is seen by every peer. Which
// errors depend on a table, and so what the bare event tells, is docs/guarantees.md.
#pragma once

#include <optional>
#include <string_view>

#include "base/bytes.h"
#include "base/error.h"
#include "net/channel.h"

namespace partita::net {

// Numbers on the wire: never reused for another meaning.
enum class StopReason : uint16_t {
  kFailed = 1,        // anything else
  kData = 2,          // its table failed a check
  kApproval = 3,      // its own approval does not allow the run
  kLedger = 4,        // its own ledger does not allow the run
  kCorrelations = 5,  // its own store of correlations does not allow the run
  kRefused = 6,       // another rule of its own, or of the study, does not hold
  kCancelled = 7,
  kTimeout = 8,
  kPeerFault = 9,
  kUntrusted = 10,
  kUnreachable = 11,
  kLost = 12,    // it lost a peer and cannot say which
  kClosed = 13,  // said of another party only: that it closed its connection
  // In a study that promises privacy, instead of kData, kApproval, kRefused and kCorrelations: whether a
  // party has an approval follows from its table, too, so that neither tells of it.
  kNoPart = 14,
};

// Told of an error whose code is all that may be told.
StopReason ReasonFor(ErrorCode code);

// "its data failed a check (details are shown to the owner only)", ...: what follows the name of
// the party on the terminal of its peers. The program's own words, whatever a peer sent.
std::string_view ReasonText(StopReason reason);

// The body of an abort frame: reason u16, party u16. `party` is the sender, or the party whose stop
// the sender passes on.
struct Stop {
  StopReason reason = StopReason::kFailed;
  PartyIndex party = 0;

  bool operator==(const Stop&) const = default;
};

inline constexpr uint64_t kStopBytes = 4;

Bytes EncodeStop(const Stop& stop);
// Nothing unless the bytes are a stop of one of `num_parties` parties for a reason of the list.
std::optional<Stop> DecodeStop(ByteView bytes, size_t num_parties);

}  // namespace partita::net
