// The posterior of a linear regression that knows that its statistics are noised: the default
// estimator. After Bernstein & Sheldon (NeurIPS 2019), with another treatment of X'X.
//
// Model, in scaled units. A = X'X, b = X'y, c = y'y; v the noise variance of each released entry:
//   released   A~ = A + noise (upper triangle), b~ = b + noise, c~ = c + noise;
//   rows       y = X beta + e, e ~ N(0, s2): given A, exactly b ~ N(A beta, s2 A) and, independent
//              of b, c - b'A^-1 b ~ s2 chi2_(n-p);
//   prior      beta_j ~ N(0, lambda w_j); lambda and s2 log-uniform in public ranges (or fixed);
//              A inverse Wishart of `degrees` and Scale psi I, psi/n log-uniform in a public range,
//              cut off at A_jj <= n max_mean_square. The features need not be normal: only the
//              realised A has a prior, its law given the rows' moments does not enter.
//
// Bernstein & Sheldon let (A, b, c) be normal with fourth moments of x from a prior; here b given A
// is exact for every n, and beta is integrated out:
//   b~ | A, lambda, s2 ~ N(0, S + v I),  S = lambda A W A + s2 A;
//   b | b~, A, lambda, s2 is normal: written as a function of 2p standard normal variables z, which
//     are part of the chain, so that b follows when A, lambda or s2 move;
//   c~ | b, A, s2 ~ b'A^-1 b + s2 chi2_(n-p) + noise, the chi-square taken as normal (the only
//     approximation; its skewness is sqrt(8 / (n - p)));
//   beta | b, A, lambda, s2 is normal: precision A / s2 + (lambda W)^-1, right-hand side b / s2.
// Discrete Gaussian noise on a grid 2^-48 wide is taken as normal; Laplace noise as normal with its
// variance (approximate).
//
// Method. A Markov chain over (A, z, psi, lambda, s2): parts of A are redrawn from its law given A~
// (gram_chain.h) and accepted by the densities of b~ and c~; z by steps that keep its law; joint
// stretches of A and psi; random walks on log lambda and log s2, tuned during burn-in. Every draw
// contributes the exact normal law of beta: the posterior is their equal mixture.
//
// What it does not repair: bias from clipped rows, and a linear model that does not hold. Where the
// noise covers A the intervals return to the prior, as they should.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "crypto/random.h"
#include "stats/blr/posterior.h"
#include "stats/blr/statistics.h"

namespace partita::stats::blr {

// A log-uniform prior; equal ends: known.
struct Range {
  double low = 0, high = 0;
};

// Public, in scaled units. The defaults fit every column whose bound is at most some thirty times
// its standard deviation.
struct NoiseAwarePrior {
  Eigen::VectorXd slope_weights;  // w; empty: 1 for all
  Range slope_variance = {1e-3, 1};
  Range noise_variance = {1e-4, 1};
  Range gram_scale = {3e-4, 0.1};  // psi / n
  double extra_degrees = 2;        // degrees = p + this, > 1
  double max_mean_square = 1;      // of a scaled column: 1 by clipping
};

struct NoiseAwareOptions {
  size_t burn_in = 150;
  size_t draws = 600;
  size_t components = 600;  // draws kept whole for intervals, at most `draws`
};

struct NoiseAwarePosterior {
  Eigen::VectorXd mean;
  Eigen::MatrixXd covariance;
  double noise_variance = 0;  // posterior mean of s2
  double slope_variance = 0;  // posterior mean of lambda
  struct Component {
    Eigen::VectorXd mean;
    Eigen::MatrixXd covariance;
    double noise_variance = 0;
  };
  std::vector<Component> components;
  double gram_acceptance = 0;  // of the redraws after burn-in
};

// released_variance: of every entry (NoiseDesign::variance), positive. intercept: the first column
// is ones. Throws kBadInput for a prior out of range and kUsage without noise. About 0.1 ms per
// iteration for p = 10.
NoiseAwarePosterior FitNoiseAware(const Statistics& released, double released_variance,
                                  bool intercept, const NoiseAwarePrior& prior,
                                  const NoiseAwareOptions& options, crypto::RandomSource& source);

// P(direction . beta <= value), and its central interval.
double MixtureDistribution(const NoiseAwarePosterior& posterior, const Eigen::VectorXd& direction,
                           double value);
Interval MixtureInterval(const NoiseAwarePosterior& posterior, const Eigen::VectorXd& direction,
                         double level);
// Of a new scaled target at scaled features x: the mean is x . mean.
Interval PredictiveInterval(const NoiseAwarePosterior& posterior, const Eigen::VectorXd& x,
                            double level);

}  // namespace partita::stats::blr
