#include "data/source/odbc_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "data/source/csv_rows.h"
#include "data/source/utf16.h"
#include "data/utf8.h"

namespace partita::data {
namespace {

static_assert(sizeof(SQLWCHAR) == sizeof(char16_t));

constexpr uintptr_t kLoginSeconds = 30;

struct OdbcDiagnosis {
  std::string state;    // SQLSTATE
  std::string message;  // the driver's
};

OdbcDiagnosis DiagnosisOf(const OdbcHandle& handle) {
  std::array<SQLWCHAR, 6> state{};
  std::array<SQLWCHAR, 1024> message{};
  SQLINTEGER native = 0;
  SQLSMALLINT length = 0;
  if (!OdbcSucceeded(Odbc().getDiagRec(handle.type(), handle.get(), 1, state.data(), &native,
                                       message.data(), message.size(), &length))) {
    return {};
  }
  return {Utf8OfOdbc(state.data()), Utf8OfOdbc(message.data())};
}

const OdbcHandle& SpeakingOdbc3(const OdbcHandle& environment) {
  Odbc().setEnvAttr(environment.get(), SQL_ATTR_ODBC_VERSION, OdbcPointer(SQL_OV_ODBC3), 0);
  return environment;
}

}  // namespace

bool OdbcSucceeded(SQLRETURN result) {
  return result == SQL_SUCCESS || result == SQL_SUCCESS_WITH_INFO;
}

SQLPOINTER OdbcPointer(uintptr_t value) {
  return reinterpret_cast<SQLPOINTER>(value);  // NOLINT(performance-no-int-to-ptr): ODBC's manner
}

std::u16string OdbcText(const std::string& file, const std::string& text, const char* what) {
  std::optional<std::u16string> wide = Utf16OfUtf8(text);
  if (!wide) {
    throw Error(ErrorCode::kBadInput, fmt::format("{}: {} is not UTF-8", file, what),
                "save the file as UTF-8");
  }
  return *std::move(wide);
}

SQLWCHAR* OdbcUnits(std::u16string& text) { return reinterpret_cast<SQLWCHAR*>(text.data()); }

std::string Utf8OfOdbc(const SQLWCHAR* units) {
  return Utf8OfUtf16(reinterpret_cast<const char16_t*>(units)).value_or("?");
}

Error OdbcTookTooLong(const std::string& file) {
  return {ErrorCode::kUnreachable, file + ": the query took longer than it may",
          "raise timeout_seconds, or ask for less"};
}

OdbcHandle::OdbcHandle(SQLSMALLINT type, SQLHANDLE parent) : type_(type) {
  if (!OdbcSucceeded(Odbc().allocHandle(type, parent, &handle_)))
    throw Error(ErrorCode::kInternal, "unixODBC gives no handle", "");
}

OdbcHandle::~OdbcHandle() { Odbc().freeHandle(type_, handle_); }

OdbcSession::OdbcSession(const SourceFile& source)
    : file_(source.file),
      password_(source.password),
      environment_(SQL_HANDLE_ENV, SQL_NULL_HANDLE),
      connection_(SQL_HANDLE_DBC, SpeakingOdbc3(environment_).get()) {
  Odbc().setConnectAttr(connection_.get(), SQL_ATTR_LOGIN_TIMEOUT, OdbcPointer(kLoginSeconds), 0);
  Odbc().setConnectAttr(connection_.get(), SQL_ATTR_ACCESS_MODE, OdbcPointer(SQL_MODE_READ_ONLY),
                        0);
  std::string text = "DSN=" + source.where + ";";
  if (!password_.empty()) {
    text += "PWD={";
    for (const char c : password_) text.append(c == '}' ? 2 : 1, c);
    text += "};";
  }
  std::u16string wide = OdbcText(file_, text, "the password");
  Require(Odbc().driverConnect(connection_.get(), nullptr, OdbcUnits(wide),
                               static_cast<SQLSMALLINT>(wide.size()), nullptr, 0, nullptr,
                               SQL_DRIVER_NOPROMPT),
          connection_);
  // Databases without transactions refuse this, and have nothing to take back.
  Odbc().setConnectAttr(connection_.get(), SQL_ATTR_AUTOCOMMIT, OdbcPointer(SQL_AUTOCOMMIT_OFF), 0);
}

OdbcSession::~OdbcSession() {
  Odbc().endTran(SQL_HANDLE_DBC, connection_.get(), SQL_ROLLBACK);
  Odbc().disconnect(connection_.get());
}

void OdbcSession::Require(SQLRETURN result, const OdbcHandle& handle) const {
  if (OdbcSucceeded(result)) return;
  const OdbcDiagnosis why = DiagnosisOf(handle);
  if (why.state == "HYT00" || why.state == "HYT01" || why.state == "HY008" ||
      why.state == "57014") {
    throw OdbcTookTooLong(file_);
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
      : why.state.starts_with("28") ? "check the user in odbc.ini and the password in 'credentials'"
                                    : "try the query as this user: isql -v NAME");
}

std::string OdbcSession::Told(std::string message) const {
  for (size_t at = 0;
       !password_.empty() && (at = message.find(password_, at)) != std::string::npos;)
    message.replace(at, password_.size(), "...");
  std::replace_if(
      message.begin(), message.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; },
      ' ');
  return ReplaceMalformed(message);
}

std::string OdbcSession::Info(SQLUSMALLINT what) const {
  std::array<SQLWCHAR, 128> text{};
  SQLSMALLINT length = 0;
  Require(Odbc().getInfo(connection_.get(), what, text.data(), sizeof(text), &length), connection_);
  return Utf8OfOdbc(text.data());
}

std::string OdbcSession::QueryOf(const SourceFile& source) const {
  if (source.table.empty()) return source.query;
  const std::string quote = Info(SQL_IDENTIFIER_QUOTE_CHAR);
  return "SELECT * FROM " + QuotedName(source.table, quote.empty() ? ' ' : quote.front());
}

void OdbcSession::Limit(const OdbcHandle& statement, std::chrono::seconds timeout) const {
  Odbc().setStmtAttr(statement.get(), SQL_ATTR_QUERY_TIMEOUT,
                     OdbcPointer(static_cast<uintptr_t>(timeout.count())), 0);
}

std::vector<OdbcColumn> OdbcColumnsOf(const OdbcSession& session, const OdbcHandle& statement,
                                      const std::string& file) {
  SQLSMALLINT count = 0;
  session.Require(Odbc().numResultCols(statement.get(), &count), statement);
  std::vector<OdbcColumn> columns(static_cast<size_t>(count));
  std::vector<std::string> names;
  for (size_t c = 0; c < columns.size(); ++c) {
    std::array<SQLWCHAR, 512> name{};
    SQLSMALLINT length = 0;
    SQLULEN size = 0;
    SQLSMALLINT digits = 0;
    SQLSMALLINT nullable = 0;
    session.Require(
        Odbc().describeCol(statement.get(), static_cast<SQLUSMALLINT>(c + 1), name.data(),
                           name.size(), &length, &columns[c].type, &size, &digits, &nullable),
        statement);
    columns[c].name = Utf8OfOdbc(name.data());
    names.push_back(columns[c].name);
  }
  RequireColumnNames(names, file);
  return columns;
}

}  // namespace partita::data
