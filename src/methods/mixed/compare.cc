// Rehearsals of method `mixed`: every number that opened beside the same of the pooled rows.
#include <Eigen/Cholesky>
#include <cmath>
#include <numbers>
#include <string>

#include "methods/mixed/study.h"
#include "run/rehearse/rehearsal.h"

namespace partita::methods::mixed {
namespace {

// Of an opened number in steps of its grid: half a step, the guard bits, and what the arithmetic
// errs before it is rounded.
constexpr double kRounding = 0.5 + 0x1p-9 + 0x1p-8;
// Of an error that the fit has a limit for: surely below it.
constexpr double kWellWithin = 0.9;
// fit.h: of coefficients in standard errors, of logarithms and the criterion; of errors.
constexpr double kOfErrors = 1e-4, kOfLogs = 1e-5, kOfCriterion = 1e-4;

// Of coefficients. most: by which an entry may differ.
template <typename Most>
void AddCovariances(const Task& task, const Eigen::MatrixXd& opened, const Eigen::MatrixXd& plain,
                    const Most& most, const std::string& analysis, run::Agreement& agreement) {
  const auto name = [&](Eigen::Index i) { return task.spec.columns[static_cast<size_t>(i)].name; };
  for (Eigen::Index i = 0; i < opened.rows(); ++i) {
    for (Eigen::Index j = 0; j <= i; ++j) {
      const double error = most(i, j);
      const bool agree = std::fabs(opened(i, j) - plain(i, j)) <= error;
      agreement.Add(analysis, name(i) + " and " + name(j) + ", covariance", opened(i, j),
                    agree ? opened(i, j) : plain(i, j), error);
    }
  }
}

// Where points open: the last is within a step of the maximum.
template <typename Fit>
void AddPathCovariances(const Task& task, const PathModel& model, const Fit& plain,
                        const std::string& analysis, run::Agreement& agreement) {
  if (!task.spec.covariance) return;
  const auto most = [&](Eigen::Index i, Eigen::Index j) {
    return (1 + kRounding) * (plain.standard_errors[i] * model.covariance_steps[j] +
                              plain.standard_errors[j] * model.covariance_steps[i]);
  };
  AddCovariances(task, model.covariance, plain.covariance, most, analysis, agreement);
}

class Comparison {
 public:
  Comparison(const MixedStudy& study, const OpenedFit& opened,
             const std::vector<stats::mixed::RowSums>& by_holder, run::Agreement& agreement)
      : analysis_(study.Analysis().name),
        task_(study.task),
        opened_(opened),
        plain_(Fit(by_holder, study.task.spec.criterion)),
        agreement_(agreement) {
    for (const stats::mixed::RowSums& own : by_holder) {
      rows_ += own.rows;
      groups_ += static_cast<double>(own.clusters.size());
    }
    const double ratio = plain_.tau_squared / plain_.sigma_squared;
    in_range_ = ratio <= std::exp2(kMostLambdaLog2) &&
                plain_.sigma_squared >= task_.LeastResidual() &&
                plain_.standard_errors.minCoeff() >= kLeastStandardError;
    // Below the ladder lambda is 0.
    if (ratio >= std::exp2(task_.LeastLambdaLog2())) return;
    stats::mixed::LambdaSums sums = SumsAt(by_holder.front(), 0);
    for (size_t h = 1; h < by_holder.size(); ++h) sums += SumsAt(by_holder[h], 0);
    plain_ = ProfileAt(sums, 0, study.task.spec.criterion);
  }

  void Run() {
    agreement_.run_converged = opened_.converged;
    // What the protocol has no fit for is no disagreement.
    agreement_.plain_converged = in_range_ || opened_.converged;
    agreement_.Add(analysis_, "rows", static_cast<double>(opened_.rows), rows_);
    agreement_.Add(analysis_, "groups", static_cast<double>(opened_.groups), groups_);
    if (!opened_.converged) return;
    agreement_.Add(analysis_, "singular", opened_.singular ? 1 : 0,
                   plain_.tau_squared == 0 ? 1 : 0);
    for (Eigen::Index i = 0; i < plain_.estimates.size(); ++i) {
      const std::string& name = task_.spec.columns[static_cast<size_t>(i)].name;
      const double error = plain_.standard_errors[i],
                   most = kRounding * opened_.steps[i] + kOfErrors * error;
      AddOnGrid(name, opened_.estimates[i], plain_.estimates[i], most);
      AddOnGrid(name + ", standard error", opened_.standard_errors[i], error, most);
    }
    if (task_.spec.covariance) {
      AddCovariances(
          task_, opened_.covariance, plain_.covariance,
          [&](Eigen::Index i, Eigen::Index j) {
            return kRounding * opened_.steps[i] * opened_.steps[j] +
                   4 * kOfErrors * plain_.standard_errors[i] * plain_.standard_errors[j];
          },
          analysis_, agreement_);
    }
    const bool reml = task_.spec.reml();
    const double p = static_cast<double>(task_.num_columns()), freedom = rows_ - (reml ? p : 0);
    AddOnGrid("log of the residual variance", opened_.log_residual,
              std::log(plain_.sigma_squared * freedom / rows_),
              kRounding * opened_.log_residual_step + kOfLogs);
    const double criterion = plain_.criterion -
                             freedom * (1 + std::log(2 * std::numbers::pi * rows_ / freedom)) -
                             (reml ? p * std::log(rows_) : 0);
    AddOnGrid("criterion", opened_.criterion, criterion,
              std::ldexp(kRounding, -task_.grid_bits) + kOfCriterion);
    if (opened_.singular || plain_.tau_squared == 0) return;
    AddOnGrid("log of the ratio of variances", opened_.log_lambda,
              std::log(plain_.tau_squared / plain_.sigma_squared),
              kRounding * opened_.log_lambda_step + kOfLogs);
  }

 private:
  // Opened on a grid: equal if the number in the clear rounds to what opened.
  void AddOnGrid(const std::string& name, double run, double plain, double error) {
    agreement_.Add(analysis_, name, run, std::fabs(run - plain) <= error ? run : plain, error);
  }

  const std::string& analysis_;
  const Task& task_;
  const OpenedFit& opened_;
  stats::mixed::Profile plain_;
  bool in_range_ = true;  // where the protocol has a fit
  double rows_ = 0, groups_ = 0;
  run::Agreement& agreement_;
};

// Of a model that is not linear: the maximum in the clear, over all holders.
void CompareLaplace(const MixedStudy& study, const PathFitted& opened,
                    const std::vector<OwnData>& by_holder, run::Agreement& agreement) {
  const std::string& analysis = study.Analysis().name;
  const Task& task = study.task;
  std::vector<stats::mixed::GroupedRows> sites;
  double rows = 0, groups = 0;
  for (const OwnData& own : by_holder) {
    sites.push_back(own.rows);
    rows += static_cast<double>(own.rows.y.size());
    groups += static_cast<double>(own.rows.sizes.size());
  }
  const PathModel& model = opened.model.value();
  const stats::mixed::LaplaceFit plain = FitLaplace(task.spec.law, sites, UnitsOf(task).limits);
  agreement.run_converged = model.converged;
  // A fit in few steps that does not converge is no disagreement.
  agreement.plain_converged = plain.converged && model.converged;
  agreement.Add(analysis, "rows", static_cast<double>(model.rows), rows);
  agreement.Add(analysis, "groups", static_cast<double>(model.groups), groups);
  if (!model.converged || !plain.converged) return;
  const auto add = [&](const std::string& name, double run, double of_plain, double error) {
    agreement.Add(analysis, name, run, std::fabs(run - of_plain) <= error ? run : of_plain, error);
  };
  const Eigen::VectorXd& last = opened.points.back();
  const Eigen::Index p = last.size() - 1;
  add("singular", last[p] == 0 ? 1 : 0, plain.singular ? 1 : 0, 0);
  for (Eigen::Index i = 0; i < p + (plain.singular ? 0 : 1); ++i) {
    const std::string name =
        i < p ? task.spec.columns[static_cast<size_t>(i)].name : "deviation between groups";
    // The last point is within a step of where the next would be, and that near the maximum.
    const double step = opened.estimate_steps[i];
    add(name, last[i], plain.point[i], (1 + kRounding) * step);
    add(name + ", standard error", model.standard_errors[i], plain.standard_errors[i],
        (1 + kRounding) * step);
  }
  AddPathCovariances(task, model, plain, analysis, agreement);
  // Half the square of a step, in standard errors, for each number.
  const double beside = static_cast<double>(p + 1) * std::ldexp(4.0, -2 * task.grid_bits);
  add("log-likelihood", model.log_likelihood, plain.log_likelihood,
      std::ldexp(kRounding, -task.grid_bits) + beside + kOfCriterion);
}

// Of a model with a slope.
void CompareSlopes(const MixedStudy& study, const PathFitted& opened,
                   const std::vector<OwnData>& by_holder, run::Agreement& agreement) {
  const std::string& analysis = study.Analysis().name;
  const Task& task = study.task;
  std::vector<stats::mixed::SlopeSums> sites;
  double rows = 0, groups = 0;
  for (const OwnData& own : by_holder) {
    sites.push_back(own.slopes);
    rows += own.slopes.rows;
    groups += static_cast<double>(own.slopes.groups.size());
  }
  const PathModel& model = opened.model.value();
  const stats::mixed::SlopeFit plain = FitSlopes(sites, task.spec.criterion);
  // Made-up groups do not differ, so that there often is no fit: both have to say so.
  const bool fitted =
      plain.converged && plain.standard_errors.tail(stats::mixed::kDeviations).maxCoeff() <
                             kMostPsiError * kWellWithin;
  agreement.run_converged = model.converged || !fitted;
  agreement.plain_converged = plain.converged || !model.converged;
  agreement.Add(analysis, "rows", static_cast<double>(model.rows), rows);
  agreement.Add(analysis, "groups", static_cast<double>(model.groups), groups);
  const auto add = [&](const std::string& name, double run, double of_plain, double error) {
    agreement.Add(analysis, name, run, std::fabs(run - of_plain) <= error ? run : of_plain, error);
  };
  const auto p = static_cast<Eigen::Index>(task.num_columns());
  // Every scored step of coefficients, from the public point before.
  for (int point = 1; StageOf(task, point) == Stage::kScoring; ++point) {
    const Eigen::VectorXd &from = opened.points[static_cast<size_t>(point) - 1],
                          &to = opened.points[static_cast<size_t>(point)];
    stats::mixed::SlopeAt at = SlopesAt(sites.front(), from, stats::mixed::Criterion::kMl,
                                        stats::mixed::Information::kExpected);
    for (size_t s = 1; s < sites.size(); ++s)
      at += SlopesAt(sites[s], from, stats::mixed::Criterion::kMl,
                     stats::mixed::Information::kExpected);
    const Eigen::LDLT<Eigen::MatrixXd> fixed(Eigen::MatrixXd(at.information.topLeftCorner(p, p)));
    const Eigen::VectorXd step = fixed.solve(at.score.head(p)),
                          variances = fixed.solve(Eigen::MatrixXd::Identity(p, p)).diagonal();
    for (Eigen::Index i = 0; i < p; ++i) {
      const double error = std::sqrt(variances[i]);
      add(task.spec.columns[static_cast<size_t>(i)].name + ", point " + std::to_string(point),
          to[i], from[i] + step[i],
          kRounding * std::ldexp(error, -GridBitsOf(task, point)) + kOfErrors * error);
    }
  }
  if (!model.converged || !plain.converged) return;
  const std::vector<std::string> others = {
      "log of the deviation of intercepts", "log of the deviation of slopes",
      "atanh of the correlation", "log of the deviation within groups"};
  const Eigen::VectorXd& last = opened.points.back();
  for (Eigen::Index i = 0; i < last.size(); ++i) {
    const std::string& name =
        i < p ? task.spec.columns[static_cast<size_t>(i)].name : others[static_cast<size_t>(i - p)];
    const double step = opened.estimate_steps[i];
    add(name, last[i], plain.point[i], (1 + kRounding) * step);
    add(name + ", standard error", model.standard_errors[i], plain.standard_errors[i],
        (1 + kRounding) * step);
  }
  AddPathCovariances(task, model, plain, analysis, agreement);
  const double beside = static_cast<double>(last.size()) * std::ldexp(4.0, -2 * task.grid_bits);
  add("log-likelihood", model.log_likelihood, -plain.criterion / 2,
      std::ldexp(kRounding, -task.grid_bits) + beside + kOfCriterion);
}

}  // namespace

void MixedStudy::Compare(const run::RehearsedRun& run, run::Agreement& agreement,
                         Progress& /*progress*/) const {
  data::Table pooled = run.mock.pooled;
  DeriveColumns(pooled);
  std::vector<OwnData> by_holder;
  for (const run::RowHolder& holder : task.holders) {
    const data::Table table = run::TakeRows(pooled, PooledRowsOf(*this, run, holder.party));
    run::TakenRows rows;
    run::OwnRows counts;
    by_holder.push_back(OwnDataOf(*this, table, TakeRows(*this, table, used, rows, counts)));
  }
  const auto& result = dynamic_cast<const MixedRun&>(*run.outcome(receiver).protocol);
  if (task.spec.slope) {
    CompareSlopes(*this, *result.path, by_holder, agreement);
    return;
  }
  if (!task.spec.linear()) {
    CompareLaplace(*this, *result.path, by_holder, agreement);
    return;
  }
  std::vector<stats::mixed::RowSums> sums;
  for (OwnData& own : by_holder) sums.push_back(std::move(own.sums));
  Comparison(*this, *result.fit, sums, agreement).Run();
}

}  // namespace partita::methods::mixed
