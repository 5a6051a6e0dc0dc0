#include "methods/marginals/table_one.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/date.h"
#include "methods/marginals/counts.h"

namespace partita::methods::marginals {
namespace {

using Json = nlohmann::ordered_json;
using stats::marginals::CountTable;

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

// "123 (45.6 %)"; no shares where the counts together are not clear of their noise.
std::vector<std::string> CountTexts(const std::vector<double>& counts, double noise_stddev) {
  double sum = 0, shared = 0;
  for (const double count : counts) {
    sum += count;
    shared += std::max(count, 0.0);
  }
  const bool clear = sum > kTwoSided * noise_stddev * std::sqrt(static_cast<double>(counts.size()));
  std::vector<std::string> texts;
  for (const double count : counts) {
    const double rounded = std::round(count) + 0.0;  // no "-0"
    texts.push_back(
        clear ? fmt::format("{:.0f} ({:.1f} %)", rounded, 100 * std::max(count, 0.0) / shared)
              : fmt::format("{:.0f}", rounded));
  }
  return texts;
}

std::string NumberText(const data::ColumnSchema& column, double value) {
  return column.type == data::ColumnType::kDate ? FormatDate(value) : fmt::format("{:.6g}", value);
}

// With as many decimals as its bounds are worth, some fiftieth of their distance.
std::string EstimateText(const data::ColumnSchema& column, const Quartile& quartile) {
  const double width = quartile.upper - quartile.lower;
  if (column.type != data::ColumnType::kNumeric || !(width > 0))
    return NumberText(column, quartile.estimate);
  const int decimals = std::clamp(static_cast<int>(std::ceil(-std::log10(width / 50))), 0, 9);
  return fmt::format("{:.{}f}", quartile.estimate, decimals);
}

// "52.3 (48 to 56)"; "- (0 to 100)" where it may be anything.
std::vector<std::string> QuartileTexts(const LevelColumn& column, const std::vector<double>& counts,
                                       double noise_stddev) {
  const data::ColumnSchema& schema = column.encoding.column;
  std::vector<std::string> texts;
  for (const Quartile& quartile : QuartilesOf(column, counts, noise_stddev)) {
    const bool anything = quartile.lower <= schema.lower && quartile.upper >= schema.upper;
    texts.push_back(fmt::format("{} ({} to {})", anything ? "-" : EstimateText(schema, quartile),
                                NumberText(schema, quartile.lower),
                                NumberText(schema, quartile.upper)));
  }
  return texts;
}

// A line for each text, over all groups: texts[g][i] of the line i.
void AddLines(const std::vector<std::string>& names,
              const std::vector<std::vector<std::string>>& texts, study::DocumentTable& table) {
  for (size_t i = 0; i < names.size(); ++i) {
    std::vector<study::DocumentCell> row = {names[i]};
    for (const std::vector<std::string>& of_group : texts) row.emplace_back(of_group[i]);
    table.rows.push_back(std::move(row));
  }
}

// A column's lines: all rows first, then the levels of the group.
void AddColumn(const MarginalsStudy& study, const OpenedTables& opened, size_t column,
               study::DocumentTable& table) {
  const LevelColumn& levels = study.spec.columns[column];
  const std::string& name = levels.encoding.column.name;
  const size_t groups = study.task.set.attributes[*study.spec.group].levels;
  std::vector<std::vector<std::string>> texts;
  std::vector<std::string> lines;
  // Of two values, 0 and 1 mostly, the shares say what quartiles do not.
  const size_t values = LevelNames(levels).size() - (levels.missing ? 1 : 0);
  const bool numbers = !data::HasLevels(levels.encoding.column.type) && values > 2;
  const auto add = [&](const std::vector<double>& counts, double stddev) {
    texts.push_back(numbers ? QuartileTexts(levels, counts, stddev) : CountTexts(counts, stddev));
    if (numbers && levels.missing) texts.back().push_back(CountTexts(counts, stddev).back());
  };
  add(CountsOfAll(study, opened, column), opened.noisy.Stddev(column));
  for (size_t g = 0; g < groups; ++g) {
    add(CountsWithin(study, opened, column, g), opened.noisy.Stddev(TableWithGroup(study, column)));
  }
  if (numbers) {
    for (const char* quartile : {"lower quartile", "median", "upper quartile"})
      lines.push_back(fmt::format("{}, {}", name, quartile));
    if (levels.missing) lines.push_back(fmt::format("{}, missing", name));
  } else {
    for (const std::string& level : LevelNames(levels))
      lines.push_back(fmt::format("{}, {}", name, level));
  }
  AddLines(lines, texts, table);
}

Json EntryJson(const MarginalsStudy& study, size_t column, const std::vector<double>& counts,
               double noise_stddev, const Json& level) {
  Json entry = {{"column", study.task.set.attributes[column].name},
                {"group", level},
                {"levels", LevelNames(study.spec.columns[column])},
                {"counts", counts},
                {"noise_stddev", noise_stddev},
                {"quartiles", Json::array()}};
  for (const Quartile& quartile : QuartilesOf(study.spec.columns[column], counts, noise_stddev)) {
    entry["quartiles"].push_back({{"probability", quartile.probability},
                                  {"estimate", quartile.estimate},
                                  {"lower", quartile.lower},
                                  {"upper", quartile.upper}});
  }
  return entry;
}

}  // namespace

study::DocumentSection TableOneSection(const MarginalsStudy& study, const OpenedTables& opened) {
  const size_t group = *study.spec.group;
  const std::vector<std::string> levels = LevelNames(study.spec.columns[group]);
  study::DocumentSection section{
      "Table 1",
      {fmt::format("Every count has noise: 95 % of them are within {:.3g} rows of the exact one. "
                   "Shares are of the counts of a column in its group, negative ones taken as 0; "
                   "there are none where these counts together may be noise. Quartiles have bounds "
                   "that hold with 95 % at least, and no estimate where they may be anything. Both "
                   "are over the noise alone: that other people could have been asked is in no "
                   "interval. Quartiles are as precise as the bins are, and not more.",
                   kTwoSided * opened.noisy.Stddev(0))}};
  study::DocumentTable table{
      fmt::format("By {}", study.task.set.attributes[group].name), {"", "all"}, {}};
  table.columns.insert(table.columns.end(), levels.begin(), levels.end());
  std::vector<study::DocumentCell> sizes = {"rows"};
  const std::vector<double> of_group = CountsOfAll(study, opened, group);
  sizes.emplace_back(study.rows() ? fmt::format("{:.0f} (exact)", *study.rows())
                                  : std::string("-"));
  for (const std::string& text : CountTexts(of_group, opened.noisy.Stddev(group)))
    sizes.emplace_back(text);
  table.rows.push_back(std::move(sizes));
  for (size_t column = 0; column < study.spec.columns.size(); ++column) {
    if (column != group) AddColumn(study, opened, column, table);
  }
  section.tables.push_back(std::move(table));
  return section;
}

Json TableOneJson(const MarginalsStudy& study, const OpenedTables& opened) {
  const std::vector<std::string> levels = LevelNames(study.spec.columns[*study.spec.group]);
  Json entries = Json::array();
  for (size_t column = 0; column < study.spec.columns.size(); ++column) {
    if (column == *study.spec.group) continue;
    const double stddev = opened.noisy.Stddev(TableWithGroup(study, column));
    for (size_t g = 0; g < levels.size(); ++g) {
      entries.push_back(
          EntryJson(study, column, CountsWithin(study, opened, column, g), stddev, levels[g]));
    }
  }
  return entries;
}

}  // namespace partita::methods::marginals
