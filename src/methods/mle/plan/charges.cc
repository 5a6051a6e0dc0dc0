// What a private study of method `mle` takes from the budget of one table.
#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "methods/mle/study/study.h"
#include "privacy/sampling/distributed_noise.h"
#include "run/party/study_engine.h"

namespace partita::methods::mle {
namespace {

using privacy::Adjacency;
using privacy::Adversary;
using privacy::AdversaryKind;
using privacy::ledger::Charge;
using privacy::ledger::GridGaussian;
using privacy::ledger::Policy;

double SensitivityUnder(const MleStudy& study, const Policy& policy, Adjacency adjacency) {
  const PrivateMoments& design = *study.privacy;
  if (adjacency == Adjacency::kReplace) return design.replace_sensitivity.value();
  if (design.promise.adjacency == Adjacency::kAddRemove) return design.sensitivity.value();
  throw Error(ErrorCode::kRefused,
              fmt::format("the budget of table {} is for the adjacency add-remove, but study '{}' "
                          "takes the number of rows as public (replace)",
                          policy.table, study.file.name),
              "ask for adjacency = \"add-remove\" in the study file");
}

Charge ChargeOf(const MleStudy& study, const Policy& policy, Adversary adversary,
                Adjacency adjacency, uint32_t known_shares) {
  GridGaussian mechanism;
  mechanism.remaining = privacy::RemainingNoise(study.privacy->noise, known_shares);
  mechanism.sensitivity = SensitivityUnder(study, policy, adjacency);
  return {study.privacy->release.id, std::move(adversary), adjacency, mechanism, 1};
}

// Against those who take part themselves: rows of one party are protected from the others.
Charge InsiderCharge(const MleStudy& study, const Policy& policy) {
  const bool shamir = study.file.engine.name == "shamir";
  if (shamir && policy.coalition > run::ThresholdOf(study)) {
    throw Error(
        ErrorCode::kRefused,
        fmt::format("the budget of table {} is for {} parties that pool what they know, "
                    "but the engine 'shamir' withstands {} of {}",
                    policy.table, policy.coalition, run::ThresholdOf(study), study.num_computing),
        "use the engine dealer, more parties, or a larger threshold");
  }
  if (policy.coalition > 1 && study.file.engine.name == "replicated") {
    throw Error(
        ErrorCode::kRefused,
        fmt::format("the budget of table {} is for {} parties that pool what they know, but "
                    "the engine 'replicated' withstands single parties only",
                    policy.table, policy.coalition),
        "use the engine dealer");
  }
  Adversary adversary;
  adversary.kind = AdversaryKind::kCoalition;
  adversary.size = policy.coalition;
  // Of all computing parties but the owner of the table.
  const auto others = static_cast<uint32_t>(study.num_computing - 1);
  return ChargeOf(study, policy, std::move(adversary), Adjacency::kReplace,
                  std::min(policy.coalition, others));
}

}  // namespace

std::vector<Charge> MleStudy::Charges(const Policy& policy) const {
  std::vector<Charge> charges = {ChargeOf(*this, policy, {}, policy.outside.adjacency, 0)};
  if (policy.insider) charges.push_back(InsiderCharge(*this, policy));
  return charges;
}

}  // namespace partita::methods::mle
