// What a compute node does when its uploads are frozen: agrees with the others on who is in the
// sum, closes, charges, publishes.
//
//   frozen     takes the recorded set, or the intersection of its own and the others' sets
//   closed     records it, adds up, and shows its signed closing; gathers the others'
//   charged    one charge per round, for what the closings of all nodes come to (round_charge.h)
//   published  shows its sum
// Whatever is shown is in the store or the ledger before; run again after a stop at any point, on
// the same store and ledger, it comes to the same bytes. On a store that was put back or edited it
// comes to the same sum, or to none.
//
// Messages: per other node one set and one closing are asked for, none if the node has published.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string_view>

#include "run/ledger/open_ledger.h"
#include "sums/file/collection_file.h"
#include "sums/protocol/compute_node.h"
#include "sums/service/compute_service.h"
#include "sums/service/round_client.h"

namespace partita::sums {

// "set" or "closing" of every other node, by node; returns when all have answered.
using AskPeers = std::function<std::map<uint16_t, Bytes>(std::string_view what, size_t max_bytes)>;

struct RoundEnd {
  const CollectionFile& collection;
  const AcceptedSet& own_set;  // what Freeze returned, and shown
  const std::optional<run::LedgerOptions>& ledger;
  const std::string& node;  // its name, for the ledger's entry
  const AskPeers& ask;
  const RoundLog& log;
};

// How many clients are in the sum. Throws what ComputeNode, ChargeRound and `ask` throw.
uint32_t FinishRound(const RoundEnd& end, ComputeNode& node, RoundBoard& board);

}  // namespace partita::sums
