#include "methods/mle/fit/extras.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "methods/mle/fit/comparison.h"
#include "methods/mle/fit/families.h"
#include "methods/mle/fit/least_squares.h"
#include "stats/sem/bootstrap.h"
#include "stats/sem/modification.h"

namespace partita::methods::mle {
namespace {

constexpr double kLevel = 0.95;

void AddNested(const std::vector<MleResult>& results, const std::string& wide, MleResult& narrow) {
  const auto found = std::find_if(results.begin(), results.end(),
                                  [&](const MleResult& other) { return other.name == wide; });
  if (found == results.end())
    throw Error(ErrorCode::kInternal, fmt::format("there is no analysis '{}'", wide));
  if (found->fit.converged && narrow.fit.converged) {
    narrow.tables.push_back(NestedTable(*found, narrow));
  } else {
    narrow.notes.push_back("There is no test against analysis '" + wide +
                           "', because one of the two did not converge.");
  }
}

}  // namespace

CellTable BootstrapTable(const MleResult& result, size_t draws, Progress& progress) {
  const stats::Bootstrap bootstrap =
      stats::ParametricBootstrap(result.table, result.group_n, result.fit, draws, kLevel, progress);
  const std::vector<stats::Parameter>& rows = result.table.rows;
  const bool defined =
      std::any_of(rows.begin(), rows.end(), [](const auto& row) { return row.op == ":="; });
  CellTable table{
      fmt::format("Parametric bootstrap, {} samples of the fitted model{}", draws,
                  bootstrap.failed == 0 ? std::string()
                                        : fmt::format(" ({} did not converge)", bootstrap.failed)),
      {"parameter", "estimate", "standard error", "95 % lower", "95 % upper"},
      {}};
  for (size_t r = 0; r < rows.size(); ++r) {
    const stats::Parameter& row = rows[r];
    if (defined ? row.op != ":=" : row.free == 0) continue;
    std::string name = row.lhs + " " + row.op + (row.rhs.empty() ? "" : " " + row.rhs);
    if (row.group > 1 || (row.group == 1 && result.group_n.size() > 1))
      name += fmt::format(" ({})", result.group_labels.at(static_cast<size_t>(row.group) - 1));
    const stats::BootstrapInterval& interval = bootstrap.intervals[r];
    table.rows.push_back({name, result.fit.estimates[r].estimate, interval.standard_error,
                          interval.lower, interval.upper});
  }
  return table;
}

void AddTables(const std::vector<const MleAnalysis*>& analyses,
               const std::vector<std::vector<stats::GroupMoments>>& moments,
               std::vector<MleResult>& results, Progress& progress) {
  for (size_t a = 0; a < results.size(); ++a) {
    MleResult& result = results[a];
    const MleOptions& options = analyses.at(a)->options;
    result.family = FamilyName(result.table, result.function);
    AddLeastSquares(options, result);
    for (CellTable& table : FamilyTables(result)) result.tables.push_back(std::move(table));
    try {
      if (!options.nested_in.empty()) AddNested(results, options.nested_in, result);
      if (!result.fit.converged) continue;
      if (options.modification_indices) {
        result.tables.push_back(
            ModificationTable(stats::ModificationIndices(result.table, moments.at(a), result.fit),
                              result.group_labels));
      }
      if (options.bootstrap > 0)
        result.tables.push_back(BootstrapTable(result, options.bootstrap, progress));
    } catch (const Error& error) {
      result.notes.push_back("Warning: " + error.message() + ": " + error.hint() + ".");
    }
  }
}

}  // namespace partita::methods::mle
