#include "mpc/functions/sigmoid.h"

#include <cmath>

#include "mpc/compare.h"
#include "mpc/functions/arithmetic.h"
#include "mpc/functions/exponential.h"
#include "mpc/functions/reciprocal.h"

namespace partita::mpc {

std::vector<Shared> Sigmoid(Engine& engine, std::span<const Shared> values, int fraction_bits) {
  const size_t count = values.size();
  const std::vector<Shared> negative = engine.ToRing(IsNegative(engine, values));
  std::vector<Shared> parts(count);
  ProductRound products(engine);
  for (size_t i = 0; i < count; ++i) {
    products.Add(negative[i], values[i], values[i].bound, parts[i]);
  }
  products.Run();
  std::vector<BoundedAbove> exponents;
  for (size_t i = 0; i < count; ++i) {
    // -|x| = 2 [x < 0] x - x.
    const Shared twice = engine.Scale(parts[i], 2);
    exponents.push_back({WithBound(engine.Subtract(twice, values[i]), values[i].bound), 0});
  }
  std::vector<Shared> denominators = Exponential(engine, exponents, kMantissaBits - 1);
  for (Shared& value : denominators) {
    value = TimesPowerOfTwo(PlusConstant(engine, value, 1, 2), -1);
  }
  // 1 / ((1 + t) / 2), twice what is wanted.
  const std::vector<Shared> doubled = ReciprocalOfMantissas(engine, denominators);
  std::vector<Shared> corrections(count);
  for (size_t i = 0; i < count; ++i) {
    // 1 - 2 / (1 + t) = 1 - doubled.
    const Shared difference = PlusConstant(engine, engine.Scale(doubled[i], -1), 1, 1);
    products.Add(negative[i], difference, 1, corrections[i]);
  }
  products.Run();
  std::vector<Shared> results(count);
  CutRound cuts(engine);
  for (size_t i = 0; i < count; ++i) {
    const Shared half = TimesPowerOfTwo(doubled[i], -1);
    results[i] = engine.Add(half, Lift(engine, corrections[i], half.fraction_bits));
    cuts.Add(results[i], fraction_bits, 1 + std::ldexp(1.0, -fraction_bits));
  }
  cuts.Run();
  return results;
}

}  // namespace partita::mpc
