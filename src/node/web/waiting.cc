#include "node/web/waiting.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace partita::node::web {
namespace {

constexpr std::chrono::milliseconds kLookEvery{500};

struct Seen {
  std::string tag;  // empty: an error
  net::HttpResponse answer;
};

net::HttpResponse NotAllowed() {
  return Problem(401, "login-needed", "the session is over", "Log in again.");
}

}  // namespace

Waiting::Waiting(std::function<WebJson(const std::string& study)> look)
    : look_(std::move(look)), thread_([this] { Run(); }) {}

Waiting::~Waiting() { Stop(); }

void Waiting::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
  waiters_.clear();
}

void Waiting::Add(Waiter waiter) {
  const std::lock_guard lock(mutex_);
  const auto own = std::count_if(waiters_.begin(), waiters_.end(), [&](const Waiter& other) {
    return other.account == waiter.account;
  });
  if (waiters_.size() >= kMostWaiting || own >= static_cast<int64_t>(kMostWaitingPerAccount))
    waiter.until = Deadline::After({});
  waiters_.push_back(std::move(waiter));
  is_new_ = true;
  changed_.notify_all();
}

void Waiting::Run() {
  while (true) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return stopping_ || !waiters_.empty(); });
      // Whoever is new is looked at now.
      changed_.wait_for(lock, kLookEvery, [this] { return stopping_ || is_new_; });
      if (stopping_) return;
      is_new_ = false;
    }
    Look();
  }
}

void Waiting::Look() {
  std::map<std::string, Seen> seen;
  {
    const std::lock_guard lock(mutex_);
    for (const Waiter& waiter : waiters_) seen.emplace(waiter.study, Seen());
  }
  for (auto& [study, what] : seen) {
    try {
      const WebJson json = look_(study);
      what.tag = json.at("tag");
      what.answer = JsonAnswer(json);
    } catch (const Error& error) {
      what.answer = ProblemOf(error, true);
    } catch (const std::exception&) {
      // A node of another version, or no memory: whoever waits for this study is told, the others go on.
      what.answer = ProblemOf(Error(ErrorCode::kInternal, ""), true);
    }
  }
  std::list<Waiter> answered;
  {
    const std::lock_guard lock(mutex_);
    for (auto next = waiters_.begin(); next != waiters_.end();) {
      const auto waiter = next++;
      const auto found = seen.find(waiter->study);
      if (found == seen.end()) continue;  // came meanwhile
      const bool is_same = !found->second.tag.empty() && found->second.tag == waiter->known;
      if (is_same && !waiter->until.passed()) continue;
      answered.splice(answered.end(), waiters_, waiter);
    }
  }
  for (const Waiter& waiter : answered) {
    net::HttpResponse answer = waiter.is_allowed() ? seen.at(waiter.study).answer : NotAllowed();
    AddDefences(answer);
    waiter.reply(std::move(answer));
  }
}

}  // namespace partita::node::web
