#include "methods/mle/fit/comparison.h"

#include <fmt/format.h>

#include "base/error.h"
#include "methods/mle/fit/analysis.h"

namespace partita::methods::mle {

stats::ComparedModel ComparedModelOf(const MleResult& result) {
  return stats::ComparedModelOf(result.name, result.fit, result.robust ? &*result.robust : nullptr,
                                result.group_n.size());
}

CellTable ComparisonTable(const stats::ModelComparison& comparison) {
  CellTable table{comparison.scaled ? "Nested models, scaled differences of chi-square"
                                    : "Nested models, differences of chi-square",
                  {"model", "df", "AIC", "BIC", "chi-square", "difference", "df of it", "p-value",
                   "RMSEA of it"},
                  {}};
  for (size_t i = 0; i < comparison.models.size(); ++i) {
    const stats::ComparedModel& model = comparison.models[i];
    stats::ModelDifference difference{kNaN, kNaN, kNaN, kNaN};
    if (i > 0) difference = comparison.differences[i - 1];
    table.rows.push_back({model.name, model.df, model.aic, model.bic, model.chisq, difference.chisq,
                          difference.df, difference.p_value, difference.rmsea});
  }
  return table;
}

CellTable NestedTable(const MleResult& wide, const MleResult& narrow) {
  const stats::ComparedModel from = ComparedModelOf(wide), to = ComparedModelOf(narrow);
  if (!(to.df > from.df)) {
    throw Error(ErrorCode::kBadInput,
                fmt::format("'{}' has {} degrees of freedom and '{}' {}: it is not nested in it",
                            narrow.name, to.df, wide.name, from.df),
                "a nested model has constraints that the wider one lacks: swap the two");
  }
  return ComparisonTable(stats::CompareNested({from, to}));
}

CellTable ModificationTable(const std::vector<stats::ModificationIndex>& indices,
                            const std::vector<std::string>& groups) {
  CellTable table{
      kModificationTitle, {"parameter", "index", "expected change", "std.lv", "std.all"}, {}};
  for (const stats::ModificationIndex& index : indices) {
    std::string name = index.lhs + " " + index.op + " " + index.rhs;
    if (groups.size() > 1) name += " (" + groups.at(static_cast<size_t>(index.group) - 1) + ")";
    table.rows.push_back({name, index.index, index.change, index.change_lv, index.change_all});
  }
  return table;
}

}  // namespace partita::methods::mle
