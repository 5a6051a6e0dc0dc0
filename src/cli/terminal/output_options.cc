#include "cli/commands.h"
#include "cli/terminal/schemas.h"

namespace partita::cli {

void AddOutputOptions(CLI::App& command, Invocation& invocation, const std::string& name) {
  command
      .add_option("--format", invocation.output.format,
                  "Form of the output; jsonl is JSON on one line")
      ->check(CLI::IsMember({"text", "json", "jsonl"}))
      ->capture_default_str();
  command.add_flag_callback(
      "--schema",
      [&invocation, name] {
        invocation.print_schema = true;
        invocation.schema = [name] { return OutputSchema(name); };
      },
      "Show the JSON Schema of the JSON output and stop");
  command.add_flag("--quiet", invocation.output.quiet, "No progress and no remarks");
  command.add_flag("--yes", invocation.output.yes,
                   "Answer yes to every question (accepted everywhere)");
  command.add_option("--timeout", invocation.output.timeout,
                     "Stop after this long, for example 5m");
}

void AddProgressOption(CLI::App& command, Invocation& invocation) {
  command
      .add_option("--progress", invocation.output.progress,
                  "Form of the progress on standard error; jsonl is for programs: an object with "
                  "phase, done, total and seconds on each line")
      ->check(CLI::IsMember({"text", "jsonl"}))
      ->capture_default_str();
}

CLI::App* AddCommand(CLI::App* parent, const std::string& name, const std::string& schema,
                     const std::string& what, Invocation& invocation, std::function<int()> run) {
  CLI::App* command = parent->add_subcommand(name, what);
  AddOutputOptions(*command, invocation, schema);
  command->callback([&invocation, run = std::move(run)] { invocation.run = run; });
  return command;
}

}  // namespace partita::cli
