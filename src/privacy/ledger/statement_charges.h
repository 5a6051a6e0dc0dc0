// What an account is charged for a release of which a statement is all that is known.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "privacy/ledger/entry.h"
#include "privacy/statement.h"

namespace partita::privacy::ledger {

struct StatedRelease {
  std::string release;       // id in the plan
  double delta = 0;          // of the whole audience
  uint32_t coalition = 0;    // parties that pool what they know; 0: insiders have no budget
  std::string hint;          // what to do if nothing limits a loss
  bool every_party = false;  // of a coalition of one each party is charged, not the first alone
};

// The losses of the outside analyst, the dealer and the coalition, each as (epsilon, delta). The
// dealer together with a party is not charged: no budget covers that. Throws kRefused if nothing
// limits one of the losses.
std::vector<Charge> ChargesOf(const privacy::Statement& statement, const StatedRelease& release);

}  // namespace partita::privacy::ledger
