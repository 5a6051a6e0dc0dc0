// Goodness of fit at a false-alarm probability of 1e-6. A cell without observations counts with its
// full expectation: a value that never occurs is seen.
#pragma once

#include <boost/math/distributions/chi_squared.hpp>
#include <cmath>
#include <cstdint>
#include <vector>

namespace partita::privacy {

constexpr double kFalseAlarm = 1e-6;

struct Fit {
  double statistic = 0;
  double critical = 0;
  bool rejected() const { return statistic > critical; }
};

// probabilities sum to 1; every expected count should be 5 or more.
inline Fit ChiSquare(const std::vector<uint64_t>& counts,
                     const std::vector<double>& probabilities) {
  double total = 0;
  for (const uint64_t count : counts) total += static_cast<double>(count);
  Fit fit;
  for (size_t i = 0; i < counts.size(); ++i) {
    const double expected = total * probabilities[i];
    const double difference = static_cast<double>(counts[i]) - expected;
    fit.statistic += difference * difference / expected;
  }
  const boost::math::chi_squared law(static_cast<double>(counts.size()) - 1);
  fit.critical = boost::math::quantile(boost::math::complement(law, kFalseAlarm));
  return fit;
}

// Correlation of neighbours in the sequence; standard error 1 / sqrt(n).
inline double LagOneCorrelation(const std::vector<double>& values) {
  double product = 0;
  double square = 0;
  for (size_t i = 0; i + 1 < values.size(); ++i) {
    product += values[i] * values[i + 1];
    square += values[i] * values[i];
  }
  return product / square;
}

// Cells of a law on the integers: single values where `minimum` of `samples` are expected, the rest
// pooled into one cell at each end.
struct IntegerCells {
  int64_t first = 0;
  std::vector<double> probabilities;  // below first, first, first + 1, .., above

  size_t CellOf(double value) const {
    const double cell = value - static_cast<double>(first) + 1;
    return static_cast<size_t>(
        std::clamp(cell, 0.0, static_cast<double>(probabilities.size() - 1)));
  }
};

template <typename Mass>
IntegerCells MakeCells(const Mass& mass, int64_t lowest, int64_t highest, double samples,
                       double minimum = 10) {
  IntegerCells cells;
  int64_t last = highest;
  cells.first = lowest;
  while (mass(cells.first) * samples < minimum) ++cells.first;
  while (mass(last) * samples < minimum) --last;
  double below = 0;
  double above = 0;
  for (int64_t k = lowest; k < cells.first; ++k) below += mass(k);
  for (int64_t k = highest; k > last; --k) above += mass(k);
  cells.probabilities.push_back(below);
  for (int64_t k = cells.first; k <= last; ++k) cells.probabilities.push_back(mass(k));
  cells.probabilities.push_back(above);
  // An end too rare to count on its own joins its neighbour.
  if (above * samples < minimum) {
    cells.probabilities.pop_back();
    cells.probabilities.back() += above;
  }
  if (below * samples < minimum) {
    cells.probabilities.erase(cells.probabilities.begin());
    cells.probabilities.front() += below;
    ++cells.first;
  }
  return cells;
}

}  // namespace partita::privacy
