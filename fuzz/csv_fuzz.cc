// CSV bytes from anywhere: the reader either gives a table that keeps its promises or throws Error.
#include <cmath>
#include <cstdlib>

#include "data/csv_reader.h"
#include "data/utf8.h"

namespace {

using partita::data::Column;
using partita::data::ColumnType;

// The first four columns, or all seven.
partita::data::Schema MakeSchema(size_t num_columns) {
  partita::data::Schema schema;
  schema.columns.resize(7);
  const char* names[] = {"id", "x", "i", "f", "o", "d", "s"};
  const ColumnType types[] = {ColumnType::kKey,     ColumnType::kNumeric, ColumnType::kInteger,
                              ColumnType::kFactor,  ColumnType::kOrdered, ColumnType::kDate,
                              ColumnType::kSurvival};
  for (size_t c = 0; c < 7; ++c) {
    schema.columns[c].name = names[c];
    schema.columns[c].type = types[c];
    schema.columns[c].lower = -10;
    schema.columns[c].upper = 10;
  }
  schema.columns[2].missing_codes = {"-9"};
  schema.columns[3].levels = schema.columns[4].levels = {"a", "b"};
  schema.columns[6].lower = 0;
  schema.columns[6].time_column = "t";
  schema.columns[6].event_column = "e";
  schema.columns.resize(num_columns);
  partita::data::ValidateSchema(schema);
  return schema;
}

void Require(bool promise) {
  if (!promise) std::abort();
}

void CheckColumn(const Column& column, size_t num_rows) {
  const bool survival = column.schema.type == ColumnType::kSurvival;
  const size_t cells = column.numbers.size() + column.codes.size() + column.keys.size();
  Require(cells == (survival ? 2 * num_rows : num_rows));
  for (double x : column.numbers) {
    Require(!std::isinf(x));
    const bool whole =
        column.schema.type == ColumnType::kInteger || column.schema.type == ColumnType::kDate;
    Require(!whole || std::isnan(x) || std::trunc(x) == x);
  }
  for (int32_t code : column.codes) Require(code >= -1 && code < 2);
  for (const std::string& key : column.keys) Require(!key.empty() && partita::data::IsUtf8(key));
}

}  // namespace

// Where cells are repaired nothing is outside its bounds.
void CheckRepaired(const Column& column) {
  const double lower = column.schema.lower, upper = column.schema.upper;
  for (double x : column.numbers) Require(std::isnan(x) || (x >= lower && x <= upper));
}

// The first byte chooses the dialect, the columns, whether cells are repaired and how far the
// source's bytes are from the end of a block.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const partita::data::Schema basic = MakeSchema(4), all = MakeSchema(7);
  if (size == 0) return 0;
  const partita::data::Schema& schema = (data[0] & 2) != 0 ? all : basic;
  partita::data::CsvOptions options;
  options.max_rows = 1000;
  options.max_columns = 50;
  options.max_field_bytes = 200;
  options.max_record_bytes = 400;
  if ((data[0] & 1) != 0) {
    options.separator = ';';
    options.decimal = ',';
  }
  options.repair = (data[0] & 4) != 0;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  size_t seen = 0;
  try {
    partita::data::CsvContents contents =
        partita::data::ReadCsv(partita::data::FromText(text), "fuzz.csv", schema, options,
                               [&](partita::ByteView bytes) { seen += bytes.size(); });
    Require(seen == text.size());
    Require(contents.report.num_rows == contents.table.num_rows);
    for (const Column& column : contents.table.columns)
      CheckColumn(column, contents.table.num_rows);
    for (const Column& column : contents.table.columns) {
      if (options.repair) CheckRepaired(column);
    }
    partita::data::RequireClean(contents.report);
  } catch (const partita::Error& error) {
    Require(partita::data::IsUtf8(error.message()));
  }
  return 0;
}
