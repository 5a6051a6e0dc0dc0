// States (state_file.h) that are larger than what should be in memory at a time: the same bytes on disk, read
// and written from the first to the last. They belong to nothing (binding {}).
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>

#include "base/bytes.h"
#include "crypto/hash.h"
#include "crypto/state_file.h"

namespace partita::crypto {

// Whether there is such a file. Throws kStorage where that cannot be found out.
bool StateExists(const std::filesystem::path& file);

// Nothing that was read is to be believed before ExpectEnd has returned.
class StateStream {
 public:
  // Throws kBadInput if the file cannot be read or does not begin as a state of this kind.
  StateStream(StateKind kind, const std::filesystem::path& file);

  // Bytes of the content that were not read yet.
  uint64_t left() const { return left_; }
  // The next bytes. Throws kBadInput if fewer are left.
  void Read(std::span<uint8_t> out);
  uint64_t U64();
  // Throws kBadInput if anything is left, or was read that is not as it was written.
  void ExpectEnd();

 private:
  void Fill(std::span<uint8_t> out);

  StateKind kind_;
  std::ifstream file_;
  uint64_t left_ = 0;
  Sha256 hash_;
};

using StateContent = std::function<void(ByteView bytes)>;
// Writes what `fill` hands over as the content; durable on return, and whatever was there stays if `fill` throws.
void WriteStateInPieces(const StateKind& kind, const std::filesystem::path& file,
                        const std::function<void(const StateContent& add)>& fill);

}  // namespace partita::crypto
