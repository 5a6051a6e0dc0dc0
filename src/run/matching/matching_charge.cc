#include "run/matching/matching_charge.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/utc_time.h"

namespace partita::run {
namespace {

constexpr char kMatchesRelease[] = "matches";

privacy::ledger::ChargedMechanism MechanismOf(const CountNoise& noise) {
  if (noise.delta == 0) return privacy::ledger::PureDp{noise.epsilon};
  return privacy::ledger::ApproximateDp{noise.epsilon, noise.delta};
}

bool HasNoise(const MatchingFile& file) { return file.level == match::Level::kHiddenNoisy; }

void RequireCharged(const MatchingFile& file) {
  if (HasNoise(file) || file.level == match::Level::kHiddenExact) return;
  throw Error(ErrorCode::kUsage,
              fmt::format("of the matching '{}' nothing is entered into a ledger", file.name),
              "leave --ledger out: it is for level \"hidden\" with count = \"exact\" or \"noisy\"");
}

}  // namespace

privacy::ledger::ReservationRequest MatchingCharges(const MatchingFile& file,
                                                    const privacy::ledger::Policy& policy) {
  privacy::ledger::ReservationRequest request;
  request.table = policy.table;
  request.study = file.name;
  if (!HasNoise(file)) {
    privacy::ledger::ExactRelease exact;
    exact.release = kMatchesRelease;
    exact.what = "the number of people who are in all lists";
    exact.to = "all";
    exact.values = exact.sufficient_statistics = 1;
    for (const match::KeyColumn& column : file.parties[0].keys.columns)
      exact.variables.push_back(column.name);
    request.exact.push_back(std::move(exact));
    return request;
  }
  privacy::ledger::Charge charge;
  charge.release = kMatchesRelease;
  charge.mechanism = MechanismOf(file.noise);
  charge.adjacency = policy.outside.adjacency;
  request.charges.push_back(charge);
  if (!policy.insider) return request;
  // Holders that pool what they know do not know the noise: the linker's, or the other holder's.
  charge.adversary.kind = privacy::AdversaryKind::kCoalition;
  charge.adversary.size = policy.coalition;
  charge.adjacency = policy.insider->adjacency;
  request.charges.push_back(std::move(charge));
  return request;
}

LedgerPrice PriceOfMatching(const MatchingFile& file, const LedgerOptions& options) {
  RequireCharged(file);
  privacy::ledger::SqliteLedger ledger = OpenLedger(options.file, options.vfs);
  const std::string table = ChosenTable(ledger, options);
  LedgerPrice price =
      PriceOfRequest(ledger, MatchingCharges(file, ledger.StandingOf(table).policy));
  price.kind = "Matching";
  return price;
}

MatchingCharge::MatchingCharge(const MatchingFile& file, size_t party,
                               const std::optional<LedgerOptions>& options)
    : party_(file.parties[party].name) {
  if (!options) {
    if (!HasNoise(file)) return;
    throw Error(
        ErrorCode::kUsage,
        fmt::format("the number of matches of '{}' has noise, which is charged to the table "
                    "of {}, and no privacy ledger is named",
                    file.name, party_),
        "say --ledger FILE; partita ledger open makes one");
  }
  RequireCharged(file);
  ledger_ = OpenLedger(options->file, options->vfs);
  const std::string table = ChosenTable(*ledger_, *options);
  request_ = MatchingCharges(file, ledger_->StandingOf(table).policy);
  ledger_->Price(request_);
}

void MatchingCharge::Spend(const crypto::Digest& run_id, const crypto::Digest& agreement_hash) {
  if (!ledger_) return;
  request_.run_id = run_id;
  request_.agreement_hash = agreement_hash;
  const privacy::ledger::Stamp stamp = {"party " + party_, NowUtc()};
  const privacy::ledger::Reservation made = ledger_->Reserve(request_, stamp);
  ledger_->Spend(request_.table, made.number, stamp);
}

}  // namespace partita::run
