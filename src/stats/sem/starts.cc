#include "stats/sem/starts.h"

#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <Eigen/QR>
#include <algorithm>
#include <cmath>

namespace partita::stats {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

struct Loading {
  Index indicator = 0;
  double value = 0;
};

// Loadings of the indicators relative to the reference indicator, which comes first: instrumental
// variables are all the other indicators (FABIN3). Bounded so that no indicator is explained beyond
// its variance by a factor that explains a tenth of the reference (as lavaan does).
std::vector<Loading> Fabin(const MatrixXd& s, const std::vector<Index>& indicators) {
  const Index reference = indicators.front();
  std::vector<Loading> loadings{{reference, 1}};
  for (std::size_t i = 1; i < indicators.size(); ++i) {
    std::vector<Index> instruments;
    for (std::size_t k = 1; k < indicators.size(); ++k) {
      if (k != i) instruments.push_back(indicators[k]);
    }
    const MatrixXd s33 = s(instruments, instruments);
    const VectorXd s31 = s(instruments, std::vector<Index>{reference});
    const VectorXd s32 = s(instruments, std::vector<Index>{indicators[i]});
    const VectorXd weights = s33.ldlt().solve(s31);
    const double bound =
        std::sqrt(s(indicators[i], indicators[i]) / (0.1 * s(reference, reference)));
    double loading = s32.dot(weights) / s31.dot(weights);
    if (!std::isfinite(loading)) loading = 1;
    loadings.push_back({indicators[i], std::clamp(loading, -bound, bound)});
  }
  return loadings;
}

// Variance of the factor in the metric of its reference indicator, from the reference's
// covariances.
double FactorVariance(const MatrixXd& s, const std::vector<Loading>& loadings) {
  const Index reference = loadings.front().indicator;
  double up = 0, down = 0;
  for (std::size_t i = 1; i < loadings.size(); ++i) {
    up += s(reference, loadings[i].indicator) * loadings[i].value;
    down += loadings[i].value * loadings[i].value;
  }
  const double variance = down > 0 ? up / down : 0;
  return std::clamp(variance, 0.1 * s(reference, reference), 0.9 * s(reference, reference));
}

class GroupStarter {
 public:
  GroupStarter(const RamModel& model, std::size_t group, const GroupSample& sample,
               StartMethod method)
      : model_(model), group_(model.groups[group]), sample_(sample), method_(method) {}

  std::vector<double> Run() {
    values_.assign(group_.cells.size(), 0);
    for (std::size_t c = 0; c < group_.cells.size(); ++c) values_[c] = Plain(group_.cells[c]);
    if (method_ == StartMethod::kFabin) {
      for (Index f = model_.num_observed; f < model_.num_variables; ++f) StartFactor(f);
      for (Index y = 0; y < model_.num_observed; ++y) StartEquation(y);
    }
    return values_;
  }

 private:
  bool Observed(Index i) const { return i < model_.num_observed; }

  double Plain(const RamCell& cell) const {
    const double latent_variance = method_ == StartMethod::kCautious ? 0.05 : 0.5;
    if (cell.matrix == RamMatrix::kMean) return 0;
    if (cell.matrix == RamMatrix::kRegression) {
      const bool loading = Observed(cell.row) && !Observed(cell.column);
      return loading ? (IsReversed(cell) ? -0.7 : 0.7) : 0;
    }
    if (cell.row != cell.column) return 0;
    return Observed(cell.row) ? 0.5 * sample_.covariance(cell.row, cell.row) : latent_variance;
  }

  bool IsReversed(const RamCell& loading) const {
    const int reference =
        ReferenceIndicator(group_, static_cast<int>(model_.num_observed), loading.column);
    if (method_ == StartMethod::kCautious || reference < 0 || reference == loading.row)
      return false;
    const MatrixXd& s = sample_.covariance;
    const double covariance = s(loading.row, reference);
    const double error =
        std::sqrt(s(loading.row, loading.row) * s(reference, reference) / sample_.n);
    const double sign = group_.regression(reference, loading.column) < 0 ? -1 : 1;
    return sign * covariance < -2 * error;
  }

  const RamCell* FindCell(RamMatrix matrix, Index row, Index column, std::size_t& at) const {
    for (at = 0; at < group_.cells.size(); ++at) {
      const RamCell& cell = group_.cells[at];
      if (cell.matrix == matrix && cell.row == row && cell.column == column) return &cell;
    }
    return nullptr;
  }

  // Observed indicators of a factor, the reference (fixed loading, else the first) in front; empty
  // if there are fewer than three or some are latent.
  std::vector<Index> Indicators(Index factor) const {
    std::vector<Index> all;
    for (Index i = 0; i < model_.num_variables; ++i) {
      std::size_t at = 0;
      const bool fixed = group_.regression(i, factor) != 0;
      if (!fixed && FindCell(RamMatrix::kRegression, i, factor, at) == nullptr) continue;
      if (!Observed(i)) continue;  // a regression of a factor, or a factor of factors
      fixed ? static_cast<void>(all.insert(all.begin(), i)) : all.push_back(i);
    }
    return all.size() < 3 ? std::vector<Index>{} : all;
  }

  void StartFactor(Index factor) {
    const std::vector<Index> indicators = Indicators(factor);
    if (indicators.empty()) return;
    const std::vector<Loading> loadings = Fabin(sample_.covariance, indicators);
    const double variance = FactorVariance(sample_.covariance, loadings);
    const double fixed_loading = group_.regression(indicators.front(), factor);
    const double fixed_variance = group_.covariance(factor, factor);
    // Scale of the factor: through its fixed loading, or else through its (fixed) variance.
    const double scale = fixed_loading != 0
                             ? fixed_loading
                             : std::sqrt(variance / (fixed_variance > 0 ? fixed_variance : 1));
    std::size_t at = 0;
    for (const Loading& loading : loadings) {
      if (FindCell(RamMatrix::kRegression, loading.indicator, factor, at)) {
        values_[at] = loading.value * scale;
      }
    }
    if (FindCell(RamMatrix::kCovariance, factor, factor, at)) {
      values_[at] = variance / (scale * scale);
    }
  }

  // Equations among observed variables only: least squares, and the residual variance.
  void StartEquation(Index y) {
    std::vector<Index> predictors;
    for (const RamCell& cell : group_.cells) {
      if (cell.matrix != RamMatrix::kRegression || cell.row != y) continue;
      if (!Observed(cell.column)) return;
      predictors.push_back(cell.column);
    }
    if (predictors.empty() || !group_.regression.row(y).isZero(0)) return;
    const MatrixXd& s = sample_.covariance;
    const MatrixXd sxx = s(predictors, predictors);
    const VectorXd sxy = s(predictors, std::vector<Index>{y});
    const VectorXd beta = sxx.ldlt().solve(sxy);
    if (!beta.allFinite()) return;
    std::size_t at = 0;
    for (std::size_t i = 0; i < predictors.size(); ++i) {
      FindCell(RamMatrix::kRegression, y, predictors[i], at);
      values_[at] = beta[static_cast<Index>(i)];
    }
    const double residual = s(y, y) - beta.dot(sxy);
    if (FindCell(RamMatrix::kCovariance, y, y, at) && residual > 0.01 * s(y, y)) {
      values_[at] = residual;
    }
  }

  const RamModel& model_;
  const RamGroup& group_;
  const GroupSample& sample_;
  StartMethod method_;
  std::vector<double> values_;
};

// A parameter of several cells starts at their mean.
VectorXd AverageCells(const RamModel& model, const std::vector<GroupSample>& samples,
                      StartMethod method) {
  VectorXd sum = VectorXd::Zero(model.num_parameters), count = sum;
  for (std::size_t g = 0; g < model.groups.size(); ++g) {
    const std::vector<double> values = GroupStarter(model, g, samples[g], method).Run();
    for (std::size_t c = 0; c < values.size(); ++c) {
      const RamCell& cell = model.groups[g].cells[c];
      sum[cell.parameter] += values[c] / cell.factor;
      count[cell.parameter] += 1;
    }
  }
  return sum.cwiseQuotient(count.cwiseMax(1));
}

void ApplyUserStarts(const ParameterTable& table, const RamModel& model, VectorXd& x,
                     std::vector<bool>& given) {
  for (std::size_t r = table.rows.size(); r-- > 0;) {  // the first row of a label wins
    const int k = model.row_parameter[r];
    if (k < 0 || !table.rows[r].user_start) continue;
    x[k] = table.rows[r].value / model.parameter_unit[k];
    given[static_cast<std::size_t>(k)] = true;
  }
}

// mu(x) is linear in the mean parameters: solve ybar = mu for them, the rest given.
void StartMeans(const RamModel& model, const std::vector<GroupSample>& samples,
                const std::vector<bool>& given, VectorXd& x) {
  const Index p = model.num_observed;
  const Index rows = p * static_cast<Index>(samples.size());
  std::vector<bool> is_mean(static_cast<std::size_t>(model.num_parameters), false);
  for (const RamGroup& group : model.groups) {
    for (const RamCell& cell : group.cells) {
      const std::size_t k = static_cast<std::size_t>(cell.parameter);
      if (cell.matrix == RamMatrix::kMean && !given[k]) is_mean[k] = true;
    }
  }
  std::vector<Index> unknown;
  for (std::size_t k = 0; k < is_mean.size(); ++k) {
    if (is_mean[k]) unknown.push_back(static_cast<Index>(k));
  }
  if (unknown.empty()) return;

  MatrixXd design = MatrixXd::Zero(rows, model.num_parameters);
  VectorXd target(rows);
  for (std::size_t g = 0; g < samples.size(); ++g) {
    const Index at = p * static_cast<Index>(g);
    const RamMatrices filled = FillMatrices(model.groups[g], x);
    const MatrixXd effects =
        (MatrixXd::Identity(model.num_variables, model.num_variables) - filled.regression)
            .partialPivLu()
            .inverse()
            .topRows(p);
    VectorXd known = filled.mean;
    for (const RamCell& cell : model.groups[g].cells) {
      const bool mine = is_mean[static_cast<std::size_t>(cell.parameter)];
      if (cell.matrix != RamMatrix::kMean || !mine) continue;
      design.block(at, cell.parameter, p, 1) += cell.factor * effects.col(cell.row);
      known[cell.row] = 0;
    }
    target.segment(at, p) = samples[g].mean - effects * known;
  }
  const MatrixXd reduced = design(Eigen::all, unknown);
  const VectorXd solution = reduced.completeOrthogonalDecomposition().solve(target);
  if (!solution.allFinite()) return;
  for (std::size_t i = 0; i < unknown.size(); ++i) x[unknown[i]] = solution[static_cast<Index>(i)];
}

}  // namespace

VectorXd StartValues(const ParameterTable& table, const RamModel& model,
                     const std::vector<GroupSample>& samples, StartMethod method) {
  VectorXd x = AverageCells(model, samples, method);
  std::vector<bool> given(static_cast<std::size_t>(model.num_parameters), false);
  if (method != StartMethod::kCautious) ApplyUserStarts(table, model, x, given);
  if (model.meanstructure) StartMeans(model, samples, given, x);
  return x;
}

}  // namespace partita::stats
