// Rehearsals of method `glm`: every number that opened beside the same of the pooled rows.
#include <Eigen/Cholesky>
#include <cmath>

#include "methods/glm/study.h"
#include "run/rehearse/rehearsal.h"
#include "stats/glm/fit.h"
#include "stats/glm/likelihood.h"

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
// Of the binary logarithm of a grid's step: the variance that it is found from is cut.
constexpr double kGridError = 0x1p-6;

MatrixXd InverseOf(const MatrixXd& information) {
  return information.ldlt().solve(MatrixXd::Identity(information.rows(), information.cols()));
}

class Comparison {
 public:
  Comparison(const GlmStudy& study, const Fitted& opened, const stats::glm::Rows& rows,
             run::Agreement& agreement)
      : analysis_(study.file.analyses.front().name),
        task_(study.task),
        family_(study.task.spec.family),
        opened_(opened),
        model_(*opened.model),
        rows_(rows),
        agreement_(agreement) {}

  void Run() {
    const stats::glm::Maximum maximum = stats::glm::Maximise(family_, rows_, task_.units.limits, 0);
    agreement_.run_converged = model_.converged;
    agreement_.plain_converged = maximum.converged;
    agreement_.Add(analysis_, "rows", static_cast<double>(model_.rows), NumRows());
    if (task_.classes > 1) {
      agreement_.Add(analysis_, "rows with outcome 1", static_cast<double>(model_.events),
                     rows_.y.sum());
    }
    CompareLastStep();
    if (!model_.converged || !maximum.converged) return;
    for (Index i = 0; i < maximum.point.size(); ++i) {
      AddOnGrid(NameOf(i) + ", maximum", opened_.points.back()[i], maximum.point[i],
                kSettled * opened_.estimate_steps[i]);
    }
    CompareErrors();
    CompareTotals();
  }

 private:
  double NumRows() const { return static_cast<double>(rows_.y.size()); }
  const std::string& NameOf(Index i) const {
    return task_.spec.columns[static_cast<size_t>(i)].name;
  }
  stats::glm::PointSums SumsAt(const VectorXd& point) const {
    return stats::glm::SumsAt(family_, rows_, point, task_.units.limits);
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

  void CompareErrors() {
    const stats::glm::PointSums sums = SumsAt(opened_.points.back());
    const double dispersion = stats::glm::HasDispersion(family_)
                                  ? sums.pearson / (NumRows() - static_cast<double>(rows_.x.cols()))
                                  : 1;
    const VectorXd errors = (dispersion * InverseOf(sums.information).diagonal()).cwiseSqrt();
    for (Index i = 0; i < errors.size(); ++i) {
      AddOnGrid(NameOf(i) + ", standard error", model_.standard_errors[i], errors[i],
                kRounding * model_.steps[i]);
      // The grid is 2^floor(log2(2^-bits standard errors)).
      const double wanted = std::log2(errors[i]) - task_.grid_bits;
      const double exponent = std::log2(model_.steps[i]);
      const bool fits = exponent <= wanted + kGridError && exponent > wanted - 1 - kGridError;
      agreement_.Add(analysis_, NameOf(i) + ", step of the grid", exponent,
                     fits ? exponent : wanted, 1);
    }
  }

  void CompareTotals() {
    const double error = std::ldexp(kRounding, -task_.grid_bits);
    const Fit fit = FitRows(family_, rows_, task_.units.limits, task_.spec.intercept);
    const stats::glm::PointSums sums = SumsAt(opened_.points.back());
    const double n = NumRows();
    const bool logs = family_ == Family::kGaussian;
    const auto total = [&](double deviance) {
      return logs ? n * std::log(deviance / n) : deviance;
    };
    size_t next = 0;
    const auto add = [&](const std::string& name, double plain) {
      AddOnGrid(name, model_.totals[next++], plain, error);
    };
    add("deviance", total(sums.deviance));
    if (family_ != Family::kBinomial || !task_.spec.intercept)
      add("null deviance", total(fit.null_deviance));
    if (family_ == Family::kPoisson || family_ == Family::kGamma)
      add("constant of the log-likelihood", stats::glm::OwnConstant(family_, rows_));
    if (family_ == Family::kGamma) add("Pearson's sum", sums.pearson);
  }

  using Fit = stats::glm::Fit;

  const std::string& analysis_;
  const Task& task_;
  const Family family_;
  const Fitted& opened_;
  const FittedModel& model_;
  const stats::glm::Rows& rows_;
  run::Agreement& agreement_;
};

}  // namespace

void GlmStudy::Compare(const run::RehearsedRun& run, run::Agreement& agreement,
                       Progress& /*progress*/) const {
  data::Table pooled = run.mock.pooled;
  DeriveColumns(pooled);
  run::TakenRows rows;
  run::OwnRows counts;
  const OwnData own = OwnDataOf(task.spec, CountTables(task.spec, factors), pooled,
                                TakeRows(*this, pooled, used, rows, counts));
  const auto& result = dynamic_cast<const GlmRun&>(*run.outcome(receiver).protocol);
  Comparison(*this, result.fitted, own.rows, agreement).Run();
}

}  // namespace partita::methods::glm
