// Mean-field Gaussian variational inference over the unconstrained parameters (DPVI: Jalko et al.
// 2017; Tajeddine et al., eqs. 8 to 12): theta = mean + exp(log_scale) * eta, eta ~ N(0, I), one
// draw per step that all rows share.
//
// Everything here is a function of the opened noisy sums and of public randomness: no step spends
// privacy. The gradient with respect to log_scale is that with respect to theta times public
// numbers (methods.md, 4), so one sum serves both.
//
// All matrices are K x (1 + J) (features.h).
#pragma once

#include <Eigen/Core>
#include <cstdint>

#include "stats/blr/variates.h"
#include "stats/mixture/features.h"

namespace partita::stats::mixture {

struct VariationalOptions {
  uint64_t steps = 20000;
  // Adam ascent (Kingma & Ba 2015) on the gradient divided by num_rows.
  double learning_rate = 0.01;
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  // Start: means N(0, initial_stddev^2), 0 for the logits of pi; log_scale everywhere.
  double initial_stddev = 0.5;
  double initial_log_scale = -2;
  // A public cap: the scales of components that no row uses drift upward at large learning rates
  // until exp overflows. The priors' own posterior scales are 1 and below 2: e^1 restrains nothing
  // else.
  double max_log_scale = 1;
  // The logits of pi stay where they start for this share of the steps, so that no component
  // starves before it has learned. Their noisy sums are opened all the same: the privacy is that of
  // share 0, the schedule of the paper.
  double frozen_share = 0.6;
};
inline constexpr double kPaperFrozenShare = 0;

// Throws kBadInput naming the option that is out of range.
void CheckOptions(const VariationalOptions& options);

struct Moments {
  Eigen::ArrayXXd first, second;
};

// All there is to go on from: public, and what a checkpoint stores.
struct VariationalState {
  uint64_t step = 0;  // steps taken
  Eigen::ArrayXXd mean, log_scale;
  Moments of_mean, of_log_scale;
};

VariationalState StartState(const Layout& layout, size_t components,
                            const VariationalOptions& options, blr::Variates& variates);

Eigen::ArrayXXd DrawEta(const VariationalState& state, blr::Variates& variates);

// mean + exp(log_scale) * eta.
Eigen::ArrayXXd ThetaAt(const VariationalState& state, const Eigen::ArrayXXd& eta);

// One step of Adam from the (noisy) sum of clipped gradients of a minibatch in which every row was
// with probability sampling_rate. theta = ThetaAt(state, eta).
void Advance(const Layout& layout, const VariationalOptions& options, double num_rows,
             double sampling_rate, const Eigen::ArrayXXd& eta, const Eigen::ArrayXXd& theta,
             const Eigen::ArrayXXd& noisy_sum, VariationalState& state);

// The ELBO's part that no row enters, for one draw: log prior + log |det|, without constants.
double PriorPartOfElbo(const Layout& layout, const VariationalState& state,
                       const Eigen::ArrayXXd& theta);

}  // namespace partita::stats::mixture
