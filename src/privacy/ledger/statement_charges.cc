#include "privacy/ledger/statement_charges.h"

#include "base/error.h"

namespace partita::privacy::ledger {
namespace {

bool IsCharged(const Adversary& adversary, uint32_t coalition) {
  if (adversary.with_dealer) return false;
  switch (adversary.kind) {
    case AdversaryKind::kOutsideAnalyst:
    case AdversaryKind::kDealer:
      return true;
    case AdversaryKind::kParty:
      return coalition == 1;
    case AdversaryKind::kCoalition:
      return adversary.size == coalition;
    default:
      return false;
  }
}

}  // namespace

std::vector<Charge> ChargesOf(const privacy::Statement& statement, const StatedRelease& release) {
  std::vector<Charge> charges;
  bool party_done = false;
  for (const StatementRow& row : statement.rows) {
    const bool is_party = row.adversary.kind == AdversaryKind::kParty;
    if (!IsCharged(row.adversary, release.coalition) ||
        (is_party && party_done && !release.every_party)) {
      continue;
    }
    if (row.loss.infinite) {
      throw Error(ErrorCode::kRefused,
                  "nothing limits what " + AdversaryText(row.adversary) + " learns: " + row.reason,
                  release.hint);
    }
    party_done = party_done || is_party;
    charges.push_back({release.release, row.adversary, row.adjacency,
                       ApproximateDp{row.loss.epsilon_upper, release.delta}, 1});
  }
  return charges;
}

}  // namespace partita::privacy::ledger
