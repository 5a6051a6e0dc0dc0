// The commands: each registers itself with the parser and leaves what to run in `run`.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

#include "cli/terminal/output.h"

namespace partita::run {
class Ranks;
}

namespace partita::cli {

// What the parsed command line asks for. `run` returns an exit code or throws Error.
struct Invocation {
  OutputOptions output;
  std::function<int()> run;
  bool print_schema = false;  // --schema: say what the JSON output looks like instead of running
  std::function<std::string()> schema;
  run::Ranks* ranks = nullptr;          // of a party with several processes (cli/program.h)
  std::vector<CLI::Option*> new_files;  // that name files to write (cli/terminal/new_file.h)
};

// --format, --schema, --quiet, --yes and --timeout, for every command. `name` finds its schema
// (cli/terminal/schemas.h).
void AddOutputOptions(CLI::App& command, Invocation& invocation, const std::string& name);

// --progress, for commands that run long and that programs start.
void AddProgressOption(CLI::App& command, Invocation& invocation);

// A subcommand with these options that does run(); its schema is called `schema`.
CLI::App* AddCommand(CLI::App* parent, const std::string& name, const std::string& schema,
                     const std::string& what, Invocation& invocation, std::function<int()> run);

void AddInitCommand(CLI::App& app, Invocation& invocation);
void AddStudyCommands(CLI::App& app, Invocation& invocation);
// approve, reject, approval: below `study`.
void AddApprovalCommands(CLI::App& study, Invocation& invocation);
// bundle, open: below `study`.
void AddBundleCommands(CLI::App& study, Invocation& invocation);
void AddAuditCommands(CLI::App& app, Invocation& invocation);
void AddCorrelationCommands(CLI::App& app, Invocation& invocation);
void AddCertCommands(CLI::App& app, Invocation& invocation);
void AddClientCommands(CLI::App& app, Invocation& invocation);
// collection ... and aggregate.
void AddCollectionCommands(CLI::App& app, Invocation& invocation);
void AddComputeCommand(CLI::App& app, Invocation& invocation);
void AddComputeWorkerCommand(CLI::App& app, Invocation& invocation);
void AddDemoCommand(CLI::App& app, Invocation& invocation);
void AddDataCommands(CLI::App& app, Invocation& invocation);
// freeze: below `data`.
void AddFreezeCommand(CLI::App& data, Invocation& invocation);
// edition, thaw: below `data`.
void AddEditionCommands(CLI::App& data, Invocation& invocation);
void AddMatchCommands(CLI::App& app, Invocation& invocation);
// plan, approve, run, show, past: below `match`.
void AddMatchRunCommands(CLI::App& match, Invocation& invocation);
void AddPrivacyCommands(CLI::App& app, Invocation& invocation);
// Reads the commands of `app` when it runs: all of them, whatever is added later.
void AddGenerateCommand(CLI::App& app, Invocation& invocation);
void AddDoctorCommand(CLI::App& app, Invocation& invocation);
void AddLedgerCommands(CLI::App& app, Invocation& invocation);
void AddBenchCommand(CLI::App& app, Invocation& invocation);
void AddRegressionCommands(CLI::App& app, Invocation& invocation);
void AddSemCommands(CLI::App& app, Invocation& invocation);
void AddSyntheticCommands(CLI::App& app, Invocation& invocation);
void AddNodeCommands(CLI::App& app, Invocation& invocation);
// invite, join, compare, parties, accept, revoke: below `node`.
void AddPairingCommands(CLI::App& node, Invocation& invocation);
void AddBackupCommands(CLI::App& node, Invocation& invocation);
void AddDeputyCommands(CLI::App& node, Invocation& invocation);
void AddPolicyCommands(CLI::App& node, Invocation& invocation);
// audit, tables: below `node`.
void AddNodeAuditCommand(CLI::App& node, Invocation& invocation);
void AddNodeRecordCommands(CLI::App& node, Invocation& invocation);
void AddNodeDictionaryCommand(CLI::App& node, Invocation& invocation);
void AddNodeTablesCommand(CLI::App& node, Invocation& invocation);
// sign, and the process that it reads studies in: below `node`.
void AddNodeSignCommands(CLI::App& node, Invocation& invocation);
// studies, approve, reject, withdraw: below `node`.
void AddNodeStudyCommands(CLI::App& node, Invocation& invocation);
// web, setup-code: below `node`.
void AddNodeWebCommands(CLI::App& node, Invocation& invocation);
// run, list, follow, withdraw: below `study`, at a node.
void AddStudyAtCommands(CLI::App& study, Invocation& invocation);
// Commands of `study`.
void AddNewCommand(CLI::App& study, Invocation& invocation);
void AddRehearseCommand(CLI::App& study, Invocation& invocation);
void AddPriorCommand(CLI::App& study, Invocation& invocation);
void AddRefitCommand(CLI::App& study, Invocation& invocation);

}  // namespace partita::cli

namespace partita::papers {

void AddReproduceCommand(CLI::App& app, cli::Invocation& invocation);

}  // namespace partita::papers
