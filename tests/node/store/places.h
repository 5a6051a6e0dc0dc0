// The places where a node's state may be, and what whoever owns them can do there; a file of its own each, a database of
// its own on the test program's server.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>

#include "base/sqlite.h"
#include "node/store/postgres_store.h"
#include "node/store/sqlite_store.h"
#include "run/simulate/temporary_folder.h"
#include "tests/node/doubles.h"
#include "tests/sums/protocol/postgres_server.h"

namespace partita::node {

inline sqlite::Database OpenRaw(const std::filesystem::path& file, bool create = false) {
  return {file.string(),
          {.fail = [](const std::string&, int,
                      const std::string& why) { return Error(ErrorCode::kStorage, why); },
           .create = create}};
}

// All that a file of a SqliteStore holds, by table; of numbers that a database counts by itself the order alone.
inline std::string DumpOf(const std::filesystem::path& file) {
  sqlite::Database database = OpenRaw(file);
  std::string text;
  sqlite::Statement tables(database,
                           "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name");
  while (tables.Step()) {
    const std::string table = tables.Text(0);
    text += table + "\n";
    const bool is_counted = table == "log_fault";
    sqlite::Statement rows(database, ("SELECT * FROM " + table + " ORDER BY " +
                                      (table == "study" || is_counted ? "rowid" : "1, 2, 3"))
                                         .c_str());
    while (rows.Step()) {
      for (int column = is_counted ? 1 : 0; column < rows.NumColumns(); ++column)
        text += " " + ToHex(rows.Blob(column));
      text += "\n";
    }
  }
  return text;
}

class Place {
 public:
  virtual ~Place() = default;
  virtual std::unique_ptr<SqlStore> Open(crypto::RandomSource& random) = 0;
  // Statements of its owner.
  virtual void Administer(const std::string& sql) = 0;
  // All that is there.
  std::string Dump(SqlStore& store) {
    const std::filesystem::path copy = folder.path() / "dump.sqlite";
    store.CopyTo(copy);
    std::string text = DumpOf(copy);
    std::filesystem::remove(copy);
    return text;
  }

  run::TemporaryFolder folder;
  // How long a store waits for another one that has the state.
  std::chrono::milliseconds patience = std::chrono::seconds(60);
};

class SqlitePlace : public Place {
 public:
  std::filesystem::path File() const { return folder.path() / "state.sqlite"; }
  std::unique_ptr<SqlStore> Open(crypto::RandomSource& random) override {
    return std::make_unique<SqliteStore>(File(), random);
  }
  void Administer(const std::string& sql) override { OpenRaw(File()).Execute(sql.c_str()); }
};

class PostgresPlace : public Place {
 public:
  explicit PostgresPlace(sums::PostgresServer& at = sums::SharedServer()) : server(at) {
    state.connection = server.Connection(database);
    state.mark = folder.path() / "database.mark";
  }
  std::unique_ptr<PostgresStore> OpenHere(crypto::RandomSource& random) const {
    PostgresState waiting = state;
    waiting.lock_patience = patience;
    return std::make_unique<PostgresStore>(waiting, random);
  }
  std::unique_ptr<SqlStore> Open(crypto::RandomSource& random) override { return OpenHere(random); }
  void Administer(const std::string& sql) override {
    server.Administer(database, "SET search_path = partita_node, pg_catalog; " + sql);
  }

  sums::PostgresServer& server;
  const std::string database = server.MakeDatabase();
  PostgresState state;
};

}  // namespace partita::node
