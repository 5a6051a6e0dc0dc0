#include "methods/mixed/slope_path.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "mpc/functions/arithmetic.h"

namespace partita::methods::mixed {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using mpc::Engine;
using mpc::Shared;
using mpc::WithBound;
using stats::mixed::Criterion;
using stats::mixed::kDeviations;
using stats::mixed::kPairs;
using stats::mixed::SlopeAt;

// After the point of a sum divided by 2^row_bits.
constexpr int kSlopeInformationBits = 64, kSlopeSecondBits = 56, kSlopeScoreBits = 54,
              kSlopeLikelihoodBits = 40;
// Of a row: of the score in units of 2^kSlopeWeightBits, and |l|.
constexpr double kMostSlopeScore = 4, kMostSlopeFit = 512;
// Before anything is known: deviations of an eighth.
constexpr int kFirstUnit = -3;
constexpr double kFirstInformation = 0.5;  // of psi, whatever holders find

Eigen::Vector4d FirstPsi() {
  const double log_deviation = kFirstUnit * std::numbers::ln2;
  return {log_deviation, log_deviation, 0, log_deviation};
}

int UnitOf(const VectorXd& point) {
  return static_cast<int>(std::lround(point[point.size() - 1] / std::numbers::ln2));
}

// A column for each matrix.
VectorXd PackedAll(const std::vector<MatrixXd>& matrices) {
  const Index p = matrices.front().rows(), length = p * (p + 1) / 2;
  const auto count = static_cast<Index>(matrices.size());
  VectorXd packed(length * count);
  for (Index m = 0; m < count; ++m) {
    const VectorXd one = Packed(matrices[static_cast<size_t>(m)]);
    for (Index i = 0; i < length; ++i) packed[i * count + m] = one[i];
  }
  return packed;
}

VectorXd WithinBox(VectorXd point) {
  using stats::mixed::kLeastDeviationLog;
  using stats::mixed::kMostDeviationLog;
  using stats::mixed::kMostZ;
  const Index p = point.size() - kDeviations;
  for (const Index k : {0, 1, 3})
    point[p + k] = std::clamp(point[p + k], kLeastDeviationLog, kMostDeviationLog);
  point[p + 2] = std::clamp(point[p + 2], -kMostZ, kMostZ);
  return point;
}

Shared Sum(Engine& engine, const Shared& a, const Shared& b) {
  return WithBound(engine.Add(a, b), a.bound + b.bound);
}

Shared ZerosLike(Engine& engine, const Shared& like, mpc::Shape shape) {
  return engine.Public(
      {{shape, std::vector<Int128>(shape.rows * shape.cols, 0)}, like.fraction_bits});
}

}  // namespace

struct SlopeFitter::OwnAt {
  VectorXd score;
  MatrixXd information;
  double log_likelihood = 0;
  std::vector<MatrixXd> first, second;
};

SlopeFitter::SlopeFitter(Engine& engine, const Task& task, const OwnData& own, SharedTotals totals)
    : engine_(engine),
      task_(task),
      own_(own),
      totals_(std::move(totals)),
      at_(VectorXd::Zero(static_cast<Index>(task.num_of_point()))),
      unit_(kFirstUnit) {
  at_.tail(kDeviations) = FirstPsi();
}

VectorXd SlopeFitter::InUnits(const VectorXd& point) const {
  VectorXd in_units = point;
  in_units.head(point.size() - kDeviations) *= std::ldexp(1.0, -unit_);
  return in_units;
}

SlopeFitter::OwnAt SlopeFitter::OwnSumsAt(Stage stage) const {
  const Index q = at_.size(), p = q - kDeviations;
  const bool reml = task_.spec.reml();
  OwnAt own{VectorXd::Zero(q), MatrixXd::Zero(q, q), 0, {}, {}};
  if (reml) {
    own.first.assign(static_cast<size_t>(kDeviations), MatrixXd::Zero(p, p));
    own.second.assign(kPairs, MatrixXd::Zero(p, p));
  }
  if (!HoldsRows(engine_, task_)) return own;
  const double unit = std::ldexp(1.0, unit_);
  const auto in_units = [&](VectorXd& score, MatrixXd& information) {
    score.head(p) *= unit;
    information.topRows(p) *= unit;
    information.leftCols(p) *= unit;
  };
  if (stage == Stage::kOwnFits) {
    const std::optional<Eigen::Vector4d> psi = stats::mixed::OwnDeviations(own_.slopes);
    VectorXd point = VectorXd::Zero(q);
    point.tail(kDeviations) = psi.value_or(FirstPsi());
    const SlopeAt at = stats::mixed::SlopesAt(own_.slopes, point, Criterion::kMl,
                                              stats::mixed::Information::kExpected);
    // As if sigma were the unit: what holders find of b is weighted by rows alone.
    const double square = std::exp(2 * point[q - 1]) / (unit * unit);
    own.score = at.score;
    own.information = at.information;
    in_units(own.score, own.information);
    own.score.head(p) *= square;
    own.information.topLeftCorner(p, p) *= square;
    auto of_psi = own.information.bottomRightCorner(kDeviations, kDeviations);
    if (!psi) of_psi.setZero();
    own.score.tail(kDeviations) = of_psi * (point.tail(kDeviations) - FirstPsi());
    if (engine_.self() == task_.holders.front().party)
      of_psi.diagonal().array() += kFirstInformation;
    return own;
  }
  SlopeAt at =
      stats::mixed::SlopesAt(own_.slopes, at_, task_.spec.criterion,
                             stage == Stage::kNewton ? stats::mixed::Information::kObserved
                                                     : stats::mixed::Information::kExpected);
  in_units(at.score, at.information);
  own.score = std::move(at.score);
  own.information = std::move(at.information);
  own.log_likelihood = at.log_likelihood;
  if (!reml) return own;
  own.first = std::move(at.first);
  own.second = std::move(at.second);
  for (std::vector<MatrixXd>* matrices : {&own.first, &own.second}) {
    for (MatrixXd& matrix : *matrices) matrix *= unit * unit;
  }
  return own;
}

void SlopeFitter::Share(Stage stage) {
  const OwnAt own = OwnSumsAt(stage);
  const size_t q = task_.num_of_point(), p = task_.num_columns();
  const int row_bits = task_.row_bits();
  const double unit = std::ldexp(1.0, -kSlopeWeightBits);
  const size_t triangle = p * (p + 1) / 2;
  std::vector<OwnSum> sums = {
      {{q * (q + 1) / 2, 1},
       kSlopeInformationBits - row_bits,
       1,
       Packed(own.information) * unit,
       &information_},
      {{q, 1}, kSlopeScoreBits - row_bits, kMostSlopeScore, own.score * unit, &score_},
      {{1, 1},
       kSlopeLikelihoodBits,
       kMostSlopeFit,
       VectorXd::Constant(1, own.log_likelihood),
       &log_likelihood_}};
  if (task_.spec.reml()) {
    sums.push_back({{triangle, static_cast<size_t>(kDeviations)},
                    kSlopeInformationBits - row_bits,
                    kMostFirst,
                    PackedAll(own.first) * unit,
                    &reml_.first});
    sums.push_back({{triangle, kPairs},
                    kSlopeSecondBits - row_bits,
                    kMostSecond,
                    PackedAll(own.second) * unit,
                    &reml_.second});
  }
  outside_ = ShareSums(engine_, task_, std::move(sums), 0);
  const auto per_row = [&](const Shared& sum, double most) {
    return WithBound(mpc::TimesPowerOfTwo(sum, -row_bits), most);
  };
  information_ = per_row(mpc::FromUpperTriangle(engine_, information_, q), 1);
  score_ = per_row(score_, kMostSlopeScore);
  if (!task_.spec.reml()) return;
  reml_.fixed = WithBound(engine_.Slice(information_, 0, 0, {p, p}), 1);
  reml_.first = per_row(reml_.first, kMostFirst);
  reml_.second = per_row(reml_.second, kMostSecond);
}

void SlopeFitter::Solve(Stage stage, std::optional<int> next) {
  Share(stage);
  const size_t p = task_.num_columns(), of_psi = static_cast<size_t>(kDeviations);
  Shared failures = outside_;
  mpc::ScoringSums sums;
  sums.information = information_;
  sums.score = score_;
  sums.unit_bits = UnitBits();
  // At the first point psi is that of holders.
  if (task_.spec.reml() && stage != Stage::kOwnFits) {
    terms_ = RemlTermsOf(engine_, reml_, stage == Stage::kNewton, UnitBits(), score_.fraction_bits,
                         information_.fraction_bits);
    failures = Sum(engine_, failures, terms_.failures);
    const std::vector<Shared> score = {ZerosLike(engine_, score_, {p, 1}), terms_.score};
    sums.score =
        WithBound(engine_.Add(score_, engine_.Concatenate(score, true)), 2 * kMostSlopeScore);
    const std::vector<Shared> above = {ZerosLike(engine_, information_, {p, p}),
                                       ZerosLike(engine_, information_, {p, of_psi})},
                              below = {ZerosLike(engine_, information_, {of_psi, p}),
                                       terms_.information};
    const std::vector<Shared> rows = {engine_.Concatenate(above, false),
                                      engine_.Concatenate(below, false)};
    sums.information = WithBound(engine_.Add(information_, engine_.Concatenate(rows, true)), 1);
  }
  if (next) sums.next = {NumbersOf(InUnits(at_)), GridBitsOf(task_, *next)};
  solved_ = mpc::SolveStep(engine_, sums);
  failures = Sum(engine_, failures, solved_.failures);
  failures_ = failures_.payload == nullptr ? failures : Sum(engine_, failures_, failures);
}

std::vector<size_t> SlopeFitter::First() {
  Solve(Stage::kOwnFits, 0);
  return OpenCollinear(engine_, task_, solved_);
}

void SlopeFitter::OpenPoint(int point) {
  const Stage stage = StageOf(task_, point);
  if (point > 0) Solve(stage, point);
  const bool last = point == task_.spec.steps;
  const mpc::PathPoint opened =
      mpc::OpenPoint(engine_, last ? kEstimatesRelease : kIteratesRelease, NumbersOf(InUnits(at_)),
                     solved_, GridBitsOf(task_, point), failures_);
  if (!opened.learned) return;
  const Index q = at_.size(), p = q - kDeviations;
  const auto back = [&](const std::vector<double>& values) {
    VectorXd vector = VectorOf(values);
    vector.head(p) *= std::ldexp(1.0, unit_);
    return vector;
  };
  const VectorXd moved = back(opened.at);
  fitted_.estimate_steps = back(opened.steps);
  if (stage == Stage::kNewton && !stats::mixed::WithinLimits(moved)) ++lost_;
  at_ = WithinBox(stage == Stage::kScoring ? stats::mixed::AfterScoring(at_, moved) : moved);
  unit_ = UnitOf(at_);
  fitted_.points.push_back(at_);
  // A grid is at most 2^-grid_bits of its standard error, and more than half of that.
  const double most = std::ldexp(kMostPsiError / 2, -task_.grid_bits);
  if (last && fitted_.estimate_steps.tail(kDeviations).maxCoeff() > most) ++lost_;
}

PathFitted SlopeFitter::Finish() {
  Solve(Stage::kNewton, {});
  const size_t p = task_.num_columns();
  // Errors of coefficients without what psi adds to them.
  mpc::ScoringSums fixed;
  fixed.information = WithBound(engine_.Slice(information_, 0, 0, {p, p}), 1);
  fixed.score = engine_.Slice(score_, 0, 0, {p, 1});
  fixed.unit_bits = UnitBits();
  fixed.covariances = task_.spec.covariance;
  const mpc::SolvedStep of_fixed = mpc::SolveStep(engine_, fixed);
  failures_ = Sum(engine_, failures_, of_fixed.failures);
  failures_ = mpc::PlusConstant(engine_, failures_, lost_, failures_.bound + lost_);
  const std::vector<Shared> variances = {
      of_fixed.variances,
      engine_.Slice(solved_.variances, p, 0, {static_cast<size_t>(kDeviations), 1})};
  Shared total = log_likelihood_;
  if (task_.spec.reml()) {
    const Shared half = mpc::TimesPowerOfTwo(LogDeterminant(engine_, terms_), -1);
    total = mpc::Lift(engine_, total, half.fraction_bits);
    total = WithBound(engine_.Subtract(total, half), log_likelihood_.bound + half.bound);
  }
  VectorXd steps = fitted_.estimate_steps;
  if (steps.size() == 0) steps = VectorXd::Zero(at_.size());
  const auto converged = [&](Engine& e) {
    return mpc::Converged(e, solved_, NumbersOf(InUnits(steps)), failures_);
  };
  const mpc::ErrorsOnGrid told =
      mpc::OnErrorGrid(engine_, WithBound(engine_.Concatenate(variances, true), mpc::kMostVariance),
                       &total, total.bound, task_.grid_bits, converged, nullptr, {},
                       task_.spec.covariance ? &of_fixed.covariances : nullptr);
  OpenFit(engine_, task_, totals_, told, fitted_);
  if (!fitted_.model) return std::move(fitted_);
  PathModel& model = *fitted_.model;
  model.standard_errors.head(static_cast<Index>(p)) *= std::ldexp(1.0, unit_);
  model.covariance *= std::ldexp(1.0, 2 * unit_);
  model.covariance_steps *= std::ldexp(1.0, unit_);
  if (task_.spec.reml() && model.converged) {
    // |A| of J, of coefficients in units, and the constant of n - p rows.
    const double columns = static_cast<double>(p);
    model.log_likelihood +=
        columns * (std::log(2 * std::numbers::pi) / 2 -
                   std::numbers::ln2 * (UnitBits() / 2.0 - static_cast<double>(unit_)));
  }
  return std::move(fitted_);
}

}  // namespace partita::methods::mixed
