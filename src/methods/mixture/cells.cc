#include "methods/mixture/cells.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/date.h"
#include "base/error.h"

namespace partita::methods::mixture {

using data::ColumnEncoding;
using data::EncodingKind;

namespace {

std::vector<std::string> LevelNames(const ColumnEncoding& encoding) {
  std::vector<std::string> names;
  for (const std::string& level : encoding.column.levels) {
    const auto& pooled = encoding.pooled;
    if (std::find(pooled.begin(), pooled.end(), level) == pooled.end()) names.push_back(level);
  }
  if (!encoding.pooled.empty())
    names.push_back(fmt::format("{}", fmt::join(encoding.pooled, ", ")));
  return names;
}

std::string Interval(const data::ColumnSchema& column, double share, double next) {
  const auto end = [&](double at) {
    const double x = column.lower + (column.upper - column.lower) * at;
    return column.type == data::ColumnType::kDate ? FormatDate(std::ceil(x))
                                                  : fmt::format("{:.6g}", x);
  };
  return fmt::format("[{}, {}{}", end(share), end(next), next < 1 ? ')' : ']');
}

}  // namespace

std::vector<std::string> CellNames(const ModelColumn& column, size_t cells) {
  const ColumnEncoding& encoding = column.encoding;
  std::vector<std::string> names;
  if (encoding.kind == EncodingKind::kLevels || encoding.kind == EncodingKind::kIndicator) {
    names = LevelNames(encoding);
  } else {
    for (size_t i = 0; i < cells; ++i) {
      const auto first = static_cast<double>(i), count = static_cast<double>(cells);
      names.push_back(encoding.kind == EncodingKind::kWhole
                          ? fmt::format("{}", encoding.column.lower + first)
                          : Interval(encoding.column, first / count, (first + 1) / count));
    }
  }
  if (names.size() != cells) throw Error(ErrorCode::kUsage, "cells of another column");
  return names;
}

std::vector<CellShare> CellShares(const std::vector<ModelColumn>& columns,
                                  const std::vector<stats::mixture::MarginalDistance>& marginals) {
  if (columns.size() != marginals.size()) {
    throw Error(ErrorCode::kUsage, "marginals of other columns");
  }
  std::vector<CellShare> shares;
  for (size_t f = 0; f < columns.size(); ++f) {
    const stats::mixture::MarginalDistance& marginal = marginals[f];
    const std::vector<std::string> names = CellNames(columns[f], marginal.real.size());
    for (size_t i = 0; i < names.size(); ++i)
      shares.push_back({marginal.name, names[i], marginal.real[i], marginal.synthetic[i]});
  }
  return shares;
}

std::vector<CellShare> FarthestApart(std::vector<CellShare> shares, size_t count) {
  const auto apart = [](const CellShare& share) { return std::abs(share.real - share.synthetic); };
  std::stable_sort(shares.begin(), shares.end(),
                   [&](const CellShare& a, const CellShare& b) { return apart(a) > apart(b); });
  shares.resize(std::min(shares.size(), count));
  return shares;
}

}  // namespace partita::methods::mixture
