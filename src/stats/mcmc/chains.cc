#include "stats/mcmc/chains.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace partita::stats::mcmc {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

// The best rates of long random walks: Roberts, Gelman & Gilks 1997; Agrawal et al. 2023.
double BestRate(Acceptance acceptance) {
  return acceptance == Acceptance::kMetropolis ? 0.234 : 0.158;
}

// The law of the proposals.
class Proposals {
 public:
  Proposals(Index dimension, const ChainOptions& options)
      : options_(options),
        log_scale_(std::log(2.38 / std::sqrt(static_cast<double>(dimension)))),
        mean_(VectorXd::Zero(dimension)),
        covariance_(MatrixXd::Identity(dimension, dimension) * options.initial_scale *
                    options.initial_scale),
        factor_(MatrixXd::Identity(dimension, dimension) * options.initial_scale) {}

  MatrixXd Draw(const MatrixXd& current, blr::Variates& variates) const {
    MatrixXd steps(current.rows(), current.cols());
    for (Index c = 0; c < steps.cols(); ++c) {
      for (Index j = 0; j < steps.rows(); ++j) steps(j, c) = variates.Normal();
    }
    return current + std::exp(log_scale_) * (factor_ * steps);
  }

  // After decision number t = 0, 1, ... of the warm-up.
  void Learn(size_t t, const MatrixXd& current, double accepted_share) {
    const double weight = 1 / std::pow(static_cast<double>(t) + 1, 0.6);
    log_scale_ += weight * (accepted_share - BestRate(options_.acceptance));
    // The first tenth is on its way to the typical set.
    if (10 * t < options_.warmup) return;
    for (Index c = 0; c < current.cols(); ++c) {
      seen_ += 1;
      const VectorXd old = current.col(c) - mean_;
      mean_ += old / seen_;
      sum_of_squares_ =
          seen_ == 1 ? MatrixXd::Zero(mean_.size(), mean_.size()).eval()
                     : MatrixXd(sum_of_squares_ + old * (current.col(c) - mean_).transpose());
    }
    if (t % 20 != 0 || seen_ < 10 * static_cast<double>(mean_.size())) return;
    covariance_ = sum_of_squares_ / (seen_ - 1);
    covariance_.diagonal() +=
        1e-6 * covariance_.diagonal() + VectorXd::Constant(mean_.size(), 1e-12);
    const Eigen::LLT<MatrixXd> factor(covariance_);
    if (factor.info() == Eigen::Success) factor_ = factor.matrixL();
  }

 private:
  const ChainOptions& options_;
  double log_scale_;
  double seen_ = 0;
  VectorXd mean_;
  MatrixXd sum_of_squares_, covariance_, factor_;
};

}  // namespace

Draws RunChains(const MatrixXd& start, const ChainOptions& options, const Decide& decide,
                crypto::RandomSource& public_source, Progress& progress) {
  if (options.chains == 0 || options.draws == 0 || options.thin == 0 ||
      start.cols() != static_cast<Index>(options.chains) || start.rows() == 0) {
    throw Error(ErrorCode::kUsage, "chains need draws, and a starting point for every one of them");
  }
  blr::Variates variates(public_source);
  Proposals proposals(start.rows(), options);
  MatrixXd current = start;
  Draws draws;
  draws.chains.assign(options.chains, MatrixXd(static_cast<Index>(options.draws), start.rows()));
  const size_t total = options.warmup + options.draws * options.thin;
  double accepted_after = 0;
  for (size_t t = 0; t < total; ++t) {
    progress.Step(t, total);
    progress.CheckCancelled();
    const MatrixXd proposed = proposals.Draw(current, variates);
    const std::vector<bool> accepted = decide(current, proposed);
    for (size_t c = 0; c < options.chains; ++c) {
      if (accepted[c]) current.col(static_cast<Index>(c)) = proposed.col(static_cast<Index>(c));
    }
    const double share = static_cast<double>(std::count(accepted.begin(), accepted.end(), true)) /
                         static_cast<double>(options.chains);
    draws.decisions += options.chains;
    if (t < options.warmup) {
      proposals.Learn(t, current, share);
      continue;
    }
    accepted_after += share;
    const size_t kept = t - options.warmup;
    if ((kept + 1) % options.thin != 0) continue;
    for (size_t c = 0; c < options.chains; ++c) {
      draws.chains[c].row(static_cast<Index>(kept / options.thin)) =
          current.col(static_cast<Index>(c)).transpose();
    }
  }
  draws.acceptance_rate = accepted_after / static_cast<double>(options.draws * options.thin);
  return draws;
}

const VectorXd& Differences::Of(const MatrixXd& current, const MatrixXd& proposed) {
  if (at_current_.size() == 0) at_current_ = target_.LogLikelihood(current);
  at_proposed_ = target_.LogLikelihood(proposed);
  for (const double value : at_proposed_) {
    if (std::isnan(value) || value == HUGE_VAL) {
      throw Error(ErrorCode::kBadData, "the log likelihood of the own rows is not a number",
                  "check the own log density at extreme parameters");
    }
  }
  differences_ = at_proposed_ - at_current_;
  return differences_;
}

void Differences::Replace(const std::vector<bool>& accepted) {
  for (size_t c = 0; c < accepted.size(); ++c) {
    if (accepted[c]) at_current_(static_cast<Index>(c)) = at_proposed_(static_cast<Index>(c));
  }
}

double DecisionVariate(Acceptance acceptance, double uniform) {
  if (acceptance == Acceptance::kMetropolis) return -std::log(uniform);
  return std::log(uniform) - std::log1p(-uniform);
}

PlainDecisions::PlainDecisions(const std::vector<const LocalTarget*>& targets,
                               std::vector<Prior> priors, Acceptance acceptance,
                               crypto::RandomSource& secret_source)
    : priors_(std::move(priors)), acceptance_(acceptance), variates_(secret_source) {
  for (const LocalTarget* target : targets) parties_.emplace_back(*target);
}

std::vector<bool> PlainDecisions::operator()(const MatrixXd& current, const MatrixXd& proposed) {
  VectorXd log_ratio = LogPrior(priors_, proposed) - LogPrior(priors_, current);
  for (Differences& party : parties_) log_ratio += party.Of(current, proposed);
  std::vector<bool> accepted(static_cast<size_t>(current.cols()));
  for (size_t c = 0; c < accepted.size(); ++c) {
    accepted[c] =
        log_ratio(static_cast<Index>(c)) + DecisionVariate(acceptance_, variates_.Uniform()) >= 0;
  }
  for (Differences& party : parties_) party.Replace(accepted);
  return accepted;
}

}  // namespace partita::stats::mcmc
