// What holders get from a matching.
#pragma once

#include <cstdint>

namespace partita::match {

// kMatchedIds    Each holder: which of its rows are in all lists.
// kHiddenExact   Each holder: positions of its rows in a common order of U positions, at which rows
//                of one person stand together; how many people are in all lists, not which.
// kHiddenNobody  The same, and not how many either: U is the sum of the bounds.
// kHiddenNoisy   The same, and how many with noise: U is the sum of the bounds, or what follows from
//                the noisy number.
enum class Level { kMatchedIds, kHiddenExact, kHiddenNobody, kHiddenNoisy };

inline bool IsHidden(Level level) { return level != Level::kMatchedIds; }

// No row: at a position where a holder has none.
inline constexpr uint32_t kNoRow = UINT32_MAX;

}  // namespace partita::match
