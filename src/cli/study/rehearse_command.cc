// partita study rehearse: the study on mock data, securely and in the clear.
#include <fmt/format.h>
#include <unistd.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "base/text_table.h"
#include "cli/commands.h"
#include "cli/study/simulate.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/json.h"
#include "methods/all.h"
#include "methods/prepare_study.h"
#include "report/progress.h"

namespace partita::cli {
namespace {

using methods::mle::RehearsedParameter;

struct RehearseCommand {
  std::string study;
  methods::mle::RehearsalOptions options;
};

std::string DigitsText(double digits) {
  return digits >= methods::mle::kAllDigits ? "all" : fmt::format("{:.1f}", digits);
}

std::string Costs(const methods::mle::CostTotals& totals) {
  return fmt::format("{} rounds, {} messages, {} bytes", FormatCount(totals.rounds),
                     FormatCount(totals.messages), FormatCount(totals.bytes));
}

std::string NameOf(const RehearsedParameter& parameter) {
  return fmt::format("{} {}{}{}", parameter.lhs, parameter.op, parameter.rhs.empty() ? "" : " ",
                     parameter.rhs);
}

std::string RehearsalText(const methods::mle::Rehearsal& rehearsal,
                          const methods::mle::RehearsalOptions& options) {
  TextTable table{{"analysis", "parameter", "group", "secure", "plain", "digits", "of its s.e."},
                  {2, 3, 4, 5, 6},
                  {}};
  for (const RehearsedParameter& parameter : rehearsal.parameters) {
    table.rows.push_back({parameter.analysis, NameOf(parameter), fmt::format("{}", parameter.group),
                          fmt::format("{:.6g}", parameter.secure),
                          fmt::format("{:.6g}", parameter.plain), DigitsText(parameter.digits),
                          DigitsText(parameter.standard_error_digits)});
  }
  std::string text = fmt::format("Rehearsal on {} mock rows\n\n{}\n", FormatCount(rehearsal.rows),
                                 RenderTable(table, 0));
  text += fmt::format("Digits of agreement  lowest {}, median {}, asked for {}\n",
                      DigitsText(rehearsal.lowest_digits), DigitsText(rehearsal.median_digits),
                      DigitsText(options.min_digits));
  text +=
      fmt::format("Planned              {}\nCounted              {}{}\n", Costs(rehearsal.planned),
                  Costs(rehearsal.counted), rehearsal.costs_agree ? "" : "  (NOT as planned)");
  text +=
      fmt::format("Time                 {} securely on this machine, {} in the clear\n",
                  FormatSeconds(rehearsal.secure_seconds), FormatSeconds(rehearsal.plain_seconds));
  if (!rehearsal.secure_converged || !rehearsal.plain_converged) {
    text += fmt::format("NOT CONVERGED        {}\n", rehearsal.plain_converged ? "securely"
                                                     : rehearsal.secure_converged
                                                         ? "in the clear"
                                                         : "securely and in the clear");
  }
  return text + (rehearsal.passed(options.min_digits) ? "passed\n" : "FAILED\n");
}

Json CostJson(const methods::mle::CostTotals& totals) {
  return {{"rounds", totals.rounds}, {"messages", totals.messages}, {"bytes", totals.bytes}};
}

Json RehearsalJson(const methods::mle::Rehearsal& rehearsal,
                   const methods::mle::RehearsalOptions& options) {
  Json parameters = Json::array();
  for (const RehearsedParameter& parameter : rehearsal.parameters) {
    parameters.push_back({{"analysis", parameter.analysis},
                          {"lhs", parameter.lhs},
                          {"op", parameter.op},
                          {"rhs", parameter.rhs},
                          {"group", parameter.group},
                          {"secure", parameter.secure},
                          {"plain", parameter.plain},
                          {"digits", parameter.digits},
                          {"standard_error_digits", parameter.standard_error_digits}});
  }
  return {{"passed", rehearsal.passed(options.min_digits)},
          {"rows", rehearsal.rows},
          {"seed", options.seed},
          {"parameters", parameters},
          {"lowest_digits", rehearsal.lowest_digits},
          {"median_digits", rehearsal.median_digits},
          {"min_digits", options.min_digits},
          {"secure_converged", rehearsal.secure_converged},
          {"plain_converged", rehearsal.plain_converged},
          {"planned", CostJson(rehearsal.planned)},
          {"counted", CostJson(rehearsal.counted)},
          {"costs_agree", rehearsal.costs_agree},
          {"secure_seconds", rehearsal.secure_seconds},
          {"plain_seconds", rehearsal.plain_seconds}};
}

int RunRehearse(const OutputOptions& output, const RehearseCommand& command) {
  const std::unique_ptr<const run::Study> study =
      methods::PrepareStudy(methods::LoadStudyFile(command.study));
  const methods::SelfChecks& checks = methods::RequireChecks(*study, "a rehearsal");
  report::TerminalProgress terminal(std::cerr, report::DetectProgressStyle(STDERR_FILENO), "",
                                    &Interrupted());
  CancellableProgress quiet;
  const methods::mle::Rehearsal rehearsal = checks.rehearse(
      *study, command.options, output.quiet ? static_cast<Progress&>(quiet) : terminal);
  terminal.Finish();
  const bool passed = rehearsal.passed(command.options.min_digits);
  PrintResult(output, RehearsalText(rehearsal, command.options),
              RehearsalJson(rehearsal, command.options).dump(), passed ? "done" : "problems");
  if (passed) return kDone;
  return rehearsal.secure_converged && rehearsal.plain_converged ? kFailed : kNotConverged;
}

}  // namespace

void AddRehearseCommand(CLI::App& study, Invocation& invocation) {
  auto options = std::make_shared<RehearseCommand>();
  CLI::App* command = study.add_subcommand(
      "rehearse", "Run a study on mock data, securely and in the clear, and compare");
  AddOutputOptions(*command, invocation, "study rehearse");
  command->add_option("STUDY", options->study, "The study file")->required();
  command
      ->add_option("--rows", options->options.rows_per_block,
                   "Mock rows of every block for which the study declares no count")
      ->check(CLI::Range(1, 10'000'000))
      ->capture_default_str();
  command->add_option("--seed", options->options.seed, "Of the mock data")->capture_default_str();
  command
      ->add_option("--digits", options->options.min_digits,
                   "Digits to which every estimate and standard error must agree")
      ->check(CLI::Range(1.0, 16.0))
      ->capture_default_str();
  command->footer(
      "Needs no data: the tables are made from the study file (data mock). All parties run in "
      "this\n"
      "process. Exit code 1 if a parameter agrees to fewer digits or the traffic is not as "
      "planned,\n"
      "8 if a fit did not converge.");
  command->callback([&invocation, options] {
    invocation.run = [&invocation, options] { return RunRehearse(invocation.output, *options); };
  });
}

}  // namespace partita::cli
