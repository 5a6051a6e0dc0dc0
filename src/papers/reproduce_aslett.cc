#include "papers/reproduce_aslett.h"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/text_table.h"
#include "cli/terminal/command_progress.h"
#include "cli/terminal/new_file.h"
#include "methods/mcmc/figures.h"
#include "report/html_page.h"
#include "report/html_text.h"
#include "report/line_plot.h"

namespace partita::papers {
namespace {

using methods::mcmc::FigureLine;

constexpr int kPoints = 200;  // of a plotted line
constexpr const char* kAslettTitle =
    "Confidential accept-reject: what decisions tell about one person";
constexpr const char* kAslettIs =
    "Type II error of the best test of one data set against its neighbour, for every type I error; "
    "a "
    "larger curve is more privacy. Lines at a pair of log ratios are exact for that pair and "
    "promise "
    "nothing for others. Guarantees hold for every pair, over a chain however proposals are "
    "chosen; "
    "attacks show what is lost for certain. Of a coalition that the engine does not withstand "
    "nothing is kept secret. Thresholds are taken as exact; statements of studies add their error.";

struct AslettCommand {
  methods::mcmc::FigureSettings settings;
  std::string output, html;
};

const char* SideName(privacy::CurveSide side) {
  switch (side) {
    case privacy::CurveSide::kExact:
      return "exact";
    case privacy::CurveSide::kLower:
      return "at least";
    case privacy::CurveSide::kUpper:
      return "at most";
  }
  return "";
}

double PointOf(int k) { return static_cast<double>(k) / kPoints; }

std::string AslettCsv(const std::vector<FigureLine>& lines) {
  std::string csv = "decisions,sensitivity,adversary,line,side,alpha,beta\n";
  for (const FigureLine& line : lines) {
    for (int k = 0; k <= kPoints; ++k) {
      csv += fmt::format("{},{},{},\"{}\",{},{},{}\n", line.decisions, line.sensitivity,
                         line.adversary, line.curve.name, SideName(line.curve.side), PointOf(k),
                         line.curve.beta(PointOf(k)));
    }
  }
  return csv;
}

bool SamePlot(const FigureLine& a, const FigureLine& b) {
  return a.decisions == b.decisions && a.adversary == b.adversary;
}

std::string PlotTitle(const FigureLine& line) {
  return fmt::format("{} {}, log ratios within {:.4g}, seen by {}", line.decisions,
                     line.decisions == 1 ? "decision" : "decisions", line.sensitivity,
                     line.adversary == "outside" ? "outsiders" : line.adversary);
}

std::string AslettHtml(const std::vector<FigureLine>& lines) {
  report::HtmlPage page;
  page.title = kAslettTitle;
  page.header = report::Element("h1", report::Escape(kAslettTitle));
  for (size_t first = 0; first < lines.size();) {
    report::LinePlot plot{"type II against type I error", "type I error", "type II error", {}};
    plot.lines.push_back({"no loss", {{0, 1}, {1, 0}}});
    size_t last = first;
    for (; last < lines.size() && SamePlot(lines[first], lines[last]); ++last) {
      report::PlotLine drawn{lines[last].curve.name, {}};
      for (int k = 0; k <= kPoints; ++k) {
        drawn.points.emplace_back(PointOf(k), lines[last].curve.beta(PointOf(k)));
      }
      plot.lines.push_back(std::move(drawn));
    }
    page.main += report::Section(fmt::format("plot-{}", first), PlotTitle(lines[first]),
                                 report::LinePlotHtml(plot));
    first = last;
  }
  page.footer = report::Paragraph(kAslettIs) +
                report::Paragraph("Formulas: L. Aslett, Confidential accept-reject, 2025.");
  return report::RenderHtmlPage(page);
}

std::string AslettText(const std::vector<FigureLine>& lines) {
  TextTable table;
  table.header = {"decisions", "Delta", "seen by", "line", "side", "advantage", "beta at 5 %"};
  table.right = {0, 1, 5, 6};
  for (const FigureLine& line : lines) {
    table.rows.push_back({fmt::format("{}", line.decisions),
                          fmt::format("{:.4g}", line.sensitivity), line.adversary, line.curve.name,
                          SideName(line.curve.side),
                          fmt::format("{:.4f}", privacy::AttackAdvantage(line.curve)),
                          fmt::format("{:.4f}", line.curve.beta(0.05))});
  }
  return RenderTable(table, 0) +
         WrapText(
             "Advantage: the largest 1 - type I - type II error. Where the side is 'at least', "
             "so is the curve, and the advantage is at most this.",
             0) +
         WrapText(kAslettIs, 0);
}

nlohmann::ordered_json AslettData(const std::vector<FigureLine>& lines) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const FigureLine& line : lines) {
    list.push_back({{"decisions", line.decisions},
                    {"sensitivity", line.sensitivity},
                    {"adversary", line.adversary},
                    {"line", line.curve.name},
                    {"side", SideName(line.curve.side)},
                    {"advantage", privacy::AttackAdvantage(line.curve)},
                    {"beta_at_5_percent", line.curve.beta(0.05)}});
  }
  return {{"lines", list}};
}

int RunAslett(const cli::OutputOptions& output, const AslettCommand& command) {
  if (command.settings.coalition >= command.settings.parties) {
    throw Error(ErrorCode::kBadInput, "a coalition of all parties protects from nobody",
                "give --coalition a smaller number than --parties");
  }
  cli::CommandProgress progress(output);
  progress.progress().Phase("chains");
  const std::vector<FigureLine> lines =
      methods::mcmc::TradeOffFigures(command.settings, progress.progress());
  progress.Finish();
  if (!command.output.empty()) WriteFileAtomically(command.output, AslettCsv(lines));
  if (!command.html.empty()) WriteFileAtomically(command.html, AslettHtml(lines));
  cli::PrintResult(output, std::string(kAslettTitle) + "\n\n" + AslettText(lines),
                   AslettData(lines).dump());
  return cli::kDone;
}

}  // namespace

void AddReproduceAslett(CLI::App& reproduce, cli::Invocation& invocation) {
  auto command = std::make_shared<AslettCommand>();
  CLI::App* app = reproduce.add_subcommand(
      "aslett-fdp", "What accept-reject decisions tell whom: type I against type II error");
  cli::AddOutputOptions(*app, invocation, "reproduce aslett-fdp");
  app->add_option("--parties", command->settings.parties, "Parties")
      ->check(CLI::Range(2, 1000))
      ->capture_default_str();
  app->add_option("--coalition", command->settings.coalition,
                  "Parties that pool what they know of the noise")
      ->check(CLI::Range(1, 999))
      ->capture_default_str();
  app->add_option("--sensitivity", command->settings.sensitivity,
                  "How far one person moves a log ratio, in the plots of one decision")
      ->check(CLI::Range(1e-6, 10.0))
      ->capture_default_str();
  app->add_option("--chain-sensitivity", command->settings.chain_sensitivity,
                  "The same in the plots of chains")
      ->check(CLI::Range(1e-6, 10.0))
      ->capture_default_str();
  app->add_option("--decisions", command->settings.chains, "Decisions of a chain (may be repeated)")
      ->check(CLI::Range(2, 1000000))
      ->capture_default_str();
  cli::AddNewFile(*app, invocation, "--output", command->output,
                  "Also write the curves as CSV to this file");
  cli::AddNewFile(*app, invocation, "--html", command->html,
                  "Also write the plots to this HTML file");
  app->callback([&invocation, command] {
    invocation.run = [&invocation, command] { return RunAslett(invocation.output, *command); };
  });
}

}  // namespace partita::papers
