// partita: one statistical model on data that several institutions hold in pieces.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>

#include "base/version.h"
#include "cli/commands.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/units.h"

namespace partita::cli {
namespace {

// The library's own exit codes start at 100; help and version are 0, everything else is wrong
// usage.
int ReportParseError(const CLI::App& app, const CLI::ParseError& error,
                     const OutputOptions& output) {
  if (error.get_exit_code() == 0) {
    app.exit(error);
    return kDone;
  }
  return PrintError(output, Error(ErrorCode::kUsage, error.what(),
                                  "see partita --help, or partita COMMAND --help"));
}

int Main(int argc, char** argv) {
  PrepareProcess();
  CLI::App app(
      "Fits one statistical model to data that several institutions hold in pieces, without "
      "anybody pooling it.",
      "partita");
  app.set_version_flag("--version", std::string(kVersion));
  app.require_subcommand(1);
  app.footer("Start with: partita demo\nExit codes: docs/exit-codes.md");
  Invocation invocation;
  AddDemoCommand(app, invocation);
  AddInitCommand(app, invocation);
  AddStudyCommands(app, invocation);
  AddCorrelationCommands(app, invocation);
  AddCertCommands(app, invocation);
  AddDataCommands(app, invocation);
  AddPrivacyCommands(app, invocation);
  AddDoctorCommand(app, invocation);
  AddLedgerCommands(app, invocation);
  AddBenchCommand(app, invocation);
  AddAuditCommands(app, invocation);
  AddRegressionCommands(app, invocation);
  papers::AddReproduceCommand(app, invocation);
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
    if (!invocation.output.timeout.empty()) SetTimeLimit(ParseDuration(invocation.output.timeout));
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
  } catch (const std::exception& error) {
    return PrintError(invocation.output,
                      Error(ErrorCode::kInternal, error.what(), "please report this"));
  }
}

}  // namespace
}  // namespace partita::cli

int main(int argc, char** argv) { return partita::cli::Main(argc, argv); }
