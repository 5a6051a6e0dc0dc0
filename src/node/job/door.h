// Where other jobs of the same study reach one that runs: a Unix socket `control` in its folder, which
// the folder's mode keeps to the same user.
//
// Who connects sends one byte: kDoorStop, and waits for the end of the connection, which comes when the run
// has ended and its last word is durable; or kDoorAttach, and gets reports (wire.h) from then on. The daemon that ordered
// the run has no need of it: it says `stop` over the connection of the order.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>

#include "node/job/folder.h"
#include "node/job/wire.h"

namespace partita::node {

inline constexpr uint8_t kDoorStop = 1, kDoorAttach = 2;

// At the run.
class RunDoor {
 public:
  // folder: locked. stop: set when somebody asks for it, here or by the daemon's channel; both are borrowed.
  RunDoor(const StudyFolder& folder, std::atomic<bool>& stop, const net::Socket& daemon);
  // Closes all connections.
  ~RunDoor();
  RunDoor(const RunDoor&) = delete;
  RunDoor& operator=(const RunDoor&) = delete;

  // To all that attached. JobUp is kept for those who come later.
  void Tell(const JobReport& report);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// A connection to whoever runs in the folder; invalid if nobody does.
net::Socket KnockAt(const StudyFolder& folder, uint8_t what);

// Ends whoever runs there, by the door and, if it does not end in time, by SIGKILL, and takes the lock.
// Throws kTimeout if another job keeps it.
void EndRunAndLock(StudyFolder& folder, std::chrono::milliseconds patience);
// Waits for a job that is about to end. False if one runs there, or none ends in time.
bool WaitForLock(StudyFolder& folder, std::chrono::milliseconds patience);

}  // namespace partita::node
