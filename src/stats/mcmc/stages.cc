#include "stats/mcmc/stages.h"

#include <cmath>

#include "base/error.h"

namespace partita::stats::mcmc {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

MatrixXd LaterDifferences::Of(const MatrixXd& current, const MatrixXd& step,
                              const std::vector<bool>& passed) {
  if (at_current_.size() == 0) {
    at_current_ = target_.Parts(current);
    evaluated_ += static_cast<uint64_t>(current.cols());
    for (const double value : at_current_.col(0)) {
      if (std::isfinite(value)) continue;
      throw Error(ErrorCode::kBadData,
                  "the likelihood of the own rows is 0 or no number where a chain begins",
                  "begin elsewhere, or check the own log density there");
    }
  }
  std::vector<Index> asked;
  for (size_t c = 0; c < passed.size(); ++c) {
    if (passed[c]) asked.push_back(static_cast<Index>(c));
  }
  MatrixXd differences = MatrixXd::Zero(1, current.cols());
  proposed_ = at_current_;
  if (asked.empty()) return differences;
  const Eigen::MatrixX2d values =
      target_.Parts(current(Eigen::all, asked) + step(Eigen::all, asked));
  evaluated_ += asked.size();
  for (size_t i = 0; i < asked.size(); ++i) {
    const auto row = static_cast<Index>(i);
    const double value = values(row, 0);
    if (std::isnan(value) || value == HUGE_VAL) {
      throw Error(ErrorCode::kBadData, "the log likelihood of the own rows is not a number",
                  "check the own log density at extreme parameters");
    }
    proposed_.row(asked[i]) = values.row(row);
    differences(0, asked[i]) =
        (value - at_current_(asked[i], 0)) + (values(row, 1) - at_current_(asked[i], 1));
  }
  return differences;
}

void LaterDifferences::Replace(const std::vector<bool>& accepted) {
  for (size_t c = 0; c < accepted.size(); ++c) {
    const auto row = static_cast<Index>(c);
    if (accepted[c]) at_current_.row(row) = proposed_.row(row);
  }
}

std::vector<bool> Both(const std::vector<bool>& first, const std::vector<bool>& second) {
  std::vector<bool> both(first.size());
  for (size_t c = 0; c < first.size(); ++c) both[c] = first[c] && second[c];
  return both;
}

PlainStagedDecisions::PlainStagedDecisions(const std::vector<const LocalTarget*>& first,
                                           const std::vector<const LocalTarget*>& second,
                                           std::vector<Prior> priors, Acceptance acceptance,
                                           crypto::RandomSource& secret_source)
    : priors_(std::move(priors)), acceptance_(acceptance), variates_(secret_source) {
  for (const LocalTarget* target : first) first_.emplace_back(*target);
  for (const LocalTarget* target : second) second_.emplace_back(*target);
}

std::vector<std::vector<bool>> PlainStagedDecisions::operator()(
    const MatrixXd& current, const std::vector<MatrixXd>& steps) {
  const auto decide = [&](const MatrixXd& log_ratio) {
    std::vector<bool> bits;
    for (Index c = 0; c < log_ratio.cols(); ++c) {
      bits.push_back(log_ratio(0, c) + DecisionVariate(acceptance_, variates_.Uniform()) >= 0);
    }
    return bits;
  };
  MatrixXd log_ratio = PriorDifferences(priors_, current, steps);
  for (Differences& party : first_) log_ratio += party.Of(current, steps);
  const std::vector<bool> passed = decide(log_ratio);
  log_ratio.setZero();
  for (LaterDifferences& party : second_) log_ratio += party.Of(current, steps.front(), passed);
  const std::vector<bool> accepted = Both(passed, decide(log_ratio));
  for (Differences& party : first_) party.Replace({accepted});
  for (LaterDifferences& party : second_) party.Replace(accepted);
  return {accepted};
}

}  // namespace partita::stats::mcmc
