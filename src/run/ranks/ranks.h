// The processes of one party, of which rank 0 runs the study and the others compute stripes for it: how they
// are told apart and talk. Nothing of it ever goes to another party.
//
// Implementations: src/mpi (Open MPI), threads in tests.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/progress.h"

namespace partita::run {

// Not thread-safe. A rank that dies takes the others along, or shows in what follows as an Error.
class Ranks {
 public:
  virtual ~Ranks() = default;
  virtual size_t rank() const = 0;
  virtual size_t size() const = 0;
  // Messages between two ranks keep their order. Returns when the bytes are not needed any more.
  virtual void Send(size_t to, ByteView bytes) = 0;
  // The next message, if it has come. Never waits for one.
  virtual std::optional<Bytes> TryReceive(size_t from) = 0;
  // Of this rank's machine; equal texts, one machine.
  virtual std::string Host() const = 0;
};

// Asks `progress`, and lets a moment pass.
void PauseForMessages(Progress& progress);
// Waits for a message, asking `progress` meanwhile.
Bytes ReceiveFrom(Ranks& ranks, size_t from, Progress& progress);

}  // namespace partita::run
