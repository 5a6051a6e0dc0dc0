#include "stats/mixture/features.h"

#include <fmt/format.h>

#include <cmath>
#include <set>

#include "base/error.h"

namespace partita::stats::mixture {

std::string_view FamilyName(Family family) {
  switch (family) {
    case Family::kCategorical:
      return "categorical";
    case Family::kBernoulli:
      return "bernoulli";
    case Family::kBeta:
      return "beta";
    case Family::kGaussian:
      return "gaussian";
    case Family::kPoisson:
      return "poisson";
  }
  throw Error(ErrorCode::kInternal, "unknown family of a feature");
}

size_t NumStatistics(const Feature& feature) {
  switch (feature.family) {
    case Family::kCategorical:
      return feature.levels;
    case Family::kBernoulli:
    case Family::kPoisson:
      return 1;
    case Family::kBeta:
    case Family::kGaussian:
      return 2;
  }
  throw Error(ErrorCode::kInternal, "unknown family of a feature");
}

Layout MakeLayout(std::vector<Feature> features) {
  if (features.empty()) {
    throw Error(ErrorCode::kBadInput, "the mixture model has no feature",
                "name the columns that it models");
  }
  Layout layout;
  std::set<std::string> names;
  for (const Feature& feature : features) {
    if (feature.name.empty() || !names.insert(feature.name).second) {
      throw Error(
          ErrorCode::kBadInput,
          fmt::format("feature '{}' of the mixture model is named twice or empty", feature.name),
          "give every feature its own name");
    }
    if (feature.family == Family::kCategorical && feature.levels < 2) {
      throw Error(ErrorCode::kBadInput,
                  fmt::format("column '{}' has {} level, which a mixture model learns nothing from",
                              feature.name, feature.levels),
                  "drop the column, or give it the levels that it can have");
    }
    if (!(feature.scale > 0) || !std::isfinite(feature.scale)) {
      throw Error(ErrorCode::kBadInput,
                  fmt::format("the scale of column '{}' is not positive", feature.name),
                  "give a public number near its usual counts");
    }
    layout.first.push_back(layout.num_columns);
    layout.num_columns += NumStatistics(feature);
  }
  layout.features = std::move(features);
  return layout;
}

Layout PartyLayout(const Layout& layout, size_t party) {
  std::vector<Feature> own;
  for (const Feature& feature : layout.features) {
    if (feature.party == party) own.push_back(feature);
  }
  if (own.empty()) {
    throw Error(ErrorCode::kUsage, fmt::format("party {} holds no feature of the model", party),
                "leave it out, or give it a feature");
  }
  return MakeLayout(std::move(own));
}

std::vector<size_t> PartyColumns(const Layout& layout, size_t party) {
  std::vector<size_t> columns;
  for (size_t f = 0; f < layout.features.size(); ++f) {
    if (layout.features[f].party != party) continue;
    for (size_t j = 0; j < NumStatistics(layout.features[f]); ++j)
      columns.push_back(layout.first[f] + j);
  }
  return columns;
}

Eigen::ArrayXXd PartyParameters(const Layout& layout, size_t party, const Eigen::ArrayXXd& theta) {
  const std::vector<size_t> columns = PartyColumns(layout, party);
  Eigen::ArrayXXd own(theta.rows(), static_cast<Eigen::Index>(columns.size()));
  for (size_t j = 0; j < columns.size(); ++j) {
    own.col(static_cast<Eigen::Index>(j)) = theta.col(1 + static_cast<Eigen::Index>(columns[j]));
  }
  return own;
}

}  // namespace partita::stats::mixture
