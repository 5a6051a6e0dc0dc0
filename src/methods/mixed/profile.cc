#include "methods/mixed/profile.h"

#include "mpc/functions/arithmetic.h"
#include "mpc/functions/division.h"
#include "mpc/functions/information_inverse.h"
#include "mpc/functions/inverse.h"
#include "mpc/functions/reciprocal.h"

namespace partita::methods::mixed {
namespace {

using mpc::Engine;
using mpc::Shared;
using mpc::WithBound;

// Of entries of K, S, g and what they are made of on the way: 1, and room for rounding.
constexpr double kMostScaled = 2;
constexpr int kScaledRowBits = 64, kSolutionBits = 44, kSlopeBits = 58;
constexpr double kMostSolution = 0x1p11;  // the root of the largest variance inflation, times g
constexpr double kLargestRelative = 1.001, kSmallestRelative = 0x1p-22;
constexpr double kMostRatio = 2, kMostSlope = 4;

// Of the p^2 entries of a matrix: its place in the upper triangle, its row, its column.
struct Places {
  std::vector<size_t> triangle, row, column, diagonal;
};
Places PlacesOf(size_t p) {
  Places places;
  for (size_t i = 0; i < p; ++i) {
    for (size_t j = 0; j < p; ++j) {
      const size_t low = std::min(i, j), high = std::max(i, j);
      places.triangle.push_back(low * p - low * (low + 1) / 2 + high);
      places.row.push_back(i);
      places.column.push_back(j);
    }
    places.diagonal.push_back(i * p - i * (i + 1) / 2 + i);
  }
  return places;
}

// Sums of every p rows of p^2.
Shared SumOverColumns(Engine& engine, const Shared& entries, size_t p, double bound) {
  mpc::PublicMatrix sums{{{p, p * p}, std::vector<Int128>(p * p * p, 0)}, 0};
  for (size_t i = 0; i < p; ++i)
    for (size_t j = 0; j < p; ++j) sums.values.values[i * p * p + i * p + j] = 1;
  return WithBound(engine.MultiplyPublic(sums, entries), bound);
}

Shared Total(Engine& engine, const Shared& entries, double bound) {
  return WithBound(engine.SumRows(entries), bound);
}

size_t ColumnsOf(const ScaledSums& sums) { return sums.scale.shape.rows; }

// D + T / n, of ML D; at kSlopeBits. falls: R' nu / n, at kMeanBits, if asked for.
struct OwnSlope {
  Shared determinants, falls;
};
OwnSlope OwnSlopeOf(Engine& engine, const Task& task, const SlopeParts& parts,
                    const RowNumbers& numbers) {
  OwnSlope slope;
  mpc::ProductRound round(engine);
  Shared of_trace;
  round.AddCut(parts.determinant_slope, kMostScaled, kSlopeBits, slope.determinants);
  if (task.spec.reml()) {
    round.AddCut(parts.trace, numbers.inverses.of_rows, parts.trace.bound, kSlopeBits, of_trace);
    round.AddCut(parts.falls, numbers.inverses.freedom_share, kMostScaled, kSlopeBits, slope.falls);
  } else {
    round.AddCut(parts.falls, kMostScaled, kSlopeBits, slope.falls);
  }
  round.Run();
  if (task.spec.reml()) {
    slope.determinants =
        WithBound(engine.Add(slope.determinants, of_trace), kMostScaled + of_trace.bound);
  }
  return slope;
}

}  // namespace

ScaledSums Scale(Engine& engine, size_t p, const Shared& means) {
  const Places places = PlacesOf(p);
  const size_t triangle = p * (p + 1) / 2, half = means.shape.rows / 2;
  const auto rows = [&](size_t first, size_t count) {
    return WithBound(engine.Slice(means, first, 0, {count, means.shape.cols}), kMostScaled);
  };
  const Shared packed = rows(0, triangle), packed_slopes = rows(half, triangle);
  ScaledSums sums;
  sums.square = rows(triangle + p, 1);
  sums.square_slope = rows(half + triangle + p, 1);
  sums.determinant_slope = rows(half + triangle + p + 1, 1);
  const std::vector<mpc::PositiveValue> diagonals = {
      {engine.SelectRows(packed, places.diagonal), kLeastDiagonal}};
  sums.scale = WithBound(mpc::InverseRoot(engine, diagonals, kScaleBits).front(), kMostScale);
  const Shared of_row = engine.SelectRows(sums.scale, places.row),
               of_column = engine.SelectRows(sums.scale, places.column);
  Shared by_row, slopes_by_row;
  mpc::ProductRound first(engine);
  first.AddCut(engine.SelectRows(packed, places.triangle), of_row, kMostScaled, kScaledRowBits,
               by_row);
  first.AddCut(engine.SelectRows(packed_slopes, places.triangle), of_row, kMostScaled,
               kScaledRowBits, slopes_by_row);
  first.AddCut(rows(triangle, p), sums.scale, kMostScaled, kFineBits, sums.fine_right);
  first.AddCut(rows(half + triangle, p), sums.scale, kMostScaled, kFineBits, sums.right_slopes);
  first.Run();
  mpc::ProductRound second(engine);
  second.AddTwoCuts(by_row, of_column, kMostScaled, kFineBits, sums.fine_correlation,
                    mpc::kScaledInformationBits, sums.correlation);
  second.AddTwoCuts(slopes_by_row, of_column, kMostScaled, kFineBits, sums.fine_slopes,
                    kProfileBits, sums.slopes);
  second.AddCut(sums.fine_right, kMostScaled, kProfileBits, sums.right);
  second.Run();
  return sums;
}

Shared CorrelationOf(Engine& engine, const ScaledSums& sums, size_t node) {
  const size_t p = ColumnsOf(sums);
  return mpc::Reshape(engine.Slice(sums.correlation, 0, node, {p * p, 1}), {p, p});
}

Profile ProfileOf(Engine& engine, const ScaledSums& sums, bool leading_blocks) {
  const size_t p = ColumnsOf(sums), nodes = sums.scale.shape.cols;
  const Places places = PlacesOf(p);
  std::vector<mpc::PositiveMatrix> matrices;
  const auto add = [&](const Shared& matrix) {
    const auto size = static_cast<double>(matrix.shape.rows);
    matrices.push_back({matrix, kLargestRelative * size, kSmallestRelative * size});
  };
  for (size_t node = 0; node < nodes; ++node) add(CorrelationOf(engine, sums, node));
  for (size_t block = 1; leading_blocks && block < p; ++block)
    add(engine.Slice(CorrelationOf(engine, sums, 0), 0, 0, {block, block}));
  const std::vector<Shared> inverses =
      mpc::InvertPositive(engine, matrices, mpc::kInformationInverseBits);
  Profile profile;
  std::vector<Shared> columns;
  for (size_t node = 0; node < nodes; ++node)
    columns.push_back(mpc::Reshape(inverses[node], {p * p, 1}));
  profile.inverse = engine.Concatenate(columns, false);
  if (leading_blocks) {
    std::vector<Shared> last;
    for (size_t block = 1; block <= p; ++block) {
      const Shared& inverse = block == p ? inverses.front() : inverses[block];
      last.push_back(
          WithBound(engine.Slice(inverse, block - 1, block - 1, {1, 1}), 2 * mpc::kMostInflation));
    }
    profile.leading_variances = engine.Concatenate(last, true);
  }

  Shared solved, traced;
  mpc::ProductRound first(engine);
  first.AddCut(profile.inverse, engine.SelectRows(sums.right, places.column),
               2 * mpc::kMostInflation, kSolutionBits, solved);
  first.AddCut(profile.inverse, sums.slopes, 2 * mpc::kMostInflation, kProfileBits, traced);
  first.Run();
  const Shared& c = profile.solutions = SumOverColumns(engine, solved, p, kMostSolution);
  profile.trace = Total(engine, traced, static_cast<double>(p) + 1);
  const Shared of_columns = engine.SelectRows(c, places.column);
  Shared k_times, s_times, explained, explained_slope;
  mpc::ProductRound second(engine);
  second.AddCut(sums.fine_correlation, of_columns, 2 * kMostSolution, kFineBits, k_times);
  second.AddCut(sums.fine_slopes, of_columns, 2 * kMostSolution, kFineBits, s_times);
  second.AddCut(sums.fine_right, c, 2 * kMostSolution, kFineBits, explained);
  second.AddCut(sums.right_slopes, c, 2 * kMostSolution, kFineBits, explained_slope);
  second.Run();
  Shared square, square_slope, y, y_slope;
  mpc::ProductRound third(engine);
  third.AddCut(SumOverColumns(engine, k_times, p, 2 * kMostScaled), c, 4 * kMostSolution, kFineBits,
               square);
  third.AddCut(SumOverColumns(engine, s_times, p, 2 * kMostScaled), c, 4 * kMostSolution, kFineBits,
               square_slope);
  third.AddCut(sums.square, kMostScaled, kFineBits, y);
  third.AddCut(sums.square_slope, kMostScaled, kFineBits, y_slope);
  third.Run();
  const auto quadratic = [&](const Shared& constant, const Shared& linear, const Shared& squares) {
    const Shared falls = engine.Scale(Total(engine, linear, kMostScaled), 2);
    return WithBound(
        engine.Add(engine.Subtract(constant, falls), Total(engine, squares, kMostScaled)),
        kMostScaled);
  };
  profile.residual = quadratic(y, explained, square);
  profile.falls = quadratic(y_slope, explained_slope, square_slope);
  return profile;
}

Shared SlopeSigns(Engine& engine, const Task& task, const ScaledSums& sums, const Profile& profile,
                  const RowNumbers& numbers) {
  const OwnSlope own =
      OwnSlopeOf(engine, task,
                 {sums.determinant_slope, profile.trace, profile.residual, profile.falls}, numbers);
  Shared product;
  mpc::ProductRound round(engine);
  round.AddCut(profile.residual, own.determinants, 2 * kMostScaled, kSlopeBits, product);
  round.Run();
  return engine.Transpose(WithBound(engine.Add(product, own.falls), 4 * kMostScaled));
}

Slopes SlopesOf(Engine& engine, const Task& task, const SlopeParts& parts,
                const RowNumbers& numbers) {
  const std::vector<mpc::Quotient> quotients = {
      {parts.falls, {parts.residual, kLeastResidual}, kMostRatio}};
  Slopes slopes;
  slopes.ratio = WithBound(mpc::Divide(engine, quotients, kProfileBits).front(), kMostRatio);
  SlopeParts by_ratio = parts;
  by_ratio.falls = slopes.ratio;
  const OwnSlope own = OwnSlopeOf(engine, task, by_ratio, numbers);
  const Shared of_row =
      WithBound(engine.Add(own.determinants, own.falls), own.determinants.bound + kMostScaled);
  Shared rows = numbers.rows;
  if (of_row.shape.cols > 1) {
    const std::vector<Shared> copies(of_row.shape.cols, numbers.rows);
    rows = engine.Concatenate(copies, false);
  }
  mpc::ProductRound round(engine);
  round.AddCut(of_row, rows, kMostSlope * numbers.rows.bound, kWeightBits, slopes.slope);
  round.Run();
  return slopes;
}

}  // namespace partita::methods::mixed
