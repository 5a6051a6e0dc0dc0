#include "methods/describe/plain_table.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "stats/tables/ranks.h"

namespace partita::methods::describe {

PlainColumn PlainTable::Column(size_t v, size_t arm) const {
  const data::ColumnSchema& schema = spec_.variables[v].schema;
  PlainColumn column;
  column.counts.resize(CountedValues(schema).size());
  std::vector<double> values;
  for (size_t h = 0; h < tables_.size(); ++h) {
    for (const double value : Values(h, v, arm)) {
      if (std::isnan(value)) {
        ++column.missing;
        continue;
      }
      ++column.n;
      if (column.counts.empty()) {
        values.push_back(value);
      } else {
        ++column.counts[static_cast<size_t>(value)];
      }
    }
  }
  Moments(values, column);
  return column;
}

bool PlainTable::Passes(size_t v, bool by_group) const {
  const size_t first = by_group ? 0 : layout_.arms - 1;
  const size_t last = by_group ? layout_.groups : layout_.arms;
  for (size_t arm = first; arm < last; ++arm) {
    for (size_t cell = 0; cell < layout_.rows_of[v]; ++cell) {
      std::vector<uint64_t> own;
      for (size_t h = 0; h < tables_.size(); ++h) {
        uint64_t count = 0;
        for (const double value : Values(h, v, arm)) count += RowOf(v, value) == cell ? 1 : 0;
        own.push_back(count);
      }
      if (!Enough(own)) return false;
    }
  }
  for (size_t cell = 0; cell < layout_.rows_of[v] && left_out_ != nullptr; ++cell) {
    std::vector<uint64_t> own;
    for (size_t h = 0; h < tables_.size(); ++h) own.push_back(LeftOut(v, h)[cell]);
    if (!Enough(own)) return false;
  }
  return left_out_ == nullptr || !Names(v, by_group);
}

std::vector<uint64_t> PlainTable::Counts(size_t v, size_t arm) const {
  std::vector<uint64_t> counts(layout_.rows_of[v]);
  for (size_t h = 0; h < tables_.size(); ++h) {
    for (const double value : Values(h, v, arm)) ++counts[RowOf(v, value)];
  }
  return counts;
}

std::vector<uint64_t> PlainTable::LeftOut(size_t v, size_t holder) const {
  std::vector<uint64_t> counts(layout_.rows_of[v]);
  if (crossed_[holder][v] == 0) return counts;
  for (const double value : Values((*left_out_)[holder], holder, v, layout_.arms - 1))
    ++counts[RowOf(v, value)];
  return counts;
}

bool PlainTable::OneValue(size_t v, size_t arm) const {
  const std::vector<uint64_t> counts = Counts(v, arm);
  const size_t values = CountedValues(spec_.variables[v].schema).size();
  return values > 1 &&
         std::count_if(counts.begin(), counts.begin() + static_cast<std::ptrdiff_t>(values),
                       [](uint64_t count) { return count > 0; }) == 1;
}

bool PlainTable::Crossed(size_t v) const {
  return std::ranges::any_of(crossed_, [v](const auto& of_table) { return of_table[v] != 0; });
}

bool PlainTable::Names(size_t v, bool by_group) const {
  if (!by_group || !Crossed(v)) {
    size_t groups = 0;
    for (size_t g = 0; g < layout_.groups; ++g) {
      const std::vector<uint64_t> counts = Counts(v, g);
      groups += std::ranges::any_of(counts, [](uint64_t count) { return count > 0; }) ? 1 : 0;
    }
    return OneValue(v, layout_.arms - 1) || (by_group && groups == 1);
  }
  for (size_t g = 0; g < layout_.groups; ++g) {
    if (OneValue(v, g)) return true;
  }
  for (size_t cell = 0; cell < layout_.rows_of[v]; ++cell) {
    uint64_t left_out = 0;
    size_t groups = 0;
    for (size_t g = 0; g < layout_.groups; ++g) groups += Counts(v, g)[cell] > 0 ? 1 : 0;
    for (size_t h = 0; h < tables_.size(); ++h) left_out += LeftOut(v, h)[cell];
    if (groups + (left_out > 0 ? 1 : 0) == 1) return true;
  }
  return false;
}

bool PlainTable::QuantileOpens(size_t v, size_t arm, double value) const {
  const Cells cells = CellsOf(spec_.variables[v].schema, spec_.most_cells);
  const auto cell = static_cast<int64_t>(cells.Of(value));
  std::vector<uint64_t> own;
  for (size_t h = 0; h < tables_.size(); ++h) {
    uint64_t count = 0;
    for (const double other : Values(h, v, arm)) {
      if (std::isnan(other)) continue;
      const int64_t away = std::abs(static_cast<int64_t>(cells.Of(other)) - cell);
      count += away <= static_cast<int64_t>(cells.neighbours) ? 1 : 0;
    }
    own.push_back(count);
  }
  if (left_out_ != nullptr) {
    const data::ColumnSchema& schema = spec_.variables[v].schema;
    const double half = (schema.upper - schema.lower) / 2;
    const PlainColumn column = Column(v, arm);
    if (column.n < 2 || column.sd <= 0x1p-14 * half) return false;
  }
  return std::ranges::any_of(own, [](uint64_t count) { return count > 0; }) && Enough(own);
}

std::optional<double> PlainTable::RankRoot(size_t v) const {
  const Cells cells = CellsOf(spec_.variables[v].schema, spec_.most_cells);
  std::vector<std::vector<uint64_t>> counts(cells.count, std::vector<uint64_t>(layout_.groups));
  for (size_t h = 0; h < tables_.size(); ++h) {
    for (size_t g = 0; g < layout_.groups; ++g) {
      for (const double value : Values(h, v, g)) {
        if (!std::isnan(value)) ++counts[cells.Of(value)][g];
      }
    }
  }
  const std::optional<double> statistic = stats::tables::KruskalWallis(counts);
  return statistic ? std::optional(std::sqrt(*statistic)) : std::nullopt;
}

stats::tables::MantelHaenszel PlainTable::OverTables(size_t v) const {
  std::vector<stats::tables::TwoByTwo> strata(tables_.size());
  for (size_t h = 0; h < tables_.size(); ++h) {
    const auto count = [&](size_t arm, uint64_t& events, uint64_t& rows) {
      for (const double value : Values(h, v, arm)) {
        if (std::isnan(value)) continue;
        ++rows;
        events += value > 0 ? 1 : 0;
      }
    };
    count(0, strata[h].reference_events, strata[h].reference);
    count(1, strata[h].events, strata[h].rows);
  }
  return stats::tables::MantelHaenszelOf(strata);
}

std::vector<double> PlainTable::Values(const data::Table& table, size_t holder, size_t v,
                                       size_t arm) const {
  const data::Column& column = table.Get(spec_.variables[v].schema.name);
  std::vector<double> values;
  for (size_t r = 0; r < table.num_rows; ++r) {
    const bool all = !layout_.grouped || arm == layout_.groups;
    if (spec_.by_site) {
      if (!all && arm != holder) continue;
    } else if (!all && table.Get(spec_.group->schema.name).codes[r] != static_cast<int32_t>(arm)) {
      continue;
    }
    if (column.schema.levels.empty()) {
      values.push_back(column.numbers[r]);
    } else {
      values.push_back(column.codes[r] < 0 ? std::numeric_limits<double>::quiet_NaN()
                                           : column.codes[r]);
    }
  }
  return values;
}

size_t PlainTable::RowOf(size_t v, double value) const {
  if (std::isnan(value)) return layout_.rows_of[v] - 1;
  return CountedValues(spec_.variables[v].schema).empty() ? 0 : static_cast<size_t>(value);
}

bool PlainTable::Enough(const std::vector<uint64_t>& own) const {
  uint64_t all = 0;
  for (const uint64_t rows : own) all += rows;
  const auto enough = [&](uint64_t rows) { return rows >= min_cell_ || rows == 0; };
  bool passes = enough(all);
  for (const uint64_t rows : own) passes = passes && (own.size() == 1 || enough(all - rows));
  return passes;
}

void PlainTable::Moments(std::vector<double> values, PlainColumn& column) const {
  if (values.empty()) return;
  long double sum = 0, squares = 0;
  for (const double value : values) sum += value;
  const long double mean = sum / static_cast<long double>(values.size());
  for (const double value : values) squares += (value - mean) * (value - mean);
  column.mean = static_cast<double>(mean);
  if (values.size() > 1)
    column.sd = std::sqrt(static_cast<double>(squares) / static_cast<double>(values.size() - 1));
  std::sort(values.begin(), values.end());
  for (const uint32_t quantile : spec_.quantiles) {
    const size_t rank = (quantile * values.size() + 999) / 1000;
    column.quantiles.push_back(values[std::max<size_t>(rank, 1) - 1]);
  }
}

}  // namespace partita::methods::describe
