// partita compute
#include <fmt/format.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/study/simulate.h"
#include "cli/sums/round_options.h"
#include "cli/terminal/json.h"
#include "cli/terminal/units.h"
#include "sums/file/collection_file.h"
#include "sums/service/compute_run.h"

namespace partita::cli {
namespace {

namespace fs = std::filesystem;

struct ComputeCommand {
  std::string collection, node, folder, clients, spool, listen, import, ledger, table, linger,
      log_every = "30s";
  size_t connections = 1000;
  bool freeze = false, status = false;
};

std::string Folder(const ComputeCommand& command) {
  return command.folder.empty() ? command.node : command.folder;
}

// Of a node that runs.
int AskRunningNode(const OutputOptions& output, const ComputeCommand& command,
                   const sums::CollectionFile& collection) {
  const crypto::Identity identity = IdentityIn(Folder(command), "", "");
  const uint16_t node = sums::NodeIndexByName(collection, command.node);
  CancellableProgress progress;
  if (command.freeze) sums::AskToFreeze(collection, node, identity, progress);
  const Json status = Json::parse(sums::AskStatus(collection, node, identity, progress));
  PrintResult(output, status.dump(2), status.dump());
  return kDone;
}

int RunCompute(const OutputOptions& output, const ComputeCommand& command) {
  const sums::CollectionFile collection = sums::LoadCollectionFile(command.collection);
  if (command.freeze || command.status) return AskRunningNode(output, command, collection);
  sums::ComputeOptions options;
  options.node = command.node;
  const fs::path folder = Folder(command);
  options.files = sums::FilesIn(folder);
  options.clients = command.clients.empty() ? folder / "clients.txt" : fs::path(command.clients);
  options.spool = command.spool.empty()
                      ? (folder / fmt::format("{}.uploads", collection.name)).string()
                      : command.spool;
  options.listen = command.listen;
  options.import = command.import;
  options.ledger = LedgerOf(command.ledger, command.table);
  if (!command.linger.empty()) options.linger = MillisecondsOf(command.linger);
  options.log_every = MillisecondsOf(command.log_every);
  options.connections = command.connections;
  CancellableProgress progress;
  const sums::ComputeOutcome outcome =
      sums::RunComputeNode(collection, options, LogTo(output), progress);
  const Json data = {{"node", outcome.node},
                     {"state", sums::StateName(outcome.state)},
                     {"clients", outcome.agreed},
                     {"status", Json::parse(outcome.status)}};
  PrintResult(
      output,
      fmt::format("{} published its part of the sum over {} clients", outcome.node, outcome.agreed),
      data.dump());
  return kDone;
}

struct WorkerCommand {
  std::string collection, node, folder, spool, name;
};

int RunWorker(const OutputOptions& output, const WorkerCommand& command) {
  const sums::CollectionFile collection = sums::LoadCollectionFile(command.collection);
  sums::ComputeWorkerOptions options;
  options.node = command.node;
  options.files = sums::FilesIn(command.folder.empty() ? command.node : command.folder);
  options.spool = command.spool;
  options.name = command.name.empty() ? fmt::format("process {}", getpid()) : command.name;
  CancellableProgress progress;
  const uint32_t chunks = sums::RunComputeWorker(collection, options, LogTo(output), progress);
  PrintResult(output, fmt::format("every chunk is summed, {} of them here", chunks),
              Json{{"node", command.node}, {"chunks", chunks}}.dump());
  return kDone;
}

}  // namespace

void AddComputeWorkerCommand(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<WorkerCommand>();
  CLI::App* command = app.add_subcommand(
      "compute-worker", "Help a compute node, whose uploads are in a database, to add them up");
  AddOutputOptions(*command, invocation, "compute-worker");
  command->add_option("COLLECTION", options->collection, "The collection file")->required();
  command->add_option("--as", options->node, "Which compute node this is of")->required();
  command->add_option("--folder", options->folder, "Where box.key is (default: the node's name)");
  command
      ->add_option("--spool", options->spool, "The node's database, postgres://USER@HOST/DATABASE")
      ->required();
  command->add_option("--name", options->name,
                      "What the database calls this process (default: its number)");
  command->callback([&invocation, options] {
    invocation.run = [&invocation, options] { return RunWorker(invocation.output, *options); };
  });
}

void AddComputeCommand(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<ComputeCommand>();
  CLI::App* command =
      app.add_subcommand("compute", "Run one compute node of a private sum on this host");
  AddOutputOptions(*command, invocation, "compute");
  command->add_option("COLLECTION", options->collection, "The collection file")->required();
  command->add_option("--as", options->node, "Which compute node this is")->required();
  command->add_option("--folder", options->folder,
                      "Where key.pem, cert.pem and box.key are (default: the node's name)");
  command->add_option("--clients", options->clients,
                      "Who is admitted (default: clients.txt in the folder)");
  command->add_option(
      "--spool", options->spool,
      "The store of uploads: a file (default: COLLECTION.uploads in the folder), or "
      "a database that several processes of this node share, "
      "postgres://USER@HOST/DATABASE");
  command->add_option(
      "--listen", options->listen,
      "HOST:PORT to listen on (default: its address in the collection; 0.0.0.0:PORT "
      "listens everywhere)");
  command->add_option("--import", options->import,
                      "Take these uploads first: each after its length, 4 bytes little-endian");
  command->add_option("--connections", options->connections, "At most so many connections at once")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  CLI::Option* ledger = command->add_option("--ledger", options->ledger,
                                            "Charge this ledger before the sum is published");
  command->add_option("--table", options->table, "The table in the ledger (default: its only one)")
      ->needs(ledger);
  command->add_option("--linger", options->linger,
                      "End so long after the publication (default: when stopped)");
  command->add_option("--log-every", options->log_every, "How often to log the counts")
      ->capture_default_str();
  CLI::Option* freeze = command->add_flag("--freeze", options->freeze,
                                          "Tell this node, which runs, to take no more uploads");
  command->add_flag("--status", options->status, "Show the counts of this node, which runs")
      ->excludes(freeze);
  command->callback([&invocation, options] {
    invocation.run = [&invocation, options] { return RunCompute(invocation.output, *options); };
  });
}

}  // namespace partita::cli
