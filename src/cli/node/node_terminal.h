// What the commands of a node share: asking the node that serves, the steward's key and passphrase.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "cli/terminal/json.h"
#include "crypto/certificate.h"
#include "node/parties/party_list.h"

namespace partita::cli {

// Where the node is, and where its steward's key.
struct NodeOptions {
  std::string at = ".";  // the node's folder, or its socket
  std::string steward = "steward";
  int passphrase_fd = -1;
};

void AddAt(CLI::App* command, NodeOptions& options);
// --steward and --passphrase-fd, of commands that sign.
void AddStewardKey(CLI::App* command, NodeOptions& options);

// The answer of the node that serves there (node/daemon/control.h).
Json AskNode(const NodeOptions& options, const Json& request);

// The passphrase from --passphrase-fd, or asked at the terminal without showing it; twice if it is new.
// Throws kUsage where there is neither, or the two differ.
std::string AskPassphrase(const NodeOptions& options, bool is_new);
crypto::Identity LoadStewardKey(const NodeOptions& options);

// A line typed at the terminal or read from a pipe. Throws kUsage at its end.
std::string AskLine(const std::string& question);

// The list as the node shows it, to be looked at.
node::PartyList ListOf(const Json& parties);
// The list that is to be changed: signed by this steward, and not older than the last one that the folder of
// the steward's key remembers (its file `parties.mark`). Throws kUntrusted.
node::PartyList SignedListOf(const NodeOptions& options, const Json& parties,
                             const crypto::Identity& steward);
// Back to the node, signed.
void GiveList(const NodeOptions& options, const node::PartyList& list,
              const crypto::Identity& steward);

// Waits a moment. Throws kCancelled on Control-C.
void WaitAMoment(const std::string& hint);

}  // namespace partita::cli
