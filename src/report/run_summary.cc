#include "report/run_summary.h"

#include "base/text_table.h"

namespace partita::report {
namespace {

std::string ReleasesText(const RunFacts& facts) {
  if (facts.releases.empty()) return {};
  std::string out = "\nReleased:\n";
  for (const ReleaseFacts& release : facts.releases) {
    out += WrapText(release.id + ": " + release.what + "; to " + release.to + ", " +
                        release.mechanism + ", " +
                        (release.opened == 0 ? "not opened by this party"
                                             : "opened " + FormatCount(release.opened) + " of " +
                                                   FormatCount(release.max_count) + " times"),
                    2);
  }
  return out;
}

std::string Corrected(const RunFacts& facts) {
  std::string out;
  for (const std::string& party : facts.corrected) {
    out += WrapText(party +
                        " sent wrong shares in openings, which were corrected: the results are "
                        "right, but find out what is wrong with its machine or software",
                    2);
  }
  return out.empty() ? out : "\nCorrected:\n" + out;
}

std::string Learned(const study::Plan& plan) {
  std::string out = "\nWho learned what (leakage level: " + plan.leakage_level + "):\n";
  for (const std::string& sentence : study::LearnsSentences(plan)) out += WrapText(sentence, 2);
  for (const std::string& assumption : plan.assumptions) out += WrapText(assumption, 2);
  return out;
}

std::string PrivacyText(const RunFacts& facts) {
  if (facts.privacy.empty()) return {};
  std::string out = "\nPrivacy statement:\n";
  for (const std::string& sentence : facts.privacy) out += WrapText(sentence, 2);
  return out;
}

std::string Cost(const RunFacts& facts) {
  if (facts.phases.empty()) return {};
  TextTable table{{"phase", "rounds", "sent", "received", "time"}, {1, 2, 3, 4}, {}};
  PhaseFacts total;
  for (const PhaseFacts& phase : facts.phases) {
    table.rows.push_back({phase.phase, FormatCount(phase.rounds), FormatBytes(phase.bytes_sent),
                          FormatBytes(phase.bytes_received), FormatSeconds(phase.seconds)});
    total.rounds += phase.rounds;
    total.bytes_sent += phase.bytes_sent;
    total.bytes_received += phase.bytes_received;
  }
  table.rows.push_back({"total", FormatCount(total.rounds), FormatBytes(total.bytes_sent),
                        FormatBytes(total.bytes_received), FormatSeconds(facts.seconds_total)});
  return "\nCost at " + facts.party + ":\n" + RenderTable(table, 2);
}

std::string Provenance(const study::Plan& plan, const RunFacts& facts) {
  std::string out = "\nRun:\n";
  for (const std::string& line : study::DeclaredLines(plan.declared)) out += WrapText(line, 2);
  out += WrapText("protocol " + plan.protocol + ", engine " + plan.engine + ", " + plan.partition +
                      " partition, Partita " + facts.software_version +
                      (facts.started_at.empty() ? "" : ", " + facts.started_at),
                  2);
  for (const auto& [name, hash] : {std::pair{"agreement and tables", &facts.study_hash},
                                   std::pair{"plan                ", &facts.plan_hash},
                                   std::pair{"run                 ", &facts.run_id}}) {
    if (!hash->empty()) out += "  " + std::string(name) + " " + *hash + "\n";
  }
  return out;
}

}  // namespace

std::string RunSummary(const study::Plan& plan, const RunFacts& facts) {
  return ReleasesText(facts) + Corrected(facts) + Learned(plan) + PrivacyText(facts) + Cost(facts) +
         Provenance(plan, facts);
}

}  // namespace partita::report
