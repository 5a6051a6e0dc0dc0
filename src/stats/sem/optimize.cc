#include "stats/sem/optimize.h"

#include <fmt/format.h>

#include <Eigen/QR>
#include <cmath>
#include <limits>
#include <nlopt.hpp>
#include <vector>

#include "stats/sem/information.h"

namespace partita::stats {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

// ---------- SLSQP

// NLopt's line search wants a finite value where Sigma is not positive definite.
constexpr double kFarAway = 1e10;

struct SlsqpProblem {
  const SemObjective& objective;
  const ModelExpressions& expressions;
  const VectorXd& constraint_scale;
  Progress& progress;
  int evaluations = 0;
};

VectorXd AsVector(const double* values, Index size) {
  return Eigen::Map<const VectorXd>(values, size);
}

double SlsqpObjective(const std::vector<double>& x, std::vector<double>& gradient, void* data) {
  auto& problem = *static_cast<SlsqpProblem*>(data);
  problem.progress.CheckCancelled();
  ++problem.evaluations;
  const VectorXd at = AsVector(x.data(), static_cast<Index>(x.size()));
  if (gradient.empty()) return std::min(Discrepancy(problem.objective, at), kFarAway);
  VectorXd slope;
  const double value = DiscrepancyWithGradient(problem.objective, at, slope);
  if (!std::isfinite(value)) {
    std::fill(gradient.begin(), gradient.end(), 0);
    return kFarAway;
  }
  std::copy(slope.begin(), slope.end(), gradient.begin());
  return value;
}

void SlsqpConstraints(unsigned m, double* result, unsigned n, const double* x, double* gradient,
                      void* data) {
  const auto& problem = *static_cast<SlsqpProblem*>(data);
  const ExpressionValues at = problem.expressions.Constraints(AsVector(x, n));
  Eigen::Map<VectorXd>(result, m) = at.values.cwiseProduct(problem.constraint_scale);
  if (gradient == nullptr) return;
  Eigen::Map<Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>(
      gradient, m, n) = problem.constraint_scale.asDiagonal() * at.jacobian;
}

// Moves x close to the minimum; keeps the start if SLSQP fails altogether.
int RunSlsqp(const SemObjective& objective, const ModelExpressions& expressions,
             int max_evaluations, Progress& progress, VectorXd& x) {
  const ExpressionValues constraints = expressions.Constraints(x);
  VectorXd scale(constraints.values.size());
  for (Index i = 0; i < scale.size(); ++i) {
    const double norm = constraints.jacobian.row(i).norm();
    scale[i] = norm > 0 && std::isfinite(norm) ? 1 / norm : 1;
  }
  SlsqpProblem problem{objective, expressions, scale, progress};
  nlopt::opt slsqp(nlopt::LD_SLSQP, static_cast<unsigned>(x.size()));
  slsqp.set_min_objective(SlsqpObjective, &problem);
  if (scale.size() > 0) {
    slsqp.add_equality_mconstraint(
        SlsqpConstraints, &problem,
        std::vector<double>(static_cast<std::size_t>(scale.size()), 1e-8));
  }
  slsqp.set_ftol_rel(1e-7);
  slsqp.set_ftol_abs(1e-9);
  slsqp.set_maxeval(max_evaluations);
  std::vector<double> point(x.begin(), x.end());
  double value = 0;
  try {
    slsqp.optimize(point, value);
  } catch (const nlopt::roundoff_limited&) {  // the point is as good as SLSQP can make it
  } catch (const std::runtime_error&) {
    // Scoring goes on from where it stopped. (NLopt turns a cancellation into its own exception;
    // the scoring loop asks again.)
  }
  const VectorXd reached = AsVector(point.data(), x.size());
  if (reached.allFinite() && std::isfinite(Discrepancy(objective, reached))) x = reached;
  return problem.evaluations;
}

// ---------- Scoring

// Everything known about one iterate.
struct Iterate {
  VectorXd x;
  double value = 0;
  VectorXd gradient;
  ExpressionValues constraints;
  Tangent tangent;
  VectorXd projected;  // gradient on the tangent space
  double scaled_gradient = 0;
  double infeasibility = 0;  // largest distance to a constraint, in units of x
};

double ScaledGradient(const VectorXd& projected, const MatrixXd& information) {
  double largest = 0;
  for (Index i = 0; i < projected.size(); ++i) {
    const double root = std::sqrt(std::max(information(i, i), 0.0));
    largest = std::max(largest, std::abs(projected[i]) / (root > 0 ? root : 1));
  }
  return largest;
}

Iterate Examine(const SemObjective& objective, const ModelExpressions& expressions, VectorXd x) {
  Iterate at;
  at.value = DiscrepancyWithGradient(objective, x, at.gradient);
  at.constraints = expressions.Constraints(x);
  at.infeasibility = Infeasibility(at.constraints);
  at.x = std::move(x);
  return at;
}

bool Usable(const Iterate& at) {
  return std::isfinite(at.value) && std::isfinite(at.infeasibility) &&
         at.constraints.jacobian.allFinite();
}

// Positive definite on the tangent space: then a Newton step goes downhill.
bool PositiveDefinite(const MatrixXd& projected) {
  if (projected.rows() == 0) return false;
  const Eigen::LLT<MatrixXd> llt(projected);
  return llt.info() == Eigen::Success && llt.matrixLLT().diagonal().minCoeff() > 0;
}

// Step to the minimum of the local quadratic on the linearised constraints.
VectorXd ScoringStep(const SemObjective& objective, Iterate& at) {
  at.tangent = TangentSpace(at.constraints.jacobian, at.x.size());
  const MatrixXd& z = at.tangent.basis;
  at.projected = z.transpose() * at.gradient;
  const MatrixXd expected = ExpectedInformation(objective, at.x);
  MatrixXd curvature = expected;
  MatrixXd on_tangent = z.transpose() * expected * z;
  at.scaled_gradient = ScaledGradient(at.projected, on_tangent);
  if (at.scaled_gradient < 1e-2) {
    const MatrixXd observed = ObservedInformation(objective, at.x);
    const MatrixXd newton = z.transpose() * observed * z;
    if (PositiveDefinite(newton)) {
      curvature = observed;
      on_tangent = newton;
    }
  }
  VectorXd feasible = VectorXd::Zero(at.x.size());
  if (at.constraints.values.size() > 0) {
    feasible =
        at.constraints.jacobian.completeOrthogonalDecomposition().solve(-at.constraints.values);
  }
  const VectorXd right = -z.transpose() * (at.gradient + curvature * feasible);
  return feasible + z * SolveSemidefinite(on_tangent, right);
}

// Merit: value plus a penalty for leaving the constraints.
double Merit(const Iterate& at, double penalty) { return at.value + penalty * at.infeasibility; }

// A direction along the constraints in which the likelihood grows although its gradient is zero.
// (The curvature of nonlinear constraints is left out, so they are not judged.)
bool IsSaddle(const SemObjective& objective, const Iterate& at) {
  const MatrixXd& z = at.tangent.basis;
  if (at.constraints.values.size() > 0 || z.cols() == 0) return false;
  const MatrixXd observed = z.transpose() * ObservedInformation(objective, at.x) * z;
  return SmallestScaledEigenvalue(observed, ExpectedInformation(objective, at.x)) < -1e-6;
}

// Halves the step until the merit falls. False: no step helps.
bool LineSearch(const SemObjective& objective, const ModelExpressions& expressions,
                const VectorXd& step, const Iterate& from, Iterate& to) {
  // Larger than any multiplier, so that feasibility is never traded for likelihood.
  const double penalty = 10 * (1 + from.gradient.norm());
  const double before = Merit(from, penalty);
  const double rounding = 1e-14 * (1 + std::abs(before));
  double fraction = 1;
  for (int halving = 0; halving < 40; ++halving, fraction /= 2) {
    to = Examine(objective, expressions, from.x + fraction * step);
    if (Usable(to) && Merit(to, penalty) <= before + rounding) return true;
  }
  return false;
}

void Explain(const Iterate& at, bool line_search_failed, int max_iterations, Optimum& best) {
  if (at.infeasibility > 1e-6) {
    best.stop = StopReason::kConstraints;
    best.reason = StopReasonText(best.stop);
  } else if (line_search_failed) {
    best.stop = StopReason::kNoBetterPoint;
    best.reason = fmt::format(
        "the line search found no better point although the scaled gradient is "
        "still {:.1e}; the likelihood may be flat or unbounded there",
        at.scaled_gradient);
  } else {
    best.stop = StopReason::kLimit;
    best.reason =
        fmt::format("the iteration limit of {} was reached with a scaled gradient of {:.1e}",
                    max_iterations, at.scaled_gradient);
  }
}

}  // namespace

Optimum Minimize(const SemObjective& objective, const ModelExpressions& expressions,
                 const VectorXd& start, const OptimizeOptions& options, Progress& progress) {
  Optimum best;
  best.x = start;
  best.value = Discrepancy(objective, start);
  if (!std::isfinite(best.value)) {
    best.stop = StopReason::kStartsOutside;
    best.reason = StopReasonText(best.stop);
    return best;
  }
  if (start.size() == 0) {
    best.converged = true;
    return best;
  }
  VectorXd x = start;
  if (options.slsqp_first) {
    best.iterations = RunSlsqp(objective, expressions, options.max_iterations, progress, x);
  }
  const int limit = best.iterations + options.max_iterations;
  Iterate at = Examine(objective, expressions, x);
  bool stuck = !Usable(at);
  while (!stuck) {
    progress.CheckCancelled();
    const VectorXd step = ScoringStep(objective, at);
    if (at.infeasibility < 1e-12 && at.scaled_gradient < options.target) break;
    if (best.iterations >= limit) break;
    progress.Step(static_cast<uint64_t>(++best.iterations), static_cast<uint64_t>(limit));
    Iterate next;
    stuck = !LineSearch(objective, expressions, step, at, next);
    if (stuck) break;
    // Rounding can hide the last descent: a step too small to matter is the last one.
    stuck = step.cwiseAbs().maxCoeff() < 1e-13 * (1 + at.x.cwiseAbs().maxCoeff());
    at = std::move(next);
    if (stuck) ScoringStep(objective, at);
  }
  best.x = at.x;
  best.value = at.value;
  best.scaled_gradient = at.scaled_gradient;
  best.converged = Usable(at) && at.infeasibility < 1e-8 && at.scaled_gradient < options.acceptable;
  if (!best.converged) {
    Explain(at, stuck, options.max_iterations, best);
  } else if (IsSaddle(objective, at)) {
    best.converged = false;
    best.stop = StopReason::kSaddlePoint;
    best.reason = StopReasonText(best.stop);
  }
  return best;
}

}  // namespace partita::stats
