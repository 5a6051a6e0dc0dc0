#include "mpc/functions/definite.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "mpc/compare.h"
#include "mpc/functions/arithmetic.h"
#include "mpc/functions/logarithm.h"
#include "mpc/rules.h"

namespace partita::mpc {
namespace {

constexpr int kEntryBits = 58, kChainBits = 50, kColumnBits = 44, kGuessBits = 10;
constexpr int kThresholdsPerOctave = 16;
// Columns divided by pivots, which positive definiteness keeps below the largest variance
// inflation.
constexpr double kLargestColumn = 0x1p22;

// First guesses of reciprocals: pivot j lies in interval i if it is below threshold i + 1 and not
// below threshold i. `below` bit by bit gives the guess as a public linear form.
struct Guesses {
  PublicMatrix thresholds;  // 1 x count
  PublicMatrix weights;     // count x 1
  double last = 0;          // the guess if a pivot is below none of them
};

Guesses GuessesFrom(double smallest) {
  const int count = static_cast<int>(std::ceil(-kThresholdsPerOctave * std::log2(smallest))) + 1;
  auto threshold = [&](int i) { return smallest * std::exp2(i / double{kThresholdsPerOctave}); };
  auto guess = [&](int i) {
    return EncodeFixed(2 / (threshold(i) + threshold(i + 1)), kGuessBits);
  };
  const auto size = static_cast<size_t>(count);
  Guesses guesses{{{{1, size}, {}}, kEntryBits}, {{{size, 1}, {}}, kGuessBits}, 0};
  for (int i = 0; i < count; ++i) {
    guesses.thresholds.values.values.push_back(EncodeFixed(threshold(i), kEntryBits));
    // sum_i guess(i) (below(i + 1) - below(i)), where below(count) = 1.
    guesses.weights.values.values.push_back((i == 0 ? 0 : guess(i - 1)) - guess(i));
  }
  guesses.last = DecodeFixed(guess(count - 1), kGuessBits);
  return guesses;
}

// One matrix on its way.
struct DefiniteWork {
  int exponent = 0;     // the matrix is 2^exponent times something of at most 1
  Shared original;      // that, at its own fraction bits
  double smallest = 0;  // pivot, on that scale
  Guesses guesses;
  Shared matrix;  // what is left to do; rows and columns from the current one on for the factor
  std::vector<Shared> pivots, collinear;  // 1 x 1 each
  std::vector<Shared> columns;            // of the factor, below the diagonal

  // Of the current pivot.
  Shared column;   // before the division
  Shared divided;  // after it
  Shared error, guess;
  Shared update;
};

size_t SizeOf(const DefiniteWork& work) { return work.original.shape.rows; }

DefiniteWork BeginDefinite(const DefiniteMatrix& definite) {
  const auto& [matrix, smallest] = definite;
  const size_t size = matrix.shape.rows;
  if (size == 0 || size != matrix.shape.cols) {
    Misuse(fmt::format("a symmetric matrix has {} rows and {} columns", size, matrix.shape.cols));
  }
  DefiniteWork work;
  if (matrix.bound > 0 && std::isfinite(matrix.bound)) {
    work.exponent = static_cast<int>(std::ceil(std::log2(matrix.bound)));
  }
  work.smallest = std::ldexp(smallest, -work.exponent);
  work.original = TimesPowerOfTwo(matrix, -work.exponent);
  const int bits = work.original.fraction_bits;
  const bool fits = bits >= 0 && bits <= 80 && work.exponent <= kEntryBits;
  if (!(work.smallest >= 0x1p-22) || !(work.smallest < 1) || !fits) {
    throw Error(ErrorCode::kBadInput,
                fmt::format("a matrix of entries up to {:.6g} with {} fraction bits cannot be "
                            "inverted down to pivots of {:.6g}",
                            matrix.bound, matrix.fraction_bits, smallest),
                "state a smallest pivot between 2^-21 and 1 times the largest entry");
  }
  work.guesses = GuessesFrom(work.smallest);
  work.matrix = work.original;
  return work;
}

std::vector<DefiniteWork> BeginAll(Engine& engine, std::span<const DefiniteMatrix> matrices) {
  std::vector<DefiniteWork> all;
  for (const DefiniteMatrix& matrix : matrices) all.push_back(BeginDefinite(matrix));
  CutRound cuts(engine);
  for (DefiniteWork& work : all) cuts.Add(work.matrix, kEntryBits, 1);
  cuts.Run();
  return all;
}

using Works = std::vector<DefiniteWork*>;

// Pivot, collinearity and a guess of the reciprocal. The pivot stands at (at, at).
void GuessReciprocals(Engine& engine, const Works& works, size_t at) {
  std::vector<Comparison> comparisons;
  for (DefiniteWork* work : works) {
    const Shared pivot = WithBound(engine.Slice(work->matrix, at, at, {1, 1}), 1);
    work->pivots.push_back(pivot);
    const size_t count = work->guesses.thresholds.values.shape.cols;
    const PublicMatrix ones = {{{1, count}, std::vector<Int128>(count, 1)}, 0};
    comparisons.push_back(
        {engine.MultiplyPublic(pivot, ones), engine.Public(work->guesses.thresholds)});
  }
  const std::vector<Shared> below = engine.ToRing(LessThan(engine, comparisons));
  for (size_t i = 0; i < works.size(); ++i) {
    DefiniteWork& work = *works[i];
    work.collinear.push_back(engine.Slice(below[i], 0, 0, {1, 1}));
    const Shared sum = engine.MultiplyPublic(below[i], work.guesses.weights);
    work.guess = PlusConstant(engine, sum, work.guesses.last, 1 / work.smallest);
  }
}

// divided = column / pivot, where the pivot is the entry `at` of the column; all zero for a
// collinear one.
void DivideColumns(Engine& engine, const Works& works, size_t at) {
  ProductRound products(engine);
  for (DefiniteWork* work : works) {
    products.AddCut(Product::Kind::kMatrix, work->column, work->guess, kLargestColumn, kChainBits,
                    work->divided);
  }
  products.Run();
  for (DefiniteWork* work : works) {
    const Shared product = engine.Slice(work->divided, at, 0, {1, 1});
    work->error = PlusConstant(engine, engine.Scale(product, -1), 1, 1);
  }
  for (int power = 1; power <= 4; power *= 2) {
    for (DefiniteWork* work : works) {
      const Shared factor = PlusConstant(engine, work->error, 1, 2);
      products.AddCut(Product::Kind::kMatrix, work->divided, factor, kLargestColumn,
                      power < 4 ? kChainBits : kColumnBits, work->divided);
      if (power < 4) products.AddCut(work->error, work->error, 1, kChainBits, work->error);
    }
    products.Run();
  }
}

// update = left right^T, at the bits of entries; bound: of matrices, on the scale of 1.
void RankOneUpdates(Engine& engine, const Works& works,
                    const std::vector<std::pair<Shared, Shared>>& factors, double bound) {
  ProductRound products(engine);
  for (size_t i = 0; i < works.size(); ++i) {
    const auto& [left, right] = factors[i];
    products.AddCut(Product::Kind::kMatrix, left, engine.Transpose(right), bound, kEntryBits,
                    works[i]->update);
  }
  products.Run();
}

size_t LargestSize(const std::vector<DefiniteWork>& all) {
  size_t largest = 0;
  for (const DefiniteWork& work : all) largest = std::max(largest, SizeOf(work));
  return largest;
}

Works LongerThan(std::vector<DefiniteWork>& all, size_t step) {
  Works works;
  for (DefiniteWork& work : all) {
    if (SizeOf(work) > step) works.push_back(&work);
  }
  return works;
}

Shared Column(Engine& engine, const std::vector<Shared>& entries) {
  return engine.Concatenate(entries, true);
}

Shared InUnits(Engine& engine, const DefiniteWork& work) {
  return TimesPowerOfTwo(Column(engine, work.pivots), work.exponent);
}

Shared PublicColumn(Engine& engine, size_t rows, Int128 value, int fraction_bits) {
  return engine.Public({{{rows, 1}, std::vector<Int128>(rows, value)}, fraction_bits});
}

// Row and column `at` of a swept matrix: the divided column, and minus the reciprocal of the pivot
// where they cross. The divided column's last entry is that reciprocal.
Shared SweptMatrix(Engine& engine, const DefiniteWork& work, size_t at) {
  const size_t size = SizeOf(work), after = size - at - 1;
  const Shared rest = WithBound(engine.Subtract(work.matrix, work.update), kLargestColumn);
  const Shared column = WithBound(Lift(engine, work.divided, kEntryBits), kLargestColumn);
  auto piece = [&](const Shared& from, size_t row, size_t col, Shape shape) {
    return engine.Slice(from, row, col, shape);
  };
  auto band = [&](size_t row, size_t rows) {
    const Shared parts[] = {piece(rest, row, 0, {rows, at}), piece(column, row, 0, {rows, 1}),
                            piece(rest, row, at + 1, {rows, after})};
    return engine.Concatenate(parts, false);
  };
  const Shared across[] = {engine.Transpose(piece(column, 0, 0, {at, 1})),
                           engine.Scale(piece(column, size, 0, {1, 1}), -1),
                           engine.Transpose(piece(column, at + 1, 0, {after, 1}))};
  const Shared bands[] = {band(0, at), engine.Concatenate(across, false), band(at + 1, after)};
  return engine.Concatenate(bands, true);
}

// Sweeps pivot `at` of all.
void Sweep(Engine& engine, const Works& works, size_t at) {
  GuessReciprocals(engine, works, at);
  for (DefiniteWork* work : works) {
    const size_t size = SizeOf(*work);
    const Shared parts[] = {engine.Slice(work->matrix, 0, at, {size, 1}),
                            PublicColumn(engine, 1, Int128{1} << kEntryBits, kEntryBits)};
    work->column = engine.Concatenate(parts, true);
  }
  DivideColumns(engine, works, at);
  std::vector<std::pair<Shared, Shared>> factors;
  for (DefiniteWork* work : works) {
    const Shape shape = {SizeOf(*work), 1};
    factors.emplace_back(engine.Slice(work->divided, 0, 0, shape),
                         engine.Slice(work->column, 0, 0, shape));
  }
  RankOneUpdates(engine, works, factors, kLargestColumn);
  for (DefiniteWork* work : works) work->matrix = SweptMatrix(engine, *work, at);
}

// A X - I.
std::vector<Shared> Residuals(Engine& engine, const std::vector<DefiniteWork>& all,
                              const std::vector<Shared>& inverses) {
  std::vector<Shared> residuals(all.size());
  ProductRound products(engine);
  for (size_t i = 0; i < all.size(); ++i) {
    products.Add(Product::Kind::kMatrix, all[i].original, inverses[i], 2, residuals[i]);
  }
  products.Run();
  for (Shared& residual : residuals) {
    const size_t size = residual.shape.rows;
    const int bits = residual.fraction_bits;
    PublicMatrix identity{{residual.shape, std::vector<Int128>(size * size)}, bits};
    for (size_t k = 0; k < size; ++k) identity.values.values[k * size + k] = Int128{1} << bits;
    residual = WithBound(engine.Subtract(residual, engine.Public(identity)), 1);
  }
  return residuals;
}

// For every variable, without fraction bits: how many entries of its row of A X - I exceed 2^-17 /
// p in magnitude, and one more if its entry of the inverse's diagonal, which bounds the others,
// exceeds 1 / smallest.
std::vector<Shared> BadEntries(Engine& engine, const std::vector<DefiniteWork>& all,
                               const std::vector<Shared>& inverses) {
  const std::vector<Shared> residuals = Residuals(engine, all, inverses);
  std::vector<Shared> differences;  // three for every matrix
  for (size_t i = 0; i < all.size(); ++i) {
    const Shared& residual = residuals[i];
    const double tolerance = 0x1p-17 / static_cast<double>(SizeOf(all[i]));
    const Shared limit = ConstantLike(engine, residual, tolerance, residual.fraction_bits);
    const Shared diagonal = DiagonalOf(engine, inverses[i]);
    const Shared largest =
        ConstantLike(engine, diagonal, 1 / all[i].smallest, diagonal.fraction_bits);
    differences.push_back(OfAnySize(engine, engine.Add(residual, limit)));
    differences.push_back(OfAnySize(engine, engine.Subtract(limit, residual)));
    differences.push_back(OfAnySize(engine, engine.Subtract(largest, diagonal)));
  }
  const std::vector<Shared> bad = engine.ToRing(IsNegative(engine, differences));
  std::vector<Shared> counts;
  for (size_t i = 0; i < all.size(); ++i) {
    const auto size = static_cast<double>(SizeOf(all[i]));
    const Shared both = engine.Add(bad[3 * i], bad[3 * i + 1]);
    counts.push_back(engine.Add(SumOfRows(engine, both, 2 * size), bad[3 * i + 2]));
  }
  return counts;
}

}  // namespace

std::vector<DefiniteFactor> FactorDefinite(Engine& engine,
                                           std::span<const DefiniteMatrix> matrices) {
  std::vector<DefiniteWork> all = BeginAll(engine, matrices);
  for (size_t step = 0; step < LargestSize(all); ++step) {
    const Works works = LongerThan(all, step);
    GuessReciprocals(engine, works, 0);
    for (DefiniteWork* work : works) {
      work->column = engine.Slice(work->matrix, 0, 0, {work->matrix.shape.rows, 1});
    }
    DivideColumns(engine, works, 0);
    Works unfinished = LongerThan(all, step + 1);
    std::vector<std::pair<Shared, Shared>> factors;
    for (DefiniteWork* work : unfinished) {
      const Shape below = {work->column.shape.rows - 1, 1};
      work->columns.push_back(engine.Slice(work->divided, 1, 0, below));
      factors.emplace_back(work->columns.back(), engine.Slice(work->column, 1, 0, below));
    }
    if (unfinished.empty()) break;
    RankOneUpdates(engine, unfinished, factors, 1);
    for (DefiniteWork* work : unfinished) {
      const Shape below = {work->column.shape.rows - 1, work->column.shape.rows - 1};
      const Shared rest = engine.Slice(work->matrix, 1, 1, below);
      work->matrix = WithBound(engine.Subtract(rest, work->update), 1);
    }
  }
  std::vector<DefiniteFactor> results;
  for (DefiniteWork& work : all) {
    const size_t size = SizeOf(work);
    std::vector<Shared> columns;
    for (size_t j = 0; j < size; ++j) {
      std::vector<Shared> parts;
      if (j > 0) parts.push_back(PublicColumn(engine, j, 0, kColumnBits));
      parts.push_back(PublicColumn(engine, 1, Int128{1} << kColumnBits, kColumnBits));
      if (j + 1 < size) parts.push_back(work.columns[j]);
      columns.push_back(engine.Concatenate(parts, true));
    }
    results.push_back({engine.Concatenate(columns, false), InUnits(engine, work),
                       Column(engine, work.collinear)});
  }
  return results;
}

std::vector<DefiniteInverse> InvertDefinite(Engine& engine,
                                            std::span<const DefiniteMatrix> matrices,
                                            int fraction_bits) {
  std::vector<DefiniteWork> all = BeginAll(engine, matrices);
  for (size_t step = 0; step < LargestSize(all); ++step) {
    Sweep(engine, LongerThan(all, step), step);
  }
  std::vector<Shared> inverses, checked;
  CutRound cuts(engine);
  for (DefiniteWork& work : all) {
    // Both triangles' rounding: (X + X^T) / 2 is symmetric.
    const Shared sum = engine.Add(work.matrix, engine.Transpose(work.matrix));
    const Shared inverse = engine.Scale(TimesPowerOfTwo(sum, -1), -1);
    inverses.push_back(TimesPowerOfTwo(inverse, -work.exponent));
    checked.push_back(inverse);
  }
  for (size_t i = 0; i < all.size(); ++i) {
    const double bound = 1 / std::ldexp(all[i].smallest, all[i].exponent);
    inverses[i].bound = kLargestColumn * std::ldexp(1.0, -all[i].exponent);
    cuts.Add(inverses[i], fraction_bits, bound);
    cuts.Add(checked[i], kColumnBits, kLargestColumn);
  }
  cuts.Run();
  std::vector<Shared> counts = BadEntries(engine, all, checked);
  for (size_t i = 0; i < all.size(); ++i) {
    counts[i] = engine.Add(counts[i], Column(engine, all[i].collinear));
  }
  std::vector<SharedBits> bits = IsZero(engine, counts);
  for (SharedBits& bit : bits) bit = engine.Not(bit);
  const std::vector<Shared> collinear = engine.ToRing(bits);
  std::vector<DefiniteInverse> results;
  for (size_t i = 0; i < all.size(); ++i) {
    results.push_back({inverses[i], InUnits(engine, all[i]), collinear[i]});
  }
  return results;
}

std::vector<Shared> LogDeterminant(Engine& engine, std::span<const Pivots> all, int fraction_bits) {
  std::vector<PositiveValue> values;
  for (const Pivots& pivots : all) values.push_back({pivots.pivots, pivots.smallest_pivot});
  std::vector<Shared> results;
  for (const Shared& logs : Log(engine, values, fraction_bits)) {
    results.push_back(engine.SumRows(logs));
  }
  return results;
}

std::vector<Shared> Solve(Engine& engine, std::span<const LinearSystem> systems,
                          int fraction_bits) {
  std::vector<Shared> results(systems.size());
  ProductRound products(engine);
  for (size_t i = 0; i < systems.size(); ++i) {
    const auto& [inverse, right, largest] = systems[i];
    products.AddCut(Product::Kind::kMatrix, inverse, right, largest, fraction_bits, results[i]);
  }
  products.Run();
  for (size_t i = 0; i < systems.size(); ++i) {
    results[i].bound = systems[i].largest + std::ldexp(1.0, -fraction_bits);
  }
  return results;
}

}  // namespace partita::mpc
