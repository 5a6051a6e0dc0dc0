// A value that must not be printed, compared or forgotten in memory.
#pragma once

#include <cstddef>
#include <cstring>
#include <type_traits>
#include <utility>

namespace partita {

// Overwrites memory in a way that the compiler may not remove. Without bytes data may be null.
inline void Wipe(void* data, size_t size) {
  if (size == 0) return;
  std::memset(data, 0, size);
  asm volatile("" : : "r"(data) : "memory");
}

// Holds a trivially copyable secret (a key); wiped on destruction. No operator==, no stream output:
// the only way to the value is Expose(), which a text search finds.
template <typename T>
class Secret {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Secret() : value_{} {}
  explicit Secret(const T& value) : value_(value) {}
  Secret(const Secret&) = default;
  Secret& operator=(const Secret&) = default;
  ~Secret() { Wipe(&value_, sizeof(value_)); }
  bool operator==(const Secret&) const = delete;

  const T& Expose() const { return value_; }
  T& Expose() { return value_; }

 private:
  T value_;
};

}  // namespace partita
