#include "mpc/functions/inverse.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "mpc/functions/arithmetic.h"

namespace partita::mpc {
namespace {

// Together, with an inverse below 2^29.3 on the scale of 1, a weight of 8 bits and a sign, below
// the 126 bits of the ring.
constexpr int kResidualBits = 46, kInverseBits = 42;
constexpr int kWeightBits = 8, kStartBits = 20;
// With fewer fraction bits some cut would be narrow enough for a statistical mask.
constexpr int kFewestBits = 40;
// What residuals, 1 where an eigenvalue is 0, and inverses may exceed by where one is -smallest /
// 64: 1.3 and 1.2.
constexpr double kSlack = 1.5;
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

PositivePlan PlanFor(double largest, double smallest, double residual,
                     int start_bits = kStartBits) {
  PositivePlan plan;
  plan.exponent = static_cast<int>(std::ceil(std::log2(largest)));
  const double u = std::ldexp(largest, -plan.exponent), l = std::ldexp(smallest, -plan.exponent);
  plan.start = OnGrid(2 / (u + l), start_bits);
  // On [l, u] residuals lie in [-error, error]; on [0, l] in [-error, 1].
  double error = std::max(std::abs(1 - plan.start * l), std::abs(1 - plan.start * u));
  double bound = plan.start;
  plan.bounds.push_back(bound);
  while (plan.weights.empty() || error > residual) {
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
  Shared original;               // on the scale of 1, at kFewestBits or more
  int last_bits = kInverseBits;  // of the inverse after its last step
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

PositiveWork Begin(Engine& engine, const PositiveMatrix& positive, double residual) {
  CheckPositive(positive);
  PositiveWork work;
  work.plan = PlanFor(positive.largest, positive.smallest, residual);
  const Shared original = TimesPowerOfTwo(positive.matrix, -work.plan.exponent);
  work.original =
      WithBound(Lift(engine, original, std::max(original.fraction_bits, kFewestBits)), 1);
  // I - start A.
  const Shared scaled = TimesConstant(engine, work.original, -work.plan.start, kStartBits);
  work.residual = PlusIdentity(engine, WithBound(scaled, 2), 1, kSlack);
  work.inverse = ScaledIdentity(engine, positive.matrix.shape.rows, work.plan.start, kInverseBits);
  return work;
}

std::vector<PositiveWork> BeginAll(Engine& engine, std::span<const PositiveMatrix> matrices,
                                   double residual) {
  CheckCarriesFractions(engine, "inverse");
  std::vector<PositiveWork> all;
  for (const PositiveMatrix& matrix : matrices) all.push_back(Begin(engine, matrix, residual));
  return all;
}

// Of an inverse that Symmetric gives so many fraction bits.
int BitsOfHalf(const PositiveWork& work, int fraction_bits) {
  return fraction_bits - 1 - work.plan.exponent;
}

// (X + X') / 2 in the matrix's units, at one fraction bit more.
Shared Symmetric(Engine& engine, const PositiveWork& work, const Shared& inverse) {
  const Shared sum = engine.Add(inverse, engine.Transpose(inverse));
  return WithBound(TimesPowerOfTwo(sum, -work.plan.exponent - 1),
                   std::ldexp(inverse.bound, -work.plan.exponent));
}

// Step `at`: E <- (1 - w) I + w E^2 and X <- w X (I + E). The first X is a multiple of I, so that
// its product is local; the last E is not needed.
void AddStep(Engine& engine, PositiveWork& work, size_t at, ProductRound& products) {
  const double weight = work.plan.weights[at];
  const bool last = at + 1 == work.plan.weights.size();
  if (!last) {
    products.AddCut(Product::Kind::kMatrix,
                    TimesConstant(engine, work.residual, weight, kWeightBits), work.residual,
                    2 * kSlack, kResidualBits, work.next_residual);
  }
  const Shared factor = PlusIdentity(engine, work.residual, 1, 2 * kSlack);
  const Shared weighted = TimesConstant(engine, factor, weight, kWeightBits);
  const double bound = work.plan.bounds[at + 1] * kSlack;
  const int bits = last ? work.last_bits : kInverseBits;
  if (at == 0) {
    const Shared first = TimesConstant(engine, weighted, work.plan.start, kStartBits);
    products.AddCut(first, bound, bits, work.next_inverse);
  } else {
    products.AddCut(Product::Kind::kMatrix, work.inverse, weighted, bound, bits, work.next_inverse);
  }
}

void EndStep(Engine& engine, PositiveWork& work, size_t at) {
  const double weight = work.plan.weights[at];
  if (at + 1 < work.plan.weights.size())
    work.residual = PlusIdentity(engine, work.next_residual, 1 - weight, kSlack);
  work.inverse = work.next_inverse;
}

void RunSteps(Engine& engine, std::vector<PositiveWork>& all) {
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
}

// Of E = I - c J K, which is no symmetric matrix: the root of the largest condition number of J.
constexpr double kLargestSkew = 0x1p12;

struct GuessedWork {
  PositivePlan plan;
  Shared residual, solution, next_residual, next_solution;
  double bound = 0;
};

// c J K and c J R.
void BeginGuessed(Engine& engine, const GuessedSystem& system, double residual, int fraction_bits,
                  ProductRound& products, GuessedWork& work) {
  const auto& [matrix, guess, right, largest, smallest] = system;
  work.plan = PlanFor(largest, smallest, residual);
  work.bound = right.bound;
  const Shared scaled = TimesConstant(engine, TimesPowerOfTwo(guess, -work.plan.exponent),
                                      work.plan.start, kStartBits);
  products.AddCut(Product::Kind::kMatrix, scaled, matrix, kLargestSkew, kResidualBits,
                  work.next_residual);
  products.AddCut(Product::Kind::kMatrix, scaled, right, work.bound, fraction_bits, work.solution);
}

// E <- (1 - w) I + w E^2 and Z <- w (I + E) Z; the last E is not needed.
void AddGuessedStep(Engine& engine, GuessedWork& work, size_t at, int fraction_bits,
                    ProductRound& products) {
  const double weight = work.plan.weights[at];
  if (at + 1 < work.plan.weights.size()) {
    products.AddCut(Product::Kind::kMatrix,
                    TimesConstant(engine, work.residual, weight, kWeightBits), work.residual,
                    kLargestSkew, kResidualBits, work.next_residual);
  }
  const Shared factor = PlusIdentity(engine, work.residual, 1, kLargestSkew);
  products.AddCut(Product::Kind::kMatrix, TimesConstant(engine, factor, weight, kWeightBits),
                  work.solution, work.bound, fraction_bits, work.next_solution);
}

// Entry by entry: E at so many bits, and Y at what is left of the ring.
constexpr int kRangeBits = 52, kRangeProductBits = 122;
// The first E needs no cut if it has so few bits, as with a start of so few: squared and weighed it
// fits.
constexpr int kUncutBits = 57, kShortStartBits = 3;
constexpr double kLargestRange = 0x1p8;

struct RangeWork {
  PositivePlan plan;
  int bits = 0;  // of Y
  Shared residual, inverse, next_residual, next_inverse;
};

// 1 - c x, still to be cut if it has many bits, and Y = c.
RangeWork BeginRange(Engine& engine, const NumbersInRange& numbers) {
  const auto& [values, largest, smallest] = numbers;
  if (!(smallest > 0) || !(largest >= smallest) || !(largest <= smallest * kLargestRange)) {
    throw Error(ErrorCode::kBadInput,
                fmt::format("a range from {:.6g} to {:.6g}", smallest, largest),
                "state a smallest number above 0 and a largest of at most 256 times that");
  }
  RangeWork work;
  work.plan = PlanFor(largest, smallest, kRangeResidual);
  int start_bits = kStartBits;
  const PositivePlan coarse = PlanFor(largest, smallest, kRangeResidual, kShortStartBits);
  if (values.fraction_bits + coarse.exponent + kShortStartBits <= kUncutBits &&
      coarse.weights.size() <= work.plan.weights.size()) {
    work.plan = coarse;
    start_bits = kShortStartBits;
  }
  const double most = work.plan.bounds.back() * kSlack;
  work.bits =
      kRangeProductBits - kRangeBits - kWeightBits - static_cast<int>(std::ceil(std::log2(most)));
  const Shared scaled = TimesConstant(engine, TimesPowerOfTwo(values, -work.plan.exponent),
                                      -work.plan.start, start_bits);
  work.residual = PlusConstant(engine, WithBound(scaled, 1), 1, kSlack);
  return work;
}

}  // namespace

std::vector<Shared> ReciprocalInRange(Engine& engine, std::span<const NumbersInRange> numbers,
                                      int fraction_bits) {
  CheckCarriesFractions(engine, "reciprocal");
  std::vector<RangeWork> all;
  size_t steps = 0;
  CutRound first(engine);
  for (const NumbersInRange& values : numbers) {
    all.push_back(BeginRange(engine, values));
    steps = std::max(steps, all.back().plan.weights.size());
  }
  for (RangeWork& work : all) {
    if (work.residual.fraction_bits > kUncutBits) first.Add(work.residual, kRangeBits, kSlack);
  }
  first.Run();
  for (RangeWork& work : all)
    work.inverse = ConstantLike(engine, work.residual, work.plan.start, kStartBits);
  ProductRound products(engine);
  for (size_t at = 0; at < steps; ++at) {
    for (RangeWork& work : all) {
      if (at >= work.plan.weights.size()) continue;
      const double weight = work.plan.weights[at];
      const bool last = at + 1 == work.plan.weights.size();
      const Shared factor = PlusConstant(engine, work.residual, 1, 2 * kSlack);
      const int bits = last ? fraction_bits - work.plan.exponent : work.bits;
      products.AddCut(TimesConstant(engine, factor, weight, kWeightBits), work.inverse,
                      work.plan.bounds[at + 1] * kSlack, bits, work.next_inverse);
      if (last) continue;
      products.AddCut(TimesConstant(engine, work.residual, weight, kWeightBits), work.residual,
                      2 * kSlack, kRangeBits, work.next_residual);
    }
    products.Run();
    for (RangeWork& work : all) {
      if (at >= work.plan.weights.size()) continue;
      work.inverse = work.next_inverse;
      if (at + 1 < work.plan.weights.size())
        work.residual = PlusConstant(engine, work.next_residual, 1 - work.plan.weights[at], kSlack);
    }
  }
  std::vector<Shared> results;
  for (size_t i = 0; i < all.size(); ++i) {
    const Shared inverse = TimesPowerOfTwo(all[i].inverse, -all[i].plan.exponent);
    results.push_back(
        WithBound(inverse, 1.01 / numbers[i].smallest + std::ldexp(1.0, -fraction_bits)));
  }
  return results;
}

std::vector<Shared> SolveFromGuess(Engine& engine, std::span<const GuessedSystem> systems,
                                   double residual, int fraction_bits) {
  CheckCarriesFractions(engine, "solution");
  std::vector<GuessedWork> all(systems.size());
  ProductRound products(engine);
  size_t steps = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    BeginGuessed(engine, systems[i], residual, fraction_bits, products, all[i]);
    steps = std::max(steps, all[i].plan.weights.size());
  }
  products.Run();
  for (GuessedWork& work : all) {
    work.residual = PlusIdentity(engine, engine.Scale(work.next_residual, -1), 1, kLargestSkew);
  }
  for (size_t at = 0; at < steps; ++at) {
    for (GuessedWork& work : all) {
      if (at < work.plan.weights.size()) AddGuessedStep(engine, work, at, fraction_bits, products);
    }
    products.Run();
    for (GuessedWork& work : all) {
      if (at >= work.plan.weights.size()) continue;
      work.solution = work.next_solution;
      if (at + 1 < work.plan.weights.size())
        work.residual =
            PlusIdentity(engine, work.next_residual, 1 - work.plan.weights[at], kLargestSkew);
    }
  }
  std::vector<Shared> solutions;
  for (const GuessedWork& work : all) solutions.push_back(work.solution);
  return solutions;
}

int StepsFor(double largest, double smallest, double residual) {
  return static_cast<int>(PlanFor(largest, smallest, residual).weights.size());
}

std::vector<Shared> InvertPositive(Engine& engine, std::span<const PositiveMatrix> matrices,
                                   int fraction_bits) {
  std::vector<PositiveWork> all = BeginAll(engine, matrices, kCorrectedResidual);
  RunSteps(engine, all);
  // X (2 I - A X).
  ProductRound products(engine);
  for (PositiveWork& work : all) {
    products.AddCut(Product::Kind::kMatrix, work.original, work.inverse, 2 * kSlack, kResidualBits,
                    work.residual);
  }
  products.Run();
  std::vector<Shared> corrected(all.size());
  for (size_t i = 0; i < all.size(); ++i) {
    PositiveWork& work = all[i];
    const Shared factor = PlusIdentity(engine, engine.Scale(work.residual, -1), 2, 2 * kSlack);
    products.AddCut(Product::Kind::kMatrix, work.inverse, factor,
                    2 * work.plan.bounds.back() * kSlack, BitsOfHalf(work, fraction_bits),
                    corrected[i]);
  }
  products.Run();
  std::vector<Shared> inverses;
  for (size_t i = 0; i < all.size(); ++i)
    inverses.push_back(Symmetric(engine, all[i], corrected[i]));
  return inverses;
}

std::vector<Shared> InvertRoughly(Engine& engine, std::span<const PositiveMatrix> matrices,
                                  double residual, int fraction_bits) {
  if (!(residual >= kCorrectedResidual) || !(residual < 1)) {
    throw Error(ErrorCode::kUsage, "a rough inverse has a residual between 2^-22 and 1",
                "correct the method's protocol code");
  }
  std::vector<PositiveWork> all = BeginAll(engine, matrices, residual);
  for (PositiveWork& work : all) work.last_bits = BitsOfHalf(work, fraction_bits);
  RunSteps(engine, all);
  std::vector<Shared> inverses;
  for (const PositiveWork& work : all) inverses.push_back(Symmetric(engine, work, work.inverse));
  return inverses;
}

}  // namespace partita::mpc
