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

void CheckTriples(const TableSet& set, std::span<const Triple> triples) {
  const auto fail = [](const std::string& what, const char* hint) {
    throw Error(ErrorCode::kBadInput, what, hint);
  };
  if (triples.size() > kMaxTriples) {
    fail(fmt::format("{} triples are named, more than {}", triples.size(), kMaxTriples),
         "Name those that matter most: each takes noise from all other tables.");
  }
  std::set<Triple> named;
  for (const Triple& triple : triples) {
    const bool increasing = triple[0] < triple[1] && triple[1] < triple[2];
    if (!increasing || triple[2] >= set.attributes.size() || !named.insert(triple).second) {
      fail("A triple names an attribute twice or one that is not there, or stands twice",
           "Name three attributes, each triple once.");
    }
    const auto &a = set.attributes[triple[0]], &b = set.attributes[triple[1]],
               &c = set.attributes[triple[2]];
    const size_t cells = size_t{a.levels} * b.levels * c.levels;
    if (cells <= kMaxTripleCells) continue;
    fail(fmt::format("The triple of '{}', '{}' and '{}' has {} cells, more than {}", a.name, b.name,
                     c.name, cells, kMaxTripleCells),
         "Take fewer and wider bins, or let rare levels share one.");
  }
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

std::span<const CountTable> TableSet::Triples() const {
  return std::span<const CountTable>(tables).subspan(attributes.size() + NumPairs());
}

std::vector<uint32_t> CountTable::Attributes() const {
  if (one_way()) return {first};
  if (!third) return {first, second};
  return {first, second, *third};
}

std::array<size_t, 3> StepsOf(const TableSet& set, const CountTable& triple) {
  return {triple.columns, set.attributes[*triple.third].levels, 1};
}

std::string TableName(const TableSet& set, const CountTable& table) {
  std::string name;
  for (const uint32_t a : table.Attributes())
    name += (name.empty() ? "" : ", ") + set.attributes[a].name;
  return name;
}

TableSet AllTables(std::vector<Attribute> attributes, std::span<const Triple> triples) {
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
  CheckTriples(set, triples);
  for (const Triple& triple : triples) {
    CountTable table = {triple[0], triple[1], set.attributes[triple[0]].levels,
                        set.attributes[triple[1]].levels * set.attributes[triple[2]].levels};
    table.third = triple[2];
    Append(table, set);
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
    const std::vector<uint16_t>* third = table.third ? &codes[*table.third] : nullptr;
    const uint32_t last = table.third ? set.attributes[*table.third].levels : 1;
    for (size_t n = 0; n < first.size(); ++n) {
      cells[size_t{first[n]} * table.columns + size_t{second[n]} * last +
            (third ? (*third)[n] : 0)] += 1;
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
  for (size_t t = 0; t < d + set.NumPairs(); ++t) {
    (t < d ? mean.one_way : mean.pairs) += variations[t];
  }
  mean.one_way /= static_cast<double>(d);
  if (set.NumPairs() > 0) mean.pairs /= static_cast<double>(set.NumPairs());
  return mean;
}

}  // namespace partita::stats::marginals
