#include "sums/service/round_charge.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <variant>

#include "base/error.h"
#include "base/utc_time.h"
#include "crypto/hash.h"
#include "sums/protocol/sum_statement.h"

namespace partita::sums {
namespace {

using privacy::Adjacency;
using privacy::Adversary;
using privacy::AdversaryKind;
using privacy::ledger::Charge;
using privacy::ledger::GridGaussian;

// The same for every attempt to open this round, whatever is in it.
crypto::Digest RunIdOf(const CollectionFile& collection) {
  return crypto::Sha256()
      .Field("partita dca round 2")
      .Update(collection.contract.study)
      .U64(collection.epoch)
      .Finish();
}

// What the entry says is released.
std::string ReleaseOf(const Agreement& agreement) {
  return privacy::ledger::kPrivateSumRelease + ToHex(agreement.hash);
}

// What `accepted` uploads carry against somebody outside, or against all compute nodes but one.
privacy::ledger::ChargedMechanism MechanismOf(const CollectionFile& collection, uint32_t accepted,
                                              AdversaryKind kind) {
  const Contract& contract = collection.contract;
  if (contract.noise_law == NoiseLaw::kLaplace) {
    return privacy::ledger::PureDp{ChargedLoss(contract, accepted, collection.delta).epsilon_upper};
  }
  GridGaussian mechanism;
  mechanism.remaining =
      kind == AdversaryKind::kOutsideAnalyst
          ? RemainingAgainstClients(contract, accepted, UncountedShares(contract, 0))
          : RemainingAgainstNodes(contract, accepted);
  mechanism.sensitivity = SumSensitivity(contract).value();
  return mechanism;
}

Charge ChargeAgainst(const CollectionFile& collection, const Agreement& agreement,
                     AdversaryKind kind, uint32_t size) {
  Adversary adversary;
  adversary.kind = kind;
  adversary.size = size;
  return {ReleaseOf(agreement), std::move(adversary), Adjacency::kReplace,
          MechanismOf(collection, agreement.count, kind), 1};
}

privacy::ledger::ReservationRequest ReservationRequestOf(const CollectionFile& collection,
                                                         const Agreement& agreement,
                                                         const privacy::ledger::Policy& policy) {
  if (policy.outside.adjacency != Adjacency::kReplace) {
    throw Error(ErrorCode::kRefused,
                fmt::format("the budget of table {} is for the adjacency add-remove, but who takes "
                            "part in a private sum is public (replace)",
                            policy.table),
                "open an account with --adjacency replace");
  }
  const Contract& contract = collection.contract;
  privacy::ledger::ReservationRequest request;
  request.table = policy.table;
  request.run_id = RunIdOf(collection);
  request.agreement_hash = contract.study;
  request.study = collection.name;
  request.charges.push_back(
      ChargeAgainst(collection, agreement, AdversaryKind::kOutsideAnalyst, 0));
  if (policy.insider) {
    request.charges.push_back(
        ChargeAgainst(collection, agreement, AdversaryKind::kComputeNodes, contract.nodes - 1U));
  }
  return request;
}

struct Earlier {
  uint64_t reservation = 0;
  std::string release;
  bool spent = false;
};

// The first charge of this round that was not taken back: of several processes that charge at once,
// all come to the same.
std::optional<Earlier> FindCharge(privacy::ledger::SqliteLedger& ledger, const std::string& table,
                                  const crypto::Digest& run_id) {
  std::map<uint64_t, Earlier> charges;
  for (const privacy::ledger::Entry& entry : ledger.Entries(table)) {
    if (const auto* reserved = std::get_if<privacy::ledger::Reserved>(&entry.body)) {
      if (reserved->run_id != run_id || reserved->charges.empty()) continue;
      charges[entry.sequence] = {entry.sequence, reserved->charges.front().release, false};
    } else if (const auto* spent = std::get_if<privacy::ledger::Spent>(&entry.body)) {
      const auto found = charges.find(spent->reservation);
      if (found != charges.end()) found->second.spent = true;
    } else if (const auto* refunded = std::get_if<privacy::ledger::Refunded>(&entry.body)) {
      charges.erase(refunded->reservation);
    }
  }
  if (charges.empty()) return std::nullopt;
  return charges.begin()->second;
}

// The charge of this round, made now if there was none. Another process may make one meanwhile.
Earlier FindOrReserve(privacy::ledger::SqliteLedger& ledger,
                      const privacy::ledger::ReservationRequest& request,
                      const privacy::ledger::Stamp& stamp) {
  if (const auto earlier = FindCharge(ledger, request.table, request.run_id)) return *earlier;
  uint64_t own = 0;
  try {
    own = ledger.Reserve(request, stamp).number;
  } catch (const Error& error) {
    const bool judged = error.code() == ErrorCode::kRefused || error.code() == ErrorCode::kBudget;
    if (!judged) throw;
    if (const auto earlier = FindCharge(ledger, request.table, request.run_id)) return *earlier;
    throw;
  }
  Earlier first = FindCharge(ledger, request.table, request.run_id).value();
  if (first.reservation != own) {
    ledger.Refund(request.table, own,
                  privacy::ledger::NothingSent("another process charged this round"), stamp);
  }
  return first;
}

// Another process may have spent it since it was found.
void SpendOnce(privacy::ledger::SqliteLedger& ledger, const std::string& table,
               uint64_t reservation, const privacy::ledger::Stamp& stamp) {
  try {
    ledger.Spend(table, reservation, stamp);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kRefused) throw;
    const std::vector<privacy::ledger::Entry> entries = ledger.Entries(table);
    const bool spent = std::ranges::any_of(entries, [&](const privacy::ledger::Entry& entry) {
      const auto* found = std::get_if<privacy::ledger::Spent>(&entry.body);
      return found != nullptr && found->reservation == reservation;
    });
    if (!spent) throw;
  }
}

}  // namespace

RoundCharge ChargeRound(const CollectionFile& collection, const Agreement& agreement,
                        const run::LedgerOptions& options, const std::string& by) {
  privacy::ledger::SqliteLedger ledger = run::OpenLedger(options.file);
  RoundCharge charge;
  charge.table = run::ChosenTable(ledger, options);
  const privacy::ledger::Stamp stamp{by, NowUtc()};
  const Earlier found = FindOrReserve(
      ledger, ReservationRequestOf(collection, agreement, ledger.StandingOf(charge.table).policy),
      stamp);
  if (found.release != ReleaseOf(agreement)) {
    throw Error(ErrorCode::kRefused,
                fmt::format("entry {} of the ledger says that this round was opened for other "
                            "closings of its compute nodes",
                            found.reservation),
                "A round is opened once. Use the upload store that this compute node closed, or "
                "start a new epoch.");
  }
  if (!found.spent) SpendOnce(ledger, charge.table, found.reservation, stamp);
  charge.reservation = found.reservation;
  charge.standing = ledger.StandingOf(charge.table);
  return charge;
}

void CheckRoundCharge(const CollectionFile& collection, const run::LedgerOptions& options) {
  privacy::ledger::SqliteLedger ledger = run::OpenLedger(options.file);
  const std::string table = run::ChosenTable(ledger, options);
  if (FindCharge(ledger, table, RunIdOf(collection))) return;
  ledger.Price(ReservationRequestOf(collection, {MinAccepted(collection.contract), {}},
                                    ledger.StandingOf(table).policy));
}

}  // namespace partita::sums
