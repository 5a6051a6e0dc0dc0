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

// The inverse of an information in units of the expected one's diagonal, and of every column of it
// what has to be small: its entries, and those of A X less the identity's by 2^-20, for A X is about
// true numbers where X is bounded. So no parameter has a number that is not identified; where A has
// an eigenvalue below zero the steps of InvertPositive have grown far away from an inverse, and none
// has.
struct CheckedInverse {
  Shared inverse;
  std::vector<std::vector<Limit>> columns;
};

CheckedInverse InverseOf(Engine& engine, const Shared& information, double largest, double limit) {
  const size_t k = information.shape.rows;
  const double most = largest * static_cast<double>(k);
  const mpc::PositiveMatrix matrix{information, most, most * kSmallestOfLargest};
  CheckedInverse result;
  result.inverse = mpc::InvertPositive(engine, std::span(&matrix, 1), kSealedBits).front();
  mpc::ProductRound round(engine);
  Shared residual;
  round.Add(mpc::Product::Kind::kMatrix, information, Bounded(result.inverse, limit), kLargestEntry,
            residual);
  round.Run();
  residual = PlusIdentity(engine, residual, -1, kLargestEntry);
  for (size_t c = 0; c < k; ++c) {
    const Shared of_inverse = engine.Slice(result.inverse, 0, c, {k, 1});
    const Shared of_residual = engine.Slice(residual, 0, c, {k, 1});
    result.columns.push_back({{of_inverse, limit},
                              {engine.Scale(of_inverse, -1), limit},
                              {of_residual, kLargestOfIdentity},
                              {engine.Scale(of_residual, -1), kLargestOfIdentity}});
  }
  return result;
}

// Of the slope, all but the scale. scaled: the gradient.
void Check(Engine& engine, const CheckedInverse& checked, double limit, const Shared& scaled,
           double tolerance, const std::vector<Limit>& proof, SealedSlope& slope) {
  std::vector<std::vector<Limit>> lists = checked.columns;
  lists.push_back({{scaled, tolerance}, {engine.Scale(scaled, -1), tolerance}});
  lists.push_back(proof);
  std::vector<Shared> counts = CountBeyond(engine, lists);
  slope.faults = counts.back();
  counts.pop_back();
  for (Shared& count : counts) count = engine.Add(count, slope.faults);
  std::vector<mpc::SharedBits> none = mpc::IsZero(engine, counts);
  slope.stationary = none.back();
  none.pop_back();
  const std::vector<Shared> good = engine.ToRing(none);
  mpc::ProductRound round(engine);
  round.Add(engine.Concatenate(good, true), Bounded(Diagonal(engine, checked.inverse), limit),
            limit, slope.inflation);
  round.Run();
}

}  // namespace

SealedSlope SlopeAt(const SealedProblem& problem, const SealedPoint& at,
                    stats::Information information_of, const std::vector<Limit>& proof) {
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
  Shared outer, unit_diagonal, scaled;
  products.Matrix(slope.scale, engine.Transpose(slope.scale), outer, largest * largest);
  products.Elementwise(derivatives.gradient, slope.scale, scaled);
  products.Run();
  products.Elementwise(observed ? derivatives.observed : derivatives.expected, outer, unit_diagonal,
                       observed ? kLargestEntry : 1.125);
  products.Run();
  double largest_unit = kLargestUnitDiagonal, limit = kMostInflation;
  if (observed) {
    Shared kept;
    mpc::ProductRound round(engine);
    round.Add(IsWithin(engine, unit_diagonal, kLargestObserved), AsRow(unit_diagonal),
              kLargestObserved, kept);
    round.Run();
    unit_diagonal = mpc::Reshape(kept, unit_diagonal.shape);
    largest_unit = kLargestObserved;
    limit = kMostObservedInflation;
    slope.smallest_inflation = 1 / kLargestObserved;
  }
  Check(engine, InverseOf(engine, unit_diagonal, largest_unit, limit), limit, scaled,
        problem.model.tolerance, proof, slope);
  return slope;
}

}  // namespace partita::methods::mle
