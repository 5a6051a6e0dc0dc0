#include "methods/mixed/laplace_fit.h"

#include <algorithm>
#include <cmath>

#include "mpc/compare.h"
#include "mpc/functions/arithmetic.h"
#include "stats/glm/sums.h"

namespace partita::methods::mixed {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using mpc::Engine;
using mpc::Shared;
using mpc::WithBound;

// After the point of a sum divided by 2^row_bits.
constexpr int kInformationBits = 64, kScoreBits = 54;
constexpr int kLikelihoodBits = 40, kRiseFractionBits = 54;
// Of a row's score, in units of 2^weight_bits: tau's is that of a group, which a good point leaves small.
constexpr double kMostScore = 4;
// Of tau, where it is held, in the information's unit: its grid says nothing.
constexpr double kHeldInformation = 0x1p-4;

}  // namespace

double NextTau(Stage stage, double from, double opened) {
  if (stage == Stage::kOwnFits || stage == Stage::kHeld) return kHeldTau;
  if (from == 0) return 0;
  if (stage == Stage::kNewton) return opened <= kNoTau ? 0 : opened;
  const double square = from * (2 * opened - from), least = from / 4;
  if (square <= 0 && from <= kSmallTau) return 0;
  if (square <= least * least) return least;
  return std::min(std::sqrt(square), 4 * from);
}

LaplaceUnits UnitsOf(const Task& task) {
  const Spec& spec = task.spec;
  LaplaceUnits units;
  units.limits = stats::glm::LimitsOf(spec.law, spec.lower, spec.upper);
  const double lowest = std::abs(units.limits.lower), highest = std::abs(units.limits.upper);
  const double predictor = std::max(lowest, highest);
  constexpr double kOfGroup = 64;
  if (spec.law.family == stats::glm::Family::kPoisson) {
    const double most_mean = std::exp(units.limits.upper);
    units.weight_bits = static_cast<int>(std::ceil(std::log2(std::max(most_mean, 2.0))));
    units.most_fit =
        spec.upper * (predictor + std::log(spec.upper + 2)) + most_mean + predictor + kOfGroup;
  } else {
    units.most_fit = predictor + kOfGroup;
  }
  return units;
}

struct LaplaceFitter::OwnSums {
  MatrixXd information;
  VectorXd score;
  double log_likelihood = 0, slope = 0;
  uint64_t outside = 0;
};

LaplaceFitter::LaplaceFitter(Engine& engine, const Task& task, const OwnData& own,
                             SharedTotals totals)
    : engine_(engine),
      task_(task),
      own_(own),
      totals_(std::move(totals)),
      units_(UnitsOf(task)),
      at_(VectorXd::Zero(static_cast<Index>(task.num_columns()) + 1)) {
  at_[at_.size() - 1] = kHeldTau;
}

LaplaceFitter::OwnSums LaplaceFitter::OwnAt(Stage stage) const {
  const Index q = at_.size(), p = q - 1;
  OwnSums own{MatrixXd::Zero(q, q), VectorXd::Zero(q)};
  if (stage == Stage::kOwnFits) {
    stats::glm::Rows rows;
    rows.x = own_.rows.x;
    rows.y = own_.rows.y;
    rows.offset = VectorXd::Zero(rows.y.size());
    const stats::glm::FirstSums first =
        stats::glm::FirstSumsOf(task_.spec.law, rows, units_.limits);
    own.information.topLeftCorner(p, p) = first.information;
    own.score.head(p) = first.weighted;
    return own;
  }
  VectorXd point = at_;
  // Without groups.
  if (stage == Stage::kHeld) point[p] = 0;
  const bool held = point[p] == 0;
  const stats::mixed::LaplaceSums sums =
      stats::mixed::LaplaceAt(task_.spec.law, own_.rows, point,
                              stage == Stage::kNewton ? stats::mixed::Information::kObserved
                                                      : stats::mixed::Information::kExpected,
                              units_.limits);
  own.information = sums.information;
  own.score = sums.score;
  own.log_likelihood = sums.log_likelihood;
  own.outside = sums.outside;
  if (!held) return own;
  own.score[p] = 0;
  own.information.row(p).setZero();
  own.information.col(p).setZero();
  if (at_[p] == 0) own.slope = sums.slope;
  return own;
}

void LaplaceFitter::Share(const OwnSums& own) {
  const size_t q = task_.num_columns() + 1;
  const int row_bits = task_.row_bits();
  const double unit = std::ldexp(1.0, -units_.weight_bits);
  // Of the slope by tau^2, at most the square of a group's residuals.
  const double of_slope = std::ldexp(unit * unit, -row_bits);
  outside_ = ShareSums(
      engine_, task_,
      {{{q * (q + 1) / 2, 1},
        kInformationBits - row_bits,
        1,
        Packed(own.information) * unit,
        &information_},
       {{q, 1}, kScoreBits - row_bits, kMostScore, own.score * unit, &score_},
       {{1, 1},
        kLikelihoodBits,
        units_.most_fit,
        VectorXd::Constant(1, own.log_likelihood),
        &log_likelihood_},
       {{1, 1}, kRiseFractionBits, 1, VectorXd::Constant(1, own.slope * of_slope), &slope_}},
      own.outside);
  const auto per_row = [&](const Shared& sum, double most) {
    return WithBound(mpc::TimesPowerOfTwo(sum, -row_bits), most);
  };
  information_ = per_row(mpc::FromUpperTriangle(engine_, information_, q), 1);
  score_ = per_row(score_, kMostScore);
}

void LaplaceFitter::Solve(std::optional<int> point) {
  const size_t q = task_.num_columns() + 1;
  const Stage stage = StageOf(task_, point.value_or(task_.spec.steps));
  OwnSums own;
  if (HoldsRows(engine_, task_)) own = OwnAt(stage);
  Share(own);
  mpc::ScoringSums sums;
  sums.information = information_;
  sums.score = score_;
  sums.unit_bits = task_.row_bits() + units_.weight_bits;
  const bool held = stage == Stage::kOwnFits || stage == Stage::kHeld || at_[at_.size() - 1] == 0;
  // The same messages in both cases.
  mpc::PublicMatrix diagonal{{{q, q}, std::vector<Int128>(q * q, 0)}, information_.fraction_bits};
  if (held)
    diagonal.values.values.back() = mpc::EncodeFixed(kHeldInformation, information_.fraction_bits);
  sums.information = WithBound(engine_.Add(information_, engine_.Public(diagonal)), 1);
  if (point) sums.next = {NumbersOf(at_), GridBitsOf(task_, *point)};
  sums.covariances = task_.spec.covariance && !point;
  solved_ = mpc::SolveStep(engine_, sums);
  const Shared failures =
      WithBound(engine_.Add(solved_.failures, outside_), solved_.failures.bound + outside_.bound);
  failures_ = failures_.payload == nullptr
                  ? failures
                  : WithBound(engine_.Add(failures_, failures), failures_.bound + failures.bound);
}

std::vector<size_t> LaplaceFitter::First() {
  Solve(0);
  return OpenCollinear(engine_, task_, solved_);
}

void LaplaceFitter::OpenPoint(int point) {
  if (point > 0) Solve(point);
  const bool last = point == task_.spec.steps;
  const mpc::PathPoint opened =
      mpc::OpenPoint(engine_, last ? kEstimatesRelease : kIteratesRelease, NumbersOf(at_), solved_,
                     GridBitsOf(task_, point), failures_);
  const double from = at_[at_.size() - 1];
  fitted_.estimate_steps = VectorOf(opened.steps);
  at_ = VectorOf(opened.at);
  double& tau = at_[at_.size() - 1];
  tau = opened.learned ? NextTau(StageOf(task_, point), from, tau) : from;
  if (opened.learned) fitted_.points.push_back(at_);
}

PathFitted LaplaceFitter::Finish() {
  Solve({});
  const std::vector<Shared> falls = {
      mpc::PlusConstant(engine_, slope_, -std::ldexp(1.0, -kRiseFractionBits), slope_.bound + 1)};
  const std::vector<mpc::SharedBits> negative = mpc::IsNegative(engine_, falls);
  const std::vector<mpc::SharedBits> not_negative = {engine_.Not(negative.front())};
  const Shared rises = WithBound(engine_.ToRing(not_negative).front(), 1);
  failures_ = WithBound(engine_.Add(failures_, rises), failures_.bound + 1);
  const auto converged = [&](Engine& e) {
    return mpc::Converged(e, solved_, NumbersOf(fitted_.estimate_steps), failures_);
  };
  // Of coefficients, whatever tau adds to their errors.
  Shared covariances;
  if (task_.spec.covariance) {
    const size_t p = task_.num_columns();
    covariances =
        WithBound(engine_.Slice(solved_.covariances, 0, 0, {p, p}), solved_.covariances.bound);
  }
  const mpc::ErrorsOnGrid told = mpc::OnErrorGrid(
      engine_, solved_.variances, &log_likelihood_, log_likelihood_.bound, task_.grid_bits,
      converged, nullptr, {}, task_.spec.covariance ? &covariances : nullptr);
  OpenFit(engine_, task_, totals_, told, fitted_);
  return std::move(fitted_);
}

}  // namespace partita::methods::mixed
