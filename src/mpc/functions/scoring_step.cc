#include "mpc/functions/scoring_step.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "mpc/compare.h"
#include "mpc/functions/arithmetic.h"
#include "mpc/functions/cluster_sandwich.h"
#include "mpc/functions/information_inverse.h"
#include "mpc/functions/reciprocal.h"
#include "mpc/functions/sandwich.h"
#include "mpc/together.h"

namespace partita::mpc {
namespace {

using Kind = Product::Kind;

constexpr double kMostRoot = 0x1p14;
constexpr int kInverseRootBits = 36, kRowBits = 58, kWeightedBits = 44;
// Of entries of K of unit diagonal and of its rows on the way: 1, and room for rounding.
constexpr double kMostCorrelation = 2;
constexpr int kRowVarianceBits = 34, kVarianceBits = 50;
// Before it is multiplied by a dispersion.
constexpr double kMostPlainVariance = 0x1p14;

}  // namespace

Shared PublicPoint(Engine& engine, const std::vector<double>& values) {
  IntMatrix matrix{{values.size(), 1}, {}};
  for (const double value : values) matrix.values.push_back(EncodeFixed(value, kStepBits));
  return WithBound(engine.Public({std::move(matrix), kStepBits}), kMostCoordinate);
}

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

ScaledInformation ScaleInformation(Engine& engine, const Shared& information, const Shared& score) {
  const std::vector<PositiveValue> diagonal = {
      {DiagonalOf(engine, information), kLeastInformation}};
  ScaledInformation scaled;
  const Shared& d = scaled.scale =
      WithBound(InverseRoot(engine, diagonal, kInverseRootBits).front(), kMostRoot);
  Shared of_rows;
  ProductRound scale_rows(engine);
  scale_rows.AddCut(information, d, kMostCorrelation, kRowBits, of_rows);
  scale_rows.AddCut(score, d, score.bound * kMostRoot, kWeightedBits, scaled.weighted);
  scale_rows.Run();
  ProductRound scale_columns(engine);
  scale_columns.AddCut(engine.Transpose(of_rows), d, kMostCorrelation, kRowBits,
                       scaled.correlation);
  scale_columns.Run();
  return scaled;
}

namespace {

Shared Zero(Engine& engine) { return engine.Public({{{1, 1}, {0}}, 0}); }

Shared Sum(Engine& engine, const Shared& a, const Shared& b) {
  return WithBound(engine.Add(a, b), a.bound + b.bound);
}

// The next point, its grids and the variances within their limit.
void AddNext(Engine& engine, const NextPoint& point, const Shared& variances, SolvedStep& solved) {
  Shared limits = ConstantLike(engine, variances, kMostVariance, variances.fraction_bits);
  limits.bound = kMostVariance;
  const Shared start = PublicPoint(engine, point.from);
  const Shared next =
      WithBound(engine.Add(solved.step, start), solved.step.bound + kMostCoordinate);
  Shared within;
  GridMarks& marks = solved.marks;
  solved.beyond = Zero(engine);
  const std::vector<Task> tasks = {
      [&](Engine& e) { within = Within(e, variances, limits); },
      [&](Engine& e) { solved.next = KeepWithin(e, next, kMostCoordinate, solved.beyond); },
      [&](Engine& e) { marks = MarkErrorGrids(e, variances, point.grid_bits); }};
  Together(engine, tasks);
  const double most_reached = marks.reached.bound, most_factor = marks.factor.bound;
  ProductRound keep(engine);
  keep.Add(variances, within, variances.bound, solved.variances);
  keep.Add(marks.reached, within, most_reached, marks.reached);
  keep.Add(marks.factor, within, most_factor, marks.factor);
  keep.Run();
  solved.variances.bound = kMostVariance;
  solved.failures = Sum(engine, solved.failures, CountZeros(engine, within));
}

// Step and variances as if all columns of X were true.
void AddNumbers(Engine& engine, const ScoringSums& sums, const Shared& weighted,
                const Shared& dispersion, SolvedStep& solved) {
  const auto p = static_cast<double>(weighted.shape.rows);
  const Shared &d = solved.scale, &x = solved.inverse;
  // Of the model the diagonal of X, else of the sandwich.
  Shared diagonal_of_inverse = DiagonalOf(engine, x), all_of_inverse = x;
  solved.covariance = x;
  const bool clustered = sums.clusters.payload != nullptr;
  if (clustered || sums.meat.payload != nullptr) {
    const Sandwich sandwich =
        clustered ? SandwichOfClusters(engine, sums.clusters, sums.unit_bits, d, x, solved.failures)
                  : SandwichOf(engine, sums.meat, d, x);
    diagonal_of_inverse = KeepWithin(engine, sandwich.diagonal, kMostInflation, solved.failures);
    solved.covariance = all_of_inverse = sandwich.product;
    if (sums.covariances) {
      CutRound cut(engine);
      cut.Add(all_of_inverse, kSandwichBits, kMostSandwich);
      cut.Run();
    }
  }
  Shared direction, row_variances, row_covariances;
  ProductRound solve(engine);
  solve.AddCut(Kind::kMatrix, x, weighted, p * kMostInflation * kMostWeighted, kStepBits,
               direction);
  solve.AddCut(diagonal_of_inverse, d, kMostInflation * kMostRoot, kRowVarianceBits, row_variances);
  // Where nothing failed entries are at most what those of the diagonal are.
  if (sums.covariances) {
    solve.AddCut(WithBound(all_of_inverse, kMostInflation), d, kMostInflation * kMostRoot,
                 kRowVarianceBits, row_covariances);
  }
  solve.Run();
  // d^2 diag(X) in the unit of SE^2 / 2.
  const int exponent = -sums.unit_bits - 1;
  Shared squares;
  ProductRound scale_back(engine);
  scale_back.AddCut(direction, d, direction.bound * kMostRoot, kStepBits, solved.step);
  scale_back.AddCut(row_variances, d, row_variances.bound * kMostRoot,
                    std::max(0, kVarianceBits + exponent), squares);
  if (sums.covariances) {
    scale_back.AddCut(engine.Transpose(row_covariances), d, row_variances.bound * kMostRoot,
                      std::max(0, kCovarianceBits - sums.unit_bits), solved.covariances);
  }
  scale_back.Run();
  if (sums.covariances) {
    solved.covariances =
        WithBound(TimesPowerOfTwo(solved.covariances, -sums.unit_bits), 2 * kMostPlainVariance);
  }
  Shared variances =
      WithBound(TimesPowerOfTwo(squares, exponent), std::ldexp(squares.bound, exponent));
  if (sums.dispersion) {
    variances = KeepWithin(engine, variances, kMostPlainVariance, solved.failures);
    Shared product;
    ProductRound times(engine);
    times.AddCut(variances, dispersion, kMostPlainVariance * dispersion.bound, kVarianceBits,
                 product);
    if (sums.covariances) {
      times.AddCut(solved.covariances, dispersion, 2 * kMostPlainVariance * dispersion.bound,
                   kCovarianceBits, solved.covariances);
    }
    times.Run();
    variances = product;
  }
  if (sums.next) {
    AddNext(engine, *sums.next, variances, solved);
  } else {
    solved.variances = KeepWithin(engine, variances, kMostVariance, solved.failures);
  }
}

// All but the scaling and the order of columns.
void SolveScaled(Engine& engine, const ScoringSums& sums, const Shared& scaled,
                 const Shared& weighted, const SolvedStep* last, SolvedStep& solved) {
  const size_t columns = weighted.shape.rows;
  UncheckedInverse unchecked;
  Shared kept, dispersion, is_true;
  std::vector<Task> tasks = {
      [&](Engine& e) {
        unchecked = InvertInformation(e, scaled, last == nullptr ? nullptr : &last->inverse);
      },
      [&](Engine& e) { kept = KeepWithin(e, weighted, kMostWeighted, solved.failures); }};
  if (sums.dispersion) {
    tasks.emplace_back([&](Engine& e) {
      const Shared value = solved.dispersion = sums.dispersion(e);
      dispersion = WithBound(e.SelectRows(value, std::vector<size_t>(columns, 0)), value.bound);
    });
  }
  Together(engine, tasks);
  tasks = {[&](Engine& e) { is_true = TrueColumns(e, scaled, unchecked); },
           [&](Engine& e) {
             solved.inverse = CorrectedInverse(e, unchecked);
             AddNumbers(e, sums, kept, dispersion, solved);
           }};
  Together(engine, tasks);
  solved.failures = Sum(engine, solved.failures, CountZeros(engine, is_true));
  solved.is_true = is_true;
  ProductRound keep(engine);
  keep.Add(solved.step, is_true, solved.step.bound, solved.step);
  keep.Add(solved.variances, is_true, kMostVariance, solved.variances);
  if (sums.next) {
    GridMarks& marks = solved.marks;
    keep.Add(marks.reached, is_true, marks.reached.bound, marks.reached);
    keep.Add(marks.factor, is_true, marks.factor.bound, marks.factor);
  }
  keep.Run();
}

}  // namespace

SolvedStep SolveStep(Engine& engine, const ScoringSums& sums, const SolvedStep* last) {
  SolvedStep solved;
  solved.failures = Zero(engine);
  solved.sizes = last == nullptr ? InformationSizes(engine, DiagonalOf(engine, sums.information))
                                 : last->sizes;
  solved.scale = last == nullptr ? InformationScale(engine, solved.sizes) : last->scale;
  const Shared& d = solved.scale;
  Shared of_rows, weighted, scaled;
  ProductRound scale_rows(engine);
  scale_rows.AddCut(sums.information, d, kMostRoot, kRowBits, of_rows);
  scale_rows.AddCut(sums.score, d, sums.score.bound * kMostRoot, kWeightedBits, weighted);
  scale_rows.Run();
  ProductRound scale_columns(engine);
  scale_columns.AddCut(engine.Transpose(of_rows), d, kMostRoot * kMostRoot, kScaledInformationBits,
                       scaled);
  scale_columns.Run();

  std::vector<Task> tasks = {
      [&](Engine& e) { SolveScaled(e, sums, scaled, weighted, last, solved); }};
  Shared independent;
  if (last == nullptr)
    tasks.emplace_back([&](Engine& e) { independent = IndependentOfThoseBefore(e, scaled); });
  Together(engine, tasks);
  if (last == nullptr) {
    const Shared ones = ConstantLike(engine, independent, 1, 0);
    solved.collinear = WithBound(engine.Subtract(ones, independent), 1);
  }
  return solved;
}

}  // namespace partita::mpc
