#include "data/model_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/error.h"
#include "data/suggest.h"

namespace partita::data {
namespace {

using Function = FormulaAtom::Function;

constexpr double kMostLevelsOfInteger = 50;
// Of a column's bounds: their middle, in half-widths. Beyond, it is collinear with the intercept.
constexpr double kFarthestMiddle = 64;

[[noreturn]] void RefuseModel(const std::string& what, const std::string& hint) {
  throw Error(ErrorCode::kBadInput, what, hint);
}

struct Interval {
  double lower = 1, upper = 1;
};
Interval Times(const Interval& a, double lower, double upper) {
  const double ends[] = {a.lower * lower, a.lower * upper, a.upper * lower, a.upper * upper};
  const auto [low, high] = std::minmax_element(std::begin(ends), std::end(ends));
  return {*low, *high};
}

template <typename Value>
void AddOnce(std::vector<Value>& names, const Value& name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

std::string TextOf(const FormulaTerm& term) {
  std::string text;
  for (const FormulaAtom& atom : term) text += (text.empty() ? "" : ":") + atom.text;
  return text;
}

void RequireMargins(const FormulaTerm& term, const Formula& formula) {
  for (const FormulaAtom& left_out : term) {
    FormulaTerm margin;
    for (const FormulaAtom& atom : term) {
      if (!(atom == left_out)) margin.push_back(atom);
    }
    const auto same = [&](const FormulaTerm& other) {
      return std::is_permutation(other.begin(), other.end(), margin.begin(), margin.end());
    };
    if (margin.empty() || std::any_of(formula.terms.begin(), formula.terms.end(), same)) continue;
    RefuseModel(fmt::format("the interaction {} is there without {}", TextOf(term), TextOf(margin)),
                "write a * b, or a + b + a:b: without main effects R takes other columns");
  }
}

}  // namespace

bool IsZeroOne(const DesignColumn& column) {
  return column.schema.type == ColumnType::kInteger && column.schema.lower == 0 &&
         column.schema.upper == 1;
}

FormulaColumns::FormulaColumns(const Schema& dictionary, std::span<const DerivedVariable> derived)
    : dictionary_(dictionary),
      derived_(derived),
      factors_(WithDerivedFactors(dictionary, derived)) {}

const ColumnSchema& FormulaColumns::InDictionary(const std::string& name,
                                                 const std::string& text) const {
  const ColumnSchema* found = dictionary_.Find(name);
  if (found != nullptr) return *found;
  std::vector<std::string> names;
  for (const ColumnSchema& column : dictionary_.columns) names.push_back(column.name);
  RefuseModel(fmt::format("{} is of '{}', which is not in the dictionary", text, name),
              SuggestionHint(name, names));
}

AtomColumns FormulaColumns::Named(const std::string& name) const {
  AtomColumns atom;
  const auto take_levels = [&] {
    if (const ColumnSchema* factor = factors_.Find(name); HasLevels(factor->type))
      atom.levels = *factor;
  };
  if (const ColumnSchema* variable = dictionary_.Find(name)) {
    if (variable->type == ColumnType::kSurvival || variable->type == ColumnType::kKey) {
      RefuseModel(fmt::format("'{}' is of type {}, which is no column of a regression", name,
                              ColumnTypeName(variable->type)),
                  "name numbers, dates and factors");
    }
    atom.columns = data::ColumnsOf(*variable);
    take_levels();
    return atom;
  }
  for (const DerivedVariable& derived : derived_) {
    if (derived.name != name) continue;
    atom.columns = data::ColumnsOf(derived, dictionary_);
    if (factors_.Find(name) != nullptr) take_levels();
    return atom;
  }
  std::vector<std::string> names;
  for (const ColumnSchema& column : dictionary_.columns) names.push_back(column.name);
  for (const DerivedVariable& derived : derived_) names.push_back(derived.name);
  RefuseModel(fmt::format("there is no variable '{}'", name), SuggestionHint(name, names));
}

AtomColumns FormulaColumns::Made(DerivedVariable made) {
  const auto same = [&](const DerivedVariable& other) { return other.name == made.name; };
  if (std::none_of(model_.made.begin(), model_.made.end(), same)) model_.made.push_back(made);
  AtomColumns atom;
  atom.columns = data::ColumnsOf(made, dictionary_);
  return atom;
}

AtomColumns FormulaColumns::IntegerLevels(const FormulaAtom& atom, const ColumnSchema& variable) {
  if (HasLevels(variable.type)) return Named(atom.name);
  const double values = variable.upper - variable.lower + 1;
  if (variable.type != ColumnType::kInteger || values > kMostLevelsOfInteger) {
    RefuseModel(fmt::format("{} would have a level for every value of '{}'", atom.text, atom.name),
                fmt::format("factor takes integers with at most {} values within their bounds; "
                            "others are cut at public points: [[derived]] with transform = \"cut\"",
                            kMostLevelsOfInteger));
  }
  DerivedVariable made;
  made.name = atom.text;
  made.from = atom.name;
  made.kind = TransformKind::kCut;
  for (double value = variable.lower; value <= variable.upper; ++value) {
    if (value < variable.upper) made.points.push_back(value);
    made.labels.push_back(fmt::format("{}", value));
  }
  AtomColumns columns = Made(made);
  const std::vector<DerivedVariable> one = {made};
  columns.levels = WithDerivedFactors({}, one).columns.front();
  return columns;
}

AtomColumns FormulaColumns::ColumnsOf(const FormulaAtom& atom) {
  if (atom.function == Function::kNone) return Named(atom.name);
  const ColumnSchema& variable = InDictionary(atom.name, atom.text);
  if (atom.function == Function::kFactor) return IntegerLevels(atom, variable);
  DerivedVariable made;
  made.name = atom.text;
  made.from = atom.name;
  switch (atom.function) {
    case Function::kLog:
      made.kind = TransformKind::kLog;
      break;
    case Function::kLog1p:
      made.kind = TransformKind::kLog1p;
      break;
    case Function::kSqrt:
      made.kind = TransformKind::kSqrt;
      break;
    default:
      made.kind = TransformKind::kProduct;
      made.with = InDictionary(atom.with, atom.text).name;
  }
  return Made(made);
}

std::vector<std::string> FormulaColumns::NoteLevels(const AtomColumns& atom) {
  if (atom.levels) {
    if (!model_.intercept) {
      RefuseModel(
          fmt::format("the factor '{}' is in a model without an intercept", atom.levels->name),
          "keep the intercept: without it R takes other columns for the factor");
    }
    AddOnce(model_.factors, atom.levels->name);
    return {atom.levels->name};
  }
  std::vector<std::string> names;
  for (const DesignColumn& column : atom.columns) {
    if (!IsZeroOne(column)) continue;
    AddOnce(model_.binaries, column.schema.name);
    names.push_back(column.schema.name);
  }
  return names;
}

void FormulaColumns::Cover(const DesignColumn& column) {
  const auto same = [&](const DesignColumn& other) {
    return other.schema.name == column.schema.name;
  };
  if (std::any_of(outcome_.begin(), outcome_.end(), same)) {
    RefuseModel(fmt::format("the outcome {} is a covariate, too", column.schema.name),
                "remove it from the right side");
  }
  if (std::none_of(model_.covariates.begin(), model_.covariates.end(), same))
    model_.covariates.push_back(column);
}

void FormulaColumns::AddTerm(const FormulaTerm& term, const Formula& formula) {
  RequireMargins(term, formula);
  // As R: the first factor's columns vary fastest.
  std::vector<std::vector<DesignColumn>> products = {{}};
  std::vector<std::string> crossed;
  for (const FormulaAtom& atom : term) {
    const AtomColumns columns = ColumnsOf(atom);
    for (const std::string& name : NoteLevels(columns)) AddOnce(crossed, name);
    for (const DesignColumn& column : columns.columns) Cover(column);
    std::vector<std::vector<DesignColumn>> next;
    for (const DesignColumn& column : columns.columns) {
      for (std::vector<DesignColumn> product : products) {
        product.push_back(column);
        next.push_back(std::move(product));
      }
    }
    products = std::move(next);
  }
  ModelTerm made{TextOf(term), {}};
  for (const std::vector<DesignColumn>& product : products) {
    made.columns.push_back(model_.columns.size());
    AddColumn(product);
  }
  if (made.columns.size() > 1) model_.terms.push_back(std::move(made));
  if (crossed.size() > 1) model_.crossed.push_back(std::move(crossed));
}

void FormulaColumns::AddColumn(const std::vector<DesignColumn>& product) {
  ModelColumn column;
  column.zero_one = true;
  Interval bounds;
  for (const DesignColumn& part : product) {
    column.name += (column.name.empty() ? "" : ":") + part.schema.name;
    column.parts.push_back(part.schema.name);
    column.zero_one = column.zero_one && IsZeroOne(part);
    bounds = Times(bounds, part.schema.lower, part.schema.upper);
  }
  column.lower = bounds.lower;
  column.upper = bounds.upper;
  column.scale = std::max(std::abs(bounds.lower), std::abs(bounds.upper));
  const double middle = std::abs(bounds.lower + bounds.upper), width = bounds.upper - bounds.lower;
  if (model_.intercept && middle > kFarthestMiddle * width) {
    RefuseModel(fmt::format("the bounds [{}, {}] of {} are so far from 0 that it is all but "
                            "constant",
                            bounds.lower, bounds.upper, column.name),
                "take away a public centre: [[derived]] with transform = \"scale\"");
  }
  if (column.zero_one && product.size() > 1) model_.products.push_back(model_.columns.size());
  model_.columns.push_back(std::move(column));
}

void FormulaColumns::AddOffset(const FormulaAtom& atom, double unit) {
  const AtomColumns columns = ColumnsOf(atom);
  if (columns.levels || columns.columns.size() != 1) {
    RefuseModel(fmt::format("the offset {} is not one number", atom.text),
                "an offset is a number or a function of one");
  }
  const DesignColumn& column = columns.columns.front();
  Cover(column);
  model_.offsets.push_back(column.schema.name);
  model_.offset_lower += column.schema.lower / unit;
  model_.offset_upper += column.schema.upper / unit;
}

ModelColumns FormulaColumns::Build(const Formula& formula, std::span<const DesignColumn> outcome,
                                   double offset_unit, bool baseline) {
  outcome_ = outcome;
  model_.intercept = formula.intercept;
  if (formula.intercept && !baseline) model_.columns.push_back({"(Intercept)", {}, 1, true});
  for (const FormulaTerm& term : formula.terms) AddTerm(term, formula);
  for (const FormulaAtom& atom : formula.offsets) AddOffset(atom, offset_unit);
  if (model_.columns.empty()) RefuseModel("the model has no column", "write a term, or keep 1");
  if (model_.columns.size() > kMostModelColumns) {
    RefuseModel(fmt::format("the model has {} columns", model_.columns.size()),
                fmt::format("take at most {}", kMostModelColumns));
  }
  return std::move(model_);
}

std::vector<std::string> VariablesOf(const Schema& dictionary,
                                     std::span<const DesignColumn> outcome,
                                     std::span<const DesignColumn> covariates) {
  std::vector<std::string> wanted, variables;
  for (const std::span<const DesignColumn> columns : {outcome, covariates}) {
    for (const DesignColumn& column : columns) {
      for (const std::string& source : SourcesOf(column)) AddOnce(wanted, source);
    }
  }
  for (const ColumnSchema& column : dictionary.columns) {
    if (std::find(wanted.begin(), wanted.end(), column.name) != wanted.end())
      variables.push_back(column.name);
  }
  return variables;
}

Schema FactorsOf(const ModelColumns& model, const Schema& dictionary,
                 std::vector<DerivedVariable> derived) {
  derived.insert(derived.end(), model.made.begin(), model.made.end());
  return WithDerivedFactors(dictionary, derived);
}

std::string CodingText(const ModelColumns& model, const Schema& factors,
                       const std::string& outcome) {
  std::string text;
  // Of several levels none is the event.
  const ColumnSchema* coded = outcome.empty() ? nullptr : factors.Find(outcome);
  if (coded != nullptr && coded->levels.size() == 2)
    text = fmt::format("An event is {} = {}.", outcome, coded->levels.back());
  std::vector<std::string> references;
  for (const std::string& name : model.factors) {
    const ColumnSchema* factor = factors.Find(name);
    if (factor == nullptr || factor->contrasts != Contrasts::kTreatment) continue;
    const auto has_column = [&](const std::string& level) {
      return std::ranges::any_of(model.covariates, [&](const DesignColumn& column) {
        return column.factor == name && column.level == level;
      });
    };
    // A stratum has no columns.
    if (std::ranges::none_of(factor->levels, has_column)) continue;
    const auto reference = std::ranges::find_if_not(factor->levels, has_column);
    if (reference != factor->levels.end())
      references.push_back(fmt::format("{} = {}", name, *reference));
  }
  if (references.empty()) return text;
  return text + fmt::format("{}Reference level{}: {}.", text.empty() ? "" : " ",
                            references.size() == 1 ? "" : "s", fmt::join(references, "; "));
}

std::vector<std::string> NeededColumns(const ModelColumns& model) {
  std::vector<std::string> names = model.offsets;
  for (const ModelColumn& column : model.columns)
    names.insert(names.end(), column.parts.begin(), column.parts.end());
  names.insert(names.end(), model.binaries.begin(), model.binaries.end());
  return names;
}

std::vector<double> ColumnValues(const ModelColumn& column, const Table& table,
                                 std::span<const size_t> rows) {
  std::vector<double> values(rows.size(), 1.0);
  for (const std::string& part : column.parts) {
    const std::vector<double>& numbers = table.Get(part).numbers;
    for (size_t i = 0; i < rows.size(); ++i) values[i] *= numbers[rows[i]];
  }
  for (double& value : values) value /= column.scale;
  return values;
}

namespace {

// Factors, then 0/1 variables.
std::vector<std::string> CategoriesOf(const ModelColumns& model) {
  std::vector<std::string> names = model.factors;
  names.insert(names.end(), model.binaries.begin(), model.binaries.end());
  return names;
}

using Numbers = std::vector<size_t>;  // of categories, ascending

Numbers NumbersOf(const std::vector<std::string>& categories,
                  const std::vector<std::string>& names) {
  Numbers numbers;
  for (const std::string& name : names) {
    const auto found = std::find(categories.begin(), categories.end(), name);
    numbers.push_back(static_cast<size_t>(found - categories.begin()));
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

// Factors, 0/1 variables and crossed ones.
std::vector<Numbers> MarginsOf(const ModelColumns& model) {
  const std::vector<std::string> categories = CategoriesOf(model);
  std::vector<Numbers> margins;
  for (size_t c = 0; c < categories.size(); ++c) margins.push_back({c});
  for (const std::vector<std::string>& names : model.crossed)
    margins.push_back(NumbersOf(categories, names));
  return margins;
}

// What is counted together: the unions of each two of these, for sums of products of their columns are made of such
// counts.
std::vector<Numbers> CountedTogether(const ModelColumns& model) {
  if (!model.pairs) return {};
  const std::vector<Numbers> margins = MarginsOf(model);
  std::vector<Numbers> together;
  for (size_t j = 1; j < margins.size(); ++j) {
    for (size_t i = 0; i < j; ++i) {
      Numbers both;
      std::set_union(margins[i].begin(), margins[i].end(), margins[j].begin(), margins[j].end(),
                     std::back_inserter(both));
      AddOnce(together, both);
    }
  }
  return together;
}

// The level of each row, of every category.
std::vector<Numbers> LevelsOfRows(const ModelColumns& model, const Table& table,
                                  std::span<const size_t> rows) {
  std::vector<Numbers> levels;
  for (const std::string& name : model.factors) {
    const std::vector<int32_t>& codes = table.Get(name).codes;
    Numbers& of_rows = levels.emplace_back();
    for (const size_t row : rows) of_rows.push_back(static_cast<size_t>(codes[row]));
  }
  for (const std::string& name : model.binaries) {
    const std::vector<double>& numbers = table.Get(name).numbers;
    Numbers& of_rows = levels.emplace_back();
    for (const size_t row : rows) of_rows.push_back(numbers[row] > 0 ? 1 : 0);
  }
  return levels;
}

// By category.
std::vector<size_t> NumLevels(const ModelColumns& model, const Schema& factors) {
  std::vector<size_t> levels;
  for (const std::string& name : model.factors) levels.push_back(factors.Find(name)->levels.size());
  levels.resize(levels.size() + model.binaries.size(), 2);
  return levels;
}

std::string TogetherName(const std::vector<std::string>& categories, const Numbers& numbers) {
  std::string name;
  for (const size_t c : numbers) name += (name.empty() ? "" : " with ") + categories[c];
  return name;
}

}  // namespace

void RefuseCells(const std::string& name) {
  RefuseModel(fmt::format("{} have more than {} cells, which would be counted together", name,
                          kMostCellsTogether),
              "leave a product out, or join levels");
}

void RequireFewCells(const ModelCounts& counts) {
  if (counts.num_cells <= kMostCellsOfTables) return;
  RefuseModel(fmt::format("the tables of levels that are counted together have {} cells, more than "
                          "{}",
                          counts.num_cells, kMostCellsOfTables),
              "leave terms out, join levels, or leave covariance out");
}

ModelCounts::ModelCounts(const ModelColumns& model, const Schema& factors, size_t num_classes)
    : classes(num_classes) {
  const auto add = [&](const std::string& name, size_t cells) {
    names.push_back(name);
    sizes.push_back(cells * classes);
    num_cells += sizes.back();
  };
  const std::vector<std::string> categories = CategoriesOf(model);
  const std::vector<size_t> levels = NumLevels(model, factors);
  for (size_t c = 0; c < categories.size(); ++c) add(categories[c], levels[c]);
  for (const size_t c : model.products) add(model.columns[c].name, 1);
  for (const Numbers& numbers : CountedTogether(model)) {
    const std::string name = TogetherName(categories, numbers);
    size_t cells = 1;
    for (const size_t c : numbers) {
      cells *= levels[c];
      if (cells > kMostCellsTogether) RefuseCells(name);
    }
    add(name, cells);
    RequireFewCells(*this);
  }
}

namespace {

// Calls visit(cell, i) for each table, in it for each row i in their order.
template <typename Visit>
void EachCell(const ModelColumns& model, const ModelCounts& counts, const Table& table,
              std::span<const size_t> rows, std::span<const uint8_t> classes, Visit visit) {
  size_t first = 0, next = 0;
  const auto add = [&](size_t cell, size_t i) {
    visit(first + cell * counts.classes + (classes.empty() ? 0 : classes[i]), i);
  };
  const auto end_table = [&] { first += counts.sizes[next++]; };
  const std::vector<Numbers> levels = LevelsOfRows(model, table, rows);
  for (const Numbers& of_rows : levels) {
    for (size_t i = 0; i < rows.size(); ++i) add(of_rows[i], i);
    end_table();
  }
  for (const size_t c : model.products) {
    const std::vector<double> values = ColumnValues(model.columns[c], table, rows);
    for (size_t i = 0; i < rows.size(); ++i) {
      if (values[i] > 0) add(0, i);
    }
    end_table();
  }
  for (const Numbers& numbers : CountedTogether(model)) {
    for (size_t i = 0; i < rows.size(); ++i) {
      size_t cell = 0;
      for (const size_t c : numbers)
        cell = cell * (counts.sizes[c] / counts.classes) + levels[c][i];
      add(cell, i);
    }
    end_table();
  }
}

}  // namespace

std::vector<Int128> CountCells(const ModelColumns& model, const ModelCounts& counts,
                               const Table& table, std::span<const size_t> rows,
                               std::span<const uint8_t> classes, std::span<const Int128> copies) {
  std::vector<Int128> cells(counts.num_cells);
  EachCell(model, counts, table, rows, classes,
           [&](size_t cell, size_t i) { cells[cell] += copies.empty() ? 1 : copies[i]; });
  return cells;
}

std::vector<Int128> CountGroupsInCells(const ModelColumns& model, const ModelCounts& counts,
                                       const Table& table, std::span<const size_t> rows,
                                       std::span<const uint8_t> classes,
                                       std::span<const size_t> sizes) {
  std::vector<size_t> groups;  // of the rows, from 1 on
  for (size_t g = 0; g < sizes.size(); ++g) groups.insert(groups.end(), sizes[g], g + 1);
  std::vector<Int128> cells(counts.num_cells);
  std::vector<size_t> last(counts.num_cells, 0);  // the group that a cell counted last
  EachCell(model, counts, table, rows, classes, [&](size_t cell, size_t i) {
    if (last[cell] == groups[i]) return;
    last[cell] = groups[i];
    ++cells[cell];
  });
  return cells;
}

std::vector<LevelMargin> LevelMargins(const ModelColumns& model, const ModelCounts& counts) {
  const std::vector<std::string> categories = CategoriesOf(model);
  std::vector<LevelMargin> margins;
  for (const Numbers& numbers : MarginsOf(model)) {
    LevelMargin margin{TogetherName(categories, numbers), 1};
    for (const size_t c : numbers) margin.cells *= counts.sizes[c] / counts.classes;
    margins.push_back(std::move(margin));
  }
  return margins;
}

std::vector<std::vector<size_t>> CellsByMargin(const ModelColumns& model, const ModelCounts& counts,
                                               const Table& table, std::span<const size_t> rows) {
  const std::vector<Numbers> levels = LevelsOfRows(model, table, rows);
  std::vector<std::vector<size_t>> cells;
  for (const Numbers& numbers : MarginsOf(model)) {
    Numbers of_rows(rows.size(), 0);
    for (const size_t c : numbers) {
      for (size_t i = 0; i < rows.size(); ++i)
        of_rows[i] = of_rows[i] * (counts.sizes[c] / counts.classes) + levels[c][i];
    }
    cells.push_back(std::move(of_rows));
  }
  return cells;
}

}  // namespace partita::data
