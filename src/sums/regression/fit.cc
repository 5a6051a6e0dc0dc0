#include "sums/regression/fit.h"

#include <fmt/format.h>

#include <Eigen/Eigenvalues>
#include <cmath>

#include "base/error.h"
#include "base/text_table.h"
#include "crypto/hash.h"
#include "privacy/rounded_text.h"
#include "report/numbers.h"
#include "stats/blr/release.h"
#include "stats/blr/summary.h"

namespace partita::sums::regression {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using stats::blr::CoefficientMap;
using stats::blr::Design;
using stats::blr::Statistics;

// Longer than this, intervals say little more than the prior does.
constexpr double kMuchNoise = 10;

stats::blr::NoiseDesign NoiseFacts(const ReleasedSum& sum) {
  stats::blr::NoiseDesign noise;
  noise.variance = sum.noise_stddev * sum.noise_stddev;
  return noise;
}

// Standard deviations of the coefficients if A, b and the scales were known: what remains is the
// errors of the rows. By the law of total variance the rest of the posterior variance is what the
// noise left unknown.
VectorXd ExactStddevs(const CoefficientMap& map, const stats::blr::NoiseAwarePosterior& posterior) {
  MatrixXd mean = MatrixXd::Zero(map.linear.rows(), map.linear.cols());
  for (const auto& component : posterior.components) mean += component.covariance;
  mean /= static_cast<double>(posterior.components.size());
  return (map.linear * mean * map.linear.transpose()).diagonal().cwiseSqrt();
}

uint64_t NegativeEigenvalues(const MatrixXd& gram) {
  const Eigen::SelfAdjointEigenSolver<MatrixXd> eigen(gram, Eigen::EigenvaluesOnly);
  return static_cast<uint64_t>((eigen.eigenvalues().array() < 0).count());
}

RegressionResult Facts(const Spec& spec, const Design& design, const ReleasedSum& sum,
                       const stats::blr::RegressionSummary& summary) {
  RegressionResult result;
  result.outcome = design.target.name;
  result.noise_aware = spec.estimator == Estimator::kNoiseAware;
  result.level = spec.level;
  result.rows = sum.rows;
  result.residual_stddev = summary.residual_stddev;
  result.noise_stddev = sum.noise_stddev;
  for (const stats::blr::CoefficientRow& row : summary.coefficients) {
    result.coefficients.push_back(
        {row.name, row.mean, row.stddev, row.interval.lower, row.interval.upper, row.positive, 1});
  }
  for (const stats::blr::Column& column : design.features)
    result.columns.push_back(
        {column.name, column.centre - column.bound, column.centre + column.bound});
  const stats::blr::Column& target = design.target;
  result.columns.push_back(
      {target.name, target.centre - target.bound, target.centre + target.bound});
  return result;
}

void AddWarnings(RegressionResult& result) {
  auto& warnings = result.warnings;
  if (result.noise_aware) {
    warnings.emplace_back(
        "The intervals contain the privacy noise. They do not repair what clipping to the bounds "
        "does to the estimates, and they hold for a linear model with normal errors.");
  } else {
    warnings.emplace_back(
        "The intervals leave the privacy noise out and are too short wherever it matters.");
  }
  for (const CoefficientFacts& row : result.coefficients) {
    if (row.noise_factor <= kMuchNoise) continue;
    warnings.push_back(fmt::format(
        "The noise covers most of what the data say about {}: its standard deviation is {:.3g} "
        "times what it would be without. More clients, tighter bounds, fewer predictors or a "
        "larger epsilon would help.",
        row.name, row.noise_factor));
  }
  if (!result.noise_aware && result.negative_eigenvalues > 0) {
    warnings.push_back(
        fmt::format("The noise made {} eigenvalue{} of X'X negative; the absolute value is used.",
                    result.negative_eigenvalues, result.negative_eigenvalues == 1 ? "" : "s"));
  }
}

Fit FitAware(const Spec& spec, const Design& design, const ReleasedSum& sum,
             const Statistics& statistics, crypto::RandomSource& random) {
  Fit fit{design, spec.level, {}, {}, {}};
  fit.noise_aware = stats::blr::FitNoiseAware(statistics, sum.noise_stddev * sum.noise_stddev,
                                              design.intercept, spec.prior, {}, random);
  fit.result = Facts(spec, design, sum,
                     stats::blr::Summarise(design, NoiseFacts(sum), statistics.num_rows,
                                           *fit.noise_aware, spec.level));
  const VectorXd exact = ExactStddevs(stats::blr::ToRawUnits(design), *fit.noise_aware);
  for (size_t k = 0; k < fit.result.coefficients.size(); ++k) {
    CoefficientFacts& row = fit.result.coefficients[k];
    row.noise_factor = row.stddev / exact(static_cast<Index>(k));
  }
  return fit;
}

Fit FitPlain(const Spec& spec, const Design& design, const ReleasedSum& sum,
             const Statistics& statistics) {
  Fit fit{design, spec.level, {}, {}, {}};
  const auto p = static_cast<Index>(design.num_coefficients());
  const stats::blr::PlainPrior prior{
      VectorXd::Zero(p), VectorXd::Constant(p, spec.prior.slope_variance.high), {}};
  fit.plain = stats::blr::FitPlain(statistics, prior, stats::blr::Repair::kAbsolute);
  fit.result = Facts(
      spec, design, sum,
      stats::blr::Summarise(design, NoiseFacts(sum), statistics.num_rows, *fit.plain, spec.level));
  return fit;
}

}  // namespace

Fit FitSum(const Spec& spec, const Design& design, const ReleasedSum& sum,
           crypto::RandomSource& random) {
  if (sum.entries.size() != stats::blr::NumEntries(design)) {
    throw Error(ErrorCode::kBadInput,
                fmt::format("the sum has {} numbers, and this regression adds up {}",
                            sum.entries.size(), stats::blr::NumEntries(design)),
                "use the sum of the same collection file");
  }
  if (sum.rows == 0 || !(sum.noise_stddev > 0)) {
    throw Error(ErrorCode::kBadInput, "a sum without rows or without noise is no private sum",
                "use the file that 'partita aggregate' or 'partita regression simulate' wrote");
  }
  const Statistics statistics =
      stats::blr::FromEntries(design, sum.entries, static_cast<size_t>(sum.rows));
  Fit fit = spec.estimator == Estimator::kNoiseAware
                ? FitAware(spec, design, sum, statistics, random)
                : FitPlain(spec, design, sum, statistics);
  fit.result.negative_eigenvalues = NegativeEigenvalues(statistics.gram);
  AddWarnings(fit.result);
  return fit;
}

crypto::Key FitKey(const ReleasedSum& sum) {
  ByteWriter bytes;
  bytes.U64(sum.rows);
  for (const Int128 entry : sum.entries) {
    bytes.U64(static_cast<uint64_t>(entry));
    bytes.U64(static_cast<uint64_t>(static_cast<UInt128>(entry) >> 64));
  }
  const crypto::Digest digest = crypto::Sha256Of(bytes.bytes());
  crypto::Key key;
  std::copy(digest.begin(), digest.end(), key.Expose().begin());
  return key;
}

std::vector<PredictionFacts> PredictRows(const Fit& fit, const Rows& rows) {
  const size_t width = fit.design.features.size();
  std::vector<PredictionFacts> predictions;
  for (size_t r = 0; r < rows.count; ++r) {
    const std::span<const double> features = rows.row(r, width);
    const stats::blr::Prediction prediction =
        fit.noise_aware ? stats::blr::Predict(fit.design, *fit.noise_aware, features, fit.level)
                        : stats::blr::Predict(fit.design, *fit.plain, features, fit.level);
    predictions.push_back({prediction.mean, prediction.interval.lower, prediction.interval.upper});
  }
  return predictions;
}

std::string FitText(const RegressionResult& result) {
  TextTable table;
  const double tail = (1 - result.level) / 2;
  table.header = {"Coefficients", "Mean", "SD", report::Percent(tail), report::Percent(1 - tail),
                  "P(>0)"};
  table.right = {1, 2, 3, 4, 5};
  if (result.noise_aware) {
    table.header.emplace_back("noise");
    table.right.push_back(6);
  }
  for (const CoefficientFacts& row : result.coefficients) {
    table.rows.push_back({row.name, fmt::format("{:.4g}", row.mean),
                          fmt::format("{:.4g}", row.stddev), fmt::format("{:.4g}", row.lower),
                          fmt::format("{:.4g}", row.upper), fmt::format("{:.3f}", row.positive)});
    if (result.noise_aware) table.rows.back().push_back(fmt::format("x{:.3g}", row.noise_factor));
  }
  std::string text = fmt::format("Linear regression of {} on a private sum\n\n", result.outcome);
  text += RenderTable(table, 0) + "\n";
  text += WrapText(
      fmt::format("Residual standard deviation {:.4g}; {} rows; noise of standard deviation {} "
                  "in every scaled sum.{}",
                  result.residual_stddev, FormatCount(result.rows),
                  privacy::RoundedText(result.noise_stddev, 4, false),
                  result.noise_aware ? " Noise: the posterior standard deviation as a multiple of "
                                       "what it would be if the sums were exact."
                                     : ""),
      0);
  for (const std::string& warning : result.warnings) text += WrapText("- " + warning, 0);
  return text;
}

}  // namespace partita::sums::regression
