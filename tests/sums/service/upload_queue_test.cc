// Group commit: batches, bounds, and that nobody is told of what is not stored.
#include "sums/service/upload_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <stdexcept>

namespace partita::sums::upload_queue_test {
namespace {

// A judge that can be held up, and that notes its batches.
class Judged {
 public:
  UploadQueue::Judge Judge() {
    return [this](std::span<const ByteView> uploads) {
      std::unique_lock lock(mutex_);
      ++calls_;
      changed_.notify_all();
      changed_.wait(lock, [&] { return open_; });
      if (fail_) throw std::runtime_error("disk full");
      batches_.push_back(uploads.size());
      return std::vector<Verdict>(uploads.size(), Verdict::kAccepted);
    };
  }
  void Open(bool open) {
    const std::lock_guard lock(mutex_);
    open_ = open;
    changed_.notify_all();
  }
  void Fail(bool fail) {
    const std::lock_guard lock(mutex_);
    fail_ = fail;
  }
  void WaitForCalls(size_t calls) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return calls_ >= calls; });
  }
  std::vector<size_t> batches() {
    const std::lock_guard lock(mutex_);
    return batches_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = true, fail_ = false;
  size_t calls_ = 0;
  std::vector<size_t> batches_;
};

QueueLimits Limits() {
  QueueLimits limits;
  limits.uploads = 10;
  limits.bytes = 1000;
  limits.batch_uploads = 4;
  limits.batch_bytes = 300;
  limits.workers = 1;
  return limits;
}

// Answers, counted.
struct Answers {
  std::atomic<int> good{0}, failed{0};
  UploadQueue::Done Done() {
    return [this](std::optional<Verdict> verdict) { ++(verdict ? good : failed); };
  }
};

TEST(UploadQueueTest, UploadsThatWaitShareBatches) {
  Judged judged;
  Answers answers;
  judged.Open(false);
  {
    UploadQueue queue(judged.Judge(), Limits());
    EXPECT_TRUE(queue.Offer(Bytes(10), answers.Done()));
    judged.WaitForCalls(1);  // the first is on its way, alone
    for (int i = 0; i < 9; ++i) EXPECT_TRUE(queue.Offer(Bytes(10), answers.Done()));
    EXPECT_EQ(queue.Now().waiting, 9U);
    EXPECT_EQ(answers.good, 0);
    judged.Open(true);
  }
  EXPECT_EQ(judged.batches(), (std::vector<size_t>{1, 4, 4, 1}));
  EXPECT_EQ(answers.good, 10);
}

TEST(UploadQueueTest, FullIsFullByNumberAndByBytes) {
  Judged judged;
  Answers answers;
  judged.Open(false);
  {
    UploadQueue queue(judged.Judge(), Limits());
    EXPECT_TRUE(queue.Offer(Bytes(1), answers.Done()));
    judged.WaitForCalls(1);
    for (int i = 0; i < 10; ++i) EXPECT_TRUE(queue.Offer(Bytes(1), answers.Done()));
    EXPECT_FALSE(queue.Offer(Bytes(1), answers.Done()));
    judged.Open(true);
    judged.WaitForCalls(4);  // 1 + 4 + 4 + 2
  }
  EXPECT_EQ(answers.good, 11);
  judged.Open(false);
  {
    UploadQueue queue(judged.Judge(), Limits());
    EXPECT_TRUE(queue.Offer(Bytes(5000), answers.Done()));  // one always fits
    judged.WaitForCalls(5);
    EXPECT_TRUE(queue.Offer(Bytes(600), answers.Done()));
    EXPECT_FALSE(queue.Offer(Bytes(401), answers.Done()));
    EXPECT_TRUE(queue.Offer(Bytes(400), answers.Done()));
    judged.Open(true);
  }
  EXPECT_EQ(answers.good, 14);
  EXPECT_EQ(answers.failed, 0);
}

TEST(UploadQueueTest, AStoreThatFailsIsNotAnAcknowledgement) {
  Judged judged;
  Answers answers;
  judged.Fail(true);
  {
    UploadQueue queue(judged.Judge(), Limits());
    EXPECT_TRUE(queue.Offer(Bytes(10), answers.Done()));
    judged.WaitForCalls(1);
    while (queue.Now().failures == 0) std::this_thread::yield();
    EXPECT_EQ(queue.Now().failure, "disk full");
    judged.Fail(false);
    EXPECT_TRUE(queue.Offer(Bytes(10), answers.Done()));
  }
  EXPECT_EQ(answers.failed, 1);
  EXPECT_EQ(answers.good, 1);
}

// Every offer that was taken is answered exactly once, whatever the threads do.
TEST(UploadQueueTest, ManyThreads) {
  Judged judged;
  Answers answers;
  std::atomic<int> taken{0};
  {
    QueueLimits limits;
    limits.workers = 3;
    limits.uploads = 50;
    UploadQueue queue(judged.Judge(), limits);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 2000; ++i) taken += queue.Offer(Bytes(8), answers.Done()) ? 1 : 0;
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  EXPECT_EQ(answers.good, taken);
  size_t judged_uploads = 0;
  for (const size_t batch : judged.batches()) judged_uploads += batch;
  EXPECT_EQ(judged_uploads, static_cast<size_t>(taken));
}

}  // namespace
}  // namespace partita::sums::upload_queue_test
