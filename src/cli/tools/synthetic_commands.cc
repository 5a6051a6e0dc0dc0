// partita synthetic draw | report | coverage (and combine: synthetic_combine.h)
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <iostream>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/text_table.h"
#include "cli/commands.h"
#include "cli/study/simulate.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/new_file.h"
#include "cli/tools/synthetic_combine.h"
#include "data/csv_reader.h"
#include "data/csv_writer.h"
#include "data/describe.h"
#include "data/gzip_source.h"
#include "methods/marginals/given.h"
#include "methods/marginals/model_file.h"
#include "methods/mixture/cells.h"
#include "methods/mixture/study.h"
#include "methods/mixture/synthetic.h"
#include "methods/mixture/utility.h"
#include "privacy/statement.h"
#include "report/html_page.h"
#include "report/html_text.h"
#include "report/privacy_html.h"
#include "report/progress.h"
#include "report/row_plot.h"
#include "stats/mixture/coverage.h"

namespace partita::cli {
namespace {

constexpr const char* kRealRows =
    "Every number here is computed from real rows. It is for their holder; to show it to anybody "
    "else is a release of its own.";

// ------------------------------------------------------------------------------------ draw

struct DrawCommand {
  std::string model, folder;
  std::vector<std::string> columns;  // --for-intervals
  std::vector<std::string> given;
  size_t rows = 1000, sets = 1;
  bool accept_useless = false;
};

std::string StatementNote(const std::string& privacy) {
  if (privacy.empty()) return "The model states no privacy guarantee.\n";
  return privacy::StatementText(privacy::ParseStatementJson(privacy));
}

// What rows are drawn from, and what to say of them.
struct RowSource {
  std::function<data::Table(size_t rows, crypto::RandomSource& random)> draw;
  std::string privacy, purpose;
};

RowSource OfMixture(const DrawCommand& command) {
  const methods::mixture::FittedModel model = methods::mixture::ReadModelFile(command.model);
  if (!model.trained() && !command.accept_useless) {
    throw Error(
        ErrorCode::kNotConverged,
        fmt::format("the model is not trained: {} of {} iterations were made before what its "
                    "run may open was used up",
                    model.steps, model.planned_steps),
        "its tables would look like data and say little of the real ones; draw them all the "
        "same with --accept-useless");
  }
  return {[model](size_t rows, crypto::RandomSource& random) {
            return methods::mixture::DrawTables(model, rows, 1, random).front();
          },
          model.privacy, methods::mixture::kSyntheticPurpose};
}

RowSource OfTables(const methods::marginals::OpenedTables& opened, const DrawCommand& command) {
  const auto given = methods::marginals::ParseGiven(opened, command.given);
  const auto choice = methods::marginals::ChooseFor(opened);
  const std::string purpose =
      std::string(choice.IsIndependent() ? methods::marginals::kIndependentPurpose
                                         : methods::marginals::kRowsPurpose) +
      methods::marginals::GivenNote(opened, given);
  return {[opened, given, choice](size_t rows, crypto::RandomSource& random) {
            if (!given.empty())
              return methods::marginals::DrawGiven(opened, choice, given, rows, random);
            return methods::marginals::DrawTables(opened, choice, rows, 1, random).front();
          },
          opened.privacy, purpose};
}

// All tables of some columns, of as many rows as were counted.
RowSource ForIntervals(const methods::marginals::OpenedTables& opened, const DrawCommand& command) {
  crypto::SystemRandom random;
  auto tables = std::make_shared<std::vector<data::Table>>(
      methods::marginals::DrawForIntervals(opened, command.columns, command.sets, random));
  return {[tables](size_t /*rows*/, crypto::RandomSource& /*random*/) {
            data::Table next = std::move(tables->back());
            tables->pop_back();
            return next;
          },
          opened.privacy, methods::marginals::kIntervalsPurpose};
}

RowSource SourceOf(const DrawCommand& command) {
  const auto opened = methods::marginals::ReadTablesFile(command.model);
  if (opened && !command.columns.empty()) return ForIntervals(*opened, command);
  if (opened) return OfTables(*opened, command);
  if (command.columns.empty() && command.given.empty()) return OfMixture(command);
  throw Error(ErrorCode::kBadInput,
              command.columns.empty() ? "rows of a mixture are not drawn by group"
                                      : "the model is a mixture, whose error is in no interval",
              "draw from the model.json of a study of method marginals");
}

int RunDraw(const OutputOptions& output, const DrawCommand& command) {
  if (!command.columns.empty() && command.sets < 2) {
    throw Error(ErrorCode::kUsage, "intervals need several tables",
                "write, for example: --sets 40");
  }
  const RowSource source = SourceOf(command);
  std::vector<std::string> files;
  for (size_t set = 0; set < command.sets; ++set) {
    files.push_back(
        (std::filesystem::path(command.folder) / methods::mixture::SyntheticFile(set)).string());
    RequireNewFile(files.back(), output.force);
  }
  crypto::SystemRandom random;
  std::string text;
  size_t rows = 0;
  for (const std::string& file : files) {
    const data::Table table = source.draw(command.rows, random);
    rows = table.num_rows;
    WriteFileAtomically(file, data::WriteCsv(table));
    text += file + "\n";
  }
  const nlohmann::ordered_json statement = source.privacy.empty()
                                               ? nlohmann::ordered_json()
                                               : nlohmann::ordered_json::parse(source.privacy);
  PrintResult(
      output, text + "\n" + WrapText(source.purpose, 0) + "\n" + StatementNote(source.privacy),
      nlohmann::ordered_json{
          {"files", files}, {"rows", rows}, {"purpose", source.purpose}, {"privacy", statement}}
          .dump());
  return kDone;
}

// ---------------------------------------------------------------------------------- report

struct ReportCommand {
  std::string model, party, real, train, target, level, html;
  size_t rows = 10000;
};

stats::mixture::Values ReadValues(const methods::mixture::FittedModel& model,
                                  const std::string& file) {
  data::Schema schema;
  for (const methods::mixture::ModelColumn& column : model.columns)
    schema.columns.push_back(column.encoding.column);
  data::CsvOptions options;
  options.separator = data::FindSeparator(file);
  const data::CsvContents contents = data::ReadCsv(data::OpenGzipFile(file), file, schema, options);
  data::RequireClean(contents.report, {.allow_missing = false, .allow_constant = true});
  return methods::mixture::EncodeValues(model.columns, contents.table);
}

methods::mixture::Utility MakeReport(const ReportCommand& command,
                                     const methods::mixture::FittedModel& model) {
  methods::mixture::RealRows real{ReadValues(model, command.real), {}};
  if (!command.train.empty()) real.train = ReadValues(model, command.train);
  crypto::SystemRandom random;
  return methods::mixture::JudgeSynthetic(model, real,
                                          {command.rows, command.target, command.level}, random);
}

std::string ScoreText(const char* name, const stats::mixture::PredictionScore& score) {
  return fmt::format("  trained on {}: accuracy {:.4f}, AUC {:.4f}, log loss {:.4f}\n", name,
                     score.accuracy, score.auc, score.log_loss);
}

std::string ReportText(const methods::mixture::FittedModel& model,
                       const methods::mixture::Utility& report) {
  TextTable marginals;
  marginals.header = {"column", "total variation"};
  marginals.right = {1};
  for (const stats::mixture::MarginalDistance& marginal : report.marginals)
    marginals.rows.push_back({marginal.name, fmt::format("{:.4f}", marginal.total_variation)});
  TextTable cells;
  cells.header = {"column", "cell", "real", "synthetic"};
  cells.right = {2, 3};
  for (const methods::mixture::CellShare& share : methods::mixture::FarthestApart(
           methods::mixture::CellShares(model.columns, report.marginals), 15)) {
    cells.rows.push_back({share.column, share.cell, fmt::format("{:.4f}", share.real),
                          fmt::format("{:.4f}", share.synthetic)});
  }
  TextTable pairs;
  pairs.header = {"pair", "real", "synthetic"};
  pairs.right = {1, 2};
  for (const stats::mixture::Association& pair :
       methods::mixture::Strongest(report.associations, 15)) {
    pairs.rows.push_back({pair.first + ", " + pair.second, fmt::format("{:.3f}", pair.real),
                          fmt::format("{:.3f}", pair.synthetic)});
  }
  std::string text =
      "Marginals: distance between real and synthetic\n" + RenderTable(marginals, 2) +
      "\nShares that differ most\n" + RenderTable(cells, 2) +
      "\nAssociations: Cramer's V, the strongest pairs\n" + RenderTable(pairs, 2) +
      fmt::format(
          "\nLog density of the real rows: {:.4f} nats per row at the mean, {:.4f} over 20 "
          "draws; active components: {}\n",
          report.plug_in, report.predictive, report.active_components);
  const auto spread = [&](const char* what, auto number) {
    std::vector<double> values;
    for (const methods::mixture::TableUtility& one : report.tables) values.push_back(number(one));
    const methods::mixture::Spread of = methods::mixture::SpreadOf(values);
    return fmt::format("  {} {:.4f} ({:.4f} to {:.4f})\n", what, of.mean, of.least, of.most);
  };
  using Table = methods::mixture::TableUtility;
  text += fmt::format("\nOver {} synthetic tables, on average (least to most)\n",
                      report.tables.size()) +
          spread("distance of the marginals", [](const Table& one) { return one.marginals; }) +
          spread("Cramer's V off by", [](const Table& one) { return one.associations; });
  if (report.from_synthetic)
    text += spread("AUC", [](const Table& one) { return one.prediction->auc; });
  if (report.from_synthetic) {
    text += fmt::format("\nPredicting {} = {} in the real rows\n", report.target, report.level) +
            ScoreText("synthetic rows", *report.from_synthetic);
    if (report.from_real) text += ScoreText("real rows", *report.from_real);
    if (report.poor_for_learning())
      text += "  POOR FOR LEARNING: synthetic rows teach less than half of what real rows teach\n";
  }
  return text + "\n" + WrapText(kRealRows, 0) + WrapText(methods::mixture::kSyntheticPurpose, 0);
}

nlohmann::ordered_json ScoreJson(const stats::mixture::PredictionScore& score) {
  return {{"accuracy", score.accuracy}, {"auc", score.auc}, {"log_loss", score.log_loss}};
}

nlohmann::ordered_json ReportData(const methods::mixture::FittedModel& model,
                                  const methods::mixture::Utility& report) {
  nlohmann::ordered_json marginals = nlohmann::ordered_json::array();
  for (size_t f = 0; f < report.marginals.size(); ++f) {
    const stats::mixture::MarginalDistance& marginal = report.marginals[f];
    marginals.push_back(
        {{"column", marginal.name},
         {"total_variation", marginal.total_variation},
         {"cells", methods::mixture::CellNames(model.columns[f], marginal.real.size())},
         {"real", marginal.real},
         {"synthetic", marginal.synthetic}});
  }
  nlohmann::ordered_json pairs = nlohmann::ordered_json::array();
  for (const stats::mixture::Association& pair : report.associations) {
    pairs.push_back({{"first", pair.first},
                     {"second", pair.second},
                     {"real", pair.real},
                     {"synthetic", pair.synthetic}});
  }
  nlohmann::ordered_json tables = nlohmann::ordered_json::array();
  for (const methods::mixture::TableUtility& one : report.tables) {
    nlohmann::ordered_json table = {{"marginals", one.marginals},
                                    {"associations", one.associations}};
    if (one.prediction) table["auc"] = one.prediction->auc;
    tables.push_back(table);
  }
  nlohmann::ordered_json prediction;
  if (report.from_synthetic) {
    prediction = {{"target", report.target},
                  {"level", report.level},
                  {"from_synthetic", ScoreJson(*report.from_synthetic)}};
    if (report.from_real) prediction["from_real"] = ScoreJson(*report.from_real);
  }
  return {{"marginals", marginals},
          {"associations", pairs},
          {"log_density", report.plug_in},
          {"predictive_log_density", report.predictive},
          {"active_components", report.active_components},
          {"tables", tables},
          {"prediction", prediction},
          {"purpose", methods::mixture::kSyntheticPurpose}};
}

std::string MarginalFigure(const methods::mixture::ModelColumn& column,
                           const stats::mixture::MarginalDistance& marginal) {
  std::vector<report::BarRow> rows;
  for (const methods::mixture::CellShare& share :
       methods::mixture::CellShares({column}, {marginal}))
    rows.push_back({share.cell, share.real, share.synthetic});
  const std::string title = fmt::format("Shares of {}", marginal.name);
  return report::BarPlotHtml(title, "real", "synthetic", rows);
}

std::string ReportHtml(const methods::mixture::Utility& report,
                       const methods::mixture::FittedModel& model) {
  std::vector<report::BarRow> pairs;
  for (const stats::mixture::Association& pair :
       methods::mixture::Strongest(report.associations, 25))
    pairs.push_back({pair.first + ", " + pair.second, pair.real, pair.synthetic});
  report::HtmlTable table;
  table.caption = "Total variation distance between the real and the synthetic shares";
  table.header = {"Column", "Distance"};
  table.numbers = {1};
  for (const stats::mixture::MarginalDistance& marginal : report.marginals)
    table.Add({report::Escape(marginal.name), fmt::format("{:.4f}", marginal.total_variation)});
  std::vector<std::pair<std::string, std::string>> facts = {
      {"Log density of the real rows at the mean", fmt::format("{:.4f} nats", report.plug_in)},
      {"over 20 draws", fmt::format("{:.4f} nats", report.predictive)},
      {"Active components", std::to_string(report.active_components)}};
  const auto add_score = [&](const std::string& name,
                             const stats::mixture::PredictionScore& score) {
    facts.emplace_back(
        fmt::format("{} = {} predicted after training on {}", report.target, report.level, name),
        fmt::format("accuracy {:.4f}, AUC {:.4f}, log loss {:.4f}", score.accuracy, score.auc,
                    score.log_loss));
  };
  if (report.from_synthetic) add_score("synthetic rows", *report.from_synthetic);
  if (report.from_real) add_score("real rows", *report.from_real);
  std::string marginal_plots;
  for (size_t f = 0; f < report.marginals.size(); ++f)
    marginal_plots += MarginalFigure(model.columns[f], report.marginals[f]);
  report::HtmlPage page;
  page.title = "Synthetic data: how like the real ones they are";
  page.header = report::Element("h1", report::Escape(page.title)) + report::Paragraph(kRealRows);
  page.main =
      report::Section("use", "What such data are for",
                      report::Paragraph(methods::mixture::kSyntheticPurpose)) +
      report::Section(
          "marginals", "Marginals",
          report::RenderHtmlTable(table) + report::Element("div", marginal_plots, "plots")) +
      report::Section("associations", "Associations",
                      report::BarPlotHtml("Cramer's V of pairs", "real", "synthetic", pairs)) +
      report::Section("model", "Model and prediction", report::Definitions(facts));
  if (!model.privacy.empty()) {
    const privacy::Statement statement = privacy::ParseStatementJson(model.privacy);
    page.main += report::Section("privacy", "Privacy", report::StatementHtml(statement));
    page.data = report::WithTradeOffs("", statement);
  }
  page.footer = report::Paragraph("Made by partita synthetic report.");
  return report::RenderHtmlPage(page);
}

// The model of all columns, or of one party's.
methods::mixture::FittedModel ModelFor(const ReportCommand& command) {
  methods::mixture::FittedModel model = methods::mixture::ReadModelFile(command.model);
  if (command.party.empty()) return model;
  const auto found = std::find(model.parties.begin(), model.parties.end(), command.party);
  if (found == model.parties.end()) {
    throw Error(ErrorCode::kBadInput, fmt::format("the model has no party '{}'", command.party),
                fmt::format("name one of: {}", fmt::join(model.parties, ", ")));
  }
  return methods::mixture::ModelOfParty(model, static_cast<size_t>(found - model.parties.begin()));
}

int RunReport(const OutputOptions& output, const ReportCommand& command) {
  if (command.target.empty() != command.level.empty()) {
    throw Error(ErrorCode::kUsage, "--target and --level belong together");
  }
  const methods::mixture::FittedModel model = ModelFor(command);
  const methods::mixture::Utility report = MakeReport(command, model);
  if (!command.html.empty()) WriteFileAtomically(command.html, ReportHtml(report, model));
  PrintResult(output, ReportText(model, report), ReportData(model, report).dump());
  return kDone;
}

// -------------------------------------------------------------------------------- coverage

struct CoverageCommand {
  stats::mixture::CoverageOptions options;
  double noise = 0;
};

std::string CoverageText(const stats::mixture::Coverage& coverage,
                         const stats::mixture::CoverageOptions& options) {
  TextTable table;
  table.header = {"intervals from", "contain the slope", "mean width", "mean estimate"};
  table.right = {1, 2, 3};
  const auto add = [&](const char* name, const stats::mixture::IntervalCoverage& row) {
    table.rows.push_back({name, fmt::format("{:.1f} %", 100 * row.share),
                          fmt::format("{:.4f}", row.mean_width),
                          fmt::format("{:.4f}", row.mean_estimate)});
  };
  add("the real rows", coverage.real);
  add("one synthetic data set, as if real", coverage.single);
  add("all synthetic data sets, combined", coverage.combined);
  return RenderTable(table, 0) +
         WrapText(
             fmt::format("{} replicates of {} rows, {} synthetic data sets each; slope {} of a "
                         "linear regression, nominal {:.3g} %. Combined by the rule of "
                         "Raghunathan, Reiter and Rubin (2003), whose variance was negative and "
                         "replaced in {} replicates.",
                         options.replicates, options.rows, options.sets, options.slope,
                         100 * options.level, coverage.adjusted),
             0);
}

nlohmann::ordered_json CoverageJson(const stats::mixture::IntervalCoverage& row) {
  return {
      {"share", row.share}, {"mean_width", row.mean_width}, {"mean_estimate", row.mean_estimate}};
}

int RunCoverage(const OutputOptions& output, const CoverageCommand& command) {
  stats::mixture::CoverageOptions options = command.options;
  options.noise.noise_multiplier = command.noise;
  report::TerminalProgress terminal(std::cerr, report::DetectProgressStyle(STDERR_FILENO), "",
                                    &Interrupted());
  CancellableProgress quiet;
  Progress& progress = output.quiet ? static_cast<Progress&>(quiet) : terminal;
  progress.Phase("replicates");
  crypto::SystemRandom random;
  const stats::mixture::Coverage coverage =
      stats::mixture::SimulateCoverage(options, random, progress);
  terminal.Finish();
  PrintResult(output, CoverageText(coverage, options),
              nlohmann::ordered_json{{"replicates", options.replicates},
                                     {"rows", options.rows},
                                     {"sets", options.sets},
                                     {"slope", options.slope},
                                     {"level", options.level},
                                     {"real", CoverageJson(coverage.real)},
                                     {"single", CoverageJson(coverage.single)},
                                     {"combined", CoverageJson(coverage.combined)},
                                     {"adjusted", coverage.adjusted}}
                  .dump());
  return kDone;
}

void AddDraw(CLI::App& synthetic, Invocation& invocation) {
  auto options = std::make_shared<DrawCommand>();
  CLI::App* draw = synthetic.add_subcommand(
      "draw", "Write synthetic tables: of a mixture each from its own posterior draw");
  AddOutputOptions(*draw, invocation, "synthetic draw");
  draw->add_option("model", options->model, "Model file")->required();
  draw->add_option("--folder", options->folder, "Folder for synthetic_1.csv, synthetic_2.csv, ...")
      ->required();
  AddForce(*draw, invocation);
  CLI::Option* rows = draw->add_option("--rows", options->rows, "Rows of each table")
                          ->check(CLI::Range(1, 100000000))
                          ->capture_default_str();
  CLI::Option* intervals =
      draw->add_option(
              "--for-intervals", options->columns,
              "Of a study of method marginals, only these columns (a,b,c): tables of as many "
              "rows as the real "
              "one, each with sampling and noise anew, whose estimates partita synthetic "
              "combine makes intervals of")
          ->delimiter(',')
          ->excludes(rows);
  draw->add_option("--given", options->given,
                   "Of a study of method marginals, COLUMN=LEVEL: only rows with this level; "
                   "several may be given")
      ->excludes(intervals);
  draw->add_option("--sets", options->sets, "Tables; combining rules need two or more")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  draw->add_flag("--accept-useless", options->accept_useless,
                 "Draw from a model that is not trained");
  draw->callback([&invocation, options] {
    invocation.run = [&invocation, options] { return RunDraw(invocation.output, *options); };
  });
}

void AddSyntheticReport(CLI::App& synthetic, Invocation& invocation) {
  auto options = std::make_shared<ReportCommand>();
  CLI::App* report = synthetic.add_subcommand(
      "report",
      "Compare synthetic rows of a model of method mixture with real rows, for the holder of the "
      "real ones");
  AddOutputOptions(*report, invocation, "synthetic report");
  report->add_option("model", options->model, "Model file")->required();
  report->add_option("--party", options->party,
                     "Only the columns of this party: what its holder can compare alone");
  report
      ->add_option("--real", options->real,
                   "CSV of real rows that the model was not fitted to (may be gzipped)")
      ->required();
  report->add_option("--train", options->train,
                     "CSV of the real training rows, to compare the prediction with theirs");
  report->add_option("--target", options->target, "Factor to predict");
  report->add_option("--level", options->level, "Its level to predict");
  report->add_option("--rows", options->rows, "Synthetic rows to compare")
      ->check(CLI::Range(10, 100000000))
      ->capture_default_str();
  AddNewFile(*report, invocation, "--html", options->html,
             "Also write the report with plots to this file");
  report->callback([&invocation, options] {
    invocation.run = [&invocation, options] { return RunReport(invocation.output, *options); };
  });
}

void AddCoverage(CLI::App& synthetic, Invocation& invocation) {
  auto options = std::make_shared<CoverageCommand>();
  CLI::App* coverage = synthetic.add_subcommand(
      "coverage", "Simulate how often regression intervals from synthetic data contain the truth");
  AddOutputOptions(*coverage, invocation, "synthetic coverage");
  stats::mixture::CoverageOptions& chosen = options->options;
  const auto count = [&](const char* name, auto& value, int low, int high, const char* what) {
    coverage->add_option(name, value, what)->check(CLI::Range(low, high))->capture_default_str();
  };
  count("--replicates", chosen.replicates, 1, 1000000, "Replicates of the simulation");
  count("--rows", chosen.rows, 10, 1000000, "Rows of each table");
  count("--sets", chosen.sets, 2, 1000, "Synthetic tables per replicate");
  count("--components", chosen.components, 1, 1000, "Components of the mixture");
  count("--steps", chosen.steps, 1, 10000000, "Steps of each fit");
  coverage->add_option("--slope", chosen.slope, "The true slope, within (-1, 1)")
      ->capture_default_str();
  coverage->add_option("--noise", options->noise, "Noise, in multiples of the clipping norm")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  coverage->callback([&invocation, options] {
    invocation.run = [&invocation, options] { return RunCoverage(invocation.output, *options); };
  });
}

}  // namespace

void AddSyntheticCommands(CLI::App& app, Invocation& invocation) {
  CLI::App* synthetic = app.add_subcommand(
      "synthetic", "Draw and judge synthetic data of methods mixture and marginals");
  synthetic->require_subcommand(1);
  AddDraw(*synthetic, invocation);
  AddSyntheticReport(*synthetic, invocation);
  AddCombine(*synthetic, invocation);
  AddCoverage(*synthetic, invocation);
}

}  // namespace partita::cli
