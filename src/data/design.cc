#include "data/design.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <set>

#include "base/date.h"
#include "base/error.h"
#include "data/contrasts.h"
#include "data/natural_spline.h"
#include "data/suggest.h"

namespace partita::data {

namespace {

// A design column and how a cell of its source becomes its value: a number, or a factor's code.
// Of a product the value is itself, to be multiplied.
struct Computed {
  DesignColumn column;
  std::function<double(double)> value;
};

[[noreturn]] void RefuseDesign(const std::string& message, std::string hint) {
  throw Error(ErrorCode::kBadInput, message, std::move(hint));
}

Computed MakeComputed(const std::string& name, const std::string& source, double lower,
                      double upper, std::function<double(double)> value) {
  if (!(lower < upper) || !std::isfinite(upper - lower)) {
    RefuseDesign(fmt::format("the column '{}' would lie between {} and {}", name, lower, upper),
                 "choose constants that fit the bounds of '" + source + "'");
  }
  Computed computed;
  computed.column.schema.name = name;
  computed.column.schema.lower = lower;
  computed.column.schema.upper = upper;
  computed.column.source = source;
  computed.value = std::move(value);
  return computed;
}

std::vector<Computed> ContrastsOf(const ColumnSchema& factor, const std::string& source,
                                  const std::function<double(double)>& code_of) {
  std::vector<Computed> columns;
  for (ContrastColumn& contrast : ContrastColumns(factor)) {
    const auto [low, high] = std::minmax_element(contrast.values.begin(), contrast.values.end());
    const bool whole = factor.contrasts != Contrasts::kPolynomial;
    Computed computed = MakeComputed(factor.name + contrast.suffix, source, *low, *high,
                                     [values = contrast.values, code_of](double cell) {
                                       return values[static_cast<size_t>(code_of(cell))];
                                     });
    computed.column.schema.type = whole ? ColumnType::kInteger : ColumnType::kNumeric;
    if (!contrast.level.empty()) computed.column.factor = factor.name;
    computed.column.level = contrast.level;
    columns.push_back(std::move(computed));
  }
  return columns;
}

double Itself(double cell) { return cell; }

std::vector<Computed> Compute(const ColumnSchema& variable) {
  if (HasLevels(variable.type)) return ContrastsOf(variable, variable.name, Itself);
  if (variable.type == ColumnType::kSurvival || variable.type == ColumnType::kKey) return {};
  Computed computed =
      MakeComputed(variable.name, variable.name, variable.lower, variable.upper, Itself);
  const bool date = variable.type == ColumnType::kDate;
  computed.column.schema.type = date ? ColumnType::kInteger : variable.type;
  computed.column.schema.unit = date ? "days since 1970-01-01" : variable.unit;
  return {computed};
}

const ColumnSchema& SourceOf(const DerivedVariable& derived, const std::string& from,
                             const Schema& dictionary) {
  const ColumnSchema* source = dictionary.Find(from);
  if (source == nullptr) {
    std::vector<std::string> names;
    for (const ColumnSchema& column : dictionary.columns) names.push_back(column.name);
    RefuseDesign(fmt::format("'{}' is derived from '{}', which is not in the dictionary",
                             derived.name, from),
                 SuggestionHint(from, names));
  }
  const bool number = source->type == ColumnType::kNumeric ||
                      source->type == ColumnType::kInteger || source->type == ColumnType::kDate;
  if (!number) {
    RefuseDesign(fmt::format("'{}' cannot be derived from '{}', which is of type {}", derived.name,
                             from, ColumnTypeName(source->type)),
                 "derive from a numeric, integer or date variable");
  }
  return *source;
}

// A function that never decreases, on the source's interval.
Computed Monotone(const DerivedVariable& derived, const ColumnSchema& source,
                  const std::function<double(double)>& function) {
  return MakeComputed(derived.name, source.name, function(source.lower), function(source.upper),
                      function);
}

// `least`: the smallest argument of the function; `open`: it must be above.
void RequireDomain(const DerivedVariable& derived, const ColumnSchema& source, double least,
                   bool open) {
  if (open ? source.lower > least : source.lower >= least) return;
  const bool log = derived.kind == TransformKind::kLog;
  RefuseDesign(
      fmt::format("'{}' is the {} of '{}', which can be as low as {}", derived.name,
                  TransformName(derived.kind), derived.from, source.lower),
      fmt::format("the {} needs a lower bound {} {}: raise the bound of '{}' in the dictionary "
                  "if it is not possible{}",
                  TransformName(derived.kind), open ? "above" : "of at least", least, derived.from,
                  log && source.lower > -1 ? ", or write transform = \"log1p\"" : ""));
}

void RequireScale(const DerivedVariable& derived) {
  if (std::isfinite(derived.centre) && std::isfinite(derived.scale) && derived.scale > 0) return;
  RefuseDesign(fmt::format("'{}' has the centre {} and the scale {}", derived.name, derived.centre,
                           derived.scale),
               "the centre is a number and the scale a positive one");
}

// A value of the source as the study file writes it.
std::string ValueText(const ColumnSchema& source, double value) {
  return source.type == ColumnType::kDate ? FormatDate(value) : fmt::format("{}", value);
}

// `what`: "point", "knot".
void RequireAscending(const DerivedVariable& derived, const ColumnSchema& source,
                      const std::vector<double>& values, std::string_view what) {
  for (size_t i = 1; i < values.size(); ++i) {
    if (values[i - 1] < values[i]) continue;
    RefuseDesign(
        fmt::format("the {}s of '{}' are not in ascending order: {} comes before {}", what,
                    derived.name, ValueText(source, values[i - 1]), ValueText(source, values[i])),
        fmt::format("sort them; each {} stands once", what));
  }
}

// x^degree by multiplications, each of which rounds monotonically.
double Power(double x, int degree) {
  double power = x;
  for (int i = 1; i < degree; ++i) power *= x;
  return power;
}

std::vector<Computed> ComputePoly(const DerivedVariable& derived, const ColumnSchema& source) {
  RequireScale(derived);
  if (derived.degree < 1 || derived.degree > kMaxPolyDegree) {
    RefuseDesign(fmt::format("'{}' has the degree {}", derived.name, derived.degree),
                 fmt::format("the degree is between 1 and {}", kMaxPolyDegree));
  }
  const auto z = [c = derived.centre, s = derived.scale](double x) { return (x - c) / s; };
  const bool straddles_zero = z(source.lower) < 0 && z(source.upper) > 0;
  std::vector<Computed> columns;
  for (int degree = 1; degree <= derived.degree; ++degree) {
    auto [low, high] =
        std::minmax({Power(z(source.lower), degree), Power(z(source.upper), degree)});
    if (degree % 2 == 0 && straddles_zero) low = 0;
    columns.push_back(MakeComputed(fmt::format("{}.{}", derived.name, degree), source.name, low,
                                   high, [z, degree](double x) { return Power(z(x), degree); }));
  }
  return columns;
}

std::vector<Computed> ComputeSpline(const DerivedVariable& derived, const ColumnSchema& source) {
  if (derived.knots.empty() || derived.knots.size() > kMaxSplineKnots) {
    RefuseDesign(fmt::format("'{}' has {} knots", derived.name, derived.knots.size()),
                 fmt::format("a spline has 1 to {} inner knots", kMaxSplineKnots));
  }
  RequireAscending(derived, source, derived.knots, "knot");
  const double lower = derived.boundary_lower, upper = derived.boundary_upper;
  if (!(lower >= source.lower && lower < derived.knots.front() && derived.knots.back() < upper &&
        upper <= source.upper)) {
    RefuseDesign(
        fmt::format("the boundary [{}, {}] of '{}' does not enclose its knots within the bounds "
                    "{} of '{}'",
                    ValueText(source, lower), ValueText(source, upper), derived.name,
                    BoundsText(source), derived.from),
        "the order is: lower bound, boundary, inner knots, boundary, upper bound");
  }
  const auto spline = std::make_shared<const NaturalSpline>(derived.knots, lower, upper);
  std::vector<Computed> columns;
  for (size_t i = 0; i < spline->num_columns(); ++i) {
    const auto [low, high] = spline->Range(i, source.lower, source.upper);
    columns.push_back(MakeComputed(fmt::format("{}.{}", derived.name, i + 1), source.name, low,
                                   high, [spline, i](double x) { return spline->Value(i, x); }));
  }
  return columns;
}

void CheckCut(const DerivedVariable& derived, const ColumnSchema& source) {
  if (derived.points.empty() || derived.labels.size() != derived.points.size() + 1) {
    RefuseDesign(fmt::format("'{}' has {} cut points and {} labels", derived.name,
                             derived.points.size(), derived.labels.size()),
                 "there is one label more than there are points: one for each interval");
  }
  RequireAscending(derived, source, derived.points, "point");
  if (derived.points.front() < source.lower || derived.points.back() >= source.upper) {
    RefuseDesign(
        fmt::format("the cut points of '{}' must lie within the bounds {} of '{}'", derived.name,
                    BoundsText(source), derived.from),
        "each interval (a, b] must hold a value; the outer ends are the bounds and not listed");
  }
}

ColumnSchema CutFactor(const DerivedVariable& derived) {
  ColumnSchema factor;
  factor.name = derived.name;
  factor.type = ColumnType::kFactor;
  factor.levels = derived.labels;
  factor.reference =
      derived.reference.empty() && !derived.labels.empty() ? derived.labels[0] : derived.reference;
  return factor;
}

// Which interval (a, b] holds x, as R's cut(right = TRUE).
double IntervalOf(const std::vector<double>& points, double x) {
  return static_cast<double>(std::lower_bound(points.begin(), points.end(), x) - points.begin());
}

std::vector<Computed> ComputeCut(const DerivedVariable& derived, const ColumnSchema& source) {
  CheckCut(derived, source);
  const ColumnSchema factor = CutFactor(derived);
  ValidateSchema({.columns = {factor}});
  return ContrastsOf(factor, source.name,
                     [points = derived.points](double x) { return IntervalOf(points, x); });
}

Computed ComputeProduct(const DerivedVariable& derived, const ColumnSchema& a,
                        const ColumnSchema& b) {
  const double ends[] = {a.lower * b.lower, a.lower * b.upper, a.upper * b.lower,
                         a.upper * b.upper};
  // A square is never negative.
  const bool square = a.name == b.name;
  const double least = *std::min_element(std::begin(ends), std::end(ends));
  Computed product = MakeComputed(derived.name, a.name, square ? std::max(least, 0.0) : least,
                                  *std::max_element(std::begin(ends), std::end(ends)), Itself);
  product.column.with = b.name;
  if (a.type == ColumnType::kInteger && b.type == ColumnType::kInteger)
    product.column.schema.type = ColumnType::kInteger;
  return product;
}

std::vector<Computed> Compute(const DerivedVariable& derived, const Schema& dictionary) {
  const ColumnSchema& source = SourceOf(derived, derived.from, dictionary);
  switch (derived.kind) {
    case TransformKind::kLog:
      RequireDomain(derived, source, 0, true);
      return {Monotone(derived, source, [](double x) { return std::log(x); })};
    case TransformKind::kLog1p:
      RequireDomain(derived, source, -1, true);
      return {Monotone(derived, source, [](double x) { return std::log1p(x); })};
    case TransformKind::kSqrt:
      RequireDomain(derived, source, 0, false);
      return {Monotone(derived, source, [](double x) { return std::sqrt(x); })};
    case TransformKind::kScale:
      RequireScale(derived);
      return {Monotone(derived, source,
                       [c = derived.centre, s = derived.scale](double x) { return (x - c) / s; })};
    case TransformKind::kCut:
      return ComputeCut(derived, source);
    case TransformKind::kPoly:
      return ComputePoly(derived, source);
    case TransformKind::kNs:
      return ComputeSpline(derived, source);
    case TransformKind::kProduct:
      return {ComputeProduct(derived, source, SourceOf(derived, derived.with, dictionary))};
  }
  throw Error(ErrorCode::kInternal, "unknown transform");
}

std::vector<Computed> ComputeAll(const Schema& dictionary,
                                 std::span<const DerivedVariable> derived) {
  std::vector<Computed> all;
  const auto append = [&](std::vector<Computed> columns) {
    std::move(columns.begin(), columns.end(), std::back_inserter(all));
  };
  for (const ColumnSchema& variable : dictionary.columns) append(Compute(variable));
  for (const DerivedVariable& variable : derived) append(Compute(variable, dictionary));
  return all;
}

std::vector<DesignColumn> WithoutFunctions(const std::vector<Computed>& computed) {
  std::vector<DesignColumn> columns;
  for (const Computed& one : computed) columns.push_back(one.column);
  return columns;
}

Column* Find(Table& table, const std::string& name) {
  const auto found = std::find_if(table.columns.begin(), table.columns.end(),
                                  [&](const Column& column) { return column.schema.name == name; });
  return found == table.columns.end() ? nullptr : &*found;
}

std::vector<double> Values(const Column& source, const Computed& computed) {
  const double lower = computed.column.schema.lower, upper = computed.column.schema.upper;
  const auto value = [&](double cell) { return std::clamp(computed.value(cell), lower, upper); };
  std::vector<double> values;
  if (HasLevels(source.schema.type)) {
    values.reserve(source.codes.size());
    for (int32_t code : source.codes) {
      values.push_back(code < 0 ? std::numeric_limits<double>::quiet_NaN() : value(code));
    }
    return values;
  }
  values.reserve(source.numbers.size());
  for (double cell : source.numbers) values.push_back(std::isnan(cell) ? cell : value(cell));
  return values;
}

// NaN where one of the two is missing.
std::vector<double> Products(const Column& a, const Column& b, const ColumnSchema& bounds) {
  std::vector<double> values;
  values.reserve(a.numbers.size());
  for (size_t r = 0; r < a.numbers.size(); ++r) {
    const double product = a.numbers[r] * b.numbers[r];
    values.push_back(std::isnan(product) ? product
                                         : std::clamp(product, bounds.lower, bounds.upper));
  }
  return values;
}

void AddColumn(Table& table, const Computed& computed) {
  const std::string& name = computed.column.schema.name;
  const Column* source = Find(table, computed.column.source);
  if (source == nullptr) return;
  if (Column* present = Find(table, name)) {
    if (present->schema.type != ColumnType::kOrdered || !present->numbers.empty()) return;
    // The scores of an ordered variable have its name.
    present->numbers = Values(*present, computed);
    present->schema.lower = computed.column.schema.lower;
    present->schema.upper = computed.column.schema.upper;
    return;
  }
  Column column;
  column.schema = computed.column.schema;
  if (computed.column.with.empty()) {
    column.numbers = Values(*source, computed);
  } else {
    const Column* other = Find(table, computed.column.with);
    if (other == nullptr) return;
    column.numbers = Products(*source, *other, column.schema);
  }
  table.columns.push_back(std::move(column));
}

void AddCutFactor(Table& table, const DerivedVariable& derived) {
  const Column* source = Find(table, derived.from);
  if (source == nullptr || Find(table, derived.name) != nullptr) return;
  Column factor;
  factor.schema = CutFactor(derived);
  factor.codes.reserve(source->numbers.size());
  for (double x : source->numbers) {
    factor.codes.push_back(std::isnan(x) ? -1
                                         : static_cast<int32_t>(IntervalOf(derived.points, x)));
  }
  table.columns.push_back(std::move(factor));
}

void AddCutFactors(Table& table, std::span<const DerivedVariable> derived) {
  for (const DerivedVariable& variable : derived) {
    if (variable.kind == TransformKind::kCut) AddCutFactor(table, variable);
  }
}

}  // namespace

std::vector<std::string> SourcesOf(const DesignColumn& column) {
  if (column.with.empty() || column.with == column.source) return {column.source};
  return {column.source, column.with};
}

std::string_view TransformName(TransformKind kind) {
  switch (kind) {
    case TransformKind::kLog:
      return "log";
    case TransformKind::kLog1p:
      return "log1p";
    case TransformKind::kSqrt:
      return "sqrt";
    case TransformKind::kScale:
      return "scale";
    case TransformKind::kCut:
      return "cut";
    case TransformKind::kPoly:
      return "poly";
    case TransformKind::kNs:
      return "ns";
    case TransformKind::kProduct:
      return "product";
  }
  throw Error(ErrorCode::kInternal, "unknown transform");
}

std::vector<DesignColumn> ColumnsOf(const ColumnSchema& variable) {
  return WithoutFunctions(Compute(variable));
}

std::vector<DesignColumn> ColumnsOf(const DerivedVariable& derived, const Schema& dictionary) {
  return WithoutFunctions(Compute(derived, dictionary));
}

std::vector<DesignColumn> DesignColumns(const Schema& dictionary,
                                        std::span<const DerivedVariable> derived) {
  // What a name stands for: a variable itself, or a column made of the variable.
  std::map<std::string, std::string> meanings;
  const auto claim = [&](const std::string& name, const std::string& variable) {
    const auto [other, is_new] = meanings.emplace(name, variable);
    if (is_new || (name == variable && other->second == variable)) return;
    RefuseDesign(fmt::format("the column '{}' would come from both '{}' and '{}'", name,
                             other->second, variable),
                 "give one of them another name");
  };
  for (const ColumnSchema& variable : dictionary.columns) claim(variable.name, variable.name);
  for (const ColumnSchema& variable : dictionary.columns) {
    for (const DesignColumn& column : ColumnsOf(variable)) claim(column.schema.name, variable.name);
  }
  std::set<std::string_view> derived_names;
  for (const DerivedVariable& variable : derived) {
    if (dictionary.Find(variable.name) != nullptr || !derived_names.insert(variable.name).second) {
      RefuseDesign(fmt::format("two variables are named '{}'", variable.name),
                   "give the derived variable another name");
    }
    claim(variable.name, variable.name);
    for (const DesignColumn& column : ColumnsOf(variable, dictionary)) {
      claim(column.schema.name, variable.name);
    }
  }
  return WithoutFunctions(ComputeAll(dictionary, derived));
}

Schema WithDerivedFactors(const Schema& dictionary, std::span<const DerivedVariable> derived) {
  Schema schema = dictionary;
  for (const DerivedVariable& variable : derived) {
    if (variable.kind == TransformKind::kCut) schema.columns.push_back(CutFactor(variable));
  }
  return schema;
}

void AddDesignColumns(Table& table, const Schema& dictionary,
                      std::span<const DerivedVariable> derived) {
  for (const Computed& computed : ComputeAll(dictionary, derived)) AddColumn(table, computed);
  AddCutFactors(table, derived);
}

void AddDesignColumns(Table& table, const Schema& dictionary,
                      std::span<const DerivedVariable> derived,
                      std::span<const std::string> names) {
  const std::set<std::string_view> wanted(names.begin(), names.end());
  for (const Computed& computed : ComputeAll(dictionary, derived)) {
    if (wanted.contains(computed.column.schema.name)) AddColumn(table, computed);
  }
  AddCutFactors(table, derived);
}

}  // namespace partita::data
