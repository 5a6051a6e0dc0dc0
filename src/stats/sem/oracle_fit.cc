#include "stats/sem/oracle_fit.h"

#include <fmt/format.h>

#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "stats/sem/constraints.h"
#include "stats/sem/diagnostics.h"
#include "stats/sem/fit_measures.h"
#include "stats/sem/information.h"
#include "stats/sem/objective.h"
#include "stats/sem/ram.h"
#include "stats/sem/solution.h"
#include "stats/sem/starts.h"
#include "stats/sem/weight_rank.h"

namespace partita::stats {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double kTarget = 1e-8;            // of the scaled gradient
constexpr double kStandardErrors = 1e-5;    // distance to the optimum that is close enough
constexpr double kValuesStillTell = 1e-9;   // predicted decrease per row below which values do not
constexpr double kHalfWidthDeviations = 3;  // assumed before anything is known
constexpr double kSecantBelow = 0.3;        // scaled gradient
constexpr double kFar = 30;                 // a loading or variance in units of standard deviations
constexpr double kSmallVariance = 0.05;     // of a latent variable
constexpr double kSmallLoading = 0.1;       // of its reference indicator
constexpr int kFewestGradients = 40;        // of the first start
constexpr int kMaxSteps = 500;              // tried, most of them refused without a question

// fixed.x takes covariates' moments from the sample, which is not there: they are estimated.
ParameterTable FreeCovariates(ParameterTable table) {
  for (Parameter& row : table.rows) {
    if (!row.exogenous || row.free > 0) continue;
    row.free = ++table.num_free;
    row.label.clear();
  }
  return table;
}

std::vector<GroupMoments> AssumedMoments(const OracleFitInput& input) {
  const VectorXd deviation = input.scale.half_width / kHalfWidthDeviations;
  std::vector<GroupMoments> moments;
  for (double n : input.n) {
    moments.push_back({n, input.scale.centre, deviation.cwiseAbs2().asDiagonal()});
  }
  return moments;
}

RankReference AssumedReference(const OracleFitInput& input) {
  const Index p = input.scale.centre.size();
  const double variance = 1 / (kHalfWidthDeviations * kHalfWidthDeviations);
  return {std::vector<VectorXd>(input.n.size(), VectorXd::Zero(p)),
          std::vector<MatrixXd>(input.n.size(), variance * MatrixXd::Identity(p, p))};
}

// What is known of moments is no covariance matrix; no value of the objective is of any use.
std::vector<GroupSample> KnownSamples(const std::vector<GroupMoments>& moments,
                                      const VectorXd& unit) {
  std::vector<GroupSample> samples = ScaleMoments(moments, unit);
  for (GroupSample& sample : samples) sample.log_det = 0;
  return samples;
}

// In units of the standard deviations of the moments.
struct ScaledModel {
  ScaledModel(const ParameterTable& table, const std::vector<GroupMoments>& moments)
      : model(BuildRamModel(table, moments)),
        samples(KnownSamples(moments, model.variable_unit.head(model.num_observed))) {}
  SemObjective objective() const { return {model, samples}; }

  const RamModel model;
  const std::vector<GroupSample> samples;
};

int CountParameters(const RamModel& model, const ModelExpressions& expressions) {
  const ExpressionValues at = expressions.Constraints(VectorXd::Ones(model.num_parameters));
  const bool known = at.jacobian.allFinite();
  return model.num_parameters - (known ? TangentSpace(at.jacobian, model.num_parameters).rank : 0);
}

void CheckRows(const ParameterTable& table, const std::vector<double>& n, int num_parameters) {
  if (n.size() != table.groups.size()) {
    throw Error(ErrorCode::kInternal, "as many group sizes as groups are needed");
  }
  double total = 0;
  for (std::size_t g = 0; g < n.size(); ++g) {
    total += n[g];
    if (n[g] > static_cast<double>(table.observed.size())) continue;
    throw Error(ErrorCode::kBadInput,
                fmt::format("{} rows{} are too few for {} observed variables", n[g],
                            n.size() > 1 ? fmt::format(" in group {}", table.groups[g]) : "",
                            table.observed.size()),
                "use a model with fewer variables, or more rows");
  }
  if (total >= num_parameters) return;
  throw Error(ErrorCode::kBadInput,
              fmt::format("the model has {} free parameters but there are only {} rows",
                          num_parameters, total),
              "use a simpler model, or more rows");
}

// Thrown inside this file when the declared number of evaluations is used up.
struct OutOfEvaluations {};

// Minus the log-likelihood per row, and what was asked about it.
class Questions {
 public:
  Questions(const RamModel& model, const OracleFitInput& input, const OracleFitOptions& options,
            Progress& progress)
      : model_(&model),
        input_(input),
        options_(options),
        progress_(progress),
        tracker_(LayoutOf(model), AssumedReference(input)),
        gradient_limit_(options.max_gradients) {
    for (double n : input.n) total_ += n;
    usage_.num_statistics = static_cast<int>(tracker_.num_statistics());
  }

  // The same model in other units.
  void Use(const RamModel& model) { model_ = &model; }

  // From now on at most so many gradients more.
  void Allow(int gradients) {
    gradient_limit_ = std::min(options_.max_gradients, usage_.gradients + gradients);
  }
  int GradientsLeft() const { return options_.max_gradients - usage_.gradients; }

  // False, and nothing asked, where a Sigma is not positive definite.
  bool Ask(const VectorXd& x, double& value, VectorXd* gradient) {
    const LinearRows rows = LikelihoodRows(*model_, input_.scale, input_.n, x, gradient != nullptr);
    if (rows.weights.rows() == 0) return false;
    Count(gradient != nullptr);
    asked_.push_back(rows.weights);
    Report(tracker_.Add(rows.weights));
    const OracleAnswer answer = input_.oracle(rows.weights);
    const VectorXd implied = ImpliedStatistics(*model_, input_.scale, input_.n, x);
    const VectorXd all = answer.values + rows.constants + (rows.weights - answer.used) * implied;
    value = -all[0] / total_;
    if (gradient != nullptr) *gradient = -all.tail(model_->num_parameters) / total_;
    return true;
  }

  // The rank in coordinates that suit the data: those of the fitted model.
  OracleUsage Usage(const VectorXd& x) const {
    RankTracker tracker(LayoutOf(*model_), ReferenceAt(*model_, input_.scale, x));
    for (const MatrixXd& weights : asked_) tracker.Add(weights);
    OracleUsage usage = usage_;
    usage.rank = static_cast<int>(tracker.rank());
    return usage;
  }

 private:
  void Count(bool gradient) {
    progress_.CheckCancelled();
    int& used = gradient ? usage_.gradients : usage_.values;
    if (used >= (gradient ? gradient_limit_ : options_.max_values)) throw OutOfEvaluations();
    ++used;
    usage_.opened_numbers += gradient ? 1 + model_->num_parameters : 1;
  }

  // The rank follows from the weights, not from the answers; but the weights follow from earlier
  // answers, so that this is for whoever asks.
  void Report(Index rank) {
    if (rank != usage_.rank || usage_.gradients + usage_.values == 1) {
      usage_.rank = static_cast<int>(rank);
      progress_.Phase(fmt::format("fit: rank {} of {}", rank, usage_.num_statistics));
    }
    progress_.Step(
        static_cast<uint64_t>(usage_.gradients) + static_cast<uint64_t>(usage_.values),
        static_cast<uint64_t>(options_.max_gradients) + static_cast<uint64_t>(options_.max_values));
  }

  const RamModel* model_;
  const OracleFitInput& input_;
  const OracleFitOptions& options_;
  Progress& progress_;
  RankTracker tracker_;
  std::vector<MatrixXd> asked_;
  double total_ = 0;
  int gradient_limit_ = 0;
  OracleUsage usage_;
};

// Everything known about one accepted point.
struct Point {
  VectorXd x;
  double value = std::numeric_limits<double>::infinity();
  VectorXd gradient;
  ExpressionValues constraints;
  double infeasibility = 0;
  Tangent tangent;
  MatrixXd information;
  MatrixXd on_tangent;  // Z' I Z
  double scaled_gradient = std::numeric_limits<double>::infinity();
};

// kConverged: none.
struct Failure {
  StopReason stop = StopReason::kConverged;
  std::string words;
};

struct Step {
  VectorXd step;
  double predicted = 0;  // decrease of the value
};

class Scoring {
 public:
  Scoring(const SemObjective& objective, const ModelExpressions& expressions, Questions& questions)
      : objective_(objective), expressions_(expressions), questions_(questions) {
    for (const GroupSample& sample : objective.samples) total_ += sample.n;
  }

  // Best point reached; failure: why it is not an optimum.
  Point Run(const VectorXd& start, int& steps, Failure& failure) {
    Point at;
    at.x = start;
    correction_ = MatrixXd::Zero(start.size(), start.size());
    failure = {StopReason::kStartsOutside, StopReasonText(StopReason::kStartsOutside)};
    if (!Inside(start) || !questions_.Ask(start, at.value, &at.gradient)) return at;
    try {
      Examine(at);
      Iterate(at, steps, failure);
    } catch (const OutOfEvaluations&) {
      failure = {
          StopReason::kLimit,
          fmt::format("the declared number of evaluations was used up with a scaled gradient of "
                      "{:.1e}",
                      at.scaled_gradient)};
    }
    return at;
  }

 private:
  bool Inside(const VectorXd& x) const { return std::isfinite(Discrepancy(objective_, x)); }

  void Examine(Point& at) const {
    at.constraints = expressions_.Constraints(at.x);
    at.infeasibility = Infeasibility(at.constraints);
    at.tangent = TangentSpace(at.constraints.jacobian, at.x.size());
    at.information = ExpectedInformation(objective_, at.x);
    const MatrixXd& z = at.tangent.basis;
    at.on_tangent = z.transpose() * at.information * z;
    const VectorXd projected = z.transpose() * at.gradient;
    at.scaled_gradient = 0;
    for (Index i = 0; i < projected.size(); ++i) {
      const double root = std::sqrt(std::max(at.on_tangent(i, i), 0.0));
      at.scaled_gradient =
          std::max(at.scaled_gradient, std::abs(projected[i]) / (root > 0 ? root : 1));
    }
  }

  Step Propose(const Point& at, double damping) const {
    const MatrixXd& z = at.tangent.basis;
    VectorXd feasible = VectorXd::Zero(at.x.size());
    if (at.constraints.values.size() > 0) {
      feasible =
          at.constraints.jacobian.completeOrthogonalDecomposition().solve(-at.constraints.values);
    }
    const MatrixXd curvature = Curvature(at);
    MatrixXd damped = z.transpose() * curvature * z;
    damped += damping * at.on_tangent.diagonal().asDiagonal();
    const VectorXd right = -z.transpose() * (at.gradient + curvature * feasible);
    Step out;
    out.step = feasible + z * SolveSemidefinite(damped, right);
    out.predicted = -at.gradient.dot(out.step) - 0.5 * out.step.dot(curvature * out.step);
    return out;
  }

  // The expected information plus what past gradients say about its difference from the Hessian
  // (structured BFGS; Dennis, Gay & Welsch 1981): where the model does not fit, scoring alone
  // converges slowly, and every step is one more question.
  MatrixXd Curvature(const Point& at) const {
    MatrixXd secant = at.information + correction_;
    const MatrixXd& z = at.tangent.basis;
    if (SmallestScaledEigenvalue(z.transpose() * secant * z, at.on_tangent) > 1e-2) return secant;
    return at.information;
  }

  void Learn(const Point& from, const Point& to) {
    const VectorXd step = to.x - from.x, change = to.gradient - from.gradient;
    const MatrixXd before = Curvature(to);
    const VectorXd expected = before * step;
    const double along = change.dot(step), expected_along = expected.dot(step);
    if (!(along > 1e-2 * expected_along) || !(expected_along > 0)) return;
    correction_ = before - to.information + change * change.transpose() / along -
                  expected * expected.transpose() / expected_along;
  }

  // The merit of a point is its value plus a penalty, larger than any multiplier, for leaving the
  // constraints.
  double Merit(double value, double infeasibility, const Point& from) const {
    return value + 10 * (1 + from.gradient.norm()) * infeasibility;
  }

  // Tries a step. True: `next` is better and fully examined. ratio: actual / predicted decrease.
  bool Try(const Point& at, const Step& step, bool ask_value_first, Point& next, double& ratio) {
    next = Point();
    next.x = at.x + step.step;
    ratio = -1;
    if (!next.x.allFinite() || !Inside(next.x)) return false;
    next.constraints = expressions_.Constraints(next.x);
    next.infeasibility = Infeasibility(next.constraints);
    if (!std::isfinite(next.infeasibility) || !next.constraints.jacobian.allFinite()) return false;
    if (!questions_.Ask(next.x, next.value, ask_value_first ? nullptr : &next.gradient)) {
      return false;
    }
    const double before = Merit(at.value, at.infeasibility, at);
    const double predicted = step.predicted + before - at.value;
    const double decrease = before - Merit(next.value, next.infeasibility, at);
    const bool values_tell = predicted > kValuesStillTell * (1 + std::abs(before));
    ratio = values_tell ? decrease / predicted : 1;
    if (values_tell && !(ratio > 1e-4)) return false;
    if (ask_value_first && !questions_.Ask(next.x, next.value, &next.gradient)) return false;
    Examine(next);
    return values_tell || next.scaled_gradient < 0.9 * at.scaled_gradient;
  }

  // In units of standard deviations nothing sensible is that far.
  bool RanAway(const VectorXd& x) const {
    for (const RamGroup& group : objective_.model.groups) {
      for (const RamCell& cell : group.cells) {
        if (cell.matrix != RamMatrix::kMean && std::abs(cell.factor * x[cell.parameter]) > kFar)
          return true;
      }
    }
    return false;
  }

  bool CloseEnough(const Point& at) const {
    return at.infeasibility < 1e-8 && at.scaled_gradient * std::sqrt(total_) < kStandardErrors;
  }

  void Iterate(Point& at, int& steps, Failure& failure) {
    double damping = 0;
    bool refused = false;
    for (int tried = 0; tried < kMaxSteps; ++tried) {
      if (at.infeasibility < 1e-12 && at.scaled_gradient < kTarget) {
        failure = {};
        return;
      }
      Point next;
      double ratio = 0;
      if (Try(at, Propose(at, damping), refused, next, ratio)) {
        const bool slow = next.scaled_gradient > 0.05 * at.scaled_gradient;
        if (slow && at.scaled_gradient < kSecantBelow) Learn(at, next);
        at = std::move(next);
        ++steps;
        refused = false;
        if (RanAway(at.x)) {
          failure = {StopReason::kRanAway, StopReasonText(StopReason::kRanAway)};
          return;
        }
        damping = ratio > 0.7 ? (damping < 1e-2 ? 0 : damping / 8) : damping;
        continue;
      }
      if (CloseEnough(at)) {  // rounding of the answers allows no further step
        failure = {};
        return;
      }
      refused = ratio != -1;  // a step that needed no question says nothing about values
      damping = std::max(4 * damping, 0.05);
      if (damping > 1e12) break;
    }
    failure = {
        StopReason::kNoBetterPoint,
        fmt::format("no better point was found although the scaled gradient is still {:.1e}; the "
                    "likelihood may be flat or unbounded there",
                    at.scaled_gradient)};
  }

  const SemObjective& objective_;
  const ModelExpressions& expressions_;
  Questions& questions_;
  MatrixXd correction_;  // of the information towards the Hessian
  double total_ = 0;
};

struct OracleOptimum {
  Point point;
  int steps = 0;
  Failure failure;
};

// Where almost nothing predicts anything: residual variances 1, latent ones small, and no loadings but
// those of reference indicators.
VectorXd IndependentPoint(const ParameterTable& table, const SemObjective& objective) {
  const RamModel& model = objective.model;
  VectorXd x = StartValues(table, model, objective.samples, StartMethod::kSimple);
  for (const RamGroup& group : model.groups) {
    for (const RamCell& cell : group.cells) {
      if (cell.matrix == RamMatrix::kMean) continue;
      const bool variance = cell.matrix == RamMatrix::kCovariance && cell.row == cell.column;
      const double observed = cell.row < model.num_observed ? 1 : kSmallVariance;
      const bool reference = cell.matrix == RamMatrix::kRegression &&
                             cell.column >= model.num_observed &&
                             cell.row == ReferenceIndicator(group, model.num_observed, cell.column);
      x[cell.parameter] = (variance ? observed : reference ? kSmallLoading : 0) / cell.factor;
    }
  }
  return x;
}

// Covariances of indicators with the reference of their factor: how far a loading goes in one step says
// them. step: of a cell; shift: of the means.
void LearnCovariances(const RamModel& model, const RamGroup& group, const VectorXd& x,
                      const std::function<double(const RamCell&)>& step, const VectorXd& shift,
                      GroupMoments& moments) {
  const RamMatrices at = FillMatrices(group, x);
  for (const RamCell& cell : group.cells) {
    const int factor = cell.column,
              reference = ReferenceIndicator(group, model.num_observed, factor);
    const bool loading = cell.matrix == RamMatrix::kRegression && factor >= model.num_observed &&
                         cell.row < model.num_observed;
    if (!loading || reference == cell.row) continue;
    const double covariance =
        step(cell) * at.regression(reference, factor) * at.covariance(factor, factor) -
        shift[cell.row] * shift[reference];
    moments.covariance(cell.row, reference) = moments.covariance(reference, cell.row) =
        covariance * model.variable_unit[cell.row] * model.variable_unit[reference];
  }
}

// Means and variances of the rows, and covariances with reference indicators, by one question: there
// the likelihood separates, so that a step of Fisher scoring on a variance, a mean or a loading alone
// leads to the sample's. What the model does not say of a variable stays as it was assumed.
std::vector<GroupMoments> LearnScale(const ParameterTable& table, const SemObjective& objective,
                                     std::vector<GroupMoments> moments, Questions& questions) {
  const RamModel& model = objective.model;
  const VectorXd x = IndependentPoint(table, objective);
  double value = 0;
  VectorXd gradient;
  if (questions.GradientsLeft() < 2 || !questions.Ask(x, value, &gradient)) return moments;
  const VectorXd information = ExpectedInformation(objective, x).diagonal();
  const std::vector<ImpliedMoments> implied = Imply(model, x);
  for (std::size_t g = 0; g < moments.size(); ++g) {
    const auto step = [&](const RamCell& cell) {
      const double root = information[cell.parameter];
      return root > 0 ? -cell.factor * gradient[cell.parameter] / root : 0.0;
    };
    VectorXd shift = VectorXd::Zero(model.num_observed);
    for (const RamCell& cell : model.groups[g].cells) {
      if (cell.matrix != RamMatrix::kMean || cell.row >= model.num_observed) continue;
      shift[cell.row] = step(cell);
      moments[g].mean[cell.row] =
          model.variable_unit[cell.row] * (implied[g].mean[cell.row] + shift[cell.row]);
    }
    for (const RamCell& cell : model.groups[g].cells) {
      const bool own = cell.matrix == RamMatrix::kCovariance && cell.row == cell.column &&
                       cell.row < model.num_observed;
      if (!own) continue;
      const double variance = implied[g].covariance(cell.row, cell.row) + step(cell) -
                              shift[cell.row] * shift[cell.row];
      const double unit = model.variable_unit[cell.row];
      if (variance > 0) moments[g].covariance(cell.row, cell.row) = unit * unit * variance;
    }
    LearnCovariances(model, model.groups[g], x, step, shift, moments[g]);
  }
  return moments;
}

// From several starts, within what was declared: a start may use half of what is left, and at least
// kFewestGradients.
OracleOptimum Optimize(const ParameterTable& table, const SemObjective& objective,
                       const ModelExpressions& expressions, Questions& questions) {
  OracleOptimum best;
  for (const StartMethod method : {StartMethod::kSimple, StartMethod::kCautious}) {
    const VectorXd start = StartValues(table, objective.model, objective.samples, method);
    const int left = questions.GradientsLeft();
    if (best.point.x.size() > 0 && left == 0) break;
    const bool last = method == StartMethod::kCautious;
    questions.Allow(last ? left : std::max(kFewestGradients, left / 2));
    OracleOptimum found;
    found.point = Scoring(objective, expressions, questions).Run(start, found.steps, found.failure);
    found.steps += best.steps;
    const bool converged = found.failure.stop == StopReason::kConverged;
    if (converged || best.point.x.size() == 0 || found.point.value < best.point.value) {
      best = std::move(found);
    }
    if (converged) break;
  }
  return best;
}

void AppendWarnings(std::vector<std::string>& to, std::vector<std::string> from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

// Covariates are reported as fixed, as lavaan does.
void HideCovariates(const ParameterTable& table, std::vector<ParameterEstimate>& estimates) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (std::size_t r = 0; r < estimates.size(); ++r) {
    if (!table.rows[r].exogenous || table.rows[r].free > 0) continue;
    ParameterEstimate& e = estimates[r];
    e.standard_error = 0;
    e.z = e.p_value = nan;
    e.ci_lower = e.ci_upper = e.estimate;
  }
}

int CountHidden(const ParameterTable& table) {
  return static_cast<int>(
      std::count_if(table.rows.begin(), table.rows.end(),
                    [](const Parameter& row) { return row.exogenous && row.free == 0; }));
}

SemFit Describe(const ParameterTable& table, const ParameterTable& freed,
                const OracleFitInput& input, const SemObjective& objective,
                const ModelExpressions& expressions, const OracleOptimum& optimum,
                double confidence_level) {
  const RamModel& model = objective.model;
  const Point& at = optimum.point;
  SemFit fit;
  fit.stop = optimum.failure.stop;
  fit.converged = fit.stop == StopReason::kConverged;
  fit.optimizer = "damped Fisher scoring over the likelihood oracle";
  fit.iterations = optimum.steps;
  fit.max_scaled_gradient = at.scaled_gradient;
  if (!fit.converged) {
    fit.warnings.push_back(
        fmt::format("the optimiser did not converge: {}", optimum.failure.words));
  }
  double total = 0;
  for (double n : input.n) total += n;
  const bool examined = at.information.rows() > 0 || model.num_parameters == 0;
  ParameterCovariance covariance;
  covariance.covariance = MatrixXd::Constant(model.num_parameters, model.num_parameters,
                                             std::numeric_limits<double>::quiet_NaN());
  if (examined) {
    covariance = InvertInformation(at.information, at.tangent, total);
    AppendWarnings(fit.warnings, IdentificationWarnings(freed, model, covariance));
    if (!fit.converged || !covariance.positive_definite) {
      const std::vector<std::string> drift = DriftWarnings(freed, model, at.x);
      if (!drift.empty()) {
        fit.converged = false;
        fit.stop = StopReason::kRanAway;
      }
      AppendWarnings(fit.warnings, drift);
    }
  }
  fit.vcov = FreeCovariance(table, model, covariance.covariance);
  fit.estimates =
      DescribeEstimates(freed, model, expressions, at.x, covariance.covariance, confidence_level);
  HideCovariates(table, fit.estimates);
  AddImplied(model, at.x, fit);
  const double logl =
      -at.value * total - CovariateLogLikelihood(table, input.n, fit.implied_covariance);
  const int num_parameters = model.num_parameters - at.tangent.rank - CountHidden(table);
  fit.fit_measures = LikelihoodMeasures(table, total, logl, num_parameters);
  AppendWarnings(fit.warnings, SolutionWarnings(freed, model, at.x));
  return fit;
}

}  // namespace

int OracleRows(const ParameterTable& table) {
  const ParameterTable freed = FreeCovariates(table);
  const Index p = static_cast<Index>(table.observed.size());
  OracleFitInput any;
  any.n.assign(table.groups.size(), 1);
  any.scale = {VectorXd::Zero(p), VectorXd::Ones(p)};
  return 1 + BuildRamModel(freed, AssumedMoments(any)).num_parameters;
}

OracleFit FitSemFromOracle(const ParameterTable& table, const OracleFitInput& input,
                           const OracleFitOptions& options, Progress& progress) {
  const ParameterTable freed = FreeCovariates(table);
  const std::vector<GroupMoments> assumed = AssumedMoments(input);
  const ScaledModel rough(freed, assumed);
  CheckRows(table, input.n, CountParameters(rough.model, ModelExpressions(freed, rough.model)));
  Questions questions(rough.model, input, options, progress);
  // From here on nothing depends on the bounds.
  const ScaledModel scaled(freed, LearnScale(freed, rough.objective(), assumed, questions));
  const RamModel& model = scaled.model;
  const SemObjective objective = scaled.objective();
  const ModelExpressions expressions(freed, model);
  questions.Use(model);
  const OracleOptimum optimum = Optimize(freed, objective, expressions, questions);
  OracleFit out;
  out.fit =
      Describe(table, freed, input, objective, expressions, optimum, options.confidence_level);
  out.usage = questions.Usage(optimum.point.x);
  return out;
}

}  // namespace partita::stats
