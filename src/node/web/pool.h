// A few threads that do what takes long, so that the server's threads never wait.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace partita::node::web {

class Pool {
 public:
  // At most `waiting` tasks wait beside those being done.
  Pool(unsigned threads, size_t waiting);
  // As Stop.
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // From any thread; false if too many wait, or it is stopped. A task must not throw.
  bool Do(std::function<void()> task);
  // Ends what is being done, drops what waits.
  void Stop();

 private:
  void Work();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  size_t most_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace partita::node::web
