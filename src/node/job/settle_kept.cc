#include "node/job/settle_kept.h"

#include "base/error.h"
#include "base/utc_time.h"
#include "privacy/ledger/entry.h"

namespace partita::node {
namespace {

using privacy::ledger::Entry;
using privacy::ledger::Reserved;
using privacy::ledger::Spent;

enum class Fate { kOpen, kSpent, kRefunded };

Fate FateOf(const std::vector<Entry>& entries, uint64_t reservation) {
  for (const Entry& entry : entries) {
    const auto* spent = std::get_if<Spent>(&entry.body);
    if (spent != nullptr && spent->reservation == reservation) return Fate::kSpent;
    const auto* refund = std::get_if<privacy::ledger::Refunded>(&entry.body);
    if (refund != nullptr && refund->reservation == reservation) return Fate::kRefunded;
  }
  return Fate::kOpen;
}

// The same once more, made after the steward's word; 0: none that counts.
uint64_t MadeAgain(const std::vector<Entry>& entries, uint64_t after, const Reserved& first) {
  for (const Entry& entry : entries) {
    const auto* made = std::get_if<Reserved>(&entry.body);
    if (made != nullptr && entry.sequence > after && made->run_id == first.run_id &&
        made->agreement_hash == first.agreement_hash &&
        FateOf(entries, entry.sequence) != Fate::kRefunded)
      return entry.sequence;
  }
  return 0;
}

// Another job may do the same at the same time.
void SpendOnce(privacy::ledger::SqliteLedger& book, const std::string& table, uint64_t reservation,
               const privacy::ledger::Stamp& stamp) {
  try {
    book.Spend(table, reservation, stamp);
  } catch (const Error&) {
    if (FateOf(book.Entries(table), reservation) != Fate::kSpent) throw;
  }
}

// Of the entry's number in the word; null for a number that is none of the account.
const Reserved* ReservedAt(const std::vector<Entry>& entries, uint64_t number) {
  return number < 1 || number > entries.size() ? nullptr
                                               : std::get_if<Reserved>(&entries[number - 1].body);
}

}  // namespace

void SettleKept(privacy::ledger::SqliteLedger& book, const KeptAccount& account) {
  const std::vector<Entry> entries = book.Entries(account.table);
  const uint64_t last = account.head.sequence;
  if (entries.size() < last || entries[last - 1].hash != account.head.hash) {
    throw Error(ErrorCode::kRefused,
                "the ledger is not the copy for which the steward signed after a restore",
                "Put the newest copy back; if it is lost, the steward signs that all is spent: "
                "partita node reopen.");
  }
  const privacy::ledger::Stamp stamp{"restored node", NowUtc()};
  // A run has one open reservation: those that are open first.
  for (const uint64_t number : account.charged) {
    if (ReservedAt(entries, number) != nullptr && FateOf(entries, number) == Fate::kOpen)
      SpendOnce(book, account.table, number, stamp);
  }
  for (const uint64_t number : account.charged) {
    const Reserved* first = ReservedAt(entries, number);
    if (first == nullptr || FateOf(entries, number) != Fate::kRefunded) continue;
    uint64_t again = MadeAgain(entries, last, *first);
    if (again == 0) {
      again = book.Reserve({account.table, first->run_id, first->agreement_hash, first->study,
                            first->charges, first->exact},
                           stamp)
                  .number;
    } else if (FateOf(entries, again) == Fate::kSpent) {
      continue;
    }
    SpendOnce(book, account.table, again, stamp);
  }
}

}  // namespace partita::node
