#include "stats/sem/robust.h"

#include <fmt/format.h>

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "stats/sem/constraints.h"
#include "stats/sem/fit_measures.h"
#include "stats/sem/information.h"
#include "stats/sem/linear_form.h"
#include "stats/sem/objective.h"
#include "stats/sem/propagate.h"
#include "stats/sem/solution.h"

namespace partita::stats {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double kNoValue = std::numeric_limits<double>::quiet_NaN();
constexpr Index kBlock = 256;  // rows per rank update

Index ToIndex(std::size_t i) { return static_cast<Index>(i); }

// The centred columns of a group, and what the fixed.x covariates predict of them (zero without
// covariates), as forms of r.
struct ColumnForms {
  std::vector<LinearForm> centred, predicted;
  MatrixXd explained;  // covariance of the predictions
  std::vector<bool> covariate;
};

ColumnForms FormsOf(const ParameterTable& table, const FeatureFrame& frame,
                    const GroupMoments& moments) {
  const Index p = moments.mean.size();
  ColumnForms forms;
  forms.covariate.assign(static_cast<std::size_t>(p), false);
  std::vector<Index> x;
  if (table.fixed_x) {
    for (const std::string& name : ExogenousObserved(table)) {
      const auto found = std::find(table.observed.begin(), table.observed.end(), name);
      forms.covariate[static_cast<std::size_t>(found - table.observed.begin())] = true;
      x.push_back(found - table.observed.begin());
    }
  }
  for (Index i = 0; i < p; ++i) {
    forms.centred.push_back({frame.mean[i] - moments.mean[i], frame.root.row(i).transpose()});
  }
  forms.predicted.assign(static_cast<std::size_t>(p), {0, VectorXd::Zero(p)});
  forms.explained = MatrixXd::Zero(p, p);
  if (x.empty()) return forms;
  const MatrixXd among = moments.covariance(x, x), with = moments.covariance(x, Eigen::all);
  const MatrixXd slopes = among.ldlt().solve(with);
  forms.explained = with.transpose() * slopes;
  for (Index i = 0; i < p; ++i) {
    LinearForm& form = forms.predicted[static_cast<std::size_t>(i)];
    for (Index k = 0; k < ToIndex(x.size()); ++k) {
      const LinearForm& from =
          forms.centred[static_cast<std::size_t>(x[static_cast<std::size_t>(k)])];
      form.constant += slopes(k, i) * from.constant;
      form.linear += slopes(k, i) * from.linear;
    }
  }
  return forms;
}

// Casewise deviations of the moments that count as data (of means, then of variances and
// covariances) as rows of weights of the features, and the expected information about them.
struct SaturatedModel {
  MatrixXd deviations;
  MatrixXd information;
};

SaturatedModel Saturate(const ParameterTable& table, const ColumnForms& forms,
                        const GroupMoments& moments) {
  const Index p = moments.mean.size();
  const MatrixXd precision = moments.covariance.llt().solve(MatrixXd::Identity(p, p));
  std::vector<Index> means;
  std::vector<std::pair<Index, Index>> pairs;
  std::vector<VectorXd> rows;
  const auto covariate = [&](Index i) { return forms.covariate[static_cast<std::size_t>(i)]; };
  for (Index i = 0; i < p && table.meanstructure; ++i) {
    if (covariate(i)) continue;
    means.push_back(i);
    rows.push_back(AsFeatures(forms.centred[static_cast<std::size_t>(i)]) -
                   AsFeatures(forms.predicted[static_cast<std::size_t>(i)]));
  }
  for (Index i = 0; i < p; ++i) {
    for (Index j = i; j < p; ++j) {
      if (covariate(i) && covariate(j)) continue;
      const auto a = static_cast<std::size_t>(i), b = static_cast<std::size_t>(j);
      pairs.emplace_back(i, j);
      rows.push_back(Multiply(forms.centred[a], forms.centred[b]) -
                     Multiply(forms.predicted[a], forms.predicted[b]));
      rows.back()[0] -= moments.covariance(i, j) - forms.explained(i, j);
    }
  }
  SaturatedModel out{MatrixXd(ToIndex(rows.size()), NumFeatures(p)),
                     MatrixXd::Zero(ToIndex(rows.size()), ToIndex(rows.size()))};
  for (std::size_t r = 0; r < rows.size(); ++r) out.deviations.row(ToIndex(r)) = rows[r];
  const Index m = ToIndex(means.size());
  out.information.topLeftCorner(m, m) = precision(means, means);
  for (Index a = 0; a < ToIndex(pairs.size()); ++a) {
    const auto [i, j] = pairs[static_cast<std::size_t>(a)];
    for (Index b = 0; b < ToIndex(pairs.size()); ++b) {
      const auto [k, l] = pairs[static_cast<std::size_t>(b)];
      const double factor = (i == j ? 0.5 : 1.0) * (k == l ? 0.5 : 1.0);
      out.information(m + a, m + b) =
          factor * (precision(i, k) * precision(j, l) + precision(i, l) * precision(j, k));
    }
  }
  return out;
}

// Uncorrelated columns with free variances and means: the information is diagonal.
MatrixXd BaselineForm(const ParameterTable& table, const ColumnForms& forms,
                      const GroupMoments& moments) {
  const Index p = moments.mean.size();
  MatrixXd form = MatrixXd::Zero(NumFeatures(p), NumFeatures(p));
  for (Index i = 0; i < p; ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (forms.covariate[at]) continue;
    const double variance = moments.covariance(i, i);
    if (table.meanstructure) {
      const VectorXd mean = AsFeatures(forms.centred[at]);
      form.noalias() += mean * mean.transpose() / variance;
    }
    VectorXd square = Multiply(forms.centred[at], forms.centred[at]);
    square[0] -= variance;
    form.noalias() += square * square.transpose() / (2 * variance * variance);
  }
  return form;
}

// 1 - (misfit of the model) / (misfit of the baseline), both beyond c df (lavaan's cfi, tli).
double Cfi(double chisq, double df, double baseline, double baseline_df) {
  const double misfit = std::max(chisq - df, 0.0);
  const double worst = std::max({misfit, baseline - baseline_df, 0.0});
  return worst > 0 ? 1 - misfit / worst : 1;
}
double Tli(double chisq, double df, double df_factor, double baseline, double baseline_df,
           double baseline_factor) {
  const double down = (baseline - baseline_factor * baseline_df) * df;
  return df > 0 && down != 0 ? 1 - (chisq - df_factor * df) * baseline_df / down : 1;
}

void AddRmsea(const std::string& suffix, const RmseaInput& input,
              std::map<std::string, double>& m) {
  const Rmsea rmsea = ComputeRmsea(input);
  m["rmsea." + suffix] = rmsea.estimate;
  m["rmsea.ci.lower." + suffix] = rmsea.ci_lower;
  m["rmsea.ci.upper." + suffix] = rmsea.ci_upper;
  m["rmsea.pvalue." + suffix] = rmsea.p_value;
}

// RobustFit::relative_error. doubt: of the meat per row and the parameters of `bread`; own: what is
// subtracted from the saturated trace for the model. A factor of 0 degrees of freedom is none.
double RelativeError(const MatrixXd& bread, const VectorXd& variances, const VectorXd& doubt,
                     const RobustSums& sums, double own, double n,
                     const std::map<std::string, double>& measures) {
  const VectorXd spread = bread.cwiseAbs() * doubt;
  double worst = 0;
  for (Index i = 0; i < spread.size(); ++i) {
    if (variances[i] > 0) worst = std::max(worst, spread[i] * spread[i] / (2 * n * variances[i]));
  }
  if (measures.at("df") > 0) {
    worst = std::max(worst,
                     (sums.trace_doubt + doubt.dot(spread)) / std::abs(sums.saturated_trace - own));
  }
  if (measures.at("baseline.df") > 0) {
    worst = std::max(worst,
                     2 * sums.trace_doubt / std::abs(sums.saturated_trace - sums.baseline_trace));
  }
  return worst;
}

void RequireDigits(double relative_error) {
  if (relative_error <= kMostRobustError) return;
  throw Error(
      ErrorCode::kBadInput,
      "robust standard errors would not be certain to three digits here: the bounds of some "
      "variables in the dictionary are very wide beside their values, or the variables are "
      "almost linearly dependent",
      "write narrower lower and upper bounds, or leave out a variable");
}

}  // namespace

std::map<std::string, double> ScaledMeasures(const SemFit& fit, double num_groups, double trace,
                                             double baseline_trace) {
  const auto& f = fit.fit_measures;
  const double chisq = f.at("chisq"), df = f.at("df"), n = f.at("ntotal");
  const double baseline = f.at("baseline.chisq"), baseline_df = f.at("baseline.df");
  const double c = df > 0 && trace > 0 ? trace / df : kNoValue;
  const double c_baseline =
      baseline_df > 0 && baseline_trace > 0 ? baseline_trace / baseline_df : kNoValue;
  std::map<std::string, double> m;
  m["chisq.scaling.factor"] = c;
  m["chisq.scaled"] = chisq / c;
  m["df.scaled"] = df;
  m["pvalue.scaled"] = ChiSquareTail(chisq / c, df);
  m["baseline.chisq.scaling.factor"] = c_baseline;
  m["baseline.chisq.scaled"] = baseline / c_baseline;
  m["baseline.df.scaled"] = baseline_df;
  m["baseline.pvalue.scaled"] = ChiSquareTail(baseline / c_baseline, baseline_df);
  if (std::isnan(c) || std::isnan(c_baseline)) return m;
  m["cfi.scaled"] = Cfi(chisq / c, df, baseline / c_baseline, baseline_df);
  m["tli.scaled"] = Tli(chisq / c, df, 1, baseline / c_baseline, baseline_df, 1);
  m["cfi.robust"] = Cfi(chisq, c * df, baseline, c_baseline * baseline_df);
  m["tli.robust"] = Tli(chisq, df, c, baseline, baseline_df, c_baseline);
  AddRmsea("scaled", {chisq, chisq, trace, n, num_groups}, m);
  AddRmsea("robust", {chisq / c, chisq, df, n, num_groups, c}, m);
  return m;
}

RamModel PublicModel(const ParameterTable& table, const StatisticsScale& scale) {
  const VectorXd deviation = scale.half_width / 3;
  const GroupMoments assumed{1, scale.centre, deviation.cwiseAbs2().asDiagonal()};
  return BuildRamModel(table, std::vector<GroupMoments>(table.groups.size(), assumed));
}

ScorePoint PointOf(const ParameterTable& table, const StatisticsScale& scale, const SemFit& fit,
                   const std::vector<GroupMoments>& moments) {
  ScorePoint point;
  point.model = PublicModel(table, scale);
  point.x = PointFromRows(point.model, fit.estimates);
  if (!table.meanstructure) {
    for (const GroupMoments& group : moments) point.mean.push_back(group.mean);
  }
  return point;
}

FeatureFrame FrameOf(const ScorePoint& point, std::size_t group) {
  const RamModel& model = point.model;
  const Index p = model.num_observed;
  const Propagated all = Propagate(model.groups[group], point.x);
  const VectorXd unit = model.variable_unit.head(p);
  const Eigen::LLT<MatrixXd> llt(all.covariance.topLeftCorner(p, p));
  const VectorXd pivots = llt.matrixLLT().diagonal();
  if (!all.covariance.allFinite() || llt.info() != Eigen::Success || !(pivots.minCoeff() > 0)) {
    throw Error(ErrorCode::kBadInput,
                "robust standard errors need a positive definite model-implied covariance matrix",
                "check the warnings of the fit");
  }
  FeatureFrame frame;
  frame.root = unit.asDiagonal() * MatrixXd(llt.matrixL());
  frame.mean =
      model.meanstructure ? VectorXd(unit.cwiseProduct(all.mean.head(p))) : point.mean[group];
  return frame;
}

FeatureProducts::FeatureProducts(FeatureFrame frame) : frame_(std::move(frame)) {
  const Index d = NumFeatures(frame_.mean.size());
  pending_ = MatrixXd(d, kBlock);
  products_ = MatrixXd::Zero(d, d);
}

VectorXd FeatureProducts::Features(const VectorXd& row) const {
  const VectorXd r = frame_.root.triangularView<Eigen::Lower>().solve(row - frame_.mean);
  const Index p = r.size();
  VectorXd t(NumFeatures(p));
  t[0] = 1;
  t.segment(1, p) = r;
  Index at = 1 + p;
  for (Index i = 0; i < p; ++i) {
    t.segment(at, p - i) = r[i] * r.tail(p - i);
    at += p - i;
  }
  return t;
}

void FeatureProducts::AddUnit(const VectorXd& features) {
  if (num_pending_ == kBlock) Flush();
  pending_.col(num_pending_++) = features;
}

void FeatureProducts::Flush() {
  if (num_pending_ == 0) return;
  products_.selfadjointView<Eigen::Lower>().rankUpdate(pending_.leftCols(num_pending_));
  num_pending_ = 0;
}

void FeatureProducts::AddRow(const VectorXd& row, double weight) {
  AddUnit(std::sqrt(weight) * Features(row));
}

void FeatureProducts::AddClusteredRow(const VectorXd& row, std::uint64_t cluster, double weight) {
  const auto [entry, added] = clusters_.try_emplace(cluster);
  if (added) entry->second = VectorXd::Zero(products_.rows());
  entry->second += weight * Features(row);
}

MatrixXd FeatureProducts::Products() {
  Flush();
  MatrixXd lower = products_;
  for (const auto& [cluster, features] : clusters_) {
    lower.selfadjointView<Eigen::Lower>().rankUpdate(features);
  }
  return lower.selfadjointView<Eigen::Lower>();
}

MatrixXd ScoreMap(const ScorePoint& point, std::size_t group) {
  const RamModel& model = point.model;
  const Index p = model.num_observed;
  const Propagated all = Propagate(model.groups[group], point.x);
  MatrixXd z = DirectionColumns(all, p);
  Eigen::LLT<MatrixXd>(all.covariance.topLeftCorner(p, p)).matrixL().solveInPlace(z);
  MatrixXd map = MatrixXd::Zero(model.num_parameters, NumFeatures(p));
  for (const RamCell& cell : model.groups[group].cells) {
    const CellDirection d = DirectionOf(cell, all);
    const LinearForm left{0, z.col(d.left)}, right{0, z.col(d.right)};
    VectorXd score = d.half * Multiply(left, right) + d.pull * AsFeatures(left);
    score[0] -= d.half * left.linear.dot(right.linear);
    map.row(cell.parameter) += cell.factor * score;
  }
  return map;
}

VectorXd UpperTriangle(const MatrixXd& symmetric) {
  const Index n = symmetric.rows();
  VectorXd out(n * (n + 1) / 2);
  Index at = 0;
  for (Index i = 0; i < n; ++i) {
    out.segment(at, n - i) = symmetric.col(i).tail(n - i);
    at += n - i;
  }
  return out;
}

VectorXd UpperWeights(const MatrixXd& symmetric) {
  VectorXd out = 2 * UpperTriangle(symmetric);
  Index at = 0;
  for (Index i = 0; i < symmetric.rows(); ++i) {
    out[at] /= 2;
    at += symmetric.rows() - i;
  }
  return out;
}

double ClusterFactor(std::size_t num_clusters) {
  if (num_clusters == 0) return 1;
  if (num_clusters == 1) {
    throw Error(ErrorCode::kBadInput,
                "robust standard errors for clusters need at least two clusters in every group");
  }
  const double clusters = static_cast<double>(num_clusters);
  return clusters / (clusters - 1);
}

TraceForms TraceFormsOf(const ParameterTable& table, const FeatureFrame& frame,
                        const GroupMoments& moments) {
  const ColumnForms forms = FormsOf(table, frame, moments);
  const SaturatedModel saturated = Saturate(table, forms, moments);
  return {saturated.deviations.transpose() * saturated.information * saturated.deviations,
          BaselineForm(table, forms, moments)};
}

RobustFit MakeRobust(const ParameterTable& table, const std::vector<GroupMoments>& moments,
                     const SemFit& fit, const RamModel& public_model, const RobustSums& sums,
                     double confidence_level) {
  const RamModel model = BuildRamModel(table, moments);
  const std::vector<GroupSample> samples =
      ScaleMoments(moments, model.variable_unit.head(model.num_observed));
  const VectorXd x = PointFromRows(model, fit.estimates);
  const ModelExpressions expressions(table, model);
  double n = 0;
  for (const GroupMoments& group : moments) n += group.n;
  const Tangent tangent = TangentSpace(expressions.Constraints(x).jacobian, model.num_parameters);
  const ParameterCovariance bread =
      InvertInformation(ObservedInformation({model, samples}, x), tangent, 1);
  const VectorXd ratio = model.parameter_unit.cwiseQuotient(public_model.parameter_unit);
  const MatrixXd meat = ratio.asDiagonal() * sums.meat * ratio.asDiagonal() / n;
  const MatrixXd covariance = bread.covariance * meat * bread.covariance / n;

  const double own = (bread.covariance * meat).trace();

  RobustFit out;
  if (sums.meat_doubt.size() > 0) {
    const VectorXd doubt = ratio.cwiseProduct(sums.meat_doubt) / std::sqrt(n);
    out.relative_error = RelativeError(bread.covariance, covariance.diagonal(), doubt, sums, own, n,
                                       fit.fit_measures);
    RequireDigits(out.relative_error);
  }
  out.vcov = FreeCovariance(table, model, covariance);
  out.estimates = DescribeEstimates(table, model, expressions, x, covariance, confidence_level);
  out.fit_measures =
      ScaledMeasures(fit, static_cast<double>(moments.size()), sums.saturated_trace - own,
                     sums.saturated_trace - sums.baseline_trace);
  out.scaling_factor = out.fit_measures.at("chisq.scaling.factor");
  if (!bread.positive_definite) {
    out.warnings.push_back(
        "the observed information is not positive definite: robust standard errors are not "
        "available for some parameters");
  }
  return out;
}

RobustSums PlaintextRobustSums(const ParameterTable& table,
                               const std::vector<GroupMoments>& moments, const SemFit& fit,
                               const StatisticsScale& scale, const std::vector<MatrixXd>& rows,
                               const std::vector<std::vector<std::uint64_t>>& clusters) {
  const ScorePoint point = PointOf(table, scale, fit, moments);
  RobustSums sums;
  sums.meat = MatrixXd::Zero(point.model.num_parameters, point.model.num_parameters);
  for (std::size_t g = 0; g < rows.size(); ++g) {
    FeatureProducts products(FrameOf(point, g));
    for (Index r = 0; r < rows[g].rows(); ++r) {
      if (clusters.empty()) {
        products.AddRow(rows[g].row(r));
      } else {
        products.AddClusteredRow(rows[g].row(r), clusters[g][static_cast<std::size_t>(r)]);
      }
    }
    const MatrixXd q = ClusterFactor(products.num_clusters()) * products.Products();
    const MatrixXd map = ScoreMap(point, g);
    sums.meat += map * q * map.transpose();
    const TraceForms forms = TraceFormsOf(table, FrameOf(point, g), moments[g]);
    sums.saturated_trace += forms.saturated.cwiseProduct(q).sum() / moments[g].n;
    sums.baseline_trace += forms.baseline.cwiseProduct(q).sum() / moments[g].n;
  }
  return sums;
}

}  // namespace partita::stats
