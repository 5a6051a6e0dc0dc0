#include "methods/mixture/root.h"

#include <cmath>
#include <vector>

#include "mpc/batch.h"
#include "mpc/functions/arithmetic.h"
#include "mpc/functions/magnitude.h"

namespace partita::methods::mixture {
namespace {

using namespace mpc;  // NOLINT: arithmetic on shares, line by line

// Fraction bits: of the mantissa where it is multiplied and where it is guessed from; of powers of
// 2^(1/2); of the series' terms; of its sum and of what that is multiplied with.
constexpr int kMantissaBits = 58, kGuessBits = 22, kPowerBits = 44, kTermBits = 50,
              kFactorBits = 46;

// A value in the shape of its column with what was found about its size.
struct Sized {
  Shared value;
  Shared below;  // planes of Magnitude as ring elements
};

std::vector<double> Classes(const RootRange& range, double (*number)(int exponent)) {
  std::vector<double> classes;
  for (int exponent = range.log2_floor; exponent <= range.log2_largest; ++exponent) {
    classes.push_back(number(exponent));
  }
  return classes;
}

// max(x, y), and for each power from the floor on whether it lies below.
Sized Larger(Engine& engine, Shared x, Shared y, const RootRange& range) {
  x.bound = y.bound = std::ldexp(1.0, range.log2_largest);
  const PowersOfTwo powers = {range.log2_floor,
                              static_cast<size_t>(range.log2_largest - range.log2_floor)};
  const Shared difference = engine.Subtract(x, y);
  const Shared values[] = {difference, x, y};
  const PowersOfTwo wanted[] = {{}, powers, powers};
  const std::vector<Magnitude> sizes = MagnitudesOf(engine, values, wanted);
  const SharedBits& take_y = sizes[0].negative;

  Batch first(engine);
  const SharedBits every = engine.SelectPlanes(take_y, std::vector<size_t>(powers.count, 0));
  const BitProduct choice = {every, engine.Xor(sizes[1].below, sizes[2].below)};
  const auto chosen = first.And({&choice, 1});
  const auto bit = first.ToRing({&take_y, 1});
  first.Flush();

  Batch second(engine);
  const SharedBits below = engine.Xor(sizes[1].below, chosen.Get()[0]);
  const auto planes = second.ToRing({&below, 1});
  const Product step = {Product::Kind::kElementwise, bit.Get()[0], engine.Subtract(y, x)};
  const auto stepped = second.Multiply({&step, 1});
  second.Flush();
  return {WithBound(engine.Add(x, stepped.Get()[0]), x.bound), planes.Get()[0]};
}

// The sum of coefficients times values, all lifted to `bits`.
Shared Combine(Engine& engine, double constant,
               std::initializer_list<std::pair<double, Shared>> terms, int bits, double bound) {
  constexpr int kCoefficientBits = 7;  // 35 / 128
  std::optional<Shared> sum;
  for (const auto& [coefficient, value] : terms) {
    const Shared term =
        Lift(engine, TimesConstant(engine, value, coefficient, kCoefficientBits), bits);
    sum = sum ? engine.Add(*sum, term) : term;
  }
  return PlusConstant(engine, *sum, constant, bound);
}

}  // namespace

Shared InverseRootOfLarger(Engine& engine, const Shared& x, const Shared& y,
                           const RootRange& range) {
  const Sized v = Larger(engine, x, y, range);
  const Shape shape = v.value.shape;
  const int largest = range.log2_largest;
  ProductRound products(engine);

  // c = v / 2^exponent in [1/2, 1), or [0, 1) below the floor.
  std::vector<double> to_largest;
  for (int exponent = range.log2_floor; exponent <= largest; ++exponent) {
    to_largest.push_back(std::ldexp(1.0, largest - exponent));
  }
  Shared c, guess_at;
  products.AddTwoCuts(TimesPowerOfTwo(v.value, -largest),
                      NumberOfClass(engine, v.below, shape, to_largest, 0), 1, kMantissaBits, c,
                      kGuessBits, guess_at);
  products.Run();

  constexpr int kGuessCoefficientBits = 8;
  const Shared y0 =
      PlusConstant(engine, TimesConstant(engine, guess_at, -208.0 / 256, kGuessCoefficientBits),
                   458.0 / 256, 1.8);
  const std::vector<double> roots =
      Classes(range, [](int exponent) { return std::exp2(-0.5 * exponent); });
  const Shared power = NumberOfClass(engine, v.below, shape, roots, kPowerBits);
  Shared square, guess;
  products.Add(y0, y0, 3.24, square);
  products.Add(power, y0, 1.8 * power.bound, guess);
  products.Run();
  Shared e;
  products.AddCut(c, square, 1.1, kTermBits, e);
  products.AddCut(guess, guess.bound, kFactorBits, guess);  // in rounds that e takes anyway
  products.Run();
  e = PlusConstant(engine, engine.Scale(e, -1), 1, 1.1);

  Shared e2, high;
  products.AddCut(e, e, 1.25, kTermBits, e2);
  products.Run();
  const int coefficient_bits = 7, term_bits = kTermBits + coefficient_bits;
  products.Add(e2, Combine(engine, 0, {{0.3125, e}, {0.2734375, e2}}, term_bits, 0.75), 1, high);
  products.Run();
  const Shared low = Combine(engine, 1, {{0.5, e}, {0.375, e2}}, high.fraction_bits, 2.1);
  Shared series = WithBound(engine.Add(low, high), 2.6);
  products.AddCut(series, 2.6, kFactorBits, series);
  products.Run();

  Shared root;
  products.AddCut(guess, series, 4.5 * power.bound, kRootBits, root);
  products.Run();
  return root;
}

}  // namespace partita::methods::mixture
