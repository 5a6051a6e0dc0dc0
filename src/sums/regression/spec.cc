#include "sums/regression/spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.h"
#include "data/design.h"
#include "privacy/sampling/clipping.h"
#include "stats/blr/sensitivity.h"
#include "stats/blr/statistics.h"

namespace partita::sums::regression {
namespace {

using stats::blr::Column;

Column ColumnWithin(const std::string& name, double lower, double upper) {
  return {name, upper / 2 - lower / 2, lower / 2 + upper / 2};
}

void CheckKind(const data::ColumnSchema& variable, bool outcome) {
  const bool numeric = variable.type == data::ColumnType::kNumeric ||
                       variable.type == data::ColumnType::kInteger ||
                       variable.type == data::ColumnType::kDate;
  if (numeric || (!outcome && data::HasLevels(variable.type))) return;
  throw Error(
      ErrorCode::kBadInput,
      fmt::format("'{}' is of type {} and cannot be {} of a linear regression", variable.name,
                  data::ColumnTypeName(variable.type), outcome ? "the outcome" : "a predictor"),
      outcome ? "the outcome is a number" : "use a number, a factor or an ordered variable");
}

void CheckClip(const data::ColumnSchema& variable, const ClipRange& clip) {
  if (data::HasBounds(variable.type) && clip.lower >= variable.lower &&
      clip.upper <= variable.upper && clip.lower < clip.upper)
    return;
  throw Error(
      ErrorCode::kBadInput,
      fmt::format("'{}' cannot be clipped to [{}, {}]", variable.name, clip.lower, clip.upper),
      data::HasBounds(variable.type)
          ? fmt::format("stay within its bounds, {}", data::BoundsText(variable))
          : "a factor has levels and is not clipped");
}

double Up(double value) { return value * (1 + 0x1p-48); }

// Largest L2 norm of the products (without that of the ones), each at most 1 in magnitude.
double LongestProducts(const stats::blr::Design& design) {
  const double longest = Up(std::sqrt(static_cast<double>(stats::blr::NumEntries(design))));
  if (design.row_norm == 0) return longest;
  // |z|^4 bounds the products of the coordinates, |z|^2 those with the ones.
  const double square = design.row_norm * design.row_norm;
  return std::min(longest, Up(std::sqrt(square * square + (design.intercept ? square : 0))));
}

}  // namespace

stats::blr::Design DesignOf(const Spec& spec) {
  if (spec.variables.columns.empty()) {
    throw Error(ErrorCode::kBadInput, "a regression without an outcome", "name one");
  }
  stats::blr::Design design;
  design.intercept = spec.intercept;
  design.row_norm = spec.row_norm;
  std::set<std::string> names;
  for (const data::ColumnSchema& variable : spec.variables.columns) {
    const bool outcome = &variable == &spec.outcome();
    CheckKind(variable, outcome);
    const auto clip = spec.clip.find(variable.name);
    if (clip != spec.clip.end()) CheckClip(variable, clip->second);
    for (const data::DesignColumn& column : data::ColumnsOf(variable)) {
      if (!names.insert(column.schema.name).second) {
        throw Error(
            ErrorCode::kBadInput,
            fmt::format("two columns of the regression are called '{}'", column.schema.name),
            "rename a variable");
      }
      const bool clipped = clip != spec.clip.end();
      const Column bounded =
          ColumnWithin(column.schema.name, clipped ? clip->second.lower : column.schema.lower,
                       clipped ? clip->second.upper : column.schema.upper);
      if (outcome) {
        design.target = bounded;
      } else {
        design.features.push_back(bounded);
      }
    }
  }
  stats::blr::CheckDesign(design);
  return design;
}

SumShape ShapeOf(const Spec& spec, const stats::blr::Design& design) {
  SumShape shape;
  shape.fraction_bits = stats::blr::kSumFractionBits;
  const auto columns = static_cast<double>(design.features.size() + 1);
  if (spec.collects == Collects::kSpread) {
    shape.dimension = design.features.size() + 1;
    // Every square lies in [0, 1].
    shape.bound = spec.laplace ? columns : Up(std::sqrt(columns));
    shape.sensitivity = spec.laplace ? columns : stats::blr::SquaresL2Sensitivity(design).value();
  } else {
    shape.dimension = stats::blr::NumEntries(design);
    shape.bound = spec.laplace ? static_cast<double>(shape.dimension) : LongestProducts(design);
    shape.sensitivity = spec.laplace ? stats::blr::StatisticsL1Sensitivity(design).value()
                                     : stats::blr::StatisticsL2Sensitivity(design).value();
  }
  // The clipping of the sum leaves vectors of this length untouched (privacy::kClipMargin).
  shape.bound *= 1 + 2 * privacy::kClipMargin;
  return shape;
}

}  // namespace partita::sums::regression
