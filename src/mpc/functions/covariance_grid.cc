#include "mpc/functions/covariance_grid.h"

#include <cmath>

#include "mpc/functions/arithmetic.h"

namespace partita::mpc {
namespace {

// SE in steps of its grid is below 2^(bits + 1), another SE below 2^6 (scoring_path.h).
constexpr int kMostErrorBits = 6;

}  // namespace

GridNumbers CovariancesOfRows(Engine& engine, const Shared& covariances, const GridMarks& marks,
                              int grid_bits) {
  const size_t p = covariances.shape.rows;
  std::vector<size_t> places, rows, columns;
  for (size_t i = 0; i < p; ++i) {
    for (size_t j = 0; j <= i; ++j) {
      places.push_back(i * p + j);
      rows.push_back(i);
      columns.push_back(j);
    }
  }
  const auto factors = [&](const std::vector<size_t>& of) {
    return WithBound(engine.SelectRows(marks.factor, of), marks.factor.bound);
  };
  const int highest = marks.range.lowest + static_cast<int>(marks.range.count) - 1;
  const double bound = std::ldexp(1.0, grid_bits + 1 + kMostErrorBits);
  GridNumbers numbers;
  ProductRound round(engine);
  round.Add(
      WithBound(engine.SelectRows(Reshape(covariances, {p * p, 1}), places), covariances.bound),
      factors(rows), std::ldexp(bound, highest), numbers.numbers);
  round.Run();
  numbers.numbers = WithBound(TimesPowerOfTwo(numbers.numbers, -highest), bound);
  numbers.bound = bound;
  numbers.marks = {marks.range, {}, factors(columns)};
  return numbers;
}

std::vector<double> InSquaredSteps(const IntMatrix& numbers, std::span<const double> steps) {
  const size_t p = steps.size();
  std::vector<double> matrix(p * p);
  size_t next = 0;
  for (size_t i = 0; i < p; ++i) {
    for (size_t j = 0; j <= i; ++j) {
      const double number = DecodeFixed(numbers.values[next++], kGuardBits);
      if (number != 0 && (steps[i] == 0 || steps[j] == 0))
        throw NoSuchOpening("a covariance has no grid");
      matrix[i * p + j] = matrix[j * p + i] = number * steps[i] * steps[j];
    }
  }
  return matrix;
}

bool HasVariances(std::span<const double> matrix, size_t columns) {
  for (size_t i = 0; i < columns; ++i) {
    if (!(matrix[i * columns + i] > 0)) return false;
  }
  return true;
}

}  // namespace partita::mpc
