#include "stats/mcmc/chains.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "stats/mcmc/diagnostics.h"
#include "stats/mcmc/lipschitz.h"

namespace partita::stats::mcmc {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double kLargestLogScale = 10;

// The best rates of long random walks: Roberts, Gelman & Gilks 1997; Agrawal et al. 2023.
double BestRate(Acceptance acceptance) {
  return acceptance == Acceptance::kMetropolis ? 0.234 : 0.158;
}

// The law of the proposals.
class Proposals {
 public:
  Proposals(Index dimension, const ChainOptions& options)
      : options_(options),
        log_scale_(FirstLogScale(dimension)),
        mean_(VectorXd::Zero(dimension)),
        covariance_(MatrixXd::Identity(dimension, dimension) * options.initial_scale *
                    options.initial_scale),
        factor_(MatrixXd::Identity(dimension, dimension) * options.initial_scale) {}

  MatrixXd DrawStep(Index chains, blr::Variates& variates) const {
    MatrixXd step(factor_.rows(), chains);
    for (double& value : step.reshaped()) value = variates.Normal();
    step = std::exp(log_scale_) * (factor_ * step);
    if (options_.longest > 0) Shorten(options_.reach, options_.longest, step);
    return step;
  }

  // After decision number t = 0, 1, ... of the warm-up.
  void Learn(size_t t, const MatrixXd& current, double accepted_share) {
    const double weight = 1 / std::pow(static_cast<double>(t - scaled_since_) + 1, 0.6);
    log_scale_ += weight * (accepted_share - BestRate(options_.acceptance));
    // Steps that are shortened anyway are accepted too often for ever.
    if (options_.longest > 0) log_scale_ = std::min(log_scale_, kLargestLogScale);
    // The first tenth is on its way to the typical set.
    if (10 * t < options_.warmup) return;
    const bool apart = options_.superchains > 0;
    if (apart && (t == options_.warmup / 4 || t == options_.warmup / 2)) {
      Forget();
      rescale_ = true;
    }
    for (Index c = 0; c < current.cols(); ++c) See(current.col(c));
    if (!(apart || t % 20 == 0) || !TakeOver() || !rescale_) return;
    log_scale_ = FirstLogScale(mean_.size());
    scaled_since_ = t + 1;
    rescale_ = false;
  }

  // Before another warm-up: forgets what was seen, for these draws know better.
  void LearnAgain(const std::vector<MatrixXd>& chains) {
    Forget();
    for (const MatrixXd& chain : chains) {
      for (Index i = 0; i < chain.rows(); ++i) See(chain.row(i).transpose());
    }
    TakeOver();
  }

 private:
  static double FirstLogScale(Index dimension) {
    return std::log(2.38 / std::sqrt(static_cast<double>(dimension)));
  }

  void Forget() {
    seen_ = 0;
    mean_.setZero();
  }

  void See(const VectorXd& state) {
    seen_ += 1;
    const VectorXd old = state - mean_;
    mean_ += old / seen_;
    sum_of_squares_ = seen_ == 1 ? MatrixXd::Zero(mean_.size(), mean_.size()).eval()
                                 : MatrixXd(sum_of_squares_ + old * (state - mean_).transpose());
  }

  // Whether there was enough to take over.
  bool TakeOver() {
    if (seen_ < 10 * static_cast<double>(mean_.size())) return false;
    covariance_ = sum_of_squares_ / (seen_ - 1);
    covariance_.diagonal() +=
        1e-6 * covariance_.diagonal() + VectorXd::Constant(mean_.size(), 1e-12);
    const Eigen::LLT<MatrixXd> factor(covariance_);
    if (factor.info() != Eigen::Success) return false;
    factor_ = factor.matrixL();
    return true;
  }

  const ChainOptions& options_;
  double log_scale_;
  size_t scaled_since_ = 0;  // the first decision that the scale follows
  bool rescale_ = false;     // with the next covariance, after one was forgotten
  double seen_ = 0;
  VectorXd mean_;
  MatrixXd sum_of_squares_, covariance_, factor_;
};

}  // namespace

uint64_t DecisionsOfStage(const ChainOptions& options, size_t stage) {
  return options.warmup + ((uint64_t{options.draws} * options.thin) << stage);
}

uint64_t DecisionsBefore(const ChainOptions& options, size_t stage) {
  uint64_t decisions = 0;
  for (size_t s = 0; s < stage; ++s) decisions += DecisionsOfStage(options, s);
  return decisions;
}

size_t StagesOf(const ChainOptions& options) {
  if (options.draws == 0 || options.thin == 0) return 1;
  size_t stages = 1;
  while (DecisionsBefore(options, stages + 1) <= options.most_decisions) ++stages;
  return stages;
}

uint64_t DecisionsOf(const ChainOptions& options) {
  return DecisionsBefore(options, StagesOf(options));
}

std::vector<MatrixXd> Reachable(const MatrixXd& current, const std::vector<MatrixXd>& steps) {
  std::vector<MatrixXd> states = {current};
  for (const MatrixXd& step : steps) {
    const size_t before = states.size();
    for (size_t m = 0; m < before; ++m) states.emplace_back(states[m] + step);
  }
  return states;
}

std::vector<Question> Questions(size_t decisions) {
  std::vector<Question> questions;
  for (size_t k = 0; k < decisions; ++k) {
    const size_t bit = size_t{1} << k;
    for (size_t m = 0; m < bit; ++m) questions.push_back({m, m + bit});
  }
  return questions;
}

size_t QuestionAfter(const std::vector<bool>& bits) {
  size_t made = 0;
  for (size_t k = 0; k < bits.size(); ++k) made += size_t{bits[k]} << k;
  return (size_t{1} << bits.size()) - 1 + made;
}

bool HasWholeBlocks(const ChainOptions& options) {
  if (options.speculation == 0) return false;
  for (size_t stage = 0; stage < StagesOf(options); ++stage) {
    if (DecisionsOfStage(options, stage) % options.speculation != 0) return false;
  }
  return true;
}

namespace {

void CheckSuperchains(const MatrixXd& start, const ChainOptions& options) {
  if (options.superchains == 0) return;
  bool together = options.chains % options.superchains == 0;
  if (together) {
    const auto members = static_cast<Index>(options.chains / options.superchains);
    for (Index c = 0; c < start.cols(); ++c) {
      together = together && start.col(c) == start.col(c / members * members);
    }
  }
  if (!together) {
    throw Error(ErrorCode::kUsage,
                "superchains are equally many chains each, which begin at one point");
  }
}

}  // namespace

Draws RunChains(const MatrixXd& start, const ChainOptions& options, const Decide& decide,
                crypto::RandomSource& public_source, Progress& progress, const GoOn& go_on) {
  if (options.chains == 0 || options.draws == 0 || options.thin == 0 ||
      start.cols() != static_cast<Index>(options.chains) || start.rows() == 0) {
    throw Error(ErrorCode::kUsage, "chains need draws, and a starting point for every one of them");
  }
  if (!HasWholeBlocks(options)) {
    throw Error(ErrorCode::kUsage, "the decisions are not a multiple of those of a block",
                "choose other numbers of warm-up decisions or draws");
  }
  CheckSuperchains(start, options);
  const uint64_t total = DecisionsOf(options);
  const size_t stages = StagesOf(options);
  blr::Variates variates(public_source);
  Proposals proposals(start.rows(), options);
  MatrixXd current = start;
  Draws draws;
  draws.superchains = options.superchains;
  draws.chains.assign(options.chains, MatrixXd(static_cast<Index>(options.draws), start.rows()));
  std::vector<MatrixXd> steps(options.speculation);
  const auto chains = static_cast<double>(options.chains);
  for (size_t stage = 0;; ++stage) {
    const uint64_t before = DecisionsBefore(options, stage);
    const uint64_t in_stage = DecisionsOfStage(options, stage);
    const uint64_t thin = uint64_t{options.thin} << stage;
    double accepted_after = 0;
    for (uint64_t t = 0; t < in_stage;) {
      progress.Step(before + t, total);
      progress.CheckCancelled();
      for (MatrixXd& step : steps) step = proposals.DrawStep(start.cols(), variates);
      const std::vector<std::vector<bool>> block = decide(current, steps);
      for (size_t k = 0; k < steps.size(); ++k, ++t) {
        const std::vector<bool>& accepted = block[k];
        for (size_t c = 0; c < options.chains; ++c) {
          const auto column = static_cast<Index>(c);
          if (accepted[c]) current.col(column) += steps[k].col(column);
        }
        const double share =
            static_cast<double>(std::count(accepted.begin(), accepted.end(), true)) / chains;
        draws.decisions += options.chains;
        if (t < options.warmup) {
          proposals.Learn(t + stage * options.warmup, current, share);
          continue;
        }
        accepted_after += share;
        const uint64_t kept = t - options.warmup;
        if ((kept + 1) % thin != 0) continue;
        for (size_t c = 0; c < options.chains; ++c) {
          draws.chains[c].row(static_cast<Index>(kept / thin)) =
              current.col(static_cast<Index>(c)).transpose();
        }
      }
    }
    draws.acceptance_rate = accepted_after / static_cast<double>(in_stage - options.warmup);
    draws.stages = stage + 1;
    if (draws.stages == stages || !(go_on ? go_on(draws) : !HaveConverged(draws))) return draws;
    proposals.LearnAgain(draws.chains);
  }
}

namespace {

// One column block per state, so that a target computes them all together.
MatrixXd SideBySide(const std::vector<MatrixXd>& states, size_t first) {
  const Index chains = states.front().cols();
  MatrixXd all(states.front().rows(), static_cast<Index>(states.size() - first) * chains);
  for (size_t m = first; m < states.size(); ++m) {
    all.middleCols(static_cast<Index>(m - first) * chains, chains) = states[m];
  }
  return all;
}

// values: of the reachable states, chains by parts.
MatrixXd DifferencesBetween(const std::vector<Eigen::MatrixX2d>& values, size_t decisions) {
  const std::vector<Question> questions = Questions(decisions);
  const Index chains = values.front().rows();
  MatrixXd differences(static_cast<Index>(questions.size()), chains);
  for (size_t q = 0; q < questions.size(); ++q) {
    const Eigen::MatrixX2d& to = values[questions[q].to];
    const Eigen::MatrixX2d& from = values[questions[q].from];
    for (Index c = 0; c < chains; ++c) {
      // From an impossible place the question is never met.
      const double difference = (to(c, 0) - from(c, 0)) + (to(c, 1) - from(c, 1));
      differences(static_cast<Index>(q), c) = from(c, 0) == -HUGE_VAL ? 0 : difference;
    }
  }
  return differences;
}

}  // namespace

const MatrixXd& Differences::Of(const MatrixXd& current, const std::vector<MatrixXd>& steps) {
  if (at_current_.size() == 0) {
    at_current_ = target_.Parts(current);
    for (const double value : at_current_.col(0)) {
      if (std::isfinite(value)) continue;
      throw Error(ErrorCode::kBadData,
                  "the likelihood of the own rows is 0 or no number where a chain begins",
                  "begin elsewhere, or check the own log density there");
    }
  }
  const std::vector<MatrixXd> states = Reachable(current, steps);
  const Eigen::MatrixX2d proposed = target_.Parts(SideBySide(states, 1));
  for (const double value : proposed.col(0)) {
    if (std::isnan(value) || value == HUGE_VAL) {
      throw Error(ErrorCode::kBadData, "the log likelihood of the own rows is not a number",
                  "check the own log density at extreme parameters");
    }
  }
  values_.resize(states.size());
  values_[0] = at_current_;
  for (size_t m = 1; m < states.size(); ++m) {
    values_[m] = proposed.middleRows(static_cast<Index>(m - 1) * current.cols(), current.cols());
  }
  differences_ = DifferencesBetween(values_, steps.size());
  return differences_;
}

void Differences::Replace(const std::vector<std::vector<bool>>& accepted) {
  for (Index c = 0; c < at_current_.rows(); ++c) {
    size_t made = 0;
    for (size_t k = 0; k < accepted.size(); ++k) {
      made += size_t{accepted[k][static_cast<size_t>(c)]} << k;
    }
    at_current_.row(c) = values_[made].row(c);
  }
}

MatrixXd PriorDifferences(const std::vector<Prior>& priors, const MatrixXd& current,
                          const std::vector<MatrixXd>& steps) {
  const std::vector<MatrixXd> states = Reachable(current, steps);
  std::vector<Eigen::MatrixX2d> values(states.size(), Eigen::MatrixX2d::Zero(current.cols(), 2));
  for (size_t m = 0; m < states.size(); ++m) values[m].col(0) = LogPrior(priors, states[m]);
  return DifferencesBetween(values, steps.size());
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

std::vector<std::vector<bool>> PlainDecisions::operator()(const MatrixXd& current,
                                                          const std::vector<MatrixXd>& steps) {
  MatrixXd log_ratio = PriorDifferences(priors_, current, steps);
  for (Differences& party : parties_) log_ratio += party.Of(current, steps);
  const auto chains = static_cast<size_t>(current.cols());
  std::vector<std::vector<bool>> accepted(steps.size(), std::vector<bool>(chains));
  for (size_t c = 0; c < chains; ++c) {
    std::vector<bool> before;
    for (size_t k = 0; k < steps.size(); ++k) {
      const double ratio =
          log_ratio(static_cast<Index>(QuestionAfter(before)), static_cast<Index>(c));
      before.push_back(ratio + DecisionVariate(acceptance_, variates_.Uniform()) >= 0);
      accepted[k][c] = before.back();
    }
  }
  for (Differences& party : parties_) party.Replace(accepted);
  return accepted;
}

}  // namespace partita::stats::mcmc
