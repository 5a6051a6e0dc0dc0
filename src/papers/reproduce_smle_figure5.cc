// partita reproduce smle-figure5
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/text_table.h"
#include "cli/terminal/command_progress.h"
#include "cli/terminal/json.h"
#include "cli/terminal/new_file.h"
#include "papers/reproduce_smle.h"
#include "papers/smle_protocols.h"
#include "report/html_page.h"
#include "report/html_text.h"
#include "report/line_plot.h"
#include "stats/sem/objective.h"

namespace partita::papers {
namespace {

using cli::Json;
using Eigen::Index;

constexpr const char* kFigure5Title =
    "Secure maximum likelihood: time against rows, waves and nodes";
constexpr const char* kFigure5Is =
    "A linear growth curve of p waves, n made-up rows, columns split over K nodes; all parties are "
    "threads of this process, no network. Evaluation: of pooled-moments one log-likelihood once "
    "moments are open; of the others the fit divided by the questions asked, which of likelihood "
    "have a gradient as a rule. Fit: after the moments are opened or shared; of conditional all. "
    "All: from the rows to the estimates. Stored: the authors' R code, measured once for this "
    "comparison in one process (132 s is its quiet rate), and not run here. The paper draws its "
    "grid without saying it in numbers; this one covers the same directions.";

struct Point {
  Index n = 0, p = 0;
  size_t nodes = 0;
  std::string axis;  // "n", "p" or "K": what varies
};

struct Timing {
  Point point;
  std::string protocol;
  double evaluation = 0, fit = 0, all = 0;  // seconds
  int questions = 0;
  uint64_t bytes = 0;
};

// The authors' program, n = 1000 (its own timings).
struct Stored {
  Index n, p;
  size_t nodes;
  double evaluation, fit;
};
constexpr std::array<Stored, 2> kStored = {{{1000, 12, 3, 0.083, 60.1}, {1000, 25, 5, 0.204, 132}}};

const Stored* StoredAt(const Point& point) {
  const auto* found = std::find_if(kStored.begin(), kStored.end(), [&](const Stored& one) {
    return one.n == point.n && one.p == point.p && one.nodes == point.nodes;
  });
  return found == kStored.end() ? nullptr : found;
}

struct Figure5Command {
  uint64_t seed = 1;
  std::string output, html;
  bool quick = false;
};

std::vector<Point> Grid(bool quick) {
  if (quick) {
    return {{50, 4, 2, "n"}, {100, 4, 2, "n"}, {50, 4, 2, "p"},
            {50, 6, 2, "p"}, {50, 4, 2, "K"},  {50, 4, 3, "K"}};
  }
  std::vector<Point> grid;
  for (const size_t nodes : {3, 5}) {
    for (const Index n : {250, 500, 1000, 2000, 4000}) grid.push_back({n, 12, nodes, "n"});
  }
  for (const size_t nodes : {3, 5}) {
    for (const Index p : {6, 12, 18, 25}) grid.push_back({1000, p, nodes, "p"});
  }
  for (const size_t nodes : {2, 3, 5, 10, 25}) grid.push_back({1000, 25, nodes, "K"});
  return grid;
}

// Seconds of one log-likelihood at the estimates, from open moments.
double SecondsOfDiscrepancy(const SmleSample& sample, const stats::SemFit& fit) {
  constexpr int kRepeats = 1000;
  const std::vector<stats::GroupMoments> moments = {MomentsOfRows(sample.rows)};
  const stats::ParameterTable& table = sample.analysis.table;
  const stats::RamModel model = stats::BuildRamModel(table, moments);
  const std::vector<stats::GroupSample> scaled =
      stats::ScaleMoments(moments, model.variable_unit.head(model.num_observed));
  Eigen::VectorXd x = Eigen::VectorXd::Zero(model.num_parameters);
  for (size_t r = 0; r < table.rows.size(); ++r) {
    const int k = model.row_parameter[r];
    if (k >= 0) x[k] = fit.estimates[r].estimate / model.parameter_unit[k];
  }
  const auto start = std::chrono::steady_clock::now();
  double sum = 0;
  for (int i = 0; i < kRepeats; ++i) sum += stats::Discrepancy({model, scaled}, x);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  return std::isfinite(sum) ? seconds.count() / kRepeats : std::nan("");
}

std::vector<Timing> MeasureFigure5(const Figure5Command& command, Progress& progress) {
  std::vector<Timing> timings;
  const std::vector<Point> grid = Grid(command.quick);
  progress.Phase("grid");
  uint64_t done = 0;
  for (const Point& point : grid) {
    crypto::Prg random = RowRandom(command.seed);
    const SmleSample sample = GrowthSample(point.n, point.p, {}, random);
    const SmleSetting setting = SplitColumns(sample.rows, point.nodes);
    SmleRunOptions options;
    options.rows_may_leak = true;  // made up
    for (const std::string protocol : {"pooled-moments", "likelihood", "conditional"}) {
      progress.CheckCancelled();
      SilentProgress silent;
      const SmleRun run = RunSmle(protocol, sample, setting, options, silent);
      const double evaluation = run.questions > 0 ? run.fit_seconds / run.questions
                                                  : SecondsOfDiscrepancy(sample, run.fit);
      timings.push_back(
          {point, protocol, evaluation, run.fit_seconds, run.seconds, run.questions, run.bytes});
    }
    progress.Step(++done, grid.size());
  }
  return timings;
}

std::string Figure5Text(const std::vector<Timing>& timings) {
  TextTable table;
  table.header = {"varies", "n",   "p",         "K",     "protocol",          "evaluation",
                  "fit",    "all", "questions", "bytes", "stored evaluation", "fit"};
  table.right = {1, 2, 3, 5, 6, 7, 8, 9, 10, 11};
  table.header[10] = "stored";
  for (const Timing& timing : timings) {
    const Stored* stored = StoredAt(timing.point);
    table.rows.push_back({timing.point.axis, fmt::format("{}", timing.point.n),
                          fmt::format("{}", timing.point.p), fmt::format("{}", timing.point.nodes),
                          timing.protocol, fmt::format("{:.3g} s", timing.evaluation),
                          FormatSeconds(timing.fit), FormatSeconds(timing.all),
                          timing.questions > 0 ? fmt::format("{}", timing.questions) : "",
                          FormatBytes(timing.bytes),
                          stored != nullptr ? fmt::format("{} s", stored->evaluation) : "",
                          stored != nullptr ? fmt::format("{} s", stored->fit) : ""});
  }
  return std::string(kFigure5Title) + "\n\n" + RenderTable(table, 0) + WrapText(kFigure5Is, 0);
}

Json Figure5Data(const std::vector<Timing>& timings) {
  Json rows = Json::array();
  for (const Timing& timing : timings) {
    const Stored* stored = StoredAt(timing.point);
    rows.push_back(
        {{"varies", timing.point.axis},
         {"n", timing.point.n},
         {"p", timing.point.p},
         {"nodes", timing.point.nodes},
         {"protocol", timing.protocol},
         {"evaluation_seconds", timing.evaluation},
         {"fit_seconds", timing.fit},
         {"all_seconds", timing.all},
         {"questions", timing.questions},
         {"bytes", timing.bytes},
         {"stored_evaluation_seconds", stored != nullptr ? Json(stored->evaluation) : nullptr},
         {"stored_fit_seconds", stored != nullptr ? Json(stored->fit) : nullptr}});
  }
  return {{"rows", rows}};
}

std::string Figure5Csv(const std::vector<Timing>& timings) {
  std::string csv =
      "varies,n,p,nodes,protocol,evaluation_seconds,fit_seconds,all_seconds,questions,bytes\n";
  for (const Timing& timing : timings) {
    csv += fmt::format("{},{},{},{},{},{},{},{},{},{}\n", timing.point.axis, timing.point.n,
                       timing.point.p, timing.point.nodes, timing.protocol, timing.evaluation,
                       timing.fit, timing.all, timing.questions, timing.bytes);
  }
  return csv;
}

double Along(const Point& point, const std::string& axis) {
  if (axis == "n") return static_cast<double>(point.n);
  return axis == "p" ? static_cast<double>(point.p) : static_cast<double>(point.nodes);
}

std::string PlotFigure5(const std::vector<Timing>& timings, const std::string& axis) {
  report::LinePlot plot{"time against " + axis, axis, "log10 of seconds", {}};
  for (const Timing& timing : timings) {
    if (timing.point.axis != axis) continue;
    std::string name = timing.protocol;
    if (axis != "K") name += fmt::format(", K = {}", timing.point.nodes);
    auto line = std::find_if(plot.lines.begin(), plot.lines.end(),
                             [&](const report::PlotLine& one) { return one.name == name; });
    if (line == plot.lines.end()) line = plot.lines.insert(line, {name, {}});
    line->points.emplace_back(Along(timing.point, axis), std::log10(timing.evaluation));
  }
  return report::Section(plot.title, "One evaluation against " + axis, report::LinePlotHtml(plot));
}

std::string Figure5Html(const std::vector<Timing>& timings) {
  report::HtmlPage page;
  page.title = kFigure5Title;
  page.header = report::Element("h1", report::Escape(kFigure5Title));
  for (const char* axis : {"n", "p", "K"}) page.main += PlotFigure5(timings, axis);
  page.footer = report::Paragraph(kFigure5Is);
  return report::RenderHtmlPage(page);
}

int RunFigure5(const cli::OutputOptions& output, const Figure5Command& command) {
  cli::CommandProgress progress(output);
  const std::vector<Timing> timings = MeasureFigure5(command, progress.progress());
  progress.Finish();
  if (!command.output.empty()) WriteFileAtomically(command.output, Figure5Csv(timings));
  if (!command.html.empty()) WriteFileAtomically(command.html, Figure5Html(timings));
  cli::PrintResult(output, Figure5Text(timings), Figure5Data(timings).dump());
  return cli::kDone;
}

}  // namespace

void AddSmleFigure5(CLI::App& reproduce, cli::Invocation& invocation) {
  auto command = std::make_shared<Figure5Command>();
  CLI::App* app = reproduce.add_subcommand(
      "smle-figure5", "Time of secure maximum likelihood against rows, waves and nodes");
  cli::AddOutputOptions(*app, invocation, "reproduce smle-figure5");
  app->add_option("--seed", command->seed, "Of the made-up rows")->capture_default_str();
  cli::AddNewFile(*app, invocation, "--output", command->output,
                  "Also write the numbers as CSV to this file");
  cli::AddNewFile(*app, invocation, "--html", command->html,
                  "Also write the plots to this HTML file");
  app->add_flag("--quick", command->quick, "A small grid");
  app->callback([&invocation, command] {
    invocation.run = [&invocation, command] { return RunFigure5(invocation.output, *command); };
  });
}

}  // namespace partita::papers
