#include "report/plan_html.h"

#include <algorithm>

#include "base/text_table.h"
#include "report/html_page.h"
#include "report/html_run.h"
#include "report/html_text.h"
#include "report/numbers.h"
#include "report/plan_statements.h"
#include "report/privacy_html.h"
#include "study/plan/shown_correlations.h"

namespace partita::report {
namespace {

// Among many parties a phase has a link for every pair: then one line for all of them.
constexpr size_t kMaxLinksShown = 30;

std::string PlannedReleases(const study::Plan& plan) {
  HtmlTable table{"", {"Release", "What", "To", "Mechanism", "At most"}, {4}, {}, ""};
  for (const study::PlanRelease& release : plan.releases) {
    table.Add({Escape(release.id), Escape(release.what), Escape(release.to),
               Escape(release.mechanism),
               release.max_count == 1 ? "once" : FormatCount(release.max_count) + " times"});
  }
  return plan.releases.empty() ? Paragraph("Nothing is released.") : RenderHtmlTable(table);
}

std::string Analyses(const study::Plan& plan) {
  if (plan.analyses.empty()) return {};
  // Of none where a method has other numbers: counts, curves.
  const bool parameters =
      std::any_of(plan.analyses.begin(), plan.analyses.end(),
                  [](const study::PlanAnalysis& of) { return of.free_parameters > 0; });
  HtmlTable table{"Analyses", {"Analysis", "Model", "Rows", "Protocol"}, {}, {}, ""};
  if (parameters) {
    table.header.push_back("Free parameters");
    table.numbers = {4};
  }
  for (const study::PlanAnalysis& analysis : plan.analyses) {
    std::vector<std::string> row = {Escape(analysis.name), Escape(analysis.model),
                                    Escape(analysis.rows), Escape(analysis.protocol)};
    if (parameters) row.push_back(FormatCount(analysis.free_parameters));
    table.Add(std::move(row));
  }
  return RenderHtmlTable(table);
}

std::string Checks(const study::Plan& plan) {
  if (plan.checks.empty()) return {};
  HtmlTable table{"Checked on shares, before what a check is about opens",
                  {"Analysis", "About", "Rule", "Otherwise"},
                  {},
                  {},
                  ""};
  for (const study::PlanCheck& check : plan.checks) {
    table.Add({Escape(check.analysis), Escape(check.variable), Escape(check.rule),
               check.warning ? "a warning" : "nothing is released"});
  }
  return RenderHtmlTable(table);
}

std::string Exposures(const study::Plan& plan) {
  if (plan.exposures.empty()) return {};
  HtmlTable table{"What the released numbers give away",
                  {"Released", "To", "Numbers, at most", "Determine all", "Level", "Bits, at most",
                   "Bits of the table", "Gives away"},
                  {2, 3, 5, 6},
                  {},
                  ""};
  for (const study::PlanExposure& exposure : plan.exposures) {
    std::vector<std::string> clauses = exposure.exposes;
    if (exposure.bits) clauses.push_back(exposure.bits->meaning);
    table.Add({Escape(exposure.of), Escape(exposure.to), FormatCount(exposure.opened),
               exposure.statistics == 0 ? "-" : FormatCount(exposure.statistics),
               Escape(exposure.level), exposure.bits ? FormatCount(exposure.bits->opened) : "",
               exposure.bits ? FormatCount(exposure.bits->table) : "", Bullets(clauses)});
  }
  return RenderHtmlTable(table);
}

std::string PlannedPrivacy(const study::Plan& plan) {
  if (plan.privacy.empty()) return {};
  HtmlTable table{"How much about one person", {"Who", "Adjacency", "Loss"}, {}, {}, ""};
  for (const study::PlanPrivacy& row : plan.privacy) {
    table.Add({Escape(row.adversary), Escape(row.adjacency), Escape(row.loss)});
  }
  return RenderHtmlTable(table) +
         (plan.privacy_statement ? TradeOffsHtml(*plan.privacy_statement) : "");
}

std::string Utility(const study::Plan& plan) {
  if (plan.utility.empty()) return {};
  HtmlTable table{
      "Expected cost of the noise (power 0.8 at 0.05, planning values)",
      {"Analysis", "Parameter", "Std. error", "Inflation", "Smallest effect", "With noise"},
      {2, 3, 4, 5},
      {},
      ""};
  for (const study::PlanUtility& row : plan.utility) {
    table.Add({Escape(row.analysis), Escape(row.parameter), Significant3(row.standard_error),
               Significant3(row.inflation), Significant3(row.smallest_effect),
               Significant3(row.smallest_effect_dp)});
  }
  return RenderHtmlTable(table);
}

std::string Predictions(const study::Plan& plan) {
  if (plan.predictions.empty()) return {};
  HtmlTable table{"Predicted, to be compared with the run (not part of what is approved)",
                  {"Network", "Whole study", "Bytes on the wire"},
                  {1, 2},
                  {},
                  ""};
  for (const study::PlanPrediction& row : plan.predictions) {
    table.Add(
        {Escape(row.network), Escape(FormatSeconds(row.seconds)), FormatCount(row.wire_bytes)});
  }
  return RenderHtmlTable(table);
}

std::string Messages(const std::string& title, std::span<const study::PlanPhase> phases) {
  HtmlTable table{title, {"Phase", "Rounds", "From", "To", "Messages", "Bytes"}, {1, 4, 5}, {}, ""};
  for (const study::PlanPhase& phase : phases) {
    std::string name = Escape(phase.name), rounds = FormatCount(phase.rounds);
    uint64_t messages = 0, bytes = 0;
    for (const study::PlanLink& link : phase.links) {
      messages += link.messages;
      bytes += link.bytes;
      if (phase.links.size() > kMaxLinksShown) continue;
      table.Add({name, rounds, Escape(link.from), Escape(link.to), FormatCount(link.messages),
                 FormatCount(link.bytes)});
      name.clear();
      rounds.clear();
    }
    if (phase.links.size() <= kMaxLinksShown && !phase.links.empty()) continue;
    table.Add({name, rounds, std::to_string(phase.links.size()) + " links", "",
               FormatCount(messages), FormatCount(bytes)});
  }
  const study::PlanTotals totals = study::Totals(phases);
  table.Add({"total", FormatCount(totals.rounds), "", "", FormatCount(totals.messages),
             FormatCount(totals.bytes)});
  return RenderHtmlTable(table);
}

std::string Messages(const study::Plan& plan) {
  if (plan.preparation.empty()) return Messages("Messages (payload in bytes)", plan.phases);
  return Messages("Messages before the run, for each run prepared (payload in bytes)",
                  plan.preparation) +
         Messages("Messages of the run (payload in bytes)", plan.phases);
}

std::string TimeEstimates(const study::Plan& plan, std::span<const study::NetworkModel> networks) {
  if (networks.empty()) return {};
  HtmlTable table{
      "Estimated network time (not part of what is approved)", {"Phase", "Rounds"}, {1}, {}, ""};
  std::vector<std::string> total = {"total", FormatCount(Totals(plan).rounds)};
  std::string sentences;
  for (const study::NetworkModel& network : networks) {
    table.numbers.push_back(table.header.size());
    table.header.push_back(Escape(network.name));
    total.push_back(Escape(FormatSeconds(study::EstimateSeconds(plan, network))));
    sentences += Paragraph(study::SlowestPhase(plan, network));
  }
  for (const study::PlanPhase& phase : plan.phases) {
    std::vector<std::string> row = {Escape(phase.name), FormatCount(phase.rounds)};
    for (const study::NetworkModel& network : networks)
      row.push_back(Escape(FormatSeconds(study::EstimateSeconds(phase, network))));
    table.Add(std::move(row));
  }
  table.Add(std::move(total));
  return RenderHtmlTable(table) + sentences;
}

std::string Alternatives(const study::Plan& plan, std::span<const study::NetworkModel> networks) {
  if (plan.alternatives.empty()) return {};
  HtmlTable table{"Other schedules, the first is this plan's (not part of what is approved)",
                  {"Schedule", "Result", "Rounds"},
                  {2},
                  {},
                  ""};
  for (const study::NetworkModel& network : networks) {
    table.numbers.push_back(table.header.size());
    table.header.push_back(Escape(network.name));
  }
  for (const study::PlanAlternative& alternative : plan.alternatives) {
    std::vector<std::string> row = {Escape(alternative.schedule), Escape(alternative.result),
                                    FormatCount(alternative.rounds)};
    for (const study::NetworkModel& network : networks)
      row.push_back(Escape(FormatSeconds(study::EstimateSeconds(alternative, network))));
    table.Add(std::move(row));
  }
  return RenderHtmlTable(table);
}

std::string Correlations(const study::Plan& plan) {
  if (plan.correlations.empty()) return {};
  HtmlTable table{
      "Correlated randomness that the computation uses up", {"Kind", "Count"}, {1}, {}, ""};
  for (const study::PlanCorrelation& correlation : study::ShownCorrelations(plan)) {
    table.Add({Escape(correlation.name), FormatCount(correlation.count)});
  }
  return RenderHtmlTable(table);
}

std::string Computed(const study::Plan& plan, const std::string& plan_hash) {
  HtmlTable hashes{"Hashes (SHA-256)", {"Of", "Value"}, {}, {}, "hashes"};
  hashes.Add({"study file", Code(plan.study_file_hash)});
  if (!plan_hash.empty()) hashes.Add({"plan", Code(plan_hash)});
  std::vector<std::pair<std::string, std::string>> items = {{"Study", plan.study}};
  AddDeclared(plan, items);
  items.insert(items.end(),
               {{"Method", plan.method + " version " + std::to_string(plan.method_version)},
                {"Protocol", plan.protocol},
                {"Engine", plan.engine},
                {"Partition", plan.partition}});
  return Definitions(items) + Analyses(plan) + RenderHtmlTable(hashes);
}

}  // namespace

std::string RenderPlanHtml(const study::Plan& plan, std::span<const study::NetworkModel> networks,
                           const std::string& plan_hash) {
  const std::string title = plan.title.empty() ? plan.study : plan.title;
  HtmlPage page;
  page.title = title + " - Partita plan";
  page.header = Paragraph("Plan of Partita study " + plan.study, "kicker") +
                Element("h1", Escape(title)) + "\n" +
                Paragraph(
                    "What will be computed, who learns what, and what it costs: agreed "
                    "before any data moves.",
                    "about");
  page.main =
      StatementsHtml(PlanStatements(plan)) +
      Section("computed", "What is computed", Computed(plan, plan_hash)) +
      Section("learned", "Who learns what",
              Paragraph("Leakage level: " + plan.leakage_level + ".") + PartiesTable(plan) +
                  Element("h3", "Releases") + "\n" + PlannedReleases(plan) + Exposures(plan) +
                  PlannedPrivacy(plan) + Utility(plan) + Checks(plan) + AssumptionsHtml(plan)) +
      Section("cost", "What it costs",
              Predictions(plan) + TimeEstimates(plan, networks) + Alternatives(plan, networks) +
                  Messages(plan) + Correlations(plan));
  if (!plan.notes.empty()) page.main += Section("notes", "Notes", Bullets(plan.notes));
  page.footer = Paragraph("Made by Partita. This file needs no network.");
  if (plan.privacy_statement) page.data = WithTradeOffs({}, *plan.privacy_statement);
  return RenderHtmlPage(page);
}

}  // namespace partita::report
