#include "papers/reproduce_dpvi.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/text_table.h"
#include "cli/study/simulate.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/new_file.h"
#include "methods/mixture/adult.h"
#include "methods/mixture/model_file.h"
#include "papers/secure_sum.h"
#include "privacy/accounting/steps_statement.h"
#include "report/html_page.h"
#include "report/html_text.h"
#include "report/line_plot.h"
#include "report/privacy_html.h"
#include "report/progress.h"
#include "stats/mixture/experiment.h"
#include "stats/quantile.h"

namespace partita::papers {
namespace {

using cli::OutputOptions;

constexpr double kDelta = 1e-5;
const char* const kDefaultSchedule = "default";
const char* const kPaperSchedule = "paper";

struct DpviCommand {
  std::string data, output, html, model, schedule = "both";
  std::string secure;  // an engine: the protocol is one more line
  std::vector<std::string> columns;
  size_t runs = 10, components = 20;
  uint64_t steps = 20000;
  uint32_t batch = 100;
  double noise = 2.042, clip = 1;
};

// The tables and the model of the chosen columns.
struct Adult {
  std::vector<methods::mixture::ModelColumn> columns;
  stats::mixture::Layout layout;
  stats::mixture::Rows train, test;
};

std::filesystem::path TableFile(const std::string& folder, const char* name) {
  const std::filesystem::path plain = std::filesystem::path(folder) / (std::string(name) + ".csv");
  const std::filesystem::path compressed = plain.string() + ".gz";
  return std::filesystem::exists(compressed) ? compressed : plain;
}

Adult ReadTables(const DpviCommand& command) {
  Adult adult;
  for (methods::mixture::ModelColumn& column : methods::mixture::AdultColumns()) {
    const bool chosen = std::find(command.columns.begin(), command.columns.end(),
                                  column.encoding.column.name) != command.columns.end();
    if (command.columns.empty() || chosen) adult.columns.push_back(std::move(column));
  }
  adult.layout = methods::mixture::ModelLayout(adult.columns);
  adult.train = methods::mixture::EncodeRows(
      adult.columns, adult.layout,
      methods::mixture::ReadAdult(TableFile(command.data, "adult_train")));
  adult.test = methods::mixture::EncodeRows(
      adult.columns, adult.layout,
      methods::mixture::ReadAdult(TableFile(command.data, "adult_test")));
  return adult;
}

stats::mixture::ExperimentOptions DpviOptions(const DpviCommand& command, const Adult& adult) {
  stats::mixture::ExperimentOptions options;
  options.variational.steps = command.steps;
  options.noise = {command.clip, command.noise, 30};
  options.components = command.components;
  options.batch_size = command.batch;
  const double epochs = static_cast<double>(command.steps) * command.batch /
                        static_cast<double>(adult.train.num_rows);
  for (int i = 1; i < 40; ++i) options.epochs.push_back(epochs * i / 40);
  return options;
}

methods::mixture::RunPlan PlanOf(const DpviCommand& command, const Adult& adult) {
  return SecureArmPlan(adult.layout, static_cast<uint32_t>(adult.train.num_rows),
                       DpviOptions(command, adult));
}

// A line of a figure: how sums are computed, and the schedule.
struct Line {
  stats::mixture::Arm arm;
  std::string schedule;
  std::string Name() const { return arm.name + ", schedule " + schedule; }
};

const char* const kNotPartitioned = "not partitioned";

stats::mixture::Arm NotPartitioned(const Adult& adult) {
  return {kNotPartitioned,
          [&adult](const stats::mixture::ClippedNoise& options, crypto::RandomSource& noise) {
            return stats::mixture::PlainGradientSum(adult.layout, adult.train, options, noise);
          }};
}

stats::mixture::Arm Partitioned(const Adult& adult, bool renormalise) {
  return {renormalise ? "partitioned, fixed point" : "partitioned, not renormalised",
          [&adult, renormalise](const stats::mixture::ClippedNoise& options,
                                crypto::RandomSource& noise) {
            return stats::mixture::PartitionedGradientSum(adult.layout, adult.train, options,
                                                          {32, renormalise}, noise);
          }};
}

struct Outcome {
  std::string line, schedule;
  stats::mixture::ExperimentRun run;
};

std::vector<Outcome> RunLines(const OutputOptions& output, const DpviCommand& command,
                              const Adult& adult, const std::vector<Line>& lines) {
  stats::mixture::ExperimentOptions options = DpviOptions(command, adult);
  // The protocol pads batches; all lines draw the same.
  if (!command.secure.empty()) options.max_batch = PlanOf(command, adult).max_batch;
  report::TerminalProgress terminal(std::cerr, report::DetectProgressStyle(STDERR_FILENO), "",
                                    &cli::Interrupted());
  cli::CancellableProgress quiet;
  Progress& progress = output.quiet ? static_cast<Progress&>(quiet) : terminal;
  crypto::SystemRandom random;
  const crypto::Key key = crypto::RandomKey(random);
  std::vector<Outcome> outcomes;
  for (size_t repeat = 0; repeat < command.runs; ++repeat) {
    for (const Line& line : lines) {
      options.variational.frozen_share = line.schedule == kPaperSchedule
                                             ? stats::mixture::kPaperFrozenShare
                                             : stats::mixture::VariationalOptions{}.frozen_share;
      progress.Phase(fmt::format("run {} of {}: {}", repeat + 1, command.runs, line.Name()));
      outcomes.push_back(
          {line.Name(), line.schedule,
           stats::mixture::RunExperiment(adult.layout, adult.train.num_rows, adult.test, line.arm,
                                         options, key, repeat, progress)});
    }
  }
  terminal.Finish();
  return outcomes;
}

// The run of the line that is not partitioned with the same schedule, start, batches, eta and
// noise.
const Outcome& PairOf(const std::vector<Outcome>& outcomes, const Outcome& outcome) {
  for (const Outcome& other : outcomes) {
    if (other.run.arm == kNotPartitioned && other.schedule == outcome.schedule &&
        other.run.repeat == outcome.run.repeat) {
      return other;
    }
  }
  throw Error(ErrorCode::kInternal, "a run has no pair");
}

// How far an outcome is from its pair, in nats per test row.
struct Pairing {
  const Outcome& outcome;
  const Outcome& pair;
  std::vector<double> differences;  // by point of the trace: the outcome's minus the pair's
  double largest = 0;               // of their absolute values
};

Pairing PairingOf(const std::vector<Outcome>& outcomes, const Outcome& outcome) {
  Pairing pairing{outcome, PairOf(outcomes, outcome), {}, 0};
  for (size_t i = 0; i < outcome.run.trace.size(); ++i) {
    const double difference = outcome.run.trace[i].plug_in - pairing.pair.run.trace.at(i).plug_in;
    pairing.differences.push_back(difference);
    pairing.largest = std::max(pairing.largest, std::abs(difference));
  }
  return pairing;
}

std::string PairingText(const std::vector<Outcome>& outcomes) {
  TextTable table;
  table.header = {"line", "run", "largest difference", "at the end", "active components"};
  table.right = {1, 2, 3, 4};
  for (const Outcome& outcome : outcomes) {
    if (outcome.run.arm == kNotPartitioned) continue;
    const Pairing pairing = PairingOf(outcomes, outcome);
    table.rows.push_back({outcome.line, std::to_string(outcome.run.repeat + 1),
                          fmt::format("{:.2e}", pairing.largest),
                          fmt::format("{:.2e}", std::abs(pairing.differences.back())),
                          fmt::format("{}, pair {}", outcome.run.active_components,
                                      pairing.pair.run.active_components)});
  }
  return RenderTable(table, 0) +
         WrapText(
             "Difference to the run that is not partitioned, of the mean log density of the test "
             "rows, nats per row; both have the same start, batches, eta and noise.",
             0);
}

// What a run of the protocol with these numbers would mean, with the uses that the runs counted.
privacy::Statement StatementOf(const DpviCommand& command, const Adult& adult,
                               const std::vector<Outcome>& outcomes) {
  privacy::NoisySteps steps;
  steps.parties = {"demographic", "financial"};
  steps.noise_multiplier = command.noise;
  steps.sampling_rate =
      static_cast<double>(command.batch) / static_cast<double>(adult.train.num_rows);
  steps.steps = command.steps;
  steps.delta = kDelta;
  uint64_t uses = 1;
  for (const Outcome& outcome : outcomes) uses = std::max<uint64_t>(uses, outcome.run.max_uses);
  steps.max_uses = uses;
  privacy::Statement statement = privacy::StateSteps(steps);
  steps.adjacency = privacy::Adjacency::kAddRemove;
  statement.rows.insert(statement.rows.begin() + 1, privacy::StateSteps(steps).rows.front());
  statement.caveats.push_back(
      "These figures are made on one machine, on public data: nothing here protects anybody. The "
      "rows "
      "say what the protocol would guarantee with the same numbers.");
  statement.caveats.push_back(
      "The paper states epsilon = 1 at delta = 1e-5 for these numbers: a Renyi bound under adding "
      "or "
      "removing a record, although it defines neighbours by replacement. Its 26 to 3000 against "
      "the "
      "other party are Renyi bounds under the same adjacency: 26 if a record were used once per "
      "epoch, 3000 if it were used in every step; neither is what random batches do.");
  return statement;
}

std::string DpviCsv(const std::vector<Outcome>& outcomes) {
  std::string csv =
      "line,schedule,repeat,step,epochs,test_negative_log_likelihood,difference,"
      "active_components\n";
  for (const Outcome& outcome : outcomes) {
    const Pairing pairing = PairingOf(outcomes, outcome);
    for (size_t i = 0; i < outcome.run.trace.size(); ++i) {
      const stats::mixture::TracePoint& point = outcome.run.trace[i];
      const bool last = i + 1 == outcome.run.trace.size();
      csv += fmt::format("\"{}\",{},{},{},{},{},{},{}\n", outcome.line, outcome.schedule,
                         outcome.run.repeat, point.step, point.epochs, -point.plug_in,
                         pairing.differences[i],
                         last ? std::to_string(outcome.run.active_components) : "");
    }
  }
  return csv;
}

struct LineSummary {
  std::vector<double> ends, predictive, seconds;
  std::vector<size_t> active;
};

std::vector<std::pair<std::string, LineSummary>> Summaries(const std::vector<Outcome>& outcomes) {
  std::vector<std::pair<std::string, LineSummary>> all;
  for (const Outcome& outcome : outcomes) {
    auto found = std::find_if(all.begin(), all.end(),
                              [&](const auto& entry) { return entry.first == outcome.line; });
    if (found == all.end()) found = all.insert(all.end(), {outcome.line, {}});
    found->second.ends.push_back(-outcome.run.trace.back().plug_in);
    found->second.predictive.push_back(-outcome.run.predictive);
    found->second.active.push_back(outcome.run.active_components);
    found->second.seconds.push_back(outcome.run.seconds /
                                    static_cast<double>(outcome.run.trace.back().step));
  }
  return all;
}

std::string DpviText(const std::vector<Outcome>& outcomes, const privacy::Statement& statement) {
  TextTable table;
  table.header = {"line", "median", "best", "worst", "predictive", "active", "per step"};
  table.right = {1, 2, 3, 4, 5, 6};
  for (const auto& [name, line] : Summaries(outcomes)) {
    const auto [fewest, most] = std::minmax_element(line.active.begin(), line.active.end());
    table.rows.push_back({name, fmt::format("{:.3f}", stats::Quantile(line.ends, 0.5)),
                          fmt::format("{:.3f}", stats::Quantile(line.ends, 0)),
                          fmt::format("{:.3f}", stats::Quantile(line.ends, 1)),
                          fmt::format("{:.3f}", stats::Quantile(line.predictive, 0.5)),
                          fmt::format("{} to {}", *fewest, *most),
                          FormatSeconds(stats::Quantile(line.seconds, 0.5))});
  }
  return RenderTable(table, 0) +
         WrapText(
             "Negative log-likelihood of the test rows at the end, nats per row, at the mean of "
             "the "
             "variational law and averaged over 20 draws (predictive). Active: components with a "
             "weight above 0.02. Repeats of all lines share start, batches and noise.",
             0) +
         "\n" + PairingText(outcomes) + "\n" + privacy::StatementText(statement);
}

std::string DpviHtml(const std::string& title, const std::vector<Outcome>& outcomes,
                     const privacy::Statement& statement) {
  report::LinePlot plot;
  plot.title = "test negative log-likelihood against epochs";
  plot.x_label = "epochs";
  plot.y_label = "nats per row";
  plot.y_cut = 14;
  for (const Outcome& outcome : outcomes) {
    report::PlotLine line;
    line.name = outcome.line;
    for (const stats::mixture::TracePoint& point : outcome.run.trace)
      line.points.emplace_back(point.epochs, -point.plug_in);
    plot.lines.push_back(std::move(line));
  }
  report::HtmlPage page;
  page.title = title;
  page.header = report::Element("h1", report::Escape(title));
  page.main = report::Section("learning", "Learning", report::LinePlotHtml(plot)) +
              report::Section("privacy", "Privacy", report::StatementHtml(statement));
  page.data = report::WithTradeOffs("", statement);
  page.footer = report::Paragraph(
      "UCI Adult (Becker and Kohavi, 1996). Experiment: Tajeddine et al., Privacy-preserving Data "
      "Sharing on Vertically Partitioned Data, Section 6.");
  return report::RenderHtmlPage(page);
}

nlohmann::ordered_json DpviData(const std::vector<Outcome>& outcomes,
                                const privacy::Statement& statement) {
  nlohmann::ordered_json runs = nlohmann::ordered_json::array();
  for (const Outcome& outcome : outcomes) {
    const Pairing pairing = PairingOf(outcomes, outcome);
    nlohmann::ordered_json trace = nlohmann::ordered_json::array();
    for (size_t i = 0; i < outcome.run.trace.size(); ++i) {
      const stats::mixture::TracePoint& point = outcome.run.trace[i];
      trace.push_back({{"step", point.step},
                       {"epochs", point.epochs},
                       {"test_negative_log_likelihood", -point.plug_in},
                       {"difference", pairing.differences[i]}});
    }
    runs.push_back({{"line", outcome.line},
                    {"schedule", outcome.schedule},
                    {"repeat", outcome.run.repeat},
                    {"active_components", outcome.run.active_components},
                    {"predictive_negative_log_likelihood", -outcome.run.predictive},
                    {"max_uses", outcome.run.max_uses},
                    {"largest_difference", pairing.largest},
                    {"seconds", outcome.run.seconds},
                    {"trace", trace}});
  }
  return {{"runs", runs},
          {"privacy", nlohmann::ordered_json::parse(privacy::StatementJson(statement))}};
}

int ReportDpvi(const OutputOptions& output, const DpviCommand& command, const std::string& title,
               const Adult& adult, const std::vector<Line>& lines) {
  const std::vector<Outcome> outcomes = RunLines(output, command, adult, lines);
  const privacy::Statement statement = StatementOf(command, adult, outcomes);
  if (!command.output.empty()) WriteFileAtomically(command.output, DpviCsv(outcomes));
  if (!command.html.empty())
    WriteFileAtomically(command.html, DpviHtml(title, outcomes, statement));
  if (!command.model.empty()) {
    const stats::mixture::VariationalState& state = outcomes.back().run.state;
    WriteFileAtomically(command.model, methods::mixture::ModelJson({{"demographic", "financial"},
                                                                    adult.columns,
                                                                    state.mean,
                                                                    state.log_scale,
                                                                    state.step,
                                                                    state.step,
                                                                    {}}));
  }
  cli::PrintResult(output, DpviText(outcomes, statement), DpviData(outcomes, statement).dump());
  return cli::kDone;
}

std::vector<std::string> Schedules(const DpviCommand& command) {
  if (command.schedule == "both") return {kPaperSchedule, kDefaultSchedule};
  return {command.schedule};
}

void AddSecure(const DpviCommand& command, const Adult& adult, const std::string& schedule,
               std::vector<Line>& lines) {
  if (command.secure.empty()) return;
  lines.push_back(
      {SecureArm(command.secure, adult.layout, adult.train, PlanOf(command, adult)), schedule});
}

int RunDpviFigure2(const OutputOptions& output, const DpviCommand& command) {
  const Adult adult = ReadTables(command);
  std::vector<Line> lines;
  for (const std::string& schedule : Schedules(command)) {
    lines.push_back({NotPartitioned(adult), schedule});
    lines.push_back({Partitioned(adult, true), schedule});
    lines.push_back({Partitioned(adult, false), schedule});
    AddSecure(command, adult, schedule, lines);
  }
  return ReportDpvi(output, command, "DPVI on partitioned data, with and without renormalisation",
                    adult, lines);
}

int RunFigure3(const OutputOptions& output, const DpviCommand& command) {
  const Adult adult = ReadTables(command);
  std::vector<Line> lines;
  for (const std::string& schedule : Schedules(command)) {
    lines.push_back({NotPartitioned(adult), schedule});
    lines.push_back({Partitioned(adult, true), schedule});
    AddSecure(command, adult, schedule, lines);
  }
  return ReportDpvi(output, command, "DPVI on partitioned and on whole data", adult, lines);
}

void AddDpviOptions(CLI::App& app, cli::Invocation& invocation, DpviCommand& command) {
  std::vector<std::string> names;
  for (const methods::mixture::ModelColumn& column : methods::mixture::AdultColumns())
    names.push_back(column.encoding.column.name);
  app.add_option("--data", command.data,
                 "Folder with adult_train.csv and adult_test.csv (or .csv.gz)")
      ->required();
  app.add_option("--column", command.columns, "Only this column (may be repeated)")
      ->check(CLI::IsMember(names));
  app.add_option("--schedule", command.schedule,
                 "Of the weights' logits: frozen for 60 % of the steps, the paper's, or both")
      ->check(CLI::IsMember({kDefaultSchedule, kPaperSchedule, "both"}))
      ->capture_default_str();
  app.add_option("--runs", command.runs, "Repeats of every line")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--steps", command.steps, "Steps of a run")
      ->check(CLI::Range(1, 10000000))
      ->capture_default_str();
  app.add_option("--components", command.components, "Components of the mixture")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--batch", command.batch, "Expected rows of a batch")
      ->check(CLI::Range(1, 30162))
      ->capture_default_str();
  app.add_option("--clip", command.clip, "Clipping norm")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--noise", command.noise, "Noise, in multiples of the clipping norm")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--secure", command.secure,
                 "Also run the protocol on this engine, its parties as threads, paired with the "
                 "others")
      ->check(CLI::IsMember({"dealer", "replicated", "ot"}));
  cli::AddNewFile(app, invocation, "--output", command.output,
                  "Also write the numbers as CSV to this file");
  cli::AddNewFile(app, invocation, "--model", command.model,
                  "Also write the model of the last run to this file, for `partita synthetic`");
  cli::AddNewFile(app, invocation, "--html", command.html,
                  "Also write the plots to this HTML file");
}

}  // namespace

void AddReproduceDpvi(CLI::App& reproduce, cli::Invocation& invocation) {
  auto second = std::make_shared<DpviCommand>();
  second->runs = 1;
  second->steps = 3000;
  second->schedule = kPaperSchedule;
  CLI::App* figure2 = reproduce.add_subcommand(
      "dpvi-figure2", "A mixture model learned in fixed point, with and without renormalisation");
  cli::AddOutputOptions(*figure2, invocation, "reproduce dpvi-figure2");
  AddDpviOptions(*figure2, invocation, *second);
  figure2->callback([&invocation, second] {
    invocation.run = [&invocation, second] { return RunDpviFigure2(invocation.output, *second); };
  });

  auto third = std::make_shared<DpviCommand>();
  CLI::App* figure3 = reproduce.add_subcommand(
      "dpvi-figure3", "A mixture model learned from partitioned and from whole data");
  cli::AddOutputOptions(*figure3, invocation, "reproduce dpvi-figure3");
  AddDpviOptions(*figure3, invocation, *third);
  figure3->callback([&invocation, third] {
    invocation.run = [&invocation, third] { return RunFigure3(invocation.output, *third); };
  });
}

}  // namespace partita::papers
