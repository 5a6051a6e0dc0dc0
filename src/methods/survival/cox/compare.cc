// Rehearsals of proportional hazards: every number that opened beside the same of the pooled rows.
#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

#include "methods/survival/cox/study.h"
#include "run/rehearse/rehearsal.h"
#include "stats/survival/after_cox.h"
#include "stats/survival/cox_robust.h"

namespace partita::methods::survival {
namespace {

using Eigen::Index;
using Eigen::VectorXd;
using stats::survival::CoxSums;

// Of an opened number in steps of its grid: half a step, the guard bits, and what the arithmetic
// errs before it is rounded.
constexpr double kCoxRounding = 0.5 + 0x1p-9 + 0x1p-8;
// Of a converged estimate from the maximum: the next step is no longer than one of the grid, and what
// is left after it is of a smaller order.
constexpr double kSettled = 1 + 0x1p-4;
// Of the binary logarithm of a grid's step.
constexpr double kCoxGridError = 0x1p-6;

class CoxComparison {
 public:
  CoxComparison(const CoxStudy& study, const CoxFitted& opened,
                const stats::survival::CoxRows& rows, run::Agreement& agreement)
      : analysis_(study.Analysis().name),
        task_(study.task),
        opened_(opened),
        model_(*opened.model),
        rows_(rows),
        agreement_(agreement) {}

  void Run() {
    const stats::survival::CoxFit fit = FitCox(rows_, task_.spec.ties);
    agreement_.run_converged = model_.converged;
    agreement_.plain_converged = fit.converged;
    double events = 0;
    for (const uint8_t event : rows_.event) events += event;
    agreement_.Add(analysis_, "rows", static_cast<double>(model_.rows),
                   static_cast<double>(rows_.event.size()));
    agreement_.Add(analysis_, "events", static_cast<double>(model_.events), events);
    CompareLastStep();
    if (!model_.converged || !fit.converged) return;
    const CoxSums sums = SumsAt(opened_.points.back());
    const bool robust = task_.spec.robust;
    const stats::survival::CoxRobust sandwich =
        robust ? CoxRobustAt(rows_, opened_.points.back(), task_.spec.ties)
               : stats::survival::CoxRobust{};
    const Eigen::MatrixXd covariance = robust ? sandwich.covariance : Inverse(sums);
    const VectorXd errors = covariance.diagonal().cwiseSqrt();
    if (task_.spec.covariance) CompareCovariances(covariance);
    for (Index i = 0; i < errors.size(); ++i) {
      AddOnGrid(NameOf(i) + ", maximum", opened_.points.back()[i], fit.point[i],
                kSettled * opened_.estimate_steps[i]);
      AddOnGrid(NameOf(i) + ", standard error", model_.standard_errors[i], errors[i],
                kCoxRounding * model_.steps[i]);
      const double wanted = std::log2(errors[i]) - task_.grid_bits;
      const double exponent = std::log2(model_.steps[i]);
      const bool fits = exponent <= wanted + kCoxGridError && exponent > wanted - 1 - kCoxGridError;
      agreement_.Add(analysis_, NameOf(i) + ", step of the grid", exponent,
                     fits ? exponent : wanted, 1);
    }
    const double on_grid = std::ldexp(kCoxRounding, -task_.grid_bits);
    const VectorXd& at = opened_.points.back();
    AddOnGrid("log-likelihood without terms", model_.totals[0], fit.null_log_likelihood, on_grid);
    AddOnGrid("log-likelihood", model_.totals[1], sums.log_likelihood, on_grid);
    AddOnGrid("score test", model_.totals[2], fit.score_test, on_grid);
    AddOnGrid("Wald's test", model_.totals[3],
              robust ? sandwich.wald_test : at.dot(sums.information * at), on_grid);
    if (model_.proportional) CompareProportional(at, on_grid);
    if (task_.spec.clustered()) {
      const int clusters = 1 + *std::max_element(rows_.cluster.begin(), rows_.cluster.end());
      agreement_.Add(analysis_, "clusters", static_cast<double>(model_.clusters), clusters);
    }
    if (task_.spec.concordance) {
      AddOnGrid("concordance, times 16", model_.totals.back(),
                std::ldexp(BinnedConcordance(task_.cells, rows_, at).value(), kConcordanceLog2),
                on_grid);
    }
    CompareHazards(at);
  }

 private:
  const std::string& NameOf(Index i) const {
    return task_.spec.columns[static_cast<size_t>(i)].name;
  }
  CoxSums SumsAt(const VectorXd& point) const { return CoxSumsAt(rows_, point, task_.spec.ties); }
  static Eigen::MatrixXd Inverse(const CoxSums& sums) {
    const Index p = sums.score.size();
    return sums.information.ldlt().solve(Eigen::MatrixXd::Identity(p, p));
  }
  void AddOnGrid(const std::string& name, double run, double plain, double error) {
    agreement_.Add(analysis_, name, run, std::fabs(run - plain) <= error ? run : plain, error);
  }
  void CompareCovariances(const Eigen::MatrixXd& covariance) {
    for (Index i = 0; i < covariance.rows(); ++i) {
      for (Index j = 0; j <= i; ++j) {
        AddOnGrid(NameOf(i) + " and " + NameOf(j) + ", covariance", model_.covariance(i, j),
                  covariance(i, j), kCoxRounding * model_.steps[i] * model_.steps[j]);
      }
    }
  }
  void CompareProportional(const VectorXd& at, double on_grid) {
    const auto tests = stats::survival::TestProportional(
        rows_, at, task_.spec.ties,
        [&](double cell) { return TimeOf(task_.cells, static_cast<size_t>(cell)); });
    for (Index i = 0; i < tests.columns.size(); ++i) {
      AddOnGrid(NameOf(i) + ", proportional hazards",
                model_.totals[kCoxTotals + static_cast<size_t>(i)], tests.columns[i], on_grid);
    }
    AddOnGrid("proportional hazards", model_.totals[kCoxTotals + task_.num_columns()], tests.all,
              on_grid);
  }
  void CompareHazards(const VectorXd& at) {
    const CoxSpec& spec = task_.spec;
    for (size_t place = 0; place < model_.log_hazards.size(); ++place) {
      const size_t stratum = place / spec.report.size();
      const size_t cell = spec.report[place % spec.report.size()];
      const double hazard = CumulatedHazard(rows_, at, spec.ties, static_cast<int>(stratum),
                                            static_cast<double>(cell));
      const bool none = hazard == 0 || !model_.shows_hazard[stratum];
      AddOnGrid("log of the cumulative hazard", model_.log_hazards[place],
                none ? 0 : std::log(hazard), kCoxRounding * model_.hazard_steps[place]);
    }
  }
  // The estimates are one step from the point before them, which is public.
  void CompareLastStep() {
    const VectorXd& from = opened_.points[opened_.points.size() - 2];
    const CoxSums sums = SumsAt(from);
    const VectorXd next = from + Inverse(sums) * sums.score;
    for (Index i = 0; i < next.size(); ++i)
      AddOnGrid(NameOf(i), opened_.points.back()[i], next[i],
                kCoxRounding * opened_.estimate_steps[i]);
  }

  const std::string& analysis_;
  const CoxTask& task_;
  const CoxFitted& opened_;
  const CoxModel& model_;
  const stats::survival::CoxRows& rows_;
  run::Agreement& agreement_;
};

}  // namespace

void CoxStudy::Compare(const run::RehearsedRun& run, run::Agreement& agreement,
                       Progress& /*progress*/) const {
  data::Table pooled = run.mock.pooled;
  DeriveColumns(pooled);
  run::TakenRows taken;
  run::OwnRows counts;
  TakeRows(*this, pooled, used, taken, counts);
  std::vector<CoxRows> by_holder;
  for (const run::RowHolder& holder : task.holders) {
    std::vector<size_t> rows = run::PooledRowsOf(*this, run, holder.party);
    std::erase_if(rows, [&](size_t row) { return taken.taken[row] == 0; });
    by_holder.push_back(
        CoxRowsOf(task.spec, Tables(), task.cells, StratumOf(holder.party), pooled, rows));
  }
  const auto& result = dynamic_cast<const CoxRun&>(*run.outcome(receiver).protocol);
  const stats::survival::CoxRows rows = PooledCoxRows(task.cells, by_holder);
  CoxComparison(*this, result.fitted, rows, agreement).Run();
}

}  // namespace partita::methods::survival
