// Fields of rows that the store reads.
#pragma once

#include <algorithm>
#include <array>

#include "base/error.h"
#include "node/store/sql.h"

namespace partita::node {

// Throws kBadInput for one of another length.
template <size_t kSize>
std::array<uint8_t, kSize> FixedIn(SqlRows& row, int column) {
  const ByteView blob = row.Blob(column);
  if (blob.size() != kSize)
    throw Error(ErrorCode::kBadInput, "the state of the node holds a field of a wrong length",
                "Restore the node from its backup.");
  std::array<uint8_t, kSize> out{};
  std::copy(blob.begin(), blob.end(), out.begin());
  return out;
}

inline uint64_t UnsignedIn(SqlRows& row, int column) {
  return static_cast<uint64_t>(row.Integer(column));
}

// Numbers of 64 bits are kept as signed ones with the same bits.
inline int64_t Signed(uint64_t number) { return static_cast<int64_t>(number); }

}  // namespace partita::node
