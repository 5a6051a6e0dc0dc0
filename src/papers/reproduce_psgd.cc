#include "papers/reproduce_psgd.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/text_table.h"
#include "cli/study/simulate.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/new_file.h"
#include "crypto/random.h"
#include "data/csv_reader.h"
#include "report/html_page.h"
#include "report/html_text.h"
#include "report/line_plot.h"
#include "report/progress.h"
#include "stats/erm/breast_cancer.h"
#include "stats/erm/figures.h"

namespace partita::papers {
namespace {

namespace blr = stats::blr;
namespace erm = stats::erm;

constexpr size_t kDimension = 10, kSimulatedRows = 1000;
constexpr size_t kFolds = 5;
constexpr const char* kPsgdIs =
    "Mean share of test rows that are classified wrongly, over data sets, with its standard error. "
    "The paper names no lambda. Noise is drawn in floating point: the runs compare errors and "
    "protect nobody. delta = 0.05 is the paper's and far too large for real use. The printed "
    "sigma* "
    "does not keep its epsilon.";

struct PsgdCommand {
  std::string data, output, html, scaling = "public";
  erm::FigureOptions figure;
  size_t data_sets = 5;
};

std::vector<erm::SimulatedData> Simulated(size_t count, blr::Variates& variates) {
  std::vector<erm::SimulatedData> sets;
  for (size_t k = 0; k < count; ++k) {
    sets.push_back(erm::DrawUnitBallData(kDimension, kSimulatedRows, kSimulatedRows, variates));
  }
  return sets;
}

// Means and three standard deviations of the rows themselves, as an experiment without privacy
// would.
erm::UnitBallScaling ScalingOfRows(const Eigen::MatrixXd& x) {
  erm::UnitBallScaling scaling = erm::BreastCancerScaling();
  for (Eigen::Index j = 0; j < x.cols(); ++j) {
    const double mean = x.col(j).mean();
    const double reach = 3 * std::sqrt((x.col(j).array() - mean).square().mean());
    scaling.bounds[static_cast<size_t>(j)] = {mean - reach, mean + reach};
  }
  return scaling;
}

erm::LabelledRows ReadBreastCancer(const PsgdCommand& command) {
  constexpr double wide = 1e6;
  data::Schema schema;
  std::vector<std::string> names = erm::BreastCancerColumns();
  names.emplace_back("benign");
  for (const std::string& name : names) {
    data::ColumnSchema column;
    column.name = name;
    column.lower = -wide;
    column.upper = wide;
    schema.columns.push_back(std::move(column));
  }
  const data::CsvContents csv =
      data::ReadCsvFile(std::filesystem::path(command.data) / "breast_cancer_wdbc.csv", schema, {});
  data::RequireClean(csv.report);
  const auto rows = static_cast<Eigen::Index>(csv.table.num_rows);
  const auto columns = static_cast<Eigen::Index>(names.size()) - 1;
  Eigen::MatrixXd x(rows, columns);
  Eigen::VectorXd y(rows);
  for (Eigen::Index i = 0; i < rows; ++i) {
    for (Eigen::Index j = 0; j <= columns; ++j) {
      const double value =
          csv.table.columns[static_cast<size_t>(j)].numbers[static_cast<size_t>(i)];
      (j < columns ? x(i, j) : y(i)) = value;
    }
  }
  const bool from_rows = command.scaling == "rows";
  return {erm::ScaleToUnitBall(x, from_rows ? ScalingOfRows(x) : erm::BreastCancerScaling()).x,
          y.array() * 2 - 1};
}

// One random division into five parts; each part is the test set once.
std::vector<erm::SimulatedData> Folds(const erm::LabelledRows& all, blr::Variates& variates) {
  const std::vector<erm::LabelledRows> parts =
      erm::SplitRows(all, std::vector<double>(kFolds, 1), variates);
  std::vector<erm::SimulatedData> folds;
  for (size_t test = 0; test < kFolds; ++test) {
    const Eigen::Index rows = all.x.rows() - parts[test].x.rows();
    erm::SimulatedData fold{{{rows, all.x.cols()}, Eigen::VectorXd(rows)}, parts[test]};
    Eigen::Index at = 0;
    for (size_t k = 0; k < kFolds; ++k) {
      if (k == test) continue;
      fold.train.x.middleRows(at, parts[k].x.rows()) = parts[k].x;
      fold.train.y.segment(at, parts[k].y.size()) = parts[k].y;
      at += parts[k].x.rows();
    }
    folds.push_back(std::move(fold));
  }
  return folds;
}

const char* PanelName(erm::Panel panel) {
  return panel == erm::Panel::kParties ? "parties" : "skew";
}

std::string PsgdCsv(const std::vector<erm::FigureCell>& cells) {
  std::string csv = "panel,position,epsilon,line,mean_error,standard_error,data_sets\n";
  for (const erm::FigureCell& cell : cells) {
    const erm::Mean mean = erm::MeanOf(cell.errors);
    csv += fmt::format("{},{},{},\"{}\",{},{},{}\n", PanelName(cell.panel), cell.position,
                       cell.epsilon, erm::LineName(cell.line), mean.value, mean.standard_error,
                       cell.errors.size());
  }
  return csv;
}

// Local aggregation against what it is compared with.
struct PsgdComparison {
  erm::Panel panel = erm::Panel::kParties;
  double epsilon = 0;
  erm::FigureLine other;
  erm::PairedSlope slope = {};
};

std::vector<PsgdComparison> Comparisons(const PsgdCommand& command,
                                        const std::vector<erm::FigureCell>& cells) {
  const erm::FigureLine aggregation{erm::Method::kLocalAggregation, {}};
  std::vector<PsgdComparison> comparisons;
  for (const erm::Panel panel : {erm::Panel::kParties, erm::Panel::kSkew}) {
    for (const double epsilon : command.figure.epsilons) {
      for (const erm::Method method : {erm::Method::kPsgd, erm::Method::kObjectivePerturbation}) {
        PsgdComparison one{panel, epsilon, {method, erm::NoiseRule::kCorrected}};
        one.slope = erm::SlopeOfDifference(cells, panel, epsilon, aggregation, one.other);
        comparisons.push_back(one);
      }
    }
  }
  return comparisons;
}

std::string PsgdText(const std::vector<erm::FigureCell>& cells,
                     const std::vector<PsgdComparison>& comparisons) {
  std::string text;
  for (const erm::Panel panel : {erm::Panel::kParties, erm::Panel::kSkew}) {
    TextTable table;
    table.header = {"epsilon", "line"};
    for (const char* position : {"5", "10", "15"}) {
      table.header.push_back(panel == erm::Panel::kParties ? fmt::format("K = {}", position)
                                                           : "skew");
    }
    if (panel == erm::Panel::kSkew) {
      for (size_t k = 0; k < 3; ++k) table.header[2 + k] = fmt::format("skew {}", k + 1);
    }
    table.right = {0, 2, 3, 4};
    std::vector<std::string> row;
    for (const erm::FigureCell& cell : cells) {
      if (cell.panel != panel) continue;
      if (row.empty()) row = {fmt::format("{}", cell.epsilon), erm::LineName(cell.line)};
      const erm::Mean mean = erm::MeanOf(cell.errors);
      row.push_back(fmt::format("{:.3f} ({:.3f})", mean.value, mean.standard_error));
      if (row.size() < 5) continue;
      table.rows.push_back(row);
      row.clear();
    }
    text += RenderTable(table, 0) + "\n";
  }
  TextTable slopes;
  slopes.header = {"panel", "epsilon", "local aggregation minus", "slope", "95 %", "detectable"};
  slopes.right = {1, 3, 4, 5};
  for (const PsgdComparison& one : comparisons) {
    slopes.rows.push_back({PanelName(one.panel), fmt::format("{}", one.epsilon),
                           erm::LineName(one.other), fmt::format("{:.4f}", one.slope.slope),
                           fmt::format("{:.4f} {:.4f}", one.slope.lower, one.slope.upper),
                           fmt::format("{:.4f}", one.slope.detectable)});
  }
  return text + RenderTable(slopes, 0) +
         WrapText(
             "Slopes of the difference of errors, paired within data sets: for every five parties, "
             "and for every tenfold smaller share of the smallest party. Detectable: found in 80 % "
             "of repetitions.",
             0) +
         WrapText(kPsgdIs, 0);
}

std::string PsgdHtml(const std::string& title, const PsgdCommand& command,
                     const std::vector<erm::FigureCell>& cells) {
  report::HtmlPage page;
  page.title = title;
  page.header = report::Element("h1", report::Escape(title));
  for (const erm::Panel panel : {erm::Panel::kParties, erm::Panel::kSkew}) {
    for (const double epsilon : command.figure.epsilons) {
      report::LinePlot plot;
      plot.title = "test error";
      plot.x_label = panel == erm::Panel::kParties ? "parties" : "skew";
      plot.y_label = "share of wrong labels";
      for (const erm::FigureLine& line : erm::FigureLines()) {
        report::PlotLine drawn{erm::LineName(line), {}};
        for (const erm::FigureCell& cell : cells) {
          if (cell.panel != panel || cell.epsilon != epsilon ||
              erm::LineName(cell.line) != drawn.name) {
            continue;
          }
          drawn.points.emplace_back(static_cast<double>(cell.position),
                                    erm::MeanOf(cell.errors).value);
        }
        plot.lines.push_back(std::move(drawn));
      }
      page.main += report::Section(
          fmt::format("{}-{}", PanelName(panel), epsilon),
          fmt::format("{}, epsilon = {}",
                      panel == erm::Panel::kParties ? "Number of parties" : "Skew", epsilon),
          report::LinePlotHtml(plot));
    }
  }
  page.footer =
      report::Paragraph(kPsgdIs) +
      report::Paragraph(
          "Experiment: Rajkumar and Agarwal, A differentially private stochastic gradient descent "
          "algorithm for multiparty classification, AISTATS 2012.");
  return report::RenderHtmlPage(page);
}

nlohmann::ordered_json PsgdData(const std::vector<erm::FigureCell>& cells,
                                const std::vector<PsgdComparison>& comparisons) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const erm::FigureCell& cell : cells) {
    const erm::Mean mean = erm::MeanOf(cell.errors);
    rows.push_back({{"panel", PanelName(cell.panel)},
                    {"position", cell.position},
                    {"epsilon", cell.epsilon},
                    {"line", erm::LineName(cell.line)},
                    {"mean_error", mean.value},
                    {"standard_error", mean.standard_error},
                    {"data_sets", cell.errors.size()}});
  }
  nlohmann::ordered_json slopes = nlohmann::ordered_json::array();
  for (const PsgdComparison& one : comparisons) {
    slopes.push_back({{"panel", PanelName(one.panel)},
                      {"epsilon", one.epsilon},
                      {"against", erm::LineName(one.other)},
                      {"slope", one.slope.slope},
                      {"lower", one.slope.lower},
                      {"upper", one.slope.upper},
                      {"detectable", one.slope.detectable}});
  }
  return {{"rows", rows}, {"slopes", slopes}};
}

int RunPsgd(const cli::OutputOptions& output, const PsgdCommand& command, bool simulated) {
  crypto::SystemRandom random;
  blr::Variates variates(random);
  const std::vector<erm::SimulatedData> sets = simulated
                                                   ? Simulated(command.data_sets, variates)
                                                   : Folds(ReadBreastCancer(command), variates);
  report::TerminalProgress terminal(std::cerr, report::DetectProgressStyle(STDERR_FILENO), "",
                                    &cli::Interrupted());
  cli::CancellableProgress quiet;
  Progress& progress = output.quiet ? static_cast<Progress&>(quiet) : terminal;
  progress.Phase("errors");
  const std::vector<erm::FigureCell> cells =
      erm::RunFigure(sets, command.figure, variates, progress);
  terminal.Finish();
  const std::vector<PsgdComparison> comparisons = Comparisons(command, cells);
  std::string title = simulated ? "Private classifiers of several parties: simulated rows"
                                : "Private classifiers of several parties: breast cancer";
  if (!simulated && command.scaling == "rows") {
    title += " (scaled by the rows themselves: NOT private, for comparison with the paper)";
  }
  if (!command.output.empty()) WriteFileAtomically(command.output, PsgdCsv(cells));
  if (!command.html.empty()) {
    WriteFileAtomically(command.html, PsgdHtml(title, command, cells));
  }
  nlohmann::ordered_json json = PsgdData(cells, comparisons);
  json["title"] = title;
  cli::PrintResult(output, title + "\n\n" + PsgdText(cells, comparisons), json.dump());
  return cli::kDone;
}

void AddPsgdOptions(CLI::App& app, cli::Invocation& invocation, PsgdCommand& command) {
  app.add_option("--epsilon", command.figure.epsilons, "Only this epsilon (may be repeated)")
      ->check(CLI::PositiveNumber);
  app.add_option("--lambda", command.figure.lambda, "Penalty")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--draws", command.figure.draws, "Splits and noises of each data set")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  app.add_option("--iterations", command.figure.iterations, "Iterations of PSGD")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  cli::AddNewFile(app, invocation, "--output", command.output,
                  "Also write the numbers as CSV to this file");
  cli::AddNewFile(app, invocation, "--html", command.html,
                  "Also write the plots to this HTML file");
}

}  // namespace

void AddReproducePsgd(CLI::App& reproduce, cli::Invocation& invocation) {
  auto first = std::make_shared<PsgdCommand>();
  CLI::App* figure1 = reproduce.add_subcommand(
      "psgd-figure1", "Private classifiers of several parties on simulated rows");
  cli::AddOutputOptions(*figure1, invocation, "reproduce psgd-figure1");
  AddPsgdOptions(*figure1, invocation, *first);
  figure1->add_option("--sets", first->data_sets, "Data sets")
      ->check(CLI::Range(2, 1000))
      ->capture_default_str();
  figure1->callback([&invocation, first] {
    invocation.run = [&invocation, first] { return RunPsgd(invocation.output, *first, true); };
  });

  auto second = std::make_shared<PsgdCommand>();
  CLI::App* figure2 = reproduce.add_subcommand(
      "psgd-figure2", "Private classifiers of several parties on breast cancer data");
  cli::AddOutputOptions(*figure2, invocation, "reproduce psgd-figure2");
  AddPsgdOptions(*figure2, invocation, *second);
  figure2->add_option("--data", second->data, "Folder with breast_cancer_wdbc.csv")->required();
  figure2
      ->add_option("--scaling", second->scaling,
                   "Rows by public bounds, or by the rows' own ranges (not private)")
      ->check(CLI::IsMember({"public", "rows"}))
      ->capture_default_str();
  figure2->callback([&invocation, second] {
    invocation.run = [&invocation, second] { return RunPsgd(invocation.output, *second, false); };
  });
}

}  // namespace partita::papers
