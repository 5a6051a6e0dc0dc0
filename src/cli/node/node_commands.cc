// partita node init | steward | serve | job | status | drain | stop | go-on
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <iostream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "cli/commands.h"
#include "cli/node/companions.h"
#include "cli/node/node_terminal.h"
#include "cli/terminal/interrupt.h"
#include "crypto/certificate.h"
#include "node/daemon/daemon.h"
#include "node/daemon/service_users.h"
#include "node/job/job.h"
#include "node/sign/signer_folder.h"
#include "run/ledger/open_ledger.h"

namespace partita::cli {
namespace {

namespace fs = std::filesystem;

int PrintMessage(const OutputOptions& output, const std::string& text) {
  PrintResult(output, text, Json{{"message", text}}.dump());
  return kDone;
}

void RequireNoSteward(const node::NodeConfig& config) {
  if (!fs::exists(config.stewards)) return;
  throw Error(ErrorCode::kUsage, config.name + " has a steward already",
              "a new one is for all other sites to compare again: move the file away first");
}

void MakeSteward(const NodeOptions& options, const std::string& passphrase,
                 node::SignerConfig signer = {}) {
  const node::NodeFolder folder(options.at);
  const node::NodeConfig config = LoadNodeConfig(folder);
  RequireNoSteward(config);
  signer.site = config.name;
  signer.ended = config.ended;
  signer.parties = config.parties;
  const crypto::Identity identity = node::SignerFolder::Make(
      options.steward, signer, *crypto::LoadCertificate(folder.certificate()),
      *crypto::LoadCertificate(folder.job_certificate()), passphrase);
  RegisterSteward(folder, *identity.certificate);
}

struct InitNodeOptions {
  std::string folder, name, address;
  NodeOptions steward;
  bool setup_code = false, services = false;
  std::string node_user = "partita-node", web_user = "partita-web", job_user = "partita-job",
              sign_user = "partita-sign";  // of services
  std::string socket = "/run/partita/sign.sock", job_socket = "/run/partita-job.sock";
};

std::string SetUpCodeText(const std::string& folder) {
  return "\nThe code for the first account of its pages is\n" +
         MakeSetUpCode(fs::path(folder) / "web").text;
}

// Of services of systemd: node, pages, jobs and signer are users of their own, and speak by sockets. All is written
// by root and given to them at the end.
std::string InitServices(const InitNodeOptions& options) {
  const node::ServiceNames names{options.node_user, options.web_user, options.job_user,
                                 fs::absolute(options.job_socket)};
  const node::ServiceUsers users = node::FindServiceUsers(names);
  const node::UnixUser sign = node::FindUnixUser(options.sign_user);
  const std::set<uid_t> all = {users.node.user, users.pages.user, users.jobs.user, sign.user};
  if (all.size() != 4 || all.contains(0)) {
    throw Error(ErrorCode::kUsage, "node, pages, jobs and signer are not four users beside root",
                "leave --services out for a node whose processes are all yours");
  }
  const fs::path steward = fs::absolute(options.steward.steward);
  const fs::path lists = steward.parent_path() / "lists";
  for (const fs::path& folder : {fs::path(options.folder), steward, lists})
    node::RequireOwnPlace(folder);
  const std::string passphrase = AskPassphrase(options.steward, true);
  InitNodeFolder(node::NodeFolder(options.folder), options.name, options.address,
                 {lists / "ended", lists / "parties", options.socket, names});
  fs::create_directory(lists);
  fs::permissions(lists, fs::perms(0755));
  node::SignerConfig signer;
  signer.socket = options.socket;
  signer.users = {users.node.user, users.pages.user};
  signer.only_policies = {users.node.user};
  MakeSteward(options.steward, passphrase, signer);
  std::string text = fmt::format(
      "node {} is in {}, its steward's signer in {}: look at node.toml, then start them:\n"
      "  systemctl enable --now partita-sign partita-job.socket partita-node partita-web\n"
      "As root say --at {} and, as its steward, --sign {}",
      options.name, options.folder, steward.string(), options.folder, options.socket);
  if (options.setup_code) text += SetUpCodeText(options.folder);
  node::GiveNodeFolder(node::NodeFolder(options.folder), users);
  node::GiveFolder(steward, sign);
  node::GiveFolder(lists, sign);
  return text;
}

std::string InitNode(const InitNodeOptions& options) {
  const bool has_steward = !options.steward.steward.empty();
  // Before anything is made: whoever stops at it has made nothing.
  const std::string passphrase = has_steward ? AskPassphrase(options.steward, true) : "";
  InitNodeFolder(node::NodeFolder(options.folder), options.name, options.address);
  if (has_steward) MakeSteward(options.steward, passphrase);
  const std::string text =
      fmt::format("node {} is in {}: look at node.toml, then {}", options.name, options.folder,
                  has_steward ? fmt::format("start it with 'partita node serve {} --web --sign {}'",
                                            options.folder, options.steward.steward)
                              : "make a steward's key with 'partita node steward'");
  return options.setup_code ? text + SetUpCodeText(options.folder) : text;
}

void AddNodeInit(CLI::App* node, Invocation& invocation) {
  auto options = std::make_shared<InitNodeOptions>();
  options->steward.steward.clear();
  CLI::App* command = AddCommand(
      node, "init", "node init", "Make the folder of this site's node: key, node.toml, state",
      invocation, [&invocation, options] {
        options->steward.at = options->folder;
        return PrintMessage(invocation.output,
                            options->services ? InitServices(*options) : InitNode(*options));
      });
  command->add_option("FOLDER", options->folder, "Where the node is to be")->required();
  command->add_option("--name", options->name, "The site's name, as in study files")->required();
  command->add_option("--address", options->address, "HOST:PORT by which other nodes reach it")
      ->required();
  CLI::Option* steward = command->add_option(
      "--steward", options->steward.steward,
      "Also make the steward's key, in this folder, which is the steward's own");
  command
      ->add_option("--passphrase-fd", options->steward.passphrase_fd,
                   "Read the passphrase from this descriptor instead of asking")
      ->check(CLI::Range(0, 1023));
  command->add_flag(
      "--setup-code", options->setup_code,
      "Also print a code for the first account of the pages: once, within an hour, on "
      "this machine");
  CLI::Option* services =
      command->add_flag("--services", options->services,
                        "As root: for the services of systemd, where node, pages, jobs and signer "
                        "are users of their own");
  services->needs(steward);
  const auto add = [&](const char* name, std::string& value, const char* help) {
    command->add_option(name, value, help)->needs(services)->capture_default_str();
  };
  add("--node-user", options->node_user, "Who runs the node");
  add("--web-user", options->web_user, "Who runs the pages");
  add("--job-user", options->job_user, "Who runs jobs");
  add("--sign-user", options->sign_user, "Who runs the steward's signer");
  add("--socket", options->socket, "Where the signer listens");
  add("--job-socket", options->job_socket, "Where a connection starts a job");
}

void AddSteward(CLI::App* node, Invocation& invocation) {
  auto options = std::make_shared<NodeOptions>();
  CLI::App* command = AddCommand(
      node, "steward", "node steward",
      "Make the steward's key under a passphrase, and give its certificate to the node", invocation,
      [&invocation, options] {
        RequireNoSteward(LoadNodeConfig(node::NodeFolder(options->at)));
        MakeSteward(*options, AskPassphrase(*options, true));
        return PrintMessage(invocation.output,
                            fmt::format("the steward's key is in {}: keep it there, the node never "
                                        "needs it",
                                        options->steward));
      });
  command->add_option("FOLDER", options->steward, "The steward's own folder")->required();
  AddAt(command, *options);
  command
      ->add_option("--passphrase-fd", options->passphrase_fd,
                   "Read the passphrase from this descriptor instead of asking")
      ->check(CLI::Range(0, 1023));
}

struct ServeNodeOptions {
  std::string folder = ".", listen, sign;
  bool web = false;
};

// What runs beside the node as long as it does.
void StartCompanions(const ServeNodeOptions& options, Companions& companions) {
  std::string socket;
  if (!options.sign.empty()) {
    socket = node::SignerFolder(options.sign).Config().socket.string();
    companions.Start("the signer", {"node", "sign", options.sign});
  }
  if (!options.web) return;
  std::vector<std::string> words = {"node", "web", options.folder};
  if (!options.listen.empty()) words.insert(words.end(), {"--listen", options.listen});
  if (!socket.empty()) words.insert(words.end(), {"--sign", socket});
  companions.Start("the server of the pages", std::move(words));
}

// Before studies come, not when the first one is private. Of services the node does not read it; its jobs say what is
// wrong, in `partita node tables` and the pages.
void RequireLedger(const node::NodeFolder& folder) {
  const node::NodeConfig config = LoadNodeConfig(folder);
  if (config.ledger.empty() || config.services) return;
  privacy::ledger::SqliteLedger book = run::OpenLedger(config.ledger);
  for (const node::CatalogueTable& table : config.tables) {
    const bool is_clear =
        table.account.empty() ? book.Tables().size() == 1 : book.HasAccount(table.account);
    if (is_clear) continue;
    throw Error(
        ErrorCode::kUsage,
        table.account.empty()
            ? fmt::format("the ledger {} does not say which of its accounts is that of the table "
                          "'{}'",
                          config.ledger.string(), table.name)
            : fmt::format("the ledger {} has no account '{}', which node.toml names for the table "
                          "'{}'",
                          config.ledger.string(), table.account, table.name),
        "write account = \"...\" under its [[table]] in node.toml; 'partita ledger show' lists "
        "them, 'partita ledger open' makes one");
  }
}

int Serve(const ServeNodeOptions& serve) {
  RequireLedger(node::NodeFolder(serve.folder));
  node::DaemonOptions options{node::NodeFolder(serve.folder), {}, {}};
  options.log = [mutex = std::make_shared<std::mutex>()](const std::string& line) {
    const std::lock_guard lock(*mutex);
    std::cerr << line << std::endl;
  };
  options.job_program = {fs::read_symlink("/proc/self/exe").string(), "node", "job", "--at",
                         fs::absolute(serve.folder).string()};
  if (!serve.sign.empty()) options.signer = node::SignerFolder(serve.sign).Config().socket;
  const node::Daemon daemon(options);
  Companions companions;
  StartCompanions(serve, companions);
  while (!Interrupted() && !daemon.failed()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    if (!Interrupted()) companions.RequireAll();
  }
  if (daemon.failed())
    throw Error(ErrorCode::kStorage, "the node cannot write its state", "start it again");
  return kDone;
}

void AddServe(CLI::App* node, Invocation& invocation) {
  auto options = std::make_shared<ServeNodeOptions>();
  CLI::App* command =
      AddCommand(node, "serve", "node serve",
                 "Serve until stopped: other nodes, studies, runs. Its log is JSON lines on "
                 "standard error",
                 invocation, [options] { return Serve(*options); });
  command->add_option("FOLDER", options->folder, "The folder of the node")->capture_default_str();
  CLI::Option* web = command->add_flag(
      "--web", options->web, "Also start the pages (partita node web), and end them with the node");
  command->add_option("--listen", options->listen, "HOST:PORT of the pages (127.0.0.1:7443)")
      ->needs(web);
  command->add_option("--sign", options->sign,
                      "Also start the steward's signer with this folder (partita node sign), for "
                      "the pages and for --sign of other commands");
}

int RunNodeJob(const std::string& at) {
  const node::NodeFolder folder(at);
  const node::NodeConfig config = LoadNodeConfig(folder);
  node::JobSettings settings;
  settings.self = config.name;
  settings.studies = folder.run();
  for (const node::CatalogueTable& table : config.tables)
    settings.catalogue[table.name] = {table.data, table.account, table.stewards_needed};
  settings.dictionaries = folder.dictionaries();
  settings.ledger = config.ledger;
  settings.ethics_required = config.ethics_required;
  settings.stewards = config.stewards;
  settings.parties = config.parties;
  settings.node_certificate = folder.certificate();
  settings.job_certificate = folder.job_certificate();
  settings.job_key = folder.job_key();
  settings.ended = config.ended;
  settings.restored = folder.restored();
  settings.reopened = folder.reopened();
  settings.kept = folder.kept();
  settings.address = config.address;
  settings.shown_to_node = config.services.has_value();
  if (config.services) {
    settings.orders_from = node::FindUnixUser(config.services->node).user;
    // What is not shown to the node on purpose is not.
    ::umask(0077);
  }
  return node::RunJob(settings, net::Socket(3), &Interrupted());
}

void AddJob(CLI::App* node, Invocation& invocation) {
  auto at = std::make_shared<std::string>(".");
  CLI::App* command =
      AddCommand(node, "job", "node job",
                 "One job of a node that serves, which starts it: its orders come by descriptor 3",
                 invocation, [at] { return RunNodeJob(*at); });
  command->add_option("--at", *at, "The folder of the node")->capture_default_str();
}

// Of the own tables, which the node itself does not look at.
std::string TablesOf(const NodeOptions& options) {
  std::string text;
  for (const node::CatalogueTable& table : LoadNodeConfig(node::NodeFolder(options.at)).tables) {
    text += (text.empty() ? "" : ", ") + table.name;
    if (!fs::exists(table.data)) text += fmt::format(" (there is no {})", table.data);
  }
  return text.empty() ? "none" : text;
}

std::string StateOf(const Json& status) {
  if (status.at("stopped").get<bool>()) return "stopped: nothing starts";
  const auto runs = status.at("runs").get<size_t>();
  if (!status.at("draining").get<bool>()) return fmt::format("serving, {} runs", runs);
  return fmt::format("draining: no run begins, {} go on", runs);
}

// What a restore from a backup left, in lines of their own; empty without one.
std::string RestoredText(const Json& status, const std::string& at) {
  const Json& restored = status.at("restored");
  if (restored.is_null()) return "";
  const auto time = restored.at("time").get<std::string>();
  if (time.empty()) {
    return "\nrestored     the mark of the restore cannot be read, so the tables are closed: "
           "restore the node again, into a new folder";
  }
  const auto kept = restored.at("kept").get<size_t>();
  const std::string spent = fmt::format(
      "what was left of {} accounts counts as spent{}; policies from before approve "
      "nothing",
      restored.at("accounts").get<size_t>(),
      kept == 0 ? "" : fmt::format(", the budgets of {} are kept", kept));
  if (!restored.at("closed").get<bool>()) return fmt::format("\nrestored     {}: {}", time, spent);
  return fmt::format(
      "\nrestored     {}: THE TABLES ARE CLOSED, and no study reads them until the steward signs "
      "what of their budgets is left\n"
      "             other sites are asked what they were shown of the ledger: {} of {} answered\n"
      "             partita node reopen --at {} --steward FOLDER",
      time, restored.at("answered").get<size_t>(), restored.at("asked").get<size_t>(), at);
}

// What one of two persons has signed, in lines of their own; empty: nothing.
std::string HalfSignedText(const Json& status) {
  std::string text;
  for (const Json& study : status.at("half_signed")) {
    const std::vector<std::string> by = study.at("signed");
    text += fmt::format("\nsigned       {} of {} of study {}: {}", by.size(),
                        study.at("needed").get<uint64_t>(),
                        study.at("study").get<std::string>().substr(0, 12), fmt::join(by, ", "));
  }
  return text;
}

void AddStatus(CLI::App* node, Invocation& invocation) {
  auto options = std::make_shared<NodeOptions>();
  CLI::App* command = AddCommand(
      node, "status", "node status", "Show how the node that serves here is", invocation,
      [&invocation, options] {
        const Json status = AskNode(*options, {{"do", "status"}});
        PrintResult(
            invocation.output,
            fmt::format(
                "node         {}\naddress      {}\nstate        {}\nstudies      {} open{}\n"
                "tables       {}{}\n"
                "parties      {}, and {} introductions to look at\ninvitations  {} open\n"
                "fingerprint  {}",
                status.at("name").get<std::string>(), status.at("address").get<std::string>(),
                StateOf(status), status.at("open_studies").get<int>(), HalfSignedText(status),
                TablesOf(*options), RestoredText(status, options->at),
                status.at("parties").get<int>(), status.at("waiting_introductions").get<int>(),
                status.at("open_invitations").get<int>(),
                status.at("fingerprint").get<std::string>()),
            status.dump());
        return kDone;
      });
  AddAt(command, *options);
}

// Until nothing runs here.
int Drain(const OutputOptions& output, const NodeOptions& options, bool ends) {
  AskNode(options, {{"do", "drain"}, {"on", !ends}});
  if (ends) return PrintMessage(output, "runs begin here again");
  size_t told = 0;
  while (true) {
    const auto runs = AskNode(options, {{"do", "status"}}).at("runs").get<size_t>();
    if (runs == 0) break;
    if (runs != told) PrintNote(output, fmt::format("{} runs go on", runs));
    told = runs;
    WaitAMoment(
        "the node goes on draining: partita node drain comes back to it, --end takes it back");
  }
  return PrintMessage(output,
                      "nothing runs here, and nothing begins: stop the node, and start it again "
                      "when the machine or the program is ready");
}

void AddDrain(CLI::App* node, Invocation& invocation) {
  auto options = std::make_shared<NodeOptions>();
  auto ends = std::make_shared<bool>(false);
  CLI::App* command = AddCommand(
      node, "drain", "node drain",
      "Before an upgrade or a restart: let runs end and begin none, and wait until "
      "nothing runs",
      invocation,
      [&invocation, options, ends] { return Drain(invocation.output, *options, *ends); });
  AddAt(command, *options);
  command->add_flag("--end", *ends, "Let runs begin again");
  command->footer(
      "Other nodes are told to come later; studies, approvals and messages go on. A start of the "
      "node\n"
      "ends it.");
}

void AddStopAndGoOn(CLI::App* node, Invocation& invocation) {
  auto options = std::make_shared<NodeOptions>();
  CLI::App* stop =
      AddCommand(node, "stop", "node stop", "Emergency stop: end what runs here, and start nothing",
                 invocation, [&invocation, options] {
                   AskNode(*options, {{"do", "stop"}});
                   return PrintMessage(invocation.output,
                                       "stopped: nothing starts until a steward says "
                                       "'partita node go-on'");
                 });
  AddAt(stop, *options);
  auto going = std::make_shared<NodeOptions>();
  CLI::App* go_on = AddCommand(
      node, "go-on", "node go-on", "End an emergency stop: the steward signs it", invocation,
      [&invocation, going] {
        SignerAccess signer(*going);
        const Json word = signer.Sign(
            {{"do", "go-on"}, {"text", AskNode(*going, {{"do", "go-on-text"}}).at("text")}});
        AskNode(*going, {{"do", "go-on"},
                         {"certificate", word.at("certificate")},
                         {"signature", word.at("signature")}});
        return PrintMessage(invocation.output, "the node goes on");
      });
  AddAt(go_on, *going);
  AddStewardKey(go_on, *going);
}

}  // namespace

void AddNodeCommands(CLI::App& app, Invocation& invocation) {
  CLI::App* node = app.add_subcommand(
      "node", "Run this site's node, and decide what it may do (docs/node-guide.md)");
  node->require_subcommand(1);
  AddNodeInit(node, invocation);
  AddSteward(node, invocation);
  AddServe(node, invocation);
  AddStatus(node, invocation);
  AddPairingCommands(*node, invocation);
  AddPolicyCommands(*node, invocation);
  AddDeputyCommands(*node, invocation);
  AddNodeStudyCommands(*node, invocation);
  AddNodeTablesCommand(*node, invocation);
  AddNodeDictionaryCommand(*node, invocation);
  AddNodeAuditCommand(*node, invocation);
  AddNodeRecordCommands(*node, invocation);
  AddNodeWebCommands(*node, invocation);
  AddDrain(node, invocation);
  AddStopAndGoOn(node, invocation);
  AddBackupCommands(*node, invocation);
  AddJob(node, invocation);
  AddNodeSignCommands(*node, invocation);
}

}  // namespace partita::cli
