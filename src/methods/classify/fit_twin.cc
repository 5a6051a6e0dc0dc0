#include "methods/classify/fit_twin.h"

#include <fmt/format.h>

#include <Eigen/Cholesky>
#include <cmath>

#include "privacy/sampling/grid_variance.h"
#include "stats/erm/descent.h"

namespace partita::methods::classify {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using run::Agreement;
using stats::erm::LabelledRows;
using stats::erm::LevelRows;

void AddNumbers(const VectorXd& values, std::vector<double>& all) {
  all.insert(all.end(), values.data(), values.data() + values.size());
}

// Standard deviation of all shares of a noise together, in real units.
double StddevOf(const privacy::DistributedNoise& noise, int fraction_bits) {
  return std::ldexp(privacy::StddevLowerBound(noise.share_variance), -fraction_bits) *
         std::sqrt(static_cast<double>(noise.sharing.parties));
}

// Independent standard normals of a difference with this covariance.
VectorXd Whitened(const VectorXd& difference, const MatrixXd& covariance) {
  return Eigen::LLT<MatrixXd>(covariance).matrixL().solve(difference);
}

// Rows by columns: the gradient of every row, shortened to clip_norm.
MatrixXd GradientsOf(const LabelledRows& rows, const stats::erm::MinibatchOptions& options,
                     const VectorXd& w) {
  MatrixXd gradients = rows.x;
  const VectorXd scores = rows.x * w;
  for (Index i = 0; i < gradients.rows(); ++i) {
    const double y = rows.y(i);
    gradients.row(i) *= y * stats::erm::LossSlope(options.loss, y * scores(i));
    const double norm = gradients.row(i).norm();
    if (norm > options.clip_norm) gradients.row(i) *= options.clip_norm / norm;
  }
  return gradients;
}

void CompareWeights(const std::string& analysis, const MatrixXd& run, const MatrixXd& plain,
                    Agreement& agreement) {
  agreement.AddAll(analysis, "coefficients, from the opened sums", EntriesOf(run), EntriesOf(plain),
                   1);
}

// The sum over a batch, with noise: coins and noise have a covariance together.
void CompareDescent(const Classification& design, const std::string& analysis,
                    const LevelRows& rows, const OpenedFit& opened, Agreement& agreement) {
  const DescentTask& task = *design.fit.descent;
  const stats::erm::MinibatchOptions& options = task.options;
  const double stddev = StddevOf(design.fit.sum.noise, task.fraction_bits);
  const std::vector<VectorXd> sums =
      OpenedVectors(opened.openings, design.fit.sum.release, task.fraction_bits);
  MatrixXd plain(opened.w.rows(), opened.w.cols());
  std::vector<double> noise;
  size_t at = 0;
  for (Index c = 0; c < plain.cols(); ++c) {
    const LabelledRows labelled = stats::erm::OneAgainstRest(
        rows, design.spec.binary() ? design.spec.positive : static_cast<size_t>(c));
    stats::erm::MinibatchSteps steps(options, task.rows, task.dimension);
    for (size_t t = 0; t < options.iterations && at < sums.size(); ++t, ++at) {
      const MatrixXd gradients = GradientsOf(labelled, options, steps.w());
      const MatrixXd covariance =
          stddev * stddev * MatrixXd::Identity(plain.rows(), plain.rows()) +
          options.rate * (1 - options.rate) * gradients.transpose() * gradients;
      const VectorXd expected = options.rate * gradients.colwise().sum().transpose();
      AddNumbers(Whitened(sums[at] - expected, covariance), noise);
      steps.Step(sums[at]);
    }
    plain.col(c) = steps.Result();
  }
  CompareWeights(analysis, opened.w, plain, agreement);
  agreement.random.push_back(run::IndependentNormals(
      analysis,
      fmt::format("noise and batches of {} sums of gradients, noise of standard deviation {:.4g}",
                  sums.size(), stddev),
      noise));
}

// u_t is the noise of iteration t: eta, the same in all, and rho_t. Differences from the mean of
// those before have only rho, and the mean of all has both.
void ComparePsgd(const Classification& design, const std::string& analysis,
                 const LabelledRows& rows, const OpenedFit& opened, Agreement& agreement) {
  const PsgdTask& task = *design.fit.psgd;
  const PsgdNoise& noise = *design.fit.psgd_noise;
  const double eta = StddevOf(noise.eta, task.fraction_bits);
  const double rho = StddevOf(noise.sum.noise, task.fraction_bits);
  VectorXd w = VectorXd::Zero(opened.w.rows()), mean = w;
  std::vector<double> numbers;
  double count = 0;
  for (const VectorXd& sum :
       OpenedVectors(opened.openings, noise.sum.release, task.fraction_bits)) {
    const VectorXd u = sum - stats::erm::SumOfGradients(rows, task.options.loss, w);
    if (count > 0) AddNumbers((u - mean) / (rho * std::sqrt(1 + 1 / count)), numbers);
    const double step = PsgdStep(task.options, static_cast<size_t>(count));
    w -= step *
         (sum / static_cast<double>(task.rows) + (task.options.lambda + task.options.slack) * w);
    count += 1;
    mean += (u - mean) / count;
  }
  AddNumbers(mean / std::sqrt(eta * eta + rho * rho / count), numbers);
  CompareWeights(analysis, opened.w, w, agreement);
  agreement.random.push_back(run::IndependentNormals(
      analysis,
      fmt::format("noise of {:.0f} sums of gradients, of standard deviations {:.4g} and {:.4g}",
                  count, eta, rho),
      numbers));
}

// The gradient of the unperturbed objective at the opened coefficients is the linear noise and what
// the output noise, times the curvature, makes of it.
void CompareMinimum(const Classification& design, const std::string& analysis,
                    const LabelledRows& rows, const OpenedFit& opened, Agreement& agreement) {
  const PrivateMinimum& minimum = *design.fit.minimum;
  const auto n = static_cast<double>(rows.x.rows());
  const double linear = StddevOf(minimum.linear, kMinimumBits);
  stats::erm::Objective objective;
  objective.lambda = minimum.task.lambda;
  const VectorXd w = opened.w.col(0);
  const VectorXd gradient = n * stats::erm::ObjectiveGradient(rows, objective, w);
  MatrixXd covariance = linear * linear * MatrixXd::Identity(w.size(), w.size());
  double output = 0;
  if (minimum.output) {
    output = StddevOf(*minimum.output, kMinimumBits);
    const MatrixXd curvature = n * stats::erm::ObjectiveHessian(rows, objective, w);
    covariance += output * output * curvature * curvature.transpose();
  }
  const VectorXd noise = Whitened(gradient, covariance);
  agreement.random.push_back(run::IndependentNormals(
      analysis,
      fmt::format("noise of the minimum, of standard deviations {:.4g} and {:.4g}", linear, output),
      EntriesOf(noise)));
}

void CompareAverage(const Classification& design, const std::string& analysis,
                    const std::vector<LabelledRows>& parties, const OpenedFit& opened,
                    Agreement& agreement) {
  stats::erm::Objective objective;
  const bool noisy = design.fit.aggregation.has_value();
  objective.loss = noisy ? design.fit.aggregation->loss : design.fit.baseline->loss;
  objective.lambda = noisy ? design.fit.aggregation->lambda : design.fit.baseline->lambda;
  VectorXd average = VectorXd::Zero(opened.w.rows());
  for (const LabelledRows& rows : parties)
    average += stats::erm::Minimize(rows, objective).w / static_cast<double>(parties.size());
  if (!noisy) {
    agreement.AddAll(analysis, "average of the parties' coefficients", EntriesOf(opened.w),
                     EntriesOf(average), 1);
    return;
  }
  const double stddev = StddevOf(design.fit.sum.noise, design.fit.sum.fraction_bits) /
                        static_cast<double>(parties.size());
  const VectorXd noise = (opened.w.col(0) - average) / stddev;
  agreement.random.push_back(run::IndependentNormals(
      analysis,
      fmt::format("noise of the average of coefficients, of standard deviation {:.4g}", stddev),
      EntriesOf(noise)));
}

// Nesterov's method as baselines.h has it, on the gradients of all rows.
void CompareFederated(const Classification& design, const std::string& analysis,
                      const LabelledRows& rows, const OpenedFit& opened, Agreement& agreement) {
  const BaselineTask& task = *design.fit.baseline;
  const double curvature = task.lambda + stats::erm::MaxCurvature(task.loss);
  const double root = std::sqrt(task.lambda / curvature);
  stats::erm::Objective objective;
  objective.loss = task.loss;
  objective.lambda = task.lambda;
  VectorXd w = VectorXd::Zero(opened.w.rows()), ahead = w;
  for (uint64_t t = 0; t < task.iterations; ++t) {
    const VectorXd next = ahead - stats::erm::ObjectiveGradient(rows, objective, ahead) / curvature;
    ahead = next + (1 - root) / (1 + root) * (next - w);
    w = next;
  }
  agreement.AddAll(analysis, "coefficients", EntriesOf(opened.w), EntriesOf(w), 1);
}

}  // namespace

std::span<const double> EntriesOf(const MatrixXd& matrix) {
  return {matrix.data(), static_cast<size_t>(matrix.size())};
}

LevelRows AllRowsOf(const RowsByParty& rows) {
  LevelRows all;
  all.levels = rows.front().levels;
  Index count = 0;
  for (const LevelRows& own : rows) count += own.x.rows();
  all.x.resize(count, rows.front().x.cols());
  Index at = 0;
  for (const LevelRows& own : rows) {
    all.x.middleRows(at, own.x.rows()) = own.x;
    at += own.x.rows();
    all.level.insert(all.level.end(), own.level.begin(), own.level.end());
  }
  return all;
}

std::vector<VectorXd> OpenedVectors(const std::vector<run::Opening>& openings,
                                    const std::string& release_id, int fraction_bits) {
  std::vector<VectorXd> vectors;
  for (const run::Opening& opening : openings) {
    if (opening.release_id != release_id) continue;
    const std::vector<Int128>& grid = opening.values.front().values;
    VectorXd& vector = vectors.emplace_back(static_cast<Index>(grid.size()));
    for (size_t j = 0; j < grid.size(); ++j)
      vector(static_cast<Index>(j)) = mpc::DecodeFixed(grid[j], fraction_bits);
  }
  return vectors;
}

void CompareFit(const Classification& design, const std::string& analysis, const RowsByParty& rows,
                const OpenedFit& opened, Agreement& agreement) {
  const LevelRows all = AllRowsOf(rows);
  if (design.fit.descent) {
    CompareDescent(design, analysis, all, opened, agreement);
    return;
  }
  std::vector<LabelledRows> parties;
  for (const LevelRows& own : rows)
    parties.push_back(stats::erm::OneAgainstRest(own, design.spec.positive));
  const LabelledRows pooled = stats::erm::OneAgainstRest(all, design.spec.positive);
  switch (design.spec.protocol) {
    case Protocol::kPsgd:
      ComparePsgd(design, analysis, pooled, opened, agreement);
      break;
    case Protocol::kMinimum:
    case Protocol::kObjective:
      CompareMinimum(design, analysis, pooled, opened, agreement);
      break;
    case Protocol::kAggregation:
    case Protocol::kAverage:
      CompareAverage(design, analysis, parties, opened, agreement);
      break;
    case Protocol::kFederated:
      CompareFederated(design, analysis, pooled, opened, agreement);
      break;
    case Protocol::kDescent:
    case Protocol::kOwn:
      break;
  }
}

}  // namespace partita::methods::classify
