#include "privacy/ledger/sqlite.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>

#include "base/error.h"

namespace partita::privacy::ledger {
namespace {

[[noreturn]] void Throw(sqlite3* connection, const std::string& file, int result_code) {
  const std::string reason =
      connection != nullptr ? sqlite3_errmsg(connection) : sqlite3_errstr(result_code);
  switch (result_code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      throw Error(
          ErrorCode::kTimeout,
          fmt::format("the privacy ledger {} is in use by other processes ({})", file, reason),
          "try again when they are done");
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
    case SQLITE_ERROR:
    case SQLITE_SCHEMA:
    case SQLITE_CONSTRAINT:
    case SQLITE_MISMATCH:
    case SQLITE_FORMAT:
    case SQLITE_TOOBIG:
      throw Error(ErrorCode::kRefused,
                  fmt::format("the privacy ledger {} is damaged ({})", file, reason),
                  "let nobody use it, keep the file, and find the newest intact copy");
    case SQLITE_NOMEM:
      throw Error(ErrorCode::kInternal, "no memory for the privacy ledger");
    case SQLITE_FULL:
    case SQLITE_IOERR:
      throw Error(
          ErrorCode::kStorage,
          fmt::format("the privacy ledger {} cannot be read or written ({})", file, reason),
          "make room or repair the disk, then open the ledger again; what was acknowledged is in "
          "it");
    default:
      throw Error(
          ErrorCode::kUsage,
          fmt::format("the privacy ledger {} cannot be read or written ({})", file, reason),
          "repair the file system, then open the ledger again; what was acknowledged is in it");
  }
}

int Milliseconds(std::chrono::milliseconds patience) {
  return static_cast<int>(std::clamp<int64_t>(patience.count(), 0, 3'600'000));
}

}  // namespace

Statement::Statement(sqlite3* connection, const std::string& file, const char* sql)
    : connection_(connection), file_(file) {
  Require(sqlite3_prepare_v2(connection_, sql, -1, &statement_, nullptr));
}

Statement::~Statement() { sqlite3_finalize(statement_); }

void Statement::Require(int result_code) {
  if (result_code != SQLITE_OK) Throw(connection_, file_, result_code);
}

Statement& Statement::Bind(int parameter, int64_t value) {
  Require(sqlite3_bind_int64(statement_, parameter, value));
  return *this;
}

Statement& Statement::Bind(int parameter, ByteView blob) {
  Require(sqlite3_bind_blob64(statement_, parameter, blob.data(), blob.size(), SQLITE_STATIC));
  return *this;
}

Statement& Statement::Bind(int parameter, const std::string& text) {
  Require(sqlite3_bind_text64(statement_, parameter, text.data(), text.size(), SQLITE_STATIC,
                              SQLITE_UTF8));
  return *this;
}

bool Statement::Step() {
  const int result = sqlite3_step(statement_);
  if (result != SQLITE_ROW && result != SQLITE_DONE) Throw(connection_, file_, result);
  return result == SQLITE_ROW;
}

int64_t Statement::Integer(int column) { return sqlite3_column_int64(statement_, column); }

ByteView Statement::Blob(int column) {
  const auto* bytes = static_cast<const uint8_t*>(sqlite3_column_blob(statement_, column));
  return {bytes, static_cast<size_t>(sqlite3_column_bytes(statement_, column))};
}

std::string Statement::Text(int column) {
  const ByteView bytes = Blob(column);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Database::Database(const std::string& file, const std::string& vfs, bool create,
                   std::chrono::milliseconds patience)
    : file_(file) {
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE |
                    SQLITE_OPEN_PRIVATECACHE | (create ? SQLITE_OPEN_CREATE : 0);
  const int result =
      sqlite3_open_v2(file.c_str(), &connection_, flags, vfs.empty() ? nullptr : vfs.c_str());
  try {
    if (result != SQLITE_OK) Throw(connection_, file_, result);
    sqlite3_busy_timeout(connection_, Milliseconds(patience));
  } catch (...) {
    sqlite3_close_v2(connection_);
    throw;
  }
}

Database::~Database() { sqlite3_close_v2(connection_); }

void Database::Execute(const char* sql) {
  const int result = sqlite3_exec(connection_, sql, nullptr, nullptr, nullptr);
  if (result != SQLITE_OK) Throw(connection_, file_, result);
}

std::string Database::Pragma(const char* sql) {
  Statement statement(connection_, file_, sql);
  return statement.Step() ? statement.Text(0) : std::string();
}

Transaction::Transaction(Database& database, Kind kind) : database_(database) {
  database_.Execute(kind == Kind::kWrite ? "BEGIN IMMEDIATE" : "BEGIN");
  open_ = true;
}

Transaction::~Transaction() {
  if (!open_) return;
  try {
    database_.Execute("ROLLBACK");
  } catch (const Error&) {
    // After an error SQLite may have rolled back by itself. If not, closing the file does.
    open_ = false;
  }
}

void Transaction::Commit() {
  database_.Execute("COMMIT");
  open_ = false;
}

}  // namespace partita::privacy::ledger
