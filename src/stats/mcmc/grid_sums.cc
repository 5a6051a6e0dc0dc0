#include "stats/mcmc/grid_sums.h"

#include <cmath>

namespace partita::stats::mcmc {
namespace {

constexpr int kLowBits = 40;

}  // namespace

std::vector<Int128> GridSums(const Eigen::MatrixXd& by_row, int bits) {
  std::vector<Int128> sums(static_cast<size_t>(by_row.cols()));
  for (Eigen::Index c = 0; c < by_row.cols(); ++c) {
    Int128 sum = 0;
    for (Eigen::Index i = 0; i < by_row.rows(); ++i) {
      sum += std::llrint(std::ldexp(by_row(i, c), bits));
    }
    sums[static_cast<size_t>(c)] = sum;
  }
  return sums;
}

Eigen::MatrixX2d PartsOf(const std::vector<Int128>& sums, int bits) {
  Eigen::MatrixX2d parts(static_cast<Eigen::Index>(sums.size()), 2);
  for (size_t c = 0; c < sums.size(); ++c) {
    const Int128 high = sums[c] >> kLowBits;
    const Int128 low = sums[c] - high * (Int128{1} << kLowBits);
    const auto row = static_cast<Eigen::Index>(c);
    parts(row, 0) = std::ldexp(static_cast<double>(high), kLowBits - bits);
    parts(row, 1) = std::ldexp(static_cast<double>(low), -bits);
  }
  return parts;
}

}  // namespace partita::stats::mcmc
