// partita node backup | restore | reopen
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/utc_time.h"
#include "cli/commands.h"
#include "cli/node/node_terminal.h"
#include "node/daemon/backup.h"
#include "node/daemon/service_users.h"
#include "node/store/sqlite_store.h"

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
    if (!fs::exists(folder.state() / "node.sqlite")) {
      throw Error(ErrorCode::kUsage,
                  fmt::format("there is no state of a node in {}", folder.path().string()),
                  "name the folder of a node, not its socket, with --at");
    }
    fs::remove(copy);
    crypto::SystemRandom random;
    node::SqliteStore(folder.state() / "node.sqlite", random).CopyTo(copy);
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
      "\nThe ledger is {}: what is left of the budgets of its {} accounts counts as spent from now "
      "on",
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
          "steward opens them with 'partita node reopen'{}{}",
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

int Reopen(const OutputOptions& output, const NodeOptions& options) {
  const Json closed = AskNode(options, {{"do", "restored"}});
  if (closed.at("mark").get<std::string>().empty())
    throw Error(ErrorCode::kUsage, "the tables of this node are not closed",
                "nothing is to be done");
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

void AddReopen(CLI::App* node, Invocation& invocation) {
  auto options = std::make_shared<NodeOptions>();
  CLI::App* command = AddCommand(
      node, "reopen", "node reopen",
      "Open the tables of a restored node: the steward signs that all that is left of their "
      "budgets "
      "counts as spent",
      invocation, [&invocation, options] { return Reopen(invocation.output, *options); });
  AddAt(command, *options);
  AddStewardKey(command, *options);
}

}  // namespace

void AddBackupCommands(CLI::App& node, Invocation& invocation) {
  AddBackup(&node, invocation);
  AddRestore(&node, invocation);
  AddReopen(&node, invocation);
}

}  // namespace partita::cli
