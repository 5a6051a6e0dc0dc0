#include "crypto/state_stream.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "base/file_in_pieces.h"

namespace partita::crypto {
namespace {

// What every state of the kind begins with.
Bytes HeadOf(const StateKind& kind) {
  ByteWriter head;
  head.String(kind.magic);
  head.Raw(Digest{});
  return head.Take();
}

}  // namespace

bool StateExists(const std::filesystem::path& file) {
  std::error_code failed;
  const bool exists = std::filesystem::exists(file, failed);
  if (!failed) return exists;
  throw Error(ErrorCode::kStorage,
              fmt::format("cannot look for {}: {}", file.string(), failed.message()),
              "look at the disk, and at who may read the folder");
}

StateStream::StateStream(StateKind kind, const std::filesystem::path& file)
    : kind_(std::move(kind)), file_(file, std::ios::binary) {
  std::error_code failed;
  const bool ordinary = std::filesystem::is_regular_file(file, failed);
  // Of what is open: another run may put a newer file in its place.
  if (ordinary) file_.seekg(0, std::ios::end);
  const auto end = ordinary ? static_cast<std::streamoff>(file_.tellg()) : std::streamoff{-1};
  file_.seekg(0);
  if (end < 0 || !file_.good()) {
    throw Error(ErrorCode::kBadInput, fmt::format("cannot read {} {}", kind_.name, file.string()),
                "check the path and that you may read it");
  }
  const auto size = static_cast<uint64_t>(end);
  const Bytes expected = HeadOf(kind_);
  if (size < expected.size() + Digest{}.size()) throw DamagedState(kind_);
  Bytes head(expected.size());
  Fill(head);
  if (head != expected) throw DamagedState(kind_);
  left_ = size - head.size() - Digest{}.size();
}

void StateStream::Fill(std::span<uint8_t> out) {
  file_.read(reinterpret_cast<char*>(out.data()), static_cast<std::streamsize>(out.size()));
  if (static_cast<size_t>(file_.gcount()) != out.size()) throw DamagedState(kind_);
  hash_.Update(out);
}

void StateStream::Read(std::span<uint8_t> out) {
  if (out.size() > left_) throw DamagedState(kind_);
  Fill(out);
  left_ -= out.size();
}

uint64_t StateStream::U64() {
  std::array<uint8_t, 8> bytes{};
  Read(bytes);
  return ByteReader(bytes).U64();
}

void StateStream::ExpectEnd() {
  if (left_ != 0) throw DamagedState(kind_);
  const Digest digest = hash_.Finish();
  Digest written{};
  Fill(written);
  if (digest != written || file_.peek() != std::ifstream::traits_type::eof())
    throw DamagedState(kind_);
}

void WriteStateInPieces(const StateKind& kind, const std::filesystem::path& file,
                        const std::function<void(const StateContent& add)>& fill) {
  WriteInPiecesAtomically(file.string(), [&](const PieceWriter& write) {
    Sha256 hash;
    const auto add = [&](ByteView bytes) {
      hash.Update(bytes);
      write({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    };
    add(HeadOf(kind));
    fill(add);
    const Digest digest = hash.Finish();
    write({reinterpret_cast<const char*>(digest.data()), digest.size()});
  });
}

}  // namespace partita::crypto
