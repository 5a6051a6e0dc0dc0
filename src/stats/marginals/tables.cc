#include "stats/marginals/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.h"

namespace partita::stats::marginals {
namespace {

void CheckAttributes(const std::vector<Attribute>& attributes) {
  if (attributes.empty()) {
    throw Error(ErrorCode::kBadInput, "There are no attributes to count",
                "Name at least one variable.");
  }
  std::set<std::string> names;
  size_t levels = 0;
  for (const Attribute& attribute : attributes) {
    if (attribute.name.empty() || !names.insert(attribute.name).second) {
      throw Error(ErrorCode::kBadInput,
                  fmt::format("An attribute's name is empty or stands twice: '{}'", attribute.name),
                  "Give every attribute a name of its own.");
    }
    if (attribute.levels < 2) {
      throw Error(ErrorCode::kBadInput,
                  fmt::format("Attribute '{}' has {} levels", attribute.name, attribute.levels),
                  "Declare two levels or more, or leave it out.");
    }
    levels += attribute.levels;
  }
  if (attributes.size() <= kMaxAttributes && levels <= kMaxLevels) return;
  const auto largest = std::ranges::max_element(attributes, {}, &Attribute::levels);
  throw Error(
      ErrorCode::kBadInput,
      fmt::format("There are {} attributes with {} levels in all ('{}' has {}), more than {} "
                  "attributes or {} levels",
                  attributes.size(), levels, largest->name, largest->levels, kMaxAttributes,
                  kMaxLevels),
      "Leave out attributes, take fewer and wider bins, or let rare levels share one.");
}

void Append(CountTable table, TableSet& set) {
  table.offset = set.num_cells;
  set.num_cells += table.cells();
  set.tables.push_back(table);
}

}  // namespace

const CountTable& TableSet::Pair(size_t first, size_t second) const {
  const size_t d = attributes.size();
  return tables[d + first * d - first * (first + 1) / 2 + (second - first - 1)];
}

TableSet AllTables(std::vector<Attribute> attributes) {
  CheckAttributes(attributes);
  TableSet set;
  set.attributes = std::move(attributes);
  const auto d = static_cast<uint32_t>(set.attributes.size());
  for (uint32_t a = 0; a < d; ++a) Append({a, a, set.attributes[a].levels, 1}, set);
  for (uint32_t a = 0; a < d; ++a) {
    for (uint32_t b = a + 1; b < d; ++b) {
      Append({a, b, set.attributes[a].levels, set.attributes[b].levels}, set);
    }
  }
  return set;
}

std::vector<double> Count(const TableSet& set, const Codes& codes) {
  if (codes.size() != set.attributes.size()) {
    throw Error(ErrorCode::kUsage, "There is not one column of codes for each attribute", "");
  }
  for (size_t a = 0; a < codes.size(); ++a) {
    bool is_level = codes[a].size() == codes[0].size();
    for (const uint16_t code : codes[a]) is_level &= code < set.attributes[a].levels;
    if (!is_level) {
      throw Error(ErrorCode::kUsage, "Codes have different lengths, or one is no level", "");
    }
  }
  std::vector<double> counts(set.num_cells, 0);
  for (const CountTable& table : set.tables) {
    double* cells = counts.data() + table.offset;
    const std::vector<uint16_t>&first = codes[table.first], &second = codes[table.second];
    if (table.one_way()) {
      for (const uint16_t code : first) cells[code] += 1;
      continue;
    }
    for (size_t n = 0; n < first.size(); ++n) {
      cells[size_t{first[n]} * table.columns + second[n]] += 1;
    }
  }
  return counts;
}

std::vector<double> TotalVariations(const TableSet& set, std::span<const double> first,
                                    std::span<const double> second) {
  std::vector<double> variations;
  for (const CountTable& table : set.tables) {
    double sum = 0;
    for (size_t i = table.offset; i < table.offset + table.cells(); ++i) {
      sum += std::abs(first[i] - second[i]);
    }
    variations.push_back(sum / 2);
  }
  return variations;
}

MeanVariation MeanOf(const TableSet& set, std::span<const double> variations) {
  const size_t d = set.attributes.size();
  MeanVariation mean;
  for (size_t t = 0; t < variations.size(); ++t) {
    (t < d ? mean.one_way : mean.pairs) += variations[t];
  }
  mean.one_way /= static_cast<double>(d);
  if (variations.size() > d) mean.pairs /= static_cast<double>(variations.size() - d);
  return mean;
}

}  // namespace partita::stats::marginals
