#include "data/source/source_file.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "base/error.h"
#include "base/files.h"
#include "base/password_file.h"
#include "base/stray_character.h"
#include "data/csv_header.h"
#include "data/source/statistics_file.h"

namespace partita::data {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMostBytes = 1 << 20;
constexpr std::array<std::string_view, 12> kSourceKeys = {
    "source", "table",     "query",   "credentials", "timeout_seconds", "mode",
    "labels", "separator", "decimal", "edition",     "edition_rows",    "key"};
constexpr int64_t kMostEditionRows = 1'000'000;

class SourceReader {
 public:
  explicit SourceReader(const fs::path& path)
      : path_(path), text_(ReadFile(path, kMostBytes, "the source file")) {
    if (const auto stray = FindStrayCharacter(text_)) {
      throw Error(ErrorCode::kBadInput,
                  fmt::format("{}:{}:{}: a character that is not ASCII", path.string(), stray->line,
                              stray->column),
                  kStrayCharacterHint);
    }
    try {
      root_ = toml::parse(text_);
    } catch (const toml::parse_error& error) {
      Bad(error.source(), std::string(error.description()), "write TOML: key = \"value\"");
    }
    for (auto&& [key, value] : root_) {
      if (std::find(kSourceKeys.begin(), kSourceKeys.end(), key.str()) == kSourceKeys.end()) {
        Bad(key.source(), fmt::format("unknown key '{}'", key.str()),
            fmt::format("known are: {}", fmt::join(kSourceKeys, ", ")));
      }
    }
  }

  SourceFile Read() {
    SourceFile source;
    source.file = path_.string();
    const std::string where = Text("source");
    if (where.empty()) Missing("source", "source = \"sqlite:registry.db\"");
    if (where.starts_with("postgresql://") || where.starts_with("postgres://")) {
      source.kind = SourceKind::kPostgres;
      source.where = where;
    } else if (where.starts_with("sqlite:")) {
      source.kind = SourceKind::kSqlite;
      source.where = Beside(where.substr(7)).string();
    } else if (where.starts_with("odbc:")) {
      source.kind = SourceKind::kOdbc;
      source.where = DataSourceName(where);
    } else if (IsStatisticsFile(where)) {
      source.kind = SourceKind::kStatistics;
      source.where = Beside(where).string();
    } else if (where.ends_with(".csv") || where.ends_with(".csv.gz")) {
      source.kind = SourceKind::kCsv;
      source.where = Beside(where).string();
    } else {
      Bad(At("source"), "no source of this kind",
          "name postgresql://USER@HOST/DATABASE, sqlite:FILE, odbc:DSN=NAME, a file of SPSS, Stata "
          "or "
          "SAS, or a file whose name ends in .csv or .csv.gz");
    }
    const bool is_database = IsDatabaseKind(source.kind);
    if (is_database) ReadQuery(source);
    Only(is_database, {"table", "query", "credentials", "timeout_seconds", "mode"}, "databases");
    ReadMode(source);
    Only(source.kind == SourceKind::kStatistics, {"labels"}, "files of SPSS, Stata and SAS");
    Only(source.kind == SourceKind::kCsv, {"separator", "decimal"}, "CSV files");
    source.dialect.separator = Character("separator", source.dialect.separator);
    source.dialect.decimal = Character("decimal", source.dialect.decimal);
    if (source.kind == SourceKind::kCsv) RequireWritten(source.dialect);
    if (const toml::node* node = root_.get("labels")) {
      if (!node->is_boolean()) Bad(node->source(), "'labels' is true or false", "labels = false");
      source.labels = node->as_boolean()->get();
    }
    ReadEdition(source);
    if (root_.contains("credentials")) source.password = Password(source.kind);
    if (const toml::node* node = root_.get("timeout_seconds")) {
      const auto seconds = node->value<int64_t>();
      if (!node->is_integer() || *seconds < 1 || *seconds > 86'400)
        Bad(node->source(), "'timeout_seconds' is a whole number from 1 to 86400",
            "timeout_seconds = 3600");
      source.timeout = std::chrono::seconds(*seconds);
    }
    return source;
  }

 private:
  [[noreturn]] void Bad(const toml::source_region& at, const std::string& message,
                        const std::string& hint) const {
    throw Error(
        ErrorCode::kBadInput,
        fmt::format("{}:{}:{}: {}", path_.string(), at.begin.line, at.begin.column, message), hint);
  }
  [[noreturn]] void Missing(const char* key, const char* line) const {
    throw Error(ErrorCode::kBadInput, fmt::format("{}: there is no '{}'", path_.string(), key),
                fmt::format("add a line: {}", line));
  }
  const toml::source_region& At(const char* key) const { return root_.get(key)->source(); }
  fs::path Beside(const std::string& name) const { return path_.parent_path() / name; }

  // Keys of one kind of source.
  void Only(bool is_kind, std::initializer_list<const char*> keys, const char* kind) const {
    for (const char* key : keys) {
      if (!is_kind && root_.contains(key))
        Bad(At(key), fmt::format("'{}' is for {}", key, kind), "remove the line");
    }
  }

  void RequireWritten(const CsvDialect& dialect) const {
    CsvOptions options;
    options.separator = dialect.separator;
    options.decimal = dialect.decimal;
    try {
      RequireDialect(options);
    } catch (const Error& error) {
      throw Error(error.code(), path_.string() + ": " + error.message(), error.hint());
    }
  }

  char Character(const char* key, char otherwise) const {
    if (!root_.contains(key)) return otherwise;
    const std::string text = Text(key);
    if (text.size() != 1)
      Bad(At(key), fmt::format("'{}' is one character", key),
          fmt::format("{} = \"{}\"", key, std::string(key) == "decimal" ? "," : ";"));
    return text[0];
  }

  std::string Text(const char* key) const {
    const toml::node* node = root_.get(key);
    if (node == nullptr) return {};
    if (!node->is_string())
      Bad(node->source(), fmt::format("'{}' is a text in quotes", key),
          fmt::format("{} = \"...\"", key));
    return node->as_string()->get();
  }

  void ReadQuery(SourceFile& source) const {
    const std::string table = Text("table"), query = Text("query");
    if (table.empty() == query.empty()) {
      throw Error(ErrorCode::kBadInput,
                  fmt::format("{}: there must be one of 'table' and 'query'", path_.string()),
                  "table = \"clinic.patients\", or query = \"patients.sql\" with one SELECT");
    }
    if (!query.empty()) {
      source.query = ReadFile(Beside(query), kMostBytes, "the query");
    } else if (source.kind == SourceKind::kOdbc) {
      source.table = table;
    } else {
      if (source.kind == SourceKind::kPostgres && table.find('.') == std::string::npos) {
        Bad(At("table"), "the table is named without its schema",
            fmt::format("table = \"public.{}\", or as its schema is named", table));
      }
      source.query = "SELECT * FROM " + QuotedName(table, '"');
    }
    // As psql takes it.
    const size_t end = source.query.find_last_not_of(" \t\r\n;");
    source.query.resize(end == std::string::npos ? 0 : end + 1);
    if (source.query.find('\0') != std::string::npos)
      Bad(At(query.empty() ? "table" : "query"), "a zero byte", "write one SELECT");
    // Drivers would run what stands behind it.
    if (source.kind == SourceKind::kOdbc && source.query.find(';') != std::string::npos)
      Bad(At("query"), "a semicolon in the query",
          "write one SELECT, without semicolons in its texts");
  }

  // A file without the key stays as it is: whoever changes it says so.
  void ReadEdition(SourceFile& source) const {
    if (IsDatabaseKind(source.kind) && !source.only_sums) source.edition = EditionRule::kSteward;
    if (root_.contains("edition")) source.edition = Rule();
    for (const char* key : {"edition", "edition_rows", "key"}) {
      if (!root_.contains(key)) continue;
      if (source.only_sums)
        Bad(At(key), fmt::format("'{}' is for tables of which rows are read", key),
            "remove the line: a source of which only sums are kept is an edition itself");
      if (!source.edition)
        Bad(At(key), fmt::format("'{}' is for tables that change", key),
            "say edition = \"steward\", or remove the line");
    }
    // Frozen rows are written with points (freeze.h).
    if (source.edition && source.dialect.decimal != '.')
      Bad(At("decimal"), "a file that has editions is written with decimal points",
          "write it with points, or remove the line 'edition' if it never changes");
    if (const toml::node* node = root_.get("edition_rows")) {
      const auto rows = node->value<int64_t>();
      if (!node->is_integer() || *rows < static_cast<int64_t>(kLeastEditionRows) ||
          *rows > kMostEditionRows)
        Bad(node->source(),
            fmt::format("'edition_rows' is a whole number from {} to {}", kLeastEditionRows,
                        kMostEditionRows),
            fmt::format("edition_rows = {}", kLeastEditionRows));
      source.edition_rows = static_cast<uint64_t>(*rows);
    }
    source.key = Text("key");
  }

  EditionRule Rule() const {
    const std::string rule = Text("edition");
    if (rule == "steward") return EditionRule::kSteward;
    if (rule == "monthly") return EditionRule::kMonthly;
    if (rule == "quarterly") return EditionRule::kQuarterly;
    if (rule == "yearly") return EditionRule::kYearly;
    Bad(At("edition"), "'edition' is \"steward\", \"monthly\", \"quarterly\" or \"yearly\"",
        "edition = \"steward\"");
  }

  void ReadMode(SourceFile& source) const {
    if (!root_.contains("mode")) return;
    const std::string mode = Text("mode");
    source.passes = mode == "stream";
    source.only_sums = source.passes || mode == "push-down";
    if (mode != "freeze" && !source.only_sums)
      Bad(At("mode"), "'mode' is \"freeze\", \"push-down\" or \"stream\"", "mode = \"push-down\"");
    if (source.passes && source.kind != SourceKind::kPostgres)
      Bad(At("mode"), "mode = \"stream\" is for PostgreSQL",
          "mode = \"push-down\", and the database adds up itself");
  }

  // Of letters, digits, - and _: other words of a connection name libraries to load.
  std::string DataSourceName(const std::string& where) const {
    constexpr std::string_view kStart = "odbc:DSN=";
    std::string name = where.starts_with(kStart) ? where.substr(kStart.size()) : std::string();
    constexpr auto allowed = [](unsigned char c) {
      return std::isalnum(c) != 0 || c == '-' || c == '_';
    };
    if (name.empty() || name.size() > 32 || !std::all_of(name.begin(), name.end(), allowed)) {
      Bad(At("source"), "no name of a database in odbc.ini",
          "source = \"odbc:DSN=NAME\", with letters, digits, - and _; what it needs to connect "
          "stands in odbc.ini");
    }
    return name;
  }

  std::string Password(SourceKind kind) const {
    if (kind == SourceKind::kSqlite)
      Bad(At("credentials"), "'credentials' is for PostgreSQL and ODBC", "remove the line");
    return ReadPasswordFile(Beside(Text("credentials")));
  }

  fs::path path_;
  std::string text_;
  toml::table root_;
};

}  // namespace

bool IsDatabaseKind(SourceKind kind) {
  return kind == SourceKind::kSqlite || kind == SourceKind::kPostgres || kind == SourceKind::kOdbc;
}

std::string QuotedName(const std::string& table, char quote) {
  if (quote == ' ') return table;
  const size_t dot = table.find('.');
  std::string quoted(1, quote);
  for (size_t i = 0; i < table.size(); ++i) {
    if (i == dot) {
      quoted += {quote, '.', quote};
    } else {
      quoted += table[i];
      if (table[i] == quote) quoted += quote;
    }
  }
  quoted += quote;
  return quoted;
}

SourceFile ReadSourceFile(const fs::path& path) { return SourceReader(path).Read(); }

}  // namespace partita::data
