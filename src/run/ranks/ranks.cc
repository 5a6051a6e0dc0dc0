#include "run/ranks/ranks.h"

#include <chrono>
#include <thread>

namespace partita::run {
namespace {

// A rank waits for seconds or hours, so this costs nothing; waiting inside of Open MPI takes a whole core.
constexpr std::chrono::milliseconds kLookForMessages{2};

}  // namespace

void PauseForMessages(Progress& progress) {
  progress.CheckCancelled();
  std::this_thread::sleep_for(kLookForMessages);
}

Bytes ReceiveFrom(Ranks& ranks, size_t from, Progress& progress) {
  while (true) {
    if (std::optional<Bytes> message = ranks.TryReceive(from)) return *std::move(message);
    PauseForMessages(progress);
  }
}

}  // namespace partita::run
