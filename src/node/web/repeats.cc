#include "node/web/repeats.h"

#include <algorithm>

#include "node/web/answers.h"

namespace partita::node::web {
namespace {

constexpr size_t kMostRepeats = 256;

}  // namespace

bool IsRepeatKey(const std::string& key) {
  return key.size() >= 16 && key.size() <= 64 && std::all_of(key.begin(), key.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '-' || c == '_';
         });
}

std::optional<net::HttpResponse> Repeats::Begin(const std::string& account, const std::string& key,
                                                const crypto::Digest& what, int64_t now) {
  const std::lock_guard lock(mutex_);
  std::erase_if(done_, [now](const auto& entry) { return entry.second.until <= now; });
  const std::string name = account + " " + key;
  const auto found = done_.find(name);
  if (found == done_.end()) {
    if (done_.size() >= kMostRepeats) {
      done_.erase(std::min_element(done_.begin(), done_.end(), [](const auto& a, const auto& b) {
        return a.second.until < b.second.until;
      }));
    }
    done_[name] = {what, now + kRepeatSeconds, std::nullopt};
    return std::nullopt;
  }
  if (found->second.what != what) {
    return Problem(409, "refused", "this Idempotency-Key was used for another request",
                   "Take a new one for every request.");
  }
  if (found->second.answer) return found->second.answer;
  return Problem(429, "too-many", "the same request is being done", "Wait a moment.");
}

void Repeats::End(const std::string& account, const std::string& key,
                  const net::HttpResponse& answer) {
  const std::lock_guard lock(mutex_);
  const auto found = done_.find(account + " " + key);
  if (found == done_.end()) return;
  if (answer.status >= 300) {
    done_.erase(found);
  } else {
    found->second.answer = answer;
  }
}

}  // namespace partita::node::web
