#include "data/source/sqlite_rows.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include "base/sqlite.h"
#include "data/utf8.h"

namespace partita::data {
namespace {

class SqliteRows final : public TextRows {
 public:
  explicit SqliteRows(const SourceFile& source)
      : name_(source.file),
        database_(source.where, {.fail = &SqliteSourceFailed,
                                 .patience = std::chrono::milliseconds(source.timeout),
                                 .read_only = true}),
        statement_(database_, source.query.c_str()) {
    database_.EndAt(std::chrono::steady_clock::now() + source.timeout);
    for (int c = 0; c < statement_.NumColumns(); ++c) names_.push_back(statement_.ColumnName(c));
    RequireColumnNames(names_, name_);
  }

  const std::vector<std::string>& names() const override { return names_; }

  bool Next(std::vector<std::string>& cells) override {
    if (!statement_.Step()) return false;
    ++row_;
    cells.resize(names_.size());
    for (size_t c = 0; c < names_.size(); ++c) cells[c] = Cell(static_cast<int>(c));
    return true;
  }

 private:
  std::string Cell(int column) {
    switch (statement_.TypeOf(column)) {
      case sqlite::Statement::Type::kNull:
        return {};
      case sqlite::Statement::Type::kInteger:
        return fmt::format("{}", statement_.Integer(column));
      case sqlite::Statement::Type::kReal:
        return fmt::format("{}", statement_.Real(column));
      case sqlite::Statement::Type::kText:
        return statement_.Text(column);
      case sqlite::Statement::Type::kBlob:
        break;
    }
    throw Error(ErrorCode::kBadData,
                fmt::format("{}: column \"{}\" of row {} holds a blob", name_,
                            Printable(names_[static_cast<size_t>(column)]), row_),
                "leave the column out of the query, or cast it there");
  }

  std::string name_;
  sqlite::Database database_;
  sqlite::Statement statement_;
  std::vector<std::string> names_;
  uint64_t row_ = 0;
};

}  // namespace

Error SqliteSourceFailed(const std::string& file, int result_code, const std::string& reason) {
  if (result_code == SQLITE_INTERRUPT) {
    return {ErrorCode::kUnreachable, file + ": the query took longer than it may",
            "raise timeout_seconds, or ask for less"};
  }
  return {ErrorCode::kBadInput, fmt::format("{}: {}", file, Printable(reason)),
          "check the file, the query and the permissions"};
}

std::unique_ptr<TextRows> OpenSqlite(const SourceFile& source) {
  return std::make_unique<SqliteRows>(source);
}

}  // namespace partita::data
