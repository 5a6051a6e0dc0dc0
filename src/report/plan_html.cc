#include "report/plan_html.h"

#include "base/text_table.h"
#include "report/html_page.h"
#include "report/html_run.h"
#include "report/html_text.h"

namespace partita::report {
namespace {

// Among many parties a phase has a link for every pair: then one line for all of them.
constexpr size_t kMaxLinksShown = 30;

std::string Releases(const study::Plan& plan) {
  HtmlTable table{"", {"Release", "What", "To", "Mechanism", "At most"}, {4}, {}, ""};
  for (const study::PlanRelease& release : plan.releases) {
    table.Add({Escape(release.id), Escape(release.what), Escape(release.to),
               Escape(release.mechanism),
               release.max_count == 1 ? "once" : FormatCount(release.max_count) + " times"});
  }
  return plan.releases.empty() ? Paragraph("Nothing is released.") : RenderHtmlTable(table);
}

std::string Messages(const study::Plan& plan) {
  HtmlTable table{"Messages (payload in bytes)",
                  {"Phase", "Rounds", "From", "To", "Messages", "Bytes"},
                  {1, 4, 5},
                  {},
                  ""};
  for (const study::PlanPhase& phase : plan.phases) {
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
  const study::PlanTotals totals = study::Totals(plan);
  table.Add({"total", FormatCount(totals.rounds), "", "", FormatCount(totals.messages),
             FormatCount(totals.bytes)});
  return RenderHtmlTable(table);
}

std::string Estimates(const study::Plan& plan, std::span<const study::NetworkModel> networks) {
  if (networks.empty()) return {};
  HtmlTable table{
      "Estimated network time (not part of what is approved)", {"Network", "Time"}, {1}, {}, ""};
  for (const study::NetworkModel& network : networks) {
    table.Add({Escape(network.name), Escape(FormatSeconds(study::EstimateSeconds(plan, network)))});
  }
  return RenderHtmlTable(table);
}

std::string Correlations(const study::Plan& plan) {
  if (plan.correlations.empty()) return {};
  HtmlTable table{
      "Correlated randomness that the computation uses up", {"Kind", "Count"}, {1}, {}, ""};
  for (const study::PlanCorrelation& correlation : plan.correlations) {
    table.Add({Escape(correlation.name), FormatCount(correlation.count)});
  }
  return RenderHtmlTable(table);
}

std::string Computed(const study::Plan& plan, const std::string& plan_hash) {
  HtmlTable hashes{"Hashes (SHA-256)", {"Of", "Value"}, {}, {}, "hashes"};
  hashes.Add({"study file", Code(plan.study_file_hash)});
  if (!plan_hash.empty()) hashes.Add({"plan", Code(plan_hash)});
  return Definitions({{"Study", plan.study},
                      {"Method", plan.method + " version " + std::to_string(plan.method_version)},
                      {"Protocol", plan.protocol},
                      {"Engine", plan.engine},
                      {"Partition", plan.partition}}) +
         RenderHtmlTable(hashes);
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
                  Element("h3", "Releases") + "\n" + Releases(plan) + AssumptionsHtml(plan)) +
      Section("cost", "What it costs",
              Estimates(plan, networks) + Messages(plan) + Correlations(plan));
  if (!plan.notes.empty()) page.main += Section("notes", "Notes", Bullets(plan.notes));
  page.footer = Paragraph("Made by Partita. This file needs no network.");
  return RenderHtmlPage(page);
}

}  // namespace partita::report
