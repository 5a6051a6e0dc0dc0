#include "data/csv_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>
#include <unordered_map>
#include <utility>

#include "base/date.h"
#include "base/trim.h"
#include "data/csv_header.h"
#include "data/csv_tokenizer.h"
#include "data/missing_codes.h"
#include "data/number_text.h"
#include "data/source/open_table.h"
#include "data/suggest.h"
#include "data/utf8.h"

namespace partita::data {
namespace {

// A cell while it is read.
struct Cell {
  const CsvTokenizer& tokenizer;
  const CsvField& field;
  const std::string& column;  // as the header has it
  std::string_view text;

  [[noreturn]] void Fail(const std::string& problem, std::string hint) const {
    CellPosition position = tokenizer.PositionOf(field);
    throw Error(ErrorCode::kBadData,
                fmt::format("{}:{}:{}: column '{}': {}", tokenizer.source_name(), position.line,
                            position.character, column, problem),
                std::move(hint));
  }

  void RequireUtf8() const {
    if (IsUtf8(text)) return;
    Fail(fmt::format("'{}' is not valid UTF-8", Printable(text)),
         "export the table as UTF-8 (not Latin-1 or Windows-1252)");
  }
};

// Reads the cells of one column of the schema; of two columns of the file for a survival variable.
class ColumnReader {
 public:
  // event_index: survival only.
  ColumnReader(const ColumnSchema& schema, size_t field_index, size_t event_index,
               const CsvOptions& options)
      : field_index_(field_index),
        event_index_(event_index),
        missing_codes_(schema, options.decimal),
        decimal_(options.decimal),
        repair_(options.repair) {
    column_.schema = schema;
    check_.name = schema.name;
    check_.type = schema.type;
    check_.lower = schema.lower;
    check_.upper = schema.upper;
    for (size_t i = 0; i < schema.levels.size(); ++i) {
      level_codes_[schema.levels[i]] = static_cast<int32_t>(i);
    }
  }

  void Append(const CsvTokenizer& tokenizer) {
    const ColumnSchema& schema = column_.schema;
    const CsvField& field = tokenizer.fields()[field_index_];
    const bool survival = schema.type == ColumnType::kSurvival;
    const Cell cell{tokenizer, field, survival ? schema.time_column : schema.name,
                    CsvTokenizer::Text(field, scratch_)};
    if (schema.type == ColumnType::kKey) return AppendKey(cell);
    if (survival) return AppendSurvival(cell);
    if (missing_codes_.Has(cell.text)) return AppendMissing(cell);
    if (HasLevels(schema.type)) return AppendLevel(cell);
    schema.type == ColumnType::kDate ? AppendDate(cell) : AppendNumber(cell);
  }

  // Of a record whose fields are not those of the header: its key, and a level where one stands at
  // the column's place, which may be the block's name.
  void AppendRagged(const CsvTokenizer& tokenizer) {
    const ColumnSchema& schema = column_.schema;
    const bool there = field_index_ < tokenizer.fields().size();
    const CsvField& field = tokenizer.fields()[there ? field_index_ : 0];
    const Cell cell{tokenizer, field, schema.name,
                    there ? CsvTokenizer::Text(field, scratch_) : std::string_view()};
    if (schema.type == ColumnType::kKey) return AppendKey(cell);
    if (HasLevels(schema.type) && level_codes_.contains(cell.text)) return AppendLevel(cell);
    AppendMissing(cell);
  }

  // The cells read since the last time.
  Column TakeColumn() {
    Column taken = std::move(column_);
    column_ = {};
    column_.schema = taken.schema;
    return taken;
  }

  // Of all cells so far.
  ColumnCheck Check(uint64_t num_rows) const {
    ColumnCheck check = check_;
    const uint64_t present = num_rows - check.missing;
    check.constant =
        column_.schema.type != ColumnType::kKey && present >= 2 && check.minimum == check.maximum;
    return check;
  }

 private:
  void AppendMissing(const Cell& cell) {
    if (check_.missing++ == 0) check_.first_missing = cell.tokenizer.PositionOf(cell.field);
    const ColumnType type = column_.schema.type;
    if (HasLevels(type) || type == ColumnType::kSurvival) column_.codes.push_back(-1);
    if (HasBounds(type)) column_.numbers.push_back(std::numeric_limits<double>::quiet_NaN());
  }

  // What is not of the column's type, where that does not stop the reader.
  void AppendUnusable(const Cell& cell) {
    if (check_.unusable++ == 0) check_.first_unusable = cell.tokenizer.PositionOf(cell.field);
    AppendMissing(cell);
  }

  void AppendKey(const Cell& cell) {
    const std::string_view text = cell.text;
    if (text.empty()) {
      cell.Fail("the key is missing", "give every row its key, or leave out the row");
    }
    cell.RequireUtf8();
    if (std::strchr(" \t", text.front()) != nullptr || std::strchr(" \t", text.back()) != nullptr) {
      cell.Fail(fmt::format("the key '{}' begins or ends with a space", Printable(text)),
                "remove the space: keys must be written alike by all holders");
    }
    column_.keys.emplace_back(text);
  }

  void AppendLevel(const Cell& cell) {
    auto found = level_codes_.find(cell.text);
    if (found == level_codes_.end()) {
      if (repair_) return AppendUnusable(cell);
      cell.RequireUtf8();
      cell.Fail(fmt::format("'{}' is not a level of this factor", Printable(cell.text)),
                SuggestionHint(cell.text, column_.schema.levels));
    }
    column_.codes.push_back(found->second);
    Observe(found->second);
  }

  void AppendNumber(const Cell& cell) {
    std::optional<double> number = ParseNumber(cell.text, decimal_);
    const bool whole = column_.schema.type == ColumnType::kInteger;
    if (repair_ && (!number || (whole && std::trunc(*number) != *number)))
      return AppendUnusable(cell);
    if (!number) FailNotANumber(cell);
    if (whole && std::trunc(*number) != *number) {
      cell.Fail(fmt::format("'{}' is not a whole number", Printable(cell.text)),
                "correct the cell, or make the column numeric");
    }
    AppendValue(cell, *number);
  }

  void AppendDate(const Cell& cell) {
    const std::optional<double> days = ParseDate(Trim(cell.text));
    if (!days) {
      if (repair_) return AppendUnusable(cell);
      cell.RequireUtf8();
      cell.Fail(fmt::format("'{}' is not a date", Printable(cell.text)),
                "dates are written year-month-day, for example 2020-01-31, without a time of day");
    }
    AppendValue(cell, *days);
  }

  // `time` is the cell of the time; the row's event is looked up.
  void AppendSurvival(const Cell& time) {
    const CsvField& field = time.tokenizer.fields()[event_index_];
    const Cell event{time.tokenizer, field, column_.schema.event_column,
                     CsvTokenizer::Text(field, event_scratch_)};
    if (missing_codes_.Has(time.text)) return AppendMissing(time);
    if (missing_codes_.Has(event.text)) return AppendMissing(event);
    const std::optional<double> happened = ParseNumber(event.text, decimal_);
    if (repair_ && ((happened != 0.0 && happened != 1.0) || !ParseNumber(time.text, decimal_)))
      return AppendUnusable(time);
    if (happened != 0.0 && happened != 1.0) {
      event.RequireUtf8();
      event.Fail(fmt::format("'{}' is neither 0 nor 1", Printable(event.text)),
                 "write 1 where the event was observed at this time and 0 where follow-up ended "
                 "without it");
    }
    AppendNumber(time);
    column_.codes.push_back(*happened == 1 ? 1 : 0);
  }

  void AppendValue(const Cell& cell, double value) {
    if (value < column_.schema.lower || value > column_.schema.upper) {
      if (check_.out_of_bounds++ == 0) {
        check_.first_out_of_bounds = cell.tokenizer.PositionOf(cell.field);
      }
      if (repair_) value = std::clamp(value, column_.schema.lower, column_.schema.upper);
    }
    column_.numbers.push_back(value);
    Observe(value);
  }

  [[noreturn]] void FailNotANumber(const Cell& cell) const {
    cell.RequireUtf8();
    char other = decimal_ == '.' ? ',' : '.';
    std::string hint =
        "numbers are decimal (hexadecimal, inf and nan are not accepted); missing cells are empty "
        "or one of the column's missing_codes";
    if (cell.text.find(other) != std::string_view::npos) {
      hint = fmt::format(
          "the decimal mark of this table is '{}' (change it with `decimal`), and thousands are "
          "not separated",
          decimal_);
    }
    cell.Fail(fmt::format("'{}' is not a number", Printable(cell.text)), std::move(hint));
  }

  void Observe(double value) {
    if (std::exchange(any_, true)) {
      check_.minimum = std::min(check_.minimum, value);
      check_.maximum = std::max(check_.maximum, value);
    } else {
      check_.minimum = check_.maximum = value;
    }
  }

  Column column_;
  ColumnCheck check_;
  size_t field_index_, event_index_;
  MissingRule missing_codes_;
  char decimal_;
  bool repair_;
  bool any_ = false;
  std::unordered_map<std::string_view, int32_t> level_codes_;  // views of the caller's schema
  std::string scratch_, event_scratch_;
};

}  // namespace

CheckReport ReadCsvInPieces(const ByteSource& source, std::string source_name, const Schema& schema,
                            const CsvOptions& options, uint64_t rows_per_piece,
                            const PieceTaker& take, const ByteObserver& observer) {
  RequireDialect(options);
  CsvTokenizer tokenizer(source, std::move(source_name), options, observer);
  const std::vector<std::string> header = ReadHeader(tokenizer);
  std::vector<ColumnReader> readers;
  const auto find = [&](const std::string& name) {
    return FindColumn(header, name, tokenizer.source_name(), options.separator);
  };
  for (const ColumnSchema& column : schema.columns) {
    const bool survival = column.type == ColumnType::kSurvival;
    readers.emplace_back(column, find(survival ? column.time_column : column.name),
                         survival ? find(column.event_column) : 0, options);
  }
  CheckReport report;
  report.source = tokenizer.source_name();
  std::vector<uint8_t> neutral;  // of the piece; empty: none of its rows is
  uint64_t num_records = 0, rows_of_piece = 0;
  const auto take_piece = [&] {
    Table piece;
    piece.num_rows = rows_of_piece;
    if (!neutral.empty()) neutral.resize(rows_of_piece);
    piece.neutral = std::exchange(neutral, {});
    report.columns.clear();
    for (ColumnReader& reader : readers) {
      report.columns.push_back(reader.Check(report.num_rows));
      piece.columns.push_back(reader.TakeColumn());
    }
    rows_of_piece = 0;
    take(std::move(piece), report);
  };
  while (tokenizer.Next()) {
    const bool ragged = tokenizer.fields().size() != header.size();
    if (ragged && !options.repair) {
      throw Error(ErrorCode::kBadData,
                  fmt::format("{}:{}: the record has {} field{}, but the header has {}",
                              tokenizer.source_name(), tokenizer.line(), tokenizer.fields().size(),
                              tokenizer.fields().size() == 1 ? "" : "s", header.size()),
                  "put fields that contain the separator in quotes");
    }
    if (++num_records > options.max_rows) {
      throw Error(ErrorCode::kBadData,
                  fmt::format("{}:{}: the table has more than {} rows", tokenizer.source_name(),
                              tokenizer.line(), options.max_rows));
    }
    if (options.records != nullptr &&
        (num_records > options.records->size() || !(*options.records)[num_records - 1]))
      continue;
    if (rows_of_piece == rows_per_piece) take_piece();
    ++report.num_rows;
    ++rows_of_piece;
    for (ColumnReader& reader : readers)
      ragged ? reader.AppendRagged(tokenizer) : reader.Append(tokenizer);
    if (!ragged) continue;
    if (report.ragged++ == 0) report.first_ragged_line = tokenizer.line();
    neutral.resize(rows_of_piece);
    neutral.back() = 1;
  }
  take_piece();
  return report;
}

CsvContents ReadCsv(const ByteSource& source, std::string source_name, const Schema& schema,
                    const CsvOptions& options, const ByteObserver& observer) {
  CsvContents contents;
  contents.report = ReadCsvInPieces(
      source, std::move(source_name), schema, options, std::numeric_limits<uint64_t>::max(),
      [&](Table piece, const CheckReport&) { contents.table = std::move(piece); }, observer);
  return contents;
}

CsvContents ReadCsvFile(const std::filesystem::path& path, const Schema& schema,
                        const CsvOptions& options, const ByteObserver& observer) {
  const OpenedTable table = OpenTableFile(path);
  return ReadCsv(table.bytes, path.string(), schema, WithDialect(options, table.dialect), observer);
}

CheckReport ReadCsvFileInPieces(const std::filesystem::path& path, const Schema& schema,
                                const CsvOptions& options, uint64_t rows_per_piece,
                                const PieceTaker& take, const ByteObserver& observer) {
  const OpenedTable table = OpenTableFile(path);
  return ReadCsvInPieces(table.bytes, path.string(), schema, WithDialect(options, table.dialect),
                         rows_per_piece, take, observer);
}

}  // namespace partita::data
