#include "cli/privacy/audit_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text_table.h"
#include "cli/terminal/json.h"
#include "privacy/rounded_text.h"

namespace partita::cli {
namespace {

using privacy::AuditOptions;
using privacy::Outputs;

Json NumberOrNull(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

Json CountJson(const privacy::Count& count) {
  return {{"hits", count.hits}, {"runs", count.trials}};
}

Json FindingJson(const AuditFinding& finding) {
  return {{"adversary", finding.adversary},
          {"measure", finding.measure},
          {"claimed", NumberOrNull(finding.claimed)},
          {"at_least", NumberOrNull(finding.at_least)},
          {"violated", finding.violated},
          {"event", finding.event},
          {"first", CountJson(finding.first)},
          {"second", CountJson(finding.second)}};
}

// Nothing is refuted by rounding: claims are shown rounded up, what was found rounded down.
std::string ClaimedText(double value) { return privacy::GivenText(value, 6, true); }
std::string FoundText(double value) { return privacy::RoundedText(value, 4, false); }

std::string CountText(const privacy::Count& count) {
  if (count.trials == 0) return "-";
  return fmt::format("{} of {}", FormatCount(count.hits), FormatCount(count.trials));
}

std::string ClaimText(const AuditClaim& claim) {
  std::string text;
  if (claim.epsilon)
    text = fmt::format("epsilon {} at delta {}", ClaimedText(*claim.epsilon),
                       ClaimedText(claim.delta));
  if (claim.mu) text += fmt::format("{}mu {}", text.empty() ? "" : " and ", ClaimedText(*claim.mu));
  return text;
}

std::string VerdictText(const AuditReport& report) {
  if (!report.violated()) {
    return "Nothing contradicts the claim. That is no proof of it: rare faults and faults in the "
           "tails need the exact checks (docs/audit.md).";
  }
  const bool by_replay = report.replay && !report.replay->empty();
  const bool by_runs = std::any_of(report.findings.begin(), report.findings.end(),
                                   [](const AuditFinding& finding) { return finding.violated; });
  if (!by_runs && by_replay) {
    return "The claim is REFUTED: what enters the noise differs by more than its declared "
           "sensitivity.";
  }
  return fmt::format(
      "The claim is REFUTED: if it were true, this would happen with probability {} at most.",
      privacy::GivenText(report.alpha, 6, true));
}

std::string AuditText(const AuditReport& report) {
  std::string text = WrapText(report.what, 0);
  text += WrapText(fmt::format("claimed: {}; {} runs in each world; error rate {:g}",
                               ClaimText(report.claim), FormatCount(report.runs), report.alpha),
                   0);
  if (report.replay) {
    text += "\n";
    if (report.replay->empty()) {
      text += WrapText("replay: what enters the noise stays within its declared sensitivity", 0);
    }
    for (const std::string& fault : *report.replay) text += WrapText("replay: " + fault, 0);
  }
  TextTable table{
      {"adversary", "measure", "claimed", "at least", "event", "likelier world", "other world", ""},
      {2, 3, 5, 6},
      {}};
  for (const AuditFinding& finding : report.findings) {
    table.rows.push_back({finding.adversary, finding.measure,
                          finding.claimed ? ClaimedText(*finding.claimed) : "-",
                          finding.at_least ? FoundText(*finding.at_least) : "-", finding.event,
                          CountText(finding.first), CountText(finding.second),
                          finding.violated ? "VIOLATED" : "ok"});
  }
  return text + "\n" + RenderTable(table, 0) + "\n" + WrapText(VerdictText(report), 0);
}

Json ReportJson(const AuditReport& report) {
  Json findings = Json::array();
  for (const AuditFinding& finding : report.findings) findings.push_back(FindingJson(finding));
  const Json claim = {{"epsilon", NumberOrNull(report.claim.epsilon)},
                      {"delta", report.claim.epsilon ? Json(report.claim.delta) : Json()},
                      {"mu", NumberOrNull(report.claim.mu)}};
  Json json = {{"what", report.what},   {"claim", claim},       {"runs", report.runs},
               {"alpha", report.alpha}, {"findings", findings}, {"violated", report.violated()}};
  if (report.replay) json["replay"] = *report.replay;
  return json;
}

// The curve of a claim, as one finding.
AuditFinding CurveFindingOf(const std::string& adversary, const Outputs& with,
                            const Outputs& without, const privacy::TradeOff& claimed,
                            const AuditOptions& options) {
  const privacy::CurveFinding found = privacy::AuditTradeOff(with, without, claimed, options);
  const privacy::MeasuredTest& worst = found.tests[found.worst];
  AuditFinding finding;
  finding.adversary = adversary;
  finding.measure = "trade-off";
  finding.violated = found.violated;
  finding.event = privacy::EventText(worst.event);
  return finding;
}

}  // namespace

bool AuditReport::violated() const {
  if (replay && !replay->empty()) return true;
  return std::any_of(findings.begin(), findings.end(),
                     [](const AuditFinding& finding) { return finding.violated; });
}

void CheckClaim(const AuditClaim& claim) {
  const auto range = [](const std::optional<double>& value) {
    return !value || (std::isfinite(*value) && *value >= 0);
  };
  if (!claim.epsilon && !claim.mu) {
    throw Error(ErrorCode::kUsage, "there is no claim to audit",
                "give --epsilon, with --delta unless it is 0, or --mu");
  }
  if (range(claim.epsilon) && range(claim.mu) && claim.delta >= 0 && claim.delta < 1) return;
  throw Error(ErrorCode::kUsage, fmt::format("{} is no claim", ClaimText(claim)),
              "epsilon and mu are at least 0, delta is at least 0 and below 1");
}

void AddFindings(const std::string& adversary, const Outputs& with, const Outputs& without,
                 size_t audits, AuditReport& report) {
  const size_t measures = (report.claim.epsilon ? 2 : 0) + (report.claim.mu ? 2 : 0);
  AuditOptions options;
  options.alpha = report.alpha / static_cast<double>(audits * measures);
  if (report.claim.epsilon) {
    const privacy::EpsilonFinding found =
        privacy::AuditEpsilon(with, without, report.claim.delta, options);
    report.findings.push_back({adversary, "epsilon", report.claim.epsilon, found.epsilon_lower,
                               found.epsilon_lower > *report.claim.epsilon,
                               privacy::EventText(found.chosen.event), found.first, found.second});
    report.findings.push_back(CurveFindingOf(
        adversary, with, without,
        privacy::EpsilonDeltaTradeOff({*report.claim.epsilon, report.claim.delta}), options));
  }
  if (report.claim.mu) {
    const privacy::MuFinding found = privacy::AuditMu(with, without, options);
    const privacy::Count hits{found.misses.trials - found.misses.hits, found.misses.trials};
    report.findings.push_back({adversary, "mu", report.claim.mu, found.mu_lower,
                               found.mu_lower > *report.claim.mu,
                               privacy::EventText(found.chosen.event), hits, found.false_alarms});
    report.findings.push_back(CurveFindingOf(adversary, with, without,
                                             privacy::GaussianTradeOff(*report.claim.mu), options));
  }
}

int PrintAudit(const OutputOptions& output, const AuditReport& report) {
  const bool violated = report.violated();
  PrintResult(output, AuditText(report), ReportJson(report).dump(), violated ? "problems" : "done");
  return violated ? kFailed : kDone;
}

}  // namespace partita::cli
