#include "methods/glm/aggregates.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

#include "methods/glm/risk.h"
#include "mpc/functions/arithmetic.h"
#include "stats/glm/gaussian_moments.h"
#include "stats/glm/lasso.h"
#include "stats/glm/likelihood.h"
#include "stats/glm/robust.h"
#include "stats/glm/wald.h"

namespace partita::methods::glm {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using mpc::Engine;
using mpc::Shared;
using stats::glm::kPointBits;

// Of deviances that are compared: above what their sums are rounded to.
constexpr double kSameDeviance = 1e-8;
constexpr double kSettledStep = 1e-6;

size_t Triangle(size_t p) { return p * (p + 1) / 2; }

bool OpensRows(const Task& task) { return task.spec.ridge > 0 || !task.spec.lasso.empty(); }
bool OpensPearson(const Task& task) { return HasDispersion(task.spec.law); }
bool OpensSquares(const Task& task) {
  return task.spec.law.family == stats::glm::Family::kGaussian && NullOpens(task.spec) &&
         task.spec.intercept && NumTotals(task.spec) > 0;
}
size_t NumFitNumbers(const Task& task) {
  return NumTotals(task.spec) > 0 ? NumFitInputs(task.spec) : 0;
}

// Row by row, as inputs.cc packs it.
Shared UpperTriangle(Engine& engine, const Shared& matrix) {
  const size_t p = matrix.shape.rows;
  std::vector<size_t> entries;
  for (size_t i = 0; i < p; ++i) {
    for (size_t j = i; j < p; ++j) entries.push_back(i * p + j);
  }
  return mpc::WithBound(engine.SelectRows(mpc::Reshape(matrix, {p * p, 1}), entries), matrix.bound);
}

VectorXd Decoded(const mpc::IntMatrix& opened, int fraction_bits, double unit) {
  VectorXd values(static_cast<Index>(opened.values.size()));
  for (Index i = 0; i < values.size(); ++i)
    values[i] = unit * mpc::DecodeFixed(opened.values[static_cast<size_t>(i)], fraction_bits);
  return values;
}

MatrixXd Symmetric(const VectorXd& packed, Index p) {
  MatrixXd matrix(p, p);
  Index next = 0;
  for (Index i = 0; i < p; ++i) {
    for (Index j = i; j < p; ++j) matrix(i, j) = matrix(j, i) = packed[next++];
  }
  return matrix;
}

// 1 for each column that those before it explain.
VectorXd CollinearFlags(const MatrixXd& information, double unit) {
  const Index p = information.rows();
  VectorXd flags = VectorXd::Zero(p);
  MatrixXd left = information;
  for (Index j = 0; j < p; ++j) {
    if (information(j, j) < mpc::kLeastInformation * unit ||
        left(j, j) < mpc::kSmallestPivot * information(j, j)) {
      flags[j] = 1;
      continue;
    }
    const VectorXd column = left.col(j);
    left -= column * column.transpose() / column[j];
  }
  return flags;
}

// As they open by totals of fit_numbers.h.
std::vector<double> TotalsInClear(const Task& task, double n, const std::vector<double>& fit,
                                  double squares, double pearson) {
  const Spec& spec = task.spec;
  using stats::glm::Family;
  const bool constant = HasConstant(spec.law);
  const size_t null = constant ? 2 : 1;
  std::vector<double> totals = {fit[0]};
  if (NullOpens(spec)) {
    double deviance = fit[null];
    if (spec.intercept && spec.law.family == Family::kGaussian)
      deviance = squares - fit[null] * fit[null] / n;
    if (spec.intercept && spec.law.family == Family::kPoisson)
      deviance = 2 * (fit[null] - fit[null + 1] * std::log(fit[null + 1] / fit[null + 2]));
    if (spec.intercept && spec.law.family == Family::kGamma)
      deviance = 2 * (n * std::log(fit[null + 1] / n) - fit[null]);
    totals.push_back(deviance);
  }
  if (spec.law.family == Family::kGaussian) {
    for (double& total : totals) total = n * std::log(total / n);
    return totals;
  }
  if (constant) totals.push_back(fit[1]);
  if (HasDispersion(spec.law)) totals.push_back(pearson);
  return totals;
}

}  // namespace

uint64_t RowsDetermined(const Task& task) {
  const uint64_t points = static_cast<uint64_t>(task.spec.steps) + 1;
  const uint64_t p = task.num_columns(), of_groups = (NumRiskNumbers(task.spec) + p - 1) / p;
  return (points * (p + 3) + 1) / 2 + of_groups + task.rows_determined_beside;
}

uint64_t NumFirstSums(const Task& task) {
  return task.num_columns() + Triangle(task.num_columns());
}

uint64_t NumSums(const Task& task) {
  const size_t p = task.num_columns();
  return p + Triangle(p) * (task.spec.robust() ? 2 : 1) + (OpensPearson(task) ? 1 : 0) +
         (OpensSquares(task) ? 1 : 0) + (OpensRows(task) ? 1 : 0) + 1 + NumFitNumbers(task);
}

uint64_t NumFitCounts(const Task& task) {
  return 1 + (task.spec.law.binary ? 1 : 0) + (task.spec.clustered() ? 1 : 0) +
         NumRiskNumbers(task.spec);
}

AggregateFitter::AggregateFitter(Engine& engine, const Task& task, const OwnData& own,
                                 SharedTotals totals, mpc::PartyIndex receiver, uint64_t min_cell)
    : engine_(engine),
      task_(task),
      own_(own),
      totals_(std::move(totals)),
      receiver_(receiver),
      min_cell_(min_cell) {
  at_ = best_ = next_ = VectorXd::Zero(static_cast<Index>(task.num_columns()));
}

std::optional<AggregateFitter::OpenedSums> AggregateFitter::Open(const SharedSums& sums) {
  const bool fit = NumFitNumbers(task_) > 0;
  std::vector<Shared> opened = {sums.score, UpperTriangle(engine_, sums.information)};
  if (task_.spec.robust()) opened.push_back(UpperTriangle(engine_, sums.meat));
  if (OpensPearson(task_)) opened.push_back(sums.pearson);
  opened.push_back(sums.outside);
  if (fit) opened.push_back(sums.fit);
  if (OpensSquares(task_)) opened.push_back(sums.squares);
  if (OpensRows(task_)) opened.push_back(totals_.rows);
  const std::vector<mpc::IntMatrix> values =
      engine_.Reveal(task_.prefix + kSumsRelease, opened, task_.to);
  if (values.front().values.empty()) return {};

  const Units& units = task_.units;
  const auto p = static_cast<Index>(task_.num_columns());
  const double of_rows = std::ldexp(1.0, units.row_bits);
  const double unit = std::ldexp(of_rows, units.weight_bits);
  size_t next = 0;
  const auto numbers = [&](double scale) {
    const int bits = opened[next].fraction_bits;
    return Decoded(values[next++], bits, scale);
  };
  OpenedSums made;
  made.score = numbers(unit);
  made.information = Symmetric(numbers(unit), p);
  if (task_.spec.robust()) made.meat = Symmetric(numbers(unit), p);
  if (OpensPearson(task_)) made.pearson = numbers(of_rows)[0];
  made.outside = static_cast<uint64_t>(numbers(1)[0]);
  if (fit) {
    const VectorXd all = numbers(1);
    made.fit.assign(all.data(), all.data() + all.size());
  }
  if (OpensSquares(task_)) made.squares = numbers(1)[0];
  if (OpensRows(task_)) made.rows = numbers(1)[0];
  made.penalty = Penalty(at_, made.rows);
  return made;
}

double AggregateFitter::PenaltyOfNow() const {
  return task_.spec.lasso[std::min(candidates_.size(), task_.spec.lasso.size() - 1)];
}

double AggregateFitter::Penalty(const VectorXd& point, double rows) const {
  if (!task_.spec.lasso.empty())
    return 2 * LassoOf(task_.spec, rows, PenaltyOfNow()).dot(point.cwiseAbs());
  return task_.spec.ridge > 0 ? RidgeOf(task_.spec, rows).dot(point.cwiseAbs2()) : 0;
}

VectorXd AggregateFitter::NextFrom(const VectorXd& point, const OpenedSums& sums) const {
  if (task_.spec.lasso.empty()) return point + sums.information.ldlt().solve(sums.score);
  return stats::glm::LassoPoint(sums.information, sums.score, point,
                                LassoOf(task_.spec, sums.rows, PenaltyOfNow()));
}

VectorXd AggregateFitter::Publish(const std::string& release, const VectorXd& numbers) {
  mpc::PrivateMatrix input{
      receiver_, {static_cast<size_t>(numbers.size()), 1}, kPointBits, mpc::kMostCoordinate, {}};
  std::vector<Int128> encoded;
  if (engine_.self() == receiver_) {
    for (const double number : numbers) {
      const double known = std::isfinite(number) ? number : 0;
      encoded.push_back(mpc::EncodeFixed(
          std::clamp(known, -mpc::kMostCoordinate, mpc::kMostCoordinate), kPointBits));
    }
    input.read = [&](size_t first, size_t num, Int128* out) {
      std::copy_n(encoded.begin() + static_cast<std::ptrdiff_t>(first), num, out);
    };
  }
  const std::vector<Shared> shared = engine_.Input({&input, 1});
  const mpc::IntMatrix opened =
      engine_.Reveal(task_.prefix + release, shared, mpc::kEverybody).front();
  return opened.values.empty() ? VectorXd::Zero(numbers.size()) : Decoded(opened, kPointBits, 1);
}

Collinear AggregateFitter::First() {
  const std::optional<OpenedFirst> first = OpenFirst(ShareFirst(engine_, task_, own_));
  VectorXd flags = VectorXd::Zero(at_.size());
  if (first) {
    const double unit = std::ldexp(1.0, task_.units.row_bits + task_.units.weight_bits);
    flags = CollinearFlags(first->information, unit);
    next_ = first->information.ldlt().solve(first->weighted);
  }
  const VectorXd known = Publish(kIndependenceRelease, flags);
  Collinear collinear;
  for (Index j = 0; j < known.size(); ++j) {
    if (known[j] != 0) collinear.columns.push_back(static_cast<size_t>(j));
  }
  return collinear;
}

std::optional<AggregateFitter::OpenedFirst> AggregateFitter::OpenFirst(const SharedSums& sums) {
  const std::vector<Shared> opened = {sums.score, UpperTriangle(engine_, sums.information)};
  const std::vector<mpc::IntMatrix> values =
      engine_.Reveal(task_.prefix + kFirstRelease, opened, task_.to);
  if (values.front().values.empty()) return {};
  const double unit = std::ldexp(1.0, task_.units.row_bits + task_.units.weight_bits);
  return OpenedFirst{Decoded(values[0], opened[0].fraction_bits, unit),
                     Symmetric(Decoded(values[1], opened[1].fraction_bits, unit), at_.size())};
}

void AggregateFitter::OpenPoint(int point) {
  if (point > 0) {
    if (const auto sums = Open(ShareSums(engine_, task_, own_, at_, true))) Move(*sums);
  }
  at_ = Publish(kIteratesRelease, next_);
  fitted_.points.push_back(at_);
}

void AggregateFitter::Move(const OpenedSums& sums) {
  // Of a law with theta -2 log-likelihood, as its deviance is against another model at each.
  const bool of_theta = task_.spec.law.family == stats::glm::Family::kNegativeBinomial;
  const auto deviance = [&](const OpenedSums& of) {
    return of.fit.empty() ? 0 : of.fit[0] - (of_theta ? 2 * of.fit[1] : 0) + of.penalty;
  };
  ++moves_;
  settled_ = false;
  if (best_sums_ && deviance(sums) > deviance(*best_sums_) * (1 + kSameDeviance) + kSameDeviance) {
    next_ = (best_ + at_) / 2;
    if (!task_.spec.lasso.empty()) EndPenalty();
    return;
  }
  next_ = NextFrom(at_, sums);
  const VectorXd step = next_ - at_;
  if (best_sums_) {
    const double changed = std::abs(deviance(sums) - deviance(*best_sums_));
    settled_ = changed < kSameDeviance * (std::abs(deviance(sums)) + 0.1) && sums.outside == 0 &&
               step.dot(sums.information * step) < kSettledStep * kSettledStep;
  }
  best_ = at_;
  best_sums_ = sums;
  if (!task_.spec.lasso.empty()) EndPenalty();
}

// After the steps of a penalty: what it came to, and the first step of the next one.
void AggregateFitter::EndPenalty() {
  const Spec& spec = task_.spec;
  const int each = spec.steps / static_cast<int>(spec.lasso.size());
  if (moves_ == 1 || (moves_ - 1) % each != 0) return;
  LassoCandidate candidate{PenaltyOfNow(), settled_, stats::glm::NumSelected(best_), 0, best_};
  candidate.bic =
      stats::glm::LassoBic(spec.law, best_sums_->rows, best_sums_->fit[0], candidate.selected);
  candidates_.push_back(std::move(candidate));
  candidate_sums_.push_back(*best_sums_);
  if (candidates_.size() == spec.lasso.size()) return;
  best_sums_->penalty = Penalty(best_, best_sums_->rows);
  next_ = NextFrom(best_, *best_sums_);
}

void AggregateFitter::ChooseLasso(FittedModel& model) {
  model.converged = false;
  for (size_t c = 0; c < candidates_.size(); ++c) {
    if (!candidates_[c].converged) continue;
    if (!model.converged || candidates_[c].bic < candidates_[model.chosen].bic) model.chosen = c;
    model.converged = true;
  }
  best_sums_ = candidate_sums_[model.chosen];
  fitted_.points.push_back(candidates_[model.chosen].point);
  model.lasso = std::move(candidates_);
}

Fitted AggregateFitter::Finish() {
  if (const auto sums = Open(ShareSums(engine_, task_, own_, at_, true))) Move(*sums);
  std::vector<Shared> opened = {totals_.rows};
  if (task_.spec.law.binary) opened.push_back(totals_.events);
  if (task_.spec.clustered()) opened.push_back(totals_.clusters);
  if (!task_.spec.cuts.empty()) opened.push_back(RiskNumbers(engine_, task_, own_, at_, min_cell_));
  const std::vector<mpc::IntMatrix> values =
      engine_.Reveal(task_.prefix + kFitRelease, opened, task_.to);
  if (values.front().values.empty()) return std::move(fitted_);
  FittedModel model;
  const auto count = [&](size_t place) {
    return static_cast<uint64_t>(values[place].values.front());
  };
  model.converged = settled_;
  model.rows = count(0);
  if (task_.spec.law.binary) model.events = count(1);
  if (task_.spec.clustered()) model.clusters = count(task_.spec.law.binary ? 2 : 1);
  if (!task_.spec.cuts.empty()) {
    const VectorXd numbers = Decoded(values.back(), opened.back().fraction_bits, 1);
    model.risk = {numbers.data(), numbers.data() + numbers.size()};
  }
  if (!task_.spec.lasso.empty()) ChooseLasso(model);
  const auto n = static_cast<double>(model.rows);
  const OpenedSums& sums = *best_sums_;
  const double freedom = n - static_cast<double>(task_.spec.num_coefficients());
  const Index p = at_.size();
  MatrixXd covariance;
  if (task_.spec.robust()) {
    covariance = stats::glm::SandwichCovariance(sums.information, sums.meat);
  } else {
    const double dispersion = TakesDispersion(task_.spec) ? sums.pearson / freedom : 1;
    covariance = dispersion * sums.information.ldlt().solve(MatrixXd::Identity(p, p));
  }
  model.standard_errors = covariance.diagonal().cwiseSqrt();
  if (!task_.spec.lasso.empty()) {
    model.standard_errors.setZero();  // there are none
  } else {
    model.covariance = covariance;
  }
  for (const data::ModelTerm& term : task_.spec.terms) {
    model.statistics.push_back(
        stats::glm::WaldStatistic(at_, covariance, term.columns).value_or(kNoStatistic));
  }
  model.steps = VectorXd::Zero(p);
  if (NumFitNumbers(task_) > 0)
    model.totals = TotalsInClear(task_, n, sums.fit, sums.squares, sums.pearson);
  fitted_.estimate_steps = VectorXd::Zero(p);
  fitted_.model = std::move(model);
  return std::move(fitted_);
}

}  // namespace partita::methods::glm
