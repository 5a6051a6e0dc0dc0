#include "methods/describe/means.h"

#include <algorithm>
#include <cmath>

#include "methods/describe/own_numbers.h"
#include "mpc/compare.h"
#include "mpc/functions/arithmetic.h"
#include "mpc/functions/division.h"
#include "mpc/functions/reciprocal.h"
#include "mpc/together.h"

namespace partita::methods::describe {
namespace {

using mpc::Engine;
using mpc::PlusConstant;
using mpc::Shared;
using mpc::WithBound;

constexpr int kResultBits = 50;
// What Divide takes of a numerator (division.h).
constexpr int kNumeratorBits = 76;
constexpr double kLargestVariance = 2, kSmallestVariance = 0x1p-36;

// n + [n < 1] and n - 1 + [n < 1] + [n < 2].
void AtLeastOne(Engine& engine, const Shared& n, double most, Shared& of_n, Shared& of_less) {
  const std::vector<Shared> below = {PlusConstant(engine, n, -1, most + 1),
                                     PlusConstant(engine, n, -2, most + 2)};
  const std::vector<Shared> bits = engine.ToRing(mpc::IsNegative(engine, below));
  of_n = WithBound(engine.Add(n, bits[0]), most);
  of_less = WithBound(engine.Add(below[0], engine.Add(bits[0], bits[1])), most);
}

}  // namespace

GridMeans MeansOnGrid(Engine& engine, const Sums& sums, double max_rows, int grid_bits) {
  const double most = std::max(max_rows, 2.0), squared = most * most;
  Shared n, less;
  AtLeastOne(engine, sums.n, most, n, less);

  Shared times_q, of_s, pairs;
  mpc::ProductRound products(engine);
  products.Add(sums.n, sums.q, squared, times_q);
  products.Add(sums.s, sums.s, squared, of_s);
  products.Add(n, less, squared, pairs);
  products.Run();
  Shared spread = WithBound(engine.Subtract(times_q, of_s), squared);
  const int bits =
      std::min(2 * kValueBits, kNumeratorBits - static_cast<int>(std::ceil(std::log2(squared))));
  if (bits < 2 * kValueBits) {
    mpc::CutRound cut(engine);
    cut.Add(spread, bits, squared);
    cut.Run();
  }

  const std::vector<mpc::Quotient> quotients = {{sums.s, {n, 1}, 1},
                                                {spread, {pairs, 1}, kLargestVariance}};
  const std::vector<Shared> divided = mpc::Divide(engine, quotients, kResultBits);
  const Shared mean = WithBound(divided[0], 1);
  const Shared variance = WithBound(divided[1], kLargestVariance);
  Shared deviation;
  mpc::GridMarks marks;
  const std::vector<mpc::Task> tasks = {
      [&](Engine& e) {
        const std::vector<mpc::PositiveValue> positive = {{variance, kSmallestVariance}};
        deviation = mpc::Root(e, positive, kResultBits).front();
      },
      [&](Engine& e) {
        // v of release_grid.h is half a variance.
        marks = mpc::MarkGrids(e, mpc::TimesPowerOfTwo(variance, -1), {grid_bits, n, most}, false)
                    .front();
      }};
  mpc::Together(engine, tasks);
  const std::vector<Shared> rounded = mpc::RoundToGrids(
      engine, {{mean, 1, marks}, {deviation, kLargestVariance, marks}}, nullptr, 0, grid_bits);
  return {marks.range, marks.reached, rounded[0], rounded[1]};
}

}  // namespace partita::methods::describe
