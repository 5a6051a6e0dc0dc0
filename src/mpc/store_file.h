// The file under a store of correlations (correlation_store.h).
#pragma once

#include <memory>
#include <string>

#include "base/bytes.h"

namespace partita::mpc {

// Bytes that survive the process. Tests inject one that crashes.
class StoreStorage {
 public:
  virtual ~StoreStorage() = default;
  virtual uint64_t Size() = 0;
  // Throws kInternal beyond the end.
  virtual void Read(uint64_t offset, std::span<uint8_t> out) = 0;
  // Extends the file if needed. Until Sync returns, a crash may keep any part of it.
  virtual void Write(uint64_t offset, ByteView bytes) = 0;
  virtual void Sync() = 0;
};

// A file of mode 0600 that is held locked as long as this lives. Created if `create`, and then it
// must not exist. Throws kUsage naming the file: it does not exist, exists already, is used by
// another process (or twice by this one), or cannot be read or written.
std::unique_ptr<StoreStorage> OpenStoreFile(const std::string& path, bool create);

}  // namespace partita::mpc
