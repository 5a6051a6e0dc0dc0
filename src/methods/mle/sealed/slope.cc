#include "methods/mle/sealed/slope.h"

#include <cmath>

#include "methods/mle/sealed/derivative.h"
#include "methods/mle/sealed/values.h"
#include "mpc/compare.h"
#include "mpc/functions/definite.h"
#include "mpc/functions/reciprocal.h"

namespace partita::methods::mle {
namespace {

using mpc::Engine;
using mpc::Shared;

// Of the observed information in units of the expected one's diagonal, near a minimum 1 or so.
constexpr double kLargestObserved = 8;
constexpr double kSmallestObservedPivot = 0x1p-17;

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

// The inverse of an observed information in units of the expected one's diagonal; zero unless it is
// positive definite and within its limit.
Shared InvertObserved(Engine& engine, const Shared& information) {
  const size_t k = information.shape.rows;
  mpc::ProductRound round(engine);
  Shared kept, inverse;
  round.Add(IsWithin(engine, information, kLargestObserved), AsRow(information), kLargestObserved,
            kept);
  round.Run();
  const mpc::DefiniteMatrix matrix{mpc::Reshape(kept, {k, k}), kSmallestObservedPivot};
  const mpc::DefiniteInverse inverted =
      mpc::InvertDefinite(engine, std::span(&matrix, 1), kSealedBits).front();
  const Shared faults = SumAll(engine, inverted.collinear, static_cast<double>(k));
  const Shared good = engine.ToRing(mpc::IsZero(engine, std::span(&faults, 1))).front();
  round.Add(good, AsRow(inverted.inverse), 1 / kSmallestObservedPivot, inverse);
  round.Run();
  return mpc::Reshape(inverse, {k, k});
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
  Shared inverse;
  if (observed) {
    inverse = InvertObserved(engine, unit_diagonal);
    slope.smallest_inflation = 1 / kLargestObserved;
  } else {
    const mpc::DefiniteMatrix matrix{unit_diagonal, kSmallestScaledPivot};
    inverse = mpc::InvertDefinite(engine, std::span(&matrix, 1), kSealedBits).front().inverse;
  }
  slope.inflation = Diagonal(engine, inverse);
  return slope;
}

}  // namespace partita::methods::mle
