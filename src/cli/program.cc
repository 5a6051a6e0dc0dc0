#include "cli/program.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>

#include "base/out_of_memory.h"
#include "base/version.h"
#include "cli/commands.h"
#include "cli/study/simulate.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/new_file.h"
#include "cli/terminal/units.h"
#include "data/suggest.h"
#include "data/utf8.h"
#include "methods/prepare_study.h"
#include "run/ranks/serve.h"

namespace partita::cli {
namespace {

// The command that was named, as far as its words are known.
const CLI::App& CommandOf(const CLI::App& app) {
  const CLI::App* command = &app;
  while (!command->get_subcommands().empty()) command = command->get_subcommands().back();
  return *command;
}

std::string FullName(const CLI::App& command) {
  const CLI::App* parent = command.get_parent();
  return (parent == nullptr ? "" : FullName(*parent) + " ") + command.get_name();
}

// A word that stands where no command, option or argument of this name does.
Error UnknownError(const CLI::App& command, const std::string& word) {
  const auto commands = command.get_subcommands([](const CLI::App*) { return true; });
  std::vector<std::string> known;
  std::string what = "argument";
  if (word.starts_with('-')) {
    what = "option";
    for (const CLI::Option* option : command.get_options()) {
      if (option->get_group().empty()) continue;  // not for users
      for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
    }
  } else if (!commands.empty()) {
    what = "command";
    for (const CLI::App* subcommand : commands) known.push_back(subcommand->get_name());
  }
  const std::string nearest = data::Nearest(word.substr(0, word.find('=')), known);
  const std::string name = FullName(command);
  return Error(
      ErrorCode::kUsage, fmt::format("{} has no {} '{}'", name, what, word),
      fmt::format("{}see {} --help",
                  nearest.empty() ? "" : fmt::format("did you mean '{}'? ", nearest), name));
}

// The library's own exit codes start at 100; help and version are 0, everything else is wrong
// usage.
int ReportParseError(const CLI::App& app, const CLI::ParseError& error,
                     const OutputOptions& output) {
  const CLI::App& command = CommandOf(app);
  // Whatever else is wrong follows from it, and help for something else is no answer.
  if (const std::vector<std::string> unknown = command.remaining(); !unknown.empty())
    return PrintError(output, UnknownError(command, unknown.front()));
  if (error.get_exit_code() == 0) {
    app.exit(error);
    return kDone;
  }
  return PrintError(output, Error(ErrorCode::kUsage, error.what(),
                                  fmt::format("see {} --help", FullName(command))));
}

}  // namespace

int Program(int argc, char** argv, run::Ranks* ranks) {
  PrepareProcess();
  CLI::App app(
      "Fits one statistical model to data that several institutions hold in pieces, without "
      "anybody pooling it.",
      "partita");
  app.set_version_flag("--version", std::string(kVersion));
  app.require_subcommand(1);
  app.footer("Start with: partita demo\nExit codes: docs/exit-codes.md");
  Invocation invocation;
  invocation.ranks = ranks;
  AddDemoCommand(app, invocation);
  AddInitCommand(app, invocation);
  AddStudyCommands(app, invocation);
  AddCorrelationCommands(app, invocation);
  AddCertCommands(app, invocation);
  AddDataCommands(app, invocation);
  AddMatchCommands(app, invocation);
  AddPrivacyCommands(app, invocation);
  AddDoctorCommand(app, invocation);
  AddLedgerCommands(app, invocation);
  AddBenchCommand(app, invocation);
  AddAuditCommands(app, invocation);
  AddRegressionCommands(app, invocation);
  papers::AddReproduceCommand(app, invocation);
  AddNodeCommands(app, invocation);
  AddCollectionCommands(app, invocation);
  AddComputeCommand(app, invocation);
  AddComputeWorkerCommand(app, invocation);
  AddClientCommands(app, invocation);
  AddSemCommands(app, invocation);
  AddSyntheticCommands(app, invocation);
  AddGenerateCommand(app, invocation);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // --schema needs no other argument.
    if (!invocation.print_schema) return ReportParseError(app, error, invocation.output);
  }
  try {
    if (invocation.print_schema) {
      std::cout << invocation.schema();
      return kDone;
    }
    for (int i = 1; i < argc; ++i) {
      if (data::IsUtf8(argv[i])) continue;
      throw Error(ErrorCode::kUsage, fmt::format("argument {} is not UTF-8 text", i),
                  "rename the file, or type the word again");
    }
    if (!invocation.output.timeout.empty()) SetTimeLimit(ParseDuration(invocation.output.timeout));
    for (const CLI::Option* file : invocation.new_files) {
      if (file->count() > 0) RequireNewFile(file->as<std::string>(), invocation.output.force);
    }
    return invocation.run();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kCancelled && TimeLimitPassed()) {
      return PrintError(
          invocation.output,
          Error(ErrorCode::kTimeout, "the time limit of " + invocation.output.timeout + " passed",
                "give it more with --timeout, or look at what it was waiting for"));
    }
    return PrintError(invocation.output, error);
  } catch (const std::filesystem::filesystem_error& error) {
    return PrintError(invocation.output,
                      Error(ErrorCode::kUsage, error.what(), "check the path and its permissions"));
  } catch (const std::bad_alloc&) {
    return PrintError(invocation.output, OutOfMemory("go on"));
  } catch (const std::exception& error) {
    return PrintError(invocation.output,
                      Error(ErrorCode::kInternal, error.what(), "please report this"));
  }
}

void ServeRank(run::Ranks& ranks) {
  PrepareProcess();
  CancellableProgress progress;
  run::ServeOrders(
      ranks,
      [](const std::string& text, const std::string& name) {
        return methods::PrepareStudy(methods::ParseStudyFile(text, name));
      },
      progress);
}

}  // namespace partita::cli
