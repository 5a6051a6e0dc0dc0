#include "sums/regression/bounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "stats/blr/release.h"

namespace partita::sums::regression {
namespace {

// The variable of a column that has bounds of its own; null for those of factors.
const data::ColumnSchema* Bounded(const Spec& spec, const std::string& column) {
  const data::ColumnSchema* variable = spec.variables.Find(column);
  return variable != nullptr && data::HasBounds(variable->type) ? variable : nullptr;
}

}  // namespace

TightBounds BoundsFromSpread(const Spec& spec, const stats::blr::Design& design,
                             const ReleasedSum& sum, const NextNoise& next,
                             crypto::RandomSource& random) {
  if (spec.collects != Collects::kSpread || sum.entries.size() != design.features.size() + 1) {
    throw Error(ErrorCode::kBadInput, "tighter bounds come from a sum of the spread of the columns",
                "write collects = \"spread\" in [regression], and use the sum of that collection");
  }
  TightBounds bounds;
  bounds.stddevs = stats::blr::MarginalStddevs(design, sum.entries, static_cast<size_t>(sum.rows));
  stats::blr::ThresholdSearch search;
  search.num_rows = static_cast<size_t>(sum.rows);
  search.features = std::max<size_t>(design.features.size(), 1);
  // Parties m and known shares c with m / (m - c) as close as thousandths.
  const auto parties = static_cast<uint32_t>(std::lround(1000 * next.variance_multiple));
  stats::blr::NoiseRequest request;
  request.kind = next.laplace ? stats::blr::NoiseKind::kLaplace : stats::blr::NoiseKind::kGaussian;
  request.epsilon = next.epsilon;
  request.delta = next.delta;
  if (!next.laplace) request.sharing = {parties, parties - 1000};
  bounds.thresholds = stats::blr::SearchThresholds(search, request, random);
  const stats::blr::Design tight =
      stats::blr::ProjectedDesign(design, bounds.stddevs, bounds.thresholds);
  std::vector<stats::blr::Column> columns = tight.features;
  columns.push_back(tight.target);
  for (const stats::blr::Column& column : columns) {
    const data::ColumnSchema* variable = Bounded(spec, column.name);
    if (variable == nullptr) continue;
    bounds.clip[column.name] = {std::max(variable->lower, column.centre - column.bound),
                                std::min(variable->upper, column.centre + column.bound)};
  }
  return bounds;
}

std::string ClipSection(const TightBounds& bounds) {
  std::string text = "[regression.clip]\n";
  for (const auto& [name, range] : bounds.clip)
    text += fmt::format("{} = [{}, {}]\n", name, range.lower, range.upper);
  return text;
}

}  // namespace partita::sums::regression
