// The columns of a regression, from its formula and the dictionary alone, so that all sites have the
// same; what is counted of the rows before anything of them opens; and both of a holder's rows.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/int128.h"
#include "data/design.h"
#include "data/formula.h"
#include "data/schema.h"
#include "data/table.h"

namespace partita::data {

inline constexpr size_t kMostModelColumns = 40;

// A column of the design: the product of its parts, divided by `scale`, so that it is in [-1, 1].
struct ModelColumn {
  std::string name;                // "age", "sex.male:age"; "(Intercept)"
  std::vector<std::string> parts;  // design columns (design.h); none: ones
  double scale = 1;                // the largest magnitude of the product
  bool zero_one = false;
  double lower = 1, upper = 1;  // of the product
};

// A term of several columns, which is tested as a whole.
struct ModelTerm {
  std::string name;             // as in the formula
  std::vector<size_t> columns;  // of ModelColumns::columns
};

struct ModelColumns {
  bool intercept = true;             // whether the formula has one
  std::vector<ModelColumn> columns;  // the intercept first
  std::vector<ModelTerm> terms;      // those of several columns
  std::vector<std::string> offsets;  // design columns, added up and divided by the unit of offsets
  double offset_lower = 0, offset_upper = 0;  // after that division

  // What is counted before anything opens.
  std::vector<std::string> factors;   // with levels
  std::vector<std::string> binaries;  // 0/1 design columns of integers
  std::vector<size_t> products;       // columns that are products of 0/1 columns
  // Of each term of two factors or 0/1 variables or more: these, whatever their contrasts.
  std::vector<std::vector<std::string>> crossed;
  bool pairs =
      false;  // also what each two of factors, 0/1 variables and crossed ones have together

  std::vector<DerivedVariable> made;     // by functions of the formula
  std::vector<DesignColumn> covariates;  // that the columns and offsets are made of
};

// The design columns that one atom of a formula stands for, and the factor behind them.
struct AtomColumns {
  std::vector<DesignColumn> columns;
  std::optional<ColumnSchema> levels;
};

bool IsZeroOne(const DesignColumn& column);

// Throws kBadInput with a hint: variables that are not there or of another type, an interaction
// without its main effects, or a factor without an intercept, whose columns R would code in another
// way; too many columns; with an intercept bounds so far from zero that a column is all but constant.
class FormulaColumns {
 public:
  FormulaColumns(const Schema& dictionary, std::span<const DerivedVariable> derived);

  // Also of an outcome.
  AtomColumns ColumnsOf(const FormulaAtom& atom);

  // outcome: no covariate may be one of these columns, or a column of the same name. A column of ones
  // stands for the intercept, or where `baseline` is, which takes its place, none.
  ModelColumns Build(const Formula& formula, std::span<const DesignColumn> outcome,
                     double offset_unit, bool baseline);

 private:
  const ColumnSchema& InDictionary(const std::string& name, const std::string& text) const;
  AtomColumns Named(const std::string& name) const;
  AtomColumns Made(DerivedVariable made);
  AtomColumns IntegerLevels(const FormulaAtom& atom, const ColumnSchema& variable);
  // What levels there are to count: a factor's, or a 0/1 variable's.
  std::vector<std::string> NoteLevels(const AtomColumns& atom);
  void Cover(const DesignColumn& column);
  void AddTerm(const FormulaTerm& term, const Formula& formula);
  void AddColumn(const std::vector<DesignColumn>& product);
  void AddOffset(const FormulaAtom& atom, double unit);

  const Schema& dictionary_;
  std::span<const DerivedVariable> derived_;
  const Schema factors_;
  std::span<const DesignColumn> outcome_;
  ModelColumns model_;
};

// Variables of the dictionary that these columns are made of, in its order.
std::vector<std::string> VariablesOf(const Schema& dictionary,
                                     std::span<const DesignColumn> outcome,
                                     std::span<const DesignColumn> covariates);

// The dictionary with the factors of `derived` and of the formula.
Schema FactorsOf(const ModelColumns& model, const Schema& dictionary,
                 std::vector<DerivedVariable> derived);

// Of a report: "An event is relapse = yes. Reference levels: sex = F; ward = medicine.", the levels of
// the factors that stand in the model by treatment contrasts; empty if there is nothing to say.
// factors: of FactorsOf. outcome: a factor with two levels, of which the second is the event, or empty.
std::string CodingText(const ModelColumns& model, const Schema& factors,
                       const std::string& outcome);

// Names of the design columns that the model needs.
std::vector<std::string> NeededColumns(const ModelColumns& model);

// A holder's rows, in their order: a column over its scale.
std::vector<double> ColumnValues(const ModelColumn& column, const Table& table,
                                 std::span<const size_t> rows);

struct ModelCounts;

// Tables one below the other, of which a cell may also be nobody: by level of each factor, of each
// 0/1 variable, and where a product of 0/1 columns is 1; where pairs are counted, for each two factors, 0/1
// variables and terms that cross some, by all levels of whatever is in either; with two classes of the outcome by
// class, too. Throws kBadInput where one of these has more than kMostCellsTogether cells, or all of them have more
// than kMostCellsOfTables.
inline constexpr size_t kMostCellsTogether = 4096;
inline constexpr size_t kMostCellsOfTables = 16384;      // of all tables, where pairs are counted
[[noreturn]] void RefuseCells(const std::string& name);  // of more than kMostCellsTogether
void RequireFewCells(const ModelCounts& counts);         // throws for more than kMostCellsOfTables

struct ModelCounts {
  ModelCounts(const ModelColumns& model, const Schema& factors, size_t classes);
  size_t classes = 1;
  std::vector<std::string> names;
  std::vector<size_t> sizes;  // cells of these
  size_t num_cells = 0;
};

// classes: of every row, none where there is one class. copies: how often a row counts, none: once.
std::vector<Int128> CountCells(const ModelColumns& model, const ModelCounts& counts,
                               const Table& table, std::span<const size_t> rows,
                               std::span<const uint8_t> classes, std::span<const Int128> copies);

// The same of groups that have such a row, each counted once. rows: group by group, of these sizes.
std::vector<Int128> CountGroupsInCells(const ModelColumns& model, const ModelCounts& counts,
                                       const Table& table, std::span<const size_t> rows,
                                       std::span<const uint8_t> classes,
                                       std::span<const size_t> sizes);

// What has levels: each factor, each 0/1 variable, and what each of `crossed` has together.
struct LevelMargin {
  std::string name;
  size_t cells = 0;  // levels, or combinations of these
};
std::vector<LevelMargin> LevelMargins(const ModelColumns& model, const ModelCounts& counts);
// By margin, the cell of each row.
std::vector<std::vector<size_t>> CellsByMargin(const ModelColumns& model, const ModelCounts& counts,
                                               const Table& table, std::span<const size_t> rows);

}  // namespace partita::data
