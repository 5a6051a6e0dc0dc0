// What a ledger file keeps beside the accounts of its own tables, as one chain of numbered rows:
// which accounts it has, which heads of other parties it was shown and signed for, and which runs
// its owner's approvals were used for.
//
// hash_n = SHA-256("partita ledger journal", hash_(n-1), row bytes), all length-prefixed; hash_0 =
// SHA-256("partita ledger journal start"). The first row holds a pseudonym of 32 random bytes. A
// row that is deleted, changed or moved breaks the chain. Rows cut off at the end are missed by
// every entry of an account that was made after them, because it names the newest row of its time
// (JournalMark), and by the peers that were shown the head of a ledger without tables.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "privacy/ledger/entry.h"
#include "privacy/ledger/receipts.h"

namespace partita::privacy::ledger {

inline constexpr uint64_t kMaxRunsOfApproval = 1'000'000;

// The first row.
struct Began {
  Pseudonym pseudonym{};
  // Whether the file was taken over from a version whose receipts were in no chain: of those rows
  // nobody knows whether they are all.
  bool taken_over = false;
};
struct AccountMade {
  std::string table;
  Pseudonym pseudonym{};
};
struct Witnessed {
  Receipt receipt;
  std::string owner;  // the party that showed the head
};
// A run that an approval was used for.
struct Used {
  Digest approval{};  // study::ApprovalDigest
  uint64_t runs = 1;  // that it is for
  Digest run_id{};
};

// The newest head that a party showed of a pseudonym.
struct ShownHead {
  Head head;
  bool is_overtaken = false;  // another party showed a newer one

  bool operator==(const ShownHead&) const = default;
};

using JournalBody = std::variant<Began, AccountMade, Witnessed, Used>;

struct JournalRow {
  uint64_t number = 0;  // 1, 2, ...
  Stamp stamp;
  JournalBody body;
  Digest hash{};  // of the chain up to and including this row
};

// The canonical bytes of number, stamp and body. Throws kUsage as EncodeEntry.
Bytes EncodeJournalRow(const JournalRow& row);
// Throws kRefused unless the bytes are exactly what EncodeJournalRow writes. Leaves the hash zero.
JournalRow DecodeJournalRow(ByteView bytes);

// The journal as a function of its rows: pure, no clock, no file.
class Journal {
 public:
  Journal();

  // The row that would come next; nothing changes. Throws kRefused for a head that is older than
  // one shown before (CheckShownHead), and for an approval that is used up; kUsage for a table that
  // has an account, a run that is there already, or malformed values.
  JournalRow Next(const Stamp& stamp, JournalBody body) const;
  // Folds the next row as it was stored. Throws kRefused if the number, the hash or the row is not
  // the next one of this chain.
  void Replay(ByteView row_bytes, const Digest& hash);

  // number 0: there is no row yet.
  const Head& head() const { return head_; }
  JournalMark mark() const { return {head_.sequence, head_.hash}; }
  // Whether it is a place of this journal.
  bool Holds(const JournalMark& mark) const;
  // Whether receipts from before the journal were taken over.
  bool taken_over() const { return taken_over_; }
  // Pseudonyms by table.
  const std::map<std::string, Pseudonym>& accounts() const { return accounts_; }
  // The newest head that was shown for a pseudonym.
  std::optional<Receipt> LastReceipt(const Pseudonym& pseudonym) const;
  // Of every pseudonym that `owner` ever showed the newest head that it showed itself, and whether that is the newest: a
  // third party that shows somebody else's pseudonym hides nothing by it, and reads no head of the other's. By pseudonym.
  std::vector<ShownHead> NewestShownBy(const std::string& owner) const;
  // Whether this is the newest head that `owner` showed of its pseudonym.
  bool IsNewestShownBy(const std::string& owner, const Head& head) const;
  // Of the first row that has a time: its rows tell of nothing before. 0: there is none.
  int64_t since() const { return since_; }
  uint64_t receipts() const { return receipts_; }
  // The runs that an approval was used for, in order.
  const std::vector<Digest>& RunsOf(const Digest& approval) const;

 private:
  void Check(const JournalBody& body) const;

  Head head_;
  bool taken_over_ = false;
  int64_t since_ = 0;
  std::vector<Digest> hashes_;  // by number - 1
  std::map<std::string, Pseudonym> accounts_;
  std::map<Pseudonym, Receipt> newest_;
  std::map<std::string, std::map<Pseudonym, Head>> shown_by_;
  std::map<Digest, std::vector<Digest>> uses_;
  uint64_t receipts_ = 0;
};

}  // namespace partita::privacy::ledger
