// The ledger file of one institution: the accounts of its tables, and a journal of the receipts
// that it gave and the approvals that it used (journal.h).
//
// One SQLite file, rollback journal, synchronous EXTRA (FULL alone leaves the deletion of the
// journal, which is the commit, to chance after a power failure), every call one BEGIN IMMEDIATE
// transaction: what a call returned is durable, what it refused left no trace, and any number of
// processes may use the file at once. Costs one transaction (4 to 5 syncs) per call that writes.
//
// Opening verifies the hash chains of the journal and of every account, and that they have what
// this host has seen of them (seen_heads.h). Before each call the object reads what other processes
// appended since.
//
// Errors beside those of AccountState: kUsage for a file that cannot be opened, kStorage for one
// that cannot be read or written (the object then refuses all further calls: after a failed sync
// nothing is known), kRefused for a file that is damaged or no ledger, kTimeout if other processes
// held the file for too long. One object per thread; never carry one over fork().
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "crypto/random.h"
#include "privacy/ledger/account_state.h"
#include "privacy/ledger/entry.h"
#include "privacy/ledger/journal.h"
#include "privacy/ledger/receipts.h"

namespace partita::privacy::ledger {

struct LedgerOptions {
  std::filesystem::path file;
  std::chrono::milliseconds patience{30'000};  // for other processes to finish a transaction
  std::string vfs = {};                        // SQLite's name of the file system; empty: default
};

struct ReservationRequest {
  std::string table;
  Digest run_id{};
  Digest agreement_hash{};
  std::string study;
  std::vector<Charge> charges;      // empty: only exact releases
  std::vector<ExactRelease> exact;  // empty: none
};
struct Reservation {
  uint64_t number = 0;  // what Spend and Refund ask for
  Head head;            // with the reservation as the last entry
};

// The caller's word that no message that could let anybody open a result was queued in this run.
struct NothingSent {
  explicit NothingSent(std::string reason) : why(std::move(reason)) {}
  std::string why;
};

struct Countersignature {
  std::string peer;
  Head head;          // that was shown to the peer
  Bytes certificate;  // DER, of the peer, as the roster pins it
  Bytes signature;
};

// An open account as somebody sees it who asks.
struct Standing {
  Policy policy;
  Filter outside;
  std::optional<Filter> insider;
  Totals spent, reserved;
  Head head;
  uint64_t studies_spent = 0;
  uint64_t policy_changes = 0;
  std::map<uint64_t, OpenReservation> reservations;  // by number
};

// Of the journal.
struct JournalSummary {
  uint64_t rows = 0;
  uint64_t receipts = 0;    // given to other parties
  bool taken_over = false;  // Began::taken_over
  int64_t since = 0;        // Journal::since
  // Whether this host would miss the newest of what is there (seen_heads.h).
  bool seen = false;
};

class SqliteLedger {
 public:
  // Makes the file (mode 0600, in an existing folder), whole or not at all. Throws kUsage if it
  // exists, kRefused if another one was there before and is missing.
  static void Create(const LedgerOptions& options);
  // As above; returns false if it exists, made by another process at the same moment or before.
  static bool CreateUnlessThere(const LedgerOptions& options);
  // Takes over a ledger of version 1, once, in one transaction: accounts as they are, receipts into
  // the journal. Throws kUsage if it is of this version, kRefused, and changes nothing, if it does
  // not verify. Receipts that were deleted before cannot be noticed, and the journal says so.
  static void Upgrade(const LedgerOptions& options, const Stamp& stamp);
  // Opens and verifies.
  explicit SqliteLedger(const LedgerOptions& options);
  ~SqliteLedger();
  SqliteLedger(SqliteLedger&&) noexcept;
  SqliteLedger& operator=(SqliteLedger&&) noexcept;

  // --- the steward's calls ---------------------------------------------------------------------
  // Throws kUsage if the table has an account.
  Head OpenAccount(const Policy& policy, crypto::RandomSource& random, const Stamp& stamp);
  // why: required where the new policy is wider; kept in the chain.
  Head ChangePolicy(const Policy& policy, const std::string& why, const Stamp& stamp);

  // --- a run's calls, in this order ------------------------------------------------------------
  // Before the first message of the online phase leaves.
  Reservation Reserve(const ReservationRequest& request, const Stamp& stamp);
  // What to show to the peers, read as late as possible. (A reservation's own head will do if no
  // other run of the same table is going on: of two heads that cross on the way, the one that is
  // overtaken is refused, and a fresh one may be shown.)
  Head HeadOf(const std::string& table);
  // Throws kRefused, naming the peer, unless the signature is the peer's, over a head of this
  // account not before the reservation, for the reservation's run and study.
  Head Countersign(const std::string& table, uint64_t reservation,
                   const Countersignature& countersignature, const Stamp& stamp);
  // Before the first own message leaves that could let anybody open a result. use: of the owner's
  // approval, counted in the same transaction; throws kRefused, and spends nothing, if that is used
  // up.
  Head Spend(const std::string& table, uint64_t reservation, const Stamp& stamp,
             const std::optional<Used>& use = {});
  // Instead, if the run ended before that. Never possible after Spend.
  Head Refund(const std::string& table, uint64_t reservation, const NothingSent& nothing_sent,
              const Stamp& stamp);

  // --- a peer's call, about another institution's account --------------------------------------
  // Checks (CheckShownHead) and stores durably. Sign only after it returned. `owner`: the party
  // that shows the head. Returns whether this pseudonym was never seen before.
  bool Witness(const Receipt& receipt, const std::string& owner, const Stamp& stamp);
  std::optional<Receipt> LastReceipt(const Pseudonym& pseudonym);
  std::vector<ShownHead> NewestShownBy(const std::string& owner);  // Journal::NewestShownBy

  // --- calls of a run that spends nothing ------------------------------------------------------
  // Counts a run against the owner's approval. Throws kRefused if that is used up.
  void Use(const Used& use, const Stamp& stamp);
  std::vector<Digest> RunsOf(const Digest& approval);
  // What the owner of a ledger without tables shows to its peers.
  Head JournalHead();
  // Whether it is a place of the journal.
  bool JournalHolds(const JournalMark& mark);

  // --- reading ---------------------------------------------------------------------------------
  std::vector<std::string> Tables();
  bool HasAccount(const std::string& table);
  Standing StandingOf(const std::string& table);  // throws kUsage if there is no such account
  std::vector<Entry> Entries(const std::string& table);
  // Prices a request without reserving anything; throws what Reserve would.
  Reserved Price(const ReservationRequest& request);
  JournalSummary Summary();
  // Everything that can be verified: SQLite's integrity check, chains, states, costs computed again
  // from the mechanisms, signatures, and that the entries name rows that the journal has. Throws
  // kRefused saying what is wrong.
  void Verify();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace partita::privacy::ledger
