#include "mpc/functions/exponential.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.h"
#include "mpc/compare.h"
#include "mpc/functions/arithmetic.h"

namespace partita::mpc {
namespace {

// Of u, z and the polynomial's constants: three factors of so many bits and one digit fit.
constexpr int kExponentialBits = 41;
// 2^z on [0, 1], lowest power first.
constexpr double kPowerPolynomial[] = {
    1.0000000000007745,     0.6931471804261606,     0.24022651071024428,
    0.05550406861990916,    0.00961834122799372,    0.0013327303548182892,
    0.00015510746588795745, 1.4197844103246554e-05, 1.8633485595120804e-06};

// Everything about one matrix on its way.
struct ExponentialWork {
  int offset = 0;        // u = x log2(e) + offset
  int integer_bits = 0;  // of u, where it is not negative
  int top = 0;           // u < top + 1
  double largest = 0;    // and 2^u is at most this
  Shared u, z;
  std::vector<Shared> factors;  // of 2^integer, and whether u is not negative
  Shared z2, z4, low, middle, high;
  Shared sum;
};

Shared WithConstant(Engine& engine, const Shared& value, double constant, double bound) {
  const Int128 term = EncodeFixed(constant, kExponentialBits);
  const Int128 lifted = term * (Int128{1} << (value.fraction_bits - kExponentialBits));
  Shared sum = engine.Add(
      value, engine.Public({{value.shape, std::vector<Int128>(value.shape.size(), lifted)},
                            value.fraction_bits}));
  sum.bound = bound;
  return sum;
}

// a + b z at 2 kExponentialBits.
Shared Line(Engine& engine, const Shared& z, size_t power, double bound) {
  return WithConstant(engine,
                      TimesConstant(engine, z, kPowerPolynomial[power + 1], kExponentialBits),
                      kPowerPolynomial[power], bound);
}

ExponentialWork BeginExponential(const BoundedAbove& value, int fraction_bits) {
  const double top = value.largest * std::numbers::log2e;
  if (!(top < 46) || fraction_bits < 0 || !(top + fraction_bits < 86)) {
    throw Error(ErrorCode::kBadInput,
                fmt::format("e to the power of up to {:.6g} with {} fraction bits does not fit",
                            value.largest, fraction_bits),
                "state a largest exponent below 31.8 and fewer fraction bits: largest / ln 2 plus "
                "fraction bits is below 86");
  }
  ExponentialWork work;
  work.offset = fraction_bits + 1;
  // One more for the cut's error at the upper end.
  work.top = std::max(0, static_cast<int>(std::floor(top + 0x1p-30)) + work.offset);
  // With room for the errors of u and of the polynomial.
  work.largest = std::exp2(std::max(0.0, top) + work.offset + 0x1p-8);
  for (int rest = work.top; rest > 0; rest /= 2) ++work.integer_bits;
  work.integer_bits = std::max(work.integer_bits, 1);
  return work;
}

// u = x log2(e) + offset at kExponentialBits.
void TakeLogarithm(Engine& engine, std::span<const BoundedAbove> values,
                   std::vector<ExponentialWork>& all) {
  constexpr int kConstantBits = 56;
  std::vector<Shared> scaled;
  for (const BoundedAbove& value : values) {
    scaled.push_back(engine.Scale(value.value, EncodeFixed(std::numbers::log2e, kConstantBits)));
    scaled.back().fraction_bits += kConstantBits;
    scaled.back().bound = value.value.bound * std::numbers::log2e;
  }
  const std::vector<Shared> cut = engine.Rescale(scaled, kExponentialBits);
  for (size_t i = 0; i < all.size(); ++i) {
    all[i].u = WithConstant(engine, cut[i], all[i].offset, cut[i].bound + all[i].offset);
  }
}

// The factors 1 + bit (2^(2^k) - 1), the sign, and z = u - integer.
void SplitIntegers(Engine& engine, std::vector<ExponentialWork>& all) {
  std::vector<Shared> u;
  for (const ExponentialWork& work : all) u.push_back(work.u);
  std::vector<SharedBits> bits = ToBits(engine, u);
  for (size_t i = 0; i < all.size(); ++i) {
    std::vector<size_t> planes;
    for (int k = 0; k < all[i].integer_bits; ++k) {
      planes.push_back(static_cast<size_t>(kExponentialBits + k));
    }
    // u may be so narrow that it has no such bits: then they are its sign's.
    for (size_t& plane : planes) plane = std::min(plane, bits[i].width - 1);
    planes.push_back(bits[i].width - 1);
    bits[i] = engine.SelectPlanes(bits[i], planes);
  }
  const std::vector<Shared> elements = engine.ToRing(bits);
  for (size_t i = 0; i < all.size(); ++i) {
    ExponentialWork& work = all[i];
    const Shape shape = work.u.shape;
    auto plane = [&](int k) {
      return engine.Slice(elements[i], static_cast<size_t>(k) * shape.rows, 0, shape);
    };
    auto one_plus = [&](const Shared& bit, Int128 factor, double bound) {
      const Shared one = engine.Public({{shape, std::vector<Int128>(shape.size(), 1)}, 0});
      Shared sum = engine.Add(engine.Scale(bit, factor), one);
      sum.bound = bound;
      return sum;
    };
    work.z = work.u;
    for (int k = 0; k < work.integer_bits; ++k) {
      const Shared bit = plane(k);
      Shared part = engine.Scale(bit, Int128{1} << (kExponentialBits + k));
      part.fraction_bits = kExponentialBits;
      part.bound = 0;
      work.z = engine.Subtract(work.z, part);
      const Int128 power = Int128{1} << (Int128{1} << k);
      work.factors.push_back(one_plus(bit, power - 1, static_cast<double>(power)));
    }
    work.z.bound = 1;
    work.factors.push_back(one_plus(plane(work.integer_bits), -1, 1));
  }
}

// Pairs of factors become their products; one without a partner waits.
void HalveFactors(ExponentialWork& work, ProductRound& round, std::vector<Shared>& products) {
  products.resize(work.factors.size() / 2);
  for (size_t k = 0; k < products.size(); ++k) {
    const Shared &a = work.factors[2 * k], &b = work.factors[2 * k + 1];
    const double bound = std::min(a.bound * b.bound, std::ldexp(1.0, work.top));
    round.Add(a, b, bound, products[k]);
  }
}

void TakeHalves(ExponentialWork& work, std::vector<Shared> products) {
  if (work.factors.size() % 2 == 1) products.push_back(work.factors.back());
  work.factors = std::move(products);
}

// One round of products, with the factors' tree beside the polynomial.
void RunRound(Engine& engine, std::vector<ExponentialWork>& all,
              const std::function<void(ExponentialWork&, ProductRound&)>& add) {
  ProductRound round(engine);
  std::vector<std::vector<Shared>> halves(all.size());
  for (size_t i = 0; i < all.size(); ++i) {
    add(all[i], round);
    HalveFactors(all[i], round, halves[i]);
  }
  round.Run();
  for (size_t i = 0; i < all.size(); ++i) TakeHalves(all[i], std::move(halves[i]));
}

std::vector<Shared> Cut(Engine& engine, std::vector<ExponentialWork>& all,
                        Shared ExponentialWork::*which, int bits) {
  std::vector<Shared> values;
  for (const ExponentialWork& work : all) values.push_back(work.*which);
  return engine.Rescale(values, bits);
}

// z^2; then z^2 (a2 + a3 z), z^2 (a6 + a7 z + a8 z^2) and z^4; then z^4 times a4 + a5 z + the
// second.
void EvaluatePolynomial(Engine& engine, std::vector<ExponentialWork>& all) {
  RunRound(engine, all, [](ExponentialWork& w, ProductRound& round) {
    round.AddCut(w.z, w.z, 1, kExponentialBits, w.z2);
  });
  RunRound(engine, all, [&](ExponentialWork& w, ProductRound& round) {
    const Shared inner =
        engine.Add(Line(engine, w.z, 6, 0.5),
                   TimesConstant(engine, w.z2, kPowerPolynomial[8], kExponentialBits));
    round.Add(w.z2, Line(engine, w.z, 2, 0.5), 0.5, w.low);
    round.AddCut(w.z2, inner, 0.5, 2 * kExponentialBits, w.high);
    round.AddCut(w.z2, w.z2, 1, kExponentialBits, w.z4);
  });
  RunRound(engine, all, [&](ExponentialWork& w, ProductRound& round) {
    Shared factor = engine.Add(Line(engine, w.z, 4, 0.25), w.high);
    factor.bound = 0.5;
    round.Add(w.z4, factor, 0.5, w.middle);
  });
  for (ExponentialWork& work : all) {
    Shared lifted = engine.Scale(Line(engine, work.z, 0, 2), Int128{1} << kExponentialBits);
    lifted.fraction_bits += kExponentialBits;
    lifted.bound = 1.75;
    work.sum = engine.Add(engine.Add(lifted, work.low), work.middle);
    work.sum.bound = 2;
  }
}

}  // namespace

std::vector<Shared> Exponential(Engine& engine, std::span<const BoundedAbove> values,
                                int fraction_bits) {
  CheckCarriesFractions(engine, "exponentials");
  std::vector<ExponentialWork> all;
  int polynomial_bits = 50;
  for (const BoundedAbove& value : values) {
    all.push_back(BeginExponential(value, fraction_bits));
    const auto room = static_cast<int>(engine.ring_bits() - 2 - std::log2(all.back().largest));
    polynomial_bits = std::min({polynomial_bits, 124 - all.back().top, room});
  }
  TakeLogarithm(engine, values, all);
  SplitIntegers(engine, all);
  EvaluatePolynomial(engine, all);
  const std::vector<Shared> sums = Cut(engine, all, &ExponentialWork::sum, polynomial_bits);
  std::vector<Shared> results(all.size());
  ProductRound round(engine);
  for (size_t i = 0; i < all.size(); ++i) {
    const Shared sum = TimesPowerOfTwo(WithBound(sums[i], 2), -all[i].offset);
    round.AddCut(sum, all[i].factors[0], std::ldexp(all[i].largest, -all[i].offset), fraction_bits,
                 results[i]);
  }
  round.Run();
  for (size_t i = 0; i < all.size(); ++i) {
    results[i].bound =
        std::exp(values[i].largest) * (1 + 0x1p-30) + std::ldexp(1.0, 1 - fraction_bits);
  }
  return results;
}

}  // namespace partita::mpc
