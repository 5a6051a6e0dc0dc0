#include "data/source/sum_statement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/date.h"
#include "base/error.h"
#include "data/missing_codes.h"
#include "data/number_text.h"
#include "data/source/source_file.h"

namespace partita::data {
namespace {

constexpr size_t kResultColumns = 1500;  // PostgreSQL takes 1664, SQLite 2000
// A value of less than 2^-40 half-widths is 0 on every grid; PostgreSQL refuses quotients that underflow.
constexpr double kSurelyZero = 0x1p-40;
// Around the number of a value in a text that is being written; no text of a query has it.
constexpr char kValueMark = '\x01';

class StatementWriter {
 public:
  StatementWriter(const SqlDialect& dialect, const SumQuery& query, const SqlRows& rows)
      : dialect_(dialect), query_(query), types_(rows.types), values_(rows.values) {
    RequireNoMarks(rows);
    from_ = "(" + rows.select + "\n) q";
    AddLayer(Cells());
    AddLayer(ScaledValues());
    AddLayer(GridValues());
  }

  std::vector<SqlStatement> Write() {
    AddAll();
    std::vector<SqlStatement> statements;
    size_t columns = kResultColumns;
    for (const Number& number : numbers_) {
      const size_t more = number.lower.empty() ? 1 : 2;
      if (columns + more > kResultColumns) {
        statements.emplace_back();
        columns = 0;
      }
      columns += more;
      SqlStatement& statement = statements.back();
      for (const std::string& sum : {number.sum, number.lower}) {
        if (sum.empty()) continue;
        statement.text += (statement.text.empty() ? "SELECT " : ",\n") + sum;
      }
      statement.in_halves.push_back(!number.lower.empty());
    }
    for (SqlStatement& statement : statements)
      PutValues(statement.text + "\nFROM " + from_, statement);
    return statements;
  }

 private:
  struct Number {
    std::string sum, lower;  // lower: empty, or `sum` is the upper part
  };

  std::string Bound(SqlValue value) {
    values_.push_back(std::move(value));
    return PlaceOfValue(values_.size(), std::holds_alternative<std::string>(values_.back()));
  }

  // Only what stands in this statement is bound: engines refuse more.
  void PutValues(const std::string& marked, SqlStatement& statement) const {
    statement.text.clear();
    std::map<size_t, size_t> places;  // by number of the value
    size_t from = 0;
    for (size_t at = marked.find(kValueMark); at != std::string::npos;
         at = marked.find(kValueMark, from)) {
      const size_t end = marked.find(kValueMark, at + 1);
      const size_t number = std::stoul(marked.substr(at + 2, end - at - 2));
      const bool is_text = marked[at + 1] == 't';
      const auto [place, is_new] = places.emplace(number, statement.values.size() + 1);
      if (is_new || !dialect_.places) statement.values.push_back(values_.at(number - 1));
      statement.text += marked.substr(from, at - from) +
                        Filled(is_text ? dialect_.bound_text : dialect_.bound_number,
                               fmt::format("{}", place->second));
      from = end + 1;
    }
    statement.text += marked.substr(from);
  }

  void RequireNoMarks(const SqlRows& rows) const {
    const auto marked = [](const std::string& text) {
      return text.find(kValueMark) != std::string::npos;
    };
    const bool query = rows.values.empty() && marked(rows.select);
    const bool names = std::any_of(query_.columns.begin(), query_.columns.end(),
                                   [&](const ColumnSchema& column) { return marked(column.name); });
    if (query || names)
      throw Error(ErrorCode::kBadInput, "the query, or a column's name, holds the character U+0001",
                  "take it out");
  }

  // What was there, and more.
  void AddLayer(const std::vector<std::string>& columns) {
    std::string list;
    for (const std::string& column : columns) list += (list.empty() ? "" : ",\n") + column;
    const bool first = from_.ends_with(" q");
    if (!first) list = list.empty() ? "t.*" : "t.*,\n" + list;
    from_ = fmt::format("(SELECT {}\nFROM {}{}) t", list, from_, dialect_.fence);
  }

  std::string AsInteger(const std::string& number) const {
    return Filled(dialect_.truncated, number);
  }
  std::string Integer(const std::string& expression) const {
    return fmt::format("CAST({} AS {})", expression, dialect_.integer);
  }

  // ---- the first layer: of column j its number xJ or its level's place lJ (-1: an unknown one), NULL if the cell is
  // missing, and in uJ whether it cannot be used

  std::vector<std::string> Cells() {
    std::vector<std::string> columns;
    for (size_t j = 0; j < query_.columns.size(); ++j) {
      const ColumnSchema& schema = query_.columns[j];
      HasLevels(schema.type) ? AddLevel(j, columns) : AddNumber(j, columns);
      lower_.push_back(HasLevels(schema.type) ? "" : Bound(schema.lower));
      upper_.push_back(HasLevels(schema.type) ? "" : Bound(schema.upper));
    }
    return columns;
  }

  SqlType TypeOf(size_t j) const { return types_.at(j); }

  // "cell IN (...)", of the column's codes as texts.
  std::string IsCode(const ColumnSchema& schema, const std::string& text) {
    std::string list = "''";
    for (const std::string& code : schema.missing_codes) list += ", " + Bound(code);
    return fmt::format("{}{} IN ({})", text, dialect_.bytewise, list);
  }

  void AddNumber(size_t j, std::vector<std::string>& columns) {
    const ColumnSchema& schema = query_.columns[j];
    const std::string cell = QuotedColumn(schema.name);
    const bool is_date = schema.type == ColumnType::kDate;
    std::string value, unusable = "0";
    if (dialect_.typed_columns && is_date) {
      value = Filled(dialect_.days, cell);
      unusable = fmt::format("CASE WHEN NOT {} THEN 1 ELSE 0 END", Filled(dialect_.is_day, cell));
    } else if (dialect_.typed_columns) {
      value = fmt::format("CAST({} AS {})", cell, dialect_.real);
    } else if (is_date) {
      // By way of the day's number, for date('2023-02-29') is what it was given.
      const std::string code = IsCode(schema, cell);
      value = fmt::format(
          "CASE WHEN typeof({0}) = 'text' AND NOT ({1}) AND date(julianday({0})) = {0} THEN "
          "julianday({0}) - "
          "2440587.5 END",
          cell, code);
      unusable = fmt::format(
          "CASE WHEN {0} IS NULL OR (typeof({0}) = 'text' AND ({1} OR date(julianday({0})) = {0})) "
          "THEN 0 "
          "ELSE "
          "1 END",
          cell, code);
    } else {
      value = fmt::format("CASE WHEN typeof({0}) IN ('integer', 'real') THEN CAST({0} AS REAL) END",
                          cell);
      unusable = fmt::format(
          "CASE WHEN typeof({0}) IN ('integer', 'real', 'null') OR (typeof({0}) = 'text' AND {1}) "
          "THEN 0 ELSE 1 END",
          cell, IsCode(schema, cell));
    }
    columns.push_back(fmt::format("{} AS x{}", WithoutCodes(schema, value), j));
    columns.push_back(fmt::format("{} AS u{}", unusable, j));
  }

  // NULL where the number is a code for missing cells.
  std::string WithoutCodes(const ColumnSchema& schema, const std::string& value) {
    std::string codes;
    for (const std::string& code : schema.missing_codes) {
      const std::optional<double> number = NumberOfCode(schema, code);
      if (!number) continue;
      codes += (codes.empty() ? "" : ", ") + Bound(*number);
    }
    if (codes.empty()) return value;
    return fmt::format("CASE WHEN {0} IN ({1}) THEN NULL ELSE {0} END", value, codes);
  }

  void AddLevel(size_t j, std::vector<std::string>& columns) {
    const ColumnSchema& schema = query_.columns[j];
    const std::string cell = QuotedColumn(schema.name);
    std::string text = Filled(dialect_.text, cell);
    if (TypeOf(j) == SqlType::kBoolean)
      text = fmt::format("CASE WHEN {0} THEN 't' WHEN NOT {0} THEN 'f' END", cell);
    std::string level = fmt::format("CASE ({}){} WHEN '' THEN NULL", text, dialect_.bytewise);
    for (const std::string& code : schema.missing_codes)
      level += fmt::format(" WHEN {} THEN NULL", Bound(code));
    for (size_t l = 0; l < schema.levels.size(); ++l)
      level += fmt::format(" WHEN {} THEN {}", Bound(schema.levels[l]), l);
    level += " ELSE -1 END";
    // A real number has another text in SQLite than in CSV.
    const std::string known = dialect_.typed_columns
                                  ? fmt::format("{} IS NOT NULL", cell)
                                  : fmt::format("typeof({}) IN ('integer', 'text')", cell);
    const std::string other = dialect_.typed_columns
                                  ? "NULL"
                                  : fmt::format("CASE WHEN {} IS NULL THEN NULL ELSE -1 END", cell);
    columns.push_back(
        fmt::format("CASE WHEN {} THEN {} ELSE {} END AS l{}", known, level, other, j));
  }

  // ---- the second: of variable v its place yV on the grid, not yet whole

  std::string Within(size_t j) const {
    return fmt::format("t.x{} BETWEEN {} AND {}", j, lower_[j], upper_[j]);
  }

  std::vector<std::string> ScaledValues() {
    std::vector<std::string> columns;
    const std::string one = Bound(std::ldexp(1.0, query_.bits)),
                      minus = Bound(-std::ldexp(1.0, query_.bits)), zero = Bound(0.0);
    for (size_t v = 0; v < query_.variables.size(); ++v) {
      const SumVariable& variable = query_.variables[v];
      if (HasLevels(query_.columns[variable.column].type)) continue;
      const double half = variable.scale.half_width;
      const std::string centre = Bound(variable.scale.centre), width = Bound(half),
                        other = Bound(-half), least = Bound(half * kSurelyZero);
      const std::string d = fmt::format("(t.x{} - {})", variable.column, centre);
      columns.push_back(
          fmt::format("CASE WHEN {0} THEN CASE WHEN {1} >= {2} THEN {3} WHEN {1} <= {4} THEN {5} "
                      "WHEN abs({1}) < {6} THEN {7} ELSE {1} / {2} * {3} END END AS y{8}",
                      Within(variable.column), d, width, one, other, minus, least, zero, v));
    }
    return columns;
  }

  // ---- the third: kV, rounded half away from zero; the weights cC of cells, nC of counts, w of rows; sS of sets, aA of
  // pairs

  std::vector<std::string> GridValues() {
    std::vector<std::string> columns;
    for (size_t v = 0; v < query_.variables.size(); ++v) {
      const SumVariable& variable = query_.variables[v];
      std::string k = HasLevels(query_.columns[variable.column].type)
                          ? OfLevel(variable.column, variable.by_level)
                          : Rounded(fmt::format("t.y{}", v));
      columns.push_back(fmt::format("{}{} AS k{}", k, Signs(variable), v));
    }
    std::string weight = Integer("1");
    for (const size_t j : query_.weight) {
      weight = fmt::format("CASE WHEN {} THEN {} ELSE {} END", Within(j),
                           AsInteger(fmt::format("t.x{}", j)), Integer("0"));
    }
    columns.push_back(weight + " AS w");
    for (size_t c = 0; c < query_.cells.size(); ++c) {
      columns.push_back(fmt::format("CASE WHEN {} THEN {} ELSE {} END AS c{}",
                                    Holds(query_.cells[c]), weight, Integer("0"), c));
    }
    for (size_t c = 0; c < query_.counts.size(); ++c) {
      columns.push_back(fmt::format("CASE WHEN {} THEN {} ELSE {} END AS n{}",
                                    Holds(query_.counts[c]), weight, Integer("0"), c));
    }
    for (size_t s = 0; s < query_.sets.size(); ++s)
      columns.push_back(fmt::format("{} AS s{}", OneIf(query_.sets[s]), s));
    for (size_t a = 0; a < query_.apart.size(); ++a) {
      const auto& [one, other] = query_.apart[a];
      columns.push_back(
          fmt::format("CASE WHEN {} <> {} THEN 1 ELSE 0 END AS a{}", OneIf(one), OneIf(other), a));
    }
    return columns;
  }

  std::string OfLevel(size_t column, const std::vector<int64_t>& by_level) const {
    std::string k = fmt::format("CASE t.l{}", column);
    for (size_t l = 0; l < by_level.size(); ++l)
      k += fmt::format(" WHEN {} THEN {}", l, by_level[l]);
    return Integer(k + " ELSE 0 END");
  }

  std::string Signs(const SumVariable& variable) const {
    std::string signs;
    for (const SumSign& sign : variable.signs) {
      signs += " * ";
      signs += sign.by_level.empty()
                   ? Integer(fmt::format("CASE t.x{} WHEN 1 THEN 1 WHEN -1 THEN -1 ELSE 0 END",
                                         sign.column))
                   : OfLevel(sign.column, sign.by_level);
    }
    return signs;
  }

  std::string Rounded(const std::string& y) const {
    // What is cut off is exact.
    const std::string rest = fmt::format("({} - {})", y, Filled(dialect_.whole, y));
    return fmt::format(
        "CASE WHEN {0} IS NULL THEN {1} ELSE {2} + CASE WHEN {3} >= 0.5 THEN 1 WHEN {3} <= -0.5 "
        "THEN "
        "-1 ELSE 0 END END",
        y, Integer("0"), AsInteger(y), rest);
  }

  std::string OneIf(const SumRows& rows) {
    return fmt::format("(CASE WHEN {} THEN 1 ELSE 0 END)", Holds(rows));
  }

  std::string Holds(const SumRows& rows) {
    std::string all;
    for (const SumCondition& one : rows) all += (all.empty() ? "(" : " AND (") + Holds(one) + ")";
    return all.empty() ? "1 = 1" : all;
  }

  std::string Holds(const SumCondition& one) {
    using Kind = Condition::Kind;
    const ColumnSchema& schema = query_.columns.at(one.column);
    if (HasLevels(schema.type)) return HoldsLevel(one, schema);
    const std::string x = fmt::format("t.x{}", one.column);
    if (one.condition.kind == Kind::kPresent) return x + " IS NOT NULL";
    return fmt::format("{} {} {}", x, OperatorOf(one.condition.kind), Bound(one.condition.number));
  }

  static const char* OperatorOf(Condition::Kind kind) {
    using Kind = Condition::Kind;
    switch (kind) {
      case Kind::kIs:
        return "=";
      case Kind::kIsNot:
        return "<>";
      case Kind::kAtLeast:
        return ">=";
      case Kind::kAtMost:
        return "<=";
      case Kind::kAbove:
        return ">";
      case Kind::kBelow:
        return "<";
      case Kind::kPresent:
        break;
    }
    throw Error(ErrorCode::kInternal, "a condition without a comparison");
  }

  static std::string HoldsLevel(const SumCondition& one, const ColumnSchema& schema) {
    using Kind = Condition::Kind;
    const std::string l = fmt::format("t.l{}", one.column);
    std::string known = l + " >= 0";
    const Kind kind = one.condition.kind;
    if (kind == Kind::kPresent) return known;
    std::string places;
    for (const std::string& level : one.condition.levels) {
      const auto found = std::find(schema.levels.begin(), schema.levels.end(), level);
      if (found == schema.levels.end())
        throw Error(ErrorCode::kInternal, "a condition on a level that is not there");
      places += fmt::format("{}{}", places.empty() ? "" : ", ", found - schema.levels.begin());
    }
    if (kind == Kind::kIs) return fmt::format("{} IN ({})", l, places);
    if (kind == Kind::kIsNot) return fmt::format("{} AND {} NOT IN ({})", known, l, places);
    return fmt::format("{} AND {} {} {}", known, l, OperatorOf(kind), places);
  }

  // ---- the sums

  void Add(const std::string& term) {
    numbers_.push_back({fmt::format("coalesce(sum({}), 0)", term), ""});
  }
  void AddCount(const std::string& condition) {
    Add("CASE WHEN " + condition + " THEN 1 ELSE 0 END");
  }
  void AddInHalves(const std::string& weight, const std::string& product) {
    numbers_.push_back(
        {fmt::format("coalesce(sum({}{}), 0)", weight, Filled(dialect_.upper, product)),
         fmt::format("coalesce(sum({}{}), 0)", weight, Filled(dialect_.lower, product))});
  }

  void AddAll() {
    numbers_.push_back({"count(*)", ""});
    Add("t.w");
    for (size_t j = 0; j < query_.columns.size(); ++j) AddChecks(j);
    for (size_t s = 0; s < query_.sets.size(); ++s) Add(fmt::format("t.s{}", s));
    for (size_t a = 0; a < query_.apart.size(); ++a) Add(fmt::format("t.a{}", a));
    for (size_t c = 0; c < query_.counts.size(); ++c) Add(fmt::format("t.n{}", c));
    for (size_t c = 0; c < query_.cells.size(); ++c) AddCell(c);
  }

  void AddChecks(size_t j) {
    const ColumnSchema& schema = query_.columns[j];
    if (HasLevels(schema.type)) {
      AddCount(fmt::format("t.l{} IS NULL", j));
      numbers_.push_back({"0", ""});
      AddCount(fmt::format("t.l{} < 0", j));
      return;
    }
    const std::string x = fmt::format("t.x{}", j), within = Within(j);
    AddCount(fmt::format("{} IS NULL AND t.u{} = 0", x, j));
    AddCount(fmt::format("{} IS NOT NULL AND NOT ({})", x, within));
    AddCount(schema.type == ColumnType::kInteger
                 ? fmt::format("t.u{} = 1 OR ({} AND {} <> {})", j, within, x, AsInteger(x))
                 : fmt::format("t.u{} = 1", j));
  }

  void AddCell(size_t c) {
    const bool once = query_.weight.empty();
    const std::string weight =
        once && query_.cells[c].empty() ? std::string() : fmt::format("t.c{} * ", c);
    Add(fmt::format("t.c{}", c));
    for (size_t i = 0; i < query_.variables.size(); ++i) Add(fmt::format("{}t.k{}", weight, i));
    for (size_t i = 0; i < query_.variables.size(); ++i) {
      for (size_t j = query_.only_squares ? i : 0; j <= i; ++j) {
        const std::string product = fmt::format("(t.k{} * t.k{})", i, j);
        if (dialect_.wide_sums && once) {
          Add(weight + product);
        } else {
          AddInHalves(weight, product);
        }
      }
    }
  }

  const SqlDialect& dialect_;
  const SumQuery& query_;
  const std::vector<SqlType>& types_;
  std::vector<SqlValue> values_;
  std::string from_;
  std::vector<std::string> lower_, upper_;  // by column
  std::vector<Number> numbers_;
};

}  // namespace

std::optional<double> NumberOfCode(const ColumnSchema& schema, const std::string& code) {
  if (schema.type == ColumnType::kDate) return ParseDate(code);
  const std::optional<double> number = ParseNumber(code, '.');
  return number ? number : ParseNumber(code, ',');
}

// QuotedName would take a point for that between schema and table.
std::string QuotedColumn(const std::string& name) {
  std::string quoted = "q.\"";
  for (const char c : name) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

std::string PlaceOfValue(size_t number, bool is_text) {
  return fmt::format("{}{}{}{}", kValueMark, is_text ? 't' : 'd', number, kValueMark);
}

std::vector<SqlStatement> SumStatements(const SqlDialect& dialect, const SumQuery& query,
                                        const SqlRows& rows) {
  if (query.bits > kMostSumBits || rows.types.size() != query.columns.size())
    throw Error(ErrorCode::kInternal, "sums that a database cannot form");
  return StatementWriter(dialect, query, rows).Write();
}

}  // namespace partita::data
