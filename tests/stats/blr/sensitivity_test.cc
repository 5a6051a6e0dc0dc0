// R67: the declared sensitivities against all neighbouring rows over a five-value domain.
#include "stats/blr/sensitivity.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/error.h"
#include "stats/blr/statistics.h"

namespace partita::stats::blr::sensitivity_test {
namespace {

Design MakeDesign(size_t features, bool intercept, double row_norm = 0) {
  Design design;
  for (size_t j = 0; j < features; ++j)
    design.features.push_back({"x" + std::to_string(j), 2.0 + static_cast<double>(j), 0.5});
  design.target = {"y", 3, -1};
  design.intercept = intercept;
  design.row_norm = row_norm;
  return design;
}

// All raw rows whose scaled coordinates lie in {-factor, ..., factor}: 1 for the box; larger ones
// are clipped back.
std::vector<std::vector<double>> AllRows(const Design& design, double factor) {
  const size_t length = design.features.size() + 1;
  std::vector<std::vector<double>> rows;
  size_t count = 1;
  for (size_t j = 0; j < length; ++j) count *= 5;
  for (size_t code = 0; code < count; ++code) {
    std::vector<double> row;
    size_t rest = code;
    for (size_t j = 0; j < length; ++j) {
      const Column& column = j < design.features.size() ? design.features[j] : design.target;
      row.push_back(column.centre +
                    column.bound * factor * (static_cast<double>(rest % 5) - 2) / 2);
      rest /= 5;
    }
    rows.push_back(row);
  }
  return rows;
}

struct Largest {
  double l1 = 0, l2 = 0, squares_l2 = 0;
};

// Over all pairs of rows; every other row of a data set cancels out of the difference of sums.
Largest BruteForce(const Design& design, double factor) {
  std::vector<std::vector<double>> contributions, squares;
  for (const std::vector<double>& row : AllRows(design, factor)) {
    std::vector<Int128> entries(NumEntries(design));
    RowEntries(design, row, entries);
    std::vector<double> real, real_squares;
    for (const Int128 entry : entries) real.push_back(std::ldexp(static_cast<double>(entry), -48));
    contributions.push_back(real);
    for (const Int128 entry : SumSquares(design, row))
      real_squares.push_back(std::ldexp(static_cast<double>(entry), -48));
    squares.push_back(real_squares);
  }
  Largest largest;
  for (size_t a = 0; a < contributions.size(); ++a) {
    for (size_t b = 0; b < a; ++b) {
      double l1 = 0, l2 = 0, s2 = 0;
      for (size_t k = 0; k < contributions[a].size(); ++k) {
        const double away = contributions[a][k] - contributions[b][k];
        l1 += std::abs(away);
        l2 += away * away;
      }
      for (size_t k = 0; k < squares[a].size(); ++k)
        s2 += (squares[a][k] - squares[b][k]) * (squares[a][k] - squares[b][k]);
      largest.l1 = std::max(largest.l1, l1);
      largest.l2 = std::max(largest.l2, std::sqrt(l2));
      largest.squares_l2 = std::max(largest.squares_l2, std::sqrt(s2));
    }
  }
  return largest;
}

// Clipping stops 2^-16 below the bounds.
constexpr double kAlmost = 1 - 0x1p-14;

TEST(SensitivityTest, NoPairOfRowsMovesTheStatisticsFurther) {
  for (const size_t features : {1, 2, 3}) {
    for (const bool intercept : {false, true}) {
      const Design design = MakeDesign(features, intercept);
      const double l2 = StatisticsL2Sensitivity(design).value();
      const double l1 = StatisticsL1Sensitivity(design).value();
      const Largest largest = BruteForce(design, 1);
      EXPECT_LE(largest.l2, l2) << features << intercept;
      EXPECT_LE(largest.l1, l1) << features << intercept;
      EXPECT_LE(largest.squares_l2, SquaresL2Sensitivity(design).value());
      EXPECT_GE(largest.squares_l2, kAlmost * SquaresL2Sensitivity(design).value());
      if (design.row_size() % 2 == 0) {
        EXPECT_GE(largest.l2, kAlmost * l2) << features << intercept;
      }
      if (!intercept) {
        EXPECT_GE(largest.l1, kAlmost * l1) << features;
      }
      // Rows far outside are clipped first.
      EXPECT_LE(BruteForce(design, 7).l2, l2);
    }
  }
}

TEST(SensitivityTest, ShorterRowsNeedLessNoise) {
  for (const bool intercept : {false, true}) {
    for (const double norm : {0.5, 0.9}) {
      const Design design = MakeDesign(2, intercept, norm);
      const double l2 = StatisticsL2Sensitivity(design).value();
      EXPECT_LT(l2, StatisticsL2Sensitivity(MakeDesign(2, intercept)).value());
      const Largest largest = BruteForce(design, 1);
      EXPECT_LE(largest.l2, l2);
      EXPECT_LE(largest.l1, StatisticsL1Sensitivity(design).value());
      if (!intercept) {
        EXPECT_GE(largest.l2, kAlmost * l2);
      }
    }
  }
  // A ball that holds the box changes nothing.
  EXPECT_EQ(StatisticsL2Sensitivity(MakeDesign(3, false, 10)).value(), 4);
}

TEST(SensitivityTest, RefusesWhatCannotBeMeant) {
  std::vector<Int128> entries(NumEntries(MakeDesign(2, false)));
  const double nan = std::nan("");
  EXPECT_THROW(RowEntries(MakeDesign(2, false), std::vector<double>{1, nan, 2}, entries), Error);
  EXPECT_THROW(
      RowEntries(MakeDesign(2, false, 0.7),
                 std::vector<double>{1, 2, std::numeric_limits<double>::infinity()}, entries),
      Error);
  EXPECT_THROW(RowEntries(MakeDesign(2, false), std::vector<double>{1, 2}, entries), Error);
  EXPECT_THROW(SumEntries(MakeDesign(2, false), std::vector<double>{1, 2, 3, 4}), Error);
  Design unbounded = MakeDesign(1, false);
  unbounded.features[0].bound = 0;
  EXPECT_THROW(CheckDesign(unbounded), Error);
  Design empty;
  EXPECT_THROW(CheckDesign(empty), Error);
}

}  // namespace
}  // namespace partita::stats::blr::sensitivity_test
