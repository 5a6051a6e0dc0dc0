// The mechanisms that the accountants know, as pairs of laws.
//
// Adjacency  kAddRemove: forward is "remove" (P with the person, Q without), backward is "add".
//            kReplace: P and Q each with one of two persons whose contributions are opposite;
//            forward and backward are the same pair for the symmetric noises below.
// Sampling   sampling_rate < 1: every row enters the batch independently with this probability
//            (Poisson sampling) and nobody who sees the output knows the batch. Never use it
//            against somebody who knows the batch (methods.md, R-g), nor for batches of fixed size.
//            remove: P = (1-q) N(0) + q N(D), Q = N(0);  add: the same, exchanged;
//            replace: P = (1-q) N(0) + q N(D), Q = (1-q) N(0) + q N(-D);
//            N(x) the noise shifted by x, D the add/remove sensitivity, q the rate.
// Dimension  One coordinate; the Gaussian in any dimension with L2 sensitivity 1, which reduces to
//            one coordinate by rotation. The others are not rotation invariant: their sensitivity
//            is that of one scalar query.
// Errors     kUsage for parameters out of range.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "privacy/accounting/loss_cells.h"
#include "privacy/accounting/rdp.h"
#include "privacy/accounting/types.h"
#include "privacy/adjacency.h"

namespace partita::privacy {

// `sensitivity` is always that of add/remove; under kReplace the two contributions are +sensitivity
// and -sensitivity.
struct SamplingSpec {
  Adjacency adjacency = Adjacency::kAddRemove;
  double sampling_rate = 1;
};

struct Mechanism {
  std::string name;  // "Gaussian, noise 2.042 x sensitivity, sampling rate 0.0033, add-remove"
  std::shared_ptr<const LossPair> forward;
  std::shared_ptr<const LossPair> backward;  // equal to forward if the pair is symmetric
  // mu of an unsampled Gaussian (0: it is none): compositions of those are one Gaussian, exactly.
  double gaussian_mu = 0;
  // For the other accountants, where known; empty or 0 where not.
  RdpCurve rdp;             // Renyi divergence, both directions
  double pure_epsilon = 0;  // largest loss
  double clt_mu = 0;        // per use, in the limit of many
};

// noise_multiplier: standard deviation of the noise divided by the add/remove L2 sensitivity.
Mechanism GaussianMechanism(double noise_multiplier, const SamplingSpec& spec);

// noise_multiplier: scale b of exp(-|x|/b) divided by the sensitivity.
Mechanism LaplaceMechanism(double noise_multiplier, const SamplingSpec& spec);

// pmf(k) proportional to exp(-k^2 / (2 sigma^2)) on the integers (sigma is the parameter, not the
// standard deviation); integer sensitivity. Above sigma = 2^13 sums over integers are taken as
// integrals with the error of the midpoint rule charged to the cells.
Mechanism DiscreteGaussianMechanism(double sigma, uint64_t sensitivity, const SamplingSpec& spec);

// The sum of `shares` independent discrete Gaussians of parameter share_sigma each: not a discrete
// Gaussian. From share_sigma = 2 on it is one of parameter sqrt(shares) share_sigma up to the
// factor exp(+-tau), tau = 10 sum_{k<shares} exp(-2 pi^2 share_sigma^2 k/(k+1)), which is charged
// to the cells (Kairouz, Liu & Steinke, ICML 2021, Proposition 13); below, the exact convolution.
Mechanism DiscreteGaussianSumMechanism(double share_sigma, uint32_t shares, uint64_t sensitivity,
                                       const SamplingSpec& spec);

// pmf(k) proportional to exp(-|k| / scale) on the integers; integer sensitivity.
Mechanism DiscreteLaplaceMechanism(double scale, uint64_t sensitivity, const SamplingSpec& spec);

// One bit, reported truthfully with probability e^epsilon / (1 + e^epsilon). Forward: P when the
// bit is 1, Q when it is 0 (sampling mixes towards the bit 0; kReplace is refused with
// sampling_rate < 1).
Mechanism RandomisedResponse(double epsilon, const SamplingSpec& spec);

// The dominating pair of every (epsilon, delta)-DP mechanism (Kairouz, Oh & Viswanath 2015): for
// exact "optimal" composition, homogeneous or not.
Mechanism ApproximateDpMechanism(const EpsilonDelta& guarantee);

// Any two probability mass functions on the same outputs, taken as exact. Sums must be 1 to 1e-9
// (they are not rescaled). Outputs with p > 0 = q have infinite loss.
Mechanism PmfMechanism(std::span<const double> p, std::span<const double> q, std::string name);
// The same, sampled under add/remove: P = (1-q) without + q with.
Mechanism SampledPmfMechanism(std::span<const double> with, std::span<const double> without,
                              double sampling_rate, std::string name);

// Any two laws on the line given by their distribution functions, whose likelihood ratio dP/dQ does
// not decrease along the line (the trade-off is then taken by thresholds). Both tails are asked
// for, so that neither is the difference of numbers near 1; the functions are taken as accurate to
// relative_error each. The line is cut into `cells` pieces over [low, high]; a piece's loss is
// known to lie between the mean losses of its two neighbours. Throws kBadInput if the mean losses
// of the pieces decrease by more than the errors explain: then the ratio is not monotone.
struct LineLaw {
  std::function<double(double)> cdf;       // P(X <= x)
  std::function<double(double)> survival;  // P(X > x)
};
struct LinePair {
  LineLaw p;
  LineLaw q;
  double low = 0;
  double high = 0;
  double relative_error = 1e-14;
};
Mechanism DistributionMechanism(const LinePair& pair, size_t cells, std::string name);

// `count` uses of one mechanism, each with fresh noise.
struct Event {
  Mechanism mechanism;
  uint64_t count = 1;
};

}  // namespace partita::privacy
