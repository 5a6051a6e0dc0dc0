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

constexpr int kFineBits = BinaryExponent::kFineBits, kCoarseBits = BinaryExponent::kCoarseBits;
// How far z lies outside of [0, 1], with the fine cut's error.
constexpr double kOutside = 0x1p-8 + 0x1p-20;
// 2^z on [-kOutside, 1 + kOutside], lowest power first.
constexpr double kPowerPolynomial[] = {
    1.0000000000003313,     0.6931471804469166,     0.2402265104416208,
    0.055504070115945485,   0.00961833701212845,    0.0013327366816686754,
    0.00015510258334608653, 1.4199457208506842e-05, 1.863260054923423e-06};
constexpr int kLog2EBits = 56;
// Of powers of z, and of 2^z.
constexpr double kPowerBound = 1 + 0x1p-4, kResultBound = 2 + 0x1p-4;

// Everything about one matrix on its way.
struct ExponentialWork {
  int offset = 0;        // u = v + offset
  int integer_bits = 0;  // of u, where it is not negative
  int top = 0;           // u < top + 1
  double largest = 0;    // and 2^u is at most this
  Shared fine, coarse;   // u
  Shared z;
  std::vector<Shared> factors;  // of 2^integer, and whether u is not negative
  Shared z2, z4, low, high, sum;
};

// a + b z at 2 kFineBits.
Shared Line(Engine& engine, const Shared& z, size_t power, double bound) {
  const Shared times = TimesConstant(engine, z, kPowerPolynomial[power + 1], kFineBits);
  return PlusConstant(engine, times, kPowerPolynomial[power], bound);
}

ExponentialWork BeginPower(Engine& engine, const BinaryExponent& exponent, int fraction_bits) {
  const double top = exponent.largest;
  if (!(top < 46) || fraction_bits < 0 || !(top + kOutside + fraction_bits < 86)) {
    throw Error(ErrorCode::kBadInput,
                fmt::format("e to the power of up to {:.6g} with {} fraction bits does not fit",
                            top / std::numbers::log2e, fraction_bits),
                "state a largest exponent below 31.8 and fewer fraction bits: largest / ln 2 plus "
                "fraction bits is below 85.9");
  }
  ExponentialWork work;
  work.offset = fraction_bits + 1;
  // The coarse cut may go up to the next integer.
  work.top = std::max(0, static_cast<int>(std::floor(top + kOutside)) + work.offset);
  // With room for the errors of u and of the polynomial.
  work.largest = std::exp2(std::max(0.0, top) + work.offset + 0x1p-8);
  for (int rest = work.top; rest > 0; rest /= 2) ++work.integer_bits;
  work.integer_bits = std::max(work.integer_bits, 1);
  const auto plus_offset = [&](const Shared& v) {
    return PlusConstant(engine, v, work.offset, v.bound + work.offset);
  };
  work.fine = plus_offset(exponent.fine);
  work.coarse = plus_offset(exponent.coarse);
  return work;
}

// The factors 1 + bit (2^(2^k) - 1), the sign, and z = u - integer.
void SplitIntegers(Engine& engine, std::vector<ExponentialWork>& all) {
  std::vector<Shared> coarse;
  for (const ExponentialWork& work : all) coarse.push_back(work.coarse);
  std::vector<SharedBits> bits = ToBits(engine, coarse);
  for (size_t i = 0; i < all.size(); ++i) {
    std::vector<size_t> planes;
    for (int k = 0; k < all[i].integer_bits; ++k) {
      planes.push_back(static_cast<size_t>(kCoarseBits + k));
    }
    // u may be so narrow that it has no such bits: then they are its sign's.
    for (size_t& plane : planes) plane = std::min(plane, bits[i].width - 1);
    planes.push_back(bits[i].width - 1);
    bits[i] = engine.SelectPlanes(bits[i], planes);
  }
  const std::vector<Shared> elements = engine.ToRing(bits);
  for (size_t i = 0; i < all.size(); ++i) {
    ExponentialWork& work = all[i];
    const Shape shape = work.fine.shape;
    auto plane = [&](int k) {
      return engine.Slice(elements[i], static_cast<size_t>(k) * shape.rows, 0, shape);
    };
    auto one_plus = [&](const Shared& bit, Int128 factor, double bound) {
      const Shared one = engine.Public({{shape, std::vector<Int128>(shape.size(), 1)}, 0});
      Shared sum = engine.Add(engine.Scale(bit, factor), one);
      sum.bound = bound;
      return sum;
    };
    work.z = work.fine;
    for (int k = 0; k < work.integer_bits; ++k) {
      const Shared bit = plane(k);
      Shared part = engine.Scale(bit, Int128{1} << (kFineBits + k));
      part.fraction_bits = kFineBits;
      part.bound = 0;
      work.z = engine.Subtract(work.z, part);
      const Int128 power = Int128{1} << (Int128{1} << k);
      work.factors.push_back(one_plus(bit, power - 1, static_cast<double>(power)));
    }
    work.z.bound = kPowerBound;
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

// z^2; then z (a1 + a2 z + a3 z^2), z^2 (a6 + a7 z + a8 z^2) and z^4; then z^4 times a4 + a5 z + the
// second.
void EvaluatePolynomial(Engine& engine, std::vector<ExponentialWork>& all, int bits) {
  RunRound(engine, all, [](ExponentialWork& w, ProductRound& round) {
    round.AddCut(w.z, w.z, kPowerBound, kFineBits, w.z2);
  });
  const auto square = [&](const ExponentialWork& w, size_t power) {
    return TimesConstant(engine, w.z2, kPowerPolynomial[power], kFineBits);
  };
  RunRound(engine, all, [&](ExponentialWork& w, ProductRound& round) {
    const Shared low = engine.Add(Line(engine, w.z, 1, 1), square(w, 3));
    const Shared high = engine.Add(Line(engine, w.z, 6, 0.5), square(w, 8));
    round.AddCut(w.z, low, kPowerBound, bits, w.low);
    round.AddCut(w.z2, high, 0.5, 2 * kFineBits, w.high);
    round.AddCut(w.z2, w.z2, kPowerBound, kFineBits, w.z4);
  });
  RunRound(engine, all, [&](ExponentialWork& w, ProductRound& round) {
    const Shared factor = engine.Add(Line(engine, w.z, 4, 0.25), w.high);
    round.AddCut(w.z4, WithBound(factor, 0.5), 0.5, bits, w.sum);
  });
  for (ExponentialWork& work : all) {
    const Shared constant = PlusConstant(engine, work.low, kPowerPolynomial[0], kResultBound);
    work.sum = WithBound(engine.Add(constant, work.sum), kResultBound);
  }
}

}  // namespace

Shared TimesLog2E(Engine& engine, const Shared& value) {
  return TimesConstant(engine, value, std::numbers::log2e, kLog2EBits);
}

void AddCuts(const Shared& exponent, CutRound& cuts, BinaryExponent& result) {
  result.fine = exponent;
  result.coarse = exponent;
  cuts.Add(result.fine, kFineBits, exponent.bound);
  cuts.Add(result.coarse, kCoarseBits, exponent.bound + std::ldexp(1.0, -kCoarseBits));
}

std::vector<Shared> BinaryExponential(Engine& engine, std::span<const BinaryExponent> exponents,
                                      int fraction_bits) {
  CheckCarriesFractions(engine, "exponentials");
  std::vector<ExponentialWork> all;
  int polynomial_bits = 50;
  for (const BinaryExponent& exponent : exponents) {
    all.push_back(BeginPower(engine, exponent, fraction_bits));
    const auto room = static_cast<int>(engine.ring_bits() - 2 - std::log2(all.back().largest));
    polynomial_bits = std::min({polynomial_bits, 124 - all.back().top, room});
  }
  SplitIntegers(engine, all);
  EvaluatePolynomial(engine, all, polynomial_bits);
  std::vector<Shared> results(all.size());
  ProductRound round(engine);
  for (size_t i = 0; i < all.size(); ++i) {
    const Shared sum = TimesPowerOfTwo(all[i].sum, -all[i].offset);
    round.AddCut(sum, all[i].factors[0], std::ldexp(all[i].largest, -all[i].offset), fraction_bits,
                 results[i]);
  }
  round.Run();
  for (size_t i = 0; i < all.size(); ++i) {
    results[i].bound =
        std::exp2(exponents[i].largest) * (1 + 0x1p-30) + std::ldexp(1.0, 1 - fraction_bits);
  }
  return results;
}

std::vector<Shared> Exponential(Engine& engine, std::span<const BoundedAbove> values,
                                int fraction_bits) {
  CheckCarriesFractions(engine, "exponentials");
  std::vector<BinaryExponent> exponents(values.size());
  CutRound cuts(engine);
  for (size_t i = 0; i < values.size(); ++i) {
    exponents[i].largest = values[i].largest * std::numbers::log2e;
    AddCuts(TimesLog2E(engine, values[i].value), cuts, exponents[i]);
  }
  cuts.Run();
  return BinaryExponential(engine, exponents, fraction_bits);
}

}  // namespace partita::mpc
