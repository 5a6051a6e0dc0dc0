#include "methods/marginals/table_one.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/date.h"
#include "run/method/plan_privacy.h"

namespace partita::methods::marginals {
namespace {

using Json = nlohmann::ordered_json;
using stats::marginals::Bounded;

// By line: its name, and a text for all rows and each level of the group.
struct Line {
  std::string name;
  std::vector<std::string> texts;
};

std::string DateOrNumber(const data::ColumnSchema& column, double value) {
  return column.type == data::ColumnType::kDate ? FormatDate(value) : fmt::format("{:.6g}", value);
}

// With as many decimals as its bounds are worth, some fiftieth of their distance.
std::string EstimateText(const data::ColumnSchema& column, double estimate, double width,
                         bool whole) {
  if (whole || column.type == data::ColumnType::kDate || !(width > 0))
    return DateOrNumber(column, estimate);
  const int decimals = std::clamp(static_cast<int>(std::ceil(-std::log10(width / 50))), 0, 9);
  return fmt::format("{:.{}f}", estimate, decimals);
}

// "123 (45.6 %, 40.1 to 51.0)"; no shares where the counts together are not clear of their noise.
std::string CountText(double count, const Bounded* share) {
  const double rounded = std::round(count) + 0.0;  // no "-0"
  if (share == nullptr || !share->estimate) return fmt::format("{:.0f}", rounded);
  return fmt::format("{:.0f} ({:.1f} %, {:.1f} to {:.1f})", rounded, 100 * *share->estimate,
                     100 * share->lower, 100 * share->upper);
}

// "52.3 (48.1 to 56.2)"; "- (0 to 100)" where it may be anything.
std::string BoundedText(const data::ColumnSchema& column, const Bounded& bounded) {
  const double width = bounded.upper - bounded.lower;
  const auto text = [&](double value) { return EstimateText(column, value, width, false); };
  if (!bounded.estimate) {
    return fmt::format("- ({} to {})", DateOrNumber(column, bounded.lower),
                       DateOrNumber(column, bounded.upper));
  }
  return fmt::format("{} ({} to {})", text(*bounded.estimate), text(bounded.lower),
                     text(bounded.upper));
}

std::string QuartileText(const data::ColumnSchema& column, const Quartile& quartile) {
  const bool anything = quartile.lower <= column.lower && quartile.upper >= column.upper;
  const bool whole = column.type != data::ColumnType::kNumeric;
  return fmt::format(
      "{} ({} to {})",
      anything ? "-"
               : EstimateText(column, quartile.estimate, quartile.upper - quartile.lower, whole),
      DateOrNumber(column, quartile.lower), DateOrNumber(column, quartile.upper));
}

// The lines of a column: `columns` of the table have it, all rows first.
std::vector<Line> LinesOf(const LevelColumn& column, std::span<const Described> columns) {
  const data::ColumnSchema& schema = column.encoding.column;
  const std::vector<std::string> levels = LevelNames(column);
  const Described& first = columns.front();
  std::vector<Line> lines;
  const auto add = [&](const std::string& of, const auto& text) {
    lines.push_back({fmt::format("{}, {}", schema.name, of), {}});
    for (const Described& one : columns) lines.back().texts.push_back(text(one));
  };
  if (first.mean) {
    add("mean", [&](const Described& one) { return BoundedText(schema, *one.mean); });
    add("standard deviation", [&](const Described& one) { return BoundedText(schema, *one.sd); });
  }
  if (first.shares.empty()) {
    constexpr const char* kNames[] = {"lower quartile", "median", "upper quartile"};
    for (size_t q = 0; q < first.quartiles.size(); ++q)
      add(kNames[q], [&](const Described& one) { return QuartileText(schema, one.quartiles[q]); });
  }
  for (size_t v = 0; v < first.shares.size(); ++v)
    add(levels[v], [&](const Described& one) { return CountText(one.counts[v], &one.shares[v]); });
  if (column.missing)
    add("missing", [](const Described& one) { return CountText(one.counts.back(), nullptr); });
  return lines;
}

// How many rows: of all the public number or what the group's counts are together.
Line RowsLine(const MarginalsStudy& study, const OpenedTables& opened) {
  Line line = {"rows", {study.rows() ? fmt::format("{:.0f} (exact)", *study.rows()) : "-"}};
  if (!study.spec.group) return line;
  const size_t group = *study.spec.group;
  const double half = kTwoSided * opened.noisy.Stddev(group);
  for (const double count :
       study.task.set.tables[group].Of(std::span<const double>(opened.noisy.cells))) {
    line.texts.push_back(fmt::format("{:.0f} ({:.0f} to {:.0f})", std::round(count) + 0.0,
                                     std::max(count - half, 0.0), std::max(count + half, 0.0)));
  }
  return line;
}

void AddLine(const Line& line, study::DocumentTable& table) {
  std::vector<study::DocumentCell> row = {line.name};
  for (const std::string& text : line.texts) row.emplace_back(text);
  table.rows.push_back(std::move(row));
}

// A column's own part of what describes all.
template <typename Visit>
void ForEachColumn(const std::vector<Described>& all, const Visit& visit) {
  for (size_t i = 0; i < all.size();) {
    size_t end = i;
    while (end < all.size() && all[end].column == all[i].column) ++end;
    visit(std::span(all).subspan(i, end - i));
    i = end;
  }
}

Json BoundedJson(const Bounded& bounded) {
  Json json = {{"estimate", nullptr}, {"lower", bounded.lower}, {"upper", bounded.upper}};
  if (bounded.estimate) json["estimate"] = *bounded.estimate;
  return json;
}

// "f" of a group, "" over all rows.
std::string GroupName(const MarginalsStudy& study, const Described& described) {
  return described.level ? LevelNames(study.spec.columns[*study.spec.group])[*described.level] : "";
}

std::string DifferenceName(const MarginalsStudy& study, const Difference& difference) {
  const LevelColumn& column = study.spec.columns[difference.column];
  const std::string& name = column.encoding.column.name;
  return difference.level ? fmt::format("{}, {}", name, LevelNames(column)[*difference.level])
                          : name;
}

study::DocumentSection DifferenceSection(const MarginalsStudy& study, const OpenedTables& opened) {
  const std::vector<std::string> groups = LevelNames(study.spec.columns[*study.spec.group]);
  study::DocumentSection section{
      "Differences",
      {fmt::format("Standardized: {} less {}, over the root of the mean of their variances. "
                   "Intervals contain noise and bins with 95 % at least; no line where it may be "
                   "anything.",
                   groups[0], groups[1])}};
  study::DocumentTable table{"Standardized differences", {"", "estimate", "lower", "upper"}, {}};
  for (const Difference& difference : DifferencesBy(study, opened)) {
    if (!difference.value) continue;
    table.rows.push_back({DifferenceName(study, difference), *difference.value->estimate,
                          difference.value->lower, difference.value->upper});
  }
  section.tables.push_back(std::move(table));
  return section;
}

std::string Quoted(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

}  // namespace

study::DocumentSection TableOneSection(const MarginalsStudy& study, const OpenedTables& opened) {
  study::DocumentSection section{
      "Table 1",
      {fmt::format(
           "Every number has noise but what is called exact: 95 % of the counts are within {:.3g} "
           "rows of the exact one. Shares are of the rows with a value, and "
           "like means, standard deviations and quartiles computed from the noisy counts alone; "
           "there is no estimate where these counts together may be noise.",
           kTwoSided * opened.noisy.Stddev(0)),
       "Intervals hold with 95 % at least, each by itself, over the noise, and contain the width "
       "of "
       "the bins: they say where the number of these very rows lies, not that of the people they "
       "were drawn from. Values outside the bounds of the dictionary count as the nearest bound, "
       "standard deviations have the divisor n."}};
  study::DocumentTable table{"All rows", {"", "all"}, {}};
  if (study.spec.group) {
    table.title = fmt::format("By {}", study.task.set.attributes[*study.spec.group].name);
    const std::vector<std::string> levels = LevelNames(study.spec.columns[*study.spec.group]);
    table.columns.insert(table.columns.end(), levels.begin(), levels.end());
  }
  AddLine(RowsLine(study, opened), table);
  ForEachColumn(DescribedBy(study, opened), [&](std::span<const Described> columns) {
    const LevelColumn& column = study.spec.columns[columns.front().column];
    for (const Line& line : LinesOf(column, columns)) AddLine(line, table);
  });
  section.tables.push_back(std::move(table));
  return section;
}

Json TableOneJson(const MarginalsStudy& study, const OpenedTables& opened) {
  Json entries = Json::array();
  for (const Described& described : DescribedBy(study, opened)) {
    Json entry = {{"column", study.task.set.attributes[described.column].name},
                  {"group", nullptr},
                  {"levels", LevelNames(study.spec.columns[described.column])},
                  {"counts", described.counts},
                  {"noise_stddev", described.noise_stddev},
                  {"n", BoundedJson(described.rows)},
                  {"shares", Json::array()},
                  {"mean", nullptr},
                  {"sd", nullptr},
                  {"quartiles", Json::array()}};
    if (described.level) entry["group"] = GroupName(study, described);
    for (const Bounded& share : described.shares) entry["shares"].push_back(BoundedJson(share));
    if (described.mean) entry["mean"] = BoundedJson(*described.mean);
    if (described.sd) entry["sd"] = BoundedJson(*described.sd);
    for (const Quartile& quartile : described.quartiles) {
      entry["quartiles"].push_back({{"probability", quartile.probability},
                                    {"estimate", quartile.estimate},
                                    {"lower", quartile.lower},
                                    {"upper", quartile.upper}});
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

std::string TableOneCsv(const MarginalsStudy& study, const OpenedTables& opened) {
  std::string csv = "variable,statistic,level,group,estimate,lower,upper\n";
  for (const Described& described : DescribedBy(study, opened)) {
    const LevelColumn& column = study.spec.columns[described.column];
    const std::vector<std::string> levels = LevelNames(column);
    const auto add = [&](const std::string& statistic, const std::string& level,
                         const Bounded& bounded) {
      csv += fmt::format("{},{},{},{},{},{},{}\n", Quoted(column.encoding.column.name), statistic,
                         Quoted(level), Quoted(GroupName(study, described)),
                         bounded.estimate ? fmt::format("{}", *bounded.estimate) : "",
                         bounded.lower, bounded.upper);
    };
    add("n", "", described.rows);
    const double half = kTwoSided * described.noise_stddev;
    for (size_t v = 0; v < described.counts.size(); ++v) {
      const double count = described.counts[v];
      add("count", levels[v], {count, count - half, count + half});
    }
    for (size_t v = 0; v < described.shares.size(); ++v)
      add("share", levels[v], described.shares[v]);
    if (described.mean) add("mean", "", *described.mean);
    if (described.sd) add("sd", "", *described.sd);
    for (const Quartile& quartile : described.quartiles) {
      add(fmt::format("quantile {}", quartile.probability), "",
          {quartile.estimate, quartile.lower, quartile.upper});
    }
  }
  return csv;
}

study::Document TableOneDocument(const MarginalsStudy& study, const MarginalsRun& result) {
  const OpenedTables opened = OpenedBy(study, result);
  study::Document document;
  document.title =
      study.file.title.empty() ? "Description of " + study.file.name : study.file.title;
  document.sections = {TableOneSection(study, opened)};
  if (study.spec.differences) document.sections.push_back(DifferenceSection(study, opened));
  document.sections.push_back(StatementSection(study));
  document.files = {{kTableOneFile, TableOneCsv(study, opened)},
                    {kCountsFile, CountsCsv(study, opened)},
                    {kTablesFile, TablesJson(opened)}};
  Json differences = Json::array();
  for (const Difference& difference : DifferencesBy(study, opened)) {
    Json entry = {{"column", study.task.set.attributes[difference.column].name},
                  {"level", nullptr},
                  {"value", nullptr}};
    if (difference.level)
      entry["level"] = LevelNames(study.spec.columns[difference.column])[*difference.level];
    if (difference.value) entry["value"] = BoundedJson(*difference.value);
    differences.push_back(std::move(entry));
  }
  Json json = {{"group", nullptr},
               {"rows", nullptr},
               {"noise_stddev", study.design.noise_stddev()},
               {"table_one", TableOneJson(study, opened)},
               {"differences", differences},
               {"model", kTablesFile},
               {"privacy", Json::parse(opened.privacy)}};
  if (study.spec.group) json["group"] = study.task.set.attributes[*study.spec.group].name;
  if (study.rows()) json["rows"] = *study.rows();
  document.json = json.dump();
  return document;
}

}  // namespace partita::methods::marginals
