// The state of one account as a function of its entries: pure, no clock, no file.
//
//   open -> reserve -> spend | refund, any number at a time; change the policy when none is open.
//
// A reservation counts against the budget from the moment it is made; spending keeps it there for
// ever; refunding takes it away and is possible only before spending.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "privacy/ledger/entry.h"
#include "privacy/ledger/receipts.h"

namespace partita::privacy::ledger {

// What one reservation holds until it is spent or refunded.
struct OpenReservation {
  Digest run_id{};
  Digest agreement_hash{};
  std::string study;
  Cost outside, insider;
  uint64_t exact = 0;         // exact releases
  uint64_t exact_values = 0;  // ring elements of them
};

struct Totals {
  Cost outside, insider;
  uint64_t exact = 0;
  uint64_t exact_values = 0;
  bool operator==(const Totals&) const = default;
};

class AccountState {
 public:
  explicit AccountState(const Pseudonym& pseudonym);

  // What a new entry must satisfy; nothing changes. Throws
  //   kBudget   a reservation that does not fit: names table, cap, spent, reserved, asked;
  //   kRefused  exact releases against the policy, no charge against a class that has a budget,
  //             another adjacency, a coalition smaller than the policy's, a run that has an open
  //             reservation, spending or refunding what is not open, a policy change while
  //             reservations are open or a wider one without a reason, an opened account again;
  //   kUsage    malformed parameters.
  void Check(const EntryBody& body) const;

  // Checks (without computing any cost again: costs and filters are taken from the entry; the audit
  // recomputes them) and appends; returns the entry with its number and hash.
  Entry Append(const Stamp& stamp, EntryBody body, std::optional<JournalMark> mark = {});
  // Folds the next entry as it was stored. Throws kRefused naming the table if the number, the hash
  // or the entry is not the next one of this chain, or its mark is before that of another.
  void Replay(ByteView entry_bytes, const Digest& hash);

  // The charges of a request at this account's orders, as an entry to be appended.
  Reserved Price(const Digest& run_id, const Digest& agreement_hash, std::string study,
                 std::vector<Charge> charges, std::vector<ExactRelease> exact) const;

  bool opened() const { return head_.sequence > 0; }
  const Policy& policy() const { return policy_; }
  const Filter& outside() const { return outside_; }
  const std::optional<Filter>& insider() const { return insider_; }
  const Head& head() const { return head_; }
  const std::map<uint64_t, OpenReservation>& reservations() const { return reservations_; }
  const Totals& spent() const { return spent_; }
  // Of the open reservations.
  const Totals& reserved() const { return reserved_; }
  // Of the newest entry that has one.
  const std::optional<JournalMark>& mark() const { return mark_; }
  uint64_t policy_changes() const { return policy_changes_; }
  uint64_t studies_spent() const { return studies_spent_; }

 private:
  void Apply(uint64_t sequence, const EntryBody& body);

  Head head_;
  std::optional<JournalMark> mark_;
  Policy policy_;
  Filter outside_;
  std::optional<Filter> insider_;
  std::map<uint64_t, OpenReservation> reservations_;
  Totals spent_, reserved_;
  uint64_t policy_changes_ = 0, studies_spent_ = 0;
};

// What all spent studies of a chain cost together at an order.
Cost SpentCost(const std::vector<Entry>& entries, AdversaryClass adversary_class, uint64_t order);

// The entry that changes the policy of an account with these entries: new filters, and what all
// spent studies cost at their orders. Throws kUsage for a bad policy, kRefused if what was charged
// earlier says nothing about the new budget: another adjacency, a larger coalition, or a budget
// against insiders that studies were never charged to.
PolicyChanged PlanPolicyChange(const Policy& policy, const std::vector<Entry>& entries,
                               std::string why);

}  // namespace partita::privacy::ledger
