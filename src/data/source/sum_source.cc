#include "data/source/sum_source.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>

#include "base/error.h"
#include "base/sqlite.h"
#include "data/source/csv_rows.h"
#include "data/source/odbc_sums.h"
#include "data/source/passing_sums.h"
#include "data/source/postgres_session.h"
#include "data/source/sqlite_rows.h"
#include "data/source/sum_self_test.h"
#include "data/suggest.h"
#include "data/utf8.h"

namespace partita::data {
namespace {

class PostgresSums final : public SumSource {
 public:
  explicit PostgresSums(const SourceFile& source) : source_(source), session_(source) {
    RefuseWriters(session_, source.file);
    columns_ = RequireTypes(session_, source);
    version_ = ServerVersion(session_);
    RequireExactSums(PostgresDialect(), source.file + ": " + engine(), Asker());
  }

  std::string engine() const override { return "PostgreSQL " + Printable(version_); }

  SumAnswer Ask(const SumQuery& query) override {
    SqlRows rows{source_.query, {}, {}};
    for (const ColumnSchema& column : query.columns)
      rows.types.push_back(PostgresType(column, columns_, source_.file));
    return AskSums(PostgresDialect(), query, rows, Asker());
  }

 private:
  AskStatement Asker() {
    return [this](const SqlStatement& statement) {
      const PostgresResult result = session_.Execute(statement.text, statement.values);
      std::vector<Int128> numbers;
      for (int c = 0; c < postgres::Pq().nfields(result.get()); ++c)
        numbers.push_back(WholeSum(TextAt(result, c), source_.file));
      return numbers;
    };
  }

  SourceFile source_;
  PostgresSession session_;
  std::vector<PostgresColumn> columns_;
  std::string version_;
};

class SqliteSums final : public SumSource {
 public:
  explicit SqliteSums(const SourceFile& source)
      : source_(source),
        database_(source.where, {.fail = &SqliteSourceFailed,
                                 .patience = std::chrono::milliseconds(source.timeout),
                                 .read_only = true}),
        snapshot_(database_, sqlite::Transaction::Kind::kRead) {
    database_.EndAt(std::chrono::steady_clock::now() + source.timeout);
    const sqlite::Statement query(database_, source.query.c_str());
    for (int c = 0; c < query.NumColumns(); ++c) names_.push_back(query.ColumnName(c));
    RequireColumnNames(names_, source.file);
    RequireExactSums(SqliteDialect(), source.file + ": " + engine(), Asker());
  }

  std::string engine() const override { return std::string("SQLite ") + sqlite3_libversion(); }

  SumAnswer Ask(const SumQuery& query) override {
    database_.EndAt(std::chrono::steady_clock::now() + source_.timeout);
    SqlRows rows{source_.query, {}, {}};
    for (const ColumnSchema& column : query.columns) {
      PlaceOfColumn(column.name, names_, source_.file);
      rows.types.push_back(SqlType::kAny);
    }
    return AskSums(SqliteDialect(), query, rows, Asker());
  }

 private:
  AskStatement Asker() {
    return [this](const SqlStatement& statement) {
      sqlite::Statement asked(database_, statement.text.c_str());
      int parameter = 0;
      for (const SqlValue& value : statement.values) {
        ++parameter;  // what is not bound is NULL
        if (const double* number = std::get_if<double>(&value)) asked.BindReal(parameter, *number);
        if (const std::string* text = std::get_if<std::string>(&value))
          asked.Bind(parameter, *text);
      }
      std::vector<Int128> numbers;
      if (!asked.Step()) return numbers;
      for (int c = 0; c < asked.NumColumns(); ++c) {
        // A real one would be a sum that has passed 2^63.
        if (asked.TypeOf(c) != sqlite::Statement::Type::kInteger) {
          throw Error(ErrorCode::kBadData,
                      source_.file + ": the database gave a sum that is no whole number",
                      "please report this");
        }
        numbers.push_back(asked.Integer(c));
      }
      return numbers;
    };
  }

  SourceFile source_;
  sqlite::Database database_;
  sqlite::Transaction snapshot_;
  std::vector<std::string> names_;
};

}  // namespace

Int128 WholeSum(const std::string& text, const std::string& source) {
  const bool negative = text.starts_with('-');
  Int128 number = 0;
  const bool digits = text.size() > (negative ? 1 : 0) && text.size() <= 38 &&
                      std::all_of(text.begin() + (negative ? 1 : 0), text.end(),
                                  [](char c) { return c >= '0' && c <= '9'; });
  if (!digits) {
    throw Error(ErrorCode::kBadData, source + ": the database gave a sum that is no whole number",
                "please report this");
  }
  for (const char c : text.substr(negative ? 1 : 0)) number = 10 * number + (c - '0');
  return negative ? -number : number;
}

SumAnswer AskSums(const SqlDialect& dialect, const SumQuery& query, const SqlRows& rows,
                  const AskStatement& ask) {
  std::vector<Int128> numbers;
  for (const SqlStatement& statement : SumStatements(dialect, query, rows)) {
    const std::vector<Int128> columns = ask(statement);
    auto next = columns.begin();
    const auto take = [&] {
      if (next == columns.end())
        throw Error(ErrorCode::kBadData, "the database gave fewer sums than it was asked for");
      return *next++;
    };
    for (const bool in_halves : statement.in_halves) {
      const Int128 first = take();
      numbers.push_back(in_halves ? first * (Int128{1} << 32) + take() : first);
    }
  }
  return AnswerOf(query, numbers);
}

std::vector<SumAnswer> SumSource::AskAll(const std::vector<SumQuery>& queries,
                                         const CheckAnswer& check_first) {
  std::vector<SumAnswer> answers;
  for (const SumQuery& query : queries) {
    answers.push_back(Ask(query));
    if (answers.size() == 1 && check_first) check_first(answers.front());
  }
  return answers;
}

std::unique_ptr<SumSource> OpenSums(const SourceFile& source, Progress* progress) {
  static SilentProgress silent;
  Progress& told = progress == nullptr ? silent : *progress;
  told.Phase(source.passes ? "rows pass" : "the database adds up");
  switch (source.kind) {
    case SourceKind::kPostgres:
      if (source.passes) return OpenPassingSums(source, told);
      return std::make_unique<PostgresSums>(source);
    case SourceKind::kSqlite:
      return std::make_unique<SqliteSums>(source);
    case SourceKind::kOdbc:
      return OpenOdbcSums(source);
    default:
      break;
  }
  throw Error(ErrorCode::kRefused, source.file + ": no database that adds up",
              "mode = \"push-down\" is for databases");
}

}  // namespace partita::data
