// Rehearsals of method `glm`: every number that opened beside the same of the pooled rows.
#include <fmt/format.h>

#include <Eigen/Cholesky>
#include <cmath>
#include <limits>

#include "methods/glm/nested.h"
#include "methods/glm/risk.h"
#include "methods/glm/sealed/close_rows.h"
#include "methods/glm/sealed/plan_clusters.h"
#include "methods/glm/study.h"
#include "run/rehearse/rehearsal.h"
#include "stats/glm/firth.h"
#include "stats/glm/fit.h"
#include "stats/glm/gaussian_moments.h"
#include "stats/glm/lasso.h"
#include "stats/glm/likelihood.h"
#include "stats/glm/negative_binomial.h"
#include "stats/glm/risk.h"
#include "stats/glm/robust.h"
#include "stats/glm/sites.h"
#include "stats/glm/wald.h"

namespace partita::methods::glm {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using stats::glm::Family;

// Of an opened number in steps of its grid: half a step, the guard bits, and what the arithmetic
// errs before it is rounded.
constexpr double kRounding = 0.5 + 0x1p-9 + 0x1p-8;
// Of a converged estimate from the maximum: the next step is no longer than one of the grid, and
// what is left after it is of a smaller order.
constexpr double kSettled = 1 + 0x1p-4;
// Of an estimate before it is rounded, in standard errors, at level sealed.
constexpr double kSealedError = 1e-4;
// Where all digits open.
constexpr double kDigits = 1e-6, kRiskDigits = 1e-4;
// Of the binary logarithm of a grid's step: the variance that it is found from is cut.
constexpr double kGridError = 0x1p-6;

// Of a row, or cluster; level sealed limits what a cluster does to the estimates instead.
double MostPearsonOf(const Spec& spec) {
  return spec.sealed && spec.clustered() ? std::numeric_limits<double>::infinity()
                                         : stats::glm::kMostPearson;
}

MatrixXd InverseOf(const MatrixXd& information) {
  return information.ldlt().solve(MatrixXd::Identity(information.rows(), information.cols()));
}

class Comparison {
 public:
  Comparison(std::string analysis, const Task& task, const Fitted& opened,
             const std::vector<stats::glm::Rows>& by_holder, uint64_t num_clusters,
             run::Agreement& agreement)
      : analysis_(std::move(analysis)),
        task_(task),
        law_(task.spec.law),
        opened_(opened),
        model_(*opened.model),
        by_holder_(by_holder),
        rows_(stats::glm::Pooled(by_holder)),
        num_clusters_(num_clusters),
        agreement_(agreement) {}

  void Run() {
    const stats::glm::Rows design = task_.spec.sites > 0 ? WithSiteColumns(by_holder_) : rows_;
    const VectorXd own_ridge = Ridge();
    VectorXd ridge = VectorXd::Zero(static_cast<Index>(task_.spec.num_coefficients()));
    ridge.head(own_ridge.size()) = own_ridge;
    stats::glm::Maximum maximum = task_.spec.firth
                                      ? MaximiseFirth(law_, design, task_.units.limits)
                                      : Maximise(law_, design, task_.units.limits, ridge);
    maximum.point.conservativeResize(own_ridge.size());
    // Of a smaller model after the larger one's.
    agreement_.run_converged = agreement_.run_converged && model_.converged;
    agreement_.plain_converged = agreement_.plain_converged && maximum.converged;
    agreement_.Add(analysis_, "rows", static_cast<double>(model_.rows), NumRows());
    if (task_.spec.law.binary) {
      agreement_.Add(analysis_, "rows with outcome 1", static_cast<double>(model_.events),
                     rows_.copies ? rows_.weights.dot(rows_.y) : rows_.y.sum());
    }
    if (task_.spec.clustered()) {
      agreement_.Add(analysis_, "clusters", static_cast<double>(model_.clusters),
                     static_cast<double>(num_clusters_));
    }
    if (!task_.spec.lasso.empty()) {
      CompareLasso();
      return;
    }
    if (!task_.spec.aggregates && !task_.spec.sealed) CompareLastStep();
    if (!model_.converged || !maximum.converged) return;
    at_ = task_.spec.sealed ? maximum.point : opened_.points.back();
    for (Index i = 0; i < maximum.point.size(); ++i) {
      const double digits = kDigits * model_.standard_errors[i];
      AddOnGrid(NameOf(i) + ", maximum", opened_.points.back()[i], maximum.point[i],
                task_.spec.aggregates ? digits
                : task_.spec.sealed   ? kRounding * opened_.estimate_steps[i] +
                                          kSealedError * model_.standard_errors[i]
                                    : kSettled * opened_.estimate_steps[i]);
    }
    CompareErrors();
    CompareStatistics();
    CompareTotals();
    if (!task_.spec.cuts.empty()) CompareRisk();
  }

 private:
  double NumRows() const { return rows_.count(); }
  VectorXd Ridge() const { return RidgeOf(task_.spec, NumRows()); }
  const std::string& NameOf(Index i) const {
    return task_.spec.parameters[static_cast<size_t>(i)].name;
  }
  stats::glm::PointSums SumsAt(const VectorXd& point) const {
    stats::glm::PointSums sums =
        stats::glm::SumsAt(law_, PooledAt(point), point, task_.units.limits);
    AddRidge(sums, point, Ridge());
    if (task_.spec.firth) {
      sums.score += stats::glm::FirthScore(
          sums.information, stats::glm::ThirdMomentsAt(rows_, point, task_.units.limits));
    }
    return sums;
  }
  stats::glm::Rows PooledAt(const VectorXd& point) const {
    std::vector<stats::glm::Rows> at;
    for (const stats::glm::Rows& rows : by_holder_)
      at.push_back(RowsAt(task_.spec, rows, point, task_.units.limits));
    return stats::glm::Pooled(at);
  }

  // Opened on a grid: equal if the number in the clear rounds to what opened.
  void AddOnGrid(const std::string& name, double run, double plain, double error) {
    agreement_.Add(analysis_, name, run, std::fabs(run - plain) <= error ? run : plain, error);
  }

  // The estimates are one step from the point before them, which is public.
  void CompareLastStep() {
    const VectorXd& from = opened_.points[opened_.points.size() - 2];
    const stats::glm::PointSums sums = SumsAt(from);
    const VectorXd next = from + sums.information.ldlt().solve(sums.score);
    for (Index i = 0; i < next.size(); ++i) {
      AddOnGrid(NameOf(i), opened_.points.back()[i], next[i],
                kRounding * opened_.estimate_steps[i]);
    }
  }

  MatrixXd CovarianceAt(const stats::glm::PointSums& sums) const {
    if (task_.spec.robust()) {
      const stats::glm::Meat meat =
          MeatAt(law_, PooledAt(at_), at_, task_.units.limits, MostPearsonOf(task_.spec));
      return stats::glm::SandwichCovariance(sums.information, meat.meat);
    }
    const double freedom = NumRows() - static_cast<double>(task_.spec.num_coefficients());
    const double dispersion = TakesDispersion(task_.spec) ? sums.pearson / freedom : 1;
    return dispersion * InverseOf(sums.information);
  }

  void CompareErrors() {
    const MatrixXd covariance = CovarianceAt(SumsAt(at_));
    const VectorXd errors = covariance.diagonal().cwiseSqrt();
    for (Index i = 0; i < errors.size(); ++i) {
      AddOnGrid(NameOf(i) + ", standard error", model_.standard_errors[i], errors[i],
                task_.spec.aggregates ? kDigits * errors[i] : kRounding * model_.steps[i]);
      if (task_.spec.aggregates) continue;
      // The grid is 2^floor(log2(2^-bits standard errors)).
      const double wanted = std::log2(errors[i]) - task_.grid_bits;
      const double exponent = std::log2(model_.steps[i]);
      const bool fits = exponent <= wanted + kGridError && exponent > wanted - 1 - kGridError;
      agreement_.Add(analysis_, NameOf(i) + ", step of the grid", exponent,
                     fits ? exponent : wanted, 1);
    }
  }

  void CompareStatistics() {
    // At level sealed they are of estimates that were not rounded.
    const VectorXd& estimates = task_.spec.sealed ? at_ : opened_.points.back();
    const MatrixXd covariance = CovarianceAt(SumsAt(estimates));
    for (size_t t = 0; t < task_.spec.terms.size(); ++t) {
      const data::ModelTerm& term = task_.spec.terms[t];
      const double plain =
          stats::glm::WaldStatistic(estimates, covariance, term.columns).value_or(kNoStatistic);
      const double on_grid = std::ldexp(kRounding, -task_.grid_bits);
      AddOnGrid(term.name + ", Wald statistic", model_.statistics[t], plain,
                task_.spec.aggregates ? kDigits * (1 + plain)
                : task_.spec.sealed   ? on_grid + 2 * kSealedError * (1 + plain)
                                      : on_grid);
    }
  }

  void CompareTotals() {
    if (NumTotals(task_.spec) == 0) return;
    const double on_grid = std::ldexp(kRounding, -task_.grid_bits);
    const stats::glm::PointSums sums = SumsAt(at_);
    const double constant = stats::glm::OwnConstant(stats::glm::AtPoint(law_, rows_, at_), rows_);
    const double n = NumRows();
    const bool logs = law_.family == Family::kGaussian;
    const auto total = [&](double deviance) {
      return logs ? n * std::log(deviance / n) : deviance;
    };
    size_t next = 0;
    const auto add = [&](const std::string& name, double plain) {
      const double digits = kDigits * (1 + std::abs(plain));
      AddOnGrid(name, model_.totals[next++], plain, task_.spec.aggregates ? digits : on_grid);
    };
    const bool of_theta = law_.family == Family::kNegativeBinomial;
    add("deviance", total(sums.deviance + (of_theta ? 2 * constant : 0)));
    if (NullOpens(task_.spec)) {
      stats::glm::Rows ones = rows_;
      ones.x = MatrixXd::Ones(rows_.y.size(), 1);
      const stats::glm::Fit null = FitRows(law_, ones, task_.units.limits, task_.spec.intercept);
      add("null deviance", total(null.null_deviance));
    }
    if (HasConstant(law_)) add("constant of the log-likelihood", constant);
    if (HasDispersion(law_) && !logs) add("Pearson's sum", sums.pearson);
  }

  void CompareLasso() {
    for (const LassoCandidate& candidate : model_.lasso) {
      const stats::glm::LassoFit fit = FitLasso(law_, rows_, task_.units.limits,
                                                LassoOf(task_.spec, NumRows(), candidate.penalty));
      if (!candidate.converged || !fit.converged) continue;
      const std::string name = fmt::format("penalty {:g}, ", candidate.penalty);
      for (Index i = 0; i < fit.point.size(); ++i)
        AddOnGrid(name + NameOf(i), candidate.point[i], fit.point[i], kDigits);
      AddOnGrid(
          name + "BIC", candidate.bic,
          stats::glm::LassoBic(law_, NumRows(), fit.deviance, stats::glm::NumSelected(fit.point)),
          kDigits * (1 + std::abs(candidate.bic)));
    }
  }

  void CompareRisk() {
    const Risk risk = RiskOf(task_.spec, model_.risk);
    const stats::glm::RiskTable table =
        stats::glm::RiskTableAt(law_, PooledAt(at_), at_, task_.units.limits, task_.spec.cuts);
    const stats::glm::BinnedArea area = stats::glm::AreaOf(table.bin_others, table.bin_events);
    // At level `aggregates` nothing is rounded but on the way.
    const double on_grid =
        task_.spec.aggregates ? kRiskDigits : std::ldexp(kRounding, -task_.grid_bits);
    // At level sealed rows are counted at a point that is not known to the last digit.
    CloseRows close{std::vector<double>(task_.spec.cuts.size()), 0};
    if (task_.spec.sealed)
      close = CloseRowsOf(rows_, at_, SumsAt(at_).information, kSealedError, task_.spec.cuts);
    const double of_area = on_grid / kTimesArea + close.area;
    AddOnGrid("area under the curve", risk.area, area.area, of_area);
    AddOnGrid("error of the area", risk.error, area.error, of_area);
    for (size_t g = 0; g < risk.groups.size(); ++g) {
      const double moved =
          (g == 0 ? 0 : close.cuts[g - 1]) + (g == close.cuts.size() ? 0 : close.cuts[g]);
      const auto i = static_cast<Index>(g);
      const std::string name = "risk group " + std::to_string(g + 1);
      AddOnGrid(name + ", rows", risk.groups[g].rows, table.others[i] + table.events[i], moved);
      AddOnGrid(name + ", events", risk.groups[g].events, table.events[i], moved);
      const double digits = task_.spec.sealed ? kSealedError * risk.groups[g].rows : 0;
      AddOnGrid(name + ", expected events", risk.groups[g].expected, table.expected[i],
                on_grid + moved + digits);
    }
  }

  const std::string analysis_;
  const Task& task_;
  const stats::glm::Law law_;
  const Fitted& opened_;
  const FittedModel& model_;
  const std::vector<stats::glm::Rows>& by_holder_;
  const stats::glm::Rows rows_;
  const uint64_t num_clusters_;
  run::Agreement& agreement_;
  // Where standard errors and fit are of: the estimates as they opened, or before they were rounded.
  VectorXd at_;
};

}  // namespace

void GlmStudy::Compare(const run::RehearsedRun& run, run::Agreement& agreement,
                       Progress& /*progress*/) const {
  data::Table pooled = run.mock.pooled;
  DeriveColumns(pooled);
  std::vector<stats::glm::Rows> by_holder;
  const auto add = [&](const data::Table& table) {
    run::TakenRows rows;
    run::OwnRows counts;
    const std::vector<size_t> taken = RowsTaken(*this, table, rows, counts);
    by_holder.push_back(OwnDataOf(task.spec, CountTables(task.spec, factors), table, taken).rows);
    if (task.input_bits > 0) RoundRows(by_holder.back(), task.input_bits);
  };
  if (task.spec.sealed) {
    // A value at two holders is two clusters.
    for (const std::vector<size_t>& rows : PooledRowsByClusters(*this, run.mock.row_blocks))
      add(run::TakeRows(pooled, rows));
  } else {
    for (const run::RowHolder& holder : task.holders)
      add(run::TakeRows(pooled, PooledRowsOf(*this, run, holder.party)));
  }
  const auto& result = dynamic_cast<const GlmRun&>(*run.outcome(receiver).protocol);
  const std::string& name = Analysis().name;
  const uint64_t clusters = task.spec.seals_clusters()
                                ? NumOwnClusters(*this, run.mock.pooled, run.mock.row_blocks)
                                : NumClusters(stats::glm::Pooled(by_holder));
  Comparison(name, task, result.fitted, by_holder, clusters, agreement).Run();
  if (!smaller) return;
  for (stats::glm::Rows& rows : by_holder) rows = SmallerRows(task.spec, rows);
  Comparison(name + ", smaller model", *smaller, result.smaller, by_holder, clusters, agreement)
      .Run();
}

}  // namespace partita::methods::glm
