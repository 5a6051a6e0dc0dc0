#include "methods/marginals/counts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/date.h"
#include "data/csv_writer.h"
#include "stats/marginals/quantiles.h"

namespace partita::methods::marginals {
namespace {

using Json = nlohmann::ordered_json;
using stats::marginals::CountTable;

// Noise alone passes it once in 30000 cells.
constexpr double kSurprising = 4;
constexpr double kNearlyAll = 0.9;

std::span<const double> CellsOf(const CountTable& table, const OpenedTables& opened) {
  return table.Of(std::span<const double>(opened.noisy.cells));
}

// One column with the noise's interval: what opened, nothing else.
study::DocumentTable LevelTable(const MarginalsStudy& study, size_t a, const OpenedTables& opened) {
  study::DocumentTable table{"Counts of " + study.task.set.attributes[a].name,
                             {"level", "count with noise", "lower", "upper"},
                             {}};
  const std::vector<std::string> names = LevelNames(study.spec.columns[a]);
  const std::span<const double> counts = CellsOf(study.task.set.tables[a], opened);
  const double half = kTwoSided * opened.noisy.Stddev(a);
  for (size_t v = 0; v < counts.size(); ++v) {
    table.rows.push_back({names[v], counts[v], counts[v] - half, counts[v] + half});
  }
  return table;
}

// Of a whole column.
std::vector<Quartile> QuartilesOfColumn(const MarginalsStudy& study, size_t a,
                                        const OpenedTables& opened) {
  return QuartilesOf(study.spec.columns[a], CellsOf(study.task.set.tables[a], opened),
                     opened.noisy.Stddev(a));
}

study::DocumentTable QuartileTable(const MarginalsStudy& study, const OpenedTables& opened) {
  study::DocumentTable table{"Quartiles of numbers, from noisy counts",
                             {"column", "quartile", "estimate", "lower", "upper"},
                             {}};
  for (size_t a = 0; a < study.spec.columns.size(); ++a) {
    const data::ColumnSchema& column = study.spec.columns[a].encoding.column;
    const auto cell = [&](double number) {
      return column.type == data::ColumnType::kDate ? study::DocumentCell(FormatDate(number))
                                                    : study::DocumentCell(number);
    };
    for (const Quartile& quartile : QuartilesOfColumn(study, a, opened)) {
      table.rows.push_back({column.name, fmt::format("{:.0f} %", 100 * quartile.probability),
                            cell(quartile.estimate), cell(quartile.lower), cell(quartile.upper)});
    }
  }
  return table;
}

// Columns of numbers of which one bin has nearly all rows.
std::string ColumnsOfOneBin(const MarginalsStudy& study, const OpenedTables& opened) {
  std::string names;
  for (size_t a = 0; a < study.spec.columns.size(); ++a) {
    const data::ColumnEncoding& encoding = study.spec.columns[a].encoding;
    if (data::HasLevels(encoding.column.type) || encoding.kind == data::EncodingKind::kWhole)
      continue;
    const std::span<const double> counts =
        CellsOf(study.task.set.tables[a], opened).first(data::NumLevels(encoding));
    double sum = 0;
    for (const double count : counts) sum += std::max(count, 0.0);
    if (!(std::ranges::max(counts) > kNearlyAll * sum)) continue;
    names += (names.empty() ? "'" : ", '") + encoding.column.name + "'";
  }
  return names;
}

}  // namespace

std::pair<double, double> BoundsOfLevel(const data::ColumnEncoding& encoding, size_t level) {
  const auto at = static_cast<double>(level);
  if (encoding.kind == data::EncodingKind::kWhole)
    return {encoding.column.lower + at, encoding.column.lower + at};
  if (encoding.column.type == data::ColumnType::kNumeric) return data::BoundsOfBin(encoding, at);
  return data::WholeNumbersOfBin(encoding, at);
}

std::vector<Quartile> QuartilesOf(const LevelColumn& column, std::span<const double> counts,
                                  double noise_stddev) {
  const data::ColumnEncoding& encoding = column.encoding;
  if (data::HasLevels(encoding.column.type)) return {};
  counts = counts.first(data::NumLevels(encoding));
  std::vector<Quartile> quartiles;
  for (const double probability : {0.25, 0.5, 0.75}) {
    const stats::marginals::QuantileLevels levels =
        stats::marginals::QuantileOf(counts, noise_stddev, probability);
    const auto [begin, end] = BoundsOfLevel(encoding, levels.middle);
    double estimate = begin + levels.within * (end - begin);
    if (encoding.column.type != data::ColumnType::kNumeric) estimate = std::round(estimate);
    quartiles.push_back({probability, estimate, BoundsOfLevel(encoding, levels.first).first,
                         BoundsOfLevel(encoding, levels.last).second});
  }
  return quartiles;
}

study::DocumentSection CountSection(const MarginalsStudy& study, const OpenedTables& opened) {
  study::DocumentSection section{
      "Counts of single columns",
      {fmt::format("As they opened: with noise of standard deviation {} rows. Intervals are of "
                   "the noise, at 95 % each. {} stand in {}.",
                   study.NoiseText(),
                   study.task.scored  ? "Chosen pairs"
                   : study.spec.group ? "Pairs with the group"
                                      : "All pairs",
                   kCountsFile)}};
  for (size_t a = 0; a < study.spec.columns.size(); ++a) {
    section.tables.push_back(LevelTable(study, a, opened));
  }
  if (const std::string names = ColumnsOfOneBin(study, opened); !names.empty()) {
    section.paragraphs.push_back(fmt::format(
        "Nine of ten rows or more are in one bin of {}: a next study tells more of such a column "
        "with `edges`, bins that are narrow where most values can be expected.",
        names));
  }
  study::DocumentTable quartiles = QuartileTable(study, opened);
  if (!quartiles.rows.empty()) {
    section.paragraphs.emplace_back(
        "A quartile of the counted rows lies between its bounds with 95 % at least, over the "
        "noise: bounds are those "
        "of levels that may have it. The estimate is interpolated within its level.");
    section.tables.push_back(std::move(quartiles));
  }
  return section;
}

study::DocumentSection ImpossibleSection(const MarginalsStudy& study, const OpenedTables& opened) {
  study::DocumentSection section{
      "Pairs of levels that are declared impossible",
      {study.task.scored || study.spec.group
           ? "Synthetic rows have none of them. Counts of measured pairs opened with noise, as all "
             "do."
           : "Synthetic rows have none of them. Their counts opened with noise, as all do."}};
  study::DocumentTable table{"Counts of impossible pairs", {"pair", "count with noise"}, {}};
  size_t surprising = 0;
  for (const stats::marginals::ImpossibleCell& cell : study.spec.impossible) {
    const double count = opened.noisy.cells[CellOf(study.task.set, cell)];
    const CountTable& of = study.task.set.Pair(cell.first, cell.second);
    const auto t = static_cast<size_t>(&of - study.task.set.tables.data());
    if (!opened.noisy.Measured(t)) continue;
    surprising += count > kSurprising * opened.noisy.Stddev(t) ? 1 : 0;
    table.rows.push_back(
        {fmt::format("{} = {}, {} = {}", study.task.set.attributes[cell.first].name,
                     LevelNames(study.spec.columns[cell.first])[cell.first_level],
                     study.task.set.attributes[cell.second].name,
                     LevelNames(study.spec.columns[cell.second])[cell.second_level]),
         count});
  }
  if (surprising > 0) {
    section.paragraphs.push_back(
        fmt::format("{} of these counts are beyond what noise explains: rows have pairs of levels "
                    "that the study calls "
                    "impossible.",
                    surprising));
  }
  section.tables.push_back(std::move(table));
  return section;
}

study::DocumentSection ScoreSection(const MarginalsStudy& study, const OpenedTables& opened) {
  const stats::marginals::TableSet& set = study.task.set;
  const double half = kTwoSided * opened.scores.noise_stddev;
  study::DocumentSection section{
      "Pairs chosen by scores",
      {fmt::format(
          "Of {} pairs of columns the tables of {} were counted. A score is how far the counts of "
          "a "
          "pair are from what independent columns with the opened counts would have, in rows, "
          "added "
          "up over all cells; noise of its columns' counts and the chance of few rows are in it. "
          "Intervals are of its own noise, at 95 % each. Of the others the scores alone opened: "
          "synthetic rows have these pairs as the counted ones and single columns imply them.",
          stats::marginals::NumPairs(set), study.task.scored->pairs)}};
  study::DocumentTable table{"Counted pairs", {"pair", "score", "lower", "upper"}, {}};
  const size_t d = set.attributes.size();
  for (size_t t = d; t < set.tables.size(); ++t) {
    if (!opened.noisy.Measured(t)) continue;
    const double score = opened.scores.scores[t - d];
    table.rows.push_back({fmt::format("{}, {}", set.attributes[set.tables[t].first].name,
                                      set.attributes[set.tables[t].second].name),
                          score, score - half, score + half});
  }
  section.tables.push_back(std::move(table));
  return section;
}

Json QuartilesJson(const MarginalsStudy& study, const OpenedTables& opened) {
  Json quartiles = Json::array();
  for (size_t a = 0; a < study.spec.columns.size(); ++a) {
    for (const Quartile& quartile : QuartilesOfColumn(study, a, opened)) {
      quartiles.push_back({{"column", study.spec.columns[a].encoding.column.name},
                           {"probability", quartile.probability},
                           {"estimate", quartile.estimate},
                           {"lower", quartile.lower},
                           {"upper", quartile.upper}});
    }
  }
  return quartiles;
}

namespace {

// Of tables that `of` names: the level of each column in turn, nothing for columns that a table has
// not, then the count with its interval.
template <typename Of>
std::string LinesOf(const MarginalsStudy& study, const OpenedTables& opened, size_t columns,
                    const Of& of) {
  const stats::marginals::TableSet& set = study.task.set;
  std::vector<std::vector<std::string>> names;
  for (const LevelColumn& column : study.spec.columns) {
    names.push_back(LevelNames(column));
    for (std::string& name : names.back()) name = data::QuotedField(name, ',');
  }
  std::string text;
  for (size_t t = 0; t < set.tables.size(); ++t) {
    const CountTable& table = set.tables[t];
    if (!of(table) || !opened.noisy.Measured(t)) continue;
    const double half = kTwoSided * opened.noisy.Stddev(t);
    const std::span<const double> counts = CellsOf(table, opened);
    const std::vector<uint32_t> attributes = table.Attributes();
    for (size_t i = 0; i < counts.size(); ++i) {
      size_t inner = counts.size();
      for (size_t column = 0; column < columns; ++column) {
        if (column >= attributes.size()) {
          text += ",,";
          continue;
        }
        const stats::marginals::Attribute& attribute = set.attributes[attributes[column]];
        inner /= attribute.levels;
        text += fmt::format("{},{},", data::QuotedField(attribute.name, ','),
                            names[attributes[column]][i / inner % attribute.levels]);
      }
      text += fmt::format("{:.2f},{:.2f},{:.2f}\n", counts[i], counts[i] - half, counts[i] + half);
    }
  }
  return text;
}

}  // namespace

std::string CountsCsv(const MarginalsStudy& study, const OpenedTables& opened) {
  return "column,level,with,with_level,count,lower,upper\n" +
         LinesOf(study, opened, 2, [](const CountTable& table) { return !table.third; });
}

std::string TriplesCsv(const MarginalsStudy& study, const OpenedTables& opened) {
  return "column,level,with,with_level,and,and_level,count,lower,upper\n" +
         LinesOf(study, opened, 3, [](const CountTable& table) { return table.third.has_value(); });
}

}  // namespace partita::methods::marginals
