#include "methods/glm/step.h"

#include <algorithm>
#include <cmath>

#include "methods/glm/sandwich.h"
#include "mpc/compare.h"
#include "mpc/functions/arithmetic.h"
#include "mpc/functions/definite.h"
#include "mpc/functions/division.h"
#include "mpc/functions/reciprocal.h"

namespace partita::methods::glm {
namespace {

using mpc::Engine;
using mpc::Shared;
using mpc::WithBound;
using Kind = mpc::Product::Kind;

constexpr double kMostRoot = 0x1p14;
constexpr int kRootBits = 36, kCorrelationBits = 58, kWeightedBits = 44, kInverseBits = 40;
constexpr double kMostInverse = 0x1p20;
// Of entries of K and of its rows on the way: 1, and room for rounding.
constexpr double kMostCorrelation = 2;
constexpr double kMostWeighted = 32;
constexpr int kRowVarianceBits = 34, kVarianceBits = 50, kWideVarianceBits = 30;
// Before it is multiplied by a dispersion.
constexpr double kMostPlainVariance = 0x1p14;
constexpr int kDispersionBits = 30;

// Pearson's sum over n - p; p x 1.
Shared Dispersion(Engine& engine, const Task& task, const SharedSums& sums, const Shared& rows) {
  const size_t p = task.num_columns(), coefficients = task.spec.num_coefficients();
  const auto most = static_cast<double>(task.max_rows());
  const int row_bits = task.units.row_bits;
  Shared freedom = mpc::PlusConstant(engine, rows, -static_cast<double>(coefficients), most);
  freedom = WithBound(mpc::TimesPowerOfTwo(freedom, -row_bits), std::ldexp(most, -row_bits));
  // At least ten degrees of freedom and two for each column: n is at most 1.5 times that.
  const double largest = 2 * task.units.most_pearson;
  const std::vector<mpc::Quotient> quotient = {
      {sums.pearson, {freedom, std::ldexp(1.0, -row_bits)}, largest}};
  const Shared dispersion =
      WithBound(mpc::Divide(engine, quotient, kDispersionBits).front(), largest);
  return WithBound(engine.SelectRows(dispersion, std::vector<size_t>(p, 0)), largest);
}

Shared CutTo(Engine& engine, Shared value, int fraction_bits) {
  mpc::CutRound cut(engine);
  cut.Add(value, fraction_bits, value.bound);
  cut.Run();
  return value;
}

// d^2 diag(X) in the unit of SE^2 / 2.
Shared Halved(const Task& task, const Shared& squares) {
  const int exponent = -task.units.row_bits - task.units.weight_bits - 1;
  return WithBound(mpc::TimesPowerOfTwo(squares, exponent), std::ldexp(squares.bound, exponent));
}

}  // namespace

Shared CountZeros(Engine& engine, const Shared& bits) {
  const auto k = static_cast<double>(bits.shape.rows);
  const Shared ones = WithBound(engine.SumRows(bits), k);
  return WithBound(engine.Subtract(mpc::ConstantLike(engine, ones, k, 0), ones), k);
}

Shared Within(Engine& engine, const Shared& value, const Shared& limit) {
  const double most = value.bound + limit.bound;
  const std::vector<Shared> distances = {WithBound(engine.Subtract(limit, value), most),
                                         WithBound(engine.Add(limit, value), most)};
  const std::vector<mpc::SharedBits> beyond = mpc::IsNegative(engine, distances);
  // Not both are negative.
  const std::vector<mpc::SharedBits> within = {
      engine.Not(engine.Xor(beyond.front(), beyond.back()))};
  return engine.ToRing(within).front();
}

Shared KeepWithin(Engine& engine, const Shared& value, double limit, Shared& failures) {
  Shared limits = mpc::ConstantLike(engine, value, limit, value.fraction_bits);
  limits.bound = limit;
  const Shared within = Within(engine, value, limits);
  Shared kept;
  mpc::ProductRound product(engine);
  product.Add(value, within, value.bound, kept);
  product.Run();
  failures = WithBound(engine.Add(failures, CountZeros(engine, within)),
                       failures.bound + static_cast<double>(value.shape.rows));
  return WithBound(kept, limit);
}

SolvedStep SolveStep(Engine& engine, const Task& task, const SharedSums& sums, const Shared& rows) {
  const auto p = static_cast<double>(task.num_columns());
  const std::vector<mpc::PositiveValue> diagonal = {
      {Diagonal(engine, sums.information), kLeastInformation}};
  const Shared d = WithBound(mpc::InverseRoot(engine, diagonal, kRootBits).front(), kMostRoot);
  Shared of_rows, weighted;
  mpc::ProductRound scale_rows(engine);
  scale_rows.AddCut(sums.information, d, kMostCorrelation, kCorrelationBits, of_rows);
  scale_rows.AddCut(sums.score, d, sums.score.bound * kMostRoot, kWeightedBits, weighted);
  scale_rows.Run();
  Shared correlation;
  mpc::ProductRound scale_columns(engine);
  scale_columns.AddCut(engine.Transpose(of_rows), d, kMostCorrelation, kCorrelationBits,
                       correlation);
  scale_columns.Run();

  const std::vector<mpc::DefiniteMatrix> definite = {{correlation, kSmallestPivot}};
  const mpc::DefiniteInverse inverse = mpc::InvertDefinite(engine, definite, kInverseBits).front();
  const Shared x = WithBound(inverse.inverse, kMostInverse);
  SolvedStep solved;
  solved.collinear = inverse.collinear;
  solved.failures = WithBound(engine.SumRows(inverse.collinear), p);
  weighted = KeepWithin(engine, weighted, kMostWeighted, solved.failures);

  // Of the model the diagonal of X, else of the sandwich.
  Shared diagonal_of_inverse = Diagonal(engine, x);
  solved.covariance = x;
  if (task.spec.robust()) {
    const Sandwich sandwich = SandwichOf(engine, sums.meat, d, x);
    diagonal_of_inverse = KeepWithin(engine, sandwich.diagonal, kMostInverse, solved.failures);
    solved.covariance = sandwich.product;
  }
  Shared direction, row_variances;
  mpc::ProductRound solve(engine);
  solve.AddCut(Kind::kMatrix, x, weighted, p * kMostInverse * kMostWeighted, kStepBits, direction);
  solve.AddCut(diagonal_of_inverse, d, kMostInverse * kMostRoot, kRowVarianceBits, row_variances);
  solve.Run();
  Shared squares;
  mpc::ProductRound scale_back(engine);
  scale_back.AddCut(direction, d, direction.bound * kMostRoot, kStepBits, solved.step);
  scale_back.AddCut(row_variances, d, row_variances.bound * kMostRoot, kWideVarianceBits, squares);
  scale_back.Run();

  Shared variances = CutTo(engine, Halved(task, squares), kVarianceBits);
  if (TakesDispersion(task.spec)) {
    variances = KeepWithin(engine, variances, kMostPlainVariance, solved.failures);
    const Shared dispersion = Dispersion(engine, task, sums, rows);
    Shared product;
    mpc::ProductRound times(engine);
    times.AddCut(variances, dispersion, kMostPlainVariance * dispersion.bound, kVarianceBits,
                 product);
    times.Run();
    variances = product;
  }
  solved.variances = KeepWithin(engine, variances, kMostVariance, solved.failures);
  return solved;
}

}  // namespace partita::methods::glm
