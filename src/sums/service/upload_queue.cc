#include "sums/service/upload_queue.h"

#include <exception>

namespace partita::sums {

UploadQueue::UploadQueue(Judge judge, const QueueLimits& limits)
    : judge_(std::move(judge)), limits_(limits) {
  for (unsigned i = 0; i < limits_.workers; ++i) workers_.emplace_back([this] { Work(); });
}

UploadQueue::~UploadQueue() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

bool UploadQueue::Offer(Bytes upload, Done done) {
  {
    const std::lock_guard lock(mutex_);
    if (ending_ || entries_.size() >= limits_.uploads ||
        (!entries_.empty() && bytes_ + upload.size() > limits_.bytes)) {
      return false;
    }
    bytes_ += upload.size();
    entries_.push_back({std::move(upload), std::move(done)});
  }
  changed_.notify_one();
  return true;
}

UploadQueue::Standing UploadQueue::Now() const {
  const std::lock_guard lock(mutex_);
  Standing standing = standing_;
  standing.waiting = entries_.size();
  return standing;
}

void UploadQueue::Work() {
  for (std::vector<Entry> batch = NextBatch(); !batch.empty(); batch = NextBatch()) {
    JudgeBatch(batch);
  }
}

std::vector<UploadQueue::Entry> UploadQueue::NextBatch() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return ending_ || !entries_.empty(); });
  std::vector<Entry> batch;
  size_t bytes = 0;
  while (!entries_.empty() && batch.size() < limits_.batch_uploads &&
         (batch.empty() || bytes + entries_.front().upload.size() <= limits_.batch_bytes)) {
    bytes += entries_.front().upload.size();
    batch.push_back(std::move(entries_.front()));
    entries_.pop_front();
  }
  bytes_ -= bytes;
  return batch;
}

void UploadQueue::JudgeBatch(std::vector<Entry>& batch) {
  std::vector<ByteView> uploads;
  uploads.reserve(batch.size());
  for (const Entry& entry : batch) uploads.emplace_back(entry.upload);
  std::vector<Verdict> verdicts;
  std::string failure;
  try {
    verdicts = judge_(uploads);
  } catch (const std::exception& error) {
    verdicts.clear();
    failure = error.what();
  }
  {
    const std::lock_guard lock(mutex_);
    ++standing_.batches;
    if (!failure.empty()) {
      ++standing_.failures;
      standing_.failure = failure;
    }
  }
  for (size_t i = 0; i < batch.size(); ++i) {
    batch[i].done(i < verdicts.size() ? std::optional(verdicts[i]) : std::nullopt);
  }
}

}  // namespace partita::sums
