#include "mpc/functions/reciprocal.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "mpc/together.h"

namespace partita::mpc {
namespace {

using Values = std::vector<Shared>;

Values CutProducts(Engine& engine, const std::vector<Product>& products, int fraction_bits) {
  const std::vector<std::optional<int>> bits(products.size(), fraction_bits);
  return engine.MultiplyAndRescale(products, bits);
}

// Elementwise products of two lists, cut to the bits of a mantissa; `bound` is what the caller
// knows of the results.
Values Times(Engine& engine, const Values& a, const Values& b, double bound) {
  std::vector<Product> products;
  for (size_t i = 0; i < a.size(); ++i) {
    products.push_back({Product::Kind::kElementwise, a[i], b[i]});
  }
  Values results = CutProducts(engine, products, kMantissaBits);
  for (Shared& result : results) result.bound = bound;
  return results;
}

// Two such lists in the same rounds.
std::pair<Values, Values> TimesBoth(Engine& engine, const Values& a, const Values& b,
                                    double first_bound, const Values& c, const Values& d,
                                    double second_bound) {
  Values left = a, right = b;
  left.insert(left.end(), c.begin(), c.end());
  right.insert(right.end(), d.begin(), d.end());
  Values both = Times(engine, left, right, first_bound);
  Values second(both.begin() + static_cast<ptrdiff_t>(a.size()), both.end());
  both.resize(a.size());
  for (Shared& value : second) value.bound = second_bound;
  return {std::move(both), std::move(second)};
}

// constant + factor * value, both multiples of 2^-bits; `bound` as above.
Shared Linear(Engine& engine, double constant, double factor, const Shared& value, int bits,
              double bound) {
  Shared scaled = engine.Scale(value, EncodeFixed(factor, bits));
  scaled.fraction_bits += bits;
  scaled.bound = std::abs(factor) * value.bound;
  const Int128 term = EncodeFixed(constant, scaled.fraction_bits);
  const PublicMatrix terms{{value.shape, std::vector<Int128>(value.shape.size(), term)},
                           scaled.fraction_bits};
  Shared sum = engine.Add(scaled, engine.Public(terms));
  sum.bound = bound;
  return sum;
}

Values LinearOfAll(Engine& engine, double constant, double factor, const Values& values, int bits,
                   double bound) {
  Values results;
  for (const Shared& value : values) {
    results.push_back(Linear(engine, constant, factor, value, bits, bound));
  }
  return results;
}

Values MantissasOf(const std::vector<Normalised>& all, Shared Normalised::*which) {
  Values mantissas;
  for (const Normalised& value : all) mantissas.push_back(value.*which);
  return mantissas;
}

// function(mantissa) times weight(exponent), cut to fraction_bits. Weights have at least three bits
// more than the result; beside large ones there is less room for the function's own bits, and one
// more cut.
Values ScaleBack(Engine& engine, const std::vector<Normalised>& all, Values functions,
                 const std::function<double(int exponent)>& weight, int fraction_bits) {
  constexpr int kProductBits = 123, kMaxWeightBits = 80;
  std::vector<double> largest;
  std::vector<int> weight_bits;
  int function_bits = kMantissaBits;
  for (const Normalised& value : all) {
    const int last = value.first_exponent + static_cast<int>(value.marks.shape.rows) - 1;
    largest.push_back(std::max(weight(value.first_exponent), weight(last)));
    const int room = kProductBits - 1 - std::ilogb(largest.back());
    weight_bits.push_back(
        std::min(std::max(room - kMantissaBits, fraction_bits + 3), kMaxWeightBits));
    function_bits = std::min(function_bits, room - weight_bits.back());
  }
  if (function_bits < kMantissaBits) functions = engine.Rescale(functions, function_bits);
  std::vector<Product> products;
  for (size_t i = 0; i < all.size(); ++i) {
    products.push_back({Product::Kind::kElementwise, functions[i],
                        WeightOfExponent(engine, all[i], weight, weight_bits[i])});
  }
  Values results = CutProducts(engine, products, fraction_bits);
  for (size_t i = 0; i < results.size(); ++i) {
    results[i].bound = largest[i] * functions[i].bound + std::ldexp(1.0, -fraction_bits);
  }
  return results;
}

// c^(-1/2) of mantissas.
Values InverseRootOfMantissas(Engine& engine, const std::vector<Normalised>& all) {
  const Values c = MantissasOf(all, &Normalised::mantissa);
  const Values guess_at = MantissasOf(all, &Normalised::short_mantissa);
  // The cubic a0 + a1 c + c^2 (a2 + a3 c), coefficients from Remez' algorithm for the relative
  // error on [1/2, 1]; only its size of error matters, so 30 bits do.
  constexpr int kBits = 24;
  auto rounded = [](double a) { return std::ldexp(std::nearbyint(std::ldexp(a, kBits)), -kBits); };
  const double a0 = rounded(2.605311847471317), a1 = rounded(-3.6396485989117826);
  const double a2 = rounded(2.9905310329580277), a3 = rounded(-0.9566732877318008);
  std::vector<Product> products;
  for (const Shared& x : guess_at) products.push_back({Product::Kind::kElementwise, x, x});
  const Values squares = CutProducts(engine, products, kShortMantissaBits);
  products.clear();
  for (size_t i = 0; i < squares.size(); ++i) {
    products.push_back(
        {Product::Kind::kElementwise, squares[i], Linear(engine, a2, a3, guess_at[i], kBits, 3)});
  }
  Values high = engine.Multiply(products);
  Values cubic;
  for (size_t i = 0; i < high.size(); ++i) {
    const Shared low = Linear(engine, a0, a1, guess_at[i], kBits, 3);
    Shared lifted = engine.Scale(low, Int128{1} << kShortMantissaBits);
    lifted.fraction_bits += kShortMantissaBits;
    lifted.bound = 3;
    cubic.push_back(engine.Add(high[i], lifted));
    cubic.back().bound = 1.5;
  }
  Values y = engine.Rescale(cubic, kShortMantissaBits);
  for (Shared& value : y) value.bound = 1.5;
  products.clear();
  for (const Shared& value : y) products.push_back({Product::Kind::kElementwise, value, value});
  Values y_squared = engine.Multiply(products);  // exact
  for (Shared& value : y_squared) value.bound = 2.25;
  // e = 1 - c y^2.
  const Values e = LinearOfAll(engine, 1, -1, Times(engine, c, y_squared, 2), 0, 0.5);
  auto [e_squared, ye] = TimesBoth(engine, e, e, 0.25, y, e, 0.75);
  // y + y e (8 + 6 e + 5 e^2) / 16.
  Values series;
  for (size_t i = 0; i < e.size(); ++i) {
    const Shared first = Linear(engine, 0.5, 0.375, e[i], 4, 0.75);
    const Shared second = Linear(engine, 0, 0.3125, e_squared[i], 4, 0.25);
    series.push_back(engine.Add(first, second));
  }
  const Values correction = Times(engine, ye, series, 0.75);
  Values results = engine.Rescale(y, kMantissaBits);  // local
  for (size_t i = 0; i < results.size(); ++i) {
    results[i] = engine.Add(results[i], correction[i]);
    results[i].bound = 1.5;
  }
  return results;
}

// The roots, and their reciprocals, of values that have these c^(-1/2).
Values InverseRootScaled(Engine& engine, const std::vector<Normalised>& all,
                         const Values& of_mantissas, int fraction_bits) {
  return ScaleBack(
      engine, all, of_mantissas, [](int exponent) { return std::exp2(-0.5 * (exponent + 1)); },
      fraction_bits);
}
Values RootScaled(Engine& engine, const std::vector<Normalised>& all, const Values& of_mantissas,
                  int fraction_bits) {
  return ScaleBack(
      engine, all, Times(engine, MantissasOf(all, &Normalised::mantissa), of_mantissas, 1.25),
      [](int exponent) { return std::exp2(0.5 * (exponent + 1)); }, fraction_bits);
}

std::vector<OfMantissa> Join(const Values& functions, std::vector<Normalised> arguments) {
  std::vector<OfMantissa> parts;
  for (size_t i = 0; i < functions.size(); ++i) {
    parts.push_back({functions[i], std::move(arguments[i])});
  }
  return parts;
}

}  // namespace

std::vector<Shared> ReciprocalOfMantissas(Engine& engine, std::span<const Shared> mantissas) {
  const Values c(mantissas.begin(), mantissas.end());
  Values y = LinearOfAll(engine, 2.828125, -1.875, c, 6, 2);
  // Bounds hold for mantissas, and with room for 0, which has e = 1.
  Values e = LinearOfAll(engine, 1, -1, Times(engine, c, y, 2), 0, 1);
  for (int power = 1; power <= 4; power *= 2) {
    auto [next_y, squares] = TimesBoth(engine, y, LinearOfAll(engine, 1, 1, e, 0, 2), 2, e, e, 1);
    y = std::move(next_y);
    e = std::move(squares);
  }
  return Times(engine, y, LinearOfAll(engine, 1, 1, e, 0, 2), 2);
}

std::vector<OfMantissa> ReciprocalParts(Engine& engine, std::span<const PositiveValue> values) {
  std::vector<Normalised> all = Normalise(engine, values, {kMantissaBits, false});
  const Values functions = ReciprocalOfMantissas(engine, MantissasOf(all, &Normalised::mantissa));
  return Join(functions, std::move(all));
}

std::vector<Shared> Reciprocal(Engine& engine, std::span<const PositiveValue> values,
                               int fraction_bits) {
  const std::vector<Normalised> all = Normalise(engine, values, {kMantissaBits, false});
  return ScaleBack(
      engine, all, ReciprocalOfMantissas(engine, MantissasOf(all, &Normalised::mantissa)),
      [](int exponent) { return std::ldexp(1.0, -exponent - 1); }, fraction_bits);
}

std::vector<Shared> InverseRoot(Engine& engine, std::span<const PositiveValue> values,
                                int fraction_bits) {
  const std::vector<Normalised> all = Normalise(engine, values);
  return InverseRootScaled(engine, all, InverseRootOfMantissas(engine, all), fraction_bits);
}

std::vector<Shared> Root(Engine& engine, std::span<const PositiveValue> values, int fraction_bits) {
  const std::vector<Normalised> all = Normalise(engine, values);
  return RootScaled(engine, all, InverseRootOfMantissas(engine, all), fraction_bits);
}

std::vector<BothRoots> RootAndInverse(Engine& engine, std::span<const PositiveValue> values,
                                      int fraction_bits) {
  const std::vector<Normalised> all = Normalise(engine, values);
  const Values of_mantissas = InverseRootOfMantissas(engine, all);
  Values roots, inverses;
  const std::vector<Task> tasks = {
      [&](Engine& e) { roots = RootScaled(e, all, of_mantissas, fraction_bits); },
      [&](Engine& e) { inverses = InverseRootScaled(e, all, of_mantissas, fraction_bits); }};
  Together(engine, tasks);
  std::vector<BothRoots> both;
  for (size_t i = 0; i < all.size(); ++i) both.push_back({roots[i], inverses[i]});
  return both;
}

}  // namespace partita::mpc
