#include "run/method/noise_charges.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "run/party/study_engine.h"

namespace partita::run {
namespace {

using privacy::Adjacency;
using privacy::Adversary;
using privacy::AdversaryKind;
using privacy::ledger::Charge;
using privacy::ledger::GridGaussian;
using privacy::ledger::Policy;

double SensitivityUnder(const Study& study, const Policy& policy, const NoisyVector& vector,
                        Adjacency adjacency) {
  if (vector.adjacency == adjacency) return vector.sensitivity.value();
  if (adjacency == Adjacency::kReplace) return vector.replace_sensitivity.value();
  throw Error(ErrorCode::kRefused,
              fmt::format("the budget of table {} is for the adjacency add-remove, but study '{}' "
                          "takes the number of rows as public (replace)",
                          policy.table, study.file.name),
              "ask for adjacency = \"add-remove\" in the study file, if the method has it, or open "
              "an account under the adjacency replace");
}

// Throws kRefused.
void RequireWithstood(const Study& study, const Policy& policy) {
  const bool shamir = study.file.engine.name == "shamir";
  if (shamir && policy.coalition > ThresholdOf(study)) {
    throw Error(
        ErrorCode::kRefused,
        fmt::format("the budget of table {} is for {} parties that pool what they know, "
                    "but the engine 'shamir' withstands {} of {}",
                    policy.table, policy.coalition, ThresholdOf(study), study.num_computing),
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
}

}  // namespace

std::vector<Charge> NoiseCharges(const Study& study, const Policy& policy,
                                 const NoisyVector& vector) {
  const auto charge = [&](Adversary adversary, Adjacency adjacency, double sensitivity,
                          uint32_t known_shares) {
    GridGaussian mechanism;
    mechanism.remaining = privacy::RemainingNoise(vector.noise, known_shares);
    mechanism.sensitivity = sensitivity;
    return Charge{vector.release, std::move(adversary), adjacency, mechanism, 1};
  };
  const Adjacency outside = policy.outside.adjacency;
  std::vector<Charge> charges = {
      charge({}, outside, SensitivityUnder(study, policy, vector, outside), 0)};
  if (!policy.insider) return charges;
  RequireWithstood(study, policy);
  Adversary coalition;
  coalition.kind = AdversaryKind::kCoalition;
  coalition.size = policy.coalition;
  const auto others = static_cast<uint32_t>(study.num_computing - 1);
  charges.push_back(charge(std::move(coalition), Adjacency::kReplace,
                           vector.replace_sensitivity.value(), std::min(policy.coalition, others)));
  return charges;
}

}  // namespace partita::run
