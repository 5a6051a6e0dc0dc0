#include "runtime/run_ledger.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "crypto/signature.h"
#include "net/frame.h"
#include "net/swap.h"
#include "privacy/ledger/receipts.h"
#include "runtime/ledger_charges.h"
#include "study/utc_time.h"

namespace partita::runtime {
namespace {

using privacy::ledger::Head;
using privacy::ledger::kHeadBytes;
using privacy::ledger::kReceiptBytes;
using privacy::ledger::Receipt;

bool IsZero(ByteView bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](uint8_t byte) { return byte == 0; });
}

Bytes EncodeShown(const std::optional<Head>& head, uint64_t exact_before) {
  ByteWriter writer;
  writer.U64(head ? 1 : 0);
  writer.Raw(head ? EncodeHead(*head) : Bytes(kHeadBytes));
  writer.U64(exact_before);
  return writer.Take();
}

struct ShownAccount {
  std::optional<Head> head;
  uint64_t exact_before = 0;
};

ShownAccount DecodeShown(ByteView bytes, const std::string& party) {
  ByteReader reader(bytes);
  const uint64_t flag = reader.U64();
  const ByteView head = reader.Raw(kHeadBytes);
  ShownAccount shown;
  shown.exact_before = reader.U64();
  if (flag > 1 || (flag == 0 && (!IsZero(head) || shown.exact_before != 0))) {
    throw Error(ErrorCode::kPeerFault,
                fmt::format("what party {} shows of its ledger is damaged", party),
                "ask that party to update Partita");
  }
  if (flag == 1) shown.head = privacy::ledger::DecodeHead(head, party);
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

// The peers are told that the own ledger said no, not why.
template <typename F>
auto Privately(net::Channel& channel, F work) {
  try {
    return work();
  } catch (const Error&) {
    channel.Abort(Error(ErrorCode::kRefused, "its own privacy ledger does not allow this run"));
    throw;
  }
}

}  // namespace

RunLedger::RunLedger(const LedgerOptions& options, crypto::Identity identity)
    : options_(options), ledger_(OpenLedger(options.file)), identity_(std::move(identity)) {}

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

privacy::ledger::Stamp RunLedger::Now() const { return {"party " + party_, study::NowUtc()}; }

void RunLedger::Reserve(const RunIdentity& run) {
  if (!request_) return;
  request_->run_id = run.run_id;
  request_->study_file_hash = run.study_file_hash;
  if (run_ != nullptr) run_->Begin(run.run_id);
  reservation_ = ledger_.Reserve(*request_, Now());
}

std::optional<Head> RunLedger::Shown() {
  if (!reservation_ && covered_by_ == 0) return std::nullopt;
  return ledger_.HeadOf(table_);
}

Bytes RunLedger::Witness(const Head& head, const RunIdentity& run, const std::string& owner) {
  const Receipt receipt{head, run.run_id, run.study_file_hash};
  ledger_.Witness(receipt, owner, Now());
  if (!identity_.key) return {};
  return privacy::ledger::SignReceipt(identity_, receipt);
}

bool RunLedger::Countersign(const Head& head, const std::string& peer, const Bytes& certificate,
                            const Bytes& signature) {
  if (!reservation_) return true;  // a spent charge was countersigned when it was made
  if (taken_up_) return false;
  ledger_.Countersign(table_, reservation_->number, {peer, head, certificate, signature}, Now());
  return true;
}

void RunLedger::Spend() {
  if (!reservation_ || spent_) return;
  ledger_.Spend(table_, reservation_->number, Now());
  spent_ = true;
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
                                         const std::vector<study::SignedApproval>& approvals) {
  channel.BeginPhase(kLedgerPhase);
  const size_t self = channel.self(), count = channel.num_parties();
  std::optional<Head> head;
  if (ledger != nullptr) {
    Privately(channel, [&] { ledger->Reserve(run); });
    head = ledger->Shown();
  }
  const std::vector<Bytes> shown =
      net::Swap(channel, EncodeShown(head, head ? ledger->exact_before() : 0));
  std::vector<PeerAccount> accounts(count);
  std::vector<Bytes> receipts(count, Bytes(kReceiptBytes));
  for (size_t peer = 0; peer < count; ++peer) {
    accounts[peer].party = channel.names()[peer];
    const ShownAccount account = DecodeShown(shown[peer], accounts[peer].party);
    accounts[peer].kept = account.head.has_value();
    accounts[peer].exact_before = account.exact_before;
    if (peer == self || ledger == nullptr || !account.head) continue;
    const Bytes signature = ledger->Witness(*account.head, run, accounts[peer].party);
    if (!signature.empty()) receipts[peer] = privacy::ledger::EncodeSignature(signature);
  }
  const std::vector<Bytes> signatures = net::Swap(channel, receipts, kReceiptBytes);
  for (size_t peer = 0; head && peer < count; ++peer) {
    if (peer == self || IsZero(signatures[peer])) continue;
    accounts[peer].countersigned = ledger->Countersign(
        *head, accounts[peer].party, approvals[peer].signature.certificate,
        privacy::ledger::DecodeSignature(signatures[peer], accounts[peer].party));
  }
  return accounts;
}

void LedgerGate::Opening(std::string_view release_id, size_t to_party, uint64_t num_values) {
  CountingReleaseGate::Opening(release_id, to_party, num_values);
  if (ledger_ != nullptr) ledger_->Spend();
}

}  // namespace partita::runtime
