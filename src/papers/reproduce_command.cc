// partita reproduce dca-table1, dca-figure1b, dca-figure2
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/text_table.h"
#include "cli/commands.h"
#include "cli/study/simulate.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/new_file.h"
#include "crypto/prg.h"
#include "papers/reproduce.h"
#include "papers/reproduce_aslett.h"
#include "papers/reproduce_dpvi.h"
#include "papers/reproduce_psgd.h"
#include "papers/reproduce_registries.h"
#include "papers/reproduce_smle.h"
#include "report/html_page.h"
#include "report/progress.h"
#include "stats/blr/figure2.h"
#include "stats/quantile.h"

namespace partita::papers {
namespace {

namespace blr = stats::blr;

struct ReproduceCommand {
  std::string data, output, html;
  std::vector<std::string> tables, methods;
  std::vector<double> epsilons;
  size_t splits = 25, draws = 20;
};

// The same splits in every run, so that runs differ by their noise only.
std::vector<blr::Split> PublicSplits(const blr::Table& table, size_t count) {
  crypto::Prg prg(crypto::Key(std::array<uint8_t, 32>{1}));
  std::vector<blr::Split> splits;
  for (size_t k = 0; k < count; ++k) {
    splits.push_back(
        blr::DrawSplit(static_cast<size_t>(table.values.rows()), table.train + table.test, prg));
  }
  return splits;
}

std::vector<double> Flat(const std::vector<std::vector<double>>& lines) {
  std::vector<double> all;
  for (const auto& line : lines) all.insert(all.end(), line.begin(), line.end());
  return all;
}

struct CellSummary {
  double median, lower, upper, rmse, to_mean;
};

double MeanPredictor(const std::vector<blr::Figure2Cell>& cells, const blr::Figure2Cell& cell) {
  for (const blr::Figure2Cell& other : cells) {
    if (other.table == cell.table && other.epsilon == cell.epsilon &&
        other.method == blr::Figure2Method::kMean)
      return blr::MedianError(other);
  }
  return std::nan("");
}

CellSummary Summarise(const std::vector<blr::Figure2Cell>& cells, const blr::Figure2Cell& cell) {
  const std::vector<double> errors = Flat(cell.errors);
  const double median = stats::Quantile(errors, 0.5);
  return {median, stats::Quantile(errors, 0.25), stats::Quantile(errors, 0.75),
          stats::Quantile(Flat(cell.rmse), 0.5), median / MeanPredictor(cells, cell)};
}

std::string BlrCsv(const std::vector<blr::Figure2Cell>& cells) {
  std::string csv =
      "table,epsilon,method,median_mae,q25_mae,q75_mae,median_coefficient_rmse,"
      "mean_interval_width,ratio_to_mean_predictor,threshold_features,threshold_target\n";
  for (const blr::Figure2Cell& cell : cells) {
    const CellSummary s = Summarise(cells, cell);
    csv +=
        fmt::format("{},{},{},{},{},{},{},{},{},{},{}\n", cell.table, cell.epsilon,
                    blr::Figure2MethodName(cell.method), s.median, s.lower, s.upper, s.rmse,
                    cell.mean_width, s.to_mean, cell.thresholds.features, cell.thresholds.target);
  }
  return csv;
}

std::string BlrText(const std::vector<blr::Figure2Cell>& cells) {
  TextTable table;
  table.header = {"table",     "epsilon", "method", "median MAE",
                  "quartiles", "RMSE",    "width",  "to mean"};
  table.right = {1, 3, 4, 5, 6, 7};
  for (const blr::Figure2Cell& cell : cells) {
    const CellSummary s = Summarise(cells, cell);
    table.rows.push_back({cell.table, fmt::format("{:.2f}", cell.epsilon),
                          blr::Figure2MethodName(cell.method), fmt::format("{:.3f}", s.median),
                          fmt::format("{:.3f} {:.3f}", s.lower, s.upper),
                          fmt::format("{:.3f}", s.rmse), fmt::format("{:.3f}", cell.mean_width),
                          fmt::format("{:.3f}", s.to_mean)});
  }
  return RenderTable(table, 0) +
         WrapText(
             "Mean absolute error in units of a tenth of each column's range. Rows are clipped to "
             "the assumed bounds, noise is exact and analytically calibrated; centring and scaling "
             "use the whole table without privacy, as in the paper. RMSE: of the coefficients, "
             "against those without privacy. Width: mean 95 % interval; only those of the "
             "noise-aware posterior contain the privacy noise.",
             0);
}

// One plot: error against epsilon, a line per method, the axis cut off at twice the mean predictor.
std::string PlotSvg(const std::vector<blr::Figure2Cell>& cells, const std::string& table) {
  constexpr double kWidth = 640, kHeight = 360, kLeft = 50, kRight = 190, kTop = 15, kBottom = 35;
  static constexpr std::array<const char*, 11> kColours = {
      "#888888", "#000000", "#1f77b4", "#17becf", "#8c564b", "#7f7f7f",
      "#2ca02c", "#98c379", "#bc8f8f", "#d62728", "#ff7f0e"};
  double low = 1e300, high = 0, first = 1e300, last = 0;
  for (const blr::Figure2Cell& cell : cells) {
    if (cell.table != table) continue;
    low = std::min(low, blr::MedianError(cell));
    if (cell.method == blr::Figure2Method::kMean) high = 2 * blr::MedianError(cell);
    first = std::min(first, cell.epsilon);
    last = std::max(last, cell.epsilon);
  }
  if (high <= low) high = 3 * low;
  low *= 0.95;
  const double span = std::max(std::log(last / first), 1e-9);
  const auto x = [&](double epsilon) {
    return kLeft + (kWidth - kLeft - kRight) * std::log(epsilon / first) / span;
  };
  const auto y = [&](double error) {
    return kHeight - kBottom -
           (kHeight - kTop - kBottom) * (std::min(error, high) - low) / (high - low);
  };
  std::string svg = fmt::format(
      "<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"error against epsilon\" "
      "font-size=\"11\">",
      kWidth, kHeight);
  for (int k = 0; k <= 4; ++k) {
    const double error = low + (high - low) * k / 4;
    svg += fmt::format(
        "<line x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" stroke=\"#ddd\"/>"
        "<text x=\"{3}\" y=\"{2:.1f}\" text-anchor=\"end\">{4:.2f}</text>",
        kLeft, kWidth - kRight, y(error), kLeft - 5, error);
  }
  double key = kTop + 10;
  for (const blr::Figure2Method method : blr::AllFigure2Methods()) {
    std::string points;
    for (const blr::Figure2Cell& cell : cells) {
      if (cell.table != table || cell.method != method) continue;
      points += fmt::format("{:.1f},{:.1f} ", x(cell.epsilon), y(blr::MedianError(cell)));
      if (method == blr::AllFigure2Methods().front()) {
        svg += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{:.3g}</text>",
                           x(cell.epsilon), kHeight - 18, cell.epsilon);
      }
    }
    if (points.empty()) continue;
    const char* colour = kColours[static_cast<size_t>(method)];
    svg += fmt::format(
        "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.8\"/>"
        "<line x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\" stroke-width=\"2\"/>"
        "<text x=\"{}\" y=\"{:.1f}\">{}</text>",
        points, colour, kWidth - kRight + 15, kWidth - kRight + 35, key - 4, key - 4, colour,
        kWidth - kRight + 40, key, blr::Figure2MethodName(method));
    key += 18;
  }
  svg += fmt::format("<text x=\"{}\" y=\"{}\">epsilon</text></svg>", (kWidth - kRight + kLeft) / 2,
                     kHeight - 3);
  return svg;
}

std::string BlrHtml(const std::vector<blr::Figure2Cell>& cells) {
  report::HtmlPage page;
  page.title = "Private linear regression: error against epsilon";
  page.header = "<h1>Private linear regression: error against epsilon</h1>";
  std::string last;
  for (const blr::Figure2Cell& cell : cells) {
    if (cell.table == last) continue;
    last = cell.table;
    page.main += fmt::format(
        "<section><h2>{}</h2><p>Median absolute error; cut off at twice the error of always "
        "predicting the mean.</p>{}</section>",
        last, PlotSvg(cells, last));
  }
  page.footer =
      "<p>Protocol: Heikkil&auml; et al., NIPS 2017, Figure 2, with rows that are clipped "
      "and noise that is exact and analytically calibrated.</p>";
  return report::RenderHtmlPage(page);
}

nlohmann::ordered_json BlrData(const std::vector<blr::Figure2Cell>& cells) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const blr::Figure2Cell& cell : cells) {
    const CellSummary s = Summarise(cells, cell);
    list.push_back({{"table", cell.table},
                    {"epsilon", cell.epsilon},
                    {"method", blr::Figure2MethodName(cell.method)},
                    {"median_mae", s.median},
                    {"q25_mae", s.lower},
                    {"q75_mae", s.upper},
                    {"median_coefficient_rmse", s.rmse},
                    {"mean_interval_width", cell.mean_width}});
  }
  return {{"rows", list}};
}

int RunFigure2(const cli::OutputOptions& output, const ReproduceCommand& command) {
  blr::Figure2Options options;
  options.epsilons = command.epsilons;
  options.noise_draws = command.draws;
  options.noise_aware.components = options.noise_aware.draws;
  for (const blr::Figure2Method method : blr::AllFigure2Methods()) {
    const bool chosen = std::find(command.methods.begin(), command.methods.end(),
                                  blr::Figure2MethodName(method)) != command.methods.end();
    if (command.methods.empty() || chosen || method == blr::Figure2Method::kMean)
      options.methods.push_back(method);
  }
  report::TerminalProgress terminal(std::cerr, report::DetectProgressStyle(STDERR_FILENO), "",
                                    &cli::Interrupted());
  cli::CancellableProgress quiet;
  Progress& progress = output.quiet ? static_cast<Progress&>(quiet) : terminal;
  crypto::SystemRandom random;
  std::vector<blr::Figure2Cell> cells;
  for (const UciTable& known : kUciTables) {
    if (!command.tables.empty() &&
        std::find(command.tables.begin(), command.tables.end(), known.name) == command.tables.end())
      continue;
    const blr::Table table = ReadUciTable(command.data, known);
    const std::vector<blr::Split> splits = PublicSplits(table, command.splits);
    for (blr::Figure2Cell& cell : blr::RunFigure2(table, splits, options, random, progress))
      cells.push_back(std::move(cell));
  }
  terminal.Finish();
  if (!command.output.empty()) WriteFileAtomically(command.output, BlrCsv(cells));
  if (!command.html.empty()) WriteFileAtomically(command.html, BlrHtml(cells));
  cli::PrintResult(output, BlrText(cells), BlrData(cells).dump());
  return cli::kDone;
}

// A line per T, the factor cut off at 3.
std::string Figure1bHtml() {
  constexpr double kWidth = 640, kHeight = 320, kLeft = 50, kRight = 90, kTop = 15, kBottom = 40;
  static constexpr std::array<const char*, 3> kColours = {"#1f77b4", "#2ca02c", "#d62728"};
  const auto x = [&](double clients) { return kLeft + (kWidth - kLeft - kRight) * clients / 100; };
  const auto y = [&](double factor) {
    return kHeight - kBottom - (kHeight - kTop - kBottom) * (std::min(factor, 3.0) - 1) / 2;
  };
  std::string svg = fmt::format(
      "<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"variance factor against clients\" "
      "font-size=\"11\">",
      kWidth, kHeight);
  for (const double factor : {1.0, 1.5, 2.0, 2.5, 3.0}) {
    svg += fmt::format(
        "<line x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" stroke=\"#ddd\"/>"
        "<text x=\"{3}\" y=\"{2:.1f}\" text-anchor=\"end\">{4:.1f}</text>",
        kLeft, kWidth - kRight, y(factor), kLeft - 5, factor);
  }
  for (const int clients : {0, 20, 40, 60, 80, 100}) {
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>", x(clients),
                       kHeight - 22, clients);
  }
  for (const size_t colluding : {0, 5, 10}) {
    std::string points;
    for (const blr::Figure1bPoint& point : blr::Figure1b()) {
      if (point.colluding != colluding) continue;
      points += fmt::format("{:.1f},{:.1f} ", x(static_cast<double>(point.clients)),
                            y(point.variance_factor));
    }
    const size_t line = colluding / 5;
    const char* colour = kColours[line];
    const double key = kTop + 10 + 18 * static_cast<double>(line);
    svg += fmt::format(
        "<polyline points=\"{0}\" fill=\"none\" stroke=\"{1}\" stroke-width=\"1.8\"/>"
        "<text x=\"{2}\" y=\"{3:.1f}\" fill=\"{1}\">T = {4}</text>",
        points, colour, kWidth - kRight + 10, key, colluding);
  }
  svg += fmt::format("<text x=\"{}\" y=\"{}\">clients</text></svg>", (kWidth - kRight + kLeft) / 2,
                     kHeight - 5);
  report::HtmlPage page;
  page.title = "Extra noise of distributed sums";
  page.header = "<h1>Extra noise of distributed sums</h1>";
  page.main = "<section><h2>Variance as a multiple of a trusted aggregator's</h2>" + svg +
              "<p>n / (n - T - 1), cut off at 3.</p></section>";
  page.footer = "<p>Heikkil&auml; et al., NIPS 2017, Figure 1b and Theorem 1.</p>";
  return report::RenderHtmlPage(page);
}

int RunFigure1b(const cli::OutputOptions& output, const ReproduceCommand& command) {
  std::string csv = "clients,colluding,variance_factor\n";
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  TextTable table;
  table.header = {"clients", "T = 0", "T = 5", "T = 10"};
  table.right = {0, 1, 2, 3};
  std::map<size_t, std::array<std::string, 3>> lines;
  for (const blr::Figure1bPoint& point : blr::Figure1b()) {
    csv += fmt::format("{},{},{}\n", point.clients, point.colluding, point.variance_factor);
    list.push_back({{"clients", point.clients},
                    {"colluding", point.colluding},
                    {"variance_factor", point.variance_factor}});
    if (point.clients % 10 == 0)
      lines[point.clients][point.colluding / 5] = fmt::format("{:.4f}", point.variance_factor);
  }
  for (const auto& [clients, factors] : lines)
    table.rows.push_back({std::to_string(clients), factors[0], factors[1], factors[2]});
  if (!command.output.empty()) WriteFileAtomically(command.output, csv);
  if (!command.html.empty()) WriteFileAtomically(command.html, Figure1bHtml());
  cli::PrintResult(
      output,
      RenderTable(table, 0) + WrapText("Variance of the noise in the sum, as a multiple of "
                                       "a trusted aggregator's: n / (n - T - 1).",
                                       0),
      nlohmann::ordered_json{{"rows", list}}.dump());
  return cli::kDone;
}

}  // namespace

void AddReproduceCommand(CLI::App& app, cli::Invocation& invocation) {
  CLI::App* reproduce =
      app.add_subcommand("reproduce", "Run the experiments of the papers that Partita builds on");
  reproduce->require_subcommand(1);
  auto options = std::make_shared<ReproduceCommand>();

  AddTable1(*reproduce, invocation);
  CLI::App* factors = reproduce->add_subcommand(
      "dca-figure1b", "Extra noise of distributed sums against a trusted aggregator");
  cli::AddOutputOptions(*factors, invocation, "reproduce dca-figure1b");
  cli::AddNewFile(*factors, invocation, "--output", options->output,
                  "Also write the numbers as CSV to this file");
  cli::AddNewFile(*factors, invocation, "--html", options->html,
                  "Also write the plot to this HTML file");
  factors->callback([&invocation, options] {
    invocation.run = [&invocation, options] { return RunFigure1b(invocation.output, *options); };
  });

  CLI::App* errors = reproduce->add_subcommand(
      "dca-figure2", "Prediction error of private linear regressions on three UCI tables");
  cli::AddOutputOptions(*errors, invocation, "reproduce dca-figure2");
  std::vector<std::string> tables, methods;
  for (const UciTable& known : kUciTables) tables.emplace_back(known.name);
  for (const blr::Figure2Method method : blr::AllFigure2Methods())
    methods.emplace_back(blr::Figure2MethodName(method));
  errors
      ->add_option("--data", options->data,
                   "Folder with winequality_red.csv, winequality_white.csv and abalone.csv")
      ->required();
  errors->add_option("--table", options->tables, "Only this table (may be repeated)")
      ->check(CLI::IsMember(tables));
  errors->add_option("--method", options->methods, "Only this method (may be repeated)")
      ->check(CLI::IsMember(methods));
  errors->add_option("--epsilon", options->epsilons, "Only this epsilon (may be repeated)")
      ->check(CLI::PositiveNumber);
  errors->add_option("--splits", options->splits, "Splits into training and test rows")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  errors->add_option("--draws", options->draws, "Noise draws for each split")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  cli::AddNewFile(*errors, invocation, "--output", options->output,
                  "Also write the numbers as CSV to this file");
  cli::AddNewFile(*errors, invocation, "--html", options->html,
                  "Also write the plots to this HTML file");
  errors->callback([&invocation, options] {
    invocation.run = [&invocation, options] { return RunFigure2(invocation.output, *options); };
  });
  AddReproduceDpvi(*reproduce, invocation);
  AddReproducePsgd(*reproduce, invocation);
  AddReproduceAslett(*reproduce, invocation);
  AddReproduceRegistries(*reproduce, invocation);
  AddReproduceSmle(*reproduce, invocation);
}

}  // namespace partita::papers
