// What a slow function of plain values gave for the arguments that it had in this process: parties
// of one process, the plan and the report of a run ask the same accountant the same question.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>

namespace partita {

// Key is ordered; the value depends on it alone. Any number of threads; each that comes before the
// first answer computes it itself.
template <class Key, class Value>
class Memo {
 public:
  template <class Compute>
  Value Get(const Key& key, Compute&& compute) {
    {
      const std::lock_guard lock(mutex_);
      if (const auto found = known_.find(key); found != known_.end()) return found->second;
    }
    Value value = compute();
    const std::lock_guard lock(mutex_);
    if (known_.size() >= kMost) known_.clear();
    known_.emplace(key, value);
    return value;
  }

 private:
  static constexpr size_t kMost = 1024;

  std::mutex mutex_;
  std::map<Key, Value> known_;
};

}  // namespace partita
