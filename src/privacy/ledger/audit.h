// The ledger for people and for auditors.
#pragma once

#include <string>
#include <vector>

#include "privacy/ledger/entry.h"
#include "privacy/ledger/sqlite_ledger.h"

namespace partita::privacy::ledger {

// Recomputes everything that the entries claim: numbers, hashes, the rules of AccountState, filters
// and costs from budgets and mechanisms, countersignatures. Throws kRefused naming the entry.
void VerifyEntries(const Pseudonym& pseudonym, const std::vector<Entry>& entries);

// Canonical JSON: one text per chain. {"pseudonym", "entries": [{"sequence", "at", "by", "kind",
// ..., "bytes", "hash"}]}; units as decimal strings, digests and canonical bytes in hexadecimal.
std::string ChainJson(const Pseudonym& pseudonym, const std::vector<Entry>& entries);
// Reads such a text and verifies it; throws kBadInput unless it is exactly what ChainJson writes,
// kRefused as VerifyEntries.
std::vector<Entry> ReadChainJson(const std::string& text, const std::string& file);

// One row per study: when, who, cost in percent of each budget, what was left then, what became of
// it, mechanisms. Of a chain that verifies.
std::string HistoryText(const std::vector<Entry>& entries);
// Budget, spent, reserved and left per class, exact releases, qualifying sentences.
std::string StandingText(const Standing& standing);
std::string StandingJson(const Standing& standing);

// The same in pieces, for other pages; shares are text, "12.5 %", rounded against whoever asks for more.
struct BudgetLine {
  std::string against, neighbours;  // "outsiders" or "2 insiders"; "replace"
  std::string epsilon, delta;       // of the budget, as the steward wrote them
  std::string spent, reserved, left;
  double share_left = 0;  // 0 to 1

  bool operator==(const BudgetLine&) const = default;
};
std::vector<BudgetLine> BudgetLines(const Standing& standing);
std::string ExactRuleText(const Standing& standing);  // a sentence

struct HistoryLine {
  uint64_t sequence = 0;
  int64_t at = 0;  // seconds since 1970, UTC
  std::string by;
  std::string study;             // as it calls itself; of a change of policy: "(policy changed)"
  std::string outside, insider;  // share of the budget that it takes
  std::string left;              // then
  std::string outcome;           // "reserved", "spent", "refunded: WHY"
  std::string mechanisms;

  bool operator==(const HistoryLine&) const = default;
};
std::vector<HistoryLine> HistoryLines(const std::vector<Entry>& entries);

// Whole sentences that every later statement about the table carries (R-j): empty if nothing
// qualifies it. "This release alone; 3 exact results were released before from table visits."
std::vector<std::string> Qualifications(const Standing& standing);

// How many more studies of this cost fit.
uint64_t StudiesLeft(const Standing& standing, const Cost& outside, const Cost& insider);

}  // namespace partita::privacy::ledger
