// Numbers of a Table 1 from noisy counts (table_one.h).
#include <algorithm>
#include <cmath>
#include <limits>

#include "methods/marginals/table_one.h"

namespace partita::methods::marginals {
namespace {

using stats::marginals::Bounded;
using stats::marginals::CountTable;
using stats::marginals::LevelRange;
using stats::marginals::NoisyCounts;

// The table of a column and the group.
size_t TableWithGroup(const MarginalsStudy& study, size_t column) {
  const size_t group = *study.spec.group;
  const CountTable& table = study.task.set.Pair(std::min(column, group), std::max(column, group));
  return static_cast<size_t>(&table - study.task.set.tables.data());
}

// Counts of a column's levels among the rows of a level of the group.
std::vector<double> CountsWithin(const MarginalsStudy& study, const OpenedTables& opened,
                                 size_t column, size_t level) {
  const CountTable& table = study.task.set.tables[TableWithGroup(study, column)];
  const std::span<const double> cells = table.Of(std::span<const double>(opened.noisy.cells));
  const bool group_first = table.first == *study.spec.group;
  std::vector<double> counts;
  for (size_t v = 0; v < (group_first ? table.columns : table.rows); ++v)
    counts.push_back(cells[group_first ? level * table.columns + v : v * table.columns + level]);
  return counts;
}

std::vector<double> CountsOfAll(const MarginalsStudy& study, const OpenedTables& opened,
                                size_t column) {
  const std::span<const double> counts =
      study.task.set.tables[column].Of(std::span<const double>(opened.noisy.cells));
  return {counts.begin(), counts.end()};
}

size_t NumValues(const LevelColumn& column) { return data::NumLevels(column.encoding); }

// Of two values, 0 and 1 mostly, the shares say what a mean does.
bool HasMean(const LevelColumn& column) {
  const data::ColumnType type = column.encoding.column.type;
  return !data::HasLevels(type) && type != data::ColumnType::kDate && NumValues(column) > 2;
}

bool HasShares(const LevelColumn& column) {
  return data::HasLevels(column.encoding.column.type) || NumValues(column) == 2;
}

std::vector<LevelRange> RangesOf(const LevelColumn& column) {
  std::vector<LevelRange> ranges;
  for (size_t v = 0; v < NumValues(column); ++v) {
    const auto [lower, upper] = BoundsOfLevel(column.encoding, v);
    ranges.push_back({lower, upper});
  }
  return ranges;
}

NoisyCounts ValuesOf(const LevelColumn& column, const Described& described) {
  return {std::span(described.counts).first(NumValues(column)), described.noise_stddev};
}

Described DescribedOf(const LevelColumn& column, Described described) {
  const NoisyCounts values = ValuesOf(column, described);
  described.rows = stats::marginals::SumOf(values);
  for (size_t v = 0; HasShares(column) && v < values.counts.size(); ++v)
    described.shares.push_back(stats::marginals::ShareOf(values, v));
  if (HasMean(column)) {
    const std::vector<LevelRange> ranges = RangesOf(column);
    described.mean = stats::marginals::MeanOf(values, ranges);
    described.sd = stats::marginals::SdOf(values, ranges);
  }
  described.quartiles = QuartilesOf(column, described.counts, described.noise_stddev);
  return described;
}

}  // namespace

std::vector<Described> DescribedBy(const MarginalsStudy& study, const OpenedTables& opened) {
  const size_t levels = study.spec.group ? study.task.set.attributes[*study.spec.group].levels : 0;
  std::vector<Described> all;
  for (size_t c = 0; c < study.spec.columns.size(); ++c) {
    if (study.spec.group == c) continue;
    const LevelColumn& column = study.spec.columns[c];
    all.push_back(DescribedOf(
        column, {c, std::nullopt, CountsOfAll(study, opened, c), opened.noisy.Stddev(c)}));
    for (size_t level = 0; level < levels; ++level) {
      all.push_back(DescribedOf(column, {c, level, CountsWithin(study, opened, c, level),
                                         opened.noisy.Stddev(TableWithGroup(study, c))}));
    }
  }
  return all;
}

std::vector<Difference> DifferencesBy(const MarginalsStudy& study, const OpenedTables& opened) {
  std::vector<Difference> differences;
  if (!study.spec.differences) return differences;
  const std::vector<Described> all = DescribedBy(study, opened);
  for (size_t i = 0; i + 2 < all.size(); ++i) {
    if (all[i].level) continue;
    const LevelColumn& column = study.spec.columns[all[i].column];
    const NoisyCounts first = ValuesOf(column, all[i + 1]), second = ValuesOf(column, all[i + 2]);
    if (HasMean(column)) {
      differences.push_back({all[i].column, std::nullopt,
                             stats::marginals::MeanDifference(first, second, RangesOf(column))});
    }
    // Of two levels one says it.
    const size_t from = HasShares(column) && NumValues(column) == 2 ? 1 : 0;
    for (size_t v = from; HasShares(column) && v < NumValues(column); ++v) {
      differences.push_back(
          {all[i].column, v, stats::marginals::ShareDifference(first, second, v)});
    }
  }
  return differences;
}

ExpectedWidths WidthsFor(const MarginalsStudy& study, double rows) {
  constexpr double kAnything = std::numeric_limits<double>::infinity();
  const auto half = [](const Bounded& bounded) { return (bounded.upper - bounded.lower) / 2; };
  const double groups =
      study.spec.group ? static_cast<double>(NumValues(study.spec.columns[*study.spec.group])) : 1;
  const double stddev = study.design.noise_stddev();
  ExpectedWidths widths;
  widths.count = stats::marginals::NormalBound(stats::marginals::kDescribedLevel) * stddev;
  for (size_t c = 0; c < study.spec.columns.size(); ++c) {
    if (study.spec.group == c) continue;
    const LevelColumn& column = study.spec.columns[c];
    const auto values = static_cast<double>(NumValues(column));
    const std::vector<double> even(NumValues(column), rows / groups / values);
    const NoisyCounts noisy = {even, stddev}, exact = {even, 0};
    const Bounded share = stats::marginals::ShareOf(noisy, 0);
    widths.share = std::max(widths.share, share.estimate ? half(share) : 1);
    if (!HasMean(column)) continue;
    const std::vector<LevelRange> ranges = RangesOf(column);
    const Bounded mean = stats::marginals::MeanOf(noisy, ranges);
    widths.means.push_back(
        {c, mean.estimate ? half(mean) : kAnything, half(stats::marginals::MeanOf(exact, ranges))});
  }
  return widths;
}

}  // namespace partita::methods::marginals
