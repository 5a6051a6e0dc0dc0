// Differentially private variational inference over sums of client gradients, for logistic
// regression (Heikkila et al. 2017, section 3.2; Jalko et al. 2017).
//
// Model: y in {0, 1}, logit P(y = 1) = x beta, beta ~ N(0, prior_variance I). Approximation
// q = N(mean, diag(stddev^2)). An iteration: everybody knows q and one public draw
// beta = mean + stddev * z; each client of the batch computes g_i = (y_i - p_i) x_i at that beta,
// clips it to the L2 norm C and puts it on the grid; the clients' sum plus noise is all that is
// used. The gradient with respect to log stddev is the same sum times the public z stddev:
// post-processing.
//
// Privacy. The trainer chooses the batches and the clients know when they are asked, so a batch
// hides nobody (R-g; methods.md 0.12): no amplification by sampling is claimed. Each epoch deals
// all clients into batches of a fixed public size, so that every client takes part exactly once per
// epoch (n must be a multiple of the batch). Replacing one client moves one sum of each of E epochs
// by at most 2 C; adaptive Gaussian releases compose like one of sensitivity 2 C sqrt(E) (Dong,
// Roth & Su 2022), to which the noise of every sum is calibrated (analytically). The discrete
// noise has a standard deviation above 2^30 grid units, and its gap to the Gaussian law is far
// below the accuracy of delta.
#pragma once

#include <Eigen/Core>
#include <functional>
#include <span>
#include <vector>

#include "base/int128.h"
#include "crypto/random.h"
#include "privacy/sampling/distributed_noise.h"
#include "stats/blr/variates.h"

namespace partita::stats::blr {

struct LogisticViOptions {
  double clip_norm = 1;
  size_t epochs = 10;
  size_t batch_size = 100;
  double epsilon = 1;
  double delta = 1e-6;
  privacy::NoiseSharing sharing = {1, 0};  // among the clients of one batch
  double prior_variance = 1;
  double step = 0.05;  // of Adam
};

struct LogisticPosterior {
  Eigen::VectorXd mean, stddev;
  double noise_stddev = 0;  // of every entry of every sum
};

// One client's contribution on the grid of 2^-24: the gradient at beta, clipped. x: one row.
// Throws kBadData if the label is not 0 or 1 or a feature is not finite.
void ClippedLogisticGradient(const Eigen::VectorXd& x, double label, const Eigen::VectorXd& beta,
                             double clip_norm, std::span<Int128> out);

// Fraction bits of the gradients' grid.
inline constexpr int kGradientBits = 24;

// The standard deviation of the noise that must remain in each sum, in real units.
double LogisticNoiseStddev(const LogisticViOptions& options);

// All that the trainer learns of the clients of one batch: the sum of their clipped gradients at
// beta with noise, on the grid. clients: numbers below the number of clients, each once.
struct NoisyGradient {
  std::vector<Int128> sum;
  double noise_stddev = 0;  // in real units
};
using GradientSum =
    std::function<NoisyGradient(const Eigen::VectorXd& beta, std::span<const size_t> clients)>;

// Throws kUsage unless so many clients can be dealt into batches of one size.
void CheckBatches(size_t clients, size_t epochs, size_t batch_size);
// Into an order of equal probability.
void Deal(std::span<size_t> clients, Variates& variates);

// The trainer, over any protocol that adds gradients up. `source`: the public draws, batches and
// z. Throws kUsage if the clients are no multiple of the batch.
LogisticPosterior FitLogisticVi(size_t clients, size_t features, const LogisticViOptions& options,
                                const GradientSum& gradient_sum, crypto::RandomSource& source);

// In the clear: the twin of the protocol, with noise from the same source. x: rows by features;
// labels 0 or 1. Throws kUsage also for a budget that is out of range.
LogisticPosterior FitLogisticVi(const Eigen::MatrixXd& x, const Eigen::VectorXd& labels,
                                const LogisticViOptions& options, crypto::RandomSource& source);

}  // namespace partita::stats::blr
