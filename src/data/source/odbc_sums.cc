#include "data/source/odbc_sums.h"

#include <fmt/format.h>

#include <array>
#include <optional>

#include "base/error.h"
#include "data/source/csv_rows.h"
#include "data/source/odbc_session.h"
#include "data/source/sum_self_test.h"
#include "data/source/utf16.h"
#include "data/utf8.h"

namespace partita::data {
namespace {

constexpr size_t kLongestText = 250;  // of SqlDialect::bound_text

// A value that is bound, and kept where it is until the statement has been executed.
struct BoundValue {
  double number = 0;
  std::u16string text;
  SQLLEN length = 0;  // bytes of the text, or that it is NULL
};

SQLLEN BytesOf(const BoundValue& bound) {
  return static_cast<SQLLEN>(bound.text.size() * sizeof(char16_t));
}

class OdbcSums final : public SumSource {
 public:
  OdbcSums(const SourceFile& source, const SqlDialect* dialect)
      : source_(source), session_(source), dialect_(dialect != nullptr ? *dialect : Own()) {
    TakeOneMoment();
    select_ = session_.QueryOf(source);
    const OdbcHandle statement(SQL_HANDLE_STMT, session_.connection().get());
    Prepare(statement, select_);
    columns_ = OdbcColumnsOf(session_, statement, source.file);
    RequireExactSums(dialect_, source.file + ": " + engine(), Asker());
  }

  std::string engine() const override {
    return Printable(session_.Info(SQL_DBMS_NAME) + " " + session_.Info(SQL_DBMS_VER) + " by ODBC");
  }

  SumAnswer Ask(const SumQuery& query) override {
    SqlRows rows{select_, {}, {}};
    for (const ColumnSchema& column : query.columns) {
      const size_t place = PlaceOfColumn(column.name, Names(), source_.file);
      rows.types.push_back(dialect_.typed_columns ? TypeOf(column, columns_[place])
                                                  : SqlType::kAny);
    }
    return AskSums(dialect_, query, rows, Asker());
  }

 private:
  SqlDialect Own() const { return OdbcDialect(session_.Info(SQL_DBMS_NAME)); }

  // Before anything is asked.
  void TakeOneMoment() {
    const uintptr_t level =
        dialect_.repeatable_is_one_moment ? SQL_TXN_REPEATABLE_READ : SQL_TXN_SERIALIZABLE;
    if (OdbcSucceeded(Odbc().setConnectAttr(session_.connection().get(), SQL_ATTR_TXN_ISOLATION,
                                            OdbcPointer(level), 0)))
      return;
    throw Error(ErrorCode::kRefused,
                source_.file +
                    ": this engine, or its driver, has no transactions that see one "
                    "moment, and sums of several would not fit together",
                "take the rows themselves: leave out mode = \"push-down\", and freeze them");
  }

  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const OdbcColumn& column : columns_) names.push_back(column.name);
    return names;
  }

  SqlType TypeOf(const ColumnSchema& wanted, const OdbcColumn& column) const {
    if (HasLevels(wanted.type)) {
      RequireShort(wanted);
      switch (column.type) {
        case SQL_VARCHAR:
        case SQL_LONGVARCHAR:
        case SQL_WVARCHAR:
        case SQL_WLONGVARCHAR:
          return SqlType::kText;
        default:
          RefuseType(wanted,
                     "cast it in the query: cast(x AS varchar(100)), and trim(x) a text "
                     "that is filled up with spaces");
      }
    }
    if (wanted.type == ColumnType::kDate) {
      if (!dialect_.days.empty() && column.type == SQL_TYPE_DATE) return SqlType::kDate;
      RefuseType(wanted,
                 "count days since 1970 in the query, as an integer of the study; of a "
                 "PostgreSQL cast(x AS date)");
    }
    switch (column.type) {
      case SQL_TINYINT:
      case SQL_SMALLINT:
      case SQL_INTEGER:
      case SQL_BIGINT:
      case SQL_DECIMAL:
      case SQL_NUMERIC:
      case SQL_FLOAT:
      case SQL_DOUBLE:
        return SqlType::kNumber;
      default:
        RefuseType(wanted, "cast it in the query: cast(x AS double precision)");
    }
  }

  [[noreturn]] void RefuseType(const ColumnSchema& wanted, const char* hint) const {
    throw Error(ErrorCode::kBadData,
                fmt::format("{}: column \"{}\" is {} in the study, and of another type in the "
                            "database",
                            source_.file, Printable(wanted.name), ColumnTypeName(wanted.type)),
                hint);
  }

  // What is bound as a text of so many characters would be cut off.
  void RequireShort(const ColumnSchema& column) const {
    for (const auto* texts : {&column.levels, &column.missing_codes}) {
      for (const std::string& text : *texts) {
        if (text.size() <= kLongestText) continue;
        throw Error(ErrorCode::kRefused,
                    fmt::format("{}: column \"{}\" has a level of more than {} bytes", source_.file,
                                Printable(column.name), kLongestText),
                    "name it shorter in the study and the query, or freeze the rows");
      }
    }
  }

  void Prepare(const OdbcHandle& statement, const std::string& text) const {
    session_.Limit(statement, source_.timeout);
    std::u16string wide = OdbcText(source_.file, text, "the query");
    session_.Require(
        Odbc().prepare(statement.get(), OdbcUnits(wide), static_cast<SQLINTEGER>(wide.size())),
        statement);
  }

  BoundValue BoundOf(const SqlValue& value) const {
    BoundValue bound;
    if (const double* number = std::get_if<double>(&value)) {
      bound.number = *number;
      if (dialect_.numbers_as_text)
        bound.text = OdbcText(source_.file, fmt::format("{}", *number), "a number");
    } else if (const std::string* text = std::get_if<std::string>(&value)) {
      bound.text = OdbcText(source_.file, *text, "a level of the study");
    } else {
      bound.length = SQL_NULL_DATA;
      return bound;
    }
    bound.length = BytesOf(bound);
    return bound;
  }

  void Bind(const OdbcHandle& statement, size_t place, const SqlValue& value,
            BoundValue& bound) const {
    const bool is_number = std::holds_alternative<double>(value) && !dialect_.numbers_as_text;
    const auto at = static_cast<SQLUSMALLINT>(place);
    session_.Require(
        is_number ? Odbc().bindParameter(statement.get(), at, SQL_PARAM_INPUT, SQL_C_DOUBLE,
                                         SQL_DOUBLE, 0, 0, &bound.number, 0, nullptr)
                  : Odbc().bindParameter(statement.get(), at, SQL_PARAM_INPUT, SQL_C_WCHAR,
                                         SQL_WVARCHAR, kLongestText, 0, OdbcUnits(bound.text),
                                         BytesOf(bound), &bound.length),
        statement);
  }

  Int128 NumberAt(const OdbcHandle& statement, size_t column) const {
    std::array<SQLWCHAR, 64> text{};
    SQLLEN length = 0;
    session_.Require(Odbc().getData(statement.get(), static_cast<SQLUSMALLINT>(column + 1),
                                    SQL_C_WCHAR, text.data(), sizeof(text), &length),
                     statement);
    return WholeSum(length == SQL_NULL_DATA ? std::string() : Utf8OfOdbc(text.data()),
                    source_.file);
  }

  AskStatement Asker() {
    return [this](const SqlStatement& asked) {
      const OdbcHandle statement(SQL_HANDLE_STMT, session_.connection().get());
      Prepare(statement, asked.text);
      std::vector<BoundValue> bound;
      for (const SqlValue& value : asked.values) bound.push_back(BoundOf(value));
      for (size_t v = 0; v < bound.size(); ++v) Bind(statement, v + 1, asked.values[v], bound[v]);
      session_.Require(Odbc().execute(statement.get()), statement);
      session_.Require(Odbc().fetch(statement.get()), statement);
      SQLSMALLINT count = 0;
      session_.Require(Odbc().numResultCols(statement.get(), &count), statement);
      std::vector<Int128> numbers;
      for (SQLSMALLINT c = 0; c < count; ++c)
        numbers.push_back(NumberAt(statement, static_cast<size_t>(c)));
      return numbers;
    };
  }

  SourceFile source_;
  OdbcSession session_;
  SqlDialect dialect_;
  std::string select_;
  std::vector<OdbcColumn> columns_;
};

}  // namespace

std::unique_ptr<SumSource> OpenOdbcSums(const SourceFile& source) {
  return std::make_unique<OdbcSums>(source, nullptr);
}

std::unique_ptr<SumSource> OpenOdbcSums(const SourceFile& source, const SqlDialect& dialect) {
  return std::make_unique<OdbcSums>(source, &dialect);
}

}  // namespace partita::data
