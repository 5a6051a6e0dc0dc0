#include "mpc/functions/scoring_step.h"

#include <cmath>

#include "mpc/compare.h"
#include "mpc/functions/arithmetic.h"
#include "mpc/functions/definite.h"
#include "mpc/functions/reciprocal.h"
#include "mpc/functions/sandwich.h"

namespace partita::mpc {
namespace {

using Kind = Product::Kind;

constexpr double kMostRoot = 0x1p14;
constexpr int kScaleBits = 36, kCorrelationBits = 58, kWeightedBits = 44,
              kInverseCorrelationBits = 40;
constexpr double kMostInverse = 0x1p20;
// Of entries of K and of its rows on the way: 1, and room for rounding.
constexpr double kMostCorrelation = 2;
constexpr double kMostWeighted = 32;
constexpr int kRowVarianceBits = 34, kVarianceBits = 50, kWideVarianceBits = 30;
// Before it is multiplied by a dispersion.
constexpr double kMostPlainVariance = 0x1p14;

Shared CutTo(Engine& engine, Shared value, int fraction_bits) {
  CutRound cut(engine);
  cut.Add(value, fraction_bits, value.bound);
  cut.Run();
  return value;
}

// d^2 diag(X) in the unit of SE^2 / 2.
Shared Halved(const ScoringSums& sums, const Shared& squares) {
  const int exponent = -sums.unit_bits - 1;
  return WithBound(TimesPowerOfTwo(squares, exponent), std::ldexp(squares.bound, exponent));
}

}  // namespace

Shared CountZeros(Engine& engine, const Shared& bits) {
  const auto k = static_cast<double>(bits.shape.rows);
  const Shared ones = WithBound(engine.SumRows(bits), k);
  return WithBound(engine.Subtract(ConstantLike(engine, ones, k, 0), ones), k);
}

Shared Within(Engine& engine, const Shared& value, const Shared& limit) {
  const double most = value.bound + limit.bound;
  const std::vector<Shared> distances = {WithBound(engine.Subtract(limit, value), most),
                                         WithBound(engine.Add(limit, value), most)};
  const std::vector<SharedBits> beyond = IsNegative(engine, distances);
  // Not both are negative.
  const std::vector<SharedBits> within = {engine.Not(engine.Xor(beyond.front(), beyond.back()))};
  return engine.ToRing(within).front();
}

Shared KeepWithin(Engine& engine, const Shared& value, double limit, Shared& failures) {
  Shared limits = ConstantLike(engine, value, limit, value.fraction_bits);
  limits.bound = limit;
  const Shared within = Within(engine, value, limits);
  Shared kept;
  ProductRound product(engine);
  product.Add(value, within, value.bound, kept);
  product.Run();
  failures = WithBound(engine.Add(failures, CountZeros(engine, within)),
                       failures.bound + static_cast<double>(value.shape.rows));
  return WithBound(kept, limit);
}

SolvedStep SolveStep(Engine& engine, const ScoringSums& sums) {
  const size_t columns = sums.score.shape.rows;
  const auto p = static_cast<double>(columns);
  const std::vector<PositiveValue> diagonal = {
      {DiagonalOf(engine, sums.information), kLeastInformation}};
  const Shared d = WithBound(InverseRoot(engine, diagonal, kScaleBits).front(), kMostRoot);
  Shared of_rows, weighted;
  ProductRound scale_rows(engine);
  scale_rows.AddCut(sums.information, d, kMostCorrelation, kCorrelationBits, of_rows);
  scale_rows.AddCut(sums.score, d, sums.score.bound * kMostRoot, kWeightedBits, weighted);
  scale_rows.Run();
  Shared correlation;
  ProductRound scale_columns(engine);
  scale_columns.AddCut(engine.Transpose(of_rows), d, kMostCorrelation, kCorrelationBits,
                       correlation);
  scale_columns.Run();

  const std::vector<DefiniteMatrix> definite = {{correlation, kSmallestPivot}};
  const DefiniteInverse inverse = InvertDefinite(engine, definite, kInverseCorrelationBits).front();
  const Shared x = WithBound(inverse.inverse, kMostInverse);
  SolvedStep solved;
  solved.collinear = inverse.collinear;
  solved.failures = WithBound(engine.SumRows(inverse.collinear), p);
  weighted = KeepWithin(engine, weighted, kMostWeighted, solved.failures);

  // Of the model the diagonal of X, else of the sandwich.
  Shared diagonal_of_inverse = DiagonalOf(engine, x);
  if (sums.meat.payload != nullptr) {
    diagonal_of_inverse = KeepWithin(engine, SandwichDiagonal(engine, sums.meat, d, x),
                                     kMostInverse, solved.failures);
  }
  Shared direction, row_variances;
  ProductRound solve(engine);
  solve.AddCut(Kind::kMatrix, x, weighted, p * kMostInverse * kMostWeighted, kStepBits, direction);
  solve.AddCut(diagonal_of_inverse, d, kMostInverse * kMostRoot, kRowVarianceBits, row_variances);
  solve.Run();
  Shared squares;
  ProductRound scale_back(engine);
  scale_back.AddCut(direction, d, direction.bound * kMostRoot, kStepBits, solved.step);
  scale_back.AddCut(row_variances, d, row_variances.bound * kMostRoot, kWideVarianceBits, squares);
  scale_back.Run();

  Shared variances = CutTo(engine, Halved(sums, squares), kVarianceBits);
  if (sums.dispersion.payload != nullptr) {
    variances = KeepWithin(engine, variances, kMostPlainVariance, solved.failures);
    const double most = sums.dispersion.bound;
    const Shared dispersion =
        WithBound(engine.SelectRows(sums.dispersion, std::vector<size_t>(columns, 0)), most);
    Shared product;
    ProductRound times(engine);
    times.AddCut(variances, dispersion, kMostPlainVariance * most, kVarianceBits, product);
    times.Run();
    variances = product;
  }
  solved.variances = KeepWithin(engine, variances, kMostVariance, solved.failures);
  return solved;
}

}  // namespace partita::mpc
