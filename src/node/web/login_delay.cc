#include "node/web/login_delay.h"

#include <algorithm>

namespace partita::node::web {
namespace {

constexpr int kFreeTries = 2;
constexpr int64_t kForgetSeconds = 3600;
constexpr size_t kMostKept = 4096;

int64_t WaitAfter(int wrong) {
  if (wrong <= kFreeTries) return 0;
  return std::min(kLongestLoginWait, int64_t{1} << std::min(wrong - kFreeTries - 1, 5));
}

}  // namespace

int64_t LoginDelay::WaitOf(const Book& book, const std::string& key, int64_t now) {
  const auto found = book.find(key);
  if (found == book.end()) return 0;
  const int64_t wait = WaitAfter(found->second.wrong);
  // Never longer than the wait, whatever the clock did.
  return std::clamp(found->second.last + wait - now, int64_t{0}, wait);
}

void LoginDelay::Note(Book& book, const std::string& key, int64_t now) {
  if (book.size() >= kMostKept) {
    std::erase_if(book,
                  [&](const auto& entry) { return now >= entry.second.last + kForgetSeconds; });
  }
  if (book.size() >= kMostKept && !book.contains(key)) {
    book.erase(std::min_element(book.begin(), book.end(), [](const auto& a, const auto& b) {
      return a.second.last < b.second.last;
    }));
  }
  Tries& tries = book[key];
  if (now >= tries.last + kForgetSeconds) tries.wrong = 0;
  tries.wrong = std::min(tries.wrong + 1, 100);
  tries.last = now;
}

int64_t LoginDelay::Begin(const std::string& address, const std::string& account, int64_t now) {
  const std::lock_guard lock(mutex_);
  const int64_t wait = std::max(WaitOf(addresses_, address, now), WaitOf(accounts_, account, now));
  if (wait > 0) return wait;
  Note(addresses_, address, now);
  Note(accounts_, account, now);
  return 0;
}

void LoginDelay::Right(const std::string& address, const std::string& account) {
  const std::lock_guard lock(mutex_);
  // As if this attempt had not been: those before it still count for the address, which others share.
  const auto found = addresses_.find(address);
  if (found != addresses_.end() && --found->second.wrong == 0) addresses_.erase(found);
  accounts_.erase(account);
}

}  // namespace partita::node::web
