#include "stats/blr/figure2.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>

#include "base/error.h"
#include "stats/blr/posterior.h"
#include "stats/blr/variates.h"
#include "stats/quantile.h"

namespace partita::stats::blr {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using Method = Figure2Method;

struct Rows {
  std::vector<double> flat;  // training rows, one after the other
  MatrixXd test_x;
  VectorXd test_y;
  size_t count = 0;
};

Rows TakeRows(const MatrixXd& values, const Split& split, size_t train) {
  Rows rows;
  rows.count = train;
  const Index d = values.cols() - 1;
  const auto test = static_cast<Index>(split.size() - train);
  rows.test_x.resize(test, d);
  rows.test_y.resize(test);
  for (size_t k = 0; k < split.size(); ++k) {
    const auto r = static_cast<Index>(split[k]);
    if (k < train) {
      for (Index j = 0; j <= d; ++j) rows.flat.push_back(values(r, j));
    } else {
      const auto t = static_cast<Index>(k - train);
      rows.test_x.row(t) = values.row(r).head(d);
      rows.test_y(t) = values(r, d);
    }
  }
  return rows;
}

Design EqualBounds(Index features, double bound) {
  Design design;
  design.features.assign(static_cast<size_t>(features), Column{"x", bound, 0});
  design.target = {"y", bound, 0};
  return design;
}

bool IsProjected(Method method) {
  return method == Method::kProjectedNonPrivate || method == Method::kProjectedTrusted ||
         method == Method::kProjectedDistributed || method == Method::kProjectedInputPerturbed;
}
bool IsDistributed(Method method) {
  return method == Method::kDistributed || method == Method::kProjectedDistributed ||
         method == Method::kNoiseAwareDistributed;
}
bool IsInputPerturbed(Method method) {
  return method == Method::kInputPerturbed || method == Method::kProjectedInputPerturbed;
}
bool IsNoiseAware(Method method) {
  return method == Method::kNoiseAware || method == Method::kNoiseAwareDistributed;
}
bool HasNoise(Method method) { return method != Method::kMean && method != Method::kNonPrivate; }

privacy::NoiseSharing SharingOf(Method method, size_t clients) {
  const auto n = static_cast<uint32_t>(clients);
  if (IsDistributed(method)) return {n, 1};
  if (IsInputPerturbed(method)) return {n, n - 1};
  return {1, 0};
}

// Noise for one release of all methods: DDP's is TA's plus independent noise of the missing
// variance, so that they pair; input perturbation is further away and draws its own.
class PairedNoise {
 public:
  PairedNoise(const NoiseDesign& trusted, size_t clients)
      : trusted_(trusted), trusted_sampler_(trusted), input_(trusted), extra_(trusted) {
    input_.released = privacy::Multiply(trusted.required, clients);
    // n/(n-1) - 1 = 1/(n-1).
    extra_.released = privacy::Divide(trusted.required, clients - 1);
    input_sampler_.emplace(input_);
    extra_sampler_.emplace(extra_);
  }

  void Draw(crypto::RandomSource& source) {
    base_.assign(trusted_.dimension, 0);
    input_noise_ = extra_noise_ = base_;
    trusted_sampler_.AddTo(base_, source);
    extra_sampler_->AddTo(extra_noise_, source);
    input_sampler_->AddTo(input_noise_, source);
  }

  std::vector<Int128> Add(Method method, std::vector<Int128> sums) const {
    for (size_t k = 0; k < sums.size(); ++k) {
      if (IsInputPerturbed(method)) {
        sums[k] += input_noise_[k];
      } else {
        sums[k] += base_[k] + (IsDistributed(method) ? extra_noise_[k] : 0);
      }
    }
    return sums;
  }

 private:
  NoiseDesign trusted_;
  NoiseSampler trusted_sampler_;
  NoiseDesign input_, extra_;
  std::optional<NoiseSampler> input_sampler_, extra_sampler_;
  std::vector<Int128> base_, input_noise_, extra_noise_;
};

struct Estimate {
  VectorXd coefficients;  // of the columns with range 10
  double width = 0;       // mean over the coefficients
};

Estimate PlainEstimate(const Design& design, const Statistics& statistics) {
  const PlainPosterior posterior =
      FitPlain(statistics, ScaledPrior(design, 0, 1, 1.0), Repair::kAbsolute);
  const CoefficientMap map = ToRawUnits(design);
  Estimate estimate{map.linear * posterior.mean, 0};
  const MatrixXd covariance = map.linear * posterior.covariance * map.linear.transpose();
  const Interval unit = NormalInterval(0, 1, 0.95);
  estimate.width = (unit.upper - unit.lower) * covariance.diagonal().cwiseSqrt().mean();
  return estimate;
}

Estimate AwareEstimate(const Design& design, const Statistics& statistics, double variance,
                       const NoiseAwareOptions& options, crypto::RandomSource& source) {
  const NoiseAwarePosterior posterior =
      FitNoiseAware(statistics, variance, false, {}, options, source);
  const CoefficientMap map = ToRawUnits(design);
  Estimate estimate{map.linear * posterior.mean, 0};
  for (Index j = 0; j < posterior.mean.size(); ++j) {
    const Interval interval = MixtureInterval(posterior, map.linear.row(j).transpose(), 0.95);
    estimate.width +=
        (interval.upper - interval.lower) / static_cast<double>(posterior.mean.size());
  }
  return estimate;
}

double MeanAbsoluteError(const Rows& rows, const VectorXd& coefficients) {
  return (rows.test_y - rows.test_x * coefficients).cwiseAbs().mean();
}

// Everything at one epsilon.
class Experiment {
 public:
  Experiment(const Table& table, std::span<const Split> splits, const Figure2Options& options,
             double epsilon, const Thresholds* thresholds, crypto::RandomSource& source)
      : table_(table),
        options_(options),
        source_(source),
        design_(EqualBounds(table.values.cols() - 1, options.bound)),
        budget_{NoiseKind::kGaussian, epsilon, options.delta, {1, 0}},
        split_(SplitBudget(budget_, options.first_share)) {
    for (const Method method : Methods(options)) {
      cells_.push_back({table.name, epsilon, method, {}, {}, 0, {}});
      projects_ |= IsProjected(method);
    }
    if (projects_) thresholds_ = thresholds ? *thresholds : Search();
    const MatrixXd scaled = ScaleToRange(table.values);
    for (const Split& split : splits) rows_.push_back(TakeRows(scaled, split, table.train));
  }

  static const std::vector<Method>& Methods(const Figure2Options& options) {
    return options.methods.empty() ? AllFigure2Methods() : options.methods;
  }

  std::vector<Figure2Cell> Run(Progress& progress) {
    PairedNoise whole(DesignStatisticsNoise(design_, budget_), table_.train);
    PairedNoise squares(DesignSquaresNoise(design_, split_.first), table_.train);
    PairedNoise rest(DesignStatisticsNoise(design_, split_.second), table_.train);
    for (const Rows& rows : rows_) {
      progress.CheckCancelled();
      for (Figure2Cell& cell : cells_) {
        cell.errors.emplace_back();
        cell.rmse.emplace_back();
      }
      const Estimate exact = ExactEstimate(rows);
      const std::vector<Int128> sums = SumEntries(design_, rows.flat);
      const std::vector<Int128> square_sums = SumSquares(design_, rows.flat);
      for (size_t draw = 0; draw < options_.noise_draws; ++draw) {
        whole.Draw(source_);
        squares.Draw(source_);
        rest.Draw(source_);
        for (Figure2Cell& cell : cells_) {
          if (!HasNoise(cell.method) && draw > 0) continue;
          Record(cell, rows, exact,
                 OneEstimate(cell.method, rows, exact, sums, square_sums, whole, squares, rest));
        }
      }
    }
    for (Figure2Cell& cell : cells_) {
      double count = 0;
      for (const auto& errors : cell.errors) count += static_cast<double>(errors.size());
      cell.mean_width /= count;
      if (IsProjected(cell.method)) cell.thresholds = thresholds_;
    }
    return std::move(cells_);
  }

 private:
  Thresholds Search() {
    ThresholdSearch search;
    search.num_rows = table_.train;
    search.features = design_.features.size();
    return SearchThresholds(search, split_.second, source_);
  }

  // Without noise and without clipping: bounds that hold all rows.
  Estimate ExactEstimate(const Rows& rows) const {
    const Design wide = EqualBounds(table_.values.cols() - 1, 10.001);
    return PlainEstimate(wide, FromEntries(wide, SumEntries(wide, rows.flat), rows.count));
  }

  Estimate OneEstimate(Method method, const Rows& rows, const Estimate& exact,
                       const std::vector<Int128>& sums, const std::vector<Int128>& square_sums,
                       const PairedNoise& whole, const PairedNoise& squares,
                       const PairedNoise& rest) {
    if (method == Method::kMean) return {VectorXd::Zero(table_.values.cols() - 1), 0};
    if (method == Method::kNonPrivate) return exact;
    if (IsProjected(method)) {
      const Design projected = ProjectedDesign(
          design_, MarginalStddevs(design_, squares.Add(method, square_sums), rows.count),
          thresholds_);
      std::vector<Int128> projected_sums = SumEntries(projected, rows.flat);
      // In scaled units the noise is the same for all bounds.
      if (method != Method::kProjectedNonPrivate)
        projected_sums = rest.Add(method, std::move(projected_sums));
      return PlainEstimate(projected, FromEntries(projected, projected_sums, rows.count));
    }
    const Statistics released = FromEntries(design_, whole.Add(method, sums), rows.count);
    if (!IsNoiseAware(method)) return PlainEstimate(design_, released);
    NoiseRequest request = budget_;
    request.sharing = SharingOf(method, rows.count);
    return AwareEstimate(design_, released, Variance(request), options_.noise_aware, source_);
  }

  double Variance(const NoiseRequest& request) {
    const uint32_t key = request.sharing.parties;
    const auto found = variances_.find(key);
    if (found != variances_.end()) return found->second;
    return variances_[key] = DesignStatisticsNoise(design_, request).variance;
  }

  static void Record(Figure2Cell& cell, const Rows& rows, const Estimate& exact,
                     const Estimate& estimate) {
    cell.errors.back().push_back(MeanAbsoluteError(rows, estimate.coefficients));
    cell.rmse.back().push_back(
        std::sqrt((estimate.coefficients - exact.coefficients).squaredNorm() /
                  static_cast<double>(exact.coefficients.size())));
    cell.mean_width += estimate.width;
  }

  const Table& table_;
  const Figure2Options& options_;
  crypto::RandomSource& source_;
  Design design_;
  NoiseRequest budget_;
  BudgetSplit split_;
  bool projects_ = false;
  Thresholds thresholds_;
  std::vector<Rows> rows_;
  std::vector<Figure2Cell> cells_;
  std::map<uint32_t, double> variances_;
};

double MedianOf(const std::vector<std::vector<double>>& errors) {
  std::vector<double> all;
  for (const std::vector<double>& line : errors) all.insert(all.end(), line.begin(), line.end());
  return Quantile(std::move(all), 0.5);
}

// Which draws of which splits a replicate has.
std::vector<std::vector<double>> Resample(const std::vector<std::vector<double>>& errors,
                                          const std::vector<size_t>& splits,
                                          const std::vector<std::vector<double>>& positions) {
  std::vector<std::vector<double>> out;
  for (size_t k = 0; k < splits.size(); ++k) {
    const std::vector<double>& line = errors[splits[k]];
    out.emplace_back();
    for (const double position : positions[k])
      out.back().push_back(line[static_cast<size_t>(position * static_cast<double>(line.size()))]);
  }
  return out;
}

RatioInterval Bootstrap(const Figure2Cell& numerator, const Figure2Cell* denominator, double fixed,
                        double level, size_t replicates, crypto::RandomSource& source) {
  Variates variates(source);
  const auto ratio = [&](const auto& top, const auto* bottom) {
    return MedianOf(top) / (bottom ? MedianOf(*bottom) : fixed);
  };
  RatioInterval interval;
  interval.ratio = ratio(numerator.errors, denominator ? &denominator->errors : nullptr);
  std::vector<double> ratios;
  const size_t splits = numerator.errors.size();
  for (size_t r = 0; r < replicates; ++r) {
    std::vector<size_t> chosen(splits);
    std::vector<std::vector<double>> positions(splits);
    for (size_t k = 0; k < splits; ++k) {
      chosen[k] = variates.Below(splits);
      positions[k].resize(numerator.errors[chosen[k]].size());
      for (double& position : positions[k]) position = variates.Uniform();
    }
    const auto top = Resample(numerator.errors, chosen, positions);
    if (denominator) {
      const auto bottom = Resample(denominator->errors, chosen, positions);
      ratios.push_back(ratio(top, &bottom));
    } else {
      ratios.push_back(MedianOf(top) / fixed);
    }
  }
  interval.lower = Quantile(ratios, (1 - level) / 2);
  interval.upper = Quantile(ratios, (1 + level) / 2);
  return interval;
}

}  // namespace

MatrixXd ScaleToRange(const MatrixXd& values) {
  MatrixXd scaled = values;
  for (Index j = 0; j < values.cols(); ++j) {
    const double range = values.col(j).maxCoeff() - values.col(j).minCoeff();
    if (!(range > 0)) {
      throw Error(ErrorCode::kBadData, "column " + std::to_string(j + 1) + " does not vary",
                  "leave it out");
    }
    scaled.col(j) = (values.col(j).array() - values.col(j).mean()) / range * 10;
  }
  return scaled;
}

Split DrawSplit(size_t num_rows, size_t size, crypto::RandomSource& source) {
  if (size > num_rows) {
    throw Error(ErrorCode::kBadData,
                "a table of " + std::to_string(num_rows) + " rows has no " + std::to_string(size) +
                    " to split",
                "give the complete table");
  }
  Variates variates(source);
  Split rows(num_rows);
  std::iota(rows.begin(), rows.end(), size_t{0});
  for (size_t k = 0; k < size; ++k) std::swap(rows[k], rows[k + variates.Below(num_rows - k)]);
  rows.resize(size);
  return rows;
}

const char* Figure2MethodName(Figure2Method method) {
  switch (method) {
    case Method::kMean:
      return "mean";
    case Method::kNonPrivate:
      return "NP";
    case Method::kTrusted:
      return "TA";
    case Method::kDistributed:
      return "DDP";
    case Method::kInputPerturbed:
      return "input perturbed";
    case Method::kProjectedNonPrivate:
      return "proj NP";
    case Method::kProjectedTrusted:
      return "proj TA";
    case Method::kProjectedDistributed:
      return "proj DDP";
    case Method::kProjectedInputPerturbed:
      return "proj input perturbed";
    case Method::kNoiseAware:
      return "noise-aware TA";
    case Method::kNoiseAwareDistributed:
      return "noise-aware DDP";
  }
  throw Error(ErrorCode::kInternal, "a method without a name");
}

const std::vector<Figure2Method>& AllFigure2Methods() {
  static const std::vector<Figure2Method> kAll = {Method::kMean,
                                                  Method::kNonPrivate,
                                                  Method::kTrusted,
                                                  Method::kDistributed,
                                                  Method::kInputPerturbed,
                                                  Method::kProjectedNonPrivate,
                                                  Method::kProjectedTrusted,
                                                  Method::kProjectedDistributed,
                                                  Method::kProjectedInputPerturbed,
                                                  Method::kNoiseAware,
                                                  Method::kNoiseAwareDistributed};
  return kAll;
}

std::vector<double> Figure2Epsilons() {
  std::vector<double> epsilons;
  for (const double power : {0.0, 0.25, 0.5, 0.75, 1.0, 1.5})
    epsilons.push_back(std::pow(10, power));
  return epsilons;
}

std::vector<Figure2Cell> RunFigure2(const Table& table, std::span<const Split> splits,
                                    const Figure2Options& options, crypto::RandomSource& source,
                                    Progress& progress) {
  const std::vector<double> epsilons =
      options.epsilons.empty() ? Figure2Epsilons() : options.epsilons;
  if (!options.thresholds.empty() && options.thresholds.size() != epsilons.size()) {
    throw Error(ErrorCode::kUsage, "as many thresholds as epsilons are needed");
  }
  std::vector<Figure2Cell> cells;
  progress.Phase(table.name);
  for (size_t e = 0; e < epsilons.size(); ++e) {
    Experiment experiment(table, splits, options, epsilons[e],
                          options.thresholds.empty() ? nullptr : &options.thresholds[e], source);
    for (Figure2Cell& cell : experiment.Run(progress)) cells.push_back(std::move(cell));
    progress.Step(e + 1, epsilons.size());
  }
  return cells;
}

double MedianError(const Figure2Cell& cell) { return MedianOf(cell.errors); }

RatioInterval MedianRatio(const Figure2Cell& numerator, const Figure2Cell& denominator,
                          double level, size_t replicates, crypto::RandomSource& source) {
  return Bootstrap(numerator, &denominator, 1, level, replicates, source);
}

RatioInterval MedianRatio(const Figure2Cell& numerator, double denominator, double level,
                          size_t replicates, crypto::RandomSource& source) {
  return Bootstrap(numerator, nullptr, denominator, level, replicates, source);
}

std::vector<Figure1bPoint> Figure1b() {
  std::vector<Figure1bPoint> points;
  for (const size_t colluding : {0, 5, 10}) {
    for (size_t clients = colluding + 2; clients <= 100; ++clients) {
      points.push_back(
          {clients, colluding,
           static_cast<double>(clients) / static_cast<double>(clients - colluding - 1)});
    }
  }
  return points;
}

}  // namespace partita::stats::blr
