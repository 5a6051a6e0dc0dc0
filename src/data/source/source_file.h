// Where a table lies: a file of the party's own, which goes to no other party.
//
//     source = "postgresql://partita_reader@db.example.org/warehouse"   # or "sqlite:registry.db"
//     table = "clinic.patients"          # or query = "patients.sql": one SELECT
//     credentials = "patients.pass"      # the password, in a file that only its owner reads
//     timeout_seconds = 3600             # of the query; left out: an hour
//     mode = "push-down"                 # only sums leave it (sum_source.h); left out: "freeze"
//                                        # "stream": its rows pass, and only sums are kept (passing_sums.h)
//     edition = "quarterly"              # when exact studies see other rows (run/party/editions.h);
//                                        # left out, of a database: "steward"
//     edition_rows = 25                  # by how many persons editions differ at least; left out: 10
//     key = "patient"                    # the column by which persons are known in all editions
//
// or, for a database that odbc.ini of the machine names (credentials is its password),
//
//     source = "odbc:DSN=warehouse"
//
// or
//
//     source = "survey.sav"              # of SPSS, Stata or SAS
//     labels = false                     # codes as they are, not the labels of values
//
// or
//
//     source = "registry.csv"            # or .csv.gz: written otherwise than the study file says
//     separator = ";"                    # left out: ","
//     decimal = ","                      # left out: "."
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace partita::data {

// When a table that changes is frozen anew for exact studies.
enum class EditionRule { kSteward, kMonthly, kQuarterly, kYearly };
inline constexpr uint64_t kLeastEditionRows = 10;

enum class SourceKind { kSqlite, kPostgres, kOdbc, kStatistics, kCsv };

// How fields are separated and decimal numbers written.
struct CsvDialect {
  char separator = ',';
  char decimal = '.';
};

struct SourceFile {
  std::string file;  // its own name, for messages
  SourceKind kind = SourceKind::kSqlite;
  std::string where;     // a file, libpq's connection string, or a name in odbc.ini
  std::string query;     // one SELECT, of databases; empty if `table` is named
  std::string table;     // of ODBC, which has its own quotes
  std::string password;  // empty: none
  std::chrono::seconds timeout{3600};
  bool only_sums = false;   // of databases: no row is kept
  bool passes = false;      // of PostgreSQL, only_sums: rows are read, and added up by this program
  bool labels = true;       // of statistics files: cells are the labels of their values
  CsvDialect dialect = {};  // of its bytes
  // None: the table stays as it is, or no row of it is read.
  std::optional<EditionRule> edition = {};
  uint64_t edition_rows = kLeastEditionRows;
  std::string key = {};  // empty: none is named
};

bool IsDatabaseKind(SourceKind kind);

// A table's name, or its schema's and its own, as identifiers between `quote`; a blank: as they are.
std::string QuotedName(const std::string& table, char quote);

// Names of files are taken from the folder of `path`. Throws kBadInput, with line and column, for what
// it does not know, kRefused for a file of a password that others may read.
SourceFile ReadSourceFile(const std::filesystem::path& path);

}  // namespace partita::data
