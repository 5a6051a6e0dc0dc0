#include "mpc/functions/leading.h"

#include <vector>

#include "mpc/compare.h"
#include "mpc/functions/arithmetic.h"

namespace partita::mpc {

Shared LeadingNegatives(Engine& engine, const Shared& values) {
  const size_t k = values.shape.rows;
  const std::vector<Shared> compared = {values};
  const std::vector<SharedBits> others = {engine.Not(IsNegative(engine, compared).front())};
  PublicMatrix until{{{k, k}, std::vector<Int128>(k * k, 0)}, 0};
  for (size_t r = 0; r < k; ++r)
    for (size_t c = 0; c <= r; ++c) until.values.values[r * k + c] = 1;
  const std::vector<Shared> so_far = {WithBound(
      engine.MultiplyPublic(until, engine.ToRing(others).front()), static_cast<double>(k))};
  return engine.ToRing(IsZero(engine, so_far)).front();
}

}  // namespace partita::mpc
