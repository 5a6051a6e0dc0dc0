// Files that are there whole or not at all.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace partita {

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
