#include "net/client_hello.h"

#include <algorithm>
#include <set>

namespace partita::net {
namespace {

constexpr uint8_t kHandshakeRecord = 22;
constexpr uint8_t kClientHelloMessage = 1;
constexpr uint16_t kLegacyVersion = 0x0303;
constexpr uint16_t kTls13 = 0x0304;
constexpr uint16_t kServerNameExtension = 0, kSupportedVersionsExtension = 43;
constexpr uint8_t kHostNameType = 0;
constexpr size_t kRandomBytes = 32, kMaxSessionIdBytes = 32, kMaxNameBytes = 255;

// Big-endian. Whatever goes beyond the end makes it bad for good, and gives zeros.
class HelloReader {
 public:
  explicit HelloReader(ByteView bytes) : rest_(bytes) {}

  ByteView Take(size_t size) {
    if (size > rest_.size()) {
      good_ = false;
      rest_ = {};
      return {};
    }
    const ByteView head = rest_.first(size);
    rest_ = rest_.subspan(size);
    return head;
  }
  size_t Number(size_t size) {
    size_t value = 0;
    for (const uint8_t byte : Take(size)) value = value << 8 | byte;
    return value;
  }
  // A vector of TLS: its length in `size` bytes, then that many.
  HelloReader Vector(size_t size) { return HelloReader(Take(Number(size))); }

  bool good() const { return good_; }
  size_t left() const { return rest_.size(); }
  bool ended() const { return good_ && rest_.empty(); }

 private:
  ByteView rest_;
  bool good_ = true;
};

bool IsNameByte(uint8_t c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.';
}

// One name, of a host.
std::optional<std::string> ServerName(HelloReader extension) {
  HelloReader list = extension.Vector(2);
  const bool is_host = list.Number(1) == kHostNameType;
  const ByteView name = list.Take(list.Number(2));
  if (!is_host || !list.ended() || !extension.ended()) return std::nullopt;
  if (name.empty() || name.size() > kMaxNameBytes) return std::nullopt;
  if (!std::all_of(name.begin(), name.end(), IsNameByte)) return std::nullopt;
  return std::string(name.begin(), name.end());
}

// Whether the client speaks TLS 1.3.
bool SpeaksTls13(HelloReader extension) {
  HelloReader versions = extension.Vector(1);
  bool found = false;
  while (versions.left() != 0) found |= versions.Number(2) == kTls13;
  return found && versions.good() && extension.ended();
}

}  // namespace

std::optional<size_t> HelloRecordBytes(ByteView header) {
  HelloReader reader(header);
  const size_t type = reader.Number(1), major = reader.Number(1), minor = reader.Number(1);
  const size_t record = kRecordHeaderBytes + reader.Number(2);
  if (!reader.ended() || type != kHandshakeRecord || major != 3) return std::nullopt;
  if (minor != 1 && minor != 3) return std::nullopt;
  if (record <= kRecordHeaderBytes || record > kMaxClientHelloBytes) return std::nullopt;
  return record;
}

std::optional<ClientHello> ParseClientHello(ByteView record) {
  if (record.size() < kRecordHeaderBytes ||
      HelloRecordBytes(record.first(kRecordHeaderBytes)) != record.size()) {
    return std::nullopt;
  }
  HelloReader message(record.subspan(kRecordHeaderBytes));
  if (message.Number(1) != kClientHelloMessage) return std::nullopt;
  HelloReader body = message.Vector(3);
  if (!message.ended()) return std::nullopt;

  if (body.Number(2) != kLegacyVersion) return std::nullopt;
  body.Take(kRandomBytes);
  if (body.Vector(1).left() > kMaxSessionIdBytes) return std::nullopt;
  const size_t suites = body.Vector(2).left();
  if (suites == 0 || suites % 2 != 0) return std::nullopt;
  HelloReader compressions = body.Vector(1);
  if (compressions.Number(1) != 0 || !compressions.ended()) return std::nullopt;

  ClientHello hello;
  bool speaks_tls13 = false;
  std::set<size_t> seen;
  HelloReader extensions = body.Vector(2);
  if (!body.ended()) return std::nullopt;
  while (extensions.left() != 0) {
    const size_t type = extensions.Number(2);
    const HelloReader extension = extensions.Vector(2);
    if (!extensions.good() || !seen.insert(type).second) return std::nullopt;
    if (type == kServerNameExtension) {
      std::optional<std::string> name = ServerName(extension);
      if (!name) return std::nullopt;
      hello.server_name = std::move(*name);
    } else if (type == kSupportedVersionsExtension) {
      speaks_tls13 = SpeaksTls13(extension);
    }
  }
  if (!speaks_tls13) return std::nullopt;
  return hello;
}

}  // namespace partita::net
