#include "sums/regression/regression_html.h"

#include <fmt/format.h>

#include "privacy/rounded_text.h"
#include "report/html_page.h"
#include "report/html_text.h"
#include "report/numbers.h"
#include "report/privacy_html.h"
#include "report/row_plot.h"

namespace partita::sums::regression {
namespace {

using report::Escape;
using report::Paragraph;
using report::Section;

std::string Short(double value) { return fmt::format("{:.4g}", value); }

std::string CoefficientTable(const RegressionResult& result) {
  const double tail = (1 - result.level) / 2;
  report::HtmlTable table;
  table.caption = "Posterior of the coefficients, in the units of the columns";
  table.header = {"Coefficient", "Mean", "SD", report::Percent(tail), report::Percent(1 - tail),
                  "P(&gt; 0)"};
  table.numbers = {1, 2, 3, 4, 5};
  if (result.noise_aware) {
    table.header.emplace_back("noise");
    table.numbers.push_back(6);
  }
  for (const CoefficientFacts& row : result.coefficients) {
    std::vector<std::string> cells = {Escape(row.name), Short(row.mean),  Short(row.stddev),
                                      Short(row.lower), Short(row.upper), Short(row.positive)};
    if (result.noise_aware) cells.push_back(fmt::format("{:.3g} x", row.noise_factor));
    table.Add(std::move(cells));
  }
  return report::RenderHtmlTable(table);
}

// Coefficients in posterior standard deviations: whether the interval contains zero, at a glance,
// whatever the units are.
std::string IntervalPlot(const RegressionResult& result) {
  constexpr double kReach = 8;
  study::DocumentIntervals plot{"Intervals of the coefficients",
                                fmt::format("posterior standard deviations (ends at {:g})", kReach),
                                false,
                                {}};
  for (const CoefficientFacts& row : result.coefficients) {
    const double scale = row.stddev > 0 ? row.stddev : 1;
    plot.rows.push_back({row.name, row.lower / scale, row.mean / scale, row.upper / scale});
  }
  return report::IntervalPlotHtml(plot, kReach);
}

std::string ColumnTable(const RegressionResult& result) {
  report::HtmlTable table;
  table.caption = "Public bounds; values beyond were moved to the nearer one by their owner";
  table.header = {"Column", "lower", "upper"};
  table.numbers = {1, 2};
  for (const auto& column : result.columns)
    table.Add({Escape(column.name), Short(column.lower), Short(column.upper)});
  return report::RenderHtmlTable(table);
}

}  // namespace

std::string RenderRegressionHtml(const RegressionResult& result, const std::string& collection) {
  report::HtmlPage page;
  page.title = "Regression of " + result.outcome + " - Partita";
  page.header = Paragraph("Partita private sum " + collection, "kicker") +
                report::Element("h1", "Regression of " + Escape(result.outcome)) + "\n";
  page.main = Section(
      "estimates", "Estimates",
      IntervalPlot(result) + CoefficientTable(result) +
          (result.noise_aware
               ? Paragraph("Noise: the posterior standard deviation as a multiple of what it would "
                           "be if the sums were exact.")
               : "") +
          report::Definitions(
              {{"rows", std::to_string(result.rows)},
               {"residual standard deviation", Short(result.residual_stddev)},
               {"noise of every scaled sum, standard deviation",
                privacy::RoundedText(result.noise_stddev, 4, false)},
               {"estimator", result.noise_aware ? "noise-aware posterior"
                                                : "plain posterior, noise left out"}}));
  page.main += Section("warnings", "What to keep in mind", report::Bullets(result.warnings));
  page.main += Section("bounds", "Bounds", ColumnTable(result));
  std::string data;
  for (size_t i = 0; i < result.statements.size(); ++i) {
    page.main += Section(i == 0 ? "statement" : fmt::format("statement-{}", i + 1),
                         "Privacy statement", report::StatementHtml(result.statements[i]));
    if (i == 0) data = report::WithTradeOffs("", result.statements[i]);
  }
  page.footer = Paragraph("Made by Partita. This file needs no network.");
  page.data = data;
  return report::RenderHtmlPage(page);
}

}  // namespace partita::sums::regression
