#include "privacy/ledger/seen_heads.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/hex.h"

namespace partita::privacy::ledger {
namespace {

constexpr size_t kHexDigits = 64;  // of a pseudonym or a hash

std::string LineOf(const Head& head) {
  return fmt::format("{} {} {}", ToHex(head.pseudonym), head.sequence, ToHex(head.hash));
}

// None unless it is a line as LineOf writes it.
std::optional<Head> HeadFrom(std::string_view line) {
  Head head;
  if (line.size() < 2 * kHexDigits + 3 || !FromHex(line.substr(0, kHexDigits), head.pseudonym) ||
      !FromHex(line.substr(line.size() - kHexDigits), head.hash))
    return std::nullopt;
  const std::string_view number = line.substr(kHexDigits + 1, line.size() - 2 * kHexDigits - 2);
  std::from_chars(number.data(), number.data() + number.size(), head.sequence);
  if (LineOf(head) != line) return std::nullopt;
  return head;
}

}  // namespace

std::filesystem::path SeenHeads::PathOf(const std::filesystem::path& ledger) {
  return ledger.string() + ".seen";
}

std::vector<Head> SeenHeads::Read() const {
  if (!std::filesystem::exists(file_)) return {};
  std::ifstream in(file_, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (!in.is_open() || in.bad()) {
    throw Error(ErrorCode::kUsage, fmt::format("cannot read {}", file_.string()),
                "let whoever uses the ledger read and write that file as well");
  }
  std::vector<Head> heads;
  std::string_view rest = text;
  for (size_t end = 0; (end = rest.find('\n')) != std::string_view::npos;
       rest.remove_prefix(end + 1)) {
    if (const std::optional<Head> head = HeadFrom(rest.substr(0, end))) heads.push_back(*head);
  }
  return heads;
}

void SeenHeads::Append(const std::vector<Head>& heads) const noexcept {
  try {
    std::string lines;
    // Each after a line break of its own: a line that was torn spoils no other.
    for (const Head& head : heads) lines += "\n" + LineOf(head) + "\n";
    const int descriptor =
        ::open(file_.c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (descriptor < 0) return;
    // One call, so that lines of several processes do not mix.
    [[maybe_unused]] const ssize_t written = ::write(descriptor, lines.data(), lines.size());
    ::close(descriptor);
  } catch (const std::exception&) {
    // The next write says more.
  }
}

}  // namespace partita::privacy::ledger
