// Group commit: uploads that came at about the same time share one durable transaction.
//
// A bounded queue before ComputeNode::Accept. A worker takes all that waits (up to a batch), has it
// judged and stored in one call, and only then answers each. Nothing is answered as accepted before
// it is durable; when the store fails, nobody of the batch is told that it was.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "sums/protocol/open_upload.h"

namespace partita::sums {

struct QueueLimits {
  size_t uploads = 4096;            // that wait
  size_t bytes = size_t{64} << 20;  // of them; one always fits
  size_t batch_uploads = 512;
  size_t batch_bytes = size_t{8} << 20;
  unsigned workers = 2;
};

class UploadQueue {
 public:
  using Judge = std::function<std::vector<Verdict>(std::span<const ByteView> uploads)>;
  // Called once, by a worker; nothing: the store failed, and it may help to try again.
  using Done = std::function<void(std::optional<Verdict>)>;

  // Judge is called by `workers` threads at once.
  UploadQueue(Judge judge, const QueueLimits& limits);
  // Judges what waits, and ends.
  ~UploadQueue();
  UploadQueue(const UploadQueue&) = delete;
  UploadQueue& operator=(const UploadQueue&) = delete;

  // False, without calling `done`, if there is no room.
  bool Offer(Bytes upload, Done done);

  struct Standing {
    size_t waiting = 0;
    uint64_t batches = 0;   // judged so far
    uint64_t failures = 0;  // batches that the store failed
    std::string failure;    // the last one's message
  };
  Standing Now() const;

 private:
  struct Entry {
    Bytes upload;
    Done done;
  };

  void Work();
  std::vector<Entry> NextBatch();
  void JudgeBatch(std::vector<Entry>& batch);

  Judge judge_;
  QueueLimits limits_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Entry> entries_;
  size_t bytes_ = 0;
  bool ending_ = false;
  Standing standing_;
  std::vector<std::thread> workers_;
};

}  // namespace partita::sums
