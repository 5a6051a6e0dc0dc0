// Tables for models of proportional hazards, and a study's spec of them, without a study file.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "methods/survival/cox/fitter.h"
#include "tests/methods/survival/tables.h"

namespace partita::methods::survival::testing {

using NumericColumns = std::map<std::string, std::vector<double>>;

inline data::ColumnSchema NumberSchema(const std::string& name, double lower, double upper,
                                       data::ColumnType type = data::ColumnType::kNumeric) {
  data::ColumnSchema schema;
  schema.name = name;
  schema.type = type;
  schema.lower = lower;
  schema.upper = upper;
  return schema;
}

struct CoxCase {
  data::Schema dictionary;  // the outcome "death" first
  CoxSpec spec;
  data::Table table;
  std::vector<std::vector<size_t>> parts;  // rows by holder
  uint64_t most_clusters = 0;              // of each holder
};

// terms: "age + sex"; covariates with bounds; columns has "days", "died" and the covariates; the
// stratum's codes, if it has levels, in "stratum".
inline CoxCase CaseOf(const std::string& terms, double upper, const data::Schema& covariates,
                      const NumericColumns& columns, size_t levels = 1) {
  CoxCase of;
  of.dictionary.columns = {OutcomeSchema(upper)};
  of.dictionary.columns.insert(of.dictionary.columns.end(), covariates.columns.begin(),
                               covariates.columns.end());
  CoxSpec& spec = of.spec;
  spec.formula = "Surv(days, died) ~ " + terms;
  static_cast<data::ModelColumns&>(spec) =
      data::FormulaColumns(of.dictionary, {})
          .Build(data::ParseSurvivalFormula(spec.formula), {}, 1, true);
  spec.outcome = of.dictionary.columns.front();
  spec.grid = data::GridOf(spec.outcome, 1);
  of.table.num_rows = columns.at("days").size();
  const auto codes = [&](const std::string& name) {
    const std::vector<double>& numbers = columns.at(name);
    return std::vector<int32_t>(numbers.begin(), numbers.end());
  };
  data::Column outcome;
  outcome.schema = spec.outcome;
  outcome.numbers = columns.at("days");
  outcome.codes = codes("died");
  of.table.columns.push_back(std::move(outcome));
  for (const data::ColumnSchema& schema : covariates.columns) {
    data::Column column;
    column.schema = schema;
    column.numbers = columns.at(schema.name);
    of.table.columns.push_back(std::move(column));
  }
  if (levels > 1) {
    data::Column stratum;
    stratum.schema = ArmSchema(levels);
    stratum.schema.name = "stratum";
    stratum.codes = codes("stratum");
    of.dictionary.columns.push_back(stratum.schema);
    of.table.columns.push_back(std::move(stratum));
    spec.stratum = "stratum";
    spec.num_levels = levels;
  }
  data::AddDesignColumns(of.table, of.dictionary, spec.made, data::NeededColumns(spec));
  return of;
}

// Row by row to one holder after the other.
inline void Deal(CoxCase& of, size_t holders) {
  of.parts.assign(holders, {});
  for (size_t r = 0; r < of.table.num_rows; ++r) of.parts[r % holders].push_back(r);
}

inline CoxTask TaskOf(const CoxCase& of, int grid_bits) {
  CoxTask task;
  task.spec = of.spec;
  task.grid_bits = grid_bits;
  task.to = of.parts.size() - 1;
  for (size_t h = 0; h < of.parts.size(); ++h)
    task.holders.push_back({h, std::max<uint64_t>(of.parts[h].size(), 1)});
  if (of.spec.by_units()) {
    for (const run::RowHolder& holder : task.holders)
      task.units.push_back(of.spec.clustered() ? of.most_clusters : holder.max_rows);
  }
  task.table_sizes = CoxTables(of.spec, of.dictionary).sizes;
  task.cells = {(of.spec.by_site ? of.parts.size() : 1) * of.spec.num_levels, of.spec.grid.cells};
  return task;
}

inline std::vector<CoxRows> RowsOf(const CoxCase& of, const CoxTask& task) {
  const data::ModelCounts tables = CoxTables(of.spec, of.dictionary);
  std::vector<CoxRows> rows;
  for (size_t h = 0; h < of.parts.size(); ++h) {
    rows.push_back(
        CoxRowsOf(of.spec, tables, task.cells, of.spec.by_site ? h : 0, of.table, of.parts[h]));
  }
  return rows;
}

}  // namespace partita::methods::survival::testing
