// Two models of three parties for simulation-based calibration, and one mistake for each.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "stats/mcmc/outcomes.h"
#include "tests/stats/blr/random.h"
#include "tests/stats/mcmc/calibration.h"

namespace partita::stats::mcmc::testing {

constexpr Eigen::Index kRowsOfParty = 8, kCalibrationParties = 3;
constexpr double kFalseAlarm = 1e-6;

// A column of ones and `predictors` normal columns, the same in every test.
inline Eigen::MatrixXd CalibrationDesign(Eigen::Index predictors) {
  blr::TestRandom random(77);
  blr::Variates variates(random);
  Eigen::MatrixXd x(kRowsOfParty * kCalibrationParties, predictors + 1);
  for (double& value : x.reshaped()) value = variates.Normal();
  x.col(0).setOnes();
  return x;
}

template <typename MakePart>
std::vector<TargetPtr> PartsOf(const MakePart& make) {
  std::vector<TargetPtr> parties;
  for (Eigen::Index p = 0; p < kCalibrationParties; ++p) parties.push_back(make(p * kRowsOfParty));
  return parties;
}

inline CalibrationModel LogisticCalibration() {
  CalibrationModel model;
  model.priors = {ParsePrior("normal(0, 1.5)"), ParsePrior("normal(0, 1)"),
                  ParsePrior("student_t(5, 0, 1)")};
  model.start = Eigen::VectorXd::Zero(3);
  model.simulate = [x = CalibrationDesign(2)](const Eigen::VectorXd& theta,
                                              blr::Variates& variates) {
    const Eigen::VectorXd y = DrawLogistic(x, theta, variates);
    return PartsOf([&](Eigen::Index first) {
      return LogisticTarget(x.middleRows(first, kRowsOfParty), y.segment(first, kRowsOfParty));
    });
  };
  return model;
}

// Times after 5 are censored; the prior of sigma is one of sigma, the parameter its logarithm.
inline CalibrationModel WeibullCalibration() {
  CalibrationModel model;
  model.priors = {ParsePrior("normal(1, 0.7)"), ParsePrior("normal(0, 0.7)"),
                  ParsePrior("exponential(1)")};
  model.start = Eigen::Vector3d(1, 0, 0);
  model.simulate = [x = CalibrationDesign(1)](const Eigen::VectorXd& theta,
                                              blr::Variates& variates) {
    const SurvivalRows rows =
        DrawWeibull(x, theta, Eigen::VectorXd::Constant(x.rows(), 5), variates);
    return PartsOf([&](Eigen::Index first) {
      return WeibullTarget({x.middleRows(first, kRowsOfParty),
                            rows.time.segment(first, kRowsOfParty),
                            rows.event.segment(first, kRowsOfParty)});
    });
  };
  return model;
}

// `extra` of the parameters is added to what one party reports.
inline CalibrationModel WithMistake(CalibrationModel model,
                                    std::function<double(const Eigen::VectorXd&)> extra) {
  model.simulate = [right = std::move(model.simulate), extra = std::move(extra),
                    d = model.priors.size()](const Eigen::VectorXd& theta,
                                             blr::Variates& variates) {
    std::vector<TargetPtr> parties = right(theta, variates);
    parties.push_back(OwnTarget(d, extra));
    return parties;
  };
  return model;
}

// The two classic ones: every party adds the prior, and the Jacobian of a logarithm is forgotten.
inline CalibrationModel PriorOfEveryParty() {
  const CalibrationModel model = LogisticCalibration();
  return WithMistake(model, [priors = model.priors](const Eigen::VectorXd& theta) {
    return (static_cast<double>(kCalibrationParties) - 1) * LogPrior(priors, theta)(0);
  });
}
// Left out instead, the posterior of a data set without events would be improper.
inline CalibrationModel JacobianTwice() {
  return WithMistake(WeibullCalibration(), [](const Eigen::VectorXd& theta) { return theta(2); });
}

inline std::vector<RankCheck> Calibrate(const CalibrationModel& model, Acceptance acceptance,
                                        size_t data_sets, uint64_t seed) {
  CalibrationOptions options;
  options.data_sets = data_sets;
  options.acceptance = acceptance;
  blr::TestRandom random(seed);
  SilentProgress progress;
  const Eigen::MatrixXd ranks = CalibrationRanks(model, options, random, progress);
  std::vector<RankCheck> checks;
  for (Eigen::Index j = 0; j < ranks.cols(); ++j) {
    checks.push_back(CheckRanks(ranks.col(j), options.chains * options.draws));
  }
  return checks;
}

// Two tests of every parameter share the false alarm.
inline double LevelOf(const std::vector<RankCheck>& checks) {
  return kFalseAlarm / (2 * static_cast<double>(checks.size()));
}

inline void ExpectCalibrated(const std::vector<RankCheck>& checks) {
  for (size_t j = 0; j < checks.size(); ++j) {
    EXPECT_GT(checks[j].ecdf_p, LevelOf(checks)) << "parameter " << j;
    EXPECT_GT(checks[j].variance_p, LevelOf(checks))
        << "parameter " << j << ", variance ratio " << checks[j].variance_ratio;
  }
}

inline bool IsCaught(const std::vector<RankCheck>& checks) {
  return std::any_of(checks.begin(), checks.end(), [&](const RankCheck& check) {
    return check.ecdf_p < LevelOf(checks) || check.variance_p < LevelOf(checks);
  });
}

}  // namespace partita::stats::mcmc::testing
