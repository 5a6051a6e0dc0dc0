// The reader's side of a private sum: collects what the compute nodes published, and adds it up.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "privacy/statement.h"
#include "sums/protocol/aggregate.h"
#include "sums/service/round_charge.h"
#include "sums/service/round_client.h"

namespace partita::sums {

struct CollectedSum {
  PrivateSum sum;
  privacy::Statement statement;  // for the uploads that are in it
  std::optional<RoundCharge> charge;
};

// Waits at most `patience` for the nodes to publish. The closings come first: they say how many
// uploads the sum holds, and so what it costs; it is charged before a publication is asked for.
// identity: of a node or a reader of the collection. Throws kTimeout, kRefused, kUntrusted as
// Aggregate, kBudget.
CollectedSum CollectSum(const CollectionFile& collection, const crypto::Identity& identity,
                        const std::optional<run::LedgerOptions>& ledger,
                        std::chrono::milliseconds patience, const RoundLog& log,
                        Progress& progress);

}  // namespace partita::sums
