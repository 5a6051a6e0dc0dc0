#include "stats/mixture/rows.h"

#include <fmt/format.h>

#include <boost/math/special_functions/gamma.hpp>
#include <cmath>
#include <numeric>

#include "base/error.h"

namespace partita::stats::mixture {
namespace {

[[noreturn]] void ThrowValue(const Feature& feature, size_t row, const char* wanted) {
  throw Error(
      ErrorCode::kBadData,
      fmt::format("column '{}', row {}: the value is not {}", feature.name, row + 1, wanted),
      "check the column against its schema");
}

void RequireValue(const Feature& feature, size_t row, double x) {
  const bool whole = x == std::floor(x);
  if (!std::isfinite(x)) ThrowValue(feature, row, "a number");
  switch (feature.family) {
    case Family::kCategorical:
      if (!whole || x < 0 || x >= static_cast<double>(feature.levels))
        ThrowValue(feature, row, "one of the levels");
      return;
    case Family::kBernoulli:
      if (x != 0 && x != 1) ThrowValue(feature, row, "0 or 1");
      return;
    case Family::kBeta:
      if (!(x > 0 && x < 1)) ThrowValue(feature, row, "strictly between 0 and 1");
      return;
    case Family::kGaussian:
      return;
    case Family::kPoisson:
      if (!whole || x < 0) ThrowValue(feature, row, "a count");
      return;
  }
}

FeatureRows OneFeature(const Feature& feature, const std::vector<double>& values) {
  FeatureRows rows;
  for (size_t n = 0; n < values.size(); ++n) {
    const double x = values[n];
    RequireValue(feature, n, x);
    switch (feature.family) {
      case Family::kCategorical:
        rows.codes.push_back(static_cast<int32_t>(x));
        break;
      case Family::kBernoulli:
        rows.first.push_back(x);
        break;
      case Family::kBeta:
        rows.first.push_back(std::log(x));
        rows.second.push_back(std::log1p(-x));
        break;
      case Family::kGaussian:
        rows.first.push_back(x);
        rows.second.push_back(x * x);
        break;
      case Family::kPoisson:
        rows.first.push_back(x / feature.scale);
        rows.log_base.push_back(x * std::log(feature.scale) - boost::math::lgamma(x + 1));
        break;
    }
  }
  return rows;
}

}  // namespace

Rows MakeRows(const Layout& layout, const std::vector<std::vector<double>>& values) {
  if (values.size() != layout.features.size()) {
    throw Error(ErrorCode::kUsage, "there are more or fewer columns than features");
  }
  Rows rows;
  rows.num_rows = values.front().size();
  for (size_t f = 0; f < values.size(); ++f) {
    if (values[f].size() != rows.num_rows) {
      throw Error(ErrorCode::kBadData,
                  fmt::format("column '{}' has {} rows, the first has {}", layout.features[f].name,
                              values[f].size(), rows.num_rows));
    }
    rows.features.push_back(OneFeature(layout.features[f], values[f]));
  }
  return rows;
}

Eigen::ArrayXXd Statistics(const Layout& layout, const Rows& rows,
                           std::span<const uint32_t> selected) {
  Eigen::ArrayXXd statistics = Eigen::ArrayXXd::Zero(static_cast<Eigen::Index>(selected.size()),
                                                     static_cast<Eigen::Index>(layout.num_columns));
  for (size_t f = 0; f < layout.features.size(); ++f) {
    const FeatureRows& feature = rows.features[f];
    const auto column = static_cast<Eigen::Index>(layout.first[f]);
    for (size_t i = 0; i < selected.size(); ++i) {
      const auto line = static_cast<Eigen::Index>(i);
      const uint32_t row = selected[i];
      if (!feature.codes.empty()) {
        statistics(line, column + feature.codes[row]) = 1;
        continue;
      }
      statistics(line, column) = feature.first[row];
      if (!feature.second.empty()) statistics(line, column + 1) = feature.second[row];
    }
  }
  return statistics;
}

std::vector<uint32_t> AllRows(size_t count) {
  std::vector<uint32_t> all(count);
  std::iota(all.begin(), all.end(), 0U);
  return all;
}

Rows PartyRows(const Layout& layout, size_t party, const Rows& rows) {
  Rows own;
  own.num_rows = rows.num_rows;
  for (size_t f = 0; f < layout.features.size(); ++f) {
    if (layout.features[f].party == party) own.features.push_back(rows.features[f]);
  }
  return own;
}

}  // namespace partita::stats::mixture
