#include "node/store/sqlite_store.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include "base/error.h"
#include "node/store/sqlite_schema.h"

namespace partita::node {
namespace {

using sqlite::Statement;
using sqlite::Transaction;

Error StoreFailure(const std::string& /*file*/, int result_code, const std::string& reason) {
  const std::string message = "the state of the node cannot be read or written: " + reason;
  switch (result_code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return {ErrorCode::kStorage, message, "Another process uses this file; stop it."};
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
      return {ErrorCode::kBadInput, message, "Restore the node from its backup."};
    default:
      return {ErrorCode::kStorage, message,
              "Check the disk and start again; what was answered is in the file."};
  }
}

std::string MadePrivate(const std::filesystem::path& file) {
  const int made = ::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (made >= 0) ::close(made);
  return file.string();
}

void RequirePragma(const sqlite::Database& database, const char* pragma, const char* expected) {
  if (database.Pragma(pragma) == expected) return;
  throw Error(ErrorCode::kStorage,
              std::string("the state of the node does not take the setting ") + pragma,
              "Put it on a local file system.");
}

class SqliteRows : public SqlRows {
 public:
  // A parameter $1 is a name to SQLite, and gets its number where it first occurs.
  SqliteRows(const sqlite::Database& database, const std::string& sql,
             const std::vector<SqlValue>& values)
      : values_(values), statement_(database, sql.c_str()) {
    int parameter = 0;
    for (const SqlValue& value : values_)
      std::visit([&](const auto& given) { statement_.Bind(++parameter, given); }, value);
  }
  bool Step() override { return statement_.Step(); }
  bool IsNull(int column) override { return statement_.IsNull(column); }
  int64_t Integer(int column) override { return statement_.Integer(column); }
  ByteView Blob(int column) override { return statement_.Blob(column); }
  std::string Text(int column) override { return statement_.Text(column); }

 private:
  const std::vector<SqlValue> values_;
  Statement statement_;
};

}  // namespace

std::unique_ptr<SqlRows> SqliteSql::Query(const std::string& sql,
                                          const std::vector<SqlValue>& values) {
  return std::make_unique<SqliteRows>(database_, sql, values);
}

void SqliteSql::Begin(Kind kind) {
  transaction_.emplace(database_,
                       kind == Kind::kRead ? Transaction::Kind::kRead : Transaction::Kind::kWrite);
}

void SqliteSql::Commit() {
  transaction_.value().Commit();
  transaction_.reset();
}

void SqliteSql::Undo() noexcept { transaction_.reset(); }

SqliteStore::SqliteStore(const std::filesystem::path& file, crypto::RandomSource& random)
    : database_(MadePrivate(file), {.fail = StoreFailure, .create = true}), sql_(database_) {
  RequirePragma(database_, "PRAGMA locking_mode = EXCLUSIVE", "exclusive");
  RequirePragma(database_, "PRAGMA journal_mode = DELETE", "delete");
  database_.Execute("PRAGMA synchronous = EXTRA");
  database_.Execute("PRAGMA cell_size_check = ON");
  database_.Execute("PRAGMA trusted_schema = OFF");
  // What is deleted is overwritten.
  database_.Execute("PRAGMA secure_delete = ON");
  RequirePragma(database_, "PRAGMA synchronous", "3");
  MakeNodeTables(database_, random);
  // Reading alone would share the file with another process until the first write.
  database_.Execute("BEGIN EXCLUSIVE");
  database_.Execute("COMMIT");
}

SqliteStore::~SqliteStore() = default;

void SqliteStore::CopyTo(const std::filesystem::path& file) {
  const std::string name = file.string();
  Statement copy(database_, "VACUUM INTO ?");
  copy.Bind(1, name).Step();
}

}  // namespace partita::node
