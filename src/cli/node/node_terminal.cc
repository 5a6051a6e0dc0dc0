#include "cli/node/node_terminal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/error.h"
#include "base/utc_time.h"
#include "cli/terminal/interrupt.h"
#include "crypto/passphrase_key.h"
#include "data/utf8.h"
#include "node/daemon/control_socket.h"
#include "node/daemon/node_folder.h"
#include "study/file/text.h"

namespace partita::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kAskPatience{90'000};

fs::path ControlPath(const std::string& at) {
  struct stat status {};
  const bool is_socket = ::stat(at.c_str(), &status) == 0 && S_ISSOCK(status.st_mode);
  return is_socket ? fs::path(at) : node::NodeFolder(at).control();
}

std::string LineFrom(int fd) {
  std::string line;
  char letter = 0;
  while (line.size() <= crypto::kMaxPassphrase) {
    const ssize_t got = ::read(fd, &letter, 1);
    if (got < 0 && errno == EINTR && !Interrupted()) continue;
    if (got != 1 || letter == '\n') break;
    line.push_back(letter);
  }
  return line;
}

// Typed and not shown.
std::string HiddenLine(const std::string& question) {
  const int terminal = ::open("/dev/tty", O_RDWR | O_CLOEXEC);
  termios shown{};
  if (terminal < 0 || ::tcgetattr(terminal, &shown) != 0) {
    if (terminal >= 0) ::close(terminal);
    throw Error(ErrorCode::kUsage, "there is no terminal at which to ask for the passphrase",
                "give it by a descriptor: --passphrase-fd 3 3<FILE");
  }
  termios hidden = shown;
  hidden.c_lflag &= ~static_cast<tcflag_t>(ECHO);
  ::tcsetattr(terminal, TCSAFLUSH, &hidden);
  std::cerr << question << std::flush;
  std::string line = LineFrom(terminal);
  ::tcsetattr(terminal, TCSAFLUSH, &shown);
  ::close(terminal);
  std::cerr << "\n";
  if (Interrupted()) throw Error(ErrorCode::kCancelled, "interrupted at the passphrase");
  return line;
}

// What an earlier command could not finish. Where the published files cannot be written from here, the steward
// can decide all the same.
void PublishLists(const node::SignerFolder& folder) {
  try {
    folder.Publish();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kUsage && error.code() != ErrorCode::kStorage) throw;
    std::cerr << "the node's jobs do not get the steward's lists: " << error.message() << "\n";
  }
}

}  // namespace

void AddAt(CLI::App* command, NodeOptions& options) {
  command->add_option("--at", options.at, "The folder of the node, or its control.sock")
      ->capture_default_str();
}

void AddStewardKey(CLI::App* command, NodeOptions& options, bool has_deputy) {
  command->add_option("--steward", options.steward, "The folder of the steward's key")
      ->capture_default_str();
  command->add_option("--sign", options.sign,
                      "Ask the signer that serves at this socket instead (partita node sign)");
  if (has_deputy) {
    command->add_option("--deputy", options.deputy,
                        "Sign as this deputy, with its passphrase, in the steward's place");
  }
  command
      ->add_option("--passphrase-fd", options.passphrase_fd,
                   "Read the passphrase from this descriptor instead of asking")
      ->check(CLI::Range(0, 1023));
}

Json AskNode(const NodeOptions& options, const Json& request) {
  return Json::parse(node::AskControl(ControlPath(options.at), request.dump(), kAskPatience));
}

std::string AskPassphrase(const NodeOptions& options, bool is_new, const std::string& of) {
  const bool is_typed = options.passphrase_fd < 0;
  std::string passphrase =
      is_typed ? HiddenLine((is_new ? "New passphrase of " : "Passphrase of ") + of + ": ")
               : LineFrom(options.passphrase_fd);
  node::RequirePassphraseText(passphrase);
  if (is_typed && is_new && HiddenLine("Again: ") != passphrase)
    throw Error(ErrorCode::kUsage, "the two passphrases differ", "try again");
  return passphrase;
}

SignerAccess::SignerAccess(const NodeOptions& options) : options_(options) {
  if (!options_.sign.empty()) return;
  const node::SignerFolder folder(options_.steward);
  folder.Config();  // a folder that is none is named before anything is asked
  PublishLists(folder);
  here_ = std::make_unique<node::Signer>(node::SignerParts{folder, node::ReadForSteward, NowUtc});
}

Json SignerAccess::Ask(const Json& request) {
  const std::string text = request.dump();
  return Json::parse(
      here_ ? here_->Answer(text)
            : node::AskControl(options_.sign, text, kAskPatience, node::SignerServer()));
}

Json SignerAccess::Sign(Json request) {
  if (!passphrase_) {
    passphrase_ = options_.deputy.empty()
                      ? AskPassphrase(options_, false)
                      : AskPassphrase(options_, false, "the deputy " + options_.deputy);
  }
  if (!options_.deputy.empty()) request["deputy"] = options_.deputy;
  request["passphrase"] = *passphrase_;
  return Ask(request);
}

std::vector<std::string> StudyReaderProgram() {
  return {fs::read_symlink("/proc/self/exe").string(), "node", "read-study"};
}

std::string AskLine(const std::string& question) {
  std::cerr << question << std::flush;
  std::string line;
  const bool is_typed = static_cast<bool>(std::getline(std::cin, line));
  if (Interrupted()) throw Error(ErrorCode::kCancelled, "interrupted");
  if (!is_typed)
    throw Error(ErrorCode::kUsage, "nothing was typed", "run the command at a terminal");
  return line;
}

std::string PlainLines(const std::string& text) {
  std::string plain;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    std::string line = text.substr(at, end - at);
    if (!data::IsUtf8(line) || study::HasControl(line)) {
      for (char& letter : line) letter = letter < ' ' || letter > '~' ? '?' : letter;
    }
    plain += line;
    if (end < text.size()) plain += '\n';
    at = end + 1;
  }
  return plain;
}

node::PartyList ListOf(const Json& parties) {
  return node::DecodePartyList(FromHex(parties.at("list").get<std::string>()));
}

Json ListDocument(const NodeOptions& options) {
  return AskNode(options, {{"do", "parties"}}).at("document");
}

void GiveList(const NodeOptions& options, const Json& signed_list) {
  AskNode(options, {{"do", "take-list"}, {"document", signed_list.at("document")}});
}

void WaitAMoment(const std::string& hint) {
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  if (Interrupted()) throw Error(ErrorCode::kCancelled, "interrupted", hint);
}

}  // namespace partita::cli
