#include "stats/sem/objective.h"

#include <Eigen/Cholesky>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "stats/sem/propagate.h"

namespace partita::stats {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// One group at one x, whitened by the Cholesky factor L of Sigma.
struct GroupState {
  Propagated all;
  Eigen::LLT<MatrixXd> llt;  // of Sigma
  VectorXd delta;            // L^-1 (ybar - mu)
  MatrixXd whitened;         // T = L^-1 (S + (ybar-mu)(ybar-mu)') L^-T
  double value = kInfinity;  // bracket of F, without the 1/2
};

std::vector<int> ObservedOf(const SemObjective& objective, std::size_t g) {
  if (!objective.samples[g].observed.empty()) return objective.samples[g].observed;
  std::vector<int> all(static_cast<std::size_t>(objective.model.num_observed));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

GroupState EvaluateGroup(const SemObjective& objective, std::size_t g, const VectorXd& x) {
  const GroupSample& sample = objective.samples[g];
  const std::vector<int> observed = ObservedOf(objective, g);
  const auto p = static_cast<Eigen::Index>(observed.size());
  GroupState state;
  state.all = Propagate(objective.model.groups[sample.group], x);
  if (!state.all.covariance.allFinite() || !state.all.mean.allFinite()) return state;
  state.llt.compute(state.all.covariance(observed, observed));
  const VectorXd pivots = state.llt.matrixLLT().diagonal();
  if (state.llt.info() != Eigen::Success || !(pivots.minCoeff() > 0)) return state;

  state.whitened = sample.covariance;
  state.llt.matrixL().solveInPlace(state.whitened);
  state.whitened.transposeInPlace();
  state.llt.matrixL().solveInPlace(state.whitened);
  state.value = 2 * pivots.array().log().sum() - sample.log_det + state.whitened.trace() -
                static_cast<double>(p);
  state.delta = VectorXd::Zero(p);
  if (objective.model.meanstructure) {
    state.delta = sample.mean - state.all.mean(observed);
    state.llt.matrixL().solveInPlace(state.delta);
    state.value += state.delta.squaredNorm();
    state.whitened.noalias() += state.delta * state.delta.transpose();
  }
  if (!std::isfinite(state.value)) state.value = kInfinity;
  return state;
}

// Z = (W, C): left and right factors of every dSigma, whitened; and their Gram matrices.
struct Factors {
  MatrixXd gram;      // Z'Z
  MatrixXd weighted;  // Z'TZ
  VectorXd residual;  // Z'delta
};

Factors BuildFactors(const SemObjective& objective, std::size_t g, const GroupState& state) {
  MatrixXd z = DirectionColumns(state.all, objective.model.num_observed)(ObservedOf(objective, g),
                                                                         Eigen::all);
  state.llt.matrixL().solveInPlace(z);
  Factors factors;
  factors.gram.noalias() = z.transpose() * z;
  const MatrixXd tz = state.whitened * z;
  factors.weighted.noalias() = z.transpose() * tz;
  factors.residual.noalias() = z.transpose() * state.delta;
  return factors;
}

// tr(V_k V_l), V the whitened derivatives of Sigma.
double TraceProduct(const CellDirection& k, const CellDirection& l, const MatrixXd& g) {
  return 2 * k.half * l.half *
         (g(k.left, l.left) * g(k.right, l.right) + g(k.left, l.right) * g(k.right, l.left));
}

// tr(V_k V_l T).
double WeightedTrace(const CellDirection& k, const CellDirection& l, const Factors& f) {
  return k.half * l.half *
         (f.gram(k.right, l.left) * f.weighted(l.right, k.left) +
          f.gram(k.right, l.right) * f.weighted(l.left, k.left) +
          f.gram(k.left, l.left) * f.weighted(l.right, k.right) +
          f.gram(k.left, l.right) * f.weighted(l.left, k.right));
}

double ExpectedPair(const CellDirection& k, const CellDirection& l, const Factors& f) {
  return 0.5 * TraceProduct(k, l, f.gram) + k.pull * l.pull * f.gram(k.left, l.left);
}

// delta' V_k u_l, u_l = pull_l z_left(l).
double ResidualTerm(const CellDirection& k, const CellDirection& l, const Factors& f) {
  return k.half * l.pull *
         (f.residual[k.left] * f.gram(k.right, l.left) +
          f.residual[k.right] * f.gram(k.left, l.left));
}

// 1/2 tr(Omega d2Sigma) - delta' d2mu for a pair whose first cell is a regression.
double CurvatureOfModel(const RamCell& a, const RamCell& b, const Propagated& all,
                        const Factors& f) {
  const Eigen::Index v = all.effects.rows();
  const auto omega = [&f](Eigen::Index i, Eigen::Index j) {
    return f.gram(i, j) - f.weighted(i, j);
  };
  const double down = all.effects(a.column, b.row);
  switch (b.matrix) {
    case RamMatrix::kMean:
      return -down * f.residual[a.row];
    case RamMatrix::kCovariance: {
      const double half = b.row == b.column ? 0.5 : 1.0;
      return half * (down * omega(a.row, b.column) +
                     all.effects(a.column, b.column) * omega(a.row, b.row));
    }
    case RamMatrix::kRegression: {
      const double up = all.effects(b.column, a.row);
      return down * omega(a.row, v + b.column) + up * omega(b.row, v + a.column) +
             all.covariance(a.column, b.column) * omega(a.row, b.row) -
             down * all.mean[b.column] * f.residual[a.row] -
             up * all.mean[a.column] * f.residual[b.row];
    }
  }
  throw Error(ErrorCode::kInternal, "unknown RAM matrix");
}

double ObservedPair(const RamCell& a, const RamCell& b, const CellDirection& k,
                    const CellDirection& l, const Propagated& all, const Factors& f) {
  double sum = -0.5 * TraceProduct(k, l, f.gram) + WeightedTrace(k, l, f) +
               k.pull * l.pull * f.gram(k.left, l.left) + ResidualTerm(k, l, f) +
               ResidualTerm(l, k, f);
  if (a.matrix == RamMatrix::kRegression) {
    sum += CurvatureOfModel(a, b, all, f);
  } else if (b.matrix == RamMatrix::kRegression) {
    sum += CurvatureOfModel(b, a, all, f);
  }
  return sum;
}

template <typename Pair>
MatrixXd SumOverPairs(const SemObjective& objective, const VectorXd& x, Pair pair) {
  const RamModel& model = objective.model;
  MatrixXd sum = MatrixXd::Zero(model.num_parameters, model.num_parameters);
  for (std::size_t g = 0; g < objective.samples.size(); ++g) {
    const GroupState state = EvaluateGroup(objective, g, x);
    if (state.value == kInfinity) {
      throw Error(ErrorCode::kInternal, "information asked where Sigma is not positive definite");
    }
    const Factors factors = BuildFactors(objective, g, state);
    const std::vector<RamCell>& cells = model.groups[objective.samples[g].group].cells;
    std::vector<CellDirection> directions;
    for (const RamCell& cell : cells) directions.push_back(DirectionOf(cell, state.all));
    for (std::size_t a = 0; a < cells.size(); ++a) {
      for (std::size_t b = 0; b <= a; ++b) {
        const double entry =
            objective.samples[g].weight * cells[a].factor * cells[b].factor *
            pair(cells[a], cells[b], directions[a], directions[b], state.all, factors);
        sum(cells[a].parameter, cells[b].parameter) += entry;
        if (a != b) sum(cells[b].parameter, cells[a].parameter) += entry;
      }
    }
  }
  return sum;
}

}  // namespace

double Discrepancy(const SemObjective& objective, const VectorXd& x) {
  double sum = 0;
  for (std::size_t g = 0; g < objective.samples.size(); ++g) {
    sum += 0.5 * objective.samples[g].weight * EvaluateGroup(objective, g, x).value;
  }
  return sum;
}

double DiscrepancyWithGradient(const SemObjective& objective, const VectorXd& x,
                               VectorXd& gradient) {
  gradient.setZero(objective.model.num_parameters);
  double sum = 0;
  for (std::size_t g = 0; g < objective.samples.size(); ++g) {
    const GroupState state = EvaluateGroup(objective, g, x);
    if (state.value == kInfinity) return kInfinity;
    const double weight = objective.samples[g].weight;
    sum += 0.5 * weight * state.value;
    const Factors factors = BuildFactors(objective, g, state);
    for (const RamCell& cell : objective.model.groups[objective.samples[g].group].cells) {
      const CellDirection d = DirectionOf(cell, state.all);
      const double slope =
          d.half * (factors.gram(d.left, d.right) - factors.weighted(d.left, d.right)) -
          d.pull * factors.residual[d.left];
      gradient[cell.parameter] += weight * cell.factor * slope;
    }
  }
  return sum;
}

MatrixXd ExpectedInformation(const SemObjective& objective, const VectorXd& x) {
  return SumOverPairs(
      objective, x,
      [](const RamCell&, const RamCell&, const CellDirection& k, const CellDirection& l,
         const Propagated&, const Factors& f) { return ExpectedPair(k, l, f); });
}

MatrixXd ObservedInformation(const SemObjective& objective, const VectorXd& x) {
  return SumOverPairs(
      objective, x,
      [](const RamCell& a, const RamCell& b, const CellDirection& k, const CellDirection& l,
         const Propagated& all, const Factors& f) { return ObservedPair(a, b, k, l, all, f); });
}

std::vector<ImpliedMoments> Imply(const RamModel& model, const VectorXd& x) {
  std::vector<ImpliedMoments> implied;
  for (const RamGroup& group : model.groups) {
    Propagated all = Propagate(group, x);
    implied.push_back({std::move(all.covariance), std::move(all.mean)});
  }
  return implied;
}

}  // namespace partita::stats
