#include "methods/marginals/counts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/date.h"
#include "data/csv_writer.h"
#include "stats/marginals/noise.h"
#include "stats/marginals/quantiles.h"

namespace partita::methods::marginals {
namespace {

using Json = nlohmann::ordered_json;
using stats::marginals::CountTable;

constexpr double kTwoSided = 1.96;  // of the normal law, 95 %
// Noise alone passes it once in 30000 cells.
constexpr double kSurprising = 4;

std::span<const double> CellsOf(const CountTable& table, const std::vector<double>& cells) {
  return table.Of(std::span<const double>(cells));
}

// One column with the noise's interval: what opened, nothing else.
study::DocumentTable LevelTable(const MarginalsStudy& study, size_t a,
                                const std::vector<double>& cells) {
  study::DocumentTable table{"Counts of " + study.task.set.attributes[a].name,
                             {"level", "count with noise", "lower", "upper"},
                             {}};
  const std::vector<std::string> names = LevelNames(study.spec.columns[a]);
  const std::span<const double> counts =
      study.task.set.tables[a].Of(std::span<const double>(cells));
  const double half = kTwoSided * StddevOf(study, a);
  for (size_t v = 0; v < counts.size(); ++v) {
    table.rows.push_back({names[v], counts[v], counts[v] - half, counts[v] + half});
  }
  return table;
}

struct Quartile {
  double probability = 0, estimate = 0, lower = 0, upper = 0;
};

// The bounds of a level of numbers; a whole number is both.
std::pair<double, double> BoundsOfLevel(const data::ColumnEncoding& encoding, size_t level) {
  const auto at = static_cast<double>(level);
  if (encoding.kind == data::EncodingKind::kWhole)
    return {encoding.column.lower + at, encoding.column.lower + at};
  if (encoding.column.type == data::ColumnType::kNumeric) return data::BoundsOfBin(encoding, at);
  return data::WholeNumbersOfBin(encoding, at);
}

// Of a column of numbers or dates; cells without a value left out. Empty for others.
std::vector<Quartile> QuartilesOf(const MarginalsStudy& study, size_t a,
                                  const std::vector<double>& cells) {
  const data::ColumnEncoding& encoding = study.spec.columns[a].encoding;
  if (data::HasLevels(encoding.column.type)) return {};
  const std::span<const double> counts =
      CellsOf(study.task.set.tables[a], cells).first(data::NumLevels(encoding));
  std::vector<Quartile> quartiles;
  for (const double probability : {0.25, 0.5, 0.75}) {
    const stats::marginals::QuantileLevels levels =
        stats::marginals::QuantileOf(counts, StddevOf(study, a), probability);
    const auto [begin, end] = BoundsOfLevel(encoding, levels.middle);
    double estimate = begin + levels.within * (end - begin);
    if (encoding.column.type != data::ColumnType::kNumeric) estimate = std::round(estimate);
    quartiles.push_back({probability, estimate, BoundsOfLevel(encoding, levels.first).first,
                         BoundsOfLevel(encoding, levels.last).second});
  }
  return quartiles;
}

study::DocumentTable QuartileTable(const MarginalsStudy& study, const std::vector<double>& cells) {
  study::DocumentTable table{"Quartiles of numbers, from noisy counts",
                             {"column", "quartile", "estimate", "lower", "upper"},
                             {}};
  for (size_t a = 0; a < study.spec.columns.size(); ++a) {
    const data::ColumnSchema& column = study.spec.columns[a].encoding.column;
    const auto cell = [&](double number) {
      return column.type == data::ColumnType::kDate ? study::DocumentCell(FormatDate(number))
                                                    : study::DocumentCell(number);
    };
    for (const Quartile& quartile : QuartilesOf(study, a, cells)) {
      table.rows.push_back({column.name, fmt::format("{:.0f} %", 100 * quartile.probability),
                            cell(quartile.estimate), cell(quartile.lower), cell(quartile.upper)});
    }
  }
  return table;
}

}  // namespace

double StddevOf(const MarginalsStudy& study, size_t table) {
  return study.design.noise_stddev() * static_cast<double>(stats::marginals::kUnitLift) /
         static_cast<double>(LiftOf(study.task, table));
}

study::DocumentSection CountSection(const MarginalsStudy& study, const std::vector<double>& cells) {
  study::DocumentSection section{
      "Counts of single columns",
      {fmt::format("As they opened: with noise of standard deviation {} rows. Intervals are of "
                   "the noise, at 95 % each. All pairs stand in {}.",
                   study.NoiseText(), kCountsFile)}};
  for (size_t a = 0; a < study.spec.columns.size(); ++a) {
    section.tables.push_back(LevelTable(study, a, cells));
  }
  study::DocumentTable quartiles = QuartileTable(study, cells);
  if (!quartiles.rows.empty()) {
    section.paragraphs.emplace_back(
        "A quartile of the counted rows lies between its bounds with 95 % at least, over the "
        "noise: bounds are those "
        "of levels that may have it. The estimate is interpolated within its level.");
    section.tables.push_back(std::move(quartiles));
  }
  return section;
}

study::DocumentSection ImpossibleSection(const MarginalsStudy& study,
                                         const std::vector<double>& cells) {
  study::DocumentSection section{
      "Pairs of levels that are declared impossible",
      {"Synthetic rows have none of them. Their counts opened with noise, as all do."}};
  study::DocumentTable table{"Counts of impossible pairs", {"pair", "count with noise"}, {}};
  size_t surprising = 0;
  for (const stats::marginals::ImpossibleCell& cell : study.spec.impossible) {
    const double count = cells[CellOf(study.task.set, cell)];
    const CountTable& of = study.task.set.Pair(cell.first, cell.second);
    const auto t = static_cast<size_t>(&of - study.task.set.tables.data());
    surprising += count > kSurprising * StddevOf(study, t) ? 1 : 0;
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

Json QuartilesJson(const MarginalsStudy& study, const std::vector<double>& cells) {
  Json quartiles = Json::array();
  for (size_t a = 0; a < study.spec.columns.size(); ++a) {
    for (const Quartile& quartile : QuartilesOf(study, a, cells)) {
      quartiles.push_back({{"column", study.spec.columns[a].encoding.column.name},
                           {"probability", quartile.probability},
                           {"estimate", quartile.estimate},
                           {"lower", quartile.lower},
                           {"upper", quartile.upper}});
    }
  }
  return quartiles;
}

std::string CountsCsv(const MarginalsStudy& study, const std::vector<double>& cells) {
  std::vector<std::vector<std::string>> names;
  for (const LevelColumn& column : study.spec.columns) {
    names.push_back(LevelNames(column));
    for (std::string& name : names.back()) name = data::QuotedField(name, ',');
  }
  std::string text = "column,level,with,with_level,count,lower,upper\n";
  const auto& attributes = study.task.set.attributes;
  for (size_t t = 0; t < study.task.set.tables.size(); ++t) {
    const CountTable& table = study.task.set.tables[t];
    const double half = kTwoSided * StddevOf(study, t);
    const std::span<const double> counts = CellsOf(table, cells);
    for (size_t i = 0; i < counts.size(); ++i) {
      const std::string with = table.one_way()
                                   ? ","
                                   : data::QuotedField(attributes[table.second].name, ',') + "," +
                                         names[table.second][i % table.columns];
      text += fmt::format("{},{},{},{:.2f},{:.2f},{:.2f}\n",
                          data::QuotedField(attributes[table.first].name, ','),
                          names[table.first][i / table.columns], with, counts[i], counts[i] - half,
                          counts[i] + half);
    }
  }
  return text;
}

}  // namespace partita::methods::marginals
