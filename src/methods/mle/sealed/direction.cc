#include "methods/mle/sealed/direction.h"

#include <cmath>

#include "methods/mle/sealed/derivative.h"
#include "methods/mle/sealed/values.h"
#include "mpc/functions/inverse.h"
#include "mpc/functions/magnitude.h"

namespace partita::methods::mle {
namespace {

using mpc::Engine;
using mpc::Product;
using mpc::Shared;

// Of the information: l, and what the inverse may be off by.
constexpr double kDamping = 0x1p-16, kStepResidual = 0x1p-8;
// Of InvertScaled: the smallest eigenvalue, a variable, that comes out right.
constexpr double kSmallestOfUnit = 0x1p-16;
// Sizes of a diagonal, and the scales that make it at most kLargestUnit.
constexpr mpc::PowersOfTwo kSizes = {-20, 50};
constexpr int kScaleBits = 27;
constexpr double kLargestScale = 0x1p10, kLargestUnit = 1.001;
// Y is shortened, so that D H D may be up to 2.4 times as large as D I D; sizes that an observed
// information has where it is positive definite and Y near its inverse.
constexpr double kShortened = 13.0 / 16;
constexpr int kShortenedBits = 4;
constexpr double kLargestObservedSquares = 0x1p12, kLargestOfInverseSquares = 16,
                 kLargestPowerSquares = 0.81;
constexpr double kLargestOfInverse = 0x1p23;                 // I - a Y D H D
constexpr double kLargestPowers[] = {0x1p4, 0x1p8, 0x1p16};  // of an E with |E|^2 < 16

static_assert(kDirectionBits == kSealedBits + kScaleBits);

// 2^(-e/2) for entries from 2^(e-1) to 2^e; 0 for entries below kSizes, of parameters that move
// nothing, or beyond.
std::vector<Shared> ScalesOf(Engine& engine, const std::vector<Shared>& diagonals) {
  const std::vector<mpc::PowersOfTwo> sizes(diagonals.size(), kSizes);
  std::vector<mpc::SharedBits> below;
  for (mpc::Magnitude& magnitude : mpc::MagnitudesOf(engine, diagonals, sizes))
    below.push_back(std::move(magnitude.below));
  std::vector<double> scales(kSizes.count + 1, 0);
  for (size_t i = 1; i < kSizes.count; ++i)
    scales[i] = std::exp2(-0.5 * (kSizes.first + static_cast<double>(i)));
  const std::vector<Shared> classes = engine.ToRing(below);
  std::vector<Shared> all;
  for (size_t i = 0; i < classes.size(); ++i) {
    all.push_back(mpc::NumberOfClass(engine, classes[i], diagonals[i].shape, scales, kScaleBits));
  }
  return all;
}

// D D'.
void AddOuter(Engine& engine, mpc::ProductRound& round, const Shared& scale, Shared& outer) {
  round.Add(Product::Kind::kMatrix, scale, engine.Transpose(scale), kLargestScale * kLargestScale,
            outer);
}

// (D I D + l I)^-1, about.
Shared InvertUnit(Engine& engine, const Shared& unit) {
  const double size = static_cast<double>(unit.shape.rows), damping = kDamping * size;
  const mpc::PositiveMatrix matrix{PlusIdentity(engine, unit, damping, 2),
                                   kLargestUnit * size + damping, damping};
  return mpc::InvertRoughly(engine, std::span(&matrix, 1), kStepResidual, kSealedBits).front();
}

// In units of `scale`.
struct StepParts {
  Shared scale;     // D, k x 1
  Shared gradient;  // D g
  Shared inverse;   // Y
  Shared observed;  // D H D, where asked for
};

StepParts PartsOf(const SealedProblem& problem, const SealedPoint& at,
                  stats::Information information) {
  Engine& engine = problem.engine;
  const SealedDerivatives derivatives = DerivativesAt(problem, at, information);
  StepParts parts;
  parts.scale = ScalesOf(engine, {Bounded(Diagonal(engine, derivatives.expected))}).front();
  mpc::ProductRound round(engine);
  Shared outer, unit;
  AddOuter(engine, round, parts.scale, outer);
  round.Add(derivatives.gradient, parts.scale, kLargestEntry, parts.gradient);
  round.Run();
  round.AddCut(derivatives.expected, outer, 1.125, kSealedBits, unit);
  round.AddCut(parts.gradient, kLargestEntry, kSealedBits, parts.gradient);
  if (information == stats::Information::kObserved)
    round.AddCut(derivatives.observed, outer, kLargestEntry, kSealedBits, parts.observed);
  round.Run();
  parts.inverse = InvertUnit(engine, unit);
  return parts;
}

// Both directions in units of D: scoring's beside the first of Newton's rounds.
void Solve(Engine& engine, const StepParts& parts, SealedDirections& directions) {
  mpc::ProductRound round(engine);
  const Shared inverse = mpc::TimesConstant(engine, parts.inverse, kShortened, kShortenedBits);
  const bool newton = parts.observed.shape.size() > 0;
  Shared power, next, residual, observed;
  round.AddCut(Product::Kind::kMatrix, parts.inverse, parts.gradient, kLargestEntry, kSealedBits,
               directions.scoring);
  if (newton) {
    round.AddCut(Product::Kind::kMatrix, inverse, parts.observed, kLargestOfInverse, kSealedBits,
                 power);
  }
  round.Run();
  if (!newton) return;

  power = PlusIdentity(engine, engine.Scale(power, -1), 1, 2 * kLargestOfInverse);
  Shared solved = mpc::TimesConstant(engine, directions.scoring, kShortened, kShortenedBits);
  round.AddCut(power, 2 * kLargestOfInverse, kCoarseBits, residual);
  round.AddCut(parts.observed, kLargestEntry, kCoarseBits, observed);
  for (const double bound : kLargestPowers) {
    round.AddCut(Product::Kind::kMatrix, PlusIdentity(engine, power, 1, 2 * power.bound), solved,
                 kLargestEntry, kSealedBits, solved);
    round.AddCut(Product::Kind::kMatrix, power, power, bound, kSealedBits, next);
    round.Run();
    power = next;
  }
  round.AddCut(Product::Kind::kMatrix, PlusIdentity(engine, power, 1, 2 * power.bound), solved,
               kLargestEntry, kSealedBits, directions.newton);
  round.Add(observed, observed, kLargestEntry * kLargestEntry, observed);
  round.Add(residual, residual, 4 * kLargestOfInverse * kLargestOfInverse, residual);
  round.Add(power, power, power.bound, power);
  round.Run();
  directions.proof = {{SumAll(engine, observed, observed.bound), kLargestObservedSquares},
                      {SumAll(engine, residual, residual.bound), kLargestOfInverseSquares},
                      {SumAll(engine, power, power.bound), kLargestPowerSquares}};
}

}  // namespace

SealedDirections DirectionsAt(const SealedProblem& problem, const SealedPoint& at,
                              stats::Information information) {
  Engine& engine = problem.engine;
  const StepParts parts = PartsOf(problem, at, information);
  SealedDirections directions;
  Solve(engine, parts, directions);
  mpc::ProductRound round(engine);
  round.Add(directions.scoring, parts.scale, kLargestEntry, directions.scoring);
  if (information == stats::Information::kObserved)
    round.Add(directions.newton, parts.scale, kLargestEntry, directions.newton);
  round.Run();
  return directions;
}

std::vector<Shared> InvertScaled(Engine& engine, const std::vector<Shared>& matrices) {
  std::vector<Shared> diagonals;
  for (const Shared& matrix : matrices) diagonals.push_back(Bounded(Diagonal(engine, matrix)));
  const std::vector<Shared> scales = ScalesOf(engine, diagonals);
  mpc::ProductRound round(engine);
  std::vector<Shared> outers(matrices.size()), units(matrices.size()), inverses(matrices.size());
  for (size_t i = 0; i < matrices.size(); ++i) AddOuter(engine, round, scales[i], outers[i]);
  round.Run();
  for (size_t i = 0; i < matrices.size(); ++i)
    round.AddCut(matrices[i], outers[i], 1.125, kSealedBits, units[i]);
  round.Run();
  std::vector<mpc::PositiveMatrix> scaled;
  for (const Shared& unit : units) {
    const double size = static_cast<double>(unit.shape.rows);
    scaled.push_back({unit, kLargestUnit * size, kSmallestOfUnit * size});
  }
  const std::vector<Shared> found = mpc::InvertPositive(engine, scaled, kSealedBits);
  for (size_t i = 0; i < matrices.size(); ++i)
    round.AddCut(found[i], outers[i], kLargestEntry, kSealedBits, inverses[i]);
  round.Run();
  return inverses;
}

}  // namespace partita::methods::mle
