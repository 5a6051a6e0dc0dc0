#include "data/repair.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace partita::data {
namespace {

double StandIn(const ColumnSchema& column) {
  const double middle = column.lower / 2 + column.upper / 2;
  const bool whole = column.type == ColumnType::kInteger || column.type == ColumnType::kDate;
  return whole ? std::clamp(std::floor(middle), column.lower, column.upper) : middle;
}

int32_t StandInCode(const ColumnSchema& column) {
  const auto reference = std::find(column.levels.begin(), column.levels.end(), column.reference);
  return reference == column.levels.end() ? 0
                                          : static_cast<int32_t>(reference - column.levels.begin());
}

std::string CellsText(uint64_t count, const char* what, uint64_t line) {
  return fmt::format("{} {} {} (first at line {})", count, count == 1 ? "cell" : "cells", what,
                     line);
}

}  // namespace

void FillMissing(Table& table, std::span<const std::string> used, FaultyRows rule) {
  if (rule == FaultyRows::kNeutral) table.neutral.resize(table.num_rows);
  for (Column& column : table.columns) {
    if (std::find(used.begin(), used.end(), column.schema.name) == used.end()) continue;
    const auto mark = [&](size_t row) {
      if (rule == FaultyRows::kNeutral) table.neutral[row] = 1;
    };
    const double number = StandIn(column.schema);
    for (size_t row = 0; row < column.numbers.size(); ++row) {
      if (!std::isnan(column.numbers[row])) continue;
      column.numbers[row] = number;
      mark(row);
    }
    const int32_t code = StandInCode(column.schema);
    for (size_t row = 0; row < column.codes.size(); ++row) {
      if (column.codes[row] >= 0) continue;
      column.codes[row] = code;
      mark(row);
    }
  }
}

RepairedCells CountRepaired(const CheckReport& report, bool allow_missing) {
  RepairedCells repaired;
  const auto say = [&](const std::string& what) {
    repaired.where += (repaired.where.empty() ? "" : "; ") + what;
  };
  for (const ColumnCheck& column : report.columns) {
    std::string faults;
    const auto add = [&](const std::string& what) {
      faults += (faults.empty() ? "" : ", ") + what;
    };
    repaired.clamped += column.out_of_bounds;
    if (column.out_of_bounds > 0)
      add(CellsText(column.out_of_bounds, "outside the bounds", column.first_out_of_bounds.line));
    if (column.unusable > 0)
      add(CellsText(column.unusable, "not of its type", column.first_unusable.line));
    const uint64_t faulty = allow_missing ? column.unusable : column.missing;
    repaired.without_value += faulty;
    if (faulty > column.unusable)
      add(CellsText(faulty - column.unusable, "without a value", column.first_missing.line));
    if (!faults.empty()) say(fmt::format("column '{}': {}", column.name, faults));
  }
  repaired.ragged_rows = report.ragged;
  if (report.ragged > 0) {
    say(fmt::format("{} {} with more or fewer fields than the header (first at line {})",
                    report.ragged, report.ragged == 1 ? "record" : "records",
                    report.first_ragged_line));
  }
  return repaired;
}

}  // namespace partita::data
