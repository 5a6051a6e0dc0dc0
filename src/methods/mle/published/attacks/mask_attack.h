// Bounded masks average out (methods.md 0, item 3): the central node of `conditional` sees x + R,
// R fresh and uniform in [500, 2000) at every question, and takes the middle of the range of what
// it saw. With T questions its error has standard deviation 1500 / sqrt(2 (T + 1) (T + 2)).
#pragma once

#include <Eigen/Core>

namespace partita::methods::mle::published {

class MaskedRows {
 public:
  // x + R of one question.
  void Add(const Eigen::MatrixXd& masked);
  int questions() const { return questions_; }
  // The middle of the range, less the mean of a mask.
  Eigen::MatrixXd Estimate() const;

 private:
  Eigen::MatrixXd lowest_, highest_;
  int questions_ = 0;
};

// x + R from A1 = (x - mu - P + R) S^-1, which the centre has; mean: mu, one row or many.
Eigen::MatrixXd MaskedBy(const Eigen::MatrixXd& a1, const Eigen::MatrixXd& precision,
                         const Eigen::MatrixXd& p, const Eigen::MatrixXd& mean);

}  // namespace partita::methods::mle::published
