#include "mpc/functions/variates.h"

#include <cmath>

#include "mpc/compare.h"
#include "mpc/functions/arithmetic.h"
#include "mpc/functions/logarithm.h"

namespace partita::mpc {
namespace {

constexpr size_t kRandomBits = 40;
constexpr int kFractionBits = 41;

// (2 K + 1) / 2^41 as bits and as a ring element.
struct OddMultiple {
  SharedBits bits;  // of 2 K + 1, with zeros on top as wide as its bound asks for
  Shared value;
};

Shared FromBits(Engine& engine, const SharedBits& random) {
  CheckCarriesFractions(engine, "random variates");
  Shared planes = engine.ToRing({&random, 1})[0];
  planes = Reshape(std::move(planes), {kRandomBits, random.shape.size()});
  planes.bound = 1 / static_cast<double>(kRandomBits);  // weighted, they are below 1 together
  PublicMatrix weights{{{1, kRandomBits}, {}}, kFractionBits};
  for (size_t j = 0; j < kRandomBits; ++j) {
    weights.values.values.push_back(Int128{1} << (j + 1));
  }
  const Shared sum = Reshape(engine.MultiplyPublic(weights, planes), random.shape);
  return PlusConstant(engine, sum, std::ldexp(1.0, -kFractionBits), 1);
}

OddMultiple WithPadding(Engine& engine, const SharedBits& random, Shared value) {
  const size_t width = BitsFor(value, engine.ring_bits());
  BitMatrix one = MakeBits(random.shape, 1);
  for (uint64_t& word : one.words) word = ~uint64_t{0};
  ClearUnused(one);
  const SharedBits parts[] = {engine.PublicBits(one), random,
                              engine.PublicBits(MakeBits(random.shape, width - kRandomBits - 1))};
  return {engine.JoinPlanes(parts), std::move(value)};
}

std::vector<Shared> Logarithms(Engine& engine, const std::vector<OddMultiple>& all,
                               int fraction_bits) {
  std::vector<PositiveValue> values;
  std::vector<SharedBits> bits;
  for (const OddMultiple& multiple : all) {
    values.push_back({multiple.value, std::ldexp(1.0, -kFractionBits)});
    bits.push_back(multiple.bits);
  }
  return LogOfNormalised(engine, NormaliseBits(engine, values, bits, {kLogMantissaBits, false}),
                         fraction_bits);
}

}  // namespace

Shared UniformVariates(Engine& engine, Shape shape, crypto::RandomSource& own) {
  return FromBits(engine, engine.RandomBits(shape, kRandomBits, own));
}

Shared ExponentialVariates(Engine& engine, Shape shape, crypto::RandomSource& own,
                           int fraction_bits) {
  const SharedBits random = engine.RandomBits(shape, kRandomBits, own);
  const OddMultiple u = WithPadding(engine, random, FromBits(engine, random));
  return engine.Scale(Logarithms(engine, {u}, fraction_bits)[0], -1);
}

Shared LogisticVariates(Engine& engine, Shape shape, crypto::RandomSource& own, int fraction_bits) {
  const SharedBits random = engine.RandomBits(shape, kRandomBits, own);
  const Shared value = FromBits(engine, random);
  // 1 - U = (2 (2^40 - 1 - K) + 1) / 2^41: the complements of the bits.
  const Shared rest = PlusConstant(engine, engine.Scale(value, -1), 1, 1);
  const std::vector<Shared> logs = Logarithms(
      engine, {WithPadding(engine, random, value), WithPadding(engine, engine.Not(random), rest)},
      fraction_bits);
  return engine.Subtract(logs[0], logs[1]);
}

}  // namespace partita::mpc
