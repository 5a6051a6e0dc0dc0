// Whole files: read up to a size, and written so that they are there whole or not at all.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/secret.h"

namespace partita {

// All bytes of a file. `what` it is stands in messages, "the study file"; `hint` says what to do
// where it cannot be read. Throws kBadInput for that, and for more than `max_bytes`.
std::string ReadFile(const std::filesystem::path& path, uint64_t max_bytes, std::string_view what,
                     const std::string& hint = "check the path and that you may read it");
// The same of an ordinary file, with no copy in memory but what is returned.
SecretBytes ReadSecretFile(const std::filesystem::path& path, uint64_t max_bytes,
                           std::string_view what);

// Creates the file with `mode` (as far as the user's mask allows) and writes `content`, synced.
// Nothing is overwritten: throws kUsage if something has that name or the file cannot be made, and
// kStorage if there is no room; no half-written file stays. if_it_exists: what to do then.
void WriteNewFile(const std::filesystem::path& path, std::string_view content, mode_t mode,
                  std::string_view what,
                  const std::string& if_it_exists =
                      "choose another name, or move the existing file away: nothing is "
                      "overwritten");

// Writes `content` to a temporary file beside `path` (mode 0600: what is written here is its
// owner's), syncs it and renames it to `path`. On failure throws kStorage (the disk is full, or it
// failed) or kUsage naming the path and the system's reason, removes the temporary file and leaves
// whatever was at `path`.
void WriteFileAtomically(const std::string& path, std::string_view content);

// Adds to the end of a file that exists; durable on return. Errors as above; whether a part was
// added is then not known.
void AppendDurably(const std::string& path, std::string_view content);

// Room on a disk that nothing else takes: a file of so many bytes beside `path`, there from
// construction to destruction. Errors as above.
class RoomOnDisk {
 public:
  RoomOnDisk(const std::string& path, uint64_t bytes);
  RoomOnDisk(const RoomOnDisk&) = delete;
  RoomOnDisk& operator=(const RoomOnDisk&) = delete;
  ~RoomOnDisk();

 private:
  std::string name_;
  int descriptor_ = -1;
};

}  // namespace partita
