// What the steward of a table allows: a budget per class of adversary, and exact results or none.
//
// Epsilon and delta are kept as the decimal text that the steward wrote; every use rounds them
// down. A budget holds for one adjacency: losses under different adjacencies do not add up.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "privacy/adjacency.h"

namespace partita::privacy::ledger {

inline constexpr size_t kMaxTableName = 64;
inline constexpr uint32_t kMaxCoalition = 64;

// Whoever is outside sees published results only; an insider took part in a study and knows its own
// noise share. The dealer of correlated randomness, with the report, is outside: it holds no noise.
enum class AdversaryClass { kOutside, kInsider };

// "outside", "insider".
std::string_view AdversaryClassName(AdversaryClass adversary_class);

// Over the whole life of the account, whatever is asked and in whatever order.
struct Budget {
  Adjacency adjacency = Adjacency::kReplace;
  std::string epsilon;  // decimal, from 1e-4 to 1e4
  std::string delta;    // decimal, from 1e-15 to 0.1
  // The part of delta that pays for mechanisms that fail with a probability of their own
  // (ApproximateDp): decimal, from 0 to below delta. "0": no such mechanism is accepted.
  std::string approximate_delta = "0";

  bool operator==(const Budget&) const = default;
};

enum class ExactRule { kRefused, kAllowed, kCounted };

struct Policy {
  std::string table;  // 1 to 64 small letters, digits, '-', '_' and '.', a letter or digit first
  Budget outside;
  // Empty: insiders are trusted, and no statement about them follows from this ledger. Its
  // adjacency is always kReplace: the parties know how many rows there are (methods.md, R-h).
  std::optional<Budget> insider;
  uint32_t coalition = 1;  // insiders that pool what they know; 1: each for itself
  ExactRule exact = ExactRule::kRefused;
  uint64_t max_exact = 0;  // kCounted: how many exact releases, over the life of the account

  bool operator==(const Policy&) const = default;
};

// Throws kUsage naming the field: syntax, ranges, approximate_delta not below delta, a coalition of
// 0, an insider budget under add-remove, max_exact without kCounted (or 0 with it).
void CheckPolicy(const Policy& policy);
// Throws kUsage unless `name` may be the name of a table.
void CheckTableName(const std::string& name);

// Whether `to` allows anything that `from` does not: more epsilon or delta, a smaller coalition or
// none, another adjacency, more exact releases.
bool IsWider(const Policy& from, const Policy& to);

// The budget of a class; null if the policy does not limit it.
const Budget* BudgetOf(const Policy& policy, AdversaryClass adversary_class);

}  // namespace partita::privacy::ledger
