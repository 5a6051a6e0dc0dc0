#include "run/method/covariate_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace partita::run {
namespace {

constexpr double kContinuousBits = 10;  // by convention
// Patterns are written as a number up to here, then as a power of two.
constexpr double kMostWrittenBits = 20;
// Where min_rows alone says how many rows there are, it says so of all parties together.
constexpr char kIfSpread[] =
    "; if the rows that min_rows promises lie at the parties in equal parts, or as the declared "
    "numbers "
    "of rows do: nothing checks that, and a party that has nearly all of them lacks fewer than is "
    "counted here";

// Of a block: rows that take part at least, and whether nothing but a guess says that they lie in it.
struct BlockRows {
  double least = 0;
  bool spread = false;
};

// Of positions of hidden rows nobody knows how many take part.
std::vector<BlockRows> LeastRows(const Study& study, bool rows_left_out) {
  const std::vector<data::RowBlock>& blocks = study.partition.blocks;
  const std::optional<uint64_t> total = study.partition.TotalRows();
  std::vector<BlockRows> rows;
  for (const data::RowBlock& block : blocks) {
    const double share = total ? static_cast<double>(*block.count) / static_cast<double>(*total)
                               : 1.0 / static_cast<double>(blocks.size());
    const double promised = static_cast<double>(study.file.disclosure.min_rows) * share;
    const bool declared = total && !rows_left_out && !block.hidden;
    rows.push_back(
        {declared ? static_cast<double>(*block.count) : promised, !declared && blocks.size() > 1});
  }
  return rows;
}

double Lacking(const Study& study, const PatternColumns& columns, const data::SegmentPart* part) {
  double bits = 0;
  for (const auto& [name, values] : columns) {
    const bool own = part != nullptr && std::any_of(part->variables.begin(), part->variables.end(),
                                                    [&, wanted = name](size_t v) {
                                                      return study.partition.variables[v] == wanted;
                                                    });
    if (!own) bits += values;
  }
  return bits;
}

std::vector<privacy::UnknownRows> UnknownTo(const Study& study, const PatternColumns& columns,
                                            const std::vector<BlockRows>& rows, size_t holder) {
  std::map<double, BlockRows> by_patterns;  // log2 of patterns to rows
  for (const data::Segment& segment : study.partition.segments) {
    const data::SegmentPart* own = nullptr;
    for (const data::SegmentPart& part : segment.parts) {
      if (part.holder == holder) own = &part;
    }
    BlockRows& of = by_patterns[Lacking(study, columns, own)];
    of.least += rows[segment.block].least;
    of.spread = of.spread || rows[segment.block].spread;
  }
  std::vector<privacy::UnknownRows> unknown;
  for (const auto& [bits, count] : by_patterns) {
    if (bits > 0) unknown.push_back({static_cast<uint64_t>(count.least), bits, count.spread});
  }
  return unknown;
}

}  // namespace

double ValueBits(const data::ColumnSchema& variable) {
  if (!variable.levels.empty()) return std::log2(static_cast<double>(variable.levels.size()));
  const bool whole =
      variable.type == data::ColumnType::kInteger || variable.type == data::ColumnType::kDate;
  return whole ? std::log2(variable.upper - variable.lower + 1) : kContinuousBits;
}

std::map<std::string, std::set<std::string>> ViewsOf(
    const std::vector<data::DesignColumn>& columns) {
  std::map<std::string, std::set<std::string>> views;
  for (const data::DesignColumn& column : columns) {
    for (const std::string& source : data::SourcesOf(column))
      views[source].insert(column.factor.empty() ? source : column.factor);
  }
  return views;
}

PatternColumns PatternColumnsOf(const Study& study, const data::Schema& factors,
                                const std::vector<data::DesignColumn>& columns) {
  PatternColumns patterns;
  for (const auto& [source, views] : ViewsOf(columns)) {
    double bits = 0;
    for (const std::string& view : views) {
      const data::ColumnSchema* variable = factors.Find(view);
      bits += variable == nullptr ? kContinuousBits : ValueBits(*variable);
    }
    const data::ColumnSchema* variable = study.file.dictionary.Find(source);
    patterns.emplace_back(source,
                          variable == nullptr ? bits : std::min(bits, ValueBits(*variable)));
  }
  return patterns;
}

std::vector<privacy::UnknownRows> LeastUnknown(const Study& study, const PatternColumns& columns,
                                               bool rows_left_out) {
  const std::vector<BlockRows> rows = LeastRows(study, rows_left_out);
  std::vector<privacy::UnknownRows> least;
  for (size_t h = 0; h < study.partition.holders.size(); ++h) {
    std::vector<privacy::UnknownRows> unknown = UnknownTo(study, columns, rows, h);
    if (unknown.empty()) continue;  // there is nothing that it does not know
    if (least.empty() || privacy::TableBits(unknown) < privacy::TableBits(least))
      least = std::move(unknown);
  }
  return least;
}

study::PlanBits BitsAgainst(double opened, const std::vector<CovariateTable>& tables,
                            int grid_bits) {
  const auto less = [](const CovariateTable& a, const CovariateTable& b) {
    return privacy::TableBits(a.unknown) < privacy::TableBits(b.unknown);
  };
  const CovariateTable& table = *std::min_element(tables.begin(), tables.end(), less);
  double patterns = 0;
  bool spread = false;
  study::PlanBits bits;
  for (const privacy::UnknownRows& part : table.unknown) {
    spread = spread || part.spread;
    bits.rows += part.rows;
    patterns = std::max(patterns, part.log2_patterns);
  }
  bits.opened = privacy::WholeBitsUp(opened);
  bits.table = privacy::WholeBitsDown(privacy::TableBits(table.unknown));
  bits.patterns = patterns <= kMostWrittenBits
                      ? fmt::format("{:.0f}", std::exp2(patterns))
                      : fmt::format("2^{:.0f}", std::floor(patterns + 1e-6));
  if (grid_bits > 0) bits.grid = fmt::format("2^-{}", grid_bits);
  bits.passes = privacy::Passes(bits.opened, bits.table);
  bits.meaning =
      bits.passes
          ? "at most half of the bits of the table of covariates: an empirical rule, from attacks "
            "on random tables of 0/1 columns that found none of these"
          : fmt::format(
                "more than half of the bits of the {0}: whoever has these numbers may "
                "compute how many rows have each combination of values, single persons "
                "among them ({0}); the study file accepts this, and so does who approves it",
                table.outcomes ? kTableOfOutcomes : kTableOfCovariates);
  if (bits.passes && spread) bits.meaning += kIfSpread;
  return bits;
}

}  // namespace partita::run
