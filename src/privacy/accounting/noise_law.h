// Symmetric, log-concave noise on the line or on the integers, as the mechanisms need it: masses of
// intervals and the log-likelihood ratio of a shift.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "privacy/accounting/loss_cells.h"
#include "privacy/accounting/mechanism.h"
#include "privacy/accounting/normal.h"

namespace partita::privacy {

// f: the density (or pmf), symmetric about 0; D: the shift.
struct NoiseLaw {
  double shift = 0;
  bool integer = false;  // intervals then end at half integers
  // P(a < noise + shift < b); +-infinity allowed. The width is that of (a, b), whatever the shift.
  std::function<Mass(double a, double b, double shift)> mass;
  // log f(x - D) / f(x): does not decrease. error: its absolute rounding.
  std::function<double(double x)> log_ratio;
  std::function<double(double x)> log_ratio_error;
  // An x with log_ratio(x) about `level`.
  std::function<double(double level)> at_log_ratio;
  // An x where the loss of the replace pair at this rate is about `level` >= 0; empty: by
  // bisection.
  std::function<double(double level, double rate)> at_replace_loss;
  // x beyond which less than tail_mass of the noise is left.
  std::function<double(double tail_mass)> reach;
  // Where log_ratio has kinks: flat parts begin and end there.
  std::vector<double> kinks;
  // Losses of the unsampled law lie on ratio_anchor + ratio_period * integer; 0: they do not.
  double ratio_anchor = 0;
  double ratio_period = 0;
  // About the standard deviation of log_ratio, and of e^log_ratio, under the noise.
  double ratio_scale = 0;
  double sampled_scale = 0;
  bool flat_ends = false;  // log_ratio is constant (+-its bound) beyond the outer kinks
};

NoiseLaw GaussianNoise(double noise_multiplier);
NoiseLaw LaplaceNoise(double noise_multiplier);
NoiseLaw DiscreteGaussianNoiseLaw(double sigma, uint64_t sensitivity);
NoiseLaw DiscreteGaussianSumNoise(double share_sigma, uint32_t shares, uint64_t sensitivity);
NoiseLaw DiscreteLaplaceNoise(double scale, uint64_t sensitivity);

enum class Direction { kRemove, kAdd, kReplace };

// The pair of mechanism.h for this noise, direction and sampling rate.
std::shared_ptr<const LossPair> NoisePair(const NoiseLaw& law, Direction direction, double rate);

// log(1 - rate + rate e^ratio) without loss of precision, and a bound of its rounding given that of
// the ratio.
double MixedLogRatio(double ratio, double rate);
double MixedLogRatioError(double ratio, double ratio_error, double rate);

}  // namespace partita::privacy
