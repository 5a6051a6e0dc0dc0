#include "crypto/state_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/files.h"
#include "crypto/state_stream.h"

namespace partita::crypto {
namespace {

constexpr uint64_t kMaxFileBytes = uint64_t{1} << 32;

}  // namespace

Error DamagedState(const StateKind& kind) {
  return {ErrorCode::kBadInput, kind.name + " is damaged", kind.remedy};
}

Bytes EncodeState(const StateKind& kind, const Digest& binding, ByteView content) {
  ByteWriter out;
  out.String(kind.magic);
  out.Raw(binding);
  out.Raw(content);
  const Digest digest = Sha256Of(out.bytes());
  out.Raw(digest);
  return out.Take();
}

void DecodeState(const StateKind& kind, ByteView bytes, const Digest& binding,
                 const std::function<void(ByteReader& content)>& read) {
  Digest digest{};
  if (bytes.size() < digest.size()) throw DamagedState(kind);
  const ByteView content = bytes.first(bytes.size() - digest.size());
  const ByteView written = bytes.last(digest.size());
  digest = Sha256Of(content);
  if (!std::equal(digest.begin(), digest.end(), written.begin())) throw DamagedState(kind);
  try {
    ByteReader in(content);
    if (in.String(kind.magic.size()) != kind.magic) throw DamagedState(kind);
    const ByteView bound_to = in.Raw(binding.size());
    if (!std::equal(binding.begin(), binding.end(), bound_to.begin())) {
      throw Error(ErrorCode::kRefused, kind.name + " belongs to another study, plan or table",
                  "resume the study that made it, with the same tables");
    }
    read(in);
    in.ExpectEnd();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kPeerFault) throw DamagedState(kind);  // as ByteReader says it
    throw;
  }
}

void WriteState(const std::filesystem::path& file, ByteView bytes) {
  WriteFileAtomically(file.string(), {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

std::optional<SecretBytes> ReadState(const StateKind& kind, const std::filesystem::path& file) {
  if (!StateExists(file)) return std::nullopt;
  return ReadSecretFile(file, kMaxFileBytes, kind.name);
}

void RequireOwnersOnly(const StateKind& kind, const std::filesystem::path& file) {
  using std::filesystem::perms;
  std::error_code none;
  const std::filesystem::file_status status = std::filesystem::status(file, none);
  const perms others = perms::group_all | perms::others_all;
  if (!std::filesystem::exists(status) || (status.permissions() & others) == perms::none) return;
  throw Error(ErrorCode::kBadInput,
              fmt::format("{}, {}, can be read by other users", kind.name, file.string()),
              "Run: chmod 600 " + file.string());
}

uint64_t CountFile::LoadOrMake() const {
  const Bytes head = EncodeState(kind_, binding_, {});
  const std::optional<SecretBytes> state = ReadState(kind_, file_);
  if (!state) {
    WriteState(file_, head);
    return 0;
  }
  const ByteView bytes = state->Expose();
  if (bytes.size() < head.size()) throw DamagedState(kind_);
  const uint64_t count = bytes.size() - head.size();
  try {
    DecodeState(kind_, bytes.first(head.size()), binding_, [](ByteReader&) {});
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kRefused || count > 0) throw;
    WriteState(file_, head);
  }
  return count;
}

void CountFile::Set(uint64_t count) const {
  Bytes bytes = EncodeState(kind_, binding_, {});
  const uint64_t target = bytes.size() + count, size = std::filesystem::file_size(file_);
  if (size < target) AppendDurably(file_.string(), std::string(target - size, '+'));
  if (size <= target) return;
  bytes.resize(target, '+');
  WriteState(file_, bytes);
}

}  // namespace partita::crypto
