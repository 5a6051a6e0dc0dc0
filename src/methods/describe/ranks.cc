#include "methods/describe/ranks.h"

#include <algorithm>
#include <cmath>

#include "mpc/compare.h"
#include "mpc/functions/arithmetic.h"
#include "mpc/functions/division.h"
#include "mpc/functions/normalise.h"
#include "mpc/functions/order.h"
#include "mpc/functions/reciprocal.h"
#include "mpc/functions/release_grid.h"
#include "mpc/together.h"

namespace partita::methods::describe {
namespace {

using mpc::Engine;
using mpc::Shape;
using mpc::Shared;
using mpc::WithBound;
using Kind = mpc::Product::Kind;

constexpr int kExactBits = 60, kInverseRootBits = 40, kScoreBits = 50, kStatisticBits = 40;
constexpr double kSmallestStatistic = 0x1p-24;

// u_k.
Shared CellRanks(Engine& engine, const Shared& tied, double most) {
  const size_t cells = tied.shape.rows;
  const Shared until = WithBound(mpc::CumulativeSums(engine, tied), most);
  const Shared all = engine.SelectRows(until, std::vector<size_t>(cells, cells - 1));
  const Shared before = WithBound(engine.Subtract(until, tied), most);
  return WithBound(engine.Subtract(engine.Add(before, until), all), most);
}

// One below the other.
struct RankSums {
  Shared rows;    // n: numbers x 1
  Shared spread;  // s: numbers x 1
  Shared sizes;   // n_g: numbers groups x 1
  Shared scores;  // d_g: numbers groups x 1
};

RankSums RankSumsOf(Engine& engine, const std::vector<Shared>& histograms, double most) {
  const size_t numbers = histograms.size();
  std::vector<Shared> ranks(numbers), weighted(numbers), scores(numbers), spreads(numbers);
  std::vector<Shared> rows, sizes;
  mpc::ProductRound by_group(engine);
  for (size_t m = 0; m < numbers; ++m) {
    const Shared& counts = histograms[m];
    const Shared tied = mpc::SumOfRows(engine, counts, most);
    ranks[m] = CellRanks(engine, tied, most);
    by_group.Add(Kind::kGram, counts, ranks[m], most * most, scores[m]);
    by_group.Add(tied, ranks[m], most * most, weighted[m]);
    rows.push_back(WithBound(engine.SumRows(tied), most));
    sizes.push_back(mpc::Reshape(WithBound(engine.SumRows(counts), most), {counts.shape.cols, 1}));
  }
  by_group.Run();
  mpc::ProductRound squared(engine);
  for (size_t m = 0; m < numbers; ++m)
    squared.Add(Kind::kGram, weighted[m], ranks[m], most * most * most, spreads[m]);
  squared.Run();
  const auto below = [&](const std::vector<Shared>& parts) {
    return engine.Concatenate(parts, true);
  };
  return {below(rows), below(spreads), below(sizes), below(scores)};
}

}  // namespace

Shared RankRoots(Engine& engine, const std::vector<Shared>& histograms, double max_rows,
                 int grid_bits) {
  const size_t numbers = histograms.size(), groups = histograms.front().shape.cols;
  const int bits = static_cast<int>(std::ceil(std::log2(std::max(max_rows, 2.0)))) + 1;
  const double most = std::ldexp(1.0, bits);
  std::vector<size_t> number_of;
  for (size_t i = 0; i < numbers * groups; ++i) number_of.push_back(i / groups);
  const RankSums sums = RankSumsOf(engine, histograms, most);

  // To units in which there is about one row.
  const std::vector<mpc::PositiveValue> rows = {{sums.rows, 1}};
  const mpc::Normalised normalised = mpc::Normalise(engine, rows).front();
  const auto power = [&](int times) {
    return mpc::WeightOfExponent(
        engine, normalised,
        [=](int exponent) { return std::ldexp(1.0, times * (bits - exponent - 1)); }, 0);
  };
  const auto of_groups = [&](const Shared& value) { return engine.SelectRows(value, number_of); };
  Shared sizes, scores, spread;
  mpc::ProductRound scale(engine);
  scale.Add(sums.sizes, of_groups(power(1)), most, sizes);
  scale.Add(sums.scores, of_groups(power(2)), std::pow(most, 2), scores);
  scale.Add(sums.spread, power(3), std::pow(most, 3), spread);
  scale.Run();
  sizes = WithBound(mpc::TimesPowerOfTwo(sizes, -bits), 1);
  scores = WithBound(mpc::TimesPowerOfTwo(scores, -2 * bits), 1);
  spread = WithBound(mpc::TimesPowerOfTwo(spread, -3 * bits), 1);
  mpc::CutRound cut(engine);
  cut.Add(scores, kExactBits, 1);
  cut.Add(spread, kExactBits, 1);
  cut.Run();

  // Two values that differ have s >= n^2 / 2.
  const double smallest = std::ldexp(1.0, -bits - 5);
  Shared varies, inverse;
  const std::vector<mpc::Task> tasks = {
      [&](Engine& e) {
        const std::vector<Shared> surplus = {mpc::PlusConstant(e, spread, -smallest, 2)};
        const std::vector<mpc::SharedBits> differ = {e.Not(mpc::IsNegative(e, surplus).front())};
        varies = e.ToRing(differ).front();
      },
      [&](Engine& e) {
        const std::vector<mpc::PositiveValue> spreads = {{spread, smallest}};
        inverse = mpc::InverseRoot(e, spreads, kInverseRootBits).front();
      }};
  mpc::Together(engine, tasks);

  Shared standardized, squared, statistic;
  mpc::ProductRound standardize(engine);
  standardize.AddCut(scores, of_groups(inverse), 1, kScoreBits, standardized);
  standardize.Run();
  mpc::ProductRound square(engine);
  square.AddCut(standardized, standardized, 1, kExactBits, squared);
  square.Run();
  const std::vector<mpc::Quotient> quotients = {{squared, {sizes, std::ldexp(1.0, -bits)}, 1}};
  const Shared shares = mpc::Divide(engine, quotients, kExactBits).front();
  const Shared explained =
      mpc::SumOfRows(engine, mpc::Reshape(WithBound(shares, 1), {numbers, groups}), 1);
  mpc::ProductRound times_rows(engine);
  times_rows.AddCut(mpc::PlusConstant(engine, sums.rows, -1, most), explained, most, kStatisticBits,
                    statistic);
  times_rows.Run();
  const std::vector<mpc::PositiveValue> statistics = {{statistic, kSmallestStatistic}};
  const double most_root = std::sqrt(most) + 1;
  const Shared root = WithBound(mpc::Root(engine, statistics, kStatisticBits).front(), most_root);
  const Shared rounded = mpc::RoundToGrids(engine, {}, &root, most_root, grid_bits).front();
  const double most_opened = std::ldexp(most_root, grid_bits) + 2;
  Shared opened;
  mpc::ProductRound show(engine);
  show.Add(mpc::PlusConstant(engine, rounded, 1, most_opened), varies, most_opened, opened);
  show.Run();
  return opened;
}

}  // namespace partita::methods::describe
