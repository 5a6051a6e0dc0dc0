#include "mpc/functions/logarithm.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "mpc/functions/arithmetic.h"

namespace partita::mpc {
namespace {

constexpr int kLogarithmBits = kLogMantissaBits;
constexpr int kSumBits = 102;  // of everything that is added up at the end
constexpr int kInnerBits = kSumBits - kLogarithmBits;
// log((3 + t) / 4) on [-1, 1], lowest power first, and the bits of the coefficients of each block
// of four: three factors fit because the blocks become small.
constexpr double kLogarithmPolynomial[4][4] = {
    {-0.28768207245171223055, 0.33333333333296994772, -0.055555555564288531569,
     0.012345679027851499264},
    {-0.003086419571277087836, 0.00082304507251584863833, -0.00022862512327526701801,
     0.000065322161321897357892},
    {-0.000019046414550408352175, 5.6416771161280348746e-6, -1.7050897745822212835e-6,
     5.1892572986712136352e-7},
    {-1.4364822823331660398e-7, 4.2711607715348523436e-8, -2.2416793955115288287e-8,
     7.3708597512265401299e-9}};
constexpr std::array<int, 4> kCoefficientBits = {kInnerBits, 44, 52, 56};

struct LogarithmWork {
  Shared found;  // 1, or 0 for values below the smallest
  Shared t, t2, t3, t4, t8;
  std::array<Shared, 4> blocks;
};

double BlockBound(size_t block) {
  double sum = 0;
  for (double coefficient : kLogarithmPolynomial[block]) sum += std::abs(coefficient);
  return sum * (1 + 0x1p-20);
}

// a0 + a1 t + a2 t^2 + a3 t^3.
Shared Block(Engine& engine, const LogarithmWork& work, size_t block) {
  const auto& a = kLogarithmPolynomial[block];
  const int bits = kCoefficientBits[block];
  Shared sum = TimesConstant(engine, work.t, a[1], bits);
  sum = engine.Add(sum, TimesConstant(engine, work.t2, a[2], bits));
  sum = engine.Add(sum, TimesConstant(engine, work.t3, a[3], bits));
  // found has no fraction bits: where nothing was found there is no constant either.
  Shared constant = engine.Scale(TimesPowerOfTwo(work.found, -sum.fraction_bits),
                                 EncodeFixed(a[0], sum.fraction_bits));
  constant.bound = std::abs(a[0]);
  return WithBound(engine.Add(sum, constant), BlockBound(block));
}

LogarithmWork BeginLogarithm(Engine& engine, const Normalised& value) {
  LogarithmWork work;
  work.found = WithBound(WeightOfExponent(
                             engine, value, [](int) { return 1.0; }, 0),
                         1);
  Shared three =
      engine.Scale(TimesPowerOfTwo(work.found, -kLogarithmBits), Int128{3} << kLogarithmBits);
  three.bound = 3;
  work.t = WithBound(
      engine.Subtract(Lift(engine, TimesPowerOfTwo(value.mantissa, 2), kLogarithmBits), three), 1);
  return work;
}

}  // namespace

std::vector<Shared> LogOfNormalised(Engine& engine, std::span<const Normalised> values,
                                    int fraction_bits) {
  std::vector<LogarithmWork> all;
  for (const Normalised& value : values) all.push_back(BeginLogarithm(engine, value));
  ProductRound products(engine);
  CutRound cuts(engine);
  for (LogarithmWork& w : all) products.AddCut(w.t, w.t, 1, kLogarithmBits, w.t2);
  products.Run();
  for (LogarithmWork& w : all) {
    products.AddCut(w.t, w.t2, 1, kLogarithmBits, w.t3);
    products.AddCut(w.t2, w.t2, 1, kLogarithmBits, w.t4);
  }
  products.Run();
  for (LogarithmWork& w : all) {
    for (size_t block = 0; block < w.blocks.size(); ++block) {
      w.blocks[block] = Block(engine, w, block);
    }
    products.AddCut(w.t4, w.t4, 1, kLogarithmBits, w.t8);
    products.AddCut(w.t4, w.blocks[1], BlockBound(1), kSumBits, w.blocks[1]);
    products.AddCut(w.blocks[2], BlockBound(2), kInnerBits, w.blocks[2]);
    products.AddCut(w.t4, w.blocks[3], BlockBound(3), kInnerBits, w.blocks[3]);
  }
  products.Run();
  std::vector<Shared> high(all.size());
  for (size_t i = 0; i < all.size(); ++i) {
    const Shared inner = engine.Add(all[i].blocks[2], all[i].blocks[3]);
    products.Add(all[i].t8, inner, inner.bound, high[i]);
  }
  products.Run();
  std::vector<Shared> results;
  std::vector<double> bounds;
  for (size_t i = 0; i < all.size(); ++i) {
    const Shared multiple = WeightOfExponent(
        engine, values[i], [](int exponent) { return (exponent + 1) * std::numbers::ln2; },
        kSumBits);
    const Shared mantissa = engine.Add(all[i].blocks[0], engine.Add(all[i].blocks[1], high[i]));
    results.push_back(engine.Add(mantissa, multiple));
    bounds.push_back(multiple.bound + std::numbers::ln2 + std::ldexp(2.0, -fraction_bits));
  }
  for (size_t i = 0; i < all.size(); ++i) cuts.Add(results[i], fraction_bits, bounds[i]);
  cuts.Run();
  return results;
}

std::vector<Shared> Log(Engine& engine, std::span<const PositiveValue> values, int fraction_bits) {
  return LogOfNormalised(engine, Normalise(engine, values, {kLogMantissaBits, false}),
                         fraction_bits);
}

}  // namespace partita::mpc
