// The plan as text.
#include <cstdio>

#include "base/text_table.h"
#include "study/file/text.h"
#include "study/plan/plan.h"
#include "study/plan/shown_correlations.h"

namespace partita::study {
namespace {

// A phase among many parties has a link for every pair: then one line for all of them.
constexpr size_t kMaxLinksShown = 30;

std::string Section(const std::string& title) { return "\n" + title + "\n"; }

std::string Times(uint64_t count) {
  return count == 1 ? "at most once" : "at most " + FormatCount(count) + " times";
}

std::string Paragraphs(const std::string& title, const std::vector<std::string>& texts) {
  if (texts.empty()) return {};
  std::string out = Section(title);
  for (const std::string& text : texts) out += WrapText(text, 2);
  return out;
}

std::string Heading(const Plan& plan) {
  std::string out = WrapText("Plan of study " + plan.study + ": " + plan.title, 0);
  for (const std::string& line : DeclaredLines(plan.declared)) out += WrapText(line, 0);
  out += WrapText("study file SHA-256 " + plan.study_file_hash, 0);
  out += WrapText("method " + plan.method + " version " + std::to_string(plan.method_version) +
                      ", protocol " + plan.protocol + ", engine " + plan.engine + ", " +
                      plan.partition + " partition",
                  0);
  return out;
}

std::vector<std::string> PartyTexts(const Plan& plan) {
  std::vector<std::string> texts;
  for (const PlanParty& party : plan.parties) {
    texts.push_back(party.name + " (" + Join(party.roles, ", ") +
                    "): " + (party.contributes.empty() ? "no data" : party.contributes));
  }
  return texts;
}

std::vector<std::string> ReleaseTexts(const Plan& plan) {
  std::vector<std::string> texts;
  for (const PlanRelease& release : plan.releases) {
    texts.push_back(release.id + ": " + release.what + "; to " + release.to + ", " +
                    release.mechanism + ", " + Times(release.max_count));
  }
  return texts;
}

std::vector<std::string> AnalysisTexts(const Plan& plan) {
  std::vector<std::string> texts;
  for (const PlanAnalysis& analysis : plan.analyses) {
    texts.push_back(analysis.name + " (" + analysis.protocol + "): " + analysis.model + ", " +
                    analysis.rows);
  }
  return texts;
}

// The warnings are last: they do not stop anything.
std::vector<std::string> CheckTexts(const Plan& plan) {
  std::vector<std::string> texts, warnings;
  for (const PlanCheck& check : plan.checks) {
    (check.warning ? warnings : texts)
        .push_back((plan.analyses.size() > 1 ? check.analysis + ", " : "") + check.variable + ": " +
                   check.rule + (check.warning ? "; otherwise a warning is printed" : ""));
  }
  texts.insert(texts.end(), warnings.begin(), warnings.end());
  return texts;
}

// "B = 84 bits open, on a grid of 2^-6 standard errors, of a table of H = 190 bits (...): ...".
std::string BitsText(const PlanBits& bits) {
  return "B = " + FormatCount(bits.opened) + " bits open" +
         (bits.grid.empty() ? "" : ", on a grid of " + bits.grid + " standard errors,") +
         " of a table of H = " + FormatCount(bits.table) + " bits (" + FormatCount(bits.rows) +
         " rows of others, " + bits.patterns + " patterns): " + bits.meaning + ".";
}

std::vector<std::string> ExposureTexts(const Plan& plan) {
  std::vector<std::string> texts;
  for (const PlanExposure& exposure : plan.exposures) {
    std::string text = exposure.of + ", to " + exposure.to + ": at most " +
                       FormatCount(exposure.opened) + " numbers";
    if (exposure.statistics > 0) {
      text +=
          ", where " + FormatCount(exposure.statistics) + " determine every analysis of these rows";
    }
    text += " (level " + exposure.level + ")";
    if (!exposure.exposes.empty()) text += ". It gives away " + Join(exposure.exposes, "; ");
    texts.push_back(text + "." + (exposure.bits ? " " + BitsText(*exposure.bits) : ""));
  }
  return texts;
}

std::vector<std::string> PrivacyTexts(const Plan& plan) {
  std::vector<std::string> texts;
  for (const PlanPrivacy& row : plan.privacy) {
    texts.push_back(row.adversary + (row.adjacency.empty() ? "" : " (" + row.adjacency + ")") +
                    ": " + row.loss);
  }
  return texts;
}

std::string Number(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.4g", value);
  return text;
}

std::string Utility(const Plan& plan) {
  if (plan.utility.empty()) return {};
  TextTable table{{"analysis", "parameter", "SE", "inflation", "smallest effect", "with noise"},
                  {2, 3, 4, 5},
                  {}};
  for (const PlanUtility& row : plan.utility) {
    table.rows.push_back({row.analysis, row.parameter, Number(row.standard_error),
                          Number(row.inflation), Number(row.smallest_effect),
                          Number(row.smallest_effect_dp)});
  }
  return Section("Expected cost of the noise (power 0.8 at 0.05; planning values)") +
         RenderTable(table, 2);
}

std::string Predictions(const Plan& plan) {
  if (plan.predictions.empty()) return {};
  TextTable table{{"network", "whole study", "bytes on the wire"}, {1, 2}, {}};
  for (const PlanPrediction& row : plan.predictions) {
    table.rows.push_back({row.network, FormatSeconds(row.seconds), FormatCount(row.wire_bytes)});
  }
  return Section("Predicted, to be compared with the run (not part of what is approved)") +
         RenderTable(table, 2);
}

std::string Messages(const std::string& title, std::span<const PlanPhase> phases) {
  TextTable table{{"phase", "rounds", "from", "to", "messages", "bytes"}, {1, 4, 5}, {}};
  for (const PlanPhase& phase : phases) {
    std::string name = phase.name, rounds = FormatCount(phase.rounds);
    uint64_t messages = 0, bytes = 0;
    for (const PlanLink& link : phase.links) {
      messages += link.messages;
      bytes += link.bytes;
      if (phase.links.size() > kMaxLinksShown) continue;
      table.rows.push_back(
          {name, rounds, link.from, link.to, FormatCount(link.messages), FormatCount(link.bytes)});
      name.clear();
      rounds.clear();
    }
    if (phase.links.size() <= kMaxLinksShown && !phase.links.empty()) continue;
    const std::string links = std::to_string(phase.links.size()) + " links";
    table.rows.push_back({name, rounds, links, "", FormatCount(messages), FormatCount(bytes)});
  }
  const PlanTotals totals = Totals(phases);
  table.rows.push_back({"total", FormatCount(totals.rounds), "", "", FormatCount(totals.messages),
                        FormatCount(totals.bytes)});
  return Section(title) + RenderTable(table, 2);
}

std::string Messages(const Plan& plan) {
  if (plan.preparation.empty()) return Messages("Messages (payload bytes)", plan.phases);
  return Messages("Messages before the run, for each run prepared (payload bytes)",
                  plan.preparation) +
         Messages("Messages of the run (payload bytes)", plan.phases);
}

std::string Correlations(const Plan& plan) {
  if (plan.correlations.empty()) return {};
  TextTable table{{"kind", "count"}, {1}, {}};
  for (const PlanCorrelation& correlation : ShownCorrelations(plan)) {
    table.rows.push_back({correlation.name, FormatCount(correlation.count)});
  }
  return Section("Correlated randomness") + RenderTable(table, 2);
}

std::string Estimates(const Plan& plan, std::span<const NetworkModel> networks) {
  if (networks.empty()) return {};
  TextTable table{{"phase", "rounds"}, {1}, {}};
  std::vector<std::string> total = {"total", FormatCount(Totals(plan).rounds)};
  for (const NetworkModel& network : networks) {
    table.right.push_back(table.header.size());
    table.header.push_back(network.name);
    total.push_back(FormatSeconds(EstimateSeconds(plan, network)));
  }
  for (const PlanPhase& phase : plan.phases) {
    table.rows.push_back({phase.name, FormatCount(phase.rounds)});
    for (const NetworkModel& network : networks)
      table.rows.back().push_back(FormatSeconds(EstimateSeconds(phase, network)));
  }
  table.rows.push_back(total);
  std::string text =
      Section("Estimated network time (not part of what is approved)") + RenderTable(table, 2);
  for (const NetworkModel& network : networks) text += WrapText(SlowestPhase(plan, network), 2);
  return text;
}

std::string Alternatives(const Plan& plan, std::span<const NetworkModel> networks) {
  if (plan.alternatives.empty()) return {};
  TextTable table{{"schedule", "rounds"}, {1}, {}};
  for (const NetworkModel& network : networks) {
    table.right.push_back(table.header.size());
    table.header.push_back(network.name);
  }
  std::string results;
  for (const PlanAlternative& alternative : plan.alternatives) {
    std::vector<std::string> row = {alternative.schedule, FormatCount(alternative.rounds)};
    for (const NetworkModel& network : networks)
      row.push_back(FormatSeconds(EstimateSeconds(alternative, network)));
    table.rows.push_back(std::move(row));
    results += WrapText(alternative.schedule + ": " + alternative.result, 2);
  }
  return Section("Other schedules, the first is this plan's (not part of what is approved)") +
         RenderTable(table, 2) + results;
}

}  // namespace

std::string RenderPlanText(const Plan& plan, std::span<const NetworkModel> networks) {
  return Heading(plan) + Paragraphs("Parties", PartyTexts(plan)) +
         Paragraphs("Analyses", AnalysisTexts(plan)) +
         Paragraphs("Who learns what (leakage level: " + plan.leakage_level + ")",
                    LearnsSentences(plan)) +
         Paragraphs("Releases", ReleaseTexts(plan)) +
         Paragraphs("What the released numbers give away", ExposureTexts(plan)) +
         Paragraphs("How much about one person", PrivacyTexts(plan)) + Utility(plan) +
         Paragraphs("Checked on shares, before what a check is about opens", CheckTexts(plan)) +
         Paragraphs("Assumptions", plan.assumptions) + Predictions(plan) + Messages(plan) +
         Correlations(plan) + Estimates(plan, networks) + Alternatives(plan, networks) +
         Paragraphs("Notes", plan.notes);
}

}  // namespace partita::study
