#include "methods/mle/published/attacks/mask_attack.h"

#include <Eigen/LU>

#include "methods/mle/published/numbers.h"

namespace partita::methods::mle::published {

void MaskedRows::Add(const Eigen::MatrixXd& masked) {
  lowest_ = questions_ == 0 ? masked : Eigen::MatrixXd(lowest_.cwiseMin(masked));
  highest_ = questions_ == 0 ? masked : Eigen::MatrixXd(highest_.cwiseMax(masked));
  ++questions_;
}

Eigen::MatrixXd MaskedRows::Estimate() const {
  return (lowest_ + highest_).array() / 2 - (kPaperMaskLow + kPaperMaskHigh) / 2;
}

Eigen::MatrixXd MaskedBy(const Eigen::MatrixXd& a1, const Eigen::MatrixXd& precision,
                         const Eigen::MatrixXd& p, const Eigen::MatrixXd& mean) {
  return a1 * precision.inverse() + p + mean;
}

}  // namespace partita::methods::mle::published
