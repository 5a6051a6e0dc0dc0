// partita node backup | restore | move-state | reopen
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/utc_time.h"
#include "cli/commands.h"
#include "cli/node/node_terminal.h"
#include "node/daemon/backup.h"
#include "node/daemon/node_state.h"
#include "node/daemon/service_users.h"

namespace partita::cli {
namespace {

namespace fs = std::filesystem;

int PrintDone(const OutputOptions& output, const std::string& text) {
  PrintResult(output, text, Json{{"message", text}}.dump());
  return kDone;
}

void AddBackupPassphrase(CLI::App* command, NodeOptions& options) {
  command
      ->add_option("--passphrase-fd", options.passphrase_fd,
                   "Read the passphrase of the backup from this descriptor instead of asking")
      ->check(CLI::Range(0, 1023));
}

Bytes FileOf(const fs::path& file, const char* what) {
  const std::string text = ReadFile(file, node::kMaxBackupBytes, what);
  return {text.begin(), text.end()};
}

// Of the node that serves, or of the folder of one that does not.
Bytes StateCopy(const NodeOptions& options, const node::NodeFolder& folder) {
  const fs::path copy = folder.state() / "backup.sqlite";
  if (fs::exists(folder.control())) {
    AskNode(options, {{"do", "backup"}});
  } else {
    fs::remove(copy);
    node::CopyState(folder, LoadNodeConfig(folder), copy);
  }
  Bytes bytes = FileOf(copy, "the copy of the node's state");
  fs::remove(copy);
  return bytes;
}

struct BackupOptions {
  NodeOptions node;
  std::string file;
  bool force = false;
};

int MakeNodeBackup(const OutputOptions& output, const BackupOptions& options) {
  if (fs::exists(options.file) && !options.force) {
    throw Error(ErrorCode::kUsage, fmt::format("there is a file {}", options.file),
                "choose another name, or replace it with --force");
  }
  const node::NodeFolder folder(options.node.at);
  const std::string passphrase = AskPassphrase(options.node, true, "the backup");
  const Bytes backup =
      node::MakeBackup(folder, StateCopy(options.node, folder), passphrase, NowUtc());
  WriteFileAtomically(options.file, {reinterpret_cast<const char*>(backup.data()), backup.size()});
  return PrintDone(
      output, fmt::format("{} has the node's keys, under the passphrase, its state, accounts and "
                          "ledger: keep it where only you can read it. Folders of studies and "
                          "the steward's folder are not in it",
                          options.file));
}

void AddBackup(CLI::App* node, Invocation& invocation) {
  auto options = std::make_shared<BackupOptions>();
  CLI::App* command = AddCommand(
      node, "backup", "node backup",
      "Write this node into one file: keys under a passphrase, state, accounts, ledger", invocation,
      [&invocation, options] { return MakeNodeBackup(invocation.output, *options); });
  command->add_option("FILE", options->file, "Where the backup is to be")->required();
  AddAt(command, options->node);
  command->add_flag("--force", options->force, "Replace a file that is there");
  AddBackupPassphrase(command, options->node);
}

struct RestoreOptions {
  NodeOptions node;
  std::string file, folder;
};

std::string LedgerText(const node::RestoreNews& news) {
  if (!news.has_ledger) return "";
  return fmt::format(
      "\nThe ledger is {}: what is left of the budgets of its {} accounts counts as spent, unless "
      "other sites were shown nothing newer and the steward signs that",
      news.ledger_restored ? "the copy of the backup" : "the one that was there", news.accounts);
}

// Of a node of services, in lines of their own: a new folder is given to its users. What was there may be another
// user's already, who could lead root elsewhere.
std::string GiveRestored(const node::NodeFolder& folder, bool is_new) {
  const node::NodeConfig config = LoadNodeConfig(folder);
  if (!config.services) return "";
  if (!is_new || ::geteuid() != 0 || !node::IsRootsPlace(folder.path())) {
    return "\nIts services have users of their own, and its parts are not given to them: restore "
           "it as "
           "root into a folder that is not there yet, below one that is root's, and move there "
           "what "
           "was left of `run` and the ledger";
  }
  node::GiveNodeFolder(folder, node::FindServiceUsers(*config.services));
  return "\nIts parts belong to the users of its services";
}

int RestoreNode(const OutputOptions& output, const RestoreOptions& options) {
  const Bytes backup = FileOf(options.file, "the backup of a node");
  const std::string passphrase = AskPassphrase(options.node, false, "the backup");
  crypto::SystemRandom random;
  const node::NodeFolder folder(options.folder);
  const bool is_new = !fs::exists(fs::symlink_status(options.folder));
  const node::RestoreNews news = node::RestoreBackup(backup, folder, passphrase, NowUtc(), random);
  return PrintDone(
      output,
      fmt::format(
          "node {} is in {} as it was at {}. When it serves, its open studies are withdrawn; "
          "policies from before approve nothing any more; its tables are closed until the "
          "steward opens them with 'partita node reopen'. When it serves, it asks the other sites "
          "what they were shown of its ledger{}{}",
          news.name, options.folder, FormatUtc(news.made_at), LedgerText(news),
          GiveRestored(folder, is_new)));
}

void AddRestore(CLI::App* node, Invocation& invocation) {
  auto options = std::make_shared<RestoreOptions>();
  CLI::App* command = AddCommand(
      node, "restore", "node restore",
      "Make a node from its backup: it ends its studies, and its tables stay closed until the "
      "steward opens them",
      invocation, [&invocation, options] { return RestoreNode(invocation.output, *options); });
  command->add_option("FILE", options->file, "The backup")->required();
  command->add_option("FOLDER", options->folder, "Where the node is to be; what is there stays")
      ->required();
  AddBackupPassphrase(command, options->node);
}

struct MoveStateOptions {
  std::string folder, to;
};

int MoveNodeState(const OutputOptions& output, const MoveStateOptions& options) {
  const node::NodeFolder folder(options.folder);
  const node::NodeConfig config = LoadNodeConfig(folder);
  crypto::SystemRandom random;
  if (options.to == "database") {
    MoveStateToDatabase(folder, config, random);
    return PrintDone(output, "the state of the node is in its database; start the node again");
  }
  MoveStateToFile(folder, config, random);
  return PrintDone(output,
                   "the state of the node is in its folder: take [state] out of node.toml, start "
                   "the node again, and remove what the database still has: DROP SCHEMA "
                   "partita_node CASCADE");
}

void AddMoveState(CLI::App* node, Invocation& invocation) {
  auto options = std::make_shared<MoveStateOptions>();
  CLI::App* command = AddCommand(
      node, "move-state", "node move-state",
      "Of a node that does not serve: move its state into the database that node.toml names, or "
      "back into its folder",
      invocation, [&invocation, options] { return MoveNodeState(invocation.output, *options); });
  command->add_option("FOLDER", options->folder, "The folder of the node")->required();
  command->add_option("--to", options->to, "Where the state is to be: database, or file")
      ->required()
      ->check(CLI::IsMember({"database", "file"}));
}

struct ReopenOptions {
  NodeOptions node;
  bool all_spent = false;
};

// The steward's word that all that is left counts as spent.
int GiveBudgetsUp(const OutputOptions& output, const NodeOptions& options, const Json& closed) {
  PrintNote(
      output,
      PlainLines(fmt::format(
          "The node was restored at {}. What was opened from its tables since the backup is not "
          "known: by your signature all that is left of the budgets of {} accounts counts as "
          "spent, for good.",
          closed.at("time").get<std::string>(), closed.at("accounts").get<size_t>())));
  SignerAccess signer(options);
  const Json word = signer.Sign({{"do", "reopen"}, {"mark", closed.at("mark")}});
  AskNode(options, {{"do", "reopen"},
                    {"certificate", word.at("certificate")},
                    {"signature", word.at("signature")}});
  return PrintDone(output,
                   "the tables are open; private studies need a new account (partita ledger open), "
                   "policies have to be signed again");
}

// The steward's word for what other sites answered.
int KeepBudgets(const OutputOptions& output, const NodeOptions& options, const Json& closed) {
  SignerAccess signer(options);
  // The backup has the list of parties of its time, and none for the jobs.
  signer.Ask({{"do", "publish"}});
  const Json list = AskNode(options, {{"do", "parties"}}).at("document");
  const Json newest = signer.Ask({{"do", "parties"}, {"list", list}}).at("document");
  if (newest != list) AskNode(options, {{"do", "take-list"}, {"document", newest}});
  Json found = AskNode(options, {{"do", "kept-budgets"}});
  found["do"] = "kept-budgets";
  found["mark"] = closed.at("mark");
  const Json shown = signer.Ask(found);
  std::string text = fmt::format("The node was restored at {}. By your signature:",
                                 closed.at("time").get<std::string>());
  for (const Json& line : shown.at("lines")) text += "\n- " + line.get<std::string>();
  PrintNote(output, PlainLines(text + "\nWhat counts as spent by it does so for good."));
  found["do"] = "keep";
  const Json word = signer.Sign(found);
  AskNode(options, {{"do", "keep"}, {"document", word.at("document")}});
  return PrintDone(output,
                   "the tables are open, with what is left of the budgets that are kept; policies "
                   "have to be signed again");
}

int Reopen(const OutputOptions& output, const ReopenOptions& options) {
  const Json closed = AskNode(options.node, {{"do", "restored"}});
  if (closed.at("mark").get<std::string>().empty())
    throw Error(ErrorCode::kUsage, "the tables of this node are not closed",
                "nothing is to be done");
  if (!closed.at("closed").get<bool>() && !options.all_spent) {
    throw Error(ErrorCode::kUsage, "the tables of this node are not closed",
                "to give up the budgets that the steward's word keeps: partita node reopen "
                "--all-spent");
  }
  if (options.all_spent || closed.at("accounts").get<size_t>() == 0)
    return GiveBudgetsUp(output, options.node, closed);
  return KeepBudgets(output, options.node, closed);
}

void AddReopen(CLI::App* node, Invocation& invocation) {
  auto options = std::make_shared<ReopenOptions>();
  CLI::App* command = AddCommand(
      node, "reopen", "node reopen",
      "Open the tables of a restored node: the steward signs which budgets are kept, by what other "
      "sites were shown of the ledger, or that all that is left of them counts as spent",
      invocation, [&invocation, options] { return Reopen(invocation.output, *options); });
  AddAt(command, options->node);
  AddStewardKey(command, options->node);
  command->add_flag("--all-spent", options->all_spent,
                    "Ask for no budget back: all that is left counts as spent, for good");
}

}  // namespace

void AddBackupCommands(CLI::App& node, Invocation& invocation) {
  AddBackup(&node, invocation);
  AddRestore(&node, invocation);
  AddMoveState(&node, invocation);
  AddReopen(&node, invocation);
}

}  // namespace partita::cli
