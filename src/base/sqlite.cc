#include "base/sqlite.h"

#include <sqlite3.h>

#include <algorithm>

namespace partita::sqlite {
namespace {

// SQLite takes an address even for no bytes; without one it binds NULL.
const void* Address(ByteView bytes) {
  static constexpr uint8_t kNothing = 0;
  return bytes.empty() ? &kNothing : bytes.data();
}

}  // namespace

Database::Database(const std::string& file, const Options& options)
    : file_(file), fail_(options.fail) {
  const int flags = (options.read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE) |
                    SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE | SQLITE_OPEN_PRIVATECACHE |
                    (options.create ? SQLITE_OPEN_CREATE : 0);
  const int result = sqlite3_open_v2(file.c_str(), &connection_, flags,
                                     options.vfs.empty() ? nullptr : options.vfs.c_str());
  try {
    Require(result == SQLITE_OK, result);
    const int64_t milliseconds = std::clamp<int64_t>(options.patience.count(), 0, 3'600'000);
    sqlite3_busy_timeout(connection_, static_cast<int>(milliseconds));
    if (options.read_only) {
      sqlite3_db_config(connection_, SQLITE_DBCONFIG_DQS_DML, 0, nullptr);
      sqlite3_db_config(connection_, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
      Execute("PRAGMA query_only = 1");
    }
  } catch (...) {
    sqlite3_close_v2(connection_);
    throw;
  }
}

Database::~Database() { sqlite3_close_v2(connection_); }

void Database::Require(bool good, int result_code) const {
  if (good) return;
  throw fail_(file_, result_code,
              connection_ != nullptr ? sqlite3_errmsg(connection_) : sqlite3_errstr(result_code));
}

void Database::EndAt(std::chrono::steady_clock::time_point deadline) {
  deadline_ = deadline;
  // About every millisecond.
  sqlite3_progress_handler(
      connection_, 10'000,
      [](void* self) {
        return std::chrono::steady_clock::now() > static_cast<Database*>(self)->deadline_ ? 1 : 0;
      },
      this);
}

Statement Database::Prepare(const char* sql) const { return {*this, sql}; }

void Database::Execute(const char* sql) {
  const int result = sqlite3_exec(connection_, sql, nullptr, nullptr, nullptr);
  Require(result == SQLITE_OK, result);
}

std::string Database::Pragma(const char* sql) const {
  Statement statement(*this, sql);
  return statement.Step() ? statement.Text(0) : std::string();
}

Statement::Statement(const Database& database, const char* sql) : database_(database) {
  const char* rest = nullptr;
  int result = sqlite3_prepare_v2(database.connection_, sql, -1, &statement_, &rest);
  database.Require(result == SQLITE_OK, result);
  // Behind it there may be blanks and remarks.
  sqlite3_stmt* second = nullptr;
  if (*rest != '\0') result = sqlite3_prepare_v2(database.connection_, rest, -1, &second, nullptr);
  sqlite3_finalize(second);
  if (statement_ != nullptr && result == SQLITE_OK && second == nullptr) return;
  sqlite3_finalize(statement_);
  throw database.fail_(database.file_, SQLITE_MISUSE, "not one statement");
}

Statement::~Statement() { sqlite3_finalize(statement_); }

int Statement::NumColumns() const { return sqlite3_column_count(statement_); }

std::string Statement::ColumnName(int column) const {
  return sqlite3_column_name(statement_, column);
}

Statement::Type Statement::TypeOf(int column) {
  switch (sqlite3_column_type(statement_, column)) {
    case SQLITE_INTEGER:
      return Type::kInteger;
    case SQLITE_FLOAT:
      return Type::kReal;
    case SQLITE_TEXT:
      return Type::kText;
    case SQLITE_BLOB:
      return Type::kBlob;
    default:
      return Type::kNull;
  }
}

double Statement::Real(int column) { return sqlite3_column_double(statement_, column); }

Statement& Statement::Bind(int parameter, int64_t value) {
  const int result = sqlite3_bind_int64(statement_, parameter, value);
  database_.Require(result == SQLITE_OK, result);
  return *this;
}

Statement& Statement::Bind(int parameter, ByteView blob) {
  const int result =
      sqlite3_bind_blob64(statement_, parameter, Address(blob), blob.size(), SQLITE_STATIC);
  database_.Require(result == SQLITE_OK, result);
  return *this;
}

Statement& Statement::Bind(int parameter, const std::string& text) {
  const int result = sqlite3_bind_text64(statement_, parameter, text.data(), text.size(),
                                         SQLITE_STATIC, SQLITE_UTF8);
  database_.Require(result == SQLITE_OK, result);
  return *this;
}

Statement& Statement::BindReal(int parameter, double value) {
  const int result = sqlite3_bind_double(statement_, parameter, value);
  database_.Require(result == SQLITE_OK, result);
  return *this;
}

bool Statement::Step() {
  const int result = sqlite3_step(statement_);
  database_.Require(result == SQLITE_ROW || result == SQLITE_DONE, result);
  return result == SQLITE_ROW;
}

bool Statement::IsNull(int column) {
  return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}

int64_t Statement::Integer(int column) { return sqlite3_column_int64(statement_, column); }

ByteView Statement::Blob(int column) {
  const auto* bytes = static_cast<const uint8_t*>(sqlite3_column_blob(statement_, column));
  return {bytes, static_cast<size_t>(sqlite3_column_bytes(statement_, column))};
}

std::string Statement::Text(int column) {
  // First, since it may convert: a database may keep UTF-16.
  const unsigned char* text = sqlite3_column_text(statement_, column);
  const auto size = static_cast<size_t>(sqlite3_column_bytes(statement_, column));
  return text == nullptr ? std::string() : std::string(reinterpret_cast<const char*>(text), size);
}

void Statement::Reset() {
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
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

}  // namespace partita::sqlite
