#include "stats/marginals/intervals.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "base/error.h"
#include "stats/blr/variates.h"

namespace partita::stats::marginals {
namespace {

std::vector<Edge> AllPairsOf(const TableSet& set) {
  std::vector<Edge> edges;
  for (const CountTable& table : set.tables) {
    if (!table.one_way()) edges.emplace_back(table.first, table.second);
  }
  return edges;
}

// Rows drawn independently of each other from a model of one clique.
Codes DrawIndependently(const TableSet& set, const TreeModel& model, size_t rows,
                        blr::Variates& variates) {
  const Clique& clique = model.tree.cliques.front();
  std::vector<double> until;
  double sum = 0;
  for (const double share : model.cliques.front()) until.push_back(sum += share);
  std::vector<size_t> cells;
  for (size_t n = 0; n < rows; ++n) {
    const auto found = std::ranges::lower_bound(until, variates.Uniform() * sum);
    cells.push_back(std::min(static_cast<size_t>(found - until.begin()), until.size() - 1));
  }
  Codes codes;
  for (uint32_t a = 0; a < set.attributes.size(); ++a) {
    const std::vector<uint32_t> level = Projection(set, clique, {&a, 1});
    codes.emplace_back();
    for (const size_t cell : cells) codes.back().push_back(static_cast<uint16_t>(level[cell]));
  }
  return codes;
}

// A fit is not negative: where the noise reaches 0 it is too large in small cells and too small in
// large ones, twice as much after a second fit, and intervals are off by that.
void RequireClearOfZero(const TableSet& set, const NoisyTables& noisy,
                        std::span<const double> shares) {
  std::vector<bool> impossible(set.num_cells);
  for (const ImpossibleCell& cell : noisy.impossible) impossible[CellOf(set, cell)] = true;
  size_t near = 0, cells = 0;
  double least = kClearOfZero;
  std::string where;
  for (size_t t = 0; t < set.tables.size(); ++t) {
    const CountTable& table = set.tables[t];
    for (size_t i = table.offset; i < table.offset + table.cells(); ++i) {
      if (impossible[i]) continue;
      ++cells;
      const double clear = *noisy.rows * shares[i] / noisy.Stddev(t);
      if (clear < kClearOfZero) ++near;
      if (clear >= least) continue;
      least = clear;
      where = set.attributes[table.first].name;
      if (!table.one_way()) where += " with " + set.attributes[table.second].name;
    }
  }
  if (near == 0) return;
  throw Error(
      ErrorCode::kBadInput,
      fmt::format("{} of {} counts of these columns are below {} standard deviations of "
                  "their noise, the least in {}: intervals would not contain the truth as "
                  "often as they say",
                  near, cells, kClearOfZero, where),
      "Name fewer columns, or such with fewer and larger levels; 'missing' is a level, which "
      "a study with missing = \"refuse\" and faulty_rows = \"fill\" does not have. A study "
      "with a larger epsilon, fewer columns, wider bins or rare levels pooled has less noise "
      "for its counts.");
}

void RequireMeasured(const NoisyTables& noisy, const TableSet& set, const CountTable& table) {
  if (noisy.Measured(static_cast<size_t>(&table - set.tables.data()))) return;
  throw Error(ErrorCode::kBadInput,
              fmt::format("The study chose pairs by scores, and '{}' with '{}' is not among them",
                          set.attributes[table.first].name, set.attributes[table.second].name),
              "Name columns of which all pairs were counted, as counts.csv has them.");
}

}  // namespace

ColumnTables TablesAmong(const TableSet& set, const NoisyTables& noisy,
                         std::vector<uint32_t> attributes) {
  std::ranges::sort(attributes);
  ColumnTables among;
  std::vector<Attribute> named;
  for (const uint32_t a : attributes) named.push_back(set.attributes[a]);
  among.set = AllTables(std::move(named));
  among.noisy.noise_stddev = noisy.noise_stddev;
  among.noisy.rows = noisy.rows;
  for (const CountTable& table : among.set.tables) {
    const uint32_t first = attributes[table.first], second = attributes[table.second];
    const CountTable& whole = table.one_way() ? set.tables[first] : set.Pair(first, second);
    const std::span<const double> cells = whole.Of(std::span<const double>(noisy.cells));
    among.noisy.cells.insert(among.noisy.cells.end(), cells.begin(), cells.end());
    if (noisy.weights.empty()) continue;
    RequireMeasured(noisy, set, whole);
    among.noisy.weights.push_back(noisy.weights[static_cast<size_t>(&whole - set.tables.data())]);
  }
  for (const ImpossibleCell& cell : noisy.impossible) {
    const auto first = std::ranges::find(attributes, cell.first),
               second = std::ranges::find(attributes, cell.second);
    if (first == attributes.end() || second == attributes.end()) continue;
    among.noisy.impossible.push_back(
        {static_cast<uint32_t>(first - attributes.begin()), cell.first_level,
         static_cast<uint32_t>(second - attributes.begin()), cell.second_level});
  }
  return among;
}

std::vector<Codes> DrawForIntervals(const ColumnTables& tables, size_t sets,
                                    crypto::RandomSource& source) {
  const TableSet& set = tables.set;
  if (set.attributes.size() < 2) {
    throw Error(ErrorCode::kBadInput, "One column alone has no pairs to draw tables from",
                "Name two columns or more.");
  }
  double cells = 1;
  for (const Attribute& attribute : set.attributes) cells *= attribute.levels;
  if (cells > static_cast<double>(kTreeCells)) {
    throw Error(ErrorCode::kBadInput,
                fmt::format("The levels of these {} columns make {:.3g} combinations, more than {}",
                            set.attributes.size(), cells, kTreeCells),
                "Name fewer columns: those of the analysis.");
  }
  if (!tables.noisy.rows) {
    throw Error(ErrorCode::kBadInput, "The number of rows is not known",
                "Intervals need a study whose number of rows is public.");
  }
  const auto rows = static_cast<size_t>(*tables.noisy.rows);
  const std::vector<Edge> edges = AllPairsOf(set);
  const TreeModel fitted = FitGraph(set, tables.noisy, edges);
  RequireClearOfZero(set, tables.noisy, TablesOf(set, fitted));
  blr::Variates variates(source);
  std::vector<Codes> drawn;
  for (size_t i = 0; i < sets; ++i) {
    NoisyTables again = tables.noisy;
    again.cells = Count(set, DrawIndependently(set, fitted, rows, variates));
    for (size_t t = 0; t < set.tables.size(); ++t) {
      for (double& cell : set.tables[t].Of(std::span<double>(again.cells)))
        cell += again.Stddev(t) * variates.Normal();
    }
    drawn.push_back(DrawIndependently(set, FitGraph(set, again, edges), rows, variates));
    MendImpossible(set, tables.noisy.impossible, drawn.back(), source);
  }
  return drawn;
}

}  // namespace partita::stats::marginals
