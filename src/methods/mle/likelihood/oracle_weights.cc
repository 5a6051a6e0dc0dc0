#include "methods/mle/likelihood/oracle_weights.h"

#include <cmath>
#include <vector>

#include "mpc/fixed_point.h"

namespace partita::methods::mle {
namespace {

using mpc::IntMatrix;

constexpr size_t kValueKind = 0, kGradientKind = 1;

// Rounds weights to the oracle's grid, asks, and takes the powers of two out again.
class Rounding {
 public:
  // factor: what an entry of the column has to be multiplied by to be the statistic.
  Rounding(const mpc::OracleEvaluate& evaluate, int weight_bits, int statistic_bits,
           Eigen::VectorXd factor)
      : evaluate_(evaluate),
        weight_bits_(weight_bits),
        answer_bits_(weight_bits + statistic_bits),
        factor_(std::move(factor)) {}

  stats::OracleAnswer operator()(const Eigen::MatrixXd& weights) const {
    const auto rows = static_cast<size_t>(weights.rows());
    const auto cols = static_cast<size_t>(weights.cols());
    IntMatrix request{{rows, cols}, std::vector<Int128>(rows * cols)};
    stats::OracleAnswer answer{Eigen::VectorXd(weights.rows()),
                               Eigen::MatrixXd(weights.rows(), weights.cols())};
    std::vector<int> exponents;
    for (Eigen::Index r = 0; r < weights.rows(); ++r) {
      const Eigen::VectorXd row = weights.row(r).transpose().cwiseProduct(factor_);
      const int exponent = ExponentOf(row.lpNorm<1>());
      exponents.push_back(exponent);
      // Below 2^(6 + weight_bits) < 2^53, so that doubles and 64-bit integers hold them exactly.
      const double up = std::ldexp(1.0, weight_bits_ - exponent);
      for (Eigen::Index c = 0; c < weights.cols(); ++c) {
        const double rounded = std::round(row[c] * up);
        request.values[static_cast<size_t>(r) * cols + static_cast<size_t>(c)] =
            static_cast<int64_t>(rounded);
        answer.used(r, c) = rounded / up / factor_[c];
      }
    }
    const IntMatrix reply = evaluate_(rows == 1 ? kValueKind : kGradientKind, request);
    for (size_t r = 0; r < rows; ++r) {
      answer.values[static_cast<Eigen::Index>(r)] =
          std::ldexp(mpc::DecodeFixed(reply.values[r], answer_bits_), exponents[r]);
    }
    return answer;
  }

 private:
  // Smallest e with sum / 2^e < 64 after rounding.
  static int ExponentOf(double sum) {
    if (!(sum > 0)) return 0;
    int exponent = 0;
    const double fraction = std::frexp(sum, &exponent);  // sum = fraction 2^exponent, < 1
    const bool close = fraction > 1 - 1e-6;              // rounding could carry it over
    return exponent - kWeightSumBits + (close ? 1 : 0);
  }

  const mpc::OracleEvaluate& evaluate_;
  int weight_bits_, answer_bits_;
  Eigen::VectorXd factor_;
};

}  // namespace

stats::LinearOracle RoundedOracle(const mpc::OracleEvaluate& evaluate, int weight_bits,
                                  int statistic_bits, Eigen::VectorXd factor) {
  return Rounding(evaluate, weight_bits, statistic_bits, std::move(factor));
}

}  // namespace partita::methods::mle
