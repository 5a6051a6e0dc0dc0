// A PostgreSQL 15 of the tests' own: made in a temporary folder, reached over a socket in it, ended
// with the object or with the test's process. The server refuses to be root, so a root's test runs
// it as nobody. Its defaults are unkind: commits that do not wait for the disk, and a write-ahead
// log that is written late, so that a killed server loses what nobody asked it to keep; snapshots
// that last for a transaction.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "sums/spool/postgres_spool.h"
#include "sums/spool/spool_session.h"

namespace partita::sums {

class PostgresServer {
 public:
  using Options = std::map<std::string, std::string>;

  // options: settings of the server. parent: where its folder is made; in memory where there is
  // such a file system.
  explicit PostgresServer(Options options = {}, const std::filesystem::path& parent = {});
  ~PostgresServer();
  PostgresServer(const PostgresServer&) = delete;
  PostgresServer& operator=(const PostgresServer&) = delete;

  // Starts it on what is in its folder, with these settings beside its own; waits until it takes
  // connections.
  void Start(const Options& more = {});
  // kill -9 of all its processes.
  void Kill();
  // As an operator stops it.
  void Stop();
  // The running server's process.
  pid_t pid() const { return process_; }
  std::filesystem::path data() const { return folder_ / "data"; }
  std::filesystem::path socket() const { return folder_ / ".s.PGSQL.5432"; }
  std::filesystem::path folder() const { return folder_; }

  // A new, empty database, owned by the role "spool", which has no other rights.
  std::string MakeDatabase();
  std::string Connection(const std::string& database, const std::string& role = "spool") const;
  PostgresSettings Settings(const std::string& database) const;
  // Statements of the administrator.
  postgres::Rows Administer(const std::string& database, const std::string& sql) const;

 private:
  Options options_;
  std::filesystem::path folder_;
  pid_t process_ = -1;
  int databases_ = 0;
};

// Whether a process has ended, reaped or not.
bool HasEnded(pid_t process);

// The one server of a test program, started when first asked for.
PostgresServer& SharedServer();

}  // namespace partita::sums
