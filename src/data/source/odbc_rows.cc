#include "data/source/odbc_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <utility>

#include "base/error.h"
#include "data/number_text.h"
#include "data/source/unixodbc.h"
#include "data/source/utf16.h"
#include "data/utf8.h"

namespace partita::data {
namespace {

static_assert(sizeof(SQLWCHAR) == sizeof(char16_t));

constexpr uintptr_t kLoginSeconds = 30;

bool Succeeded(SQLRETURN result) {
  return result == SQL_SUCCESS || result == SQL_SUCCESS_WITH_INFO;
}

SQLPOINTER AsPointer(uintptr_t value) {
  return reinterpret_cast<SQLPOINTER>(value);  // NOLINT(performance-no-int-to-ptr): ODBC's manner
}

std::u16string WideText(const std::string& file, const std::string& text, const char* what) {
  std::optional<std::u16string> wide = Utf16OfUtf8(text);
  if (!wide) {
    throw Error(ErrorCode::kBadInput, fmt::format("{}: {} is not UTF-8", file, what),
                "save the file as UTF-8");
  }
  return *std::move(wide);
}

SQLWCHAR* WideUnits(std::u16string& text) { return reinterpret_cast<SQLWCHAR*>(text.data()); }

// A name or a message, ended by a zero.
std::string Utf8Of(const SQLWCHAR* units) {
  return Utf8OfUtf16(reinterpret_cast<const char16_t*>(units)).value_or("?");
}

// An environment, a connection or a statement.
class OdbcHandle {
 public:
  OdbcHandle(SQLSMALLINT type, SQLHANDLE parent) : type_(type) {
    if (!Succeeded(Odbc().allocHandle(type, parent, &handle_)))
      throw Error(ErrorCode::kInternal, "unixODBC gives no handle", "");
  }
  ~OdbcHandle() { Odbc().freeHandle(type_, handle_); }
  OdbcHandle(const OdbcHandle&) = delete;
  OdbcHandle& operator=(const OdbcHandle&) = delete;

  SQLHANDLE get() const { return handle_; }
  SQLSMALLINT type() const { return type_; }

 private:
  SQLSMALLINT type_;
  SQLHANDLE handle_ = SQL_NULL_HANDLE;
};

struct OdbcDiagnosis {
  std::string state;    // SQLSTATE
  std::string message;  // the driver's
};

OdbcDiagnosis DiagnosisOf(const OdbcHandle& handle) {
  std::array<SQLWCHAR, 6> state{};
  std::array<SQLWCHAR, 1024> message{};
  SQLINTEGER native = 0;
  SQLSMALLINT length = 0;
  if (!Succeeded(Odbc().getDiagRec(handle.type(), handle.get(), 1, state.data(), &native,
                                   message.data(), message.size(), &length))) {
    return {};
  }
  return {Utf8Of(state.data()), Utf8Of(message.data())};
}

Error TookTooLong(const std::string& file) {
  return {ErrorCode::kUnreachable, file + ": the query took longer than it may",
          "raise timeout_seconds, or ask for less"};
}

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

// A connection; what it began is taken back at its end.
class OdbcSession {
 public:
  OdbcSession(const SourceFile& source, const OdbcHandle& environment)
      : file_(source.file),
        password_(source.password),
        connection_(SQL_HANDLE_DBC, environment.get()) {
    Odbc().setConnectAttr(connection_.get(), SQL_ATTR_LOGIN_TIMEOUT, AsPointer(kLoginSeconds), 0);
    Odbc().setConnectAttr(connection_.get(), SQL_ATTR_ACCESS_MODE, AsPointer(SQL_MODE_READ_ONLY),
                          0);
    std::string text = "DSN=" + source.where + ";";
    if (!password_.empty()) {
      text += "PWD={";
      for (const char c : password_) text.append(c == '}' ? 2 : 1, c);
      text += "};";
    }
    std::u16string wide = WideText(file_, text, "the password");
    Require(Odbc().driverConnect(connection_.get(), nullptr, WideUnits(wide),
                                 static_cast<SQLSMALLINT>(wide.size()), nullptr, 0, nullptr,
                                 SQL_DRIVER_NOPROMPT),
            connection_);
    // Databases without transactions refuse this, and have nothing to take back.
    Odbc().setConnectAttr(connection_.get(), SQL_ATTR_AUTOCOMMIT, AsPointer(SQL_AUTOCOMMIT_OFF), 0);
  }
  ~OdbcSession() {
    Odbc().endTran(SQL_HANDLE_DBC, connection_.get(), SQL_ROLLBACK);
    Odbc().disconnect(connection_.get());
  }
  OdbcSession(const OdbcSession&) = delete;
  OdbcSession& operator=(const OdbcSession&) = delete;

  const OdbcHandle& connection() const { return connection_; }

  // Throws what a call on `handle` came to.
  void Require(SQLRETURN result, const OdbcHandle& handle) const {
    if (Succeeded(result)) return;
    const OdbcDiagnosis why = DiagnosisOf(handle);
    if (why.state == "HYT00" || why.state == "HYT01" || why.state == "HY008" ||
        why.state == "57014") {
      throw TookTooLong(file_);
    }
    if (why.state.starts_with("08")) {
      throw Error(ErrorCode::kUnreachable,
                  fmt::format("{}: the database does not answer: {}", file_, Told(why.message)),
                  "check the server and what odbc.ini says of it, and start again");
    }
    throw Error(
        ErrorCode::kBadInput, fmt::format("{}: {} ({})", file_, Told(why.message), why.state),
        why.state == "IM002" ? "name the database in odbc.ini (odbcinst -q -s lists those that are)"
        : why.state == "01000" || why.state == "IM003"
            ? "install the driver that odbc.ini names (odbcinst -q -d lists those that are)"
        : why.state.starts_with("28")
            ? "check the user in odbc.ini and the password in 'credentials'"
            : "try the query as this user: isql -v NAME");
  }

 private:
  // On one line, without the password.
  std::string Told(std::string message) const {
    for (size_t at = 0;
         !password_.empty() && (at = message.find(password_, at)) != std::string::npos;)
      message.replace(at, password_.size(), "...");
    std::replace_if(
        message.begin(), message.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; },
        ' ');
    return ReplaceMalformed(message);
  }

  std::string file_;
  std::string password_;
  OdbcHandle connection_;
};

class OdbcRows final : public TextRows {
 public:
  explicit OdbcRows(const SourceFile& source)
      : file_(source.file),
        environment_(SQL_HANDLE_ENV, SQL_NULL_HANDLE),
        session_(source, SpeakingOdbc3(environment_)),
        statement_(SQL_HANDLE_STMT, session_.connection().get()),
        end_(std::chrono::steady_clock::now() + source.timeout) {
    Odbc().setStmtAttr(statement_.get(), SQL_ATTR_QUERY_TIMEOUT,
                       AsPointer(static_cast<uintptr_t>(source.timeout.count())), 0);
    std::u16string query = WideText(file_, QueryOf(source), "the query");
    Require(
        Odbc().prepare(statement_.get(), WideUnits(query), static_cast<SQLINTEGER>(query.size())));
    ReadColumns();
  }

  const std::vector<std::string>& names() const override { return names_; }

  bool Next(std::vector<std::string>& cells) override {
    if (!asked_) Require(Odbc().execute(statement_.get()));
    asked_ = true;
    if (std::chrono::steady_clock::now() > end_) throw TookTooLong(file_);
    const SQLRETURN result = Odbc().fetch(statement_.get());
    if (result == SQL_NO_DATA) return false;
    Require(result);
    ++row_;
    cells.resize(kinds_.size());
    for (size_t c = 0; c < kinds_.size(); ++c) cells[c] = Cell(c);
    return true;
  }

 private:
  static const OdbcHandle& SpeakingOdbc3(const OdbcHandle& environment) {
    Odbc().setEnvAttr(environment.get(), SQL_ATTR_ODBC_VERSION, AsPointer(SQL_OV_ODBC3), 0);
    return environment;
  }

  void Require(SQLRETURN result) const { session_.Require(result, statement_); }

  // A table's name in the database's own quotes; a blank one: it has none.
  std::string QueryOf(const SourceFile& source) const {
    if (source.table.empty()) return source.query;
    std::array<SQLWCHAR, 8> quote{};
    SQLSMALLINT length = 0;
    session_.Require(Odbc().getInfo(session_.connection().get(), SQL_IDENTIFIER_QUOTE_CHAR,
                                    quote.data(), sizeof(quote), &length),
                     session_.connection());
    return "SELECT * FROM " + QuotedName(source.table, static_cast<char>(quote[0]));
  }

  void ReadColumns() {
    SQLSMALLINT count = 0;
    Require(Odbc().numResultCols(statement_.get(), &count));
    std::vector<SQLSMALLINT> types(static_cast<size_t>(count));
    for (size_t c = 0; c < types.size(); ++c) {
      std::array<SQLWCHAR, 512> name{};
      SQLSMALLINT length = 0;
      SQLULEN size = 0;
      SQLSMALLINT digits = 0;
      SQLSMALLINT nullable = 0;
      Require(Odbc().describeCol(statement_.get(), static_cast<SQLUSMALLINT>(c + 1), name.data(),
                                 name.size(), &length, &types[c], &size, &digits, &nullable));
      names_.push_back(Utf8Of(name.data()));
    }
    RequireColumnNames(names_, file_);
    for (size_t c = 0; c < types.size(); ++c) {
      const std::optional<CellKind> kind = CellKindOf(types[c]);
      if (!kind) RefuseType(c, types[c]);
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
                            Printable(Utf8Of(name.data()))),
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
  OdbcHandle environment_;
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
