// What the commands of a node share: asking the node that serves, the steward's signer and passphrase.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/terminal/json.h"
#include "node/parties/party_list.h"
#include "node/sign/signer.h"

namespace partita::cli {

// Where the node is, and where its steward's key.
struct NodeOptions {
  std::string at = ".";  // the node's folder, or its socket
  std::string steward = "steward";
  std::string sign;  // the socket of a signer that serves; empty: the folder `steward` is used here
  std::string deputy;  // who signs, if it is not the steward
  int passphrase_fd = -1;
};

void AddAt(CLI::App* command, NodeOptions& options);
// --steward, --sign and --passphrase-fd, of commands that sign; --deputy of those that a deputy may try. The signer refuses
// it where only the steward signs.
void AddStewardKey(CLI::App* command, NodeOptions& options, bool has_deputy = true);

// The answer of the node that serves there (node/daemon/control.h).
Json AskNode(const NodeOptions& options, const Json& request);

// The passphrase from --passphrase-fd, or asked at the terminal without showing it; twice if it is new.
// Throws kUsage where there is neither, the two differ, or it is no UTF-8.
std::string AskPassphrase(const NodeOptions& options, bool is_new,
                          const std::string& of = "the steward");

// The steward's signer (node/sign/signer.h): the one that serves at --sign, or one in this process with the
// folder of the steward's key.
class SignerAccess {
 public:
  explicit SignerAccess(const NodeOptions& options);

  Json Ask(const Json& request);
  // With the passphrase, which is asked for once.
  Json Sign(Json request);

 private:
  NodeOptions options_;
  std::unique_ptr<node::Signer> here_;
  std::optional<std::string> passphrase_;
};

// This program, as the child in which studies are read (node/sign/study_reader.h).
std::vector<std::string> StudyReaderProgram();

// Studies at the node as daemon/control.h has them, with `name`. which: "open" or "all", of which the newest 100
// that are over.
std::vector<Json> StudiesAt(const NodeOptions& options, const std::string& which);
// A study at the node by its number, by some digits of it, or by the name in its file, open ones first; as
// daemon/control.h has it, with `name`. Throws kUsage if there is none, or several.
Json FindStudy(const NodeOptions& options, const std::string& wanted);

// A code for the first account of the pages whose accounts are kept there, and what to do with it.
struct SetUpCode {
  std::string code, until, text;
};
SetUpCode MakeSetUpCode(const std::filesystem::path& state);

// A line typed at the terminal or read from a pipe. Throws kUsage at its end.
std::string AskLine(const std::string& question);

// Lines that other processes wrote, for the terminal: what a terminal would obey, and what is no UTF-8, as '?'.
std::string PlainLines(const std::string& text);

// The list as the node shows it, to be looked at.
node::PartyList ListOf(const Json& parties);
// The list that the node has, for the signer: only bytes, which it verifies.
Json ListDocument(const NodeOptions& options);
// What the signer signed, to the node.
void GiveList(const NodeOptions& options, const Json& signed_list);

// Waits a moment. Throws kCancelled on Control-C.
void WaitAMoment(const std::string& hint);

}  // namespace partita::cli
