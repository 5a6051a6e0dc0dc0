#include "mpc/functions/information_inverse.h"

#include <cmath>
#include <vector>

#include "mpc/compare.h"
#include "mpc/functions/arithmetic.h"
#include "mpc/functions/inverse.h"

namespace partita::mpc {
namespace {

constexpr int kScaleBits = 36, kInformationResidualBits = 46;
constexpr double kLargestRelative = 1.001, kSmallestRelative = 0x1p-22, kFirstResidual = 0x1p-22;
constexpr double kMostGrowth = 0x1p5, kLaterResidual = 0x1p-30;
constexpr double kMostOfIdentity = 0x1p-12, kMostOfScaled = 0x1p6;
// Whatever F is, it is cut as if it were within the ring.
constexpr double kAnyResidual = 0x1p34;

Shared UnitMatrix(Engine& engine, size_t size, int fraction_bits) {
  PublicMatrix identity{{{size, size}, std::vector<Int128>(size * size)}, fraction_bits};
  for (size_t i = 0; i < size; ++i)
    identity.values.values[i * size + i] = Int128{1} << fraction_bits;
  return engine.Public(identity);
}

// limit - value and limit + value, to be compared with zero at any size.
void AddDistances(Engine& engine, const Shared& value, double limit, std::vector<Shared>& all) {
  const Shared limits = ConstantLike(engine, value, limit, value.fraction_bits);
  all.push_back(OfAnySize(engine, engine.Subtract(limits, value)));
  all.push_back(OfAnySize(engine, engine.Add(limits, value)));
}

// Of pairs of such distances, by column how many are negative: 1 x cols for each pair.
std::vector<Shared> CountBeyond(Engine& engine, const std::vector<Shared>& distances) {
  const std::vector<SharedBits> negative = IsNegative(engine, distances);
  std::vector<SharedBits> either;  // never both
  for (size_t i = 0; i < negative.size(); i += 2)
    either.push_back(engine.Xor(negative[i], negative[i + 1]));
  std::vector<Shared> counts = engine.ToRing(either);
  for (size_t i = 0; i < counts.size(); ++i) {
    counts[i].shape = distances[2 * i].shape;
    counts[i] = engine.SumRows(counts[i]);
  }
  return counts;
}

// Of unit diagonals or nearly.
std::vector<Shared> InvertFirst(Engine& engine, std::span<const Shared> scaled) {
  std::vector<PositiveMatrix> matrices;
  for (const Shared& matrix : scaled) {
    const auto size = static_cast<double>(matrix.shape.rows);
    matrices.push_back({matrix, kLargestRelative * size, kSmallestRelative * size});
  }
  return InvertRoughly(engine, matrices, kFirstResidual, kInformationInverseBits);
}

}  // namespace

SizeClasses InformationSizes(Engine& engine, const Shared& diagonal) {
  return SizesOf(engine, diagonal, kLeastInformationLog2, 0);
}

Shared InformationScale(Engine& engine, const SizeClasses& sizes) {
  return PowerOfSize(engine, sizes, -0.5, kScaleBits);
}

UncheckedInverse InvertInformation(Engine& engine, const Shared& scaled, const Shared* last) {
  const size_t size = scaled.shape.rows;
  UncheckedInverse result;
  if (last == nullptr) {
    result.inverse = InvertFirst(engine, {&scaled, 1}).front();
  } else {
    const GuessedSystem system = {scaled, *last,
                                  WithBound(UnitMatrix(engine, size, 0), 2 * kMostInflation),
                                  kMostGrowth, 1 / kMostGrowth};
    result.inverse =
        SolveFromGuess(engine, {&system, 1}, kLaterResidual, kInformationInverseBits).front();
  }
  ProductRound round(engine);
  round.Add(Product::Kind::kMatrix, scaled, result.inverse, kAnyResidual, result.residual);
  round.Run();
  const Shared identity = UnitMatrix(engine, size, result.residual.fraction_bits);
  result.residual = WithBound(engine.Subtract(result.residual, identity), kAnyResidual);
  return result;
}

Shared CorrectedInverse(Engine& engine, const UncheckedInverse& inverse) {
  Shared residual = inverse.residual, correction;
  CutRound cut(engine);
  cut.Add(residual, kInformationResidualBits, kAnyResidual);
  cut.Run();
  ProductRound round(engine);
  round.AddCut(Product::Kind::kMatrix, inverse.inverse, residual, kMostInflation,
               kInformationInverseBits, correction);
  round.Run();
  return WithBound(engine.Subtract(inverse.inverse, correction), kMostInflation);
}

Shared CountBeyondLimits(Engine& engine, const Shared& scaled, const UncheckedInverse& inverse) {
  const size_t size = scaled.shape.rows;
  const auto p = static_cast<double>(size);
  std::vector<Shared> distances;
  AddDistances(engine, inverse.residual, kMostOfIdentity / p, distances);
  AddDistances(engine, inverse.inverse, kMostInflation, distances);
  AddDistances(engine, DiagonalOf(engine, scaled), kMostOfScaled, distances);
  const std::vector<Shared> beyond = CountBeyond(engine, distances);  // by column, the last in all
  const Shared of_columns = engine.Add(beyond[0], beyond[1]);
  const Shared of_diagonal = engine.SelectRows(beyond[2], std::vector<size_t>(size, 0));
  return WithBound(engine.Add(engine.Transpose(of_columns), of_diagonal), 6 * p);
}

Shared TrueColumns(Engine& engine, const Shared& scaled, const UncheckedInverse& inverse) {
  const Shared counts = CountBeyondLimits(engine, scaled, inverse);
  return engine.ToRing(IsZero(engine, {&counts, 1})).front();
}

Shared IndependentOfThoseBefore(Engine& engine, const Shared& scaled) {
  const size_t size = scaled.shape.rows;
  std::vector<Shared> blocks, columns(size), residuals(size), distances;
  for (size_t j = 1; j <= size; ++j) blocks.push_back(engine.Slice(scaled, 0, 0, {j, j}));
  const std::vector<Shared> inverses = InvertFirst(engine, blocks);
  ProductRound round(engine);
  for (size_t j = 0; j < size; ++j) {
    columns[j] = engine.Slice(inverses[j], 0, j, {j + 1, 1});
    round.Add(Product::Kind::kMatrix, blocks[j], columns[j], kAnyResidual, residuals[j]);
  }
  round.Run();
  for (size_t j = 0; j < size; ++j) {
    const Shared unit =
        engine.Slice(UnitMatrix(engine, j + 1, residuals[j].fraction_bits), 0, j, {j + 1, 1});
    const Shared residual = engine.Subtract(residuals[j], unit);
    AddDistances(engine, residual, kMostOfIdentity / static_cast<double>(size), distances);
    AddDistances(engine, columns[j], kMostInflation, distances);
  }
  const std::vector<Shared> beyond = CountBeyond(engine, distances);
  std::vector<Shared> counts;
  for (size_t j = 0; j < size; ++j) counts.push_back(engine.Add(beyond[2 * j], beyond[2 * j + 1]));
  const Shared all = WithBound(engine.Concatenate(counts, true), 4 * static_cast<double>(size));
  return engine.ToRing(IsZero(engine, {&all, 1})).front();
}

}  // namespace partita::mpc
