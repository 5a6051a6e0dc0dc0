#include "methods/mle/sealed/slope.h"

#include <cmath>

#include "methods/mle/sealed/derivative.h"
#include "methods/mle/sealed/values.h"
#include "methods/mle/sealed/within_limit.h"
#include "mpc/compare.h"
#include "mpc/functions/inverse.h"
#include "mpc/functions/reciprocal.h"

namespace partita::methods::mle {
namespace {

using mpc::Engine;
using mpc::Shared;

// Of the observed information in units of the expected one's diagonal, near a minimum 1 or so.
constexpr double kLargestObserved = 8;
constexpr double kMostObservedInflation = 0x1p17, kMostInflation = 1 / kSmallestScaledPivot;
constexpr double kLargestUnitDiagonal = 1.001;
// Of eigenvalues, what InvertPositive can do; and of A X - I.
constexpr double kSmallestOfLargest = 0x1p-23, kLargestOfIdentity = 0x1p-20;

// 1 where every entry is within the limit, else 0; no fraction bits.
Shared IsWithin(Engine& engine, const Shared& matrix, double limit) {
  const Shared top = Bounded(Constant(engine, matrix.shape, limit));
  const std::vector<mpc::Comparison> comparisons = {
      {top, Bounded(matrix)}, {Bounded(matrix), Bounded(engine.Scale(top, -1))}};
  const std::vector<mpc::SharedBits> beyond = mpc::LessThan(engine, comparisons);
  const mpc::SharedBits either = engine.Xor(beyond[0], beyond[1]);  // never both
  const Shared violations = SumAll(engine, engine.ToRing(std::span(&either, 1)).front(),
                                   static_cast<double>(matrix.shape.size()));
  return engine.ToRing(mpc::IsZero(engine, std::span(&violations, 1))).front();
}

// The diagonal of the inverse of an information in units of the expected one's, k x 1; zero for
// parameters whose column of X has an entry beyond the limit, or of A X differs from the identity's
// by more than 2^-20: A X is about true numbers where X is bounded. So no parameter has a number
// that is not identified; where A has an eigenvalue below zero the steps of InvertPositive have
// grown far away from an inverse, and none has.
Shared InflationOf(Engine& engine, const Shared& information, double largest, double limit) {
  const size_t k = information.shape.rows;
  const double most = largest * static_cast<double>(k);
  const mpc::PositiveMatrix matrix{information, most, most * kSmallestOfLargest};
  const Shared inverse = mpc::InvertPositive(engine, std::span(&matrix, 1), kSealedBits).front();
  mpc::ProductRound round(engine);
  Shared residual, inflation;
  round.Add(mpc::Product::Kind::kMatrix, information, Bounded(inverse, limit), kLargestEntry,
            residual);
  round.Run();
  residual = PlusIdentity(engine, residual, -1, kLargestEntry);
  std::vector<std::vector<Limit>> columns;
  for (size_t c = 0; c < k; ++c) {
    const Shared of_inverse = engine.Slice(inverse, 0, c, {k, 1});
    const Shared of_residual = engine.Slice(residual, 0, c, {k, 1});
    columns.push_back({{of_inverse, limit},
                       {engine.Scale(of_inverse, -1), limit},
                       {of_residual, kLargestOfIdentity},
                       {engine.Scale(of_residual, -1), kLargestOfIdentity}});
  }
  const std::vector<Shared> good = engine.ToRing(mpc::IsZero(engine, CountBeyond(engine, columns)));
  round.Add(engine.Concatenate(good, true), Bounded(Diagonal(engine, inverse), limit), limit,
            inflation);
  round.Run();
  return inflation;
}

}  // namespace

SealedSlope SlopeAt(const SealedProblem& problem, const SealedPoint& at,
                    stats::Information information_of) {
  Engine& engine = problem.engine;
  const SealedDerivatives derivatives = DerivativesAt(problem, at, information_of);
  const bool observed = information_of == stats::Information::kObserved;

  const mpc::PositiveValue diagonal{Bounded(Diagonal(engine, derivatives.expected)),
                                    kSmallestInformation};
  const double largest = 1 / std::sqrt(kSmallestInformation);
  SealedSlope slope;
  slope.scale =
      Bounded(mpc::InverseRoot(engine, std::span(&diagonal, 1), kSealedBits).front(), largest);
  Products products(engine);
  Shared outer, unit_diagonal;
  products.Matrix(slope.scale, engine.Transpose(slope.scale), outer, largest * largest);
  products.Elementwise(derivatives.gradient, slope.scale, slope.scaled);
  products.Run();
  products.Elementwise(observed ? derivatives.observed : derivatives.expected, outer, unit_diagonal,
                       observed ? kLargestEntry : 1.125);
  products.Run();
  if (observed) {
    Shared kept;
    mpc::ProductRound round(engine);
    round.Add(IsWithin(engine, unit_diagonal, kLargestObserved), AsRow(unit_diagonal),
              kLargestObserved, kept);
    round.Run();
    kept = mpc::Reshape(kept, unit_diagonal.shape);
    slope.inflation = InflationOf(engine, kept, kLargestObserved, kMostObservedInflation);
    slope.smallest_inflation = 1 / kLargestObserved;
  } else {
    slope.inflation = InflationOf(engine, unit_diagonal, kLargestUnitDiagonal, kMostInflation);
  }
  return slope;
}

}  // namespace partita::methods::mle
