// partita regression encode | simulate | fit | predict | bounds | logistic
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/text_table.h"
#include "cli/commands.h"
#include "cli/sums/logistic_command.h"
#include "cli/sums/regression_files.h"
#include "cli/sums/regression_row.h"
#include "cli/terminal/json.h"
#include "cli/terminal/new_file.h"
#include "crypto/prg.h"
#include "privacy/rounded_text.h"
#include "sums/file/collection_file.h"
#include "sums/protocol/sum_statement.h"
#include "sums/regression/bounds.h"
#include "sums/regression/fit.h"
#include "sums/regression/regression_html.h"
#include "sums/regression/regression_sum.h"

namespace partita::cli {
namespace {

namespace regression = sums::regression;

constexpr mode_t kSumForOwner = 0600;

struct RegressionCommand {
  std::string file, collection, sum, output, html;
  TableFormat format;
  uint64_t row = 1;
  double epsilon = 1, delta = 0;
};

regression::Rows ReadRows(const RegressionCommand& command, const regression::Spec& spec,
                          const stats::blr::Design& design) {
  data::CsvContents csv = ReadTable(command.file, command.format, spec.variables);
  return regression::TakeRows(spec, design, std::move(csv.table), csv.report);
}

// Data-dependent, so for the owner of the rows: standard error.
void TellClipping(const OutputOptions& output, const regression::Rows& rows,
                  const regression::Spec& spec) {
  for (const std::string& note : regression::ClippingNotes(rows, spec)) PrintNote(output, note);
}

void RequireStatistics(const regression::Spec& spec, const std::string& path) {
  if (spec.collects == regression::Collects::kStatistics) return;
  throw Error(ErrorCode::kUsage, path + " collects the spread of the columns, not a regression",
              "run 'partita regression bounds' on its sum, and put what it prints into the next "
              "collection file");
}

regression::Fit FitOf(const sums::CollectionFile& collection, const regression::ReleasedSum& sum) {
  const regression::Spec& spec = *collection.regression;
  RequireStatistics(spec, collection.file_name);
  crypto::Prg random(regression::FitKey(sum));
  regression::Fit fit = regression::FitSum(spec, regression::DesignOf(spec), sum, random);
  fit.result.statements.push_back(
      StateSum(collection.contract, static_cast<uint32_t>(sum.rows), collection.delta));
  return fit;
}

// The report file, if asked for, and the text.
std::string ReportRegression(const RegressionCommand& command,
                             const sums::CollectionFile& collection, const regression::Fit& fit) {
  if (!command.html.empty()) {
    WriteFileAtomically(command.html,
                        regression::RenderRegressionHtml(fit.result, collection.name));
  }
  std::string text = regression::FitText(fit.result);
  for (const privacy::Statement& statement : fit.result.statements)
    text += "\n" + privacy::StatementText(statement);
  return text;
}

// ---------------------------------------------------------------------------------- encode

int RunEncode(const OutputOptions& output, const RegressionCommand& command) {
  const sums::CollectionFile collection = LoadRegression(command.collection);
  const EncodedRow encoded =
      EncodeRowOfTable(collection, {command.file, command.row, command.format});
  std::string text;
  for (const double value : encoded.vector) text += fmt::format("{}\n", value);
  WriteOutput(output, command.output, text, kSumForOwner, "the row");
  TellClipping(output, encoded.row, *collection.regression);
  PrintResult(output,
              fmt::format("wrote {}: submit it with 'partita client submit'", command.output),
              Json{{"output", command.output}, {"length", collection.contract.dimension}}.dump());
  return kDone;
}

// -------------------------------------------------------------------------------- simulate

int RunSimulate(const OutputOptions& output, const RegressionCommand& command) {
  const sums::CollectionFile collection = LoadRegression(command.collection);
  const regression::Spec& spec = *collection.regression;
  const stats::blr::Design design = regression::DesignOf(spec);
  const regression::Rows rows = ReadRows(command, spec, design);
  TellClipping(output, rows, spec);
  crypto::SystemRandom random;
  const regression::SimulatedSum simulated =
      regression::SimulateSum(spec, design, collection.contract, rows, random);
  if (!command.sum.empty()) WriteFileAtomically(command.sum, SumJson(collection, simulated.sum));
  PrintNote(
      output,
      fmt::format("{} clients and {} compute nodes in one process: {}, {} uploaded. This "
                  "spends privacy budget as a real collection does if the result is shown "
                  "to others.",
                  FormatCount(rows.count), collection.contract.nodes,
                  FormatSeconds(simulated.wall_seconds), FormatBytes(simulated.upload_bytes)));
  if (spec.collects == regression::Collects::kSpread) {
    PrintResult(output,
                command.sum.empty() ? "done: give --sum to keep the sum of the spread"
                                    : "wrote " + command.sum +
                                          ": go on with 'partita regression "
                                          "bounds'",
                Json{{"rows", rows.count}, {"sum", command.sum}, {"fit", nullptr}}.dump());
    return kDone;
  }
  const regression::Fit fit = FitOf(collection, simulated.sum);
  PrintResult(
      output, ReportRegression(command, collection, fit),
      Json{{"rows", rows.count}, {"sum", command.sum}, {"fit", Json::parse(ResultJson(fit.result))}}
          .dump());
  return kDone;
}

// -------------------------------------------------------------------------- fit, predict

int RunRegressionFit(const OutputOptions& output, const RegressionCommand& command) {
  const sums::CollectionFile collection = LoadRegression(command.collection);
  const regression::Fit fit = FitOf(collection, ReadSumFile(command.file, collection));
  PrintResult(output, ReportRegression(command, collection, fit), ResultJson(fit.result));
  return kDone;
}

int RunPredict(const OutputOptions& output, const RegressionCommand& command) {
  const sums::CollectionFile collection = LoadRegression(command.collection);
  const regression::Fit fit = FitOf(collection, ReadSumFile(command.sum, collection));
  const regression::Spec& spec = *collection.regression;
  data::Schema predictors = spec.variables;
  predictors.columns.pop_back();
  data::CsvContents csv = ReadTable(command.file, command.format, predictors);
  const regression::Rows rows =
      regression::TakePredictorRows(spec, fit.design, std::move(csv.table), csv.report);
  const std::vector<regression::PredictionFacts> predictions = regression::PredictRows(fit, rows);
  std::string lines = "mean,lower,upper\n";
  Json list = Json::array();
  TextTable table;
  table.header = {"row", spec.outcome().name, "lower", "upper"};
  table.right = {0, 1, 2, 3};
  for (const regression::PredictionFacts& p : predictions) {
    lines += fmt::format("{},{},{}\n", p.mean, p.lower, p.upper);
    list.push_back({{"mean", p.mean}, {"lower", p.lower}, {"upper", p.upper}});
    table.rows.push_back({std::to_string(table.rows.size() + 1), fmt::format("{:.4g}", p.mean),
                          fmt::format("{:.4g}", p.lower), fmt::format("{:.4g}", p.upper)});
  }
  for (const std::string& note : regression::ClippingNotes(rows, spec)) PrintNote(output, note);
  if (!command.output.empty())
    WriteOutput(output, command.output, lines, kSumForOwner, "the predictions");
  PrintResult(
      output, RenderTable(table, 0),
      Json{{"outcome", spec.outcome().name}, {"level", spec.level}, {"predictions", list}}.dump());
  return kDone;
}

// ---------------------------------------------------------------------------------- bounds

int RunBounds(const OutputOptions& output, const RegressionCommand& command) {
  const sums::CollectionFile collection = LoadRegression(command.collection);
  const regression::Spec& spec = *collection.regression;
  const regression::ReleasedSum sum = ReadSumFile(command.file, collection);
  const sums::Contract& contract = collection.contract;
  // The next sum with the same clients, compute nodes and source of noise.
  const uint32_t shares =
      contract.noise_source == sums::NoiseSource::kClients ? contract.clients : contract.nodes;
  regression::NextNoise next;
  next.epsilon = command.epsilon;
  next.laplace = spec.laplace;
  next.variance_multiple = static_cast<double>(shares) / SharesNeeded(contract);
  if (collection.delta) next.delta = collection.delta->value();
  if (command.delta > 0) next.delta = command.delta;
  crypto::Prg random(regression::FitKey(sum));
  const regression::TightBounds bounds =
      regression::BoundsFromSpread(spec, regression::DesignOf(spec), sum, next, random);
  Json clip = Json::object();
  for (const auto& [name, range] : bounds.clip) clip[name] = {range.lower, range.upper};
  PrintResult(output, regression::ClipSection(bounds),
              Json{{"features_threshold", bounds.thresholds.features},
                   {"outcome_threshold", bounds.thresholds.target},
                   {"clip", clip}}
                  .dump());
  PrintNote(output,
            fmt::format("\nBounds of {:.3g} (predictors) and {:.3g} (outcome) noisy standard "
                        "deviations around the middle of the present ones: best on auxiliary data "
                        "at epsilon {}. Put the section into the next collection file; the two "
                        "collections' losses add up.",
                        bounds.thresholds.features, bounds.thresholds.target,
                        privacy::GivenText(command.epsilon, 6, true)));
  return kDone;
}

// ---------------------------------------------------------------------------------- parser

using RegressionRun = int (*)(const OutputOptions&, const RegressionCommand&);

struct Added {
  CLI::App* command;
  std::shared_ptr<RegressionCommand> options;
};

Added AddRegressionCommand(CLI::App* parent, const std::string& name,
                           const std::string& description, const std::string& file_description,
                           Invocation& invocation, RegressionRun run) {
  auto options = std::make_shared<RegressionCommand>();
  CLI::App* command = parent->add_subcommand(name, description);
  AddOutputOptions(*command, invocation, "regression " + name);
  command->add_option("FILE", options->file, file_description)->required();
  command->add_option("--collection", options->collection, "The collection file")->required();
  command->callback([&invocation, options, run] {
    invocation.run = [&invocation, options, run] { return run(invocation.output, *options); };
  });
  return {command, options};
}

}  // namespace

void AddRegressionCommands(CLI::App& app, Invocation& invocation) {
  CLI::App* parent =
      app.add_subcommand("regression", "Regressions on private sums of many clients");
  parent->require_subcommand(1);

  const Added encode = AddRegressionCommand(
      parent, "encode", "Turn a row of a table into the vector that a client submits",
      "A table (CSV) of this client", invocation, RunEncode);
  encode.command->add_option("--row", encode.options->row, "Which row, from 1")
      ->capture_default_str();
  AddNewFile(*encode.command, invocation, "--output", encode.options->output,
             "Write the vector to this file")
      ->required();
  AddTableFormat(*encode.command, encode.options->format);

  const Added simulate = AddRegressionCommand(
      parent, "simulate",
      "Run a collection in one process, one client per row of a table, and fit it",
      "A table (CSV) of all clients", invocation, RunSimulate);
  AddNewFile(*simulate.command, invocation, "--sum", simulate.options->sum,
             "Write the opened sum here (JSON)");
  AddNewFile(*simulate.command, invocation, "--html", simulate.options->html,
             "Write the report here");
  AddTableFormat(*simulate.command, simulate.options->format);

  const Added fit = AddRegressionCommand(parent, "fit", "Fit the regression to an opened sum",
                                         "The opened sum (JSON)", invocation, RunRegressionFit);
  AddNewFile(*fit.command, invocation, "--html", fit.options->html, "Write the report here");

  const Added predict =
      AddRegressionCommand(parent, "predict", "Predict the outcome of new rows, with intervals",
                           "A table (CSV) of predictors", invocation, RunPredict);
  predict.command->add_option("--sum", predict.options->sum, "The opened sum (JSON)")->required();
  AddNewFile(*predict.command, invocation, "--output", predict.options->output,
             "Write the predictions as CSV");
  AddTableFormat(*predict.command, predict.options->format);

  const Added bounds = AddRegressionCommand(
      parent, "bounds", "Choose tighter bounds from a sum of the spread of the columns",
      "The opened sum (JSON) of a collection with collects = \"spread\"", invocation, RunBounds);
  bounds.command->add_option("--epsilon", bounds.options->epsilon, "Epsilon of the next collection")
      ->required()
      ->check(CLI::PositiveNumber);
  bounds.command->add_option("--delta", bounds.options->delta,
                             "Delta of the next collection (default: that of this one)");

  AddLogistic(*parent, invocation);
}

}  // namespace partita::cli
