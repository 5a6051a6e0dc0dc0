#include "data/source/sum_self_test.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <utility>

#include "base/error.h"

namespace partita::data {
namespace {

constexpr size_t kRows = 257;  // a prime: no list of values repeats in step with another

ColumnSchema Number(const char* name, ColumnType type, double lower, double upper) {
  ColumnSchema schema;
  schema.name = name;
  schema.type = type;
  schema.lower = lower;
  schema.upper = upper;
  return schema;
}

SumQuery TestQuery(bool weighted) {
  SumQuery query;
  query.columns = {Number("x", ColumnType::kNumeric, -1.5, 2.25),
                   Number("whole", ColumnType::kInteger, 0, 120),
                   Number("tiny", ColumnType::kNumeric, -1e-100, 3e-100),
                   Number("huge", ColumnType::kNumeric, -1e100, 2e100),
                   Number("weight", ColumnType::kInteger, 0, 1e6)};
  query.columns[0].missing_codes = {"-9"};
  ColumnSchema& level = query.columns.emplace_back();
  level.name = "level of \"it\"";
  level.type = ColumnType::kOrdered;
  level.levels = {"m", "M", "m ", "\xc3\xa4"};
  level.missing_codes = {"NA"};
  for (size_t c = 0; c < 4; ++c) query.variables.push_back({c, ScaleOf(query.columns[c]), {}});
  const int64_t one = int64_t{1} << query.bits;
  query.variables.push_back({5, {}, {-one, one, 12345, -1}});
  query.variables.push_back({2, ScaleOf(query.columns[2]), {}, {{5, {1, -1, 0, 1}}, {1, {}}}});
  const SumCondition is_m = {5, {"level", Condition::Kind::kIs, 0, false, {"m"}}};
  const SumCondition above = {0, {"x", Condition::Kind::kAtLeast, 0.25, false, {}}};
  const SumCondition order = {5, {"level", Condition::Kind::kAtLeast, 0, false, {"M"}}};
  const SumCondition other = {1, {"whole", Condition::Kind::kIsNot, 7, false, {}}};
  const SumCondition there = {0, {"x", Condition::Kind::kPresent, 0, false, {}}};
  query.cells = {{}, {is_m}, {above, order, other}};
  if (weighted) query.weight = {4};
  query.counts = {{}, {is_m, other}, {above}};
  query.sets = {{}, {there}, {is_m, above}};
  query.apart = {{{there}, {is_m}}, {{}, {order}}};
  return query;
}

struct Case {
  SqlValue value;  // what is bound
  double number;   // what it is here; a code for levels
};

std::vector<Case> NumbersAround(const ColumnSchema& schema, bool has_nan) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  const ColumnScale scale = ScaleOf(schema);
  std::vector<double> numbers = {schema.lower,
                                 schema.upper,
                                 std::nextafter(schema.lower, -kInfinite),
                                 std::nextafter(schema.upper, kInfinite),
                                 std::nextafter(schema.lower, kInfinite),
                                 std::nextafter(schema.upper, -kInfinite),
                                 scale.centre,
                                 0.0,
                                 -0.0,
                                 0.1,
                                 3.5,
                                 7,
                                 5e-324,
                                 1e-310,
                                 1.7976931348623157e308,
                                 kInfinite,
                                 -kInfinite};
  // Halves of the grid, and the neighbours of 0.
  for (const double j : {0.0, 1.0, 2.0, 3.0, 12345.0, 536870911.0, 536870912.0, 1073741823.0}) {
    const double half = scale.half_width * std::ldexp(j + 0.5, -kMostSumBits);
    const double least = scale.half_width * std::ldexp(1 + j / 8, -41);
    for (const double d : {half, -half, least, -least}) {
      numbers.push_back(scale.centre + d);
      numbers.push_back(std::nextafter(scale.centre + d, 0.0));
    }
  }
  std::vector<Case> cases = {{std::monostate(), kNone}};
  for (const double x : numbers) cases.push_back({x, x});
  // Out of bounds as an infinity is.
  if (has_nan) cases.push_back({kNone, kInfinite});
  if (!schema.missing_codes.empty()) cases.push_back({-9.0, kNone});
  return cases;
}

std::vector<std::vector<Case>> Columns(const SumQuery& query, bool has_nan) {
  std::vector<std::vector<Case>> columns;
  for (size_t c = 0; c < 4; ++c) columns.push_back(NumbersAround(query.columns[c], has_nan));
  columns.push_back({{0.0, 0}, {1.0, 1}, {7.0, 7}, {1e6, 1e6}, {999983.0, 999983}});
  columns.push_back({{std::string("m"), 0},
                     {std::string("M"), 1},
                     {std::string("m "), 2},
                     {std::string("\xc3\xa4"), 3},
                     {std::monostate(), -1},
                     {std::string(), -1},
                     {std::string("NA"), -1},
                     {std::string("mm"), -2},
                     {std::string(" m"), -2}});
  return columns;
}

}  // namespace

void RequireExactSums(const SqlDialect& dialect, const std::string& engine,
                      const AskStatement& ask) {
  const SumQuery query = TestQuery(true);
  const std::vector<std::vector<Case>> cases = Columns(query, dialect.has_nan);
  Table table;
  table.num_rows = kRows;
  SqlRows rows;
  std::string names;
  std::vector<std::string> aliases;
  for (size_t c = 0; c < cases.size(); ++c) {
    table.columns.push_back({query.columns[c], {}, {}, {}});
    const bool levels = HasLevels(query.columns[c].type);
    rows.types.push_back(levels ? SqlType::kText : SqlType::kNumber);
    std::string name = query.columns[c].name;
    for (size_t at = name.find('"'); at != std::string::npos; at = name.find('"', at + 2))
      name.insert(at, 1, '"');
    aliases.push_back(fmt::format(" AS \"{}\"", name));
    names += fmt::format("{}column{}{}", c == 0 ? "" : ", ", c + 1, aliases.back());
  }
  std::string list;
  for (size_t r = 0; r < kRows; ++r) {
    list +=
        dialect.values_list ? (r == 0 ? "(" : ", (") : (r == 0 ? "SELECT " : "\nUNION ALL SELECT ");
    for (size_t c = 0; c < cases.size(); ++c) {
      // Strides that no list's length divides.
      const Case& one = cases[c][(r * (2 * c + 1) + r / cases[c].size()) % cases[c].size()];
      rows.values.push_back(one.value);
      const bool levels = HasLevels(query.columns[c].type);
      list += (c == 0 ? "" : ", ") + PlaceOfValue(rows.values.size(), levels);
      if (!dialect.values_list) list += aliases[c];
      if (levels) {
        table.columns[c].codes.push_back(static_cast<int32_t>(one.number));
      } else {
        table.columns[c].numbers.push_back(one.number);
      }
    }
    if (dialect.values_list) list += ")";
  }
  rows.select = dialect.values_list ? fmt::format("SELECT {} FROM (VALUES {}) v", names, list)
                                    : std::move(list);
  for (const bool weighted : {true, false}) {
    const SumQuery asked = TestQuery(weighted);
    const std::vector<Int128> theirs = NumbersOf(AskSums(dialect, asked, rows, ask));
    const std::vector<Int128> ours = NumbersOf(SumsOfTable(asked, table));
    for (size_t i = 0; i < ours.size(); ++i) {
      if (theirs[i] == ours[i]) continue;
      throw Error(
          ErrorCode::kRefused,
          fmt::format("{} adds up otherwise than this program: number {} of the test is {}, "
                      "not {}",
                      engine, i, ToString(theirs[i]), ToString(ours[i])),
          "take the rows themselves: leave out mode = \"push-down\", and freeze them");
    }
  }
}

}  // namespace partita::data
