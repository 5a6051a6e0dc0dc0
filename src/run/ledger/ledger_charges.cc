#include "run/ledger/ledger_charges.h"

namespace partita::run {
namespace {

using privacy::ledger::ExactRelease;
using privacy::ledger::Policy;

// Texts of the plan may be longer than those of a ledger.
std::string Shortened(const std::string& text) {
  if (text.size() <= privacy::ledger::kMaxText) return text;
  size_t end = privacy::ledger::kMaxText - 3;
  while (end > 0 && (static_cast<uint8_t>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end) + "...";
}

std::vector<ExactRelease> ExactReleases(const Study& study) {
  const std::vector<study::PlanExposure> exposures = study.Exposures();
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

privacy::ledger::ReservationRequest ChargesOf(const Study& study, const Policy& policy) {
  privacy::ledger::ReservationRequest request;
  request.table = policy.table;
  request.study = study.file.name;
  if (study.IsPrivate()) {
    request.charges = study.Charges(policy);
  } else {
    request.exact = ExactReleases(study);
  }
  return request;
}

}  // namespace partita::run
