#include "methods/mixture/root.h"

#include <cmath>
#include <vector>

#include "mpc/compare.h"
#include "mpc/functions/arithmetic.h"
#include "mpc/functions/magnitude.h"
#include "mpc/together.h"
#include "mpc/window_carries.h"

namespace partita::methods::mixture {
namespace {

using namespace mpc;  // NOLINT: arithmetic on shares, line by line

// Fraction bits: of the mantissa where it is multiplied and where it is guessed from; of the guess's
// coefficients; of powers of 2^(1/2) and of what they make of the guess; of e; of the series'
// coefficients; of a times the guess.
constexpr int kMantissaBits = 44, kGuessBits = 14, kGuessCoefficientBits = 9, kPowerBits = 44,
              kFactorBits = 46, kErrorBits = 28, kSeriesBits = 20, kScaledBits = 44;

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

// max(x, y), and for each power from the floor on whether it lies below: the value is chosen while
// its size is looked for.
Sized Larger(Engine& engine, Shared x, Shared y, const RootRange& range) {
  x.bound = y.bound = std::ldexp(1.0, range.log2_largest);
  const PowersOfTwo powers = {range.log2_floor,
                              static_cast<size_t>(range.log2_largest - range.log2_floor)};
  Sized larger;
  const std::vector<Task> tasks = {
      [&](Engine& e) {
        const SharedBits below = BelowOfLarger(e, x, y, powers);
        larger.below = e.ToRing({&below, 1})[0];
      },
      [&](Engine& e) {
        const Shared difference = e.Subtract(x, y);
        const std::vector<Shared> take_y = e.ToRing(IsNegativeInWindows(e, {&difference, 1}));
        ProductRound product(e);
        Shared step;
        product.Add(take_y[0], e.Subtract(y, x), 2 * x.bound, step);
        product.Run();
        larger.value = WithBound(e.Add(x, step), x.bound);
      }};
  Together(engine, tasks);
  return larger;
}

// c2 value^2 + c1 value + c0.
struct Quadratic {
  double c0, c1, c2;
};
Shared Evaluate(Engine& engine, const Quadratic& q, const Shared& value, const Shared& square,
                int coefficient_bits, double bound) {
  const Shared high = TimesConstant(engine, square, q.c2, coefficient_bits);
  const Shared low = TimesConstant(engine, value, q.c1, coefficient_bits);
  return PlusConstant(engine, engine.Add(high, Lift(engine, low, high.fraction_bits)), q.c0, bound);
}

// 1 - c y0^2 is within 0.0077 of 0 on [1/2, 1], and above 0 below: Remez' polynomial on the grid.
constexpr Quadratic kGuess = {1144.0 / 512, -1056.0 / 512, 425.0 / 512};
// (1 - e)^(-1/2), its cubic term spread over the others where |e| <= 0.0077.
constexpr Quadratic kSeries = {1, 0.5 + 0.3125 * 0.75 * 0.0077 * 0.0077, 0.375};

}  // namespace

Shared TimesInverseRootOfLarger(Engine& engine, const Shared& a, const Shared& x, const Shared& y,
                                const RootRange& range, int fraction_bits) {
  const Sized v = Larger(engine, x, y, range);
  const Shape shape = v.value.shape;
  const int largest = range.log2_largest;
  ProductRound products(engine);

  // c = v / 2^exponent in [1/2, 1), or [0, 1) below the floor.
  std::vector<double> to_largest;
  for (int exponent = range.log2_floor; exponent <= largest; ++exponent) {
    to_largest.push_back(std::ldexp(1.0, largest - exponent));
  }
  Shared c, guess_at, guess_square;
  products.AddTwoCuts(TimesPowerOfTwo(v.value, -largest),
                      NumberOfClass(engine, v.below, shape, to_largest, 0), 1, kMantissaBits, c,
                      kGuessBits, guess_at);
  products.Run();
  products.Add(guess_at, guess_at, 1, guess_square);
  products.Run();

  const Shared y0 = Evaluate(engine, kGuess, guess_at, guess_square, kGuessCoefficientBits, 2.25);
  const std::vector<double> roots =
      Classes(range, [](int exponent) { return std::exp2(-0.5 * exponent); });
  const Shared power = NumberOfClass(engine, v.below, shape, roots, kPowerBits);
  Shared square, guess;
  products.Add(y0, y0, 5.1, square);
  products.Add(power, y0, 2.25 * power.bound, guess);
  products.Run();

  // a times the guess is at most (a v^(-1/2)) c^(1/2) y0, and below the floor a 2^(-e/2) < 1 times y0.
  Shared e, e_square, scaled;
  const std::vector<Task> tasks = {[&](Engine& task) {
                                     ProductRound round(task);
                                     round.AddCut(c, square, 1.1, kErrorBits, e);
                                     round.Run();
                                     e = PlusConstant(task, task.Scale(e, -1), 1, 1.1);
                                     round.Add(e, e, 1.25, e_square);
                                     round.Run();
                                   },
                                   [&](Engine& task) {
                                     CutRound cut(task);
                                     cut.Add(guess, kFactorBits, guess.bound);
                                     cut.Run();
                                     ProductRound round(task);
                                     round.AddCut(a, guess, 2.3, kScaledBits, scaled);
                                     round.Run();
                                   }};
  Together(engine, tasks);

  Shared result;
  products.AddCut(scaled, Evaluate(engine, kSeries, e, e_square, kSeriesBits, 2.1), 1.25,
                  fraction_bits, result);
  products.Run();
  return result;
}

}  // namespace partita::methods::mixture
