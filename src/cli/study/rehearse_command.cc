// partita study rehearse: the study on made-up rows, beside the same in the clear.
#include <fmt/format.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "base/text_table.h"
#include "cli/commands.h"
#include "cli/terminal/command_progress.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/json.h"
#include "methods/prepare_study.h"
#include "report/progress.h"
#include "run/rehearse/rehearsal.h"

namespace partita::cli {
namespace {

using run::ExactNumber;
using run::MessagesPlanned;
using run::RandomNumbers;
using run::Rehearsal;

struct RehearseCommand {
  std::string study;
  run::RehearsalOptions options;
};

std::string DigitsText(double digits) {
  return digits >= run::kAllDigits ? "all" : fmt::format("{:.1f}", digits);
}

std::string CostsText(const run::CostTotals& totals) {
  return fmt::format("{} rounds, {} messages, {} bytes", FormatCount(totals.rounds),
                     FormatCount(totals.messages), FormatCount(totals.bytes));
}

std::string ExactTable(const std::vector<ExactNumber>& numbers) {
  TextTable table{
      {"analysis", "compared", "numbers", "run", "in the clear", "digits"}, {2, 3, 4, 5}, {}};
  for (const ExactNumber& number : numbers) {
    table.rows.push_back({number.analysis, number.name, FormatCount(number.count),
                          fmt::format("{:.6g}", number.run), fmt::format("{:.6g}", number.plain),
                          DigitsText(number.digits)});
  }
  return RenderTable(table, 0);
}

std::string RandomTable(const std::vector<RandomNumbers>& all) {
  TextTable table{{"analysis", "random by design", "numbers", "mean", "deviation", "largest", "p"},
                  {2, 3, 4, 5, 6},
                  {}};
  for (const RandomNumbers& numbers : all) {
    const auto unless_coins = [&](double value) {
      return numbers.deviation > 0 ? fmt::format("{:.3f}", value) : std::string();
    };
    table.rows.push_back({numbers.analysis, numbers.name, FormatCount(numbers.count),
                          fmt::format("{:.3f}", numbers.mean), unless_coins(numbers.deviation),
                          unless_coins(numbers.largest), fmt::format("{:.2g}", numbers.p_value)});
  }
  return RenderTable(table, 0);
}

std::string_view PlannedNote(const run::CostAgreement& costs) {
  if (!costs.agree) return "  (NOT as planned)";
  switch (costs.plan) {
    case MessagesPlanned::kExactly:
      return "";
    case MessagesPlanned::kAtMost:
      return "  (the plan says at most)";
    case MessagesPlanned::kNot:
      return "  (the plan does not say all)";
  }
  return "";
}

std::string RehearsalText(const Rehearsal& rehearsal, const run::RehearsalOptions& options) {
  std::string text =
      fmt::format("Rehearsal on {} made-up rows: no data of anybody, no approval, no charge\n",
                  FormatCount(rehearsal.rows));
  for (const std::string& sentence : rehearsal.shortened) text += "Shortened: " + sentence + "\n";
  if (!rehearsal.agreement.exact.empty()) text += "\n" + ExactTable(rehearsal.agreement.exact);
  if (!rehearsal.agreement.random.empty()) {
    text += fmt::format(
        "\n{}Random numbers less what the clear says, in their own standard deviations; mean 0 "
        "and deviation 1 are expected. p: of a departure as far.\n",
        RandomTable(rehearsal.agreement.random));
  }
  text += "\n";
  if (!rehearsal.agreement.exact.empty()) {
    text += fmt::format("Digits of agreement  lowest {}, asked for {}\n",
                        DigitsText(rehearsal.lowest_digits()), DigitsText(options.min_digits));
  }
  if (!rehearsal.agreement.random.empty()) {
    text += fmt::format(
        "Random numbers       p = {:.2g}, fails below {:g}: so seldom without a "
        "fault\n",
        rehearsal.p_value(), run::kFalseAlarm);
  }
  const run::CostAgreement& costs = rehearsal.costs;
  if (costs.plan != MessagesPlanned::kNot)
    text += fmt::format("Planned              {}\n", CostsText(costs.planned));
  text += fmt::format("Counted              {}{}\n", CostsText(costs.counted), PlannedNote(costs));
  text += fmt::format("Time                 {} the run on this machine, {} in the clear\n",
                      FormatSeconds(rehearsal.run_seconds), FormatSeconds(rehearsal.plain_seconds));
  if (!rehearsal.converged()) {
    text += fmt::format("NOT CONVERGED        {}\n", rehearsal.agreement.plain_converged ? "the run"
                                                     : rehearsal.agreement.run_converged
                                                         ? "in the clear"
                                                         : "the run, and in the clear");
  }
  return text + (rehearsal.passed(options.min_digits) ? "passed\n" : "FAILED\n");
}

Json CostJson(const run::CostTotals& totals) {
  return {{"rounds", totals.rounds}, {"messages", totals.messages}, {"bytes", totals.bytes}};
}

std::string_view PlanName(MessagesPlanned plan) {
  switch (plan) {
    case MessagesPlanned::kExactly:
      return "exactly";
    case MessagesPlanned::kAtMost:
      return "at-most";
    case MessagesPlanned::kNot:
      return "not";
  }
  return "";
}

Json RehearsalJson(const Rehearsal& rehearsal, const run::RehearsalOptions& options) {
  Json exact = Json::array(), random = Json::array();
  for (const ExactNumber& number : rehearsal.agreement.exact) {
    exact.push_back({{"analysis", number.analysis},
                     {"name", number.name},
                     {"count", number.count},
                     {"run", number.run},
                     {"plain", number.plain},
                     {"digits", number.digits}});
  }
  for (const RandomNumbers& numbers : rehearsal.agreement.random) {
    const bool normal = numbers.deviation > 0;
    random.push_back({{"analysis", numbers.analysis},
                      {"name", numbers.name},
                      {"count", numbers.count},
                      {"mean", numbers.mean},
                      {"deviation", normal ? Json(numbers.deviation) : Json()},
                      {"largest", normal ? Json(numbers.largest) : Json()},
                      {"p_value", numbers.p_value}});
  }
  return {{"passed", rehearsal.passed(options.min_digits)},
          {"made_up", true},
          {"rows", rehearsal.rows},
          {"seed", options.seed},
          {"shortened", rehearsal.shortened},
          {"exact", exact},
          {"lowest_digits", rehearsal.lowest_digits()},
          {"min_digits", options.min_digits},
          {"random", random},
          {"p_value", rehearsal.p_value()},
          {"false_alarm", run::kFalseAlarm},
          {"run_converged", rehearsal.agreement.run_converged},
          {"plain_converged", rehearsal.agreement.plain_converged},
          {"planned", CostJson(rehearsal.costs.planned)},
          {"counted", CostJson(rehearsal.costs.counted)},
          {"messages_planned", PlanName(rehearsal.costs.plan)},
          {"costs_agree", rehearsal.costs.agree},
          {"run_seconds", rehearsal.run_seconds},
          {"plain_seconds", rehearsal.plain_seconds}};
}

int RunRehearse(const OutputOptions& output, const RehearseCommand& command) {
  const std::unique_ptr<const run::Study> study =
      methods::PrepareStudy(methods::LoadStudyFile(command.study));
  report::TerminalProgress terminal(std::cerr, ProgressStyleOf(output), "", &Interrupted());
  CancellableProgress quiet;
  const Rehearsal rehearsal = run::Rehearse(
      *study, command.options, output.quiet ? static_cast<Progress&>(quiet) : terminal);
  terminal.Finish();
  const bool passed = rehearsal.passed(command.options.min_digits);
  PrintResult(output, RehearsalText(rehearsal, command.options),
              RehearsalJson(rehearsal, command.options).dump(), passed ? "done" : "problems");
  if (passed) return kDone;
  return rehearsal.converged() ? kFailed : kNotConverged;
}

}  // namespace

void AddRehearseCommand(CLI::App& study, Invocation& invocation) {
  auto options = std::make_shared<RehearseCommand>();
  CLI::App* command = study.add_subcommand(
      "rehearse", "Run a study on made-up rows, beside the same in the clear, and compare");
  AddOutputOptions(*command, invocation, "study rehearse");
  AddProgressOption(*command, invocation);
  command->add_option("STUDY", options->study, "The study file")->required();
  command
      ->add_option(
          "--rows", options->options.rows_per_block,
          "Made-up rows of every block for which the study declares no count (default: 200, "
          "and more where min_rows asks for them)")
      ->check(CLI::Range(1, 10'000'000));
  command->add_option("--seed", options->options.seed, "Of the made-up rows")
      ->capture_default_str();
  command
      ->add_option("--digits", options->options.min_digits,
                   "Digits to which every number that is not random must agree")
      ->check(CLI::Range(1.0, 16.0))
      ->capture_default_str();
  command
      ->add_option("--steps", options->options.max_steps,
                   "Most iterations of a mixture, or steps of a chain, that are rehearsed")
      ->check(CLI::Range(1, 100'000'000))
      ->capture_default_str();
  command->footer(
      "Needs no data: the tables are made from the study file (data mock). All parties run in "
      "this\n"
      "process; no approval is asked for and no ledger is touched. What is exact is compared to\n"
      "digits, what is random (noise, coins, imputed values) with its law. Exit code 1 if numbers\n"
      "do not agree or the traffic is not as planned, 8 if a fit did not converge.");
  command->callback([&invocation, options] {
    invocation.run = [&invocation, options] { return RunRehearse(invocation.output, *options); };
  });
}

}  // namespace partita::cli
