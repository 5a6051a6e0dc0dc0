#include "mpc/functions/inverse.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "mpc/functions/arithmetic.h"

namespace partita::mpc {
namespace {

// Together, with an inverse below 2^27 on the scale of 1, a weight of 8 bits and a sign, below the
// 126 bits of the ring.
constexpr int kResidualBits = 46, kInverseBits = 42;
constexpr int kWeightBits = 8, kStartBits = 20;
// An error of the polynomial that the last step squares away.
constexpr double kEnough = 0x1p-22;
// Rounding may leave residuals slightly beyond what they are.
constexpr double kSlack = 1 + 0x1p-10;
constexpr double kLargestRatio = 0x1p24;

// What is public about one matrix on its way: the scaling, and how far residuals may still be from
// zero on the spectrum.
struct PositivePlan {
  int exponent = 0;             // the matrix is 2^exponent times one of eigenvalues of at most 1
  double start = 0;             // X = start I
  std::vector<double> weights;  // of all steps, on the grid of kWeightBits
  std::vector<double> bounds;   // of X, before each step and after the last
};

double OnGrid(double value, int bits) {
  return std::ldexp(std::floor(std::ldexp(value, bits)), -bits);
}

PositivePlan PlanFor(double largest, double smallest) {
  PositivePlan plan;
  plan.exponent = static_cast<int>(std::ceil(std::log2(largest)));
  const double u = std::ldexp(largest, -plan.exponent), l = std::ldexp(smallest, -plan.exponent);
  plan.start = OnGrid(2 / (u + l), kStartBits);
  // On [l, u] residuals lie in [-error, error]; on [0, l] in [-error, 1].
  double error = std::max(std::abs(1 - plan.start * l), std::abs(1 - plan.start * u));
  double bound = plan.start;
  plan.bounds.push_back(bound);
  while (error > kEnough) {
    const double weight = OnGrid(2 / (2 - error * error), kWeightBits);
    plan.weights.push_back(weight);
    error = std::max(weight - 1, std::abs(1 - weight + weight * error * error));
    bound *= 2 * weight;  // where an eigenvalue is 0
    plan.bounds.push_back(bound);
  }
  return plan;
}

struct PositiveWork {
  PositivePlan plan;
  Shared original;  // on the scale of 1, at its own fraction bits
  Shared residual, inverse;
  Shared next_residual, next_inverse;
};

void CheckPositive(const PositiveMatrix& positive) {
  const auto& [matrix, largest, smallest] = positive;
  if (matrix.shape.rows == 0 || matrix.shape.rows != matrix.shape.cols) {
    throw Error(ErrorCode::kUsage,
                fmt::format("a symmetric matrix has {} rows and {} columns", matrix.shape.rows,
                            matrix.shape.cols),
                "correct the method's protocol code");
  }
  if (!(smallest > 0) || !(largest >= smallest) || !(largest <= smallest * kLargestRatio)) {
    throw Error(ErrorCode::kBadInput,
                fmt::format("a matrix of eigenvalues up to {:.6g} cannot be inverted down to "
                            "eigenvalues of {:.6g}",
                            largest, smallest),
                "state a smallest eigenvalue of at least 2^-24 times the largest");
  }
}

// constant I, rounded to the grid.
Shared ScaledIdentity(Engine& engine, size_t size, double constant, int fraction_bits) {
  PublicMatrix identity{{{size, size}, std::vector<Int128>(size * size)}, fraction_bits};
  for (size_t i = 0; i < size; ++i)
    identity.values.values[i * size + i] = EncodeFixed(constant, fraction_bits);
  return engine.Public(identity);
}

Shared PlusIdentity(Engine& engine, const Shared& matrix, double constant, double bound) {
  const Shared identity = ScaledIdentity(engine, matrix.shape.rows, constant, matrix.fraction_bits);
  return WithBound(engine.Add(matrix, identity), bound);
}

PositiveWork Begin(Engine& engine, const PositiveMatrix& positive) {
  CheckPositive(positive);
  PositiveWork work;
  work.plan = PlanFor(positive.largest, positive.smallest);
  work.original = WithBound(TimesPowerOfTwo(positive.matrix, -work.plan.exponent), 1);
  // I - start A.
  const Shared scaled = TimesConstant(engine, work.original, -work.plan.start, kStartBits);
  work.residual = PlusIdentity(engine, WithBound(scaled, 2), 1, kSlack);
  work.inverse = ScaledIdentity(engine, positive.matrix.shape.rows, work.plan.start, kInverseBits);
  return work;
}

// Step `at`: E <- (1 - w) I + w E^2 and X <- w X (I + E). The first X is a multiple of I, so that
// its product is local; the last E is not needed.
void AddStep(Engine& engine, PositiveWork& work, size_t at, ProductRound& products) {
  const double weight = work.plan.weights[at];
  if (at + 1 < work.plan.weights.size()) {
    products.AddCut(Product::Kind::kMatrix,
                    TimesConstant(engine, work.residual, weight, kWeightBits), work.residual,
                    2 * kSlack, kResidualBits, work.next_residual);
  }
  const Shared factor = PlusIdentity(engine, work.residual, 1, 2 * kSlack);
  const Shared weighted = TimesConstant(engine, factor, weight, kWeightBits);
  const double bound = work.plan.bounds[at + 1] * kSlack;
  if (at == 0) {
    work.next_inverse =
        WithBound(TimesConstant(engine, weighted, work.plan.start, kStartBits), bound);
    products.AddCut(work.next_inverse, bound, kInverseBits, work.next_inverse);
  } else {
    products.AddCut(Product::Kind::kMatrix, work.inverse, weighted, bound, kInverseBits,
                    work.next_inverse);
  }
}

void EndStep(Engine& engine, PositiveWork& work, size_t at) {
  const double weight = work.plan.weights[at];
  if (at + 1 < work.plan.weights.size())
    work.residual = PlusIdentity(engine, work.next_residual, 1 - weight, kSlack);
  work.inverse = work.next_inverse;
}

}  // namespace

int StepsFor(double largest, double smallest) {
  return static_cast<int>(PlanFor(largest, smallest).weights.size());
}

std::vector<Shared> InvertPositive(Engine& engine, std::span<const PositiveMatrix> matrices,
                                   int fraction_bits) {
  CheckCarriesFractions(engine, "inverse");
  std::vector<PositiveWork> all;
  for (const PositiveMatrix& matrix : matrices) all.push_back(Begin(engine, matrix));
  CutRound first(engine);
  for (PositiveWork& work : all) first.Add(work.residual, kResidualBits, kSlack);
  first.Run();

  size_t steps = 0;
  for (const PositiveWork& work : all) steps = std::max(steps, work.plan.weights.size());
  ProductRound products(engine);
  for (size_t at = 0; at < steps; ++at) {
    for (PositiveWork& work : all) {
      if (at < work.plan.weights.size()) AddStep(engine, work, at, products);
    }
    products.Run();
    for (PositiveWork& work : all) {
      if (at < work.plan.weights.size()) EndStep(engine, work, at);
    }
  }

  // X (2 I - A X).
  for (PositiveWork& work : all) {
    products.AddCut(Product::Kind::kMatrix, work.original, work.inverse, 2 * kSlack, kResidualBits,
                    work.residual);
  }
  products.Run();
  std::vector<Shared> inverses(all.size());
  for (size_t i = 0; i < all.size(); ++i) {
    PositiveWork& work = all[i];
    const Shared factor = PlusIdentity(engine, engine.Scale(work.residual, -1), 2, 2 * kSlack);
    products.AddCut(Product::Kind::kMatrix, TimesPowerOfTwo(work.inverse, -work.plan.exponent),
                    factor, std::ldexp(2 * work.plan.bounds.back() * kSlack, -work.plan.exponent),
                    fraction_bits, inverses[i]);
  }
  products.Run();
  return inverses;
}

}  // namespace partita::mpc
