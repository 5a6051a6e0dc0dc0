// What an account consists of: numbered entries, never changed, each bound to all before it.
//
// An account is one table of one owner, by the name that its steward chose; rows may be added to
// the table, its account stays. hash_n = SHA-256("partita ledger entry", hash_(n-1), entry bytes),
// all length-prefixed; hash_0 = SHA-256("partita ledger account", pseudonym), the pseudonym 32
// random bytes made with the account. Peers see pseudonym, number and hash, never the entries.
//
// An entry names the newest row of the file's journal (journal.h) as it was when the entry was
// made: whoever holds the head of an account holds the journal up to there as well.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "crypto/hash.h"
#include "privacy/ledger/filter.h"
#include "privacy/ledger/policy.h"
#include "privacy/statement.h"

namespace partita::privacy::ledger {

using crypto::Digest;
using Pseudonym = std::array<uint8_t, 32>;

inline constexpr size_t kMaxEntryBytes = size_t{1} << 20;
inline constexpr size_t kMaxText = 400;    // bytes of every text; no control characters
inline constexpr size_t kMaxItems = 4096;  // charges, exact releases or variables of one entry

// One mechanism against one adversary. Adversaries whose loss is unlimited (the dealer together
// with a party) are not charged: no budget covers them.
struct Charge {
  std::string release;  // id of the release in the plan
  // kOutsideAnalyst and kDealer count against the outside budget, kParty, kCoalition and
  // kComputeNodes against the insider budget.
  Adversary adversary;
  // That of the budget; compute the sensitivity for it.
  Adjacency adjacency = Adjacency::kReplace;
  ChargedMechanism mechanism;
  uint64_t count = 1;
};

// Numbers opened without noise (methods.md, R-j and R-k).
struct ExactRelease {
  std::string release;  // id in the plan
  std::string what;
  std::string to;       // party name, or "all"
  uint64_t values = 0;  // ring elements opened, all openings together
  // Numbers that determine the table's contribution to the analysis: when as many are opened, they
  // are known.
  uint64_t sufficient_statistics = 0;
  std::vector<std::string> variables;
};

struct Opened {
  Policy policy;
  Filter outside;
  std::optional<Filter> insider;  // exactly if the policy has such a budget
};
struct Reserved {
  Digest run_id{};
  Digest agreement_hash{};
  std::string study;
  std::vector<Charge> charges;
  std::vector<ExactRelease> exact;
  // Of all charges: for insiders that of the one who learns most.
  Cost outside, insider;
};
struct Spent {
  uint64_t reservation = 0;  // number of the Reserved entry
};
struct Refunded {
  uint64_t reservation = 0;
  std::string why;
};
// A peer's signed word that it has seen this account's chain up to here (receipts.h).
struct Countersigned {
  uint64_t reservation = 0;
  std::string peer;
  uint64_t head = 0;  // number of the entry that was the head when the peer signed
  Bytes certificate;  // DER
  Bytes signature;
};
// The order may change with the budget; `outside` and `insider` then are what all spent
// reservations cost at the new orders.
struct PolicyChanged {
  Policy policy;
  Filter outside_filter;
  std::optional<Filter> insider_filter;
  Cost outside, insider;
  std::string why;
};

using EntryBody = std::variant<Opened, Reserved, Spent, Refunded, Countersigned, PolicyChanged>;

// Who made an entry, and when: for people, nothing is decided by it.
struct Stamp {
  std::string by;
  int64_t at = 0;  // seconds since 1970, UTC
};

// A place in the journal of the file.
struct JournalMark {
  uint64_t number = 0;  // of its row: 1, 2, ...
  Digest hash{};        // of the journal up to and including it
  bool operator==(const JournalMark&) const = default;
};

struct Entry {
  uint64_t sequence = 0;  // 1, 2, ...
  Stamp stamp;
  EntryBody body;
  Digest hash{};  // of the chain up to and including this entry
  // Of the journal when the entry was made; none in entries that were made before ledgers had one.
  std::optional<JournalMark> mark = {};
};

AdversaryClass ClassOf(const Adversary& adversary);

// A release of this name is a private sum's (sums/service/round_charge.h). It is charged to an account without showing its
// head to anybody.
inline constexpr char kPrivateSumRelease[] = "private-sum, closings ";
bool IsPrivateSum(const Reserved& reserved);

// The cost against a class: summed over releases, and for insiders the largest among them.
Cost CostAgainst(const std::vector<Charge>& charges, AdversaryClass adversary_class,
                 uint64_t order);

// The canonical bytes of number, stamp, body and mark; the hash is not part of them. Throws kUsage
// if a text is too long or holds control characters, or a list is too long.
Bytes EncodeEntry(const Entry& entry);
// Throws kRefused unless the bytes are exactly what EncodeEntry writes. Leaves the hash zero.
Entry DecodeEntry(ByteView bytes);

// One text of an entry or of a row of the journal. Throws kUsage as EncodeEntry.
void WriteText(ByteWriter& writer, const std::string& text);

Digest ChainStart(const Pseudonym& pseudonym);
Digest ChainNext(const Digest& previous, ByteView entry_bytes);

// "opened", "reserved", "spent", "refunded", "countersigned", "policy-changed".
std::string_view EntryKind(const EntryBody& body);

}  // namespace partita::privacy::ledger
