// Lower bounds of mu, and comparison with a whole claimed trade-off curve (security.md 5.3; Nasr et
// al. 2023): a test that is run on both worlds has measured error rates, and no test may lie below
// the curve of the mechanism.
#pragma once

#include <optional>
#include <vector>

#include "privacy/accounting/trade_off.h"
#include "privacy/audit/events.h"

namespace partita::privacy {

// -Phi^-1(FPR_hi) - Phi^-1(FNR_hi) with Clopper-Pearson bounds at alpha / 2 each, at least 0: the
// mechanism is not mu-GDP for a smaller mu, up to an error probability of alpha.
double MuLower(const Count& false_alarms, const Count& misses, double alpha);

struct MuFinding {
  ChosenEvent chosen;
  Count false_alarms, misses;  // of the test "say that the event's likelier world is the truth"
  double mu_lower = 0;
};
MuFinding AuditMu(const Outputs& with, const Outputs& without, const AuditOptions& options = {});

// One test: both bounds hold together with all others of the same finding.
struct MeasuredTest {
  OutputEvent event;
  bool exchanged = false;
  double alpha_upper = 1;
  double beta_upper = 1;
  double claimed_beta = 0;  // f(alpha_upper): beta may not lie below
};
struct CurveFinding {
  std::vector<MeasuredTest> tests;
  size_t worst = 0;       // where claimed_beta - beta_upper is largest
  bool violated = false;  // beta_upper < claimed_beta somewhere
};

// `tests` threshold tests of the best score in each direction, at thresholds that are quantiles of
// the training runs, and the test that ChooseEvent finds against this curve; bounds at alpha
// divided by the number of all bounds. Right whatever the curve's shape: it falls, so f(alpha) >=
// f(alpha_upper). Throws kUsage for a curve of side kUpper, which guarantees nothing.
CurveFinding AuditTradeOff(const Outputs& with, const Outputs& without, const TradeOff& claimed,
                           const AuditOptions& options = {}, size_t tests = 20);

}  // namespace partita::privacy
