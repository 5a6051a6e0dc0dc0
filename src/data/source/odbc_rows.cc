#include "data/source/odbc_rows.h"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <optional>
#include <utility>

#include "base/error.h"
#include "data/number_text.h"
#include "data/source/odbc_session.h"
#include "data/source/utf16.h"
#include "data/utf8.h"

namespace partita::data {
namespace {

enum class CellKind { kNumber, kDouble, kDate, kText };

// Of SQL's types; empty: not taken.
std::optional<CellKind> CellKindOf(SQLSMALLINT type) {
  switch (type) {
    case SQL_TINYINT:
    case SQL_SMALLINT:
    case SQL_INTEGER:
    case SQL_BIGINT:
    case SQL_DECIMAL:
    case SQL_NUMERIC:
    case SQL_BIT:
      return CellKind::kNumber;
    case SQL_FLOAT:
    case SQL_DOUBLE:
      return CellKind::kDouble;
    case SQL_TYPE_DATE:
      return CellKind::kDate;
    case SQL_CHAR:
    case SQL_VARCHAR:
    case SQL_LONGVARCHAR:
    case SQL_WCHAR:
    case SQL_WVARCHAR:
    case SQL_WLONGVARCHAR:
    case SQL_GUID:
      return CellKind::kText;
    default:
      return std::nullopt;
  }
}

class OdbcRows final : public TextRows {
 public:
  explicit OdbcRows(const SourceFile& source)
      : file_(source.file),
        session_(source),
        statement_(SQL_HANDLE_STMT, session_.connection().get()),
        end_(std::chrono::steady_clock::now() + source.timeout) {
    session_.Limit(statement_, source.timeout);
    std::u16string query = OdbcText(file_, session_.QueryOf(source), "the query");
    Require(
        Odbc().prepare(statement_.get(), OdbcUnits(query), static_cast<SQLINTEGER>(query.size())));
    ReadColumns();
  }

  const std::vector<std::string>& names() const override { return names_; }

  bool Next(std::vector<std::string>& cells) override {
    if (!asked_) Require(Odbc().execute(statement_.get()));
    asked_ = true;
    if (std::chrono::steady_clock::now() > end_) throw OdbcTookTooLong(file_);
    const SQLRETURN result = Odbc().fetch(statement_.get());
    if (result == SQL_NO_DATA) return false;
    Require(result);
    ++row_;
    cells.resize(kinds_.size());
    for (size_t c = 0; c < kinds_.size(); ++c) cells[c] = Cell(c);
    return true;
  }

 private:
  void Require(SQLRETURN result) const { session_.Require(result, statement_); }

  void ReadColumns() {
    const std::vector<OdbcColumn> columns = OdbcColumnsOf(session_, statement_, file_);
    for (const OdbcColumn& column : columns) names_.push_back(column.name);
    for (size_t c = 0; c < columns.size(); ++c) {
      const std::optional<CellKind> kind = CellKindOf(columns[c].type);
      if (!kind) RefuseType(c, columns[c].type);
      kinds_.push_back(*kind);
    }
  }

  [[noreturn]] void RefuseType(size_t column, SQLSMALLINT type) const {
    std::array<SQLWCHAR, 128> name{};
    SQLSMALLINT length = 0;
    Odbc().colAttribute(statement_.get(), static_cast<SQLUSMALLINT>(column + 1), SQL_DESC_TYPE_NAME,
                        name.data(), sizeof(name), &length, nullptr);
    throw Error(ErrorCode::kBadData,
                fmt::format("{}: column \"{}\" is of type {}", file_, Printable(names_[column]),
                            Printable(Utf8OfOdbc(name.data()))),
                type == SQL_REAL
                    ? "say in the query what is meant: cast(x AS double precision), or "
                      "cast(x AS numeric) for the digits that are printed"
                    : "cast it in the query to a number, date or text");
  }

  [[noreturn]] void RefuseCell(size_t column, const std::string& what, const char* hint) const {
    throw Error(
        ErrorCode::kBadData,
        fmt::format("{}: column \"{}\" of row {} {}", file_, Printable(names_[column]), row_, what),
        hint);
  }

  std::string Cell(size_t column) const {
    switch (kinds_[column]) {
      case CellKind::kNumber:
        return NumberCell(column);
      case CellKind::kDouble: {
        const std::optional<double> x = Fixed<double>(column, SQL_C_DOUBLE);
        return x ? fmt::format("{}", *x) : std::string();
      }
      case CellKind::kDate: {
        const std::optional<SQL_DATE_STRUCT> day = Fixed<SQL_DATE_STRUCT>(column, SQL_C_TYPE_DATE);
        return day ? fmt::format("{:04}-{:02}-{:02}", day->year, day->month, day->day)
                   : std::string();
      }
      case CellKind::kText:
        break;
    }
    return TextCell(column);
  }

  // Empty: NULL.
  template <typename T>
  std::optional<T> Fixed(size_t column, SQLSMALLINT type) const {
    T value{};
    SQLLEN length = 0;
    Require(Odbc().getData(statement_.get(), static_cast<SQLUSMALLINT>(column + 1), type, &value,
                           sizeof(value), &length));
    if (length == SQL_NULL_DATA) return std::nullopt;
    return value;
  }

  // The digits that the driver writes, which some write with the mark of their locale.
  std::string NumberCell(size_t column) const {
    std::string digits = TextCell(column);
    if (!digits.empty() && !ParseNumber(digits, '.')) {
      RefuseCell(
          column, fmt::format("is a number that reads '{}'", Printable(digits)),
          "cast the column to double precision in the query, or have the driver write decimal "
          "points");
    }
    return digits;
  }

  // In pieces, of which all but the last fill the buffer.
  std::string TextCell(size_t column) const {
    std::u16string text;
    std::array<SQLWCHAR, 2048> piece{};
    for (;;) {
      SQLLEN length = 0;
      const SQLRETURN result =
          Odbc().getData(statement_.get(), static_cast<SQLUSMALLINT>(column + 1), SQL_C_WCHAR,
                         piece.data(), sizeof(piece), &length);
      if (result == SQL_NO_DATA) break;
      Require(result);
      if (length == SQL_NULL_DATA) return {};
      const bool whole = length != SQL_NO_TOTAL && static_cast<size_t>(length) < sizeof(piece);
      const size_t units = whole ? static_cast<size_t>(length) / 2 : piece.size() - 1;
      text.append(reinterpret_cast<const char16_t*>(piece.data()), units);
      if (whole) break;
    }
    std::optional<std::string> utf8 = Utf8OfUtf16(text);
    if (!utf8 || utf8->find('\0') != std::string::npos) {
      RefuseCell(column, "holds a text that is not well formed",
                 "leave the column out of the query, or mend it there");
    }
    return *std::move(utf8);
  }

  std::string file_;
  OdbcSession session_;
  OdbcHandle statement_;
  std::chrono::steady_clock::time_point end_;
  std::vector<std::string> names_;
  std::vector<CellKind> kinds_;
  uint64_t row_ = 0;
  bool asked_ = false;
};

}  // namespace

std::unique_ptr<TextRows> OpenOdbc(const SourceFile& source) {
  return std::make_unique<OdbcRows>(source);
}

}  // namespace partita::data
