#include "methods/mle/report/report_html.h"

#include "base/error.h"
#include "methods/mle/report/estimate_rows.h"
#include "methods/mle/report/html_analysis.h"
#include "methods/mle/report/plot_data.h"
#include "methods/mle/report/statements.h"
#include "report/html_page.h"
#include "report/html_run.h"
#include "report/html_text.h"
#include "report/privacy_html.h"

namespace partita::methods::mle {
namespace {

using report::Element;
using report::Escape;
using report::Paragraph;
using report::RunFacts;

std::string Title(const study::Plan& plan) { return plan.title.empty() ? plan.study : plan.title; }

std::string Navigation(std::span<const MleResult> results, const RunFacts& facts) {
  std::string links;
  const auto add = [&](const std::string& id, const std::string& title) {
    links += "<a href=\"#" + Escape(id) + "\">" + Escape(title) + "</a>\n";
  };
  if (results.size() > 1) add("comparison", "Side by side");
  for (size_t i = 0; i < results.size(); ++i) {
    add("analysis-" + std::to_string(i + 1),
        results.size() == 1 ? "Analysis" : AnalysisName(results[i]));
  }
  if (!facts.rows.empty() || !facts.variables.empty()) add("data", "Data");
  add("study", "Study and approvals");
  add("learned", "Who learned what");
  if (!facts.phases.empty()) add("traffic", "Traffic");
  add("methods", "Methods");
  return Element("nav", "\n" + links) + "\n";
}

std::string Header(std::span<const MleResult> results, const study::Plan& plan,
                   const RunFacts& facts) {
  std::string about = "Report for " + facts.party;
  if (!facts.started_at.empty()) about += ", run of " + facts.started_at;
  return Paragraph("Partita study " + plan.study, "kicker") + Element("h1", Escape(Title(plan))) +
         "\n" + Paragraph(about, "about") + Navigation(results, facts);
}

std::string Methods(std::span<const MleResult> results, const study::Plan& plan,
                    const RunFacts& facts) {
  std::string software = "Partita " + facts.software_version;
  for (const std::string& library : facts.libraries) software += ", " + library;
  return report::Section(
      "methods", "Methods paragraph and software",
      Paragraph("For the methods section of a paper:", "note") +
          Element("blockquote", Paragraph(MethodsParagraph(results, plan, facts))) + "\n" +
          Paragraph("Software: " + software + "."));
}

}  // namespace

std::string RenderReportHtml(std::span<const MleResult> results, const study::Plan& plan,
                             const RunFacts& facts) {
  if (results.empty()) throw Error(ErrorCode::kInternal, "a report without an analysis");
  for (const MleResult& result : results) CheckEstimates(result);
  report::HtmlPage page;
  page.title = Title(plan) + " - Partita report";
  page.header = Header(results, plan, facts);
  page.main = "<noscript>" +
              Paragraph("The plots need JavaScript; the tables hold the same numbers.", "note") +
              "</noscript>\n" + report::StatementsHtml(Statements(results, plan, facts));
  if (results.size() > 1) page.main += ComparisonHtml(results, facts);
  for (size_t i = 0; i < results.size(); ++i) {
    page.main += AnalysisHtml(results[i], facts, i, results.size() == 1);
  }
  page.main += report::DataHtml(facts) + report::StudyHtml(plan, facts) +
               report::LearnedHtml(plan, facts) + report::TrafficHtml(facts) +
               Methods(results, plan, facts);
  page.footer = Paragraph(
      "Made by Partita. This file needs no network; result.json and the CSV hold its numbers in "
      "full "
      "precision.");
  page.data = PlotData(results, facts);
  if (plan.privacy_statement) page.data = report::WithTradeOffs(page.data, *plan.privacy_statement);
  return report::RenderHtmlPage(page);
}

}  // namespace partita::methods::mle
