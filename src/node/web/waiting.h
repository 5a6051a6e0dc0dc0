// Long polls: answers that are given when something is new, or after a while as it is.
//
// One thread looks twice a second, and only while somebody waits: at each study, and at the node, once for
// all who wait for it. At most 200 wait, 16 of an account; one more is answered as it is at once.
#pragma once

#include <condition_variable>
#include <functional>
#include <list>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <thread>

#include "base/clock.h"
#include "net/https_server.h"
#include "node/web/answers.h"

namespace partita::node::web {

inline constexpr size_t kMostWaiting = 200;
inline constexpr size_t kMostWaitingPerAccount = 16;

struct Waiter {
  std::string study;  // empty: for anything at the node
  std::string known;  // tag; empty: nothing is known
  Deadline until = Deadline::After({});
  std::string account;
  std::function<bool()> is_allowed;  // whether the session is still there
  net::HttpReply reply;
};

class Waiting {
 public:
  // look: what is now of a study ("": the node), with "tag". May throw.
  explicit Waiting(std::function<WebJson(const std::string& study)> look);
  // As Stop.
  ~Waiting();
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

  void Add(Waiter waiter);
  // Whoever waits is not answered any more.
  void Stop();

 private:
  void Run();
  void Look();

  std::function<WebJson(const std::string&)> look_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::list<Waiter> waiters_;
  bool stopping_ = false;
  bool is_new_ = false;
  std::thread thread_;
};

}  // namespace partita::node::web
