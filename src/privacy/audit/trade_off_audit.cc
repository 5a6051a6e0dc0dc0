#include "privacy/audit/trade_off_audit.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "privacy/accounting/normal.h"

namespace partita::privacy {
namespace {

Count Complement(const Count& count) { return {count.trials - count.hits, count.trials}; }

// -Phi^-1(a) - Phi^-1(b).
double Mu(double false_alarms, double misses) {
  if (false_alarms >= 1 || misses >= 1) return -std::numeric_limits<double>::infinity();
  return NormalUpperQuantile(false_alarms) + NormalUpperQuantile(misses);
}

struct Measured {
  Count false_alarms, misses;
};

Measured Measure(const Outputs& with, const Outputs& without, const ChosenEvent& chosen,
                 const AuditOptions& options) {
  const Count p = CountEvent(with, chosen.event, SplitRuns(with, options).training);
  const Count q = CountEvent(without, chosen.event, SplitRuns(without, options).training);
  return chosen.exchanged ? Measured{p, Complement(q)} : Measured{q, Complement(p)};
}

// Thresholds at quantiles of both training samples together.
std::vector<ChosenEvent> ThresholdTests(const Outputs& with, const Outputs& without,
                                        const AuditOptions& options, size_t tests) {
  const std::vector<double> direction =
      with.dimension == 1 ? std::vector<double>{1} : LinearClassifier(with, without, options);
  std::vector<double> scores;
  for (const Outputs* sample : {&with, &without}) {
    for (size_t i = 0; i < SplitRuns(*sample, options).training; ++i) {
      double score = 0;
      for (size_t k = 0; k < sample->dimension; ++k) score += direction[k] * sample->Run(i)[k];
      if (std::isfinite(score)) scores.push_back(score);
    }
  }
  std::vector<ChosenEvent> events;
  if (scores.empty()) return events;
  std::sort(scores.begin(), scores.end());
  for (size_t k = 1; k <= tests; ++k) {
    const double value = scores[k * (scores.size() - 1) / (tests + 1)];
    events.push_back({{direction, Comparison::kAtLeast, value}, false});
    events.push_back({{direction, Comparison::kAtMost, value}, false});
    events.push_back({{direction, Comparison::kAtLeast, value}, true});
    events.push_back({{direction, Comparison::kAtMost, value}, true});
  }
  return events;
}

}  // namespace

double MuLower(const Count& false_alarms, const Count& misses, double alpha) {
  return std::max(0.0,
                  Mu(ProportionUpper(false_alarms, alpha / 2), ProportionUpper(misses, alpha / 2)));
}

MuFinding AuditMu(const Outputs& with, const Outputs& without, const AuditOptions& options) {
  MuFinding finding;
  finding.chosen = ChooseEvent(with, without, options, [](const Count& first, const Count& second) {
    return Mu(RoughUpper(second), RoughUpper(Complement(first)));
  });
  const Measured measured = Measure(with, without, finding.chosen, options);
  finding.false_alarms = measured.false_alarms;
  finding.misses = measured.misses;
  finding.mu_lower = MuLower(measured.false_alarms, measured.misses, options.alpha);
  return finding;
}

CurveFinding AuditTradeOff(const Outputs& with, const Outputs& without, const TradeOff& claimed,
                           const AuditOptions& options, size_t tests) {
  if (claimed.side == CurveSide::kUpper) {
    throw Error(ErrorCode::kUsage, "an upper curve is no guarantee that could be violated",
                "compare with an exact or a lower trade-off curve");
  }
  std::vector<ChosenEvent> events = {
      ChooseEvent(with, without, options, [&claimed](const Count& first, const Count& second) {
        return claimed.beta(RoughUpper(second)) - RoughUpper(Complement(first));
      })};
  for (ChosenEvent& event : ThresholdTests(with, without, options, tests)) {
    events.push_back(std::move(event));
  }
  const double each = options.alpha / (2 * static_cast<double>(events.size()));
  CurveFinding finding;
  double largest = -std::numeric_limits<double>::infinity();
  for (ChosenEvent& chosen : events) {
    const Measured measured = Measure(with, without, chosen, options);
    MeasuredTest test;
    test.alpha_upper = ProportionUpper(measured.false_alarms, each);
    test.beta_upper = ProportionUpper(measured.misses, each);
    test.claimed_beta = claimed.beta(test.alpha_upper);
    test.event = std::move(chosen.event);
    test.exchanged = chosen.exchanged;
    const double gap = test.claimed_beta - test.beta_upper;
    if (gap > largest) {
      largest = gap;
      finding.worst = finding.tests.size();
    }
    finding.tests.push_back(std::move(test));
  }
  finding.violated = largest > 0;
  return finding;
}

}  // namespace partita::privacy
