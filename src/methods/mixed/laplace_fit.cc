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

VectorXd VectorOf(const std::vector<double>& values) {
  return Eigen::Map<const VectorXd>(values.data(), static_cast<Index>(values.size()));
}
std::vector<double> NumbersOf(const VectorXd& vector) {
  return {vector.data(), vector.data() + vector.size()};
}

// The upper triangle, row by row.
VectorXd Packed(const MatrixXd& matrix) {
  const Index q = matrix.rows();
  VectorXd packed(q * (q + 1) / 2);
  Index next = 0;
  for (Index i = 0; i < q; ++i) {
    for (Index j = i; j < q; ++j) packed[next++] = matrix(i, j);
  }
  return packed;
}

// What is beyond the bound is cut, and counts.
std::vector<Int128> Encoded(const VectorXd& values, double most, int fraction_bits,
                            uint64_t& beyond) {
  std::vector<Int128> encoded;
  for (const double value : values) {
    const bool inside = std::abs(value) <= most;
    if (!inside) ++beyond;
    encoded.push_back(mpc::EncodeFixed(inside              ? value
                                       : std::isnan(value) ? 0
                                                           : std::clamp(value, -most, most),
                                       fraction_bits));
  }
  return encoded;
}

}  // namespace

Stage StageOf(const Task& task, int point) {
  if (point == 0) return Stage::kOwnFits;
  if (point == 1) return Stage::kHeld;
  return point + 1 < task.spec.steps ? Stage::kScoring : Stage::kNewton;
}

int GridBitsOf(const Task& task, int point) {
  if (point == task.spec.steps) return task.grid_bits;
  return point < kCoarsePoints ? kCoarseGridBits : kPathGridBits;
}

double NextTau(Stage stage, double from, double opened) {
  if (stage == Stage::kOwnFits || stage == Stage::kHeld) return kHeldTau;
  if (from == 0) return 0;
  if (stage == Stage::kNewton) return opened <= kNoTau ? 0 : opened;
  const double square = from * (2 * opened - from), least = from / 4;
  if (square <= 0 && from <= kSmallTau) return 0;
  if (square <= least * least) return least;
  return std::min(std::sqrt(square), 4 * from);
}

uint64_t NumOfPoint(const Task& task) { return 2 * (task.num_columns() + 1); }
uint64_t NumOfLaplaceFit(const Task& task) { return 3 + 2 * (task.num_columns() + 1) + 1; }

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

bool LaplaceFitter::HoldsRows() const {
  const std::optional<mpc::PartyIndex> self = engine_.self();
  return self && std::any_of(task_.holders.begin(), task_.holders.end(),
                             [&](const run::RowHolder& h) { return h.party == self; });
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
  struct Kind {
    mpc::Shape shape;
    int fraction_bits = 0;
    double most = 1;  // of a row
    VectorXd values;
    Shared* sum = nullptr;
  };
  std::vector<Kind> kinds = {
      {{q * (q + 1) / 2, 1},
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
      {{1, 1}, kRiseFractionBits, 1, VectorXd::Constant(1, own.slope * of_slope), &slope_}};
  std::vector<std::vector<Int128>> encoded(kinds.size() + 1);
  uint64_t outside = own.outside;
  for (const run::RowHolder& holder : task_.holders) {
    if (engine_.self() != holder.party) continue;
    const auto rows = static_cast<double>(holder.max_rows);
    for (size_t k = 0; k < kinds.size(); ++k) {
      encoded[k] = Encoded(kinds[k].values, kinds[k].most * rows, kinds[k].fraction_bits, outside);
    }
    encoded.back() = {static_cast<Int128>(std::min(outside, holder.max_rows))};
  }
  kinds.push_back({{1, 1}, 0, 1, {}, &outside_});
  std::vector<mpc::PrivateMatrix> inputs;
  for (const run::RowHolder& holder : task_.holders) {
    for (size_t k = 0; k < kinds.size(); ++k) {
      inputs.push_back(run::SumsOfHolder(engine_, holder, kinds[k].shape, kinds[k].fraction_bits,
                                         kinds[k].most, encoded[k]));
    }
  }
  const std::vector<Shared> shared = engine_.Input(inputs);
  const auto most_rows = static_cast<double>(task_.max_rows());
  for (size_t k = 0; k < kinds.size(); ++k) {
    Shared sum = shared[k];
    for (size_t h = 1; h < task_.holders.size(); ++h)
      sum = engine_.Add(sum, shared[h * kinds.size() + k]);
    *kinds[k].sum = WithBound(sum, kinds[k].most * most_rows);
  }
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
  if (HoldsRows()) own = OwnAt(stage);
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
  solved_ = mpc::SolveStep(engine_, sums);
  const Shared failures =
      WithBound(engine_.Add(solved_.failures, outside_), solved_.failures.bound + outside_.bound);
  failures_ = failures_.payload == nullptr
                  ? failures
                  : WithBound(engine_.Add(failures_, failures), failures_.bound + failures.bound);
}

std::vector<size_t> LaplaceFitter::First() {
  Solve(0);
  const std::vector<Shared> flags = {
      engine_.Slice(solved_.collinear, 0, 0, {task_.num_columns(), 1})};
  const mpc::IntMatrix opened =
      engine_.Reveal(kIndependenceRelease, flags, mpc::kEverybody).front();
  std::vector<size_t> collinear;
  for (size_t c = 0; c < opened.values.size(); ++c) {
    if (opened.values[c] != 0) collinear.push_back(c);
  }
  return collinear;
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

LaplaceFitted LaplaceFitter::Finish() {
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
  const mpc::ErrorsOnGrid told =
      mpc::OnErrorGrid(engine_, solved_.variances, &log_likelihood_, log_likelihood_.bound,
                       task_.grid_bits, converged);
  const std::vector<Shared> opened = {told.opens,   totals_.rows, totals_.groups,
                                      told.reached, told.errors,  told.totals};
  const std::vector<mpc::IntMatrix> values = engine_.Reveal(kFitRelease, opened, task_.to);
  if (values.front().values.empty()) return std::move(fitted_);
  LaplaceModel model;
  model.converged = values[0].values.front() != 0;
  model.rows = static_cast<uint64_t>(values[1].values.front());
  model.groups = static_cast<uint64_t>(values[2].values.front());
  const std::vector<double> steps = mpc::GridSteps(told.range, values[3]);
  model.standard_errors = VectorOf(mpc::InGridSteps(values[4], steps));
  model.log_likelihood =
      std::ldexp(mpc::DecodeFixed(values[5].values.front(), mpc::kGuardBits), -task_.grid_bits);
  fitted_.model = std::move(model);
  return std::move(fitted_);
}

}  // namespace partita::methods::mixed
