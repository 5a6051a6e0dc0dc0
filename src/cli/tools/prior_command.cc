// partita study prior: what the priors of a study of method `mcmc` say about outcomes.
#include <fmt/format.h>

#include <cctype>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text_table.h"
#include "cli/commands.h"
#include "cli/terminal/json.h"
#include "methods/mcmc/prior_predictive.h"
#include "methods/prepare_study.h"
#include "report/numbers.h"

namespace partita::cli {
namespace {

using methods::mcmc::PriorPredictive;
using methods::mcmc::Quantiles;

constexpr const char* kMadeUp =
    "No data goes in. Rows are made up from the bounds and levels of the study file's variables; "
    "real "
    "rows lie nearer to the middle and their variables go together, so that this is what the "
    "priors "
    "allow for, not what to expect.";

struct PriorCommand {
  std::string study;
  methods::mcmc::PriorPredictiveOptions options;
};

void AddQuantiles(const Quantiles& quantiles, std::vector<std::string>& row) {
  for (const double value : {quantiles.lower, quantiles.median, quantiles.upper})
    row.push_back(fmt::format("{:.4g}", value));
}

std::string OutcomesText(const PriorPredictive& prior) {
  std::string text = fmt::format(
      "Outcomes of {} random rows, one per draw\n"
      "  2.5 %, median, 97.5 %  {:.4g}, {:.4g}, {:.4g}\n",
      FormatCount(prior.draws), prior.outcomes.lower, prior.outcomes.median, prior.outcomes.upper);
  const auto add = [&](const std::string& share, const std::string& of) {
    text += fmt::format("  {:>8}  {}\n", share, of);
  };
  if (prior.extreme_share) {
    add(report::Percent(*prior.event_share), "are 1");
    add(report::Percent(*prior.extreme_share), "had a chance of 1 below 1 % or above 99 %");
    return text;
  }
  add(report::Percent(prior.share_below),
      fmt::format("are below {:.6g}, the lower bound", prior.lower));
  add(report::Percent(prior.share_above),
      fmt::format("are above {:.6g}, the upper bound", prior.upper));
  if (prior.event_share)
    add(report::Percent(*prior.event_share), "are events until the upper bound");
  return text;
}

std::string PriorText(const PriorPredictive& prior) {
  TextTable parameters{{"parameter", "prior", "2.5 %", "median", "97.5 %"}, {2, 3, 4}, {}};
  for (const PriorPredictive::Parameter& parameter : prior.parameters) {
    parameters.rows.push_back({parameter.name, parameter.prior});
    AddQuantiles(parameter.value, parameters.rows.back());
  }
  TextTable rows{{"row", "2.5 %", "median", "97.5 %", "out of bounds"}, {1, 2, 3, 4}, {}};
  for (const PriorPredictive::Expected& expected : prior.reference_rows) {
    rows.rows.push_back({expected.row});
    AddQuantiles(expected.value, rows.rows.back());
    rows.rows.back().push_back(report::Percent(expected.outside));
  }
  return fmt::format(
      "Priors of analysis '{}': {} regression of {}, {} draws\n\n{}\n"
      "{}{} of {} in rows where one variable at a time leaves the middle of its bounds\n{}\n{}\n{}",
      prior.analysis, prior.model, prior.outcome, FormatCount(prior.draws),
      RenderTable(parameters, 2), static_cast<char>(std::toupper(prior.expected.front())),
      prior.expected.substr(1), prior.outcome, RenderTable(rows, 2), OutcomesText(prior),
      WrapText(kMadeUp, 0));
}

// Infinities are null.
Json PriorNumber(double value) { return std::isfinite(value) ? Json(value) : Json(); }

Json QuantilesJson(const Quantiles& quantiles) {
  return {{"2.5%", PriorNumber(quantiles.lower)},
          {"50%", PriorNumber(quantiles.median)},
          {"97.5%", PriorNumber(quantiles.upper)}};
}

Json PriorData(const PriorPredictive& prior, uint64_t seed) {
  Json parameters = Json::array(), rows = Json::array();
  for (const PriorPredictive::Parameter& parameter : prior.parameters) {
    parameters.push_back({{"name", parameter.name},
                          {"prior", parameter.prior},
                          {"quantiles", QuantilesJson(parameter.value)}});
  }
  for (const PriorPredictive::Expected& expected : prior.reference_rows) {
    rows.push_back({{"row", expected.row},
                    {"quantiles", QuantilesJson(expected.value)},
                    {"outside_share", expected.outside}});
  }
  return {{"analysis", prior.analysis},
          {"model", prior.model},
          {"outcome", prior.outcome},
          {"lower", prior.lower},
          {"upper", prior.upper},
          {"draws", prior.draws},
          {"seed", seed},
          {"parameters", parameters},
          {"expected", prior.expected},
          {"reference_rows", rows},
          {"outcomes",
           {{"quantiles", QuantilesJson(prior.outcomes)},
            {"below_share", prior.share_below},
            {"above_share", prior.share_above},
            {"event_share", prior.event_share ? Json(*prior.event_share) : Json()},
            {"extreme_share", prior.extreme_share ? Json(*prior.extreme_share) : Json()}}}};
}

int RunPrior(const OutputOptions& output, const PriorCommand& command) {
  const PriorPredictive prior =
      methods::mcmc::SimulatePriors(methods::LoadStudyFile(command.study), command.options);
  PrintResult(output, PriorText(prior), PriorData(prior, command.options.seed).dump());
  return kDone;
}

}  // namespace

void AddPriorCommand(CLI::App& study, Invocation& invocation) {
  auto options = std::make_shared<PriorCommand>();
  CLI::App* command = study.add_subcommand(
      "prior", "Show what the priors of a Bayesian study say about outcomes, without any data");
  AddOutputOptions(*command, invocation, "study prior");
  command->add_option("STUDY", options->study, "The study file, of method mcmc")->required();
  command->add_option("--draws", options->options.draws, "Draws from the priors")
      ->check(CLI::Range(100, 1000000))
      ->capture_default_str();
  command->add_option("--seed", options->options.seed, "The same seed gives the same numbers")
      ->capture_default_str();
  command->callback([&invocation, options] {
    invocation.run = [&invocation, options] { return RunPrior(invocation.output, *options); };
  });
}

}  // namespace partita::cli
