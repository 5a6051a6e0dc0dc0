#include "sums/regression/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "data/design.h"
#include "stats/blr/statistics.h"

namespace partita::sums::regression {
namespace {

using stats::blr::Column;
using stats::blr::Design;

void RequireComplete(const data::CheckReport& report) {
  for (const data::ColumnCheck& column : report.columns) {
    if (column.missing == 0) continue;
    throw Error(ErrorCode::kBadData,
                fmt::format("{}, line {}: '{}' is missing ({} such cells)", report.source,
                            column.first_missing.line, column.name, column.missing),
                "leave incomplete rows out: every row of a regression is complete");
  }
}

// row_norm 0: no row is shortened.
void CountClipping(const std::vector<Column>& columns, double row_norm, Rows& rows) {
  std::vector<double> squares(rows.count);
  for (size_t c = 0; c < columns.size(); ++c) {
    uint64_t beyond = 0;
    for (size_t r = 0; r < rows.count; ++r) {
      const double scaled =
          (rows.values[r * columns.size() + c] - columns[c].centre) / columns[c].bound;
      // A hair of rounding is no clipping.
      beyond += std::abs(scaled) > 1 + 1e-9;
      const double inside = std::clamp(scaled, -1.0, 1.0);
      squares[r] += inside * inside;
    }
    if (beyond > 0) rows.clipped.push_back({columns[c].name, beyond});
  }
  if (row_norm > 0) {
    rows.shortened = static_cast<uint64_t>(std::ranges::count_if(
        squares, [&](double square) { return square > row_norm * row_norm * (1 + 1e-9); }));
  }
}

std::vector<Column> FeaturesAndTarget(const Design& design) {
  std::vector<Column> columns = design.features;
  columns.push_back(design.target);
  return columns;
}

Rows Take(const std::vector<Column>& columns, double row_norm, const data::Schema& variables,
          data::Table table, const data::CheckReport& report) {
  RequireComplete(report);
  std::vector<std::string> names;
  for (const Column& column : columns) names.push_back(column.name);
  data::AddDesignColumns(table, variables, {}, names);
  Rows rows;
  rows.count = table.num_rows;
  rows.values.resize(rows.count * columns.size());
  for (size_t c = 0; c < columns.size(); ++c) {
    const std::vector<double>& numbers = table.Get(columns[c].name).numbers;
    for (size_t r = 0; r < rows.count; ++r) rows.values[r * columns.size() + c] = numbers[r];
  }
  CountClipping(columns, row_norm, rows);
  return rows;
}

std::vector<double> ToDoubles(std::span<const Int128> entries) {
  std::vector<double> values;
  values.reserve(entries.size());
  for (const Int128 entry : entries) {
    values.push_back(std::ldexp(static_cast<double>(entry), -stats::blr::kSumFractionBits));
  }
  return values;
}

}  // namespace

Rows TakeRows(const Spec& spec, const Design& design, data::Table table,
              const data::CheckReport& report) {
  return Take(FeaturesAndTarget(design), spec.row_norm, spec.variables, std::move(table), report);
}

Rows OneRow(const Rows& rows, size_t index, const Spec& spec, const Design& design) {
  const std::vector<Column> columns = FeaturesAndTarget(design);
  const std::span<const double> values = rows.row(index, columns.size());
  Rows one;
  one.count = 1;
  one.values.assign(values.begin(), values.end());
  CountClipping(columns, spec.row_norm, one);
  return one;
}

Rows TakePredictorRows(const Spec& spec, const Design& design, data::Table table,
                       const data::CheckReport& report) {
  data::Schema predictors = spec.variables;
  predictors.columns.pop_back();
  return Take(design.features, 0, predictors, std::move(table), report);
}

std::vector<double> EncodeRow(const Spec& spec, const Design& design,
                              std::span<const double> values) {
  if (spec.collects == Collects::kSpread) {
    return ToDoubles(stats::blr::SumSquares(design, values));
  }
  std::vector<Int128> entries(stats::blr::NumEntries(design));
  stats::blr::RowEntries(design, values, entries);
  return ToDoubles(entries);
}

void RequireOfARow(const Spec& spec, const Design& design, std::span<const double> vector,
                   const std::string& file) {
  constexpr double kRounded = 5e-7;  // of one number with 6 decimals
  const auto refuse = [&](const std::string& why) {
    throw Error(ErrorCode::kBadData, fmt::format("no row has the numbers of {}: {}", file, why),
                "let 'partita regression encode' write them, or name the table with --table");
  };
  const auto is_square = [](double value) { return value >= -kRounded && value <= 1 + kRounded; };
  if (spec.collects == Collects::kSpread) {
    if (!std::ranges::all_of(vector, is_square)) refuse("squares lie between 0 and 1");
    return;
  }
  // The products of all pairs of coordinates, as in stats/blr/statistics.h: a matrix of rank one.
  const size_t size = design.row_size();
  std::vector<double> products(size * size);
  const auto at = [&](size_t i, size_t j) -> double& { return products[i * size + j]; };
  size_t next = 0;
  for (size_t i = 0; i < size; ++i) {
    for (size_t j = i; j < size; ++j)
      at(i, j) = at(j, i) = design.intercept && j == 0 ? 1 : vector[next++];
    if (!is_square(at(i, i))) refuse("squares lie between 0 and 1");
  }
  for (size_t i = 0; i < size; ++i) {
    for (size_t j = 0; j < size; ++j) {
      for (size_t k = j; k < size; ++k) {
        // Four numbers of at most 1, each off by kRounded.
        if (std::abs(at(i, i) * at(j, k) - at(i, j) * at(i, k)) > 4 * kRounded)
          refuse("they are not the products of its coordinates with each other");
      }
    }
  }
}

std::vector<std::string> ClippingNotes(const Rows& rows, const Spec& spec) {
  std::vector<std::string> notes;
  for (const ClippedColumn& column : rows.clipped) {
    notes.push_back(
        fmt::format("{}: {} of {} rows lie beyond the bounds and count as if they lay "
                    "on them",
                    column.name, column.rows, rows.count));
  }
  if (rows.shortened > 0) {
    notes.push_back(
        fmt::format("{} of {} rows are longer than the norm {:.6g} and are shortened "
                    "to it",
                    rows.shortened, rows.count, spec.row_norm));
  }
  return notes;
}

}  // namespace partita::sums::regression
