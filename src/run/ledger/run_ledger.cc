#include "run/ledger/run_ledger.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/utc_time.h"
#include "crypto/signature.h"
#include "net/frame.h"
#include "net/stop.h"
#include "net/swap.h"
#include "privacy/ledger/receipts.h"
#include "run/approval/approvals.h"
#include "run/ledger/ledger_charges.h"
#include "run/party/own_error.h"

namespace partita::run {
namespace {

using privacy::ledger::Head;
using privacy::ledger::kHeadBytes;
using privacy::ledger::kReceiptBytes;
using privacy::ledger::Receipt;

bool IsZero(ByteView bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](uint8_t byte) { return byte == 0; });
}

// The first word of what is shown: of an account, of a journal without accounts, or of nothing; and
// beside it whether the run goes on.
constexpr uint64_t kNothingShown = 0, kAccountShown = 1, kJournalShown = 2, kGoesOn = 4;

struct ShownAccount {
  std::optional<Head> head;
  bool account = false;  // the head is that of the account of a table
  uint64_t exact_before = 0;
  bool goes_on = false;
};

Bytes EncodeShown(const ShownAccount& shown) {
  const uint64_t kind = !shown.head ? kNothingShown : shown.account ? kAccountShown : kJournalShown;
  ByteWriter writer;
  writer.U64(kind | (shown.goes_on ? kGoesOn : 0));
  writer.Raw(shown.head ? EncodeHead(*shown.head) : Bytes(kHeadBytes));
  writer.U64(shown.account ? shown.exact_before : 0);
  return writer.Take();
}

ShownAccount DecodeShown(ByteView bytes, const std::string& party) {
  ByteReader reader(bytes);
  const uint64_t word = reader.U64();
  const uint64_t kind = word & ~kGoesOn;
  const ByteView head = reader.Raw(kHeadBytes);
  ShownAccount shown;
  shown.exact_before = reader.U64();
  shown.account = kind == kAccountShown;
  shown.goes_on = (word & kGoesOn) != 0;
  if (kind > kJournalShown || (kind == kNothingShown && !IsZero(head)) ||
      (!shown.account && shown.exact_before != 0)) {
    throw Error(ErrorCode::kPeerFault,
                fmt::format("what party {} shows of its ledger is damaged", party),
                "ask that party to update Partita");
  }
  if (kind != kNothingShown) shown.head = privacy::ledger::DecodeHead(head, party);
  return shown;
}

// The number of the spent reservation of a run; 0: none.
uint64_t SpentFor(privacy::ledger::SqliteLedger& ledger, const std::string& table,
                  const crypto::Digest& run_id) {
  uint64_t reserved = 0;
  for (const privacy::ledger::Entry& entry : ledger.Entries(table)) {
    if (const auto* made = std::get_if<privacy::ledger::Reserved>(&entry.body)) {
      if (made->run_id == run_id) reserved = entry.sequence;
    } else if (const auto* used = std::get_if<privacy::ledger::Spent>(&entry.body)) {
      if (reserved != 0 && used->reservation == reserved) return reserved;
    }
  }
  return 0;
}

}  // namespace

RunLedger::RunLedger(const LedgerOptions& options, crypto::Identity identity)
    : options_(options),
      ledger_(OpenLedger(options.file, options.vfs)),
      identity_(std::move(identity)) {}

void RunLedger::Prepare(const Study& study, size_t party, ChargedRun* run, bool goes_on) {
  party_ = study.parties[party].name;
  if (!study.parties[party].holder) return;
  table_ = ChosenTable(ledger_, options_);
  const privacy::ledger::Standing standing = ledger_.StandingOf(table_);
  exact_before_ = standing.spent.exact + standing.reserved.exact;
  run_ = run;
  if (run != nullptr && run->run_id()) {
    for (const auto& [number, open] : standing.reservations) {
      if (open.run_id != *run->run_id()) continue;
      reservation_ = privacy::ledger::Reservation{number, standing.head};
      taken_up_ = true;
      exact_before_ -= open.exact;
      return;
    }
    if (goes_on && (covered_by_ = SpentFor(ledger_, table_, *run->run_id())) != 0) return;
  }
  if (study.releases.empty()) return;  // nothing leaves its holder
  request_ = ChargesOf(study, standing.policy);
  ledger_.Price(*request_);
}

privacy::ledger::Stamp RunLedger::Now() const { return {"party " + party_, NowUtc()}; }

void RunLedger::Reserve(const RunIdentity& run) {
  if (!request_) return;
  request_->run_id = run.run_id;
  request_->agreement_hash = run.agreement_hash;
  reservation_ = KeepToOwner(net::StopReason::kLedger, [&] {
    if (run_ != nullptr) run_->Begin(run.run_id);
    return ledger_.Reserve(*request_, Now());
  });
}

std::optional<Head> RunLedger::Shown() {
  if (!has_table())
    return KeepToOwner(net::StopReason::kLedger, [&] { return ledger_.JournalHead(); });
  if (!reservation_ && covered_by_ == 0) return std::nullopt;
  return KeepToOwner(net::StopReason::kLedger, [&] { return ledger_.HeadOf(table_); });
}

Bytes RunLedger::Witness(const Head& head, const RunIdentity& run, const std::string& owner) {
  const Receipt receipt{head, run.run_id, run.agreement_hash};
  const auto last = KeepToOwner(net::StopReason::kLedger,
                                [&] { return ledger_.LastReceipt(receipt.head.pseudonym); });
  CheckShownHead(last, receipt, owner);
  KeepToOwner(net::StopReason::kLedger, [&] { return ledger_.Witness(receipt, owner, Now()); });
  if (!identity_.key) return {};
  return privacy::ledger::SignReceipt(identity_, receipt);
}

bool RunLedger::Countersign(const Head& head, const std::string& peer, const Bytes& certificate,
                            const Bytes& signature) {
  if (!reservation_) return true;  // a spent charge was countersigned when it was made
  if (taken_up_) return false;
  KeepToOwner(net::StopReason::kLedger, [&] {
    return ledger_.Countersign(table_, reservation_->number, {peer, head, certificate, signature},
                               Now());
  });
  return true;
}

void RunLedger::Spend(const std::optional<privacy::ledger::Used>& use) {
  KeepToOwner(net::StopReason::kLedger, [&] {
    if (reservation_ && !spent_) {
      ledger_.Spend(table_, reservation_->number, Now(), use);
      spent_ = true;
    } else if (use) {
      ledger_.Use(*use, Now());
    }
  });
}

std::vector<crypto::Digest> RunLedger::RunsOf(const crypto::Digest& approval) {
  return KeepToOwner(net::StopReason::kLedger, [&] { return ledger_.RunsOf(approval); });
}

void RunLedger::Refund(const std::string& why) noexcept {
  if (!reservation_ || spent_) return;
  try {
    ledger_.Refund(table_, reservation_->number, privacy::ledger::NothingSent(why), Now());
    reservation_.reset();
  } catch (const std::exception&) {
    // It stays reserved, which is the safe side.
  }
}

void RunLedger::Describe(LedgerOutcome& outcome) {
  if (table_.empty()) return;
  outcome.reservation = reservation_ ? reservation_->number : covered_by_;
  outcome.spent = spent_ || covered_by_ != 0;
  outcome.exact_before = exact_before_;
  outcome.standing = ledger_.StandingOf(table_);
}

std::vector<PeerAccount> ExchangeLedgers(net::Channel& channel, RunLedger* ledger,
                                         const RunIdentity& run,
                                         const std::vector<Bytes>& certificates) {
  channel.BeginPhase(kLedgerPhase);
  const size_t self = channel.self(), count = channel.num_parties();
  ShownAccount own;
  own.goes_on = run.goes_on;
  if (ledger != nullptr) {
    ledger->Reserve(run);
    own.head = ledger->Shown();
    own.account = own.head && ledger->has_table();
    own.exact_before = ledger->exact_before();
  }
  const std::vector<Bytes> shown = net::Swap(channel, EncodeShown(own));
  std::vector<PeerAccount> accounts(count);
  std::vector<Bytes> receipts(count, Bytes(kReceiptBytes));
  for (size_t peer = 0; peer < count; ++peer) {
    accounts[peer].party = channel.names()[peer];
    const ShownAccount account = DecodeShown(shown[peer], accounts[peer].party);
    accounts[peer].kept = account.account;
    accounts[peer].exact_before = account.exact_before;
    accounts[peer].goes_on = account.goes_on;
    if (peer == self || ledger == nullptr || !account.head) continue;
    const Bytes signature = ledger->Witness(*account.head, run, accounts[peer].party);
    if (account.account && !signature.empty())
      receipts[peer] = privacy::ledger::EncodeSignature(signature);
  }
  const std::vector<Bytes> signatures = net::Swap(channel, receipts, kReceiptBytes);
  for (size_t peer = 0; own.account && peer < count; ++peer) {
    if (peer == self || IsZero(signatures[peer])) continue;
    accounts[peer].countersigned = ledger->Countersign(
        *own.head, accounts[peer].party, certificates[peer],
        privacy::ledger::DecodeSignature(signatures[peer], accounts[peer].party));
  }
  return accounts;
}

Bytes LedgerGate::Commit() {
  Bytes ok = AgreedReleaseGate::Commit();
  Spend();
  return ok;
}

void LedgerGate::Spend() {
  if (approvals_ != nullptr) {
    approvals_->Spend(ledger_, run_);
  } else if (ledger_ != nullptr) {
    ledger_->Spend();
  }
}

}  // namespace partita::run
