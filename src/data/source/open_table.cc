#include "data/source/open_table.h"

#include <fmt/format.h>

#include "base/error.h"
#include "data/gzip_source.h"
#include "data/source/csv_rows.h"
#include "data/source/odbc_rows.h"
#include "data/source/postgres_copy.h"
#include "data/source/source_file.h"
#include "data/source/sqlite_rows.h"
#include "data/source/statistics_file.h"

namespace partita::data {
namespace {

ByteSource OpenCsv(const std::filesystem::path& path) {
  return path.extension() == ".gz" ? OpenGzipFile(path) : OpenFile(path);
}

ByteSource OpenSource(const SourceFile& source) {
  switch (source.kind) {
    case SourceKind::kSqlite:
      return CsvOfRows(OpenSqlite(source));
    case SourceKind::kPostgres:
      return OpenPostgres(source);
    case SourceKind::kOdbc:
      return CsvOfRows(OpenOdbc(source));
    case SourceKind::kCsv:
      return OpenCsv(source.where);
    case SourceKind::kStatistics:
      break;
  }
  return OpenStatisticsFile(source.where, source.labels);
}

bool MayChange(const SourceFile& source) {
  return IsDatabaseKind(source.kind) || source.edition.has_value();
}

OpenedTable Open(const std::filesystem::path& path, bool may_change) {
  if (path.extension() == ".toml") {
    const SourceFile source = ReadSourceFile(path);
    if (source.only_sums) {
      throw Error(
          ErrorCode::kRefused,
          path.string() +
              (source.passes ? ": only sums are kept of this database (mode = \"stream\"), no rows"
                             : ": only sums leave this database (mode = \"push-down\"), no rows"),
          fmt::format("have them formed for a study: partita data freeze {} --study STUDY "
                      "--party PARTY --output NAME.sums, then --data NAME.sums",
                      path.string()));
    }
    if (!may_change && MayChange(source)) {
      throw Error(ErrorCode::kRefused,
                  fmt::format("{}: a study runs on a table that stays as it is, and {} may "
                              "change while it runs",
                              path.string(),
                              IsDatabaseKind(source.kind) ? "a database" : "one with editions"),
                  fmt::format("freeze the rows first: partita data freeze {} --output data.frozen, "
                              "then --data data.frozen",
                              path.string()));
    }
    return {OpenSource(source), source.dialect};
  }
  if (IsStatisticsFile(path)) return {OpenStatisticsFile(path, true), CsvDialect{}};
  if (path.extension() == ".frozen") return {OpenFile(path), CsvDialect{}};
  return {OpenCsv(path), std::nullopt};
}

}  // namespace

OpenedTable OpenTable(const std::filesystem::path& path) { return Open(path, true); }

OpenedTable OpenTableFile(const std::filesystem::path& path) { return Open(path, false); }

bool GivesOnlySums(const std::filesystem::path& path) {
  return path.extension() == ".toml" && ReadSourceFile(path).only_sums;
}

bool IsDatabase(const std::filesystem::path& path) {
  return path.extension() == ".toml" && IsDatabaseKind(ReadSourceFile(path).kind);
}

bool MayChange(const std::filesystem::path& path) {
  return path.extension() == ".toml" && MayChange(ReadSourceFile(path));
}

std::vector<std::string> DatabaseColumns(const std::filesystem::path& path) {
  const SourceFile source = ReadSourceFile(path);
  if (source.kind == SourceKind::kPostgres) return PostgresColumns(source);
  return (source.kind == SourceKind::kOdbc ? OpenOdbc(source) : OpenSqlite(source))->names();
}

std::filesystem::path FileOfRows(const std::filesystem::path& path) {
  if (path.extension() != ".toml") return path;
  const SourceFile source = ReadSourceFile(path);
  return IsDatabaseKind(source.kind) ? path : std::filesystem::path(source.where);
}

CsvOptions WithDialect(CsvOptions options, const std::optional<CsvDialect>& dialect) {
  if (!dialect) return options;
  options.separator = dialect->separator;
  options.decimal = dialect->decimal;
  return options;
}

}  // namespace partita::data
