#include "mpc/functions/triangular.h"

#include <algorithm>

#include "mpc/functions/arithmetic.h"

namespace partita::mpc {
namespace {

struct Power {
  Shared* inverse;  // I + N + ... + N^(2^j - 1)
  Shared power;     // N^(2^j)
  Shared product;
};

Shared Identity(Engine& engine, size_t size, int fraction_bits) {
  IntMatrix identity{{size, size}, std::vector<Int128>(size * size)};
  for (size_t i = 0; i < size; ++i) identity.values[i * size + i] = Int128{1} << fraction_bits;
  return engine.Public({std::move(identity), fraction_bits});
}

}  // namespace

void InvertUnitLower(Engine& engine, const std::vector<Shared*>& matrices, int fraction_bits,
                     double largest) {
  const auto bounded = [&](Shared value) { return WithBound(std::move(value), largest); };
  std::vector<Power> all;
  size_t size = 1;
  for (Shared* lower : matrices) {
    const Shared identity = Identity(engine, lower->shape.rows, fraction_bits);
    const Shared power = bounded(engine.Subtract(identity, *lower));
    *lower = bounded(engine.Add(identity, power));
    all.push_back({lower, power, {}});
    size = std::max(size, lower->shape.rows);
  }
  for (size_t reach = 2; reach < size; reach *= 2) {
    std::vector<Power*> open;
    for (Power& one : all) {
      if (one.power.shape.rows > reach) open.push_back(&one);
    }
    ProductRound round(engine);
    const auto multiply = [&](const Shared& a, const Shared& b, Shared& result) {
      round.AddCut(Product::Kind::kMatrix, a, b, largest, fraction_bits, result);
    };
    for (Power* one : open) multiply(one->power, one->power, one->product);
    round.Run();
    for (Power* one : open) one->power = one->product;
    for (Power* one : open) multiply(*one->inverse, one->power, one->product);
    round.Run();
    for (Power* one : open) *one->inverse = bounded(engine.Add(*one->inverse, one->product));
  }
}

}  // namespace partita::mpc
