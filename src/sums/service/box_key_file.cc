#include "sums/service/box_key_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/files.h"
#include "base/hex.h"
#include "crypto/kdf.h"
#include "net/socket.h"

namespace partita::sums {
namespace {

constexpr std::string_view kBoxTitle = "partita box key 1";
constexpr std::string_view kTokenTitle = "partita client token 1";
constexpr size_t kMaxBytes = 1024;

[[noreturn]] void Damaged(const std::string& file, std::string_view title) {
  throw Error(ErrorCode::kBadInput, fmt::format("{} is no file of the kind '{}'", file, title),
              "use the file that Partita wrote, unchanged");
}

// The line of `text` at its start, which is removed.
std::string_view NextLine(std::string_view& text) {
  const size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

// "NAME DIGITS", as many as fill `out`.
bool TakeHexLine(std::string_view& text, std::string_view name, std::span<uint8_t> out) {
  std::string_view line = NextLine(text);
  if (!line.starts_with(name)) return false;
  line.remove_prefix(name.size());
  return line.starts_with(' ') && FromHex(line.substr(1), out);
}

// Of a file that nobody else can read.
std::string ReadSecretFile(const std::filesystem::path& path) {
  const net::Socket file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status {};
  if (!file.valid() || ::fstat(file.fd(), &status) != 0) {
    throw Error(
        ErrorCode::kBadInput,
        fmt::format("cannot open the secret file {}: {}", path.string(), std::strerror(errno)),
        "check the path");
  }
  if ((status.st_mode & 077) != 0) {
    throw Error(ErrorCode::kBadInput,
                fmt::format("the secret file {} can be read by other users", path.string()),
                fmt::format("run: chmod 600 {}", path.string()));
  }
  std::string text(kMaxBytes, '\0');
  const ssize_t size = ::read(file.fd(), text.data(), text.size());
  text.resize(size < 0 ? 0 : static_cast<size_t>(size));
  return text;
}

}  // namespace

void SaveBoxKey(const crypto::BoxKeyPair& pair, const std::filesystem::path& file) {
  WriteNewFile(file, fmt::format("{}\nsecret {}\n", kBoxTitle, ToHex(pair.secret_key.Expose())),
               0600, "the key file");
}

crypto::BoxKeyPair ParseBoxKey(std::string_view text, const std::string& file) {
  crypto::Key secret;
  if (NextLine(text) != kBoxTitle || !TakeHexLine(text, "secret", secret.Expose()) ||
      !text.empty()) {
    Damaged(file, kBoxTitle);
  }
  return crypto::BoxKeyPairOf(secret);
}

crypto::BoxKeyPair LoadBoxKey(const std::filesystem::path& file) {
  return ParseBoxKey(ReadSecretFile(file), file.string());
}

void SaveToken(const ClientToken& token, const std::filesystem::path& file) {
  WriteNewFile(file,
               fmt::format("{}\nclient {}\nsecret {}\n", kTokenTitle, ToHex(token.client),
                           ToHex(token.secret.Expose())),
               0600, "the token");
}

ClientToken ParseToken(std::string_view text, const std::string& file) {
  ClientToken token;
  if (NextLine(text) != kTokenTitle || !TakeHexLine(text, "client", token.client) ||
      !TakeHexLine(text, "secret", token.secret.Expose()) || !text.empty()) {
    Damaged(file, kTokenTitle);
  }
  return token;
}

ClientToken LoadToken(const std::filesystem::path& file) {
  return ParseToken(ReadSecretFile(file), file.string());
}

std::string BearerOf(const ClientToken& token, const std::string& node) {
  return ToHex(crypto::DeriveKey(token.secret, "partita dca token", {AsBytes(node)}).Expose());
}

}  // namespace partita::sums
