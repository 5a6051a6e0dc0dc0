#include "runtime/round_charge.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <variant>

#include "base/error.h"
#include "crypto/hash.h"
#include "methods/dca/sum_statement.h"
#include "study/utc_time.h"

namespace partita::runtime {
namespace {

using privacy::Adjacency;
using privacy::Adversary;
using privacy::AdversaryKind;
using privacy::ledger::Charge;
using privacy::ledger::GridGaussian;

// The same for every attempt to open this set, another one for every other set.
crypto::Digest RunIdOf(const study::CollectionFile& collection, const crypto::Digest& agreed_set) {
  return crypto::Sha256()
      .Field("partita dca round")
      .Update(collection.contract.study)
      .U64(collection.epoch)
      .Update(agreed_set)
      .Finish();
}

// What `accepted` uploads carry against somebody outside, or against all compute nodes but one.
privacy::ledger::ChargedMechanism MechanismOf(const study::CollectionFile& collection,
                                              uint32_t accepted, AdversaryKind kind) {
  const methods::dca::Contract& contract = collection.contract;
  if (contract.noise_law == methods::dca::NoiseLaw::kLaplace) {
    return privacy::ledger::PureDp{
        methods::dca::ChargedLoss(contract, accepted, collection.delta).epsilon_upper};
  }
  GridGaussian mechanism;
  mechanism.remaining = kind == AdversaryKind::kOutsideAnalyst
                            ? methods::dca::RemainingAgainstClients(
                                  contract, accepted, methods::dca::UncountedShares(contract, 0))
                            : methods::dca::RemainingAgainstNodes(contract, accepted);
  mechanism.sensitivity = methods::dca::SumSensitivity(contract).value();
  return mechanism;
}

Charge ChargeAgainst(const study::CollectionFile& collection, uint32_t accepted, AdversaryKind kind,
                     uint32_t size) {
  Adversary adversary;
  adversary.kind = kind;
  adversary.size = size;
  return {"private-sum", std::move(adversary), Adjacency::kReplace,
          MechanismOf(collection, accepted, kind), 1};
}

privacy::ledger::ReservationRequest ReservationRequestOf(const study::CollectionFile& collection,
                                                         uint32_t accepted,
                                                         const crypto::Digest& agreed_set,
                                                         const privacy::ledger::Policy& policy) {
  if (policy.outside.adjacency != Adjacency::kReplace) {
    throw Error(ErrorCode::kRefused,
                fmt::format("the budget of table {} is for the adjacency add-remove, but who takes "
                            "part in a private sum is public (replace)",
                            policy.table),
                "open an account with --adjacency replace");
  }
  const methods::dca::Contract& contract = collection.contract;
  privacy::ledger::ReservationRequest request;
  request.table = policy.table;
  request.run_id = RunIdOf(collection, agreed_set);
  request.study_file_hash = contract.study;
  request.study = collection.name;
  request.charges.push_back(ChargeAgainst(collection, accepted, AdversaryKind::kOutsideAnalyst, 0));
  if (policy.insider) {
    request.charges.push_back(
        ChargeAgainst(collection, accepted, AdversaryKind::kComputeNodes, contract.nodes - 1U));
  }
  return request;
}

struct Earlier {
  uint64_t reservation = 0;
  bool spent = false;
};

// The charge of this set that is there already, and not taken back.
std::optional<Earlier> FindCharge(privacy::ledger::SqliteLedger& ledger, const std::string& table,
                                  const crypto::Digest& run_id) {
  std::optional<Earlier> found;
  for (const privacy::ledger::Entry& entry : ledger.Entries(table)) {
    if (const auto* reserved = std::get_if<privacy::ledger::Reserved>(&entry.body)) {
      if (reserved->run_id == run_id) found = Earlier{entry.sequence, false};
    } else if (const auto* spent = std::get_if<privacy::ledger::Spent>(&entry.body)) {
      if (found && spent->reservation == found->reservation) found->spent = true;
    } else if (const auto* refunded = std::get_if<privacy::ledger::Refunded>(&entry.body)) {
      if (found && refunded->reservation == found->reservation) found.reset();
    }
  }
  return found;
}

// Whether anything of this collection was charged.
bool HasCharge(privacy::ledger::SqliteLedger& ledger, const std::string& table,
               const study::CollectionFile& collection) {
  const std::vector<privacy::ledger::Entry> entries = ledger.Entries(table);
  return std::ranges::any_of(entries, [&](const privacy::ledger::Entry& entry) {
    const auto* reserved = std::get_if<privacy::ledger::Reserved>(&entry.body);
    return reserved != nullptr && reserved->study_file_hash == collection.contract.study;
  });
}

}  // namespace

RoundCharge ChargeRound(const study::CollectionFile& collection,
                        const methods::dca::Closing& closing, const LedgerOptions& options,
                        const std::string& by) {
  privacy::ledger::SqliteLedger ledger = OpenLedger(options.file);
  RoundCharge charge;
  charge.table = ChosenTable(ledger, options);
  const privacy::ledger::Stamp stamp{by, study::NowUtc()};
  std::optional<Earlier> earlier =
      FindCharge(ledger, charge.table, RunIdOf(collection, closing.set_hash));
  if (!earlier) {
    const auto request = ReservationRequestOf(collection, closing.count, closing.set_hash,
                                              ledger.StandingOf(charge.table).policy);
    earlier = Earlier{ledger.Reserve(request, stamp).number, false};
  }
  if (!earlier->spent) ledger.Spend(charge.table, earlier->reservation, stamp);
  charge.reservation = earlier->reservation;
  charge.standing = ledger.StandingOf(charge.table);
  return charge;
}

void CheckRoundCharge(const study::CollectionFile& collection, const LedgerOptions& options) {
  privacy::ledger::SqliteLedger ledger = OpenLedger(options.file);
  const std::string table = ChosenTable(ledger, options);
  if (HasCharge(ledger, table, collection)) return;
  ledger.Price(ReservationRequestOf(collection, methods::dca::MinAccepted(collection.contract), {},
                                    ledger.StandingOf(table).policy));
}

bool IsSpent(const study::CollectionFile& collection, const crypto::Digest& agreed_set,
             const LedgerOptions& options) {
  privacy::ledger::SqliteLedger ledger = OpenLedger(options.file);
  const std::optional<Earlier> earlier =
      FindCharge(ledger, ChosenTable(ledger, options), RunIdOf(collection, agreed_set));
  return earlier && earlier->spent;
}

}  // namespace partita::runtime
