// The store in one SQLite file: full durability (synchronous = EXTRA), one process at a time, the
// owner's alone (0600).
#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "base/sqlite.h"
#include "crypto/random.h"
#include "node/store/sql_store.h"

namespace partita::node {

class SqliteSql : public Sql {
 public:
  explicit SqliteSql(sqlite::Database& database) : database_(database) {}

  std::unique_ptr<SqlRows> Query(const std::string& sql,
                                 const std::vector<SqlValue>& values) override;
  std::unique_ptr<SqlRows> Scan(const std::string& sql) override { return Query(sql, {}); }
  void Begin(Kind kind) override;
  void Commit() override;
  void Undo() noexcept override;
  // Nobody else opens the file while it is open.
  void RequireHeld() override {}

 private:
  sqlite::Database& database_;
  std::optional<sqlite::Transaction> transaction_;
};

class SqliteStore : public SqlStore {
 public:
  // Makes the file if it is not there, with a new incarnation from `random`. Throws kStorage, or
  // kBadInput for a file of another kind.
  SqliteStore(const std::filesystem::path& file, crypto::RandomSource& random);
  ~SqliteStore() override;

  void CopyTo(const std::filesystem::path& file) override;
  Sql& sql() override { return sql_; }

 private:
  sqlite::Database database_;
  SqliteSql sql_;
};

}  // namespace partita::node
