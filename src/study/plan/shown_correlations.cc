#include "study/plan/shown_correlations.h"

#include <fmt/format.h>

#include <map>
#include <string>

namespace partita::study {

std::vector<PlanCorrelation> ShownCorrelations(const Plan& plan) {
  constexpr size_t kMostShown = 12;
  if (plan.correlations.size() <= kMostShown) return plan.correlations;
  struct Kind {
    uint64_t shapes = 0, count = 0;
  };
  std::map<std::string, Kind> kinds;
  for (const PlanCorrelation& correlation : plan.correlations) {
    std::string name = correlation.name.substr(0, correlation.name.find_first_of("0123456789"));
    name.resize(name.find_last_not_of(", ") + 1);
    Kind& kind = kinds[name];
    kind.shapes += 1;
    kind.count += correlation.count;
  }
  std::vector<PlanCorrelation> shown;
  for (const auto& [name, kind] : kinds) {
    shown.push_back({fmt::format("{} ({} shape{})", name, kind.shapes, kind.shapes == 1 ? "" : "s"),
                     kind.count});
  }
  return shown;
}

}  // namespace partita::study
