// All one-way and two-way tables of counts over a public domain, and three-way ones that are named.
//
// A domain is what a study file declares: attributes with their numbers of levels. Bins of numbers
// and a level for missing cells are levels like others; nothing of it is learned from rows.
//
// Cells of all tables are one vector: first the one-way tables in the order of the attributes, then
// the pairs (0, 1), (0, 2), ..., (1, 2), ..., then the triples as they are named; row-major, the
// first attribute's level being the row, the last one's the fastest. What is counted, noised, opened
// and fitted has this order.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace partita::stats::marginals {

// Of attributes, and of the levels of all of them together, D. A fit costs some 5e5 D^2 operations
// (product_model.h), a forecast four times that: a minute or so at the most. Cells are below D^2 / 2.
inline constexpr size_t kMaxAttributes = 100, kMaxLevels = 600;

struct Attribute {
  std::string name;
  uint32_t levels = 0;  // two or more
};

// Of named triples, how many, and of the cells of one: a generator holds it in one table.
inline constexpr size_t kMaxTriples = 20, kMaxTripleCells = 20'000;

struct CountTable {
  uint32_t first = 0, second = 0;  // attributes; equal: the one-way table
  uint32_t rows = 0, columns = 1;  // levels; of a triple the other two's together are columns
  size_t offset = 0;               // of its first cell
  std::optional<uint32_t> third = std::nullopt;  // of a triple: first < second < third

  bool one_way() const { return first == second; }
  bool two_way() const { return first != second && !third; }
  std::vector<uint32_t> Attributes() const;  // increasing
  size_t cells() const { return size_t{rows} * columns; }
  std::span<const double> Of(std::span<const double> values) const {
    return values.subspan(offset, cells());
  }
  std::span<double> Of(std::span<double> values) const { return values.subspan(offset, cells()); }
};

using Triple = std::array<uint32_t, 3>;  // attributes, increasing

struct TableSet {
  std::vector<Attribute> attributes;
  std::vector<CountTable> tables;  // attributes.size() of them one-way
  size_t num_cells = 0;

  // The table of two attributes, first < second.
  const CountTable& Pair(size_t first, size_t second) const;
  size_t NumPairs() const { return attributes.size() * (attributes.size() - 1) / 2; }
  std::span<const CountTable> Triples() const;
};

// How many cells of a triple lie between two levels of its first, second and third attribute.
std::array<size_t, 3> StepsOf(const TableSet& set, const CountTable& triple);

// "age", "age, sex", "age, sex, smoking".
std::string TableName(const TableSet& set, const CountTable& table);

// Throws kBadInput naming the attributes: none or too many, names empty or twice, fewer than two levels
// or too many; triples that stand twice or have another order, more than kMaxTriples of them, or one
// of more than kMaxTripleCells.
TableSet AllTables(std::vector<Attribute> attributes, std::span<const Triple> triples = {});

// How precisely tables are measured, by table: the noise of a cell has a standard deviation divided
// by it. 0: not
// measured. Empty: all 1.
using TableWeights = std::vector<double>;
inline double WeightOf(const TableWeights& weights, size_t table) {
  return weights.empty() ? 1 : weights[table];
}

// codes[a][n]: the level of attribute a in row n.
using Codes = std::vector<std::vector<uint16_t>>;

// num_cells counts. Every row is in exactly one cell of each table. Throws kUsage if a column is
// missing, lengths differ or a code is no level.
std::vector<double> Count(const TableSet& set, const Codes& codes);

// Total variation between two tables of shares (each sums to 1), by table, in [0, 1].
std::vector<double> TotalVariations(const TableSet& set, std::span<const double> first,
                                    std::span<const double> second);
// Their means over the one-way tables and over the pairs; 0 where there is none.
struct MeanVariation {
  double one_way = 0, pairs = 0;
};
MeanVariation MeanOf(const TableSet& set, std::span<const double> variations);

}  // namespace partita::stats::marginals
