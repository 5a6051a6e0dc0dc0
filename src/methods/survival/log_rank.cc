#include "methods/survival/log_rank.h"

#include <algorithm>
#include <cmath>

#include "mpc/compare.h"
#include "mpc/functions/arithmetic.h"
#include "mpc/functions/division.h"
#include "mpc/functions/inverse.h"
#include "mpc/functions/magnitude.h"
#include "mpc/functions/reciprocal.h"
#include "mpc/together.h"

namespace partita::methods::survival {
namespace {

using mpc::Engine;
using mpc::Shared;
using mpc::WithBound;
using Kind = mpc::Product::Kind;

// Scales lie on their grid, so that their products lose no digit.
constexpr int kShareBits = 40, kSumBits = 40, kTestScaleBits = 6, kCorrelationBits = 58,
              kInverseBits = 40, kTestScoreBits = 38, kSolutionBits = 40;
constexpr double kLeastTestError = 0x1p-34;
// Of a group's variance over the most rows: below it the group is never at risk beside others.
constexpr int kLeastVarianceLog2 = -34, kMostVarianceLog2 = 2;
constexpr double kLeastVariance = 0x1p-34, kMostTestScale = 0x1p17;
constexpr double kMostCorrelation = 2;
// Of the scaled matrix, whose diagonal is about 1 at most: what all eigenvalues are below, and which
// of them come out right.
constexpr double kLargestOfGroup = 1.05, kSmallestEigenvalue = 0x1p-20;

// Even, so that its half is whole.
int UnitBits(double most_rows) {
  const auto bits = static_cast<int>(std::ceil(std::log2(std::max(most_rows, 4.0))));
  return bits + bits % 2;
}

Shared Repeat(Engine& engine, const Shared& row, size_t times) {
  return engine.SelectRows(row, std::vector<size_t>(times, 0));
}

struct Moments {
  Shared differences;  // O - E, groups x 1
  Shared variance;     // groups x groups
};

Moments MomentsOf(Engine& engine, const Task& task, const RiskSets& sets, const Shared& observed) {
  const double most = std::max(task.max_rows(), 2.0);
  const size_t groups = task.spec.num_groups();
  const Shared& at_risk = sets.at_risk;
  const Shared d = mpc::SumOfRows(engine, sets.events, most);
  const Shared n = mpc::SumOfRows(engine, at_risk, most);
  const Shared of_groups =
      engine.Concatenate(std::vector<Shared>(groups, n), false);  // cells x groups
  const std::vector<mpc::Quotient> quotients = {
      {at_risk, {of_groups, 1}, 1},
      {WithBound(engine.Subtract(n, d), most), {mpc::PlusConstant(engine, n, -1, most), 1}, 2}};
  const std::vector<Shared> divided = mpc::Divide(engine, quotients, kShareBits);
  const Shared share = WithBound(divided[0], 1), beside = WithBound(divided[1], 2);

  Shared expected, weight, weighted;
  mpc::ProductRound first(engine);
  first.AddCut(Kind::kGram, share, d, most, kSumBits, expected);
  first.AddCut(d, beside, 2 * most, kSumBits, weight);
  first.Run();
  mpc::ProductRound by_group(engine);
  by_group.AddCut(share, weight, most, kSumBits, weighted);
  by_group.Run();
  Shared crossed;
  mpc::ProductRound second(engine);
  second.AddCut(Kind::kGram, share, weighted, most, kSumBits, crossed);
  second.Run();
  // The sums of w p_g on the diagonal.
  const Shared sums = WithBound(engine.SumRows(weighted), most);
  mpc::IntMatrix places{{groups, groups * groups}, std::vector<Int128>(groups * groups * groups)};
  for (size_t g = 0; g < groups; ++g) places.values[g * groups * groups + g * groups + g] = 1;
  const Shared diagonal = mpc::Reshape(
      engine.MultiplyPublic(sums, mpc::PublicMatrix{std::move(places), 0}), {groups, groups});
  Moments moments;
  moments.variance = WithBound(engine.Subtract(WithBound(diagonal, most), crossed), most);
  moments.differences = WithBound(
      engine.Subtract(mpc::Lift(engine, observed, kSumBits), WithBound(expected, most)), most);
  return moments;
}

// V + c 1 1', and ones on the diagonal of groups that are never at risk. variance: over 2^unit_bits.
Shared MadeDefinite(Engine& engine, const Shared& variance) {
  const size_t k = variance.shape.rows;
  const Shared diagonal = mpc::DiagonalOf(engine, variance);
  const std::vector<Shared> surplus = {
      mpc::PlusConstant(engine, diagonal, -kLeastVariance, diagonal.bound + 1)};
  const Shared absent = engine.ToRing(mpc::IsNegative(engine, surplus)).front();
  const Shared mean = mpc::TimesConstant(engine, WithBound(engine.SumRows(diagonal), 1),
                                         1.0 / static_cast<double>(k * k), 10);
  const int bits = mean.fraction_bits;
  const Shared everywhere = mpc::Reshape(Repeat(engine, WithBound(mean, 1), k * k), {k, k});
  std::vector<Shared> ones;
  const Shared none = engine.Subtract(absent, absent);
  for (size_t i = 0; i < k; ++i)
    for (size_t j = 0; j < k; ++j)
      ones.push_back(engine.Slice(i == j ? absent : none, i, 0, {1, 1}));
  const Shared on_diagonal =
      mpc::Lift(engine, mpc::Reshape(engine.Concatenate(ones, true), {k, k}), bits);
  const Shared sum = engine.Add(mpc::Lift(engine, variance, bits), everywhere);
  return WithBound(engine.Add(sum, on_diagonal), 3);
}

Shared ChiSquare(Engine& engine, const Shared& differences, const Shared& variance,
                 double most_rows) {
  const auto k = static_cast<double>(variance.shape.rows);
  const Shared definite = MadeDefinite(engine, variance);
  const Shared diagonal = mpc::DiagonalOf(engine, definite);
  const mpc::SizeClasses sizes =
      mpc::SizesOf(engine, diagonal, kLeastVarianceLog2, kMostVarianceLog2 - 1);
  const Shared scale =
      WithBound(mpc::PowerOfSize(engine, sizes, -0.5, kTestScaleBits), kMostTestScale);
  // No statistic of n rows is larger.
  const double most_score = 2 * std::sqrt(std::max(most_rows, 2.0));
  Shared pairs, score, scaled;
  mpc::ProductRound first(engine), second(engine);
  first.Add(Kind::kMatrix, scale, engine.Transpose(scale), kMostTestScale * kMostTestScale, pairs);
  first.AddCut(differences, scale, most_score, kTestScoreBits, score);
  first.Run();
  second.AddCut(definite, pairs, kMostCorrelation, kCorrelationBits, scaled);
  second.Run();
  // Groups that share no cell with others leave it singular, and O - E vanishes there.
  const std::vector<mpc::PositiveMatrix> matrices = {
      {scaled, kLargestOfGroup * k, kSmallestEigenvalue}};
  const Shared inverse = mpc::InvertPositive(engine, matrices, kInverseBits).front();
  const double most_solution = k * inverse.bound * most_score;
  Shared solution, chi_square;
  mpc::ProductRound solve(engine), square(engine);
  solve.AddCut(Kind::kMatrix, inverse, score, most_solution, kSolutionBits, solution);
  solve.Run();
  square.AddCut(Kind::kGram, score, solution, 4 * most_score * most_score, kSolutionBits,
                chi_square);
  square.Run();
  return WithBound(chi_square, 4 * most_score * most_score);
}

}  // namespace

GridLogRank LogRankOnGrid(Engine& engine, const Task& task, const RiskSets& sets) {
  const size_t groups = task.spec.num_groups();
  const double most = task.max_rows();
  Shared observed = mpc::Reshape(LastRow(engine, sets.events_until.front()), {groups, 1});
  for (size_t h = 1; h < sets.events_until.size(); ++h)
    observed =
        engine.Add(observed, mpc::Reshape(LastRow(engine, sets.events_until[h]), {groups, 1}));
  observed.bound = most;
  const Moments moments = MomentsOf(engine, task, sets, observed);

  GridLogRank test;
  test.unit_bits = UnitBits(most) / 2;
  const auto scaled = [&](const Shared& value, int exponent, double bound) {
    return WithBound(mpc::TimesPowerOfTwo(value, exponent), bound);
  };
  const double root = std::ldexp(1.0, test.unit_bits);
  const Shared differences = scaled(moments.differences, -test.unit_bits, root);
  const Shared variance = scaled(moments.variance, -2 * test.unit_bits, 1);
  const Shared squared = mpc::DiagonalOf(engine, variance);
  mpc::GridMarks marks;
  Shared errors, chi_square;
  const std::vector<mpc::Task> tasks = {
      [&](Engine& e) { marks = mpc::MarkErrorGrids(e, scaled(squared, -1, 1), task.grid_bits); },
      [&](Engine& e) {
        const std::vector<mpc::PositiveValue> positive = {{squared, kLeastTestError}};
        errors = WithBound(mpc::Root(e, positive, kSumBits).front(), 2);
      },
      [&](Engine& e) { chi_square = ChiSquare(e, differences, variance, most); }};
  mpc::Together(engine, tasks);
  const std::vector<Shared> rounded =
      mpc::RoundToGrids(engine, {{differences, root, marks}, {errors, 2, marks}}, &chi_square,
                        chi_square.bound, task.grid_bits);
  test.observed = observed;
  test.range = marks.range;
  test.reached = marks.reached;
  test.differences = rounded[0];
  test.errors = rounded[1];
  test.chi_square = rounded[2];
  return test;
}

}  // namespace partita::methods::survival
