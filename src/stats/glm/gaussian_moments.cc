#include "stats/glm/gaussian_moments.h"

#include <algorithm>
#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>

#include "base/error.h"

namespace partita::stats::glm {
namespace {

using Eigen::Index;
// Products below 2^127, twice times a point below 2^62: below 2^257 with 2^12 of them.
using Wide = boost::multiprecision::int512_t;

constexpr double kMostPoint = 0x1p20;

int64_t OnGrid(double z, int bits) { return std::llround(std::ldexp(z, bits)); }

double Rounded(const Wide& number, int bits) {
  return std::ldexp(number.convert_to<double>(), -bits);
}

double ProductAt(const GaussianMoments& moments, size_t i, size_t j) {
  return Rounded(Wide(moments.products[i * (moments.num_columns() + 1) + j]), 2 * moments.bits);
}

// By column, and last -1 of the outcome: what residuals are, but for their sign.
std::vector<Wide> Coefficients(const GaussianMoments& moments, const Eigen::VectorXd& point) {
  std::vector<Wide> coefficients;
  for (const double b : point) {
    if (!(std::abs(b) <= kMostPoint)) throw Error(ErrorCode::kInternal, "a point that is too far");
    coefficients.emplace_back(OnGrid(b, kPointBits));
  }
  if (coefficients.size() != moments.num_columns())
    throw Error(ErrorCode::kInternal, "a point of other columns");
  coefficients.emplace_back(-(Int128{1} << kPointBits));
  return coefficients;
}

}  // namespace

size_t GaussianMoments::num_columns() const {
  size_t side = 0;
  while (side * side < products.size()) ++side;
  return side - 1;
}

GaussianMoments NoMoments(size_t num_columns, int bits) {
  return {bits, 0, std::vector<Int128>((num_columns + 1) * (num_columns + 1))};
}

void RoundRows(Rows& rows, int bits) {
  const auto round = [&](double z) {
    return std::ldexp(static_cast<double>(OnGrid(std::clamp(z, -1.0, 1.0), bits)), -bits);
  };
  rows.x = rows.x.unaryExpr(round).eval();
  rows.y = rows.y.unaryExpr(round).eval();
}

GaussianMoments MomentsOf(const Rows& rows, size_t num_columns, int bits) {
  GaussianMoments moments = NoMoments(num_columns, bits);
  moments.rows = static_cast<Int128>(rows.count());
  const size_t side = num_columns + 1;
  std::vector<int64_t> k(side);
  for (Index r = 0; r < rows.y.size(); ++r) {
    for (size_t i = 0; i < num_columns; ++i) k[i] = OnGrid(rows.x(r, static_cast<Index>(i)), bits);
    k[num_columns] = OnGrid(rows.y[r], bits);
    const auto weight = static_cast<Int128>(rows.weight(r));
    for (size_t i = 0; i < side; ++i) {
      for (size_t j = 0; j <= i; ++j)
        moments.products[i * side + j] += weight * k[i] * static_cast<Int128>(k[j]);
    }
  }
  for (size_t i = 0; i < side; ++i) {
    for (size_t j = 0; j < i; ++j) moments.products[j * side + i] = moments.products[i * side + j];
  }
  return moments;
}

GaussianMoments MomentsOfColumns(const GaussianMoments& moments, std::span<const size_t> columns) {
  std::vector<size_t> kept(columns.begin(), columns.end());
  kept.push_back(moments.num_columns());
  GaussianMoments some{moments.bits, moments.rows, {}};
  for (const size_t i : kept) {
    for (const size_t j : kept)
      some.products.push_back(moments.products.at(i * (moments.num_columns() + 1) + j));
  }
  return some;
}

PointSums SumsAt(const GaussianMoments& moments, const Eigen::VectorXd& point, double most) {
  const std::vector<Wide> coefficients = Coefficients(moments, point);
  const size_t p = moments.num_columns();
  PointSums sums{Eigen::VectorXd(point.size()), FirstSumsOf(moments).information};
  Wide deviance = 0;
  for (size_t i = 0; i <= p; ++i) {
    Wide residuals = 0;  // of column i with all residuals, but for their sign
    for (size_t j = 0; j <= p; ++j)
      residuals += Wide(moments.products[i * (p + 1) + j]) * coefficients[j];
    if (i < p)
      sums.score[static_cast<Index>(i)] = Rounded(-residuals, 2 * moments.bits + kPointBits);
    deviance += residuals * coefficients[i];
  }
  sums.deviance = sums.pearson = Rounded(deviance, 2 * (moments.bits + kPointBits));
  const auto n = static_cast<double>(moments.rows);
  if (sums.deviance > n * most) sums.outside = static_cast<uint64_t>(moments.rows);
  return sums;
}

FirstSums FirstSumsOf(const GaussianMoments& moments) {
  const auto p = static_cast<Index>(moments.num_columns());
  FirstSums first{Eigen::VectorXd(p), Eigen::MatrixXd(p, p), 0, Eigen::VectorXd::Zero(p)};
  for (Index i = 0; i < p; ++i) {
    first.weighted[i] = ProductAt(moments, static_cast<size_t>(i), static_cast<size_t>(p));
    for (Index j = 0; j < p; ++j)
      first.information(i, j) = ProductAt(moments, static_cast<size_t>(i), static_cast<size_t>(j));
  }
  return first;
}

double SumOfSquares(const GaussianMoments& moments) {
  return ProductAt(moments, moments.num_columns(), moments.num_columns());
}

double SumOfOutcome(const GaussianMoments& moments) {
  return ProductAt(moments, 0, moments.num_columns());
}

}  // namespace partita::stats::glm
