#include "privacy/audit/epsilon_audit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"

namespace partita::privacy {
namespace {

double Ratio(double lower, double upper, double delta) {
  if (!(lower > delta)) return -std::numeric_limits<double>::infinity();
  return std::log((lower - delta) / upper);
}

void CheckDelta(double delta) {
  if (delta >= 0 && delta < 1) return;
  throw Error(ErrorCode::kUsage, fmt::format("delta {} is not at least 0 and below 1", delta));
}

}  // namespace

double EpsilonLower(const Count& first, const Count& second, double delta, double alpha) {
  CheckDelta(delta);
  const double found =
      Ratio(ProportionLower(first, alpha / 2), ProportionUpper(second, alpha / 2), delta);
  return std::max(0.0, found);
}

EpsilonFinding AuditEpsilon(const Outputs& with, const Outputs& without, double delta,
                            const AuditOptions& options) {
  CheckDelta(delta);
  EpsilonFinding finding;
  finding.chosen =
      ChooseEvent(with, without, options, [delta](const Count& first, const Count& second) {
        return Ratio(RoughLower(first), RoughUpper(second), delta);
      });
  const Count p = CountEvent(with, finding.chosen.event, SplitRuns(with, options).training);
  const Count q = CountEvent(without, finding.chosen.event, SplitRuns(without, options).training);
  finding.first = finding.chosen.exchanged ? q : p;
  finding.second = finding.chosen.exchanged ? p : q;
  finding.epsilon_lower = EpsilonLower(finding.first, finding.second, delta, options.alpha);
  return finding;
}

}  // namespace partita::privacy
