// CSV bytes from anywhere: the reader either gives a table that keeps its promises or throws Error.
#include <cmath>
#include <cstdlib>

#include "data/csv_reader.h"
#include "data/utf8.h"

namespace {

using partita::data::Column;
using partita::data::ColumnType;

partita::data::Schema MakeSchema() {
  partita::data::Schema schema;
  schema.columns.resize(4);
  const char* names[] = {"id", "x", "i", "f"};
  const ColumnType types[] = {ColumnType::kKey, ColumnType::kNumeric, ColumnType::kInteger,
                              ColumnType::kFactor};
  for (size_t c = 0; c < 4; ++c) {
    schema.columns[c].name = names[c];
    schema.columns[c].type = types[c];
    schema.columns[c].lower = -10;
    schema.columns[c].upper = 10;
  }
  schema.columns[2].missing_codes = {"-9"};
  schema.columns[3].levels = {"a", "b"};
  return schema;
}

void Require(bool promise) {
  if (!promise) std::abort();
}

void CheckColumn(const Column& column, size_t num_rows) {
  const size_t cells = column.numbers.size() + column.codes.size() + column.keys.size();
  Require(cells == num_rows);
  for (double x : column.numbers) {
    Require(!std::isinf(x));
    Require(column.schema.type != ColumnType::kInteger || std::isnan(x) || std::trunc(x) == x);
  }
  for (int32_t code : column.codes) Require(code >= -1 && code < 2);
  for (const std::string& key : column.keys) Require(!key.empty() && partita::data::IsUtf8(key));
}

}  // namespace

// The first byte chooses the dialect and how far the source's bytes are from the end of a block.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const partita::data::Schema schema = MakeSchema();
  if (size == 0) return 0;
  partita::data::CsvOptions options;
  options.max_rows = 1000;
  options.max_columns = 50;
  options.max_field_bytes = 200;
  options.max_record_bytes = 400;
  if ((data[0] & 1) != 0) {
    options.separator = ';';
    options.decimal = ',';
  }
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
    partita::data::RequireClean(contents.report);
  } catch (const partita::Error& error) {
    Require(partita::data::IsUtf8(error.message()));
  }
  return 0;
}
