// partita correlations prepare | list | show | discard
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/text_table.h"
#include "cli/commands.h"
#include "cli/study/correlation_files.h"
#include "cli/study/party_files.h"
#include "cli/study/simulate.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/json.h"
#include "cli/terminal/units.h"
#include "methods/prepare_study.h"
#include "report/progress.h"
#include "run/party/join.h"

namespace partita::cli {
namespace {

namespace fs = std::filesystem;

// --- prepare

struct PrepareCommand {
  std::string study_file, party, store, listen, wait = "10m", latency, bandwidth;
  PartyFiles files;
  uint64_t count = 1;
  int listen_descriptor = -1;
};

std::string PreparedText(const run::Study& study, const run::PrepareOutcome& outcome,
                         const std::string& store) {
  const size_t count = outcome.numbers.size();
  if (store.empty()) {
    return fmt::format("{}: dealt correlations of study '{}'; the dealer has no part in the run.",
                       outcome.party, study.file.name);
  }
  return fmt::format(
      "{}: correlations for {} run{} of study '{}' are in {}, {} each; {} run{} prepared in all.",
      outcome.party, count, count == 1 ? "" : "s", study.file.name, store,
      FormatBytes(outcome.package_bytes), outcome.left, outcome.left == 1 ? " is" : "s are");
}

Json PreparedJson(const run::Study& study, const run::PrepareOutcome& outcome,
                  const std::string& store) {
  uint64_t sent = 0, received = 0, rounds = 0;
  for (const net::PhaseTraffic& phase : outcome.traffic) {
    rounds += phase.rounds;
    for (const net::LinkTraffic& link : phase.links) {
      sent += link.bytes_sent;
      received += link.bytes_received;
    }
  }
  return {{"study", study.file.name},
          {"party", outcome.party},
          {"file", store.empty() ? Json() : Json(store)},
          {"packages", outcome.numbers},
          {"package_bytes", outcome.package_bytes},
          {"unspent", outcome.left},
          {"generation", outcome.generation},
          {"run_id", outcome.run_id},
          {"rounds", rounds},
          {"bytes_sent", sent},
          {"bytes_received", received},
          {"seconds", outcome.seconds}};
}

int RunPrepare(const OutputOptions& output, const PrepareCommand& command) {
  const std::unique_ptr<const run::Study> owner =
      methods::PrepareStudy(methods::LoadStudyFile(command.study_file));
  const run::Study& study = *owner;
  run::PrepareOptions options;
  options.party = command.party;
  options.roster = command.files.Roster();
  options.count = command.count;
  const bool dealer = study.parties[run::PartyByName(study, command.party)].dealer;
  if (!dealer) options.store = StorePath(command.store, command.files.folder, study.file.name);
  options.network.key = command.files.Key();
  options.network.certificate = command.files.Certificate();
  options.network.connect_timeout =
      std::chrono::duration_cast<std::chrono::milliseconds>(ParseDuration(command.wait));
  options.network.listen_address = command.listen;
  if (command.listen_descriptor >= 0) {
    options.network.listen_descriptor = command.listen_descriptor;
    // A party of a simulation does not outlive it.
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  }
  if (!command.latency.empty()) options.network.link.latency = ParseDuration(command.latency);
  if (!command.bandwidth.empty())
    options.network.link.bytes_per_second = ParseBandwidth(command.bandwidth);

  report::TerminalProgress terminal(std::cerr, report::DetectProgressStyle(STDERR_FILENO),
                                    command.party, &Interrupted());
  CancellableProgress quiet;
  const run::PrepareOutcome outcome =
      run::Prepare(study, options, output.quiet ? static_cast<Progress&>(quiet) : terminal);
  terminal.Finish();
  const std::string store = options.store.string();
  PrintResult(output, PreparedText(study, outcome, store),
              PreparedJson(study, outcome, store).dump());
  if (!dealer) {
    PrintNote(output,
              "keep this file out of backups; a lost one costs only the time to make it "
              "again");
  }
  return kDone;
}

void AddPrepare(CLI::App* parent, Invocation& invocation) {
  auto options = std::make_shared<PrepareCommand>();
  CLI::App* command = AddCommand(
      parent, "prepare", "correlations prepare",
      "Make and store what later runs of a study use up, with all its parties", invocation,
      [&invocation, options] { return RunPrepare(invocation.output, *options); });
  command->add_option("STUDY", options->study_file, "The study file")->required();
  command->add_option("--party,--as", options->party, "Which party of the study this is")
      ->required();
  command->add_option("--count", options->count, "For how many runs; the same at all parties")
      ->capture_default_str();
  AddPartyFolder(command, options->files, "Where key.pem, cert.pem and roster.toml are");
  command->add_option("--store", options->store,
                      "The file to keep them in (default: STUDY.correlations in the folder)");
  AddPartyIdentity(command, options->files);
  command->add_option("--listen", options->listen,
                      "HOST:PORT to listen on (default: this party's address in the roster)");
  command->add_option("--wait", options->wait, "How long to wait for the others to come up")
      ->capture_default_str();
  // What `study simulate` passes to its processes.
  command->add_option("--listen-descriptor", options->listen_descriptor)->group("");
  command->add_option("--latency", options->latency)->group("");
  command->add_option("--bandwidth", options->bandwidth)->group("");
}

// --- list, show, discard

Json StoreJson(const std::string& file, const mpc::CorrelationStore& store) {
  Json packages = Json::array();
  for (const mpc::PackageFacts& package : store.Packages()) {
    packages.push_back(
        {{"number", package.number}, {"bytes", package.size}, {"demand", ToHex(package.label)}});
  }
  return {{"file", file},
          {"study", store.identity().study},
          {"study_file_hash", ToHex(store.identity().study_hash)},
          {"generation", ToHex(store.identity().generation)},
          {"parties", store.identity().fingerprints.size()},
          {"spent_below", store.mark()},
          {"unspent", store.Packages().size()},
          {"packages", packages}};
}

int RunList(const OutputOptions& output, const std::string& folder) {
  std::vector<std::string> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == kStoreExtension) files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  TextTable table{{"file", "study", "unspent", "spent below"}, {2, 3}, {}};
  Json stores = Json::array(), unreadable = Json::array();
  for (const std::string& file : files) {
    try {
      const mpc::CorrelationStore store = OpenAnyStore(file);
      table.rows.push_back({file, store.identity().study, FormatCount(store.Packages().size()),
                            FormatCount(store.mark())});
      stores.push_back(StoreJson(file, store));
    } catch (const Error& error) {
      table.rows.push_back({file, error.message(), "", ""});
      unreadable.push_back({{"file", file}, {"message", error.message()}});
    }
  }
  PrintResult(
      output,
      files.empty() ? fmt::format("no stored correlations in {}", folder) : RenderTable(table, 0),
      Json{{"stores", stores}, {"unreadable", unreadable}}.dump());
  return kDone;
}

void AddList(CLI::App* parent, Invocation& invocation) {
  auto folder = std::make_shared<std::string>(".");
  CLI::App* command =
      AddCommand(parent, "list", "correlations list", "List the stores of correlations in a folder",
                 invocation, [&invocation, folder] { return RunList(invocation.output, *folder); });
  command->add_option("FOLDER", *folder, "Where they are")->capture_default_str();
}

std::string StoreText(const std::string& file, const mpc::CorrelationStore& store) {
  std::string text = fmt::format(
      "Stored correlations {}\n  study        {}\n  study file   {}\n  generation   {}\n"
      "  spent        all below {}\n\n",
      file, store.identity().study, ToHex(store.identity().study_hash),
      ToHex(store.identity().generation), store.mark());
  if (store.Packages().empty()) return text + "No package is left: partita correlations prepare\n";
  TextTable table{{"package", "size", "demand"}, {0, 1}, {}};
  for (const mpc::PackageFacts& package : store.Packages()) {
    table.rows.push_back({FormatCount(package.number), FormatBytes(package.size),
                          ToHex(package.label).substr(0, 16)});
  }
  return text + "Unspent, each for one run\n" + RenderTable(table, 2);
}

void AddShowStore(CLI::App* parent, Invocation& invocation) {
  auto file = std::make_shared<std::string>();
  CLI::App* command = AddCommand(parent, "show", "correlations show",
                                 "Show what a store of correlations is for and what is left in it",
                                 invocation, [&invocation, file] {
                                   const mpc::CorrelationStore store = OpenAnyStore(*file);
                                   PrintResult(invocation.output, StoreText(*file, store),
                                               StoreJson(*file, store).dump());
                                   return kDone;
                                 });
  command->add_option("FILE", *file, "The store")->required();
}

int RunDiscard(const OutputOptions& output, const std::string& file, bool remove) {
  size_t discarded = 0;
  {
    mpc::CorrelationStore store = OpenAnyStore(file);
    discarded = store.Packages().size();
    // Overwritten first, also when the file goes.
    store.Spend(store.NextNumber());
    // While it is locked.
    if (remove) fs::remove(file);
  }
  PrintResult(output,
              fmt::format("{}: {} unspent package{} discarded{}", file, discarded,
                          discarded == 1 ? "" : "s", remove ? ", file removed" : ""),
              Json{{"file", file}, {"discarded", discarded}, {"removed", remove}}.dump());
  return kDone;
}

void AddDiscard(CLI::App* parent, Invocation& invocation) {
  struct Options {
    std::string file;
    bool remove = false;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command =
      AddCommand(parent, "discard", "correlations discard",
                 "Spend and overwrite all packages of a store without using them", invocation,
                 [&invocation, options] {
                   return RunDiscard(invocation.output, options->file, options->remove);
                 });
  command->add_option("FILE", options->file, "The store")->required();
  command->add_flag("--remove", options->remove,
                    "Also remove the file, to begin anew; the other parties do the same");
}

}  // namespace

void AddCorrelationCommands(CLI::App& app, Invocation& invocation) {
  CLI::App* correlations = app.add_subcommand(
      "correlations", "Prepare, before a study's day, what its run uses up; list, show, discard");
  correlations->require_subcommand(1);
  AddPrepare(correlations, invocation);
  AddList(correlations, invocation);
  AddShowStore(correlations, invocation);
  AddDiscard(correlations, invocation);
}

}  // namespace partita::cli
