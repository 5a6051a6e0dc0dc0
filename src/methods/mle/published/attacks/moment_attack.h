// The central node solves for the sample moments from the likelihoods that it asked for: -2 LL is
// linear in them (methods.md 0, item 2). Works on `likelihood`, `conditional`, `plain-passing` and
// `secure-sum`; two colluding neighbours in a secure sum do the same to the rows between them.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "methods/mle/published/normal.h"

namespace partita::methods::mle::published {

// One question about n rows and its answer (BlockAnswer without the bookkeeping).
struct KnownLikelihood {
  Eigen::VectorXd mean;
  Eigen::MatrixXd precision;
  double quadratic = 0;
};

struct SolvedMoments {
  Eigen::Index rank = 0, unknown = 0;  // p + p (p + 1) / 2 of them
  Eigen::VectorXd mean;                // the solution of least norm where rank < unknown
  Eigen::MatrixXd covariance;          // divisor n
  // Of the length of the errors of Q / n, to that of the whitened mean and the upper triangle of
  // the whitened second moments; 0 without likelihoods.
  double magnification = 0;
  bool solved() const { return rank == unknown; }
};

// Least squares in coordinates whitened by `guess`, a distribution near the rows' (the last theta
// asked for, say); what is not determined is as in the guess. Directions told with less than `told`
// of the largest count as not told: kTold for answers as exact as doubles, kToldInRing for those in
// the ring, which round rows to 2^-26 and distributions to 2^-27, so that what was asked leaves the
// model's family by as much and the answers cannot be solved for what lies there. Without
// likelihoods the guess is the result.
inline constexpr double kTold = 1e-9, kToldInRing = 1e-5;
SolvedMoments SolveMoments(const std::vector<KnownLikelihood>& known, double n,
                           const NormalParameters& guess, double told = kTold);

// Largest error of a first or second moment about the origin, over the largest such moment.
double RelativeError(const SolvedMoments& solved, const Eigen::VectorXd& mean,
                     const Eigen::MatrixXd& covariance);

}  // namespace partita::methods::mle::published
