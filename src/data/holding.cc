#include "data/holding.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "data/key_order.h"
#include "data/suggest.h"
#include "data/utf8.h"

namespace partita::data {

namespace {

using RowIndex = uint32_t;

const Holder& RequireHolder(const Partition& partition, size_t party) {
  const Holder* holder = partition.HolderOf(party);
  if (holder == nullptr) throw Error(ErrorCode::kInternal, "this party holds no data");
  return *holder;
}

// Where the row of a private study goes whose block is none of the party's: among rows that are
// counted by nobody, if there are such.
size_t BlockOfStrays(const Partition& partition, const std::vector<size_t>& held) {
  const auto open = std::find_if(held.begin(), held.end(),
                                 [&](size_t block) { return !partition.blocks[block].count; });
  return open == held.end() ? held.front() : *open;
}

// For every block of the partition the rows of the table that belong to it, in the table's order.
// Where cells are repaired, a row of no block that the party holds is a neutral one.
std::vector<std::vector<RowIndex>> RowsByBlock(Table& table, const Partition& partition,
                                               size_t party, const std::string& block_column,
                                               bool repaired) {
  std::vector<std::vector<RowIndex>> rows(partition.blocks.size());
  const std::vector<size_t> held = partition.BlocksOf(party);
  if (held.size() == 1) {
    rows[held[0]].resize(table.num_rows);
    std::iota(rows[held[0]].begin(), rows[held[0]].end(), RowIndex{0});
    return rows;
  }
  const Column& column = table.Get(block_column);
  std::vector<std::string> held_names;
  for (size_t block : held) held_names.push_back(partition.blocks[block].name);
  for (size_t row = 0; row < table.num_rows; ++row) {
    const int32_t code = column.codes[row];
    const std::string name =
        code < 0 ? std::string() : column.schema.levels[static_cast<size_t>(code)];
    auto found = std::find(held_names.begin(), held_names.end(), name);
    if (found == held_names.end() && repaired) {
      table.neutral.resize(table.num_rows);
      table.neutral[row] = 1;
      rows[BlockOfStrays(partition, held)].push_back(static_cast<RowIndex>(row));
      continue;
    }
    if (found == held_names.end()) {
      throw Error(
          ErrorCode::kBadData,
          fmt::format("row {} of the table has '{}' in column '{}', but this party holds no "
                      "row block of that name",
                      row + 1, Printable(name), block_column),
          SuggestionHint(name, held_names));
    }
    rows[held[static_cast<size_t>(found - held_names.begin())]].push_back(
        static_cast<RowIndex>(row));
  }
  return rows;
}

void SortByKey(std::vector<RowIndex>& rows, const Column& key, const std::string& block) {
  SortRowsByKey(rows, key.keys);
  auto twice = std::adjacent_find(
      rows.begin(), rows.end(), [&](RowIndex a, RowIndex b) { return key.keys[a] == key.keys[b]; });
  if (twice == rows.end()) return;
  throw Error(
      ErrorCode::kBadData,
      fmt::format("the key '{}' stands twice in row block '{}' (rows {} and {} of the table)",
                  Printable(key.keys[*twice]), block, *twice + 1, *(twice + 1) + 1),
      "a shared row block has one row per key");
}

void RequireRows(uint64_t num_rows, const RowBlock& block, const std::string& holder,
                 bool repaired) {
  // Whether there is a row at all is nobody's business where the number of rows is not.
  if (num_rows == 0 && !(repaired && !block.count)) {
    throw Error(ErrorCode::kBadData,
                fmt::format("the table of '{}' has no rows of block '{}'", holder, block.name));
  }
  if (block.count && *block.count != num_rows) {
    throw Error(
        ErrorCode::kBadData,
        fmt::format("the table of '{}' has {} rows of block '{}', but the study declares {}",
                    holder, num_rows, block.name, *block.count),
        "correct the table, or the block's count in the study file");
  }
}

// missing: what stands where there is no row.
template <typename T>
void Permute(std::vector<T>& values, const std::vector<RowIndex>& order, const T& missing) {
  if (values.empty()) return;
  std::vector<T> ordered;
  ordered.reserve(order.size());
  for (RowIndex row : order)
    ordered.push_back(row == kAbsentRow ? missing : std::move(values[row]));
  values = std::move(ordered);
}

void PermuteTable(Table& table, const std::vector<RowIndex>& order) {
  Permute(table.neutral, order, uint8_t{0});
  for (Column& column : table.columns) {
    Permute(column.numbers, order, std::numeric_limits<double>::quiet_NaN());
    Permute(column.codes, order, int32_t{-1});
    Permute(column.keys, order, std::string());
  }
  if (std::find(order.begin(), order.end(), kAbsentRow) == order.end()) return;
  for (const RowIndex row : order) table.absent.push_back(row == kAbsentRow ? 1 : 0);
}

void CheckRows(size_t first_row, size_t num_rows, const BlockRows& block) {
  if (first_row > block.num_rows || num_rows > block.num_rows - first_row) {
    throw Error(ErrorCode::kInternal, "a row reader was asked for rows beyond its block");
  }
}

void CheckFractionBits(int fraction_bits) {
  if (fraction_bits < 1 || fraction_bits > 62) {
    throw Error(ErrorCode::kInternal, "fraction bits out of range");
  }
}

ColumnSchema MakeColumn(const std::string& name, ColumnType type) {
  ColumnSchema column;
  column.name = name;
  column.type = type;
  return column;
}

void AddKeyColumn(const std::string& key, const Holder& holder, Schema& schema) {
  if (key.empty()) {
    throw Error(
        ErrorCode::kBadInput,
        fmt::format("'{}' shares rows with other holders, but no key column is named", holder.name),
        "name the column that identifies a row: key = \"...\"");
  }
  if (schema.Find(key) != nullptr) {
    throw Error(ErrorCode::kBadInput, fmt::format("the key column '{}' cannot be a variable", key));
  }
  schema.columns.push_back(MakeColumn(key, ColumnType::kKey));
}

void AddBlockColumn(const std::string& block_column, const Partition& partition,
                    const Holder& holder, Schema& schema) {
  if (block_column.empty()) {
    throw Error(ErrorCode::kBadInput,
                fmt::format("'{}' holds several row blocks, but no column names the block of a row",
                            holder.name),
                "name the column: block = \"...\"");
  }
  const ColumnSchema* present = schema.Find(block_column);
  if (present == nullptr) {
    ColumnSchema column = MakeColumn(block_column, ColumnType::kFactor);
    for (size_t block : partition.BlocksOf(holder.party)) {
      column.levels.push_back(partition.blocks[block].name);
    }
    schema.columns.push_back(std::move(column));
  } else if (!HasLevels(present->type)) {
    throw Error(ErrorCode::kBadInput,
                fmt::format("column '{}' names row blocks, but is a {}", present->name,
                            ColumnTypeName(present->type)),
                "make it a factor");
  }
}

// Readers clamp, and give missing cells a value: a table that RequireClean has not seen is a bug of
// the caller.
void CheckWasClean(const Table& table, const CheckRules& rules) {
  const bool missing = rules.allow_missing;
  for (const Column& column : table.columns) {
    const double lower = column.schema.lower, upper = column.schema.upper;
    const auto number_is_clean = [&](double x) {
      return (x >= lower && x <= upper) || (missing && std::isnan(x));
    };
    const auto code_is_clean = [&](int32_t code) { return code >= 0 || missing; };
    if (std::all_of(column.numbers.begin(), column.numbers.end(), number_is_clean) &&
        std::all_of(column.codes.begin(), column.codes.end(), code_is_clean)) {
      continue;
    }
    throw Error(ErrorCode::kInternal,
                fmt::format("column '{}' was not checked before its use", column.schema.name));
  }
}

}  // namespace

Schema SchemaForParty(const Schema& dictionary, const Partition& partition, size_t party,
                      const RowColumns& row_columns) {
  const Holder& holder = RequireHolder(partition, party);
  Schema schema{.columns = {}, .max_rows_per_person = dictionary.max_rows_per_person};
  for (const std::string& variable : holder.columns) {
    const ColumnSchema* column = dictionary.Find(variable);
    if (column == nullptr) {
      throw Error(ErrorCode::kBadInput,
                  fmt::format("variable '{}' of holder '{}' is not in the dictionary", variable,
                              holder.name));
    }
    schema.columns.push_back(*column);
  }
  if (partition.NeedsKey(party)) AddKeyColumn(row_columns.key, holder, schema);
  if (holder.blocks.size() > 1) AddBlockColumn(row_columns.block, partition, holder, schema);
  return schema;
}

const BlockRows& Holding::Block(size_t block) const {
  auto found = std::find_if(blocks.begin(), blocks.end(),
                            [&](const BlockRows& rows) { return rows.block == block; });
  if (found == blocks.end())
    throw Error(ErrorCode::kInternal, "this party does not hold the block");
  return *found;
}

std::span<const std::string> Holding::Keys(size_t block) const {
  const BlockRows& rows = Block(block);
  const Column& key = table->Get(key_column);
  return std::span<const std::string>(key.keys).subspan(rows.first_row, rows.num_rows);
}

Holding MakeHolding(Table table, const Partition& partition, size_t party,
                    const RowColumns& row_columns, const CheckRules& rules,
                    std::span<const uint32_t> matched) {
  const Holder& holder = RequireHolder(partition, party);
  if (table.num_rows > std::numeric_limits<RowIndex>::max()) {
    throw Error(ErrorCode::kBadData, "the table has more than 2^32 - 1 rows");
  }
  CheckWasClean(table, rules);
  Holding holding{.party = party, .table = nullptr, .blocks = {}, .key_column = {}};
  if (partition.NeedsKey(party)) holding.key_column = row_columns.key;
  auto rows_by_block = RowsByBlock(table, partition, party, row_columns.block, rules.repaired);
  std::vector<RowIndex> order;
  order.reserve(table.num_rows);
  for (size_t block : partition.BlocksOf(party)) {
    std::vector<RowIndex>& rows = rows_by_block[block];
    if (partition.blocks[block].matched) rows.assign(matched.begin(), matched.end());
    RequireRows(rows.size(), partition.blocks[block], holder.name, rules.repaired);
    const bool shared = partition.segments[block].shared();
    if (shared && !partition.blocks[block].matched)
      SortByKey(rows, table.Get(row_columns.key), partition.blocks[block].name);
    holding.blocks.push_back({block, order.size(), rows.size(), shared});
    order.insert(order.end(), rows.begin(), rows.end());
  }
  PermuteTable(table, order);
  table.num_rows = order.size();
  holding.table = std::make_shared<const Table>(std::move(table));
  return holding;
}

bool HoldsOneBlockAlone(const Partition& partition, size_t party) {
  const std::vector<size_t> held = partition.BlocksOf(party);
  return held.size() == 1 && !partition.segments[held.front()].shared() &&
         !partition.blocks[held.front()].matched && !partition.NeedsKey(party);
}

Holding HoldingOfPiece(Table piece, const Partition& partition, size_t party,
                       const CheckRules& rules) {
  CheckWasClean(piece, rules);
  Holding holding{.party = party, .table = nullptr, .blocks = {}, .key_column = {}};
  holding.blocks.push_back({partition.BlocksOf(party).front(), 0, piece.num_rows, false});
  holding.table = std::make_shared<const Table>(std::move(piece));
  return holding;
}

void RequireRowsOfWhole(uint64_t num_rows, const Partition& partition, size_t party,
                        const CheckRules& rules) {
  RequireRows(num_rows, partition.blocks[partition.BlocksOf(party).front()],
              RequireHolder(partition, party).name, rules.repaired);
}

RowReader ScaledRows(const Holding& holding, size_t block, std::span<const std::string> columns,
                     int fraction_bits, std::span<const ColumnScale> scales) {
  CheckFractionBits(fraction_bits);
  struct Source {
    const double* numbers;
    ColumnScale scale;
  };
  const BlockRows rows = holding.Block(block);
  std::vector<Source> sources;
  for (size_t c = 0; c < columns.size(); ++c) {
    const std::string& name = columns[c];
    const Column& column = holding.table->Get(name);
    const ColumnScale own = ScaleOf(column.schema);
    const ColumnScale scale = scales.empty() ? own : scales[c];
    if (column.numbers.size() != holding.table->num_rows) {
      throw Error(ErrorCode::kInternal, fmt::format("column '{}' has no numbers yet", name));
    }
    sources.push_back({column.numbers.data() + rows.first_row, scale});
  }
  return [table = holding.table, rows, sources, fraction_bits](size_t first_row, size_t num_rows,
                                                               Int128* out) {
    CheckRows(first_row, num_rows, rows);
    for (size_t row = first_row; row < first_row + num_rows; ++row) {
      for (const Source& source : sources) {
        const double x = source.numbers[row];
        *out++ = std::isnan(x) ? 0 : RoundToGrid(ToUnitInterval(x, source.scale), fraction_bits);
      }
    }
  };
}

}  // namespace partita::data
