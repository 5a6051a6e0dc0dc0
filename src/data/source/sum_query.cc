#include "data/source/sum_query.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/error.h"
#include "data/utf8.h"

namespace partita::data {
namespace {

size_t NumProducts(const SumQuery& query) {
  const size_t variables = query.variables.size();
  return query.only_squares ? variables : variables * (variables + 1) / 2;
}

// By row, 1 where all hold. Tables of the same columns under other names each.
std::vector<uint8_t> RowsOf(const SumRows& rows, const Table& table) {
  std::vector<uint8_t> chosen(table.num_rows, 1);
  for (const SumCondition& one : rows) {
    Table column;
    column.num_rows = table.num_rows;
    column.columns = {table.columns.at(one.column)};
    column.columns[0].schema.name = one.condition.variable;
    const std::vector<uint8_t> holds = SelectRows(column, std::span(&one.condition, 1));
    for (size_t r = 0; r < chosen.size(); ++r) chosen[r] &= holds[r];
  }
  return chosen;
}

SumChecks ChecksOf(const Column& column) {
  SumChecks checks;
  for (const int32_t code : column.codes) {
    checks.missing += code == -1 ? 1 : 0;
    checks.unusable += code < -1 ? 1 : 0;
  }
  for (const double x : column.numbers) {
    checks.missing += std::isnan(x) ? 1 : 0;
    checks.outside += x < column.schema.lower || x > column.schema.upper ? 1 : 0;
    const bool inside = x >= column.schema.lower && x <= column.schema.upper;
    const bool whole = column.schema.type != ColumnType::kInteger || std::trunc(x) == x;
    checks.unusable += inside && !whole ? 1 : 0;
  }
  return checks;
}

// -1, 0 or 1; of a missing or unknown cell 0.
int64_t SignOf(const SumSign& sign, const Column& column, size_t row) {
  if (sign.by_level.empty()) {
    const double x = column.numbers[row];
    return x == 1 ? 1 : x == -1 ? -1 : 0;
  }
  const int32_t code = column.codes[row];
  return code < 0 ? 0 : sign.by_level.at(static_cast<size_t>(code));
}

std::vector<int64_t> GridOf(const SumQuery& query, const SumVariable& variable,
                            const Table& table) {
  const Column& column = table.columns.at(variable.column);
  std::vector<int64_t> grid(table.num_rows, 0);
  for (size_t r = 0; r < column.codes.size(); ++r) {
    if (column.codes[r] >= 0) grid[r] = variable.by_level.at(static_cast<size_t>(column.codes[r]));
  }
  for (size_t r = 0; r < column.numbers.size(); ++r) {
    const double x = column.numbers[r];
    if (x >= column.schema.lower && x <= column.schema.upper)
      grid[r] = RoundToGrid(ToUnitInterval(x, variable.scale), query.bits);
  }
  for (const SumSign& sign : variable.signs) {
    for (size_t r = 0; r < grid.size(); ++r)
      grid[r] *= SignOf(sign, table.columns.at(sign.column), r);
  }
  return grid;
}

const char* WhatItHas(ColumnType type) {
  if (HasLevels(type)) return "level of it";
  if (type == ColumnType::kDate) return "date";
  return type == ColumnType::kInteger ? "whole number" : "number";
}

// ---- encoding

constexpr uint64_t kMostTextBytes = 1 << 20;
constexpr uint64_t kMostEntries = 1 << 20;

void Put(ByteWriter& out, const std::vector<std::string>& texts) {
  out.U64(texts.size());
  for (const std::string& text : texts) out.String(text);
}

void Put(ByteWriter& out, const std::vector<int64_t>& numbers) {
  out.U64(numbers.size());
  for (const int64_t k : numbers) out.U64(static_cast<uint64_t>(k));
}

void Put(ByteWriter& out, const SumRows& rows) {
  out.U64(rows.size());
  for (const SumCondition& one : rows) {
    out.U64(one.column);
    out.String(one.condition.variable);
    out.U8(static_cast<uint8_t>(one.condition.kind));
    out.F64(one.condition.number);
    out.U8(one.condition.is_date ? 1 : 0);
    Put(out, one.condition.levels);
  }
}

// What queries of moments do not have stands behind the rest, and nothing where a query has none of it: those that were
// asked before there was more are encoded as they were.
bool HasMore(const SumQuery& query) {
  return query.only_squares || !query.counts.empty() ||
         std::any_of(query.variables.begin(), query.variables.end(),
                     [](const SumVariable& variable) { return !variable.signs.empty(); });
}

void PutMore(ByteWriter& out, const SumQuery& query) {
  out.U8(query.only_squares ? 1 : 0);
  for (const SumVariable& variable : query.variables) {
    out.U64(variable.signs.size());
    for (const SumSign& sign : variable.signs) {
      out.U64(sign.column);
      Put(out, sign.by_level);
    }
  }
  out.U64(query.counts.size());
  for (const SumRows& rows : query.counts) Put(out, rows);
}

class QueryReader {
 public:
  explicit QueryReader(ByteView bytes) : in_(bytes) {}

  SumQuery Read() {
    query_.bits = static_cast<int>(in_.U32());
    for (uint64_t i = Count(); i > 0; --i) query_.columns.push_back(Schema());
    for (uint64_t i = Count(); i > 0; --i) {
      SumVariable& variable = query_.variables.emplace_back();
      variable.column = ColumnIndex();
      variable.scale.centre = in_.F64();
      variable.scale.half_width = in_.F64();
      variable.by_level = Numbers();
    }
    for (uint64_t i = Count(); i > 0; --i) query_.cells.push_back(Rows());
    for (uint64_t i = Count(); i > 0; --i) query_.weight.push_back(ColumnIndex());
    for (uint64_t i = Count(); i > 0; --i) query_.sets.push_back(Rows());
    for (uint64_t i = Count(); i > 0; --i) {
      SumRows first = Rows();
      query_.apart.emplace_back(std::move(first), Rows());
    }
    if (in_.remaining() > 0) ReadMore();
    in_.ExpectEnd();
    return std::move(query_);
  }

 private:
  void ReadMore() {
    query_.only_squares = in_.U8() != 0;
    for (SumVariable& variable : query_.variables) {
      for (uint64_t i = Count(); i > 0; --i) {
        SumSign& sign = variable.signs.emplace_back();
        sign.column = ColumnIndex();
        sign.by_level = Numbers();
      }
    }
    for (uint64_t i = Count(); i > 0; --i) query_.counts.push_back(Rows());
  }
  std::vector<int64_t> Numbers() {
    std::vector<int64_t> numbers;
    for (uint64_t i = Count(); i > 0; --i) numbers.push_back(static_cast<int64_t>(in_.U64()));
    return numbers;
  }
  uint64_t Count() {
    const uint64_t count = in_.U64();
    if (count > kMostEntries) throw Error(ErrorCode::kBadInput, "a list of sums is too long");
    return count;
  }
  size_t ColumnIndex() {
    const uint64_t column = in_.U64();
    if (column >= query_.columns.size())
      throw Error(ErrorCode::kBadInput, "sums of a column that is not there");
    return column;
  }
  std::vector<std::string> Texts() {
    std::vector<std::string> texts;
    for (uint64_t i = Count(); i > 0; --i) texts.push_back(in_.String(kMostTextBytes));
    return texts;
  }
  ColumnSchema Schema() {
    ColumnSchema schema;
    schema.name = in_.String(kMostTextBytes);
    const uint8_t type = in_.U8();
    if (type > static_cast<uint8_t>(ColumnType::kDate))
      throw Error(ErrorCode::kBadInput, "sums of a column of no known type");
    schema.type = static_cast<ColumnType>(type);
    schema.lower = in_.F64();
    schema.upper = in_.F64();
    schema.levels = Texts();
    schema.missing_codes = Texts();
    return schema;
  }
  SumRows Rows() {
    SumRows rows;
    for (uint64_t i = Count(); i > 0; --i) {
      SumCondition& one = rows.emplace_back();
      one.column = ColumnIndex();
      one.condition.variable = in_.String(kMostTextBytes);
      const uint8_t kind = in_.U8();
      if (kind > static_cast<uint8_t>(Condition::Kind::kPresent))
        throw Error(ErrorCode::kBadInput, "a condition of no known kind");
      one.condition.kind = static_cast<Condition::Kind>(kind);
      one.condition.number = in_.F64();
      one.condition.is_date = in_.U8() != 0;
      one.condition.levels = Texts();
    }
    return rows;
  }

  ByteReader in_;
  SumQuery query_;
};

}  // namespace

size_t NumSums(const SumQuery& query) {
  const size_t p = query.variables.size();
  return 2 + 3 * query.columns.size() + query.sets.size() + query.apart.size() +
         query.counts.size() + query.cells.size() * (1 + p + NumProducts(query));
}

std::vector<Int128> NumbersOf(const SumAnswer& answer) {
  std::vector<Int128> numbers = {answer.rows, answer.weight};
  const auto add = [&](const std::vector<Int128>& more) {
    numbers.insert(numbers.end(), more.begin(), more.end());
  };
  for (const SumChecks& checks : answer.checks)
    add({checks.missing, checks.outside, checks.unusable});
  add(answer.sets);
  add(answer.apart);
  add(answer.counts);
  for (const SumCell& cell : answer.cells) {
    add({cell.n});
    add(cell.sums);
    add(cell.products);
  }
  return numbers;
}

SumAnswer AnswerOf(const SumQuery& query, const std::vector<Int128>& numbers) {
  if (numbers.size() != NumSums(query))
    throw Error(ErrorCode::kInternal, "another number of sums than was asked for");
  auto next = numbers.begin();
  const auto take = [&](size_t count) {
    const auto first = next;
    next += static_cast<std::ptrdiff_t>(count);
    return std::vector<Int128>(first, next);
  };
  SumAnswer answer;
  answer.rows = *next++;
  answer.weight = *next++;
  for (size_t c = 0; c < query.columns.size(); ++c) {
    const std::vector<Int128> checks = take(3);
    answer.checks.push_back({checks[0], checks[1], checks[2]});
  }
  answer.sets = take(query.sets.size());
  answer.apart = take(query.apart.size());
  answer.counts = take(query.counts.size());
  const size_t p = query.variables.size();
  for (size_t c = 0; c < query.cells.size(); ++c) {
    SumCell& cell = answer.cells.emplace_back();
    cell.n = *next++;
    cell.sums = take(p);
    cell.products = take(NumProducts(query));
  }
  return answer;
}

namespace {

int64_t LargestOf(const std::vector<int64_t>& numbers) {
  int64_t largest = 0;
  for (const int64_t k : numbers) largest = std::max(largest, std::abs(k));
  return largest;
}

// The sum of a_r b_r, by one multiplication each where no product passes 62 bits.
Int128 SumOfProducts(const std::vector<int64_t>& a, int64_t largest_a,
                     const std::vector<int64_t>& b, int64_t largest_b) {
  Int128 sum = 0;
  if (Int128{largest_a} * largest_b < Int128{1} << 62) {
    for (size_t r = 0; r < a.size(); ++r) sum += a[r] * b[r];
  } else {
    for (size_t r = 0; r < a.size(); ++r) sum += Int128{a[r]} * b[r];
  }
  return sum;
}

// A larger weight than kMostSummedWeight is refused by all weights together (RequireUsable).
void AddCell(const SumQuery& query, const std::vector<uint8_t>& in_cell,
             const std::vector<int64_t>& weights, const std::vector<std::vector<int64_t>>& grid,
             SumCell& cell) {
  std::vector<int64_t> largest, weighted(weights.size());
  for (const std::vector<int64_t>& column : grid) largest.push_back(LargestOf(column));
  for (size_t r = 0; r < weights.size(); ++r) cell.n += in_cell[r] != 0 ? weights[r] : 0;
  size_t at = 0;
  for (size_t i = 0; i < grid.size(); ++i) {
    for (size_t r = 0; r < weights.size(); ++r)
      weighted[r] = in_cell[r] != 0 ? std::min(weights[r], kMostSummedWeight) * grid[i][r] : 0;
    for (const int64_t k : weighted) cell.sums[i] += k;
    const int64_t of_weighted = LargestOf(weighted);
    for (size_t j = query.only_squares ? i : 0; j <= i; ++j)
      cell.products[at++] += SumOfProducts(weighted, of_weighted, grid[j], largest[j]);
  }
}

}  // namespace

SumAnswer SumsOfTable(const SumQuery& query, const Table& table) {
  SumAnswer answer;
  answer.rows = static_cast<Int128>(table.num_rows);
  std::vector<int64_t> weights(table.num_rows, 1);
  for (const size_t column : query.weight) {
    for (size_t r = 0; r < weights.size(); ++r) {
      const double w = table.columns.at(column).numbers[r];
      const ColumnSchema& schema = table.columns[column].schema;
      weights[r] = w >= schema.lower && w <= schema.upper ? static_cast<int64_t>(w) : 0;
    }
  }
  for (const int64_t weight : weights) answer.weight += weight;
  for (const Column& column : table.columns) answer.checks.push_back(ChecksOf(column));
  const auto count = [](const std::vector<uint8_t>& rows) {
    Int128 number = 0;
    for (const uint8_t row : rows) number += row;
    return number;
  };
  for (const SumRows& set : query.sets) answer.sets.push_back(count(RowsOf(set, table)));
  for (const auto& [one, other] : query.apart) {
    std::vector<uint8_t> rows = RowsOf(one, table);
    const std::vector<uint8_t> others = RowsOf(other, table);
    for (size_t r = 0; r < rows.size(); ++r) rows[r] ^= others[r];
    answer.apart.push_back(count(rows));
  }
  for (const SumRows& rows : query.counts) {
    const std::vector<uint8_t> counted = RowsOf(rows, table);
    Int128& number = answer.counts.emplace_back(0);
    for (size_t r = 0; r < table.num_rows; ++r) number += counted[r] != 0 ? weights[r] : 0;
  }
  std::vector<std::vector<int64_t>> grid;
  for (const SumVariable& variable : query.variables)
    grid.push_back(GridOf(query, variable, table));
  const size_t p = grid.size();
  for (const SumRows& rows : query.cells) {
    SumCell& cell = answer.cells.emplace_back();
    cell.sums.resize(p);
    cell.products.resize(NumProducts(query));
    AddCell(query, RowsOf(rows, table), weights, grid, cell);
  }
  return answer;
}

void RequireUsable(const SumQuery& query, const SumAnswer& answer, bool allow_missing,
                   const std::string& source) {
  std::string wrong;
  const auto add = [&](const ColumnSchema& column, Int128 cells, const std::string& what) {
    if (cells == 0) return;
    wrong += fmt::format("{}column '{}' has {} {}", wrong.empty() ? "" : "; ",
                         Printable(column.name), ToString(cells), what);
  };
  for (size_t c = 0; c < query.columns.size(); ++c) {
    const ColumnSchema& column = query.columns[c];
    const SumChecks& checks = answer.checks.at(c);
    add(column, checks.unusable, std::string("cells that are no ") + WhatItHas(column.type));
    add(column, checks.outside, "cells outside of its bounds " + BoundsText(column));
    if (!allow_missing) add(column, checks.missing, "missing cells");
  }
  if (!wrong.empty()) {
    throw Error(
        ErrorCode::kBadData, source + ": " + wrong,
        "correct them in the query or in the database, which alone sees them; missing cells "
        "may be left out by missing = \"complete\" in [design]");
  }
  if (answer.rows == 0) throw Error(ErrorCode::kBadData, source + ": the query gives no rows");
  if (answer.rows > kMostSummedWeight || answer.weight > kMostSummedWeight) {
    throw Error(ErrorCode::kBadData,
                source + ": the rows, or their weights, add up to more than 2^31",
                "sums of more rows may not be exact in every database: take fewer");
  }
}

Bytes EncodeSumQuery(const SumQuery& query) {
  ByteWriter out;
  out.U32(static_cast<uint32_t>(query.bits));
  out.U64(query.columns.size());
  for (const ColumnSchema& column : query.columns) {
    out.String(column.name);
    out.U8(static_cast<uint8_t>(column.type));
    out.F64(column.lower);
    out.F64(column.upper);
    Put(out, column.levels);
    Put(out, column.missing_codes);
  }
  out.U64(query.variables.size());
  for (const SumVariable& variable : query.variables) {
    out.U64(variable.column);
    out.F64(variable.scale.centre);
    out.F64(variable.scale.half_width);
    Put(out, variable.by_level);
  }
  out.U64(query.cells.size());
  for (const SumRows& rows : query.cells) Put(out, rows);
  out.U64(query.weight.size());
  for (const size_t column : query.weight) out.U64(column);
  out.U64(query.sets.size());
  for (const SumRows& rows : query.sets) Put(out, rows);
  out.U64(query.apart.size());
  for (const auto& [one, other] : query.apart) {
    Put(out, one);
    Put(out, other);
  }
  if (HasMore(query)) PutMore(out, query);
  return out.Take();
}

SumQuery DecodeSumQuery(ByteView bytes) { return QueryReader(bytes).Read(); }

crypto::Digest DigestOf(const SumQuery& query) {
  return crypto::Sha256().Field("partita sums 1").Field(EncodeSumQuery(query)).Finish();
}

}  // namespace partita::data
