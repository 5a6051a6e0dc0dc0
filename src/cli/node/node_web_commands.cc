// partita node web | setup-code
#include <fmt/format.h>

#include <filesystem>
#include <iostream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/files.h"
#include "base/utc_time.h"
#include "cli/commands.h"
#include "cli/node/node_terminal.h"
#include "cli/terminal/interrupt.h"
#include "crypto/random.h"
#include "net/roster.h"
#include "node/daemon/control_socket.h"
#include "node/daemon/node_folder.h"
#include "node/sign/study_reader.h"
#include "node/web/folder.h"
#include "node/web/server.h"

namespace partita::cli {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMaxPemBytes = 64 << 10;

struct WebCommandOptions {
  std::string node = ".", state, listen = "127.0.0.1:7443", sign, certificate, key;
  std::vector<std::string> hosts;
};

fs::path StateOf(const WebCommandOptions& options) {
  return options.state.empty() ? fs::path(options.node) / "web" : fs::path(options.state);
}

node::web::Ask AskAt(const fs::path& socket, const node::ControlServer& server = {}) {
  return [socket, server](const std::string& request, std::chrono::milliseconds timeout) {
    return node::AskControl(socket, request, timeout, server);
  };
}

int ServePages(const WebCommandOptions& options) {
  const node::web::WebFolder folder(StateOf(options));
  const bool is_given = !options.certificate.empty();
  if (is_given == options.key.empty()) {
    throw Error(ErrorCode::kUsage, "a certificate and its key are given together",
                "--certificate CHAIN.pem --key KEY.pem");
  }
  std::string fingerprint;
  if (!is_given) fingerprint = crypto::Fingerprint(*folder.OwnIdentity().certificate);
  const fs::path chain = is_given ? fs::path(options.certificate) : folder.certificate();
  const fs::path key = is_given ? fs::path(options.key) : folder.key();

  node::web::WebOptions web;
  const net::Address address = net::ParseAddress(options.listen);
  web.listener = net::Listen(address.host, address.port);
  web.tls = net::MakeBrowserContext(ReadFile(chain, kMaxPemBytes, "the certificate"),
                                    ReadFile(key, kMaxPemBytes, "the key of the certificate"));
  web.hosts = options.hosts;
  web.accounts = folder.accounts();
  web.node = AskAt(node::NodeFolder(options.node).control());
  if (!options.sign.empty()) web.signer = AskAt(options.sign, node::SignerServer());
  web.reader = node::ReadFileInChild(StudyReaderProgram());
  web.names_reader = node::ReadNamesInChild(StudyReaderProgram());
  web.pages = node::web::PageAssets();
  web.page_policy = node::web::PagePolicy();
  web.limits = node::web::WebLimits();
  web.clock = NowUtc;
  web.log = [mutex = std::make_shared<std::mutex>()](const std::string& line) {
    const std::lock_guard lock(*mutex);
    std::cerr << line << std::endl;
  };
  crypto::SystemRandom random;
  const node::Log log(web.log);
  const node::web::WebServer server(std::move(web), random);
  log.Write("pages", {{"address", "https://" + server.address() + "/"},
                      {"certificate", fingerprint.empty() ? "given" : fingerprint}});
  while (!Interrupted()) std::this_thread::sleep_for(std::chrono::milliseconds(100));
  return kDone;
}

void AddState(CLI::App* command, const std::shared_ptr<WebCommandOptions>& options) {
  command->add_option("FOLDER", options->node, "The folder of the node")->capture_default_str();
  command->add_option("--state", options->state,
                      "Where accounts and the certificate are kept (FOLDER/web)");
}

void AddWeb(CLI::App& node, Invocation& invocation) {
  auto options = std::make_shared<WebCommandOptions>();
  CLI::App* command = AddCommand(
      &node, "web", "node web",
      "Serve the pages and the API of a node to the site's own people, until stopped. Its log is "
      "JSON lines on standard error",
      invocation, [options] { return ServePages(*options); });
  AddState(command, options);
  command->add_option("--listen", options->listen, "HOST:PORT for browsers")->capture_default_str();
  command->add_option("--sign", options->sign,
                      "The socket of the site's signer (partita node sign); without it stewards "
                      "decide at the terminal");
  command->add_option("--host", options->hosts,
                      "A name that people type into their browsers, with a port if they do (again "
                      "for more)");
  command->add_option("--certificate", options->certificate,
                      "PEM: a certificate that browsers trust, then those of who issued it");
  command->add_option("--key", options->key, "PEM: its key");
}

void AddSetUpCode(CLI::App& node, Invocation& invocation) {
  auto options = std::make_shared<WebCommandOptions>();
  CLI::App* command = AddCommand(
      &node, "setup-code", "node setup-code",
      "Print a code for the first account of the pages: once, within an hour, on this machine",
      invocation, [&invocation, options] {
        LoadNodeConfig(node::NodeFolder(options->node));
        const SetUpCode made = MakeSetUpCode(StateOf(*options));
        PrintResult(invocation.output, made.text,
                    Json{{"code", made.code}, {"until", made.until}}.dump());
        return kDone;
      });
  AddState(command, options);
}

}  // namespace

SetUpCode MakeSetUpCode(const fs::path& state) {
  const node::web::WebFolder folder(state);
  crypto::SystemRandom random;
  node::web::AccountStore accounts(folder.accounts(), random);
  const int64_t now = NowUtc();
  SetUpCode made;
  made.code = accounts.MakeSetUpCode(now);
  made.until = FormatUtc(now + node::web::kSetUpCodeSeconds);
  made.text = fmt::format("{}\nType it into the page Set-up, until {}.", made.code, made.until);
  return made;
}

void AddNodeWebCommands(CLI::App& node, Invocation& invocation) {
  AddWeb(node, invocation);
  AddSetUpCode(node, invocation);
}

}  // namespace partita::cli
