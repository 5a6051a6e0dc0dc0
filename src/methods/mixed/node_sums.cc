#include "methods/mixed/node_sums.h"

#include <cmath>

#include "mpc/functions/arithmetic.h"
#include "mpc/functions/reciprocal.h"

namespace partita::methods::mixed {
namespace {

using Eigen::Index;
using mpc::Engine;
using mpc::Shared;
using mpc::WithBound;

constexpr int kSumBits = 72;
// Of a row, log(1 + n lambda) / n for lambda up to 2^10; the others at most 1.
constexpr double kMostOfRow = 8;
constexpr double kMostWeight = 128;  // of Hermite's polynomials, w being at most 4

// Row-major: a row for each sum.
std::vector<Int128> OwnSums(const Task& task, const OwnData& own) {
  const auto p = static_cast<Index>(task.num_columns());
  const std::vector<double> lambdas = task.Lambdas();
  const size_t half = NumSums(task.num_columns());
  std::vector<Int128> sums(2 * half * lambdas.size());
  const auto put = [&](size_t row, size_t node, double value) {
    sums[row * lambdas.size() + node] =
        mpc::EncodeFixed(std::ldexp(value, -task.row_bits()), kSumBits);
  };
  for (size_t k = 0; k < lambdas.size(); ++k) {
    const stats::mixed::LambdaSums at = SumsAt(own.sums, lambdas[k]);
    const double by_step = lambdas[k] * LogStep();
    size_t row = 0;
    const auto both = [&](double value, double slope) {
      put(row, k, value);
      put(half + row++, k, by_step * slope);
    };
    for (Index i = 0; i < p; ++i)
      for (Index j = i; j < p; ++j) both(at.xx(i, j), -at.xx_falls(i, j));
    for (Index i = 0; i < p; ++i) both(at.xy[i], -at.xy_falls[i]);
    both(at.yy, -at.yy_falls);
    both(at.log_determinant, at.determinant_rises);
  }
  return sums;
}

}  // namespace

Shared OverRows(Engine& engine, const Shared& value, size_t rows) {
  return engine.SelectRows(value, std::vector<size_t>(rows, 0));
}

size_t NumSums(size_t columns) { return columns * (columns + 1) / 2 + columns + 2; }

RowInverses InvertRows(Engine& engine, const Task& task, const Shared& rows) {
  // Of n over 2^row_bits.
  const int bits = task.row_bits();
  const auto in_unit = [&](const Shared& count) {
    return WithBound(mpc::TimesPowerOfTwo(count, -bits), 1);
  };
  const double p = static_cast<double>(task.num_columns());
  const Shared freedom =
      task.spec.reml() ? mpc::PlusConstant(engine, rows, -p, rows.bound + p) : rows;
  const std::vector<mpc::PositiveValue> values = {{in_unit(rows), std::ldexp(1.0, -bits)},
                                                  {in_unit(freedom), std::ldexp(1.0, -bits)}};
  const std::vector<Shared> inverses = mpc::Reciprocal(engine, values, kWeightBits);
  const auto back = [&](const Shared& inverse) {
    return WithBound(mpc::TimesPowerOfTwo(inverse, -bits), 1);
  };
  RowInverses all{back(inverses[0]), back(inverses[1]), {}};
  const Shared used =
      WithBound(engine.Scale(all.of_rows, static_cast<Int128>(task.num_columns())), 1);
  all.freedom_share = engine.Subtract(mpc::ConstantLike(engine, used, 1, used.fraction_bits), used);
  mpc::CutRound cut(engine);
  cut.Add(all.freedom_share, kWeightBits, 1);
  cut.Run();
  return all;
}

Shared ShareMeans(Engine& engine, const Task& task, const OwnData& own,
                  const RowInverses& inverses) {
  const size_t rows = 2 * NumSums(task.num_columns()), nodes = task.Lambdas().size();
  std::vector<Int128> sums;
  if (engine.self()) sums = OwnSums(task, own);
  std::vector<mpc::PrivateMatrix> inputs;
  for (const run::RowHolder& holder : task.holders) {
    inputs.push_back(run::SumsOfHolder(engine, holder, {rows, nodes}, kSumBits,
                                       std::ldexp(kMostOfRow, -task.row_bits()), sums));
  }
  const std::vector<Shared> by_holder = engine.Input(inputs);
  Shared all = by_holder.front();
  for (size_t h = 1; h < by_holder.size(); ++h) all = engine.Add(all, by_holder[h]);
  const Shared times = mpc::TimesPowerOfTwo(inverses.of_rows, task.row_bits());
  Shared means;
  mpc::ProductRound round(engine);
  round.AddCut(all, OverRows(engine, times, rows), kMostMean, kMeanBits, means);
  round.Run();
  return means;
}

Shared SumsBetween(Engine& engine, const Shared& ends, const Shared& w) {
  const size_t rows = ends.shape.rows, half = rows / 2;
  Shared square, cube;
  mpc::ProductRound first(engine), second(engine);
  first.AddCut(w, w, kMostWeight, kWeightBits, square);
  first.Run();
  second.AddCut(square, w, kMostWeight, kWeightBits, cube);
  second.Run();
  // a w + b w^2 + c w^3 + d.
  const auto polynomial = [&](int a, int b, int c, int d) {
    Shared sum = engine.Add(engine.Scale(w, a), engine.Scale(square, b));
    sum = engine.Add(sum, engine.Scale(cube, c));
    return OverRows(engine, mpc::PlusConstant(engine, sum, d, kMostWeight), half);
  };
  const auto part = [&](size_t first_row, size_t column) {
    return engine.Slice(ends, first_row, column, {half, 1});
  };
  const Shared low = part(0, 0), rise = WithBound(engine.Subtract(part(0, 1), low), kMostMean),
               low_slope = part(half, 0), high_slope = part(half, 1);
  Shared terms[6];
  mpc::ProductRound third(engine);
  const auto add = [&](size_t term, const Shared& value, const Shared& weight) {
    third.AddCut(value, weight, kMostWeight * kMostMean, kMeanBits, terms[term]);
  };
  add(0, rise, polynomial(0, 3, -2, 0));
  add(1, low_slope, polynomial(1, -2, 1, 0));
  add(2, high_slope, polynomial(0, -1, 1, 0));
  add(3, rise, polynomial(6, -6, 0, 0));
  add(4, low_slope, polynomial(-4, 3, 0, 1));
  add(5, high_slope, polynomial(-2, 3, 0, 0));
  third.Run();
  const Shared value = engine.Add(engine.Add(low, terms[0]), engine.Add(terms[1], terms[2]));
  const Shared slope = engine.Add(terms[3], engine.Add(terms[4], terms[5]));
  const std::vector<Shared> both = {WithBound(value, kMostMean), WithBound(slope, kMostMean)};
  return engine.Concatenate(both, true);
}

}  // namespace partita::methods::mixed
