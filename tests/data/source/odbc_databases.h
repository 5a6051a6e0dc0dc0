// Databases of an odbc.ini of a test's own, by the drivers of SQLite and PostgreSQL.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "tests/data/source/folder.h"
#include "tests/sums/protocol/postgres_server.h"

#ifdef __SANITIZE_ADDRESS__
#define PARTITA_FINDS_LEAKS
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define PARTITA_FINDS_LEAKS
#endif
#endif
#ifdef PARTITA_FINDS_LEAKS
#include <sanitizer/lsan_interface.h>
#endif

namespace partita::data::testing {

// The driver manager and its drivers keep some memory when they are closed.
#ifdef PARTITA_FINDS_LEAKS
using KeepingMemory = __lsan::ScopedDisabler;
#else
struct KeepingMemory {};
#endif

// The driver manager remembers a name's entries: each is new.
class OdbcDatabases : public ::testing::Test {
 protected:
  OdbcDatabases() { ::setenv("ODBCINI", (folder_ / "odbc.ini").c_str(), 1); }

  std::string Named(const std::string& entries) const {
    static int last = 0;
    std::string name = fmt::format("t{}_{}", ::getpid(), ++last);
    folder_.Write("odbc.ini", fmt::format("[{}]\n{}", name, entries));
    return name;
  }
  std::string Sqlite(const std::string& sql) const {
    sqlite3* connection = nullptr;
    EXPECT_EQ(sqlite3_open((folder_ / "t.db").c_str(), &connection), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(connection, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
        << sqlite3_errmsg(connection);
    sqlite3_close(connection);
    return Named(fmt::format("Driver = SQLite3\nDatabase = {}\n", folder_ / "t.db"));
  }
  std::string Postgres(const std::string& sql, const std::string& more = {}) const {
    const std::string database = sums::SharedServer().MakeDatabase();
    sums::SharedServer().Administer(database, "SET search_path = public; " + sql);
    return Named(
        fmt::format("Driver = PostgreSQL Unicode\nServername = {}\nPort = 5432\nDatabase = "
                    "{}\nUserName = postgres\n{}",
                    sums::SharedServer().folder().string(), database, more));
  }

  const KeepingMemory keeping_{};
  const Folder folder_;
};

}  // namespace partita::data::testing
