#include "privacy/accounting/noise_law.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "privacy/accounting/types.h"

namespace partita::privacy {
namespace {

constexpr double kMaxSigma = 0x1p45;       // half integers out to 40 sigma are doubles
constexpr double kTableSigma = 0x1p13;     // up to here pmfs are tables
constexpr double kSmallestShareSigma = 2;  // from here on sums are discrete Gaussians up to tau

double RequireSensitivity(uint64_t sensitivity) {
  if (sensitivity < 1 || sensitivity > (uint64_t{1} << 45)) {
    throw Error(ErrorCode::kUsage, "the sensitivity of an integer mechanism must lie in [1, 2^45]",
                "give it in units of the grid");
  }
  return static_cast<double>(sensitivity);
}

// A log ratio slope * (x - shift / 2): the Gaussian family.
void SetLinearRatio(NoiseLaw& law, double slope) {
  const double shift = law.shift;
  law.log_ratio = [slope, shift](double x) { return slope * (x - shift / 2); };
  law.log_ratio_error = [slope, shift](double x) {
    return 6 * kRounding * slope * (std::abs(x) + shift);
  };
  law.at_log_ratio = [slope, shift](double level) { return level / slope + shift / 2; };
  // With y = e^(slope x) and a = e^(-slope shift/2):
  // rate a y^2 + (1 - rate) (1 - e^level) y - rate a e^level = 0.
  law.at_replace_loss = [slope, shift](double level, double rate) {
    if (rate == 1) return level / (2 * slope);
    const double half = slope * shift / 2;
    if (level > 600) return (level + half + std::log((1 - rate) / rate)) / slope;
    const double b = (1 - rate) * std::expm1(level);
    const double c = rate * std::exp(level / 2 - half);
    return (std::log(b + std::hypot(b, 2 * c)) - std::log(2 * rate) + half) / slope;
  };
}

// A log ratio (|x| - |x - shift|) / scale: the Laplace family.
void SetClampedRatio(NoiseLaw& law, double scale) {
  const double shift = law.shift, most = shift / scale;
  law.log_ratio = [scale, shift](double x) {
    return std::clamp(2 * x - shift, -shift, shift) / scale;
  };
  law.log_ratio_error = [most](double) { return 6 * kRounding * most; };
  law.at_log_ratio = [scale, shift](double level) { return (level * scale + shift) / 2; };
  law.at_replace_loss = [scale, shift, most](double level, double rate) {
    // For 0 <= x <= shift the opposite shift contributes a constant.
    const double mixed = level + MixedLogRatio(-most, rate);
    const double ratio = rate == 1 ? mixed
                         : mixed < 30
                             ? std::log1p(std::expm1(mixed) / rate)
                             : mixed - std::log(rate) + std::log1p(-(1 - rate) * std::exp(-mixed));
    return (ratio * scale + shift) / 2;
  };
  law.kinks = {0, shift};
  law.flat_ends = true;
}

// Sums of a table f(0), f(1), ... of a symmetric pmf, positive terms only.
class PmfTable {
 public:
  PmfTable(std::vector<double> pmf, double error) : pmf_(std::move(pmf)), error_(error) {
    tail_.resize(pmf_.size() + 1);
    long double sum = 0;
    for (size_t k = pmf_.size(); k-- > 0;) tail_[k] = static_cast<double>(sum += pmf_[k]);
  }

  // P(X >= k), k >= 0.
  double Tail(double k) const {
    return k < static_cast<double>(pmf_.size()) ? tail_[static_cast<size_t>(k)] : 0;
  }

  double Pmf(double k) const {
    const double index = std::abs(k);
    return index < static_cast<double>(pmf_.size()) ? pmf_[static_cast<size_t>(index)] : 0;
  }

  // Of the integers first..last (infinite ends allowed).
  Mass Sum(double first, double last) const {
    if (first > last) return {0, 0};
    if (first + last < 0) return Sum(-last, -first);
    const double end = std::min(last, static_cast<double>(pmf_.size()));
    if (end - first <= 64) {
      double sum = 0;
      for (double k = first; k <= end; ++k) sum += Pmf(k);
      return {sum, error_ + 66 * kRounding};
    }
    if (first <= 0) {  // two positive parts of one centre
      const double left = first < 0 ? tail_[1] - Tail(1 - first) : 0;
      const double sum = pmf_[0] + left + (tail_[1] - Tail(last + 1));
      return {sum, error_ + 12 * kRounding * (pmf_[0] + 2 * tail_[1]) / sum};
    }
    const double above = Tail(first), beyond = Tail(last + 1);
    const double sum = above - beyond;
    if (!(sum > 0)) return {0, 0};
    return {sum, error_ + 4 * kRounding * (above + beyond) / sum};
  }

  // Smallest k with P(X >= k) < mass.
  double Reach(double mass) const {
    const auto at = std::partition_point(tail_.begin(), tail_.end(),
                                         [mass](double tail) { return tail >= mass; });
    return static_cast<double>(at - tail_.begin());
  }

  size_t size() const { return pmf_.size(); }

 private:
  std::vector<double> pmf_;
  std::vector<double> tail_;
  double error_;
};

void UseTable(NoiseLaw& law, const std::shared_ptr<const PmfTable>& table) {
  law.mass = [table](double a, double b, double shift) {
    return table->Sum(std::ceil(a - shift), std::floor(b - shift));
  };
  law.reach = [table](double tail_mass) { return table->Reach(tail_mass); };
}

// exp(-k^2 / (2 sigma^2)) until it would underflow, normalised.
std::vector<double> GaussianPmf(double sigma) {
  std::vector<double> pmf;
  long double sum = 0;
  for (double k = 0; k <= 37 * sigma + 1; ++k) {
    const double y = k / sigma;
    pmf.push_back(std::exp(-0.5 * y * y));
  }
  for (size_t k = pmf.size(); k-- > 0;) sum += k == 0 ? pmf[0] : 2.0L * pmf[k];
  for (double& value : pmf) value = static_cast<double>(value / sum);
  return pmf;
}

// Relative error of these: the exponent is at most 37^2 / 2 + 37 / sigma.
constexpr double kGaussianPmfError = 4000 * kRounding;

// The convolution of a symmetric pmf with itself, `times` times, by direct sums of positive terms.
std::vector<double> Convolve(const std::vector<double>& a, const std::vector<double>& b) {
  const auto at = [](const std::vector<double>& f, int64_t k) {
    const size_t index = static_cast<size_t>(std::abs(k));
    return index < f.size() ? f[index] : 0.0;
  };
  const int64_t reach = static_cast<int64_t>(a.size() + b.size()) - 2;
  std::vector<double> sum;
  for (int64_t k = 0; k <= reach; ++k) {
    double value = 0;
    for (int64_t i = -static_cast<int64_t>(a.size()) + 1; i < static_cast<int64_t>(a.size()); ++i)
      value += at(a, i) * at(b, k - i);
    if (value < 1e-290) break;
    sum.push_back(value);
  }
  return sum;
}

void RequireSigma(double sigma) {
  RequirePositive(sigma, "the parameter of a discrete Gaussian");
  if (sigma > kMaxSigma || sigma < 0x1p-5) {
    throw Error(ErrorCode::kUsage, "the parameter of a discrete Gaussian must lie in [2^-5, 2^45]",
                "account a coarser grid: scale sigma and the sensitivity by the same number");
  }
}

// A discrete Gaussian whose masses are off by a further relative error.
NoiseLaw DiscreteGaussian(double sigma, uint64_t sensitivity, double extra_error) {
  NoiseLaw law;
  law.integer = true;
  law.shift = RequireSensitivity(sensitivity);
  const double slope = law.shift / sigma / sigma;
  SetLinearRatio(law, slope);
  law.ratio_scale = law.shift / sigma;
  law.sampled_scale = std::sqrt(std::expm1(std::min(law.ratio_scale * law.ratio_scale, 30.0)));
  law.ratio_period = slope;
  law.ratio_anchor = -slope * law.shift / 2;
  if (sigma <= kTableSigma) {
    UseTable(law, std::make_shared<PmfTable>(GaussianPmf(sigma), kGaussianPmfError + extra_error));
    return law;
  }
  // Sums over integers as integrals between half integers. For f(y) = exp(-y^2/2), y = k/sigma, the
  // midpoint rule is off by at most max |f''| / (24 sigma^2) per unit of y, |f''| <= (1 + y^2) f,
  // and f varies by less than a factor 1.01 over one step out to y = 40; the normaliser is sigma
  // sqrt(2 pi) up to 2 exp(-2 pi^2 sigma^2).
  law.mass = [sigma, extra_error](double a, double b, double shift) {
    Mass mass = NormalMass(a / sigma, b / sigma, shift / sigma);
    const double low = std::abs(a - shift) / sigma, high = std::abs(b - shift) / sigma;
    const double y =
        std::min(40.0, std::isfinite(low) && std::isfinite(high) ? std::max(low, high) : 40.0);
    mass.error +=
        1.02 * (1 + y * y) / (24 * sigma * sigma) + 8 * kRounding * (1 + y * y) + extra_error;
    return mass;
  };
  law.reach = [sigma](double tail_mass) {
    return std::ceil(sigma * NormalUpperQuantile(tail_mass)) + 1;
  };
  return law;
}

}  // namespace

NoiseLaw GaussianNoise(double noise_multiplier) {
  RequirePositive(noise_multiplier, "the noise multiplier");
  NoiseLaw law;
  law.shift = 1 / noise_multiplier;
  if (!(law.shift < 1e4 && law.shift > 1e-8)) {
    throw Error(ErrorCode::kUsage, "the noise multiplier must lie in [1e-4, 1e8]",
                "it is the noise's standard deviation divided by the sensitivity");
  }
  SetLinearRatio(law, law.shift);
  law.ratio_scale = law.shift;
  law.sampled_scale = std::sqrt(std::expm1(std::min(law.shift * law.shift, 30.0)));
  law.mass = [](double a, double b, double shift) {
    Mass mass = NormalMass(a, b, shift);
    // 1 / noise_multiplier is rounded, and so is its subtraction: both relative to the shift and x.
    const double x = std::min(40.0, std::min(std::abs(a - shift), std::abs(b - shift)) + 1);
    mass.error += 8 * kRounding * x * (x + std::abs(shift));
    return mass;
  };
  law.reach = NormalUpperQuantile;
  return law;
}

NoiseLaw LaplaceNoise(double noise_multiplier) {
  RequirePositive(noise_multiplier, "the noise multiplier");
  NoiseLaw law;
  const double shift = 1 / noise_multiplier;
  if (!(shift < 600 && shift > 1e-8)) {
    throw Error(ErrorCode::kUsage, "the Laplace noise multiplier must lie in [1/600, 1e8]",
                "it is the scale of the noise divided by the sensitivity");
  }
  law.shift = shift;
  law.mass = [](double a, double b, double offset) -> Mass {
    if (!(a < b)) return {0, 0};
    double low = a - offset, high = b - offset;
    if (low + high < 0) {
      const double mirrored = -low;
      low = -high;
      high = mirrored;
    }
    const double error =
        (12 + 4 * (std::isfinite(low) ? std::abs(low) : 0) + 2 * std::abs(offset)) * kRounding;
    if (low >= 0) return {0.5 * std::exp(-low) * -std::expm1(a - b), error};
    return {0.5 * (-std::expm1(low) - std::expm1(-high)), error};
  };
  SetClampedRatio(law, 1);
  law.reach = [](double tail_mass) { return -std::log(std::min(0.5, tail_mass)); };
  law.ratio_scale = std::min(shift, 1.0);
  law.sampled_scale = std::min(shift, std::exp(std::min(shift, 30.0) / 2));
  return law;
}

NoiseLaw DiscreteGaussianNoiseLaw(double sigma, uint64_t sensitivity) {
  RequireSigma(sigma);
  return DiscreteGaussian(sigma, sensitivity, 0);
}

NoiseLaw DiscreteGaussianSumNoise(double share_sigma, uint32_t shares, uint64_t sensitivity) {
  RequireSigma(share_sigma);
  if (shares < 1 || shares > 1'000'000) {
    throw Error(ErrorCode::kUsage, "between 1 and 1,000,000 shares of noise can be summed");
  }
  if (shares == 1) return DiscreteGaussian(share_sigma, sensitivity, 0);
  if (share_sigma >= kSmallestShareSigma) {
    // k / (k + 1) >= 1/2, so every term of tau is at most exp(-pi^2 sigma^2).
    const double tau = 10.0 * (shares - 1) * std::exp(-9.8696 * share_sigma * share_sigma);
    const double sigma = share_sigma * std::sqrt(static_cast<double>(shares));
    RequireSigma(sigma);
    // tau acts on the masses, and through them on the loss of every output, on both laws.
    NoiseLaw law = DiscreteGaussian(sigma, sensitivity, 2 * tau + 4 * kRounding * 1600);
    const auto error = law.log_ratio_error;
    law.log_ratio_error = [error, tau](double x) { return error(x) + 4 * tau; };
    if (tau > 1e-13) law.ratio_period = 0;
    return law;
  }
  if (shares > 512) {
    throw Error(ErrorCode::kUsage,
                "sums of more than 512 shares need a parameter of at least 2 per share",
                "use a finer grid");
  }
  const std::vector<double> share = GaussianPmf(share_sigma);
  std::vector<double> sum = share;
  double error = kGaussianPmfError;
  for (uint32_t i = 1; i < shares; ++i) {
    sum = Convolve(share, sum);
    error += kGaussianPmfError + 2 * static_cast<double>(share.size() + 1) * kRounding;
  }
  NoiseLaw law;
  law.integer = true;
  law.shift = RequireSensitivity(sensitivity);
  const auto table = std::make_shared<const PmfTable>(sum, error);
  UseTable(law, table);
  const double shift = law.shift;
  law.log_ratio = [table, shift](double x) {
    const double k = std::round(x);
    const double with = table->Pmf(k - shift), without = table->Pmf(k);
    if (with == 0 && without == 0) return k > 0 ? kInfinity : -kInfinity;
    if (with == 0) return -kInfinity;
    return without == 0 ? kInfinity : std::log(with / without);
  };
  law.log_ratio_error = [error](double) { return 3 * error; };
  const auto ratio = law.log_ratio;
  const double reach = static_cast<double>(table->size()) + shift;
  law.at_log_ratio = [ratio, reach](double level) {
    double low = -reach, high = reach;
    while (high - low > 1) {
      const double middle = std::floor(0.5 * (low + high));
      (ratio(middle) <= level ? low : high) = middle;
    }
    return low;
  };
  const double sigma = share_sigma * std::sqrt(static_cast<double>(shares));
  law.ratio_scale = shift / sigma;
  law.sampled_scale = std::sqrt(std::expm1(std::min(law.ratio_scale * law.ratio_scale, 30.0)));
  return law;
}

NoiseLaw DiscreteLaplaceNoise(double scale, uint64_t sensitivity) {
  RequirePositive(scale, "the scale of a discrete Laplace law");
  NoiseLaw law;
  law.integer = true;
  const double shift = RequireSensitivity(sensitivity);
  law.shift = shift;
  if (scale > kMaxSigma || shift / scale > 600) {
    throw Error(ErrorCode::kUsage,
                "the scale of a discrete Laplace law must lie in [sensitivity / 600, 2^45]",
                "account a coarser grid: scale it and the sensitivity by the same number");
  }
  // With r = e^(-1/scale): P(k) = (1 - r) / (1 + r) r^|k|, P(X >= k) = r^k / (1 + r) for k >= 0.
  law.mass = [scale](double a, double b, double offset) -> Mass {
    double first = std::ceil(a - offset), last = std::floor(b - offset);
    if (first > last) return {0, 0};
    if (first + last < 0) {
      const double mirrored = -first;
      first = -last;
      last = mirrored;
    }
    const double all = 1 / (1 + std::exp(-1 / scale));
    const double error =
        (16 + 4 * (std::isfinite(first) ? std::abs(first) / scale : 0)) * kRounding;
    if (first >= 0)
      return {all * std::exp(-first / scale) * -std::expm1((first - last - 1) / scale), error};
    return {all * (-std::expm1(-(last + 1) / scale) +
                   std::exp(-1 / scale) * -std::expm1(first / scale)),
            error};
  };
  SetClampedRatio(law, scale);
  law.reach = [scale](double tail_mass) {
    return std::ceil(-scale * std::log(std::min(0.5, tail_mass))) + 1;
  };
  // Losses lie on a lattice; a fine one is treated like a continuous law, with atoms at the ends
  // only.
  law.ratio_period = shift <= 64 ? 2 / scale : 0;
  law.ratio_anchor = -shift / scale;
  law.ratio_scale = std::min(shift / scale, 1.0);
  law.sampled_scale = std::min(shift / scale, std::exp(std::min(shift / scale, 30.0) / 2));
  return law;
}

}  // namespace partita::privacy
