// Gradient methods under noise, in the clear: PSGD (Rajkumar & Agarwal, Algorithm 1), full-batch
// noisy gradient descent, and DP-SGD / DP-Adam on minibatches (Abadi et al., CCS 2016).
//
// The caller brings the noise, so that the same steps serve twins, reproductions and protocols.
#pragma once

#include <Eigen/Core>
#include <functional>
#include <span>
#include <vector>

#include "stats/erm/minimize.h"

namespace partita::stats::erm {

// --- PSGD ----------------------------------------------------------------------------------------

struct PsgdOptions {
  Loss loss;
  double lambda = 0.1;
  double slack = 0;  // the paper's Delta
  size_t iterations = 1000;
};

// z_t, t = 0, 1, ...: 1 / ((lambda + slack)(t + t_0)), t_0 = (c + lambda + slack) / (lambda +
// slack). The paper asks for sum z_t = inf, sum z_t^2 < inf and names none; z_0 = 1/(c + lambda +
// slack) is the largest step that cannot overshoot.
double PsgdStep(const PsgdOptions& options, size_t t);

// Added to a party's sum of gradients at one iteration: eta^k + rho_t^k.
using PartyNoise = std::function<Eigen::VectorXd(size_t party, size_t iteration)>;
using Observer = std::function<void(size_t iteration, const Eigen::VectorXd& w)>;

// From w = 0; `see` gets every iterate, w_1 first: what the third party, or all in the variant with
// secure sums, learn.
Eigen::VectorXd Psgd(std::span<const LabelledRows> parties, const PsgdOptions& options,
                     const PartyNoise& noise, const Observer& see = {});

// --- Noisy gradient descent ----------------------------------------------------------------------

struct DescentOptions {
  Loss loss;
  double lambda = 0.1;
  double step = 1;
  double clip_norm = 1;  // of a row's gradient; rows in the unit ball never exceed 1
  size_t iterations = 10;
};
using SumNoise = std::function<Eigen::VectorXd(size_t iteration)>;

// w <- w - step ((sum of clipped gradients + noise) / N + lambda w), from 0; the last iterate.
Eigen::VectorXd NoisyDescent(const LabelledRows& rows, const DescentOptions& options,
                             const SumNoise& noise);

// Standard deviation of the noise on the sum, for all iterations together: exact composition of T
// Gaussian releases, sensitivity * sqrt(T) / mu(epsilon, delta) (Dong, Roth & Su 2022). Whoever
// sees every iterate is covered. sensitivity: 2 clip_norm if a row is replaced, clip_norm if it is
// added or removed.
double DescentNoise(double sensitivity, size_t iterations, double epsilon, double delta);

// --- Minibatches ---------------------------------------------------------------------------------

enum class Optimiser { kSgd, kAdam };

struct MinibatchOptions {
  Loss loss;
  double lambda = 0;
  double step = 0.1;
  double clip_norm = 1;
  double rate = 0.01;  // Poisson: every row enters a batch with this chance
  size_t iterations = 1000;
  Optimiser optimiser = Optimiser::kSgd;
};

// What is done with the noisy sums, one after the other; the same in the clear and in the protocol.
// The mean gradient is sum / (rate N), never divided by the size of the batch, which is secret,
// plus lambda w. Adam: beta 0.9, 0.999, epsilon 1e-8.
class MinibatchSteps {
 public:
  // Throws kUsage for a rate outside (0, 1] or no iterations.
  MinibatchSteps(const MinibatchOptions& options, size_t rows, size_t dimension);

  const Eigen::VectorXd& w() const { return w_; }
  void Step(const Eigen::VectorXd& noisy_sum);
  // The average of the second half of the iterates.
  Eigen::VectorXd Result() const;

 private:
  MinibatchOptions options_;
  double expected_batch_;
  size_t done_ = 0, averaged_ = 0;
  Eigen::VectorXd w_, mean_, square_, average_;
};

// The sum over some rows of the gradients, each shortened to clip_norm.
Eigen::VectorXd SumOfClippedGradients(const LabelledRows& rows, std::span<const Eigen::Index> batch,
                                      const Loss& loss, const Eigen::VectorXd& w, double clip_norm);

}  // namespace partita::stats::erm
