#include "sums/service/finish_round.h"

#include <fmt/format.h>

#include "sums/service/round_api.h"
#include "sums/service/round_charge.h"

namespace partita::sums {
namespace {

AcceptedSet AgreedSet(const RoundEnd& end, ComputeNode& node) {
  if (std::optional<AcceptedSet> recorded = node.Recorded()) return *recorded;
  std::vector<AcceptedSet> sets = {end.own_set};
  for (const auto& [peer, bytes] : end.ask("set", MaxSetBytes(end.collection))) {
    sets.push_back(ParseSet(bytes));
  }
  return Intersect(sets);
}

}  // namespace

uint32_t FinishRound(const RoundEnd& end, ComputeNode& node, RoundBoard& board) {
  const AcceptedSet agreed = AgreedSet(end, node);
  const Bytes closing = node.Agree(agreed);
  board.ShowClosing(closing);
  end.log(fmt::format("agreed on {} of {} uploads", agreed.size(), end.own_set.size()));
  std::vector<Bytes> closings = {closing};
  std::optional<Agreement> agreement = node.Published();
  if (!agreement) {
    for (auto& [peer, bytes] : end.ask("closing", kMaxClosingBytes)) {
      closings.push_back(std::move(bytes));
    }
    agreement = node.CheckClosings(closings);
  }
  if (end.ledger) {
    const RoundCharge charge =
        ChargeRound(end.collection, *agreement, *end.ledger, "compute node " + end.node);
    end.log(fmt::format("charged to table {} as entry {}", charge.table, charge.reservation));
  }
  board.ShowPublication(node.Publish(closings));
  end.log("published its sum");
  return static_cast<uint32_t>(agreed.size());
}

}  // namespace partita::sums
