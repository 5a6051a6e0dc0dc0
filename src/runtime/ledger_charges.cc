#include "runtime/ledger_charges.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "privacy/sampling/distributed_noise.h"
#include "runtime/leakage.h"

namespace partita::runtime {
namespace {

using privacy::Adjacency;
using privacy::Adversary;
using privacy::AdversaryKind;
using privacy::ledger::Budget;
using privacy::ledger::Charge;
using privacy::ledger::ExactRelease;
using privacy::ledger::GridGaussian;
using privacy::ledger::Policy;

// Texts of the plan may be longer than those of a ledger.
std::string Shortened(const std::string& text) {
  if (text.size() <= privacy::ledger::kMaxText) return text;
  size_t end = privacy::ledger::kMaxText - 3;
  while (end > 0 && (static_cast<uint8_t>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end) + "...";
}

double SensitivityUnder(const MleStudy& study, const Policy& policy, Adjacency adjacency) {
  const methods::mle::PrivateMoments& design = *study.privacy;
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
  if (shamir && 2 * policy.coalition >= study.num_computing) {
    throw Error(ErrorCode::kRefused,
                fmt::format("the budget of table {} is for {} parties that pool what they know, "
                            "but the engine 'shamir' withstands fewer than half of {}",
                            policy.table, policy.coalition, study.num_computing),
                "use the engine dealer, or more parties");
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

std::vector<ExactRelease> ExactReleases(const MleStudy& study) {
  const std::vector<study::PlanExposure> exposures = Exposures(study);
  std::vector<ExactRelease> exact;
  for (const mpc::Release& release : study.releases) {
    ExactRelease entry;
    entry.release = release.id;
    entry.what = Shortened(release.what);
    entry.to = release.to;
    entry.values = release.num_values.value_or(1) * release.max_count;
    for (const study::PlanExposure& exposure : exposures) {
      if (exposure.of == release.id) entry.sufficient_statistics = exposure.statistics;
    }
    entry.variables = study.used;
    exact.push_back(std::move(entry));
  }
  return exact;
}

}  // namespace

privacy::ledger::ReservationRequest ChargesOf(const MleStudy& study, const Policy& policy) {
  privacy::ledger::ReservationRequest request;
  request.table = policy.table;
  request.study = study.file.name;
  if (!study.privacy) {
    request.exact = ExactReleases(study);
    return request;
  }
  request.charges.push_back(ChargeOf(study, policy, {}, policy.outside.adjacency, 0));
  if (policy.insider) request.charges.push_back(InsiderCharge(study, policy));
  return request;
}

}  // namespace partita::runtime
