#include "privacy/ledger/audit.h"

#include <fmt/format.h>

#include "base/error.h"
#include "crypto/signature.h"

namespace partita::privacy::ledger {
namespace {

[[noreturn]] void Distrust(uint64_t sequence, const std::string& what) {
  throw Error(ErrorCode::kRefused, fmt::format("entry {} of the ledger: {}", sequence, what),
              "let nobody rely on this ledger, and find out who changed it");
}

// A filter is sound if its budget is not above that of its order.
void VerifyFilter(const Budget& budget, const Filter& filter, uint64_t sequence) {
  if (!Fits(filter.budget, BudgetAtOrder(budget, filter.order)))
    Distrust(sequence, "its filter allows more than its budget");
}

void VerifyFilters(const Policy& policy, const Filter& outside,
                   const std::optional<Filter>& insider, uint64_t sequence) {
  VerifyFilter(policy.outside, outside, sequence);
  if (policy.insider.has_value() != insider.has_value())
    Distrust(sequence, "filters and budgets do not belong together");
  if (insider.has_value()) VerifyFilter(*policy.insider, *insider, sequence);
}

class Verifier {
 public:
  Verifier(const Pseudonym& pseudonym, const std::vector<Entry>& entries)
      : state_(pseudonym), entries_(entries) {}

  void Run() {
    for (const Entry& entry : entries_) {
      try {
        std::visit([&](const auto& body) { VerifyClaims(entry.sequence, body); }, entry.body);
        if (state_.mark() && !entry.mark)
          Distrust(entry.sequence, "it names no row of the journal");
        state_.Replay(EncodeEntry(entry), entry.hash);
      } catch (const Error& error) {
        if (error.code() == ErrorCode::kRefused) throw;
        // A budget, order or mechanism that nobody could have written down.
        Distrust(entry.sequence, error.message());
      }
    }
  }

 private:
  void VerifyClaims(uint64_t sequence, const Opened& opened) {
    VerifyFilters(opened.policy, opened.outside, opened.insider, sequence);
  }
  void VerifyClaims(uint64_t sequence, const Reserved& reserved) {
    const Reserved priced = state_.Price(reserved.run_id, reserved.agreement_hash, reserved.study,
                                         reserved.charges, {});
    if (priced.outside != reserved.outside || priced.insider != reserved.insider)
      Distrust(sequence, "its costs are not those of its mechanisms");
  }
  void VerifyClaims(uint64_t, const Spent&) {}
  void VerifyClaims(uint64_t, const Refunded&) {}
  void VerifyClaims(uint64_t sequence, const Countersigned& signed_by) {
    const auto open = state_.reservations().find(signed_by.reservation);
    const auto certificate = crypto::DecodeCertificate(signed_by.certificate);
    if (open == state_.reservations().end() || signed_by.head < 1 || signed_by.head >= sequence ||
        certificate == nullptr)
      Distrust(sequence, "its receipt is for nothing that is there");
    const Receipt receipt{
        {state_.head().pseudonym, signed_by.head, entries_[signed_by.head - 1].hash},
        open->second.run_id,
        open->second.agreement_hash};
    if (!VerifyReceipt(*certificate, receipt, signed_by.signature))
      Distrust(sequence, "its signature is wrong");
  }
  void VerifyClaims(uint64_t sequence, const PolicyChanged& changed) {
    VerifyFilters(changed.policy, changed.outside_filter, changed.insider_filter, sequence);
    const std::vector<Entry> before(entries_.begin(),
                                    entries_.begin() + static_cast<std::ptrdiff_t>(sequence - 1));
    const auto cost = [&](AdversaryClass adversary_class, const Filter& filter) {
      return SpentCost(before, adversary_class, filter.order);
    };
    const Cost insider = changed.insider_filter.has_value()
                             ? cost(AdversaryClass::kInsider, *changed.insider_filter)
                             : Cost{};
    if (cost(AdversaryClass::kOutside, changed.outside_filter) != changed.outside ||
        insider != changed.insider)
      Distrust(sequence, "what was spent costs something else under its budget");
  }

  AccountState state_;
  const std::vector<Entry>& entries_;
};

}  // namespace

void VerifyEntries(const Pseudonym& pseudonym, const std::vector<Entry>& entries) {
  Verifier(pseudonym, entries).Run();
}

}  // namespace partita::privacy::ledger
