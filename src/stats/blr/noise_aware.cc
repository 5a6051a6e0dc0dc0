#include "stats/blr/noise_aware.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/normal.h"
#include "stats/blr/gram_chain.h"
#include "stats/blr/variates.h"

namespace partita::stats::blr {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

struct Scales {
  double slope_variance = 0;  // lambda
  double noise_variance = 0;  // s2
};

class Chain {
 public:
  Chain(const Statistics& released, double variance, bool intercept, const NoiseAwarePrior& prior,
        crypto::RandomSource& source)
      : released_(released),
        variance_(variance),
        prior_(prior),
        weights_(prior.slope_weights.size() > 0 ? prior.slope_weights
                                                : VectorXd::Ones(released.cross.size())),
        first_slope_(intercept ? 1 : 0),
        variates_(source),
        gram_({released.gram, variance, Degrees(), released.num_rows * prior.max_mean_square,
               intercept},
              StartScale()),
        before_(gram_),
        entries_(gram_.Entries()) {
    scales_.slope_variance = std::sqrt(prior.slope_variance.low * prior.slope_variance.high);
    scales_.noise_variance = std::clamp(released.target_square / released.num_rows,
                                        prior.noise_variance.low, prior.noise_variance.high);
    z_.resize(2 * released.cross.size());
    for (double& value : z_) value = variates_.Normal();
    log_density_ = LogDensity(gram_, scales_, z_, b_);
  }

  void Sweep(bool tuning) {
    gram_.Refresh();
    log_density_ = LogDensity(gram_, scales_, z_, b_);
    RedrawGram(tuning);
    RedrawCross(0, tuning);
    RedrawCross(cross_keep_, tuning);
    RedrawCross(cross_keep_, tuning);
    StretchGram(false);
    StretchGram(true);
    RedrawScale();
    WalkScale(prior_.slope_variance, &Scales::slope_variance, slope_step_, tuning);
    WalkScale(prior_.noise_variance, &Scales::noise_variance, noise_step_, tuning);
    ++sweeps_;
  }

  // beta given the current state.
  NoiseAwarePosterior::Component Coefficients() const {
    MatrixXd precision = gram_.gram() / scales_.noise_variance;
    precision.diagonal() += (scales_.slope_variance * weights_).cwiseInverse();
    const Eigen::LLT<MatrixXd> solver(precision);
    NoiseAwarePosterior::Component component;
    component.mean = solver.solve(b_ / scales_.noise_variance);
    component.covariance = solver.solve(MatrixXd::Identity(b_.size(), b_.size()));
    component.noise_variance = scales_.noise_variance;
    return component;
  }

  const Scales& scales() const { return scales_; }
  double gram_acceptance() const {
    return static_cast<double>(accepted_) / static_cast<double>(std::max<size_t>(proposed_, 1));
  }

 private:
  double Degrees() const {
    return static_cast<double>(released_.cross.size()) + prior_.extra_degrees;
  }

  VectorXd StartScale() const {
    VectorXd scale = VectorXd::Constant(
        released_.cross.size(),
        released_.num_rows * std::sqrt(prior_.gram_scale.low * prior_.gram_scale.high));
    // The mean of a feature has the prior standard deviation 2 sd(feature).
    if (first_slope_ == 1) scale(0) = 0.25 * released_.num_rows;
    return scale;
  }

  // log p(b~ | A, lambda, s2) + log p(c~ | b, A, s2), with b = b(z) drawn given b~ by
  // conditioning (Matheron): b = b0 + S (S + v I)^-1 (b~ - b0 - noise0). A sweep asks some twelve
  // times, so nothing is allocated here, and of symmetric matrices the lower triangle is made.
  double LogDensity(const GramChain& chain, const Scales& scales, const VectorXd& z, VectorXd& b) {
    const MatrixXd& gram = chain.gram();
    const Eigen::Index p = gram.rows();
    MatrixXd& total = work_.total;
    total = scales.noise_variance * gram;
    for (Eigen::Index c = 0; c < p; ++c) {
      for (Eigen::Index k = 0; k < p; ++k) {
        total.col(c).tail(p - c) +=
            (scales.slope_variance * weights_(k) * gram(k, c)) * gram.col(k).tail(p - c);
      }
    }
    work_.llt.compute(total);
    VectorXd& b0 = work_.signal;
    b0 = z.head(p);
    b0 = work_.llt.matrixLLT().triangularView<Eigen::Lower>() * b0;
    work_.blurred = total;
    work_.blurred.diagonal().array() += variance_;
    work_.llt.compute(work_.blurred);
    work_.standardised = released_.cross;
    work_.llt.matrixL().solveInPlace(work_.standardised);
    double density = -0.5 * work_.standardised.squaredNorm();
    for (Eigen::Index i = 0; i < p; ++i) density -= std::log(work_.llt.matrixLLT()(i, i));
    work_.away = released_.cross - b0 - std::sqrt(variance_) * z.tail(p);
    work_.llt.solveInPlace(work_.away);
    b = b0;
    b.noalias() += total.selfadjointView<Eigen::Lower>() * work_.away;
    work_.away.noalias() = chain.inverse() * b;
    const double remaining = std::max(released_.num_rows - static_cast<double>(p), 1.0);
    const double mean = b.dot(work_.away) + remaining * scales.noise_variance;
    const double spread = 2 * remaining * scales.noise_variance * scales.noise_variance + variance_;
    const double away = released_.target_square - mean;
    return density - 0.5 * (away * away / spread + std::log(spread));
  }

  // The log density at a proposal; `proposed_b_` becomes its b.
  double Propose(const Scales& scales) { return LogDensity(gram_, scales, z_, proposed_b_); }
  void Take(double log_density) {
    log_density_ = log_density;
    std::swap(b_, proposed_b_);
  }

  bool Accept(double log_ratio) { return std::log(variates_.Uniform()) < log_ratio; }

  // Parts of the entries in random order: each part is reversible for the law given A~ alone.
  void RedrawGram(bool tuning) {
    for (size_t k = entries_.size(); k > 1; --k)
      std::swap(entries_[k - 1], entries_[variates_.Below(k)]);
    const size_t parts = std::min(parts_, entries_.size());
    size_t accepted = 0;
    for (size_t part = 0; part < parts; ++part) {
      const size_t begin = entries_.size() * part / parts;
      const size_t end = entries_.size() * (part + 1) / parts;
      before_ = gram_;
      gram_.Redraw(std::span(entries_).subspan(begin, end - begin), variates_);
      const double proposed = Propose(scales_);
      if (Accept(proposed - log_density_)) {
        Take(proposed);
        ++accepted;
      } else {
        gram_ = before_;
      }
    }
    if (!tuning) {
      proposed_ += parts;
      accepted_ += accepted;
    } else if (accepted * 2 < parts) {
      parts_ = std::min(parts_ + 1, entries_.size());
    } else if (accepted * 10 > parts * 9 && parts_ > 2 && sweeps_ % 4 == 0) {
      --parts_;
    }
  }

  // z -> keep z + sqrt(1 - keep^2) fresh: leaves the standard normal law of z invariant.
  void RedrawCross(double keep, bool tuning) {
    before_z_ = z_;
    const double fresh = std::sqrt(1 - keep * keep);
    for (double& value : z_) value = keep * value + fresh * variates_.Normal();
    const double proposed = Propose(scales_);
    const bool accepted = Accept(proposed - log_density_);
    if (accepted) {
      Take(proposed);
    } else {
      z_ = before_z_;
    }
    if (tuning && keep > 0) {
      // The angle of the step.
      const double angle = std::acos(keep) * (accepted ? 1.1 : 0.93);
      cross_keep_ = std::cos(std::clamp(angle, 0.02, 1.5));
    }
  }

  // A -> k A, psi -> k psi, and lambda -> lambda / k^2 if `counter`, under which lambda A W A
  // stays.
  void StretchGram(bool counter) {
    const double log_factor = variates_.Normal();
    before_ = gram_;
    const double noise_before = gram_.LogNoiseDensity();
    gram_.Stretch(std::exp(log_factor));
    Scales scales = scales_;
    if (counter) scales.slope_variance *= std::exp(-2 * log_factor);
    if (gram_.WithinBounds() && Inside(prior_.gram_scale, GramScale()) &&
        Inside(prior_.slope_variance, scales.slope_variance)) {
      const double proposed = Propose(scales);
      if (Accept(proposed - log_density_ + gram_.LogNoiseDensity() - noise_before)) {
        Take(proposed);
        scales_ = scales;
        return;
      }
    }
    gram_ = before_;
  }

  double GramScale() const { return gram_.scale()(gram_.scale().size() - 1) / released_.num_rows; }

  static bool Inside(const Range& range, double value) {
    const double slack = 1e-12;
    return value >= range.low * (1 - slack) && value <= range.high * (1 + slack);
  }

  // psi | A: prop. to psi^(q degrees / 2) exp(-psi sum G_jj / 2) d log psi over the q slopes, cut
  // off at the range; by a few random-walk steps.
  void RedrawScale() {
    const Range& range = prior_.gram_scale;
    if (range.low == range.high) return;
    VectorXd scale = gram_.scale();
    const Eigen::Index q = scale.size() - first_slope_;
    if (q == 0) return;
    const double shape = 0.5 * static_cast<double>(q) * Degrees();
    const double rate = 0.5 * released_.num_rows * gram_.inverse().diagonal().tail(q).sum();
    const auto log_density = [&](double log_value) {
      return shape * log_value - rate * std::exp(log_value);
    };
    double current = std::log(GramScale());
    for (int k = 0; k < 3; ++k) {
      const double next = current + 2.4 / std::sqrt(shape) * variates_.Normal();
      if (Inside(range, std::exp(next)) && Accept(log_density(next) - log_density(current)))
        current = next;
    }
    scale.tail(q).setConstant(std::exp(current) * released_.num_rows);
    gram_.set_scale(scale);
  }

  void WalkScale(const Range& range, double Scales::*member, double& step, bool tuning) {
    if (range.low == range.high) return;
    for (int k = 0; k < 2; ++k) {
      Scales scales = scales_;
      scales.*member *= std::exp(step * variates_.Normal());
      bool accepted = false;
      if (Inside(range, scales.*member)) {
        const double proposed = Propose(scales);
        accepted = Accept(proposed - log_density_);
        if (accepted) {
          scales_ = scales;
          Take(proposed);
        }
      }
      if (tuning) {
        step *= std::exp(((accepted ? 1.0 : 0.0) - 0.4) /
                         std::sqrt(1 + 0.2 * static_cast<double>(sweeps_)));
        step = std::clamp(step, 1e-3, 4.0);
      }
    }
  }

  const Statistics& released_;
  double variance_;
  const NoiseAwarePrior& prior_;
  VectorXd weights_;
  Eigen::Index first_slope_;
  Variates variates_;
  GramChain gram_, before_;  // before_: what a refused proposal falls back to
  std::vector<GramChain::Entry> entries_;
  Scales scales_;
  double log_density_ = 0;
  VectorXd z_, before_z_, b_, proposed_b_;
  // Memory of LogDensity.
  struct {
    MatrixXd total, blurred;  // the lower triangles of S and of S + v I
    VectorXd signal, standardised, away;
    Eigen::LLT<MatrixXd> llt;
  } work_;
  double cross_keep_ = 0.9;
  double slope_step_ = 1, noise_step_ = 0.3;
  size_t parts_ = 3, sweeps_ = 0, proposed_ = 0, accepted_ = 0;
};

void CheckRange(const Range& range, const char* name) {
  if (range.low > 0 && range.low <= range.high && std::isfinite(range.high)) return;
  throw Error(ErrorCode::kBadInput, std::string("the prior range of the ") + name + " is empty",
              "give 0 < low <= high");
}

void Check(const Statistics& released, double variance, const NoiseAwarePrior& prior,
           const NoiseAwareOptions& options) {
  CheckRange(prior.slope_variance, "slope variance");
  CheckRange(prior.noise_variance, "noise variance");
  CheckRange(prior.gram_scale, "scale of X'X");
  if (!(variance > 0) || !std::isfinite(variance)) {
    throw Error(ErrorCode::kUsage, "statistics without noise need no noise-aware posterior",
                "use the exact posterior");
  }
  const bool weights_fit =
      prior.slope_weights.size() == 0 ||
      (prior.slope_weights.size() == released.cross.size() && prior.slope_weights.minCoeff() > 0);
  if (!(prior.extra_degrees > 1) || !(prior.max_mean_square > 0) || !weights_fit ||
      options.draws == 0 || options.components == 0) {
    throw Error(ErrorCode::kBadInput, "the prior of a noise-aware posterior is out of range",
                "degrees above p + 1, positive bounds and weights, one weight per coefficient");
  }
}

// The mixture of normal laws along a direction; `residual`: of a new observation.
struct Line {
  std::vector<double> means, stddevs;

  Line(const NoiseAwarePosterior& posterior, const VectorXd& direction, bool residual) {
    for (const NoiseAwarePosterior::Component& component : posterior.components) {
      means.push_back(direction.dot(component.mean));
      stddevs.push_back(std::sqrt(direction.dot(component.covariance * direction) +
                                  (residual ? component.noise_variance : 0)));
    }
  }

  double Distribution(double value) const {
    double sum = 0;
    for (size_t k = 0; k < means.size(); ++k) sum += NormalTail((means[k] - value) / stddevs[k]);
    return sum / static_cast<double>(means.size());
  }

  double Density(double value) const {
    double sum = 0;
    for (size_t k = 0; k < means.size(); ++k) {
      const double standardised = (value - means[k]) / stddevs[k];
      sum += std::exp(-0.5 * standardised * standardised) / stddevs[k];
    }
    return sum / (std::sqrt(2 * M_PI) * static_cast<double>(means.size()));
  }

  // By Newton's method, and by halving where a step would leave the bracket.
  double Quantile(double probability, double lower, double upper) const {
    double value = 0.5 * (lower + upper);
    for (int k = 0; k < 200 && upper - lower > 1e-12 * (std::abs(lower) + std::abs(upper)); ++k) {
      const double away = Distribution(value) - probability;
      (away < 0 ? lower : upper) = value;
      const double step = away / Density(value);
      const double next = value - step;
      if (std::abs(step) <= 1e-12 * std::abs(value)) return next;
      value = next > lower && next < upper ? next : 0.5 * (lower + upper);
    }
    return value;
  }

  Interval Central(double level) const {
    double lower = means[0], upper = means[0];
    for (size_t k = 0; k < means.size(); ++k) {
      lower = std::min(lower, means[k] - 40 * stddevs[k]);
      upper = std::max(upper, means[k] + 40 * stddevs[k]);
    }
    return {Quantile((1 - level) / 2, lower, upper), Quantile((1 + level) / 2, lower, upper)};
  }
};

}  // namespace

NoiseAwarePosterior FitNoiseAware(const Statistics& released, double released_variance,
                                  bool intercept, const NoiseAwarePrior& prior,
                                  const NoiseAwareOptions& options, crypto::RandomSource& source) {
  Check(released, released_variance, prior, options);
  Chain chain(released, released_variance, intercept, prior, source);
  for (size_t k = 0; k < options.burn_in; ++k) chain.Sweep(true);
  const Eigen::Index p = released.cross.size();
  NoiseAwarePosterior posterior;
  posterior.mean = VectorXd::Zero(p);
  posterior.covariance = MatrixXd::Zero(p, p);
  const size_t kept = std::min(options.components, options.draws);
  for (size_t k = 0; k < options.draws; ++k) {
    chain.Sweep(false);
    NoiseAwarePosterior::Component component = chain.Coefficients();
    posterior.mean += component.mean;
    posterior.covariance += component.covariance + component.mean * component.mean.transpose();
    posterior.noise_variance += chain.scales().noise_variance;
    posterior.slope_variance += chain.scales().slope_variance;
    // Evenly spread over the draws.
    if ((k + 1) * kept / options.draws > k * kept / options.draws)
      posterior.components.push_back(std::move(component));
  }
  const auto draws = static_cast<double>(options.draws);
  posterior.mean /= draws;
  posterior.covariance =
      (posterior.covariance / draws - posterior.mean * posterior.mean.transpose()).eval();
  posterior.noise_variance /= draws;
  posterior.slope_variance /= draws;
  posterior.gram_acceptance = chain.gram_acceptance();
  return posterior;
}

double MixtureDistribution(const NoiseAwarePosterior& posterior, const VectorXd& direction,
                           double value) {
  return Line(posterior, direction, false).Distribution(value);
}

Interval MixtureInterval(const NoiseAwarePosterior& posterior, const VectorXd& direction,
                         double level) {
  return Line(posterior, direction, false).Central(level);
}

Interval PredictiveInterval(const NoiseAwarePosterior& posterior, const VectorXd& x, double level) {
  return Line(posterior, x, true).Central(level);
}

}  // namespace partita::stats::blr
