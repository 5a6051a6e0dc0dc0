#include "methods/mixture/mixture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "stats/mixture/gradient.h"

namespace partita::methods::mixture {

using Eigen::ArrayXXd;
using Eigen::Index;

namespace {

// Of a squared score; CheckDesign keeps what the clipping sees below 2^16.
constexpr double kBeyondClipping = 0x1p100;

}  // namespace

std::vector<HolderModel> HoldersOf(const stats::mixture::Layout& layout,
                                   const std::vector<mpc::PartyIndex>& party_index) {
  std::vector<HolderModel> holders;
  for (size_t party = 0; party < party_index.size(); ++party) {
    std::vector<size_t> columns = stats::mixture::PartyColumns(layout, party);
    if (columns.empty()) continue;
    holders.push_back(
        {party_index[party], stats::mixture::PartyLayout(layout, party), std::move(columns)});
  }
  return holders;
}

StepDesign DesignFor(const std::vector<HolderModel>& holders, StepDesign design) {
  design.holders.clear();
  for (const HolderModel& holder : holders) {
    design.holders.push_back({holder.party, holder.columns.size()});
  }
  return design;
}

stats::mixture::Rows OnStatisticGrid(const stats::mixture::Layout& layout,
                                     stats::mixture::Rows rows, double bound) {
  for (size_t f = 0; f < rows.features.size(); ++f) {
    stats::mixture::FeatureRows& feature = rows.features[f];
    for (std::vector<double>* statistics : {&feature.first, &feature.second}) {
      for (size_t row = 0; row < statistics->size(); ++row) {
        double& statistic = (*statistics)[row];
        statistic = RoundStatistic(statistic);
        if (std::abs(statistic) <= bound) continue;
        throw Error(ErrorCode::kBadData,
                    fmt::format("column '{}', row {}: a statistic exceeds the public bound {:.6g}",
                                layout.features[f].name, row + 1, bound),
                    "tighten the column's bounds in the schema");
      }
    }
  }
  return rows;
}

StatisticReader ReaderOf(const stats::mixture::Layout& layout, const stats::mixture::Rows& rows) {
  return [&layout, &rows](size_t first_row, size_t num_rows, double* out) {
    std::fill_n(out, num_rows * layout.num_columns, 0.0);
    for (size_t i = 0; i < num_rows; ++i, out += layout.num_columns) {
      const size_t row = first_row + i;
      for (size_t f = 0; f < layout.features.size(); ++f) {
        const stats::mixture::FeatureRows& feature = rows.features[f];
        double* own = out + layout.first[f];
        if (!feature.codes.empty()) {
          own[feature.codes[row]] = 1;
          continue;
        }
        own[0] = feature.first[row];
        if (!feature.second.empty()) own[1] = feature.second[row];
      }
    }
  };
}

ModelAt MakeModelAt(const std::vector<HolderModel>& holders, const ArrayXXd& theta) {
  ModelAt model;
  model.parameters.pi = stats::mixture::LogSoftmax(theta.col(0)).exp();
  for (const HolderModel& holder : holders) {
    ArrayXXd own(theta.rows(), static_cast<Index>(holder.columns.size()));
    for (size_t j = 0; j < holder.columns.size(); ++j) {
      own.col(static_cast<Index>(j)) = theta.col(1 + static_cast<Index>(holder.columns[j]));
    }
    stats::mixture::Components components = stats::mixture::MakeComponents(holder.layout, own);
    components.slope = RoundSlopes(components.slope);
    components.below = RoundSlopes(components.below);
    model.parameters.slope.push_back(components.slope);
    model.parameters.below.push_back(components.below);
    model.parameters.offset.push_back(components.offset);
    model.parameters.has_below = model.parameters.has_below || components.has_below;
    model.components.push_back(std::move(components));
  }
  return model;
}

StepParameters NoParameters(const std::vector<HolderModel>& holders, size_t components) {
  StepParameters parameters;
  const auto lines = static_cast<Index>(components);
  parameters.pi = Eigen::ArrayXd::Constant(lines, 1 / static_cast<double>(components));
  for (const HolderModel& holder : holders) {
    const ArrayXXd zero = ArrayXXd::Zero(lines, static_cast<Index>(holder.columns.size()));
    parameters.slope.push_back(zero);
    parameters.below.push_back(zero);
    parameters.offset.push_back(zero);
    for (const stats::mixture::Feature& feature : holder.layout.features) {
      if (feature.family == stats::mixture::Family::kGaussian) parameters.has_below = true;
    }
  }
  return parameters;
}

HolderValues ValuesAt(const HolderModel& holder, const stats::mixture::Components& components,
                      const stats::mixture::Rows& rows, std::span<const uint32_t> batch,
                      std::span<const uint8_t> neutral) {
  using stats::mixture::NotANumber;
  HolderValues values = {
      stats::mixture::LogDensities(holder.layout, components, rows, batch, NotANumber::kKeep),
      stats::mixture::SquaredScores(holder.layout, components, rows, batch, NotANumber::kKeep)};
  for (size_t i = 0; i < batch.size(); ++i) {
    auto densities = values.log_densities.col(static_cast<Index>(i));
    auto scores = values.squared_scores.col(static_cast<Index>(i));
    const bool counts = neutral.empty() || neutral[batch[i]] == 0;
    if (counts && densities.allFinite() && scores.allFinite()) continue;
    densities.setZero();
    scores.setConstant(kBeyondClipping);
  }
  return values;
}

ArrayXXd InModelOrder(const std::vector<HolderModel>& holders, const ArrayXXd& sum) {
  ArrayXXd ordered(sum.rows(), sum.cols());
  if (sum.size() == 0) return ordered;
  ordered.col(0) = sum.col(0);
  Index from = 1;
  for (const HolderModel& holder : holders) {
    for (size_t column : holder.columns)
      ordered.col(1 + static_cast<Index>(column)) = sum.col(from++);
  }
  return ordered;
}

}  // namespace partita::methods::mixture
