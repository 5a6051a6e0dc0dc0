#include "methods/meta/own_fit.h"

#include <fmt/format.h>

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <limits>

#include "stats/glm/fit.h"

namespace partita::methods::meta {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr uint64_t kFreedom = 10, kRowsPerColumn = 3;
constexpr double kMostInflation = 1e6;

stats::glm::Rows RowsOf(const OwnModel& model, const data::Table& table,
                        const std::vector<size_t>& rows) {
  const auto n = static_cast<Index>(rows.size());
  stats::glm::Rows own;
  own.x.resize(n, static_cast<Index>(model.columns.size()));
  own.y.resize(n);
  own.offset.setZero(n);
  const data::Column& outcome = table.Get(model.outcome);
  for (Index i = 0; i < n; ++i) {
    const size_t row = rows[static_cast<size_t>(i)];
    own.y[i] = model.outcome_levels ? outcome.codes[row] : outcome.numbers[row];
    for (const std::string& name : model.offsets) own.offset[i] += table.Get(name).numbers[row];
  }
  for (size_t c = 0; c < model.columns.size(); ++c) {
    const std::vector<double> values = data::ColumnValues(model.columns[c], table, rows);
    own.x.col(static_cast<Index>(c)) = Eigen::Map<const VectorXd>(values.data(), n);
  }
  return own;
}

uint64_t SmallestCell(const OwnModel& model, const data::Schema& factors, const data::Table& table,
                      const std::vector<size_t>& rows, const VectorXd& y) {
  std::vector<uint8_t> classes;
  for (Index i = 0; model.law.binary && i < y.size(); ++i) classes.push_back(y[i] > 0 ? 1 : 0);
  const data::ModelCounts counts(model, factors, model.law.binary ? 2 : 1);
  auto smallest = std::numeric_limits<uint64_t>::max();
  for (const Int128 cell : data::CountCells(model, counts, table, rows, classes, {})) {
    if (cell > 0) smallest = std::min(smallest, static_cast<uint64_t>(cell));
  }
  if (!model.law.binary) return smallest;
  const auto ones = static_cast<uint64_t>(std::count(classes.begin(), classes.end(), 1));
  return std::min({smallest, ones, rows.size() - ones});
}

// Whether a column follows from others, of an information matrix.
bool Singular(const MatrixXd& information) {
  const VectorXd scale = information.diagonal().cwiseSqrt().cwiseInverse();
  const MatrixXd correlation = scale.asDiagonal() * information * scale.asDiagonal();
  const Eigen::LLT<MatrixXd> factor(correlation);
  if (factor.info() != Eigen::Success) return true;
  const MatrixXd inverse = factor.solve(MatrixXd::Identity(information.rows(), information.cols()));
  return !(inverse.diagonal().maxCoeff() < kMostInflation);
}

}  // namespace

OwnFit FitOwn(const OwnModel& model, const data::Schema& factors, double largest,
              const data::Table& table, const std::vector<size_t>& rows) {
  OwnFit fit;
  fit.rows = rows.size();
  stats::glm::Rows own = RowsOf(model, table, rows);
  fit.smallest_cell = SmallestCell(model, factors, table, rows, own.y);
  std::vector<Index> kept;
  Index term = -1;
  for (Index c = 0; c < own.x.cols(); ++c) {
    if (own.x.col(c).isZero(0)) continue;
    if (c == static_cast<Index>(model.term)) term = static_cast<Index>(kept.size());
    kept.push_back(c);
  }
  const std::string& name = model.columns[model.term].name;
  if (term < 0) {
    fit.reason = fmt::format("{} is 0 in all of its rows", name);
    return fit;
  }
  own.x = own.x(Eigen::all, kept).eval();
  fit.columns = kept.size();
  if (fit.rows <= fit.columns) {
    fit.reason = "it has fewer rows than the model needs";
    return fit;
  }
  const stats::glm::Limits limits =
      stats::glm::LimitsOf(model.law, model.outcome_lower, model.outcome_upper);
  const stats::glm::Maximum maximum = Maximise(model.law, own, limits);
  const stats::glm::PointSums sums = SumsAt(model.law, own, maximum.point, limits);
  if (Singular(sums.information)) {
    fit.reason = "a column of the model follows from others in its rows";
    return fit;
  }
  const stats::glm::Fit all = FitRows(model.law, own, limits, model.intercept);
  const double scale = model.columns[model.term].scale;
  const double estimate = all.maximum.point[term] / scale,
               error = all.standard_errors[term] / scale;
  if (!all.maximum.converged) {
    fit.reason =
        "its model has no finite estimates: some level has outcomes of one kind only "
        "(separation)";
  } else if (!(std::abs(estimate) <= largest && error <= largest)) {
    fit.reason = fmt::format(
        "its estimate {:.4g} with standard error {:.4g} is larger than {:g} "
        "(largest)",
        estimate, error, largest);
  } else if (!(error >= kLeastError * largest)) {
    fit.reason = fmt::format("its standard error {:.4g} is below {:.4g}, 1/1024 of {:g} (largest)",
                             error, kLeastError * largest, largest);
  } else {
    fit.estimate = {true, estimate, error};
  }
  return fit;
}

OwnFit Decide(OwnFit fit, const study::DisclosureSpec& disclosure) {
  const uint64_t min_cell = disclosure.min_cell;
  const uint64_t least =
      std::max({disclosure.min_rows, fit.columns + kFreedom, kRowsPerColumn * fit.columns});
  std::string reason;
  if (fit.rows < least) {
    reason = fmt::format("it has {} rows, and {} are needed", fit.rows, least);
  } else if (fit.smallest_cell < min_cell) {
    reason = fmt::format("a level, or an outcome of it, has {} rows, fewer than min_cell = {}",
                         fit.smallest_cell, min_cell);
  }
  if (reason.empty()) return fit;
  fit.estimate = {};
  fit.reason = reason;
  return fit;
}

}  // namespace partita::methods::meta
