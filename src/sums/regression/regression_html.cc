#include "sums/regression/regression_html.h"

#include <fmt/format.h>

#include <algorithm>

#include "privacy/rounded_text.h"
#include "report/html_page.h"
#include "report/html_text.h"
#include "report/numbers.h"
#include "report/privacy_html.h"

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

// A line per coefficient in posterior standard deviations: whether the interval contains zero, at a
// glance, whatever the units are.
std::string IntervalPlot(const RegressionResult& result) {
  constexpr double kWidth = 640, kLeft = 180, kRight = 20, kLine = 24, kReach = 8;
  const double height = kLine * (static_cast<double>(result.coefficients.size()) + 1.5);
  const auto x = [&](double value) {
    return kLeft +
           (kWidth - kLeft - kRight) * (std::clamp(value, -kReach, kReach) + kReach) / (2 * kReach);
  };
  std::string svg = fmt::format(
      "<svg viewBox=\"0 0 {0} {1}\" role=\"img\" aria-label=\"intervals of the coefficients\" "
      "font-size=\"12\"><line x1=\"{2:.1f}\" x2=\"{2:.1f}\" y1=\"0\" y2=\"{3}\" stroke=\"#999\"/>",
      kWidth, height, x(0), height - kLine);
  double y = 0.7 * kLine;
  for (const CoefficientFacts& row : result.coefficients) {
    const double scale = row.stddev > 0 ? row.stddev : 1;
    svg += fmt::format(
        "<text x=\"{0}\" y=\"{1:.1f}\" text-anchor=\"end\">{2}</text>"
        "<line x1=\"{3:.1f}\" x2=\"{4:.1f}\" y1=\"{5:.1f}\" y2=\"{5:.1f}\" stroke=\"#1f77b4\" "
        "stroke-width=\"2\"/><circle cx=\"{6:.1f}\" cy=\"{5:.1f}\" r=\"4\" fill=\"#1f77b4\"/>",
        kLeft - 10, y + 4, Escape(row.name), x(row.lower / scale), x(row.upper / scale), y,
        x(row.mean / scale));
    y += kLine;
  }
  return svg + fmt::format(
                   "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">0, and posterior "
                   "standard deviations away from it (cut off at {:g})</text></svg>",
                   x(0), height - 6, kReach);
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
