#include "methods/mle/likelihood/hidden_robust.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <exception>

#include "base/error.h"
#include "methods/mle/likelihood/robust_numbers.h"
#include "methods/mle/moments/public_scale.h"
#include "methods/mle/moments/split_products.h"
#include "mpc/batch.h"
#include "stats/sem/column_frame.h"

namespace partita::methods::mle {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using mpc::Engine;
using mpc::Product;
using mpc::Shared;

constexpr int kSumBits = 124;  // of the largest sum: the smallest ring (engine shamir) has 127
constexpr size_t kTraces = 2;
constexpr double kRoundingOfDoubles = 0x1p-50;

int CeilLog2(size_t n) { return static_cast<int>(std::ceil(std::log2(static_cast<double>(n)))); }

struct HiddenSizes {
  explicit HiddenSizes(const stats::RamModel& model)
      : parameters(static_cast<size_t>(model.num_parameters)),
        features(static_cast<size_t>(stats::NumFeatures(model.num_observed))),
        products(features * (features + 1) / 2),
        bits((kSumBits - CeilLog2(features)) / 2),
        trace_bits(kSumBits - bits - CeilLog2(products)) {}

  size_t parameters;
  size_t features;  // D
  size_t products;  // D (D + 1) / 2
  int bits;         // f, of A, Q, T and of what opens
  int trace_bits;   // of the weights of the traces
};

// ---------- The receiver's weights

// Rows divided by the sum of their magnitudes, and a little more: room for rounding.
struct Normalised {
  MatrixXd rows;
  VectorXd lengths;
};

Normalised Normalise(const MatrixXd& rows) {
  Normalised out{rows, VectorXd(rows.rows())};
  for (Index i = 0; i < rows.rows(); ++i) {
    out.lengths[i] = std::max(rows.row(i).lpNorm<1>() * (1 + 1e-6), 1e-300);
    out.rows.row(i) /= out.lengths[i];
  }
  return out;
}

struct ReceiverWeights {
  VectorXd units;
  Normalised map;     // scores in their units, of features about the public bounds
  Normalised traces;  // of the upper triangle of Q
  VectorXd spread;    // of the rows of the map: what roundings of doubles are relative to
};

ReceiverWeights WeightsOf(const MleAnalysis& analysis, const stats::StatisticsScale& scale,
                          const FittedModel& fitted) {
  const stats::ScorePoint point = stats::PointOf(analysis.table, scale, fitted.fit, fitted.moments);
  const auto refuse = [] {
    throw Error(ErrorCode::kBadInput,
                "robust standard errors cannot be computed at these estimates",
                "check the warnings of the fit");
  };
  if (!point.x.allFinite()) refuse();
  const stats::FeatureFrame frame = stats::PublicFrame(scale);
  const VectorXd units = ScoreUnits(point, scale);
  const MatrixXd scores = units.cwiseInverse().asDiagonal() * stats::ScoreMap(point, 0);
  const MatrixXd change = stats::ChangeOfFrame(stats::FrameOf(point, 0), frame);
  const stats::TraceForms forms =
      stats::TraceFormsOf(analysis.table, frame, fitted.moments.front());
  MatrixXd traces(kTraces, stats::UpperWeights(forms.saturated).size());
  traces.row(0) = stats::UpperWeights(forms.saturated);
  traces.row(1) = stats::UpperWeights(forms.baseline);
  ReceiverWeights weights{units, Normalise(scores * change), Normalise(traces),
                          (scores.cwiseAbs() * change.cwiseAbs()).rowwise().sum()};
  if (!weights.map.rows.allFinite() || !weights.traces.rows.allFinite()) refuse();
  return weights;
}

VectorXd RowByRow(const MatrixXd& matrix) {
  VectorXd out(matrix.size());
  for (Index i = 0; i < matrix.rows(); ++i)
    out.segment(i * matrix.cols(), matrix.cols()) = matrix.row(i);
  return out;
}

// The map, and the weights of the traces as columns. weights: at the receiver; without it shares of
// zeros, so that nobody sees that there is none.
std::vector<Shared> InputWeights(Engine& engine, const RobustTask& task, const HiddenSizes& sizes,
                                 const std::optional<ReceiverWeights>& weights) {
  VectorXd map, traces;
  if (engine.self() == task.receiver) {
    map = weights ? RowByRow(weights->map.rows)
                  : VectorXd::Zero(static_cast<Index>(sizes.parameters * sizes.features));
    traces = weights ? RowByRow(weights->traces.rows.transpose())
                     : VectorXd::Zero(static_cast<Index>(sizes.products * kTraces));
  }
  const std::array inputs = {
      PrivateNumbers(task.receiver, {sizes.parameters, sizes.features}, sizes.bits, 1, map),
      PrivateNumbers(task.receiver, {sizes.products, kTraces}, sizes.trace_bits, 1, traces)};
  return engine.Input(inputs);
}

// ---------- On shares

// Q, D x D, from the column of its upper triangle.
Shared Square(Engine& engine, const Shared& upper, size_t d) {
  const auto place = [d](size_t i, size_t j) { return i * d - i * (i + 1) / 2 + j; };
  std::vector<Shared> rows;
  for (size_t i = 0; i < d; ++i) {
    std::vector<size_t> entries;
    for (size_t j = 0; j < d; ++j) entries.push_back(place(std::min(i, j), std::max(i, j)));
    rows.push_back(engine.Transpose(engine.SelectRows(upper, entries)));
  }
  return engine.Concatenate(rows, true);
}

// As one row.
Shared Upper(Engine& engine, const Shared& square) {
  std::vector<Shared> rows;
  const size_t n = square.shape.rows;
  for (size_t i = 0; i < n; ++i) rows.push_back(engine.Slice(square, i, i, {1, n - i}));
  return engine.Concatenate(rows, false);
}

// Means of products of magnitude 1 by weights whose magnitudes add up to 1.
Shared AtMostOne(Shared mean) {
  mean.bound = 1 + 1e-6;
  return mean;
}

struct OpenedSums {
  VectorXd meat, traces;  // at the receiver
};

OpenedSums SumScores(Engine& engine, const RobustTask& task, const HiddenSizes& sizes,
                     const std::vector<Shared>& weights, const Shared& products) {
  const Shared& map = weights[0];
  const std::array<Product, 2> with_rows = {
      Product{Product::Kind::kMatrix, map, Square(engine, products, sizes.features)},
      Product{Product::Kind::kGram, weights[1], products}};
  const std::array<std::optional<int>, 2> cut = {sizes.bits, sizes.bits};
  const std::vector<Shared> half = engine.MultiplyAndRescale(with_rows, cut);
  const std::array<Product, 1> whole = {
      Product{Product::Kind::kMatrix, map, engine.Transpose(AtMostOne(half[0]))}};
  const Shared upper = AtMostOne(Upper(engine, engine.Multiply(whole).front()));
  const Shared meat = engine.Rescale({&upper, 1}, sizes.bits).front();

  mpc::Batch batch(engine);
  const auto opened_meat = batch.Reveal(MeatRelease(task), {&meat, 1}, task.receiver);
  const auto opened_traces = batch.Reveal(ScalingRelease(task), {&half[1], 1}, task.receiver);
  batch.Flush();
  return {DecodeOpened(opened_meat.Get().front(), sizes.bits),
          DecodeOpened(opened_traces.Get().front(), sizes.bits)};
}

// ---------- The receiver

stats::RobustFit Finish(const MleAnalysis& analysis, const RobustTask& task,
                        const HiddenSizes& sizes, const ReceiverWeights& weights,
                        const FittedModel& fitted, const stats::RamModel& model,
                        const OpenedSums& opened) {
  const double rows = std::ldexp(1.0, RowBits(task)), n = fitted.moments.front().n;
  const double unit = std::ldexp(1.0, -sizes.bits);
  const VectorXd scale = std::sqrt(rows) * weights.units.cwiseProduct(weights.map.lengths);
  const double meat_error = unit * (4 + static_cast<double>(sizes.features)) + kRoundingOfDoubles;
  const double trace_error =
      2 * unit + std::ldexp(static_cast<double>(sizes.products), -sizes.trace_bits - 1) +
      kRoundingOfDoubles;

  stats::RobustSums sums;
  sums.meat = scale.asDiagonal() * FromUpper(opened.meat, static_cast<Index>(sizes.parameters)) *
              scale.asDiagonal();
  const VectorXd traces = rows / n * opened.traces.cwiseProduct(weights.traces.lengths);
  sums.saturated_trace = traces[0];
  sums.baseline_trace = traces[1];
  sums.meat_doubt = std::sqrt(meat_error * rows) * weights.units.cwiseProduct(weights.spread);
  sums.trace_doubt = trace_error * rows / n * weights.traces.lengths.maxCoeff();
  return stats::MakeRobust(analysis.table, fitted.moments, fitted.fit, model, sums);
}

}  // namespace

std::optional<stats::RobustFit> HiddenRobustErrors(Engine& engine, const MleAnalysis& analysis,
                                                   const RobustTask& task, const RobustLocal& local,
                                                   const FittedModel* fitted) {
  const stats::StatisticsScale scale = PublicScale(analysis);
  const stats::RamModel model = stats::PublicModel(analysis.table, scale);
  const HiddenSizes sizes(model);
  std::optional<ReceiverWeights> weights;
  std::exception_ptr wrong;  // told after the last message
  if (fitted != nullptr) {
    try {
      weights = WeightsOf(analysis, scale, *fitted);
    } catch (const Error&) {
      wrong = std::current_exception();
    }
  }
  const std::vector<Shared> shared = InputWeights(engine, task, sizes, weights);
  const Shared products = BoundedProducts(engine, task, local, sizes.bits);
  const OpenedSums opened = SumScores(engine, task, sizes, shared, products);
  if (wrong) std::rethrow_exception(wrong);
  if (!weights) return std::nullopt;
  return Finish(analysis, task, sizes, *weights, *fitted, model, opened);
}

}  // namespace partita::methods::mle
