#include "mpc/functions/order.h"

#include <algorithm>

#include "base/error.h"
#include "mpc/functions/arithmetic.h"

namespace partita::mpc {

Shared CumulativeSums(Engine& engine, const Shared& value) {
  const auto [rows, cols] = value.shape;
  Shared sums = value;
  // Every row is the sum of the last `reach` rows, or of all if there are fewer.
  for (size_t reach = 1; reach < rows; reach *= 2) {
    const size_t rest = rows - reach;
    const auto bound_of = [&](size_t terms) { return value.bound * static_cast<double>(terms); };
    const Shared high = WithBound(engine.Slice(sums, reach, 0, {rest, cols}), bound_of(reach));
    const Shared low =
        WithBound(engine.Slice(sums, 0, 0, {rest, cols}), bound_of(std::min(reach, rest)));
    const Shared parts[] = {engine.Slice(sums, 0, 0, {reach, cols}), engine.Add(high, low)};
    sums = WithBound(engine.Concatenate(parts, true), bound_of(std::min(2 * reach, rows)));
  }
  return sums;
}

}  // namespace partita::mpc
