// A party's privacy ledger in a run: what is charged before anything can be opened, and what the
// peers countersign.
//
// Phase "ledger", right after the approvals, two rounds among all processes of the study:
//   1. Each holder that keeps a ledger reserves what the study costs its table (ledger_charges.h)
//      and shows the head of its account, and how many exact results were released from the table
//      before. A party without a table that keeps a ledger shows the head of its journal. Everybody
//      says whether it goes on with a run that was interrupted. kShownLedgerBytes to every other.
//   2. Each process that keeps a ledger checks the heads that it saw against the last ones it was
//      shown, stores them durably and returns a signature for accounts. kReceiptBytes to every
//      other.
// A restored backup is refused in step 2 by any peer that saw the newer ledger (methods.md, R-m).
// The reservation is spent, durably, right before this party says ok to the others (LedgerGate,
// mpc/release_ok.h), and refunded if the run ends before that: nobody opens anything without every
// party's ok. A process that dies in between leaves the reservation open; its next attempt, in the
// same folder, takes it up (charged_run.h). Until then, and where there is none, it counts as spent
// unless its steward says otherwise (`partita ledger refund`).
//
// Who keeps no ledger shows no head, returns zeros, and everybody's report says so. Revealed to the
// peers: that it is the same account or journal as in an earlier study, its number of entries, the
// number of exact results, and whether a run goes on. What fails in the own ledger is told to the
// peers in general words (own_error.h).
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "crypto/certificate.h"
#include "mpc/release_gate.h"
#include "net/channel.h"
#include "privacy/ledger/sqlite_ledger.h"
#include "run/approval/approval_uses.h"
#include "run/ledger/open_ledger.h"
#include "run/method/study.h"
#include "run/party/charged_run.h"
#include "study/approval/approval.h"

namespace partita::run {

class Approvals;

inline constexpr char kLedgerPhase[] = "ledger";
inline constexpr size_t kShownLedgerBytes = 8 + privacy::ledger::kHeadBytes + 8;

// What a party showed about its table.
struct PeerAccount {
  std::string party;
  bool kept = false;           // whether it keeps an account of its table
  uint64_t exact_before = 0;   // exact results released from the table before this study
  bool countersigned = false;  // whether it countersigned the charge of the party that reports
  bool goes_on = false;        // whether it goes on with a run that was interrupted
};

// What the ledger did in a run.
struct LedgerOutcome {
  uint64_t reservation = 0;  // number of the entry; 0: none
  bool spent = false;
  uint64_t exact_before = 0;  // exact results of the own table, before this study
  std::optional<privacy::ledger::Standing> standing;  // of the account, after the run
  std::vector<PeerAccount> parties;                   // all, by channel index
};

// What a receipt is bound to beside the head.
struct RunIdentity {
  crypto::Digest run_id{};
  crypto::Digest agreement_hash{};
  bool goes_on = false;  // this party goes on with a run that was interrupted; in no receipt
};

// This party's ledger. The calls come in this order; errors are those of SqliteLedger.
class RunLedger {
 public:
  // identity: signs for the peers; without a key (parties as threads) this party signs nothing.
  RunLedger(const LedgerOptions& options, crypto::Identity identity);

  // Before anybody is connected: chooses the account and prices the study. A party without a table
  // only countersigns. run: borrowed; null: this attempt is a run of its own. The reservation that
  // was made for it is taken up if it is still open; if it was spent it covers this attempt where
  // `goes_on` (Study::GoesOn). Then nothing is reserved, and no new countersignature is taken.
  // Throws kBudget or kRefused if it does not fit, kUsage if it is not clear which account is
  // meant.
  void Prepare(const Study& study, size_t party, ChargedRun* run = nullptr, bool goes_on = false);
  // Holders. Durable on return, and counts against the budget.
  void Reserve(const RunIdentity& run);
  // The head of the account, if there is a reservation, or that of the journal of a party without a
  // table; asked for just before it is shown.
  std::optional<privacy::ledger::Head> Shown();
  bool has_table() const { return !table_.empty(); }
  uint64_t exact_before() const { return exact_before_; }
  // Stores the head that `owner` shows and signs it; empty without a key. Throws kRefused for an
  // older head than before, which everybody may know.
  Bytes Witness(const privacy::ledger::Head& head, const RunIdentity& run,
                const std::string& owner);
  // A peer's signature over the head that was shown to it. False if it is not kept: a reservation
  // that was taken up is bound to an earlier attempt.
  bool Countersign(const privacy::ledger::Head& head, const std::string& peer,
                   const Bytes& certificate, const Bytes& signature);
  // If there is a reservation: durable on return; from here on it stays charged. use: of the own
  // approval, counted in the same transaction, with or without a reservation.
  void Spend(const std::optional<privacy::ledger::Used>& use = {});
  bool spent() const { return spent_; }
  // The runs that an approval was used for.
  std::vector<crypto::Digest> RunsOf(const crypto::Digest& approval);
  // If nothing was spent: takes the reservation back. why: words for the entry. Never throws: what
  // cannot be refunded stays charged.
  void Refund(const std::string& why) noexcept;
  // Reads the account once more.
  void Describe(LedgerOutcome& outcome);

 private:
  privacy::ledger::Stamp Now() const;

  LedgerOptions options_;
  privacy::ledger::SqliteLedger ledger_;
  std::string table_;  // holders
  crypto::Identity identity_;
  std::string party_;
  std::optional<privacy::ledger::ReservationRequest> request_;  // holders
  std::optional<privacy::ledger::Reservation> reservation_;
  uint64_t exact_before_ = 0;
  bool spent_ = false;
  ChargedRun* run_ = nullptr;
  bool taken_up_ = false;    // reservation_ is of an earlier attempt
  uint64_t covered_by_ = 0;  // the spent reservation of an earlier attempt; 0: none
};

// The phase. ledger: null: this party keeps none. certificates: DER, by channel index, of the keys with
// which the parties sign receipts. Returns what everybody showed.
std::vector<PeerAccount> ExchangeLedgers(net::Channel& channel, RunLedger* ledger,
                                         const RunIdentity& run,
                                         const std::vector<Bytes>& certificates);

// Before this party says that it may be opened: spends the reservation and counts the run against
// this party's approval (Approvals::Spend). Counts openings.
class LedgerGate : public mpc::AgreedReleaseGate {
 public:
  // ledger: null: this party keeps none, and says ok like the others. approvals: null: there is
  // none. Both borrowed.
  LedgerGate(RunLedger* ledger, ByteView run_id, Approvals* approvals = nullptr,
             const ApprovedRun& run = {})
      : AgreedReleaseGate(run_id), ledger_(ledger), approvals_(approvals), run_(run) {}
  Bytes Commit() override;
  // Of a run in which something may have opened before: at once. More calls do nothing.
  void Spend();

 private:
  RunLedger* ledger_;
  Approvals* approvals_;
  ApprovedRun run_;
};

}  // namespace partita::run
