// The store in a PostgreSQL database of its own, for a site whose databases are kept, watched and replicated by people who
// do that every day. The same tables, and what they promise:
//
// Alone: a store holds an advisory lock of the database for as long as its one connection lives; another one is refused. A
// lock can be lost unseen, with a server that a standby replaces or a pooler in between, so every change counts itself
// (store.changes), and only the process that knows the count before may write: one that was replaced finds that out with
// its next change at the latest, before anything of it leaves, and RequireHeld says it sooner.
//
// Durable: each change is a transaction (SERIALIZABLE, synchronous_commit = on, whatever the server's defaults are), and a
// server without fsync is refused.
//
// Nothing is tried again: if a connection is lost, or a statement takes too long, kStorage is thrown, what was being
// written may be there or not, and the object refuses everything from then on. A new one goes on from what is there.
//
// Not put back: a mark in the node's folder (database_mark.h) has the count after every change, durable before Commit
// returns; a database that is behind it is refused.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "base/postgres_session.h"
#include "crypto/random.h"
#include "node/store/database_mark.h"
#include "node/store/sql_store.h"

namespace partita::node {

struct PostgresState {
  std::string connection;  // as base/postgres_connect.h takes it
  std::string password;    // empty: none
  std::chrono::milliseconds statement_timeout = std::chrono::seconds(30);
  // How long a store waits for one that is about to end.
  std::chrono::milliseconds lock_patience = std::chrono::seconds(5);
  std::filesystem::path mark;  // in the node's folder
};

class PostgresSql : public Sql {
 public:
  // Connects, and holds the lock. Throws kUsage if another process holds it, and what connecting throws; kBadInput for a
  // server that does not do.
  explicit PostgresSql(const PostgresState& state);

  std::unique_ptr<SqlRows> Query(const std::string& sql,
                                 const std::vector<SqlValue>& values) override;
  std::unique_ptr<SqlRows> Scan(const std::string& sql) override;
  void Begin(Kind kind) override;
  void Commit() override;
  void Undo() noexcept override { transaction_.reset(); }
  void RequireHeld() override;

  bool HasTables();
  // Throws kRefused if the database is not where the folder left it, kBadInput for tables of another version.
  void TakeOver();
  // The same without a word of the folder, to be read only.
  void TakeOverToRead();
  // Begins the first change, which makes the tables; the caller fills them, and commits.
  void BeginTables(crypto::RandomSource& random);

 private:
  [[noreturn]] void FailReplaced();

  postgres::Session session_;
  std::filesystem::path mark_file_;
  DatabaseMark mark_;
  std::optional<postgres::Transaction> transaction_;
  bool is_writing_ = false;
  uint64_t scans_ = 0;
};

class PostgresStore : public SqlStore {
 public:
  // Makes the tables if they are not there, with a new incarnation from `random`. Throws as PostgresSql does, kRefused if
  // the database is not where this node left it, and also if it is empty and should not be.
  PostgresStore(const PostgresState& state, crypto::RandomSource& random);

  // As the file of a SqliteStore.
  void CopyTo(const std::filesystem::path& file) override;
  Sql& sql() override { return sql_; }

 private:
  PostgresSql sql_;
};

// A copy of what is there, also of a database that is older than the folder: for a backup. Throws kUsage if nothing is.
void CopyPostgresState(const PostgresState& state, const std::filesystem::path& file);

// Makes the tables with what the file of a SqliteStore holds, and the mark anew. Throws kUsage if there are tables.
void FillPostgresState(const PostgresState& state, const std::filesystem::path& file,
                       crypto::RandomSource& random);

// Throws kUsage if the database holds the state of a node, and what PostgresSql throws.
void RequireNoPostgresState(const PostgresState& state);

}  // namespace partita::node
