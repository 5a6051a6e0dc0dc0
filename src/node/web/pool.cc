#include "node/web/pool.h"

#include <utility>

namespace partita::node::web {

Pool::Pool(unsigned threads, size_t waiting) : most_(waiting) {
  for (unsigned i = 0; i < threads; ++i) threads_.emplace_back([this] { Work(); });
}

Pool::~Pool() { Stop(); }

bool Pool::Do(std::function<void()> task) {
  const std::lock_guard lock(mutex_);
  if (stopping_ || tasks_.size() >= most_) return false;
  tasks_.push_back(std::move(task));
  changed_.notify_one();
  return true;
}

void Pool::Stop() {
  std::deque<std::function<void()>> dropped;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    dropped.swap(tasks_);
    changed_.notify_all();
  }
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void Pool::Work() {
  while (true) {
    std::function<void()> task;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
      if (stopping_) return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task();
  }
}

}  // namespace partita::node::web
