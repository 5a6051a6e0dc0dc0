// What every audit command prints: one finding per adversary and measure, and the verdict.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/terminal/output.h"
#include "privacy/audit/epsilon_audit.h"
#include "privacy/audit/trade_off_audit.h"

namespace partita::cli {

// (epsilon, delta) or mu; at least one of the two is there.
struct AuditClaim {
  std::optional<double> epsilon;
  double delta = 0;
  std::optional<double> mu;
};

struct AuditFinding {
  std::string adversary;
  std::string measure;             // "epsilon", "mu", "trade-off"
  std::optional<double> claimed;   // of the measure; empty for the curve
  std::optional<double> at_least;  // what it certainly is; empty for the curve
  bool violated = false;
  std::string event;
  privacy::Count first, second;  // in the likelier world and the other; of the curve: none
};

struct AuditReport {
  std::string what;
  AuditClaim claim;
  uint64_t runs = 0;  // per world
  double alpha = 1e-6;
  std::vector<AuditFinding> findings;
  std::optional<std::vector<std::string>> replay;  // faults; empty list: none; no list: not done

  bool violated() const;
};

// Throws kUsage unless the claim says something, or is out of range.
void CheckClaim(const AuditClaim& claim);

// Findings of one pair of samples against the claim: the epsilon and the curve of an (epsilon,
// delta) claim, the mu and the curve of a mu claim. The error rate is shared among all `audits`
// calls and measures, so that the whole report is wrong with probability at most alpha.
void AddFindings(const std::string& adversary, const privacy::Outputs& with,
                 const privacy::Outputs& without, size_t audits, AuditReport& report);

// Prints it; kDone, or kFailed if the claim is refuted.
int PrintAudit(const OutputOptions& output, const AuditReport& report);

}  // namespace partita::cli
