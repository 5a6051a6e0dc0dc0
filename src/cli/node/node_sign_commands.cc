// partita node sign, and the process that it reads studies in
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <iostream>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/utc_time.h"
#include "cli/commands.h"
#include "cli/node/node_terminal.h"
#include "cli/terminal/interrupt.h"
#include "net/socket.h"
#include "node/daemon/control_socket.h"
#include "node/daemon/log.h"
#include "node/sign/signer.h"

namespace partita::cli {
namespace {

// One signer a folder: a second one would take the socket of the first.
net::Socket LockSigner(const node::SignerFolder& folder) {
  const std::string file = folder.File("serve.lock").string();
  net::Socket lock(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock.valid() || ::flock(lock.fd(), LOCK_EX | LOCK_NB) != 0) {
    throw Error(ErrorCode::kUsage,
                fmt::format("a signer serves in {} already", folder.path().string()),
                "Stop it first, or ask it: --sign SOCKET.");
  }
  return lock;
}

int ServeSigner(const std::string& path) {
  const node::SignerFolder folder(path);
  const node::SignerConfig config = folder.Config();
  const net::Socket lock = LockSigner(folder);
  const node::Log log([](const std::string& line) { std::cerr << line << std::endl; });
  // What an earlier process could not finish.
  folder.Publish();
  node::Signer signer(
      {folder, node::ReadInChild(StudyReaderProgram()), NowUtc, config.only_policies});
  const node::ControlSocket socket(
      config.socket,
      [&signer](const std::string& request, uid_t user) { return signer.Answer(request, user); },
      [&log](uid_t user) {
        log.Write("refused", {{"user", int64_t{user}}});
      },
      config.users);
  log.Write("serving", {{"site", config.site}});
  while (!Interrupted()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    signer.Forget();
  }
  return kDone;
}

}  // namespace

void AddNodeSignCommands(CLI::App& node, Invocation& invocation) {
  auto folder = std::make_shared<std::string>("steward");
  CLI::App* sign = AddCommand(
      &node, "sign", "node sign",
      "Serve as the steward's signer until stopped: shows studies and signs, with the passphrase, "
      "for the web pages and for --sign of other commands",
      invocation, [folder] { return ServeSigner(*folder); });
  sign->add_option("FOLDER", *folder, "The folder of the steward's key")->capture_default_str();
  AddCommand(
      &node, "read-study", "node read-study",
      "One study that a signer or the pages read, which start it: its bytes come on standard input",
      invocation, [] { return node::RunStudyReader(); });
}

}  // namespace partita::cli
