#include "report/document_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/text_table.h"
#include "report/cell_tables.h"
#include "report/document_json.h"
#include "report/facts_json.h"
#include "report/html_page.h"
#include "report/html_run.h"
#include "report/html_text.h"
#include "report/line_plot.h"
#include "report/plan_statements.h"
#include "report/privacy_html.h"
#include "report/row_plot.h"
#include "report/run_summary.h"
#include "study/plan/document_csv.h"

namespace partita::report {
namespace {

using study::Document;
using study::DocumentPlot;
using study::DocumentSection;
using study::DocumentSeries;
using study::DocumentTable;

// Plots are on the page only: a section of nothing else has no heading here.
std::string SectionText(const DocumentSection& section) {
  if (section.paragraphs.empty() && section.tables.empty()) return {};
  std::string text = "\n" + WrapText(section.heading + ":", 0);
  for (const std::string& paragraph : section.paragraphs) text += WrapText(paragraph, 2);
  for (const DocumentTable& table : section.tables) text += CellTableText(table);
  return text;
}

std::string PlotHtml(const DocumentPlot& plot) {
  LinePlot lines{plot.title, plot.x_label, plot.y_label, {}, {}, plot.note};
  for (const DocumentSeries& series : plot.series) {
    PlotLine line{series.name, {}, series.upper};
    for (size_t i = 0; i < series.x.size(); ++i) line.points.emplace_back(series.x[i], series.y[i]);
    lines.lines.push_back(std::move(line));
  }
  return LinePlotHtml(lines);
}

std::string SectionHtml(const DocumentSection& section, size_t index) {
  std::string html;
  for (const std::string& paragraph : section.paragraphs) html += Paragraph(paragraph);
  for (const DocumentTable& table : section.tables) html += CellTableHtml(table);
  std::string plots;
  for (const DocumentPlot& plot : section.plots) plots += PlotHtml(plot);
  for (const study::DocumentIntervals& plot : section.intervals) plots += IntervalPlotHtml(plot);
  if (!plots.empty()) html += Element("div", "\n" + plots, "plots") + "\n";
  if (html.empty()) return {};
  return Section(fmt::format("section-{}", index + 1), section.heading, html);
}

// What must be read before anything else; empty where all went well or the sections say it.
std::string Caution(const Document& document) {
  if (document.ending != study::Ending::kNotTrained) return "";
  return "NOT TRAINED. The run was interrupted, and some of what it may open was lost: this result "
         "is made from less than was planned. Do not use it as if it were the planned one.";
}

std::string Software(const RunFacts& facts) {
  std::string software = "Software: Partita " + facts.software_version;
  for (const std::string& library : facts.libraries) software += ", " + library;
  return software + ".";
}

}  // namespace

std::string DocumentSummary(const Document& document, const study::Plan& plan,
                            const RunFacts& facts) {
  std::string text = WrapText("Study " + plan.study + ": " + document.title, 0);
  if (const std::string caution = Caution(document); !caution.empty())
    text += "\n" + WrapText(caution, 0);
  for (const DocumentSection& section : document.sections) text += SectionText(section);
  return text + RunSummary(plan, facts);
}

std::string DocumentJson(const Document& document, const study::Plan& plan, const RunFacts& facts) {
  nlohmann::ordered_json json =
      HeadJson(std::string(study::EndingName(document.ending)), plan, facts);
  AppendDocument(document, json);
  AppendFacts(plan, facts, json);
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string RenderDocumentHtml(const Document& document, const study::Plan& plan,
                               const RunFacts& facts) {
  HtmlPage page;
  page.title = document.title + " - Partita report";
  std::string about = "Report for " + facts.party;
  if (!facts.started_at.empty()) about += ", run of " + facts.started_at;
  page.header = Paragraph("Partita study " + plan.study, "kicker") +
                Element("h1", Escape(document.title)) + "\n" + Paragraph(about, "about");
  if (const std::string caution = Caution(document); !caution.empty())
    page.main += Paragraph(caution, "caution");
  page.main += StatementsHtml(PlanStatements(plan));
  for (size_t i = 0; i < document.sections.size(); ++i) {
    if (!document.sections[i].own_rows) page.main += SectionHtml(document.sections[i], i);
  }
  page.main += DataHtml(facts) + StudyHtml(plan, facts) + LearnedHtml(plan, facts) +
               TrafficHtml(facts) + Section("software", "Software", Paragraph(Software(facts)));
  // One script draws them; without one of them there is nothing to draw.
  if (!facts.phases.empty()) page.data = "{\"traffic\": " + TrafficData(facts) + "}";
  if (plan.privacy_statement) page.data = WithTradeOffs(page.data, *plan.privacy_statement);
  page.footer = Paragraph(
      "Made by Partita. This file needs no network; result.json holds its numbers in full "
      "precision.");
  return RenderHtmlPage(page);
}

std::optional<std::string> EstimatesResult::Csv() const {
  if (ending() != study::Ending::kConverged) return {};
  for (const DocumentSection& section : document.sections) {
    if (!section.tables.empty()) return study::TableCsv(section.tables.front());
  }
  return {};
}

std::unique_ptr<const Result> ReadDocumentResult(const nlohmann::ordered_json& json) {
  return std::make_unique<const DocumentResult>(ReadDocument(json));
}

std::unique_ptr<const Result> ReadEstimatesResult(const nlohmann::ordered_json& json) {
  return std::make_unique<const EstimatesResult>(ReadDocument(json));
}

}  // namespace partita::report
