#include "methods/mle/published/attacks/row_attack.h"

#include <Eigen/LU>
#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <optional>

namespace partita::methods::mle::published {
namespace {

using Eigen::Index;

// Solves the first columns.size() rows' worth of equations modulo 2^128 by elimination with odd
// pivots; empty where a column has none left.
std::optional<Matrix<UInt128>> SolveModulo(Matrix<UInt128> a, Matrix<UInt128> b) {
  const Index unknown = a.cols();
  for (Index c = 0; c < unknown; ++c) {
    Index pivot = c;
    while (pivot < a.rows() && (a(pivot, c) & 1) == 0) ++pivot;
    if (pivot == a.rows()) return std::nullopt;
    a.row(c).swap(a.row(pivot));
    b.row(c).swap(b.row(pivot));
    UInt128 inverse = a(c, c);  // right modulo 8; every step doubles the bits
    for (int step = 0; step < 6; ++step) inverse *= 2 - a(c, c) * inverse;
    a.row(c) *= inverse;
    b.row(c) *= inverse;
    for (Index r = 0; r < a.rows(); ++r) {
      if (r == c || a(r, c) == 0) continue;
      const UInt128 factor = a(r, c);
      a.row(r).tail(unknown - c) -= factor * a.row(c).tail(unknown - c);
      b.row(r) -= factor * b.row(c);
    }
  }
  return Matrix<UInt128>(b.topRows(unknown));
}

// What the unknowns are multiplied by: 1, then P, then for a <= b the sums over rows of
// square(P_a) or P_a P_b.
template <typename T, typename Square>
Matrix<T> Coefficients(const ToldTotals<T>& told, const Square& square) {
  const Index n = told.p.front().rows(), p = told.p.front().cols();
  Matrix<T> out(static_cast<Index>(told.p.size()), QuestionsForRows(n, p));
  for (Index t = 0; t < out.rows(); ++t) {
    const Matrix<T>& mask = told.p[static_cast<size_t>(t)];
    out(t, 0) = 1;
    Index at = 1;
    for (Index i = 0; i < n; ++i) {
      for (Index a = 0; a < p; ++a) out(t, at++) = mask(i, a);
    }
    for (Index a = 0; a < p; ++a) {
      for (Index b = a; b < p; ++b) {
        out(t, at++) = a == b ? mask.col(a).unaryExpr(square).sum()
                              : mask.col(a).cwiseProduct(mask.col(b)).sum();
      }
    }
  }
  return out;
}

template <typename T>
Matrix<T> Totals(const ToldTotals<T>& told) {
  Matrix<T> out(static_cast<Index>(told.totals.size()), 1);
  for (Index t = 0; t < out.rows(); ++t) out(t, 0) = told.totals[static_cast<size_t>(t)];
  return out;
}

// d from the unknowns `minus_2dw` (n x p, row by row) and the upper triangle of W, off-diagonal
// entries doubled.
SolvedRows Rows(const Eigen::VectorXd& minus_2dw, const Eigen::VectorXd& triangle, Index n,
                Index p) {
  Eigen::MatrixXd w(p, p);
  Index at = 0;
  for (Index a = 0; a < p; ++a) {
    for (Index b = a; b < p; ++b) {
      const double value = triangle[at++];
      w(a, b) = w(b, a) = a == b ? value : value / 2;
    }
  }
  const Eigen::MatrixXd dw = minus_2dw.reshaped<Eigen::RowMajor>(n, p) / -2;
  return {true, dw * w.inverse()};
}

}  // namespace

Index QuestionsForRows(Index n, Index p) { return n * p + p * (p + 1) / 2 + 1; }

// In coordinates centred on the mean of the masks, which are better conditioned:
// P = middle + u, so -2 <P, dW> + <W, P'P> has u multiplied by -2 dW + 2 middle W 1.
SolvedRows SolveRows(const ToldTotals<double>& told) {
  if (told.p.empty()) return {};
  const Index n = told.p.front().rows(), p = told.p.front().cols();
  constexpr double kMiddle = (kPaperMaskLow + kPaperMaskHigh) / 2;
  constexpr double kSpread = (kPaperMaskHigh - kPaperMaskLow) / 2;
  if (static_cast<Index>(told.p.size()) < QuestionsForRows(n, p)) return {};
  ToldTotals<double> centred = told;
  for (Matrix<double>& mask : centred.p) mask = (mask.array() - kMiddle) / kSpread;
  const Matrix<double> equations = Coefficients(centred, [](double x) { return x * x; });
  const Eigen::VectorXd totals = Totals(told);
  const Eigen::VectorXd found = Eigen::MatrixXd(equations).householderQr().solve(totals);
  const Index pairs = p * (p + 1) / 2;
  const Eigen::VectorXd triangle = found.tail(pairs) / (kSpread * kSpread);
  Eigen::VectorXd row_sums = Eigen::VectorXd::Zero(p);  // W 1
  Index at = 0;
  for (Index a = 0; a < p; ++a) {
    for (Index b = a; b < p; ++b) {
      const double value = triangle[at++];
      row_sums[a] += a == b ? value : value / 2;
      if (a != b) row_sums[b] += value / 2;
    }
  }
  const Eigen::VectorXd middle = 2 * kMiddle * row_sums.replicate(n, 1);
  return Rows(found.segment(1, n * p) / kSpread - middle, triangle, n, p);
}

// P^2 and P are equal modulo 2, which would leave columns without odd pivots: instead of W_aa with
// sum P^2 the unknown is 2 W_aa with sum P (P - 1) / 2, and -2 (dW)_ia becomes W_aa - 2 (dW)_ia.
SolvedRows SolveRows(const ToldTotals<UInt128>& told) {
  if (told.p.empty()) return {};
  const Index n = told.p.front().rows(), p = told.p.front().cols();
  if (static_cast<Index>(told.p.size()) < QuestionsForRows(n, p)) return {};
  const auto found = SolveModulo(
      Coefficients(told, [](UInt128 x) { return static_cast<UInt128>((x * (x - 1)) >> 1); }),
      Totals(told));
  if (!found) return {};
  const auto number = [&](Index at) { return static_cast<Int128>((*found)(at, 0)); };
  const Index pairs = p * (p + 1) / 2, first_pair = 1 + n * p;
  Matrix<UInt128> triangle(pairs, 1), minus_2dw(n * p, 1);
  std::vector<Int128> diagonal;
  Index at = 0;
  for (Index a = 0; a < p; ++a) {
    for (Index b = a; b < p; ++b, ++at) {
      const Int128 value = number(first_pair + at) / (a == b ? 2 : 1);
      triangle(at, 0) = static_cast<UInt128>(value);
      if (a == b) diagonal.push_back(value);
    }
  }
  for (Index i = 0; i < n * p; ++i) {
    minus_2dw(i, 0) = static_cast<UInt128>(number(1 + i) - diagonal[static_cast<size_t>(i % p)]);
  }
  constexpr int kBits = kWeightBits<UInt128>;
  return Rows(Decode(minus_2dw, kBits + kDataBits<UInt128>).col(0), Decode(triangle, kBits).col(0),
              n, p);
}

RowAccuracy CompareRows(const Eigen::MatrixXd& found, const Eigen::MatrixXd& truth) {
  RowAccuracy out{1, 0};
  for (Index c = 0; c < truth.cols(); ++c) {
    const Eigen::ArrayXd x = truth.col(c).array() - truth.col(c).mean();
    const Eigen::ArrayXd y = found.col(c).array() - found.col(c).mean();
    const double correlation = (x * y).sum() / std::sqrt(x.square().sum() * y.square().sum());
    const double error = (found.col(c) - truth.col(c)).norm() / std::sqrt(x.square().sum());
    out.min_correlation = std::min(out.min_correlation, correlation);
    out.error_over_deviation = std::max(out.error_over_deviation, error);
  }
  return out;
}

}  // namespace partita::methods::mle::published
