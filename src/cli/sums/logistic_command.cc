#include "cli/sums/logistic_command.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "base/text_table.h"
#include "cli/sums/regression_row.h"
#include "cli/terminal/json.h"
#include "privacy/rounded_text.h"
#include "sums/regression/logistic_fit.h"
#include "sums/regression/logistic_sums.h"

namespace partita::cli {
namespace {

namespace regression = sums::regression;

struct LogisticCommand {
  std::string table, collection;
  TableFormat format;
  size_t epochs = 10, batch = 100;
  std::string trainer = "variational";
  double clip_norm = 1, prior_sd = 3, lambda = 0.01, epsilon = 0, delta = 0;
  std::optional<double> step;
  std::optional<uint32_t> max_drop, max_collude;
};

regression::LogisticViOptions OptionsOf(const LogisticCommand& command,
                                        const sums::CollectionFile& collection) {
  regression::LogisticViOptions options;
  options.epochs = command.epochs;
  options.batch_size = command.batch;
  options.clip_norm = command.clip_norm;
  options.step = command.step.value_or(command.trainer == "dp-sgd" ? 1 : 0.05);
  options.prior_variance = command.prior_sd * command.prior_sd;
  if (command.epsilon <= 0 && !collection.epsilon) {
    throw Error(ErrorCode::kUsage, collection.file_name + " has no epsilon", "give --epsilon");
  }
  if (command.delta <= 0 && !collection.delta) {
    throw Error(ErrorCode::kUsage,
                collection.file_name + " has no delta, which the noise of gradients needs",
                "give --delta, such as 1e-6");
  }
  options.epsilon = command.epsilon > 0 ? command.epsilon : *collection.epsilon;
  options.delta = command.delta > 0 ? command.delta : collection.delta->value();
  return options;
}

regression::LogisticRound RoundOf(const LogisticCommand& command,
                                  const sums::CollectionFile& collection) {
  regression::LogisticRound round;
  round.nodes = collection.contract.nodes;
  round.noise_source = collection.contract.noise_source;
  round.max_drop = command.max_drop.value_or(collection.contract.max_drop);
  round.max_collude = command.max_collude.value_or(collection.contract.max_collude);
  return round;
}

std::string LogisticText(const regression::Spec& spec, const regression::LogisticViOptions& options,
                         const std::vector<regression::LogisticCoefficient>& coefficients,
                         const regression::SimulatedLogistic& fit) {
  TextTable table;
  table.header = {"log odds of " + spec.outcome().name, "mean", "sd", "lower", "upper"};
  table.right = {1, 2, 3, 4};
  for (const regression::LogisticCoefficient& c : coefficients) {
    table.rows.push_back({c.name, fmt::format("{:.4g}", c.mean), fmt::format("{:.3g}", c.stddev),
                          fmt::format("{:.4g}", c.lower), fmt::format("{:.4g}", c.upper)});
  }
  return fmt::format(
             "Logistic regression of {} by {} private sums of clipped gradients, {} clients each\n",
             spec.outcome().name, fit.sums, options.batch_size) +
         RenderTable(table, 2) +
         WrapText(
             fmt::format(
                 "The deviations and the {:g} % intervals are those of a normal approximation "
                 "without correlations. They leave the privacy noise out, whose standard deviation "
                 "in each sum is {:.3g} (a client's gradient has at most the norm {:g}).",
                 100 * spec.level, fit.posterior.noise_stddev, options.clip_norm),
             0) +
         "\n" + privacy::StatementText(fit.statement);
}

// A classifier without a posterior.
void PrintDescent(const OutputOptions& output, const LogisticCommand& command,
                  const regression::Spec& spec, const regression::LogisticViOptions& options,
                  const std::vector<regression::LogisticCoefficient>& coefficients, uint64_t rows,
                  const regression::SimulatedDescent& fit) {
  TextTable table;
  table.header = {"log odds of " + spec.outcome().name, "estimate"};
  table.right = {1};
  Json list = Json::array();
  for (const regression::LogisticCoefficient& c : coefficients) {
    table.rows.push_back({c.name, fmt::format("{:.4g}", c.mean)});
    list.push_back({{"name", c.name},
                    {"mean", c.mean},
                    {"stddev", nullptr},
                    {"lower", nullptr},
                    {"upper", nullptr}});
  }
  const std::string text =
      fmt::format("Classifier of {} by {}: {} private sums of clipped gradients, {} clients each\n",
                  spec.outcome().name, command.trainer == "dp-sgd" ? "DP-SGD" : "DP-Adam", fit.sums,
                  options.batch_size) +
      RenderTable(table, 2) +
      WrapText(fmt::format("Without intervals: the penalty ({:g}) and the privacy noise, whose "
                           "standard deviation in each sum is {}, move the estimates. "
                           "--trainer variational gives an approximate posterior.",
                           command.lambda, privacy::RoundedText(fit.noise_stddev, 3, false)),
               0) +
      "\n" + privacy::StatementText(fit.statement);
  PrintResult(output, text,
              Json{{"outcome", spec.outcome().name},
                   {"trainer", command.trainer},
                   {"rows", rows},
                   {"sums", fit.sums},
                   {"epochs", options.epochs},
                   {"batch", options.batch_size},
                   {"clip_norm", options.clip_norm},
                   {"noise_stddev", fit.noise_stddev},
                   {"coefficients", list},
                   {"statement", Json::parse(privacy::StatementJson(fit.statement))}}
                  .dump());
}

int RunLogistic(const OutputOptions& output, const LogisticCommand& command) {
  const sums::CollectionFile collection = LoadRegression(command.collection);
  const regression::Spec& spec = *collection.regression;
  const stats::blr::Design design = regression::DesignOf(spec);
  data::CsvContents csv = ReadTable(command.table, command.format, spec.variables);
  const regression::Rows rows =
      regression::TakeRows(spec, design, std::move(csv.table), csv.report);
  const regression::LogisticRows taken = regression::TakeLogisticRows(spec, design, rows);
  for (const std::string& note : regression::ClippingNotes(rows, spec)) PrintNote(output, note);
  const regression::LogisticViOptions options = OptionsOf(command, collection);
  const regression::LogisticRound round = RoundOf(command, collection);
  crypto::SystemRandom random;
  const auto note = [&](double seconds) {
    PrintNote(output, fmt::format("{} clients and {} compute nodes in one process: {}. This spends "
                                  "privacy budget as real sums do if the result is shown to "
                                  "others.",
                                  FormatCount(rows.count), collection.contract.nodes,
                                  FormatSeconds(seconds)));
  };
  if (command.trainer != "variational") {
    const auto optimiser =
        command.trainer == "dp-sgd" ? regression::Optimiser::kSgd : regression::Optimiser::kAdam;
    const regression::SimulatedDescent fit = regression::SimulateDescent(
        taken.x, taken.labels, options, optimiser, command.lambda, round, random);
    note(fit.wall_seconds);
    const Eigen::VectorXd none = Eigen::VectorXd::Zero(fit.coefficients.size());
    PrintDescent(output, command, spec, options,
                 regression::LogisticCoefficients(spec, design, {fit.coefficients, none, 0}),
                 rows.count, fit);
    return kDone;
  }
  const regression::SimulatedLogistic fit =
      regression::SimulateLogistic(taken.x, taken.labels, options, round, random);
  const auto coefficients = regression::LogisticCoefficients(spec, design, fit.posterior);
  note(fit.wall_seconds);
  Json list = Json::array();
  for (const regression::LogisticCoefficient& c : coefficients) {
    list.push_back({{"name", c.name},
                    {"mean", c.mean},
                    {"stddev", c.stddev},
                    {"lower", c.lower},
                    {"upper", c.upper}});
  }
  PrintResult(output, LogisticText(spec, options, coefficients, fit),
              Json{{"outcome", spec.outcome().name},
                   {"trainer", command.trainer},
                   {"rows", rows.count},
                   {"sums", fit.sums},
                   {"epochs", options.epochs},
                   {"batch", options.batch_size},
                   {"clip_norm", options.clip_norm},
                   {"noise_stddev", fit.posterior.noise_stddev},
                   {"coefficients", list},
                   {"statement", Json::parse(privacy::StatementJson(fit.statement))}}
                  .dump());
  return kDone;
}

}  // namespace

void AddLogistic(CLI::App& parent, Invocation& invocation) {
  auto options = std::make_shared<LogisticCommand>();
  CLI::App* command = parent.add_subcommand(
      "logistic",
      "Fit a logistic regression by private sums of clipped gradients, one client per row of a "
      "table, all in one process");
  AddOutputOptions(*command, invocation, "regression logistic");
  command->add_option("FILE", options->table, "A table (CSV) of all clients")->required();
  command
      ->add_option("--collection", options->collection,
                   "The collection file: variables, compute nodes, and the privacy of the whole "
                   "training; the outcome is an integer from 0 to 1")
      ->required();
  command->add_option("--epochs", options->epochs, "How often each client gives a gradient")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  command
      ->add_option("--batch", options->batch,
                   "Clients in one sum; a number that divides the rows of the table")
      ->check(CLI::Range(2, 100000000))
      ->capture_default_str();
  command->add_option("--clip-norm", options->clip_norm, "Largest L2 norm of a client's gradient")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command
      ->add_option("--trainer", options->trainer,
                   "variational: an approximate posterior; dp-sgd and dp-adam: a classifier, by "
                   "descent on the mean loss with a penalty")
      ->check(CLI::IsMember({"variational", "dp-sgd", "dp-adam"}))
      ->capture_default_str();
  command
      ->add_option("--step", options->step,
                   "Step of the optimiser (default: 1 for dp-sgd; 0.05 for Adam, which the others "
                   "use)")
      ->check(CLI::PositiveNumber);
  command
      ->add_option("--lambda", options->lambda,
                   "Of dp-sgd and dp-adam: the penalty lambda/2 |w|^2 beside the mean loss")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command
      ->add_option("--prior-sd", options->prior_sd,
                   "Standard deviation of the prior of a coefficient, for predictors in [-1, 1]")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--epsilon", options->epsilon, "Instead of the collection's")
      ->check(CLI::PositiveNumber);
  command->add_option("--delta", options->delta, "Instead of the collection's")
      ->check(CLI::PositiveNumber);
  command->add_option("--max-drop", options->max_drop,
                      "Clients of a batch that may fail to arrive (default: the collection's)");
  command->add_option("--max-collude", options->max_collude,
                      "Clients of a batch that may tell their noise (default: the collection's)");
  AddTableFormat(*command, options->format);
  command->callback([&invocation, options] {
    invocation.run = [&invocation, options] { return RunLogistic(invocation.output, *options); };
  });
}

}  // namespace partita::cli
