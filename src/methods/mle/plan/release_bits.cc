#include "methods/mle/plan/release_bits.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "methods/mle/imputed/analyses.h"
#include "methods/mle/published/analyses.h"
#include "methods/mle/sealed/analyses.h"
#include "methods/mle/sealed/analysis.h"
#include "methods/mle/study/computations.h"
#include "run/method/hidden_rows.h"

namespace partita::methods::mle {
namespace {

constexpr double kOutcomeBits = 1;

// Of a column of whole numbers how many steps its bounds are apart; 0 for others.
double Steps(const MleStudy& study, const data::DesignColumn& column) {
  // A number with the bounds 0 and 1 may be anything between.
  const bool whole = column.schema.type == data::ColumnType::kInteger ||
                     (!column.level.empty() && IsBinary(column.schema));
  const study::DesignSpec& design = study.file.design;
  if (!whole || design.site != study::SiteEffect::kIgnore || !design.weights.empty()) return 0;
  return column.schema.upper - column.schema.lower;
}

double MomentBits(const MleStudy& study, const Computation& computation, const RowSet& rows) {
  const uint64_t n = computation.task.max_rows;
  double bits = 0;
  for (size_t c = 0; c < rows.cells.size(); ++c) {
    // The rows of one cell count as n, which is public, but for hidden rows.
    if (c > 0 || run::HasHiddenRows(study)) bits += privacy::CountBits(n);
    for (const size_t v : rows.release.variables) {
      if (!Opens(rows.release, c, v)) continue;
      const double steps = Steps(study, computation.variables[v]);
      bits += steps > 0 ? privacy::CountBits(n, steps) : privacy::kDoubleBits;
    }
    for (const auto& [i, j] : rows.release.pairs) {
      if (!Opens(rows.release, c, i) || !Opens(rows.release, c, j)) continue;
      // The square of a 0/1 column is itself.
      if (i == j && Steps(study, computation.variables[i]) == 1) continue;
      const double steps =
          Steps(study, computation.variables[i]) * Steps(study, computation.variables[j]);
      bits += steps > 0 ? privacy::CountBits(n, steps) : privacy::kDoubleBits;
    }
  }
  return bits;
}

// Meat and traces.
double RobustBits(const MleStudy& study, const RowSet& rows) {
  uint64_t numbers = 0;
  for (const size_t a : rows.analyses) {
    const std::string& name = study.file.analyses[a].name;
    if (!MleOf(study.file.analyses[a]).robust) continue;
    numbers += NumReleased(study, "robust-meat/" + name);
    numbers += NumReleased(study, "robust-scaling/" + name);
  }
  return privacy::NumberBits(numbers, 0);
}

double SealedBits(const MleStudy& study, const Computation& computation, const RowSet& rows) {
  double bits = 0;
  for (const size_t a : rows.analyses) {
    const MleAnalysis& analysis = study.analyses[a].analysis;
    const std::string& name = study.file.analyses[a].name;
    const uint64_t estimates = NumReleased(study, "sealed-estimates/" + name);
    const uint64_t errors = NumReleased(study, "sealed-standard-errors/" + name);
    const uint64_t groups = NumReleased(study, "group-sizes/" + name);
    // Their grids say of standard errors that are not opened what these would.
    const bool grids = study.grid_bits > 0 && NeedsStandardErrors(analysis);
    bits += privacy::NumberBits(estimates + std::max(errors, grids ? estimates : 0) +
                                    NumReleased(study, "sealed-fit/" + name),
                                study.grid_bits);
    // One of them is public, but for hidden rows.
    const uint64_t known = run::HasHiddenRows(study) ? 0 : 1;
    if (groups > known)
      bits += static_cast<double>(groups - known) * privacy::CountBits(computation.task.max_rows);
  }
  return bits;
}

// As many numbers as were asked for, but no more than there are.
double LikelihoodBits(const MleStudy& study, const Computation& computation, const RowSet& rows) {
  uint64_t asked = 0;
  for (const mpc::Release& release : study.releases) {
    for (const size_t a : rows.analyses) {
      if (release.id.ends_with("/" + study.file.analyses[a].name))
        asked += release.max_count * release.num_values.value_or(0);
    }
  }
  return std::min(privacy::NumberBits(asked, 0), MomentBits(study, computation, rows));
}

}  // namespace

uint64_t NumReleased(const MleStudy& study, const std::string& id) {
  uint64_t numbers = 0;
  for (const mpc::Release& release : study.releases) {
    if (release.id == id) numbers += release.max_count * release.num_values.value_or(0);
  }
  return numbers;
}

std::vector<data::DesignColumn> CovariatesOf(const run::Study& study, const MleAnalysis& analysis) {
  if (study.partition.kind != data::PartitionKind::kHorizontal) return analysis.variables;
  std::set<std::string> explained;
  for (const stats::Parameter& row : analysis.table.rows) {
    if (row.op == "~") explained.insert(row.lhs);
    if (row.op == "=~") explained.insert(row.rhs);
  }
  std::vector<data::DesignColumn> covariates;
  for (const data::DesignColumn& column : analysis.variables) {
    if (explained.count(column.schema.name) == 0) covariates.push_back(column);
  }
  return covariates.empty() ? analysis.variables : covariates;
}

std::vector<run::CovariateTable> CovariateTables(const MleStudy& study, const RowSet& rows) {
  const bool left_out = !study.file.population.subset.empty() || !rows.subset.empty() ||
                        study.file.design.missing == study::MissingPolicy::kComplete ||
                        study.file.design.leave_out_other_patterns;
  std::vector<run::CovariateTable> tables;
  for (const size_t a : rows.analyses) {
    run::PatternColumns columns = run::PatternColumnsOf(
        study, study.factors, CovariatesOf(study, study.analyses[a].analysis));
    if (const data::ColumnSchema* group = study.factors.Find(rows.group)) {
      const std::string source = run::SourceVariable(study, rows.group);
      std::erase_if(columns, [&](const auto& column) { return column.first == source; });
      columns.emplace_back(source, run::ValueBits(*group));
    }
    const bool outcomes = MleOf(study.file.analyses[a]).robust;
    tables.push_back({run::LeastUnknown(study, columns, left_out), outcomes});
    for (privacy::UnknownRows& part : tables.back().unknown)
      part.log2_patterns += outcomes ? kOutcomeBits : 0;
  }
  return tables;
}

double OpenedBits(const MleStudy& study, const Computation& computation, const RowSet& rows) {
  if (computation.protocol == kSealed) return SealedBits(study, computation, rows);
  if (computation.protocol == kLikelihood) return LikelihoodBits(study, computation, rows);
  if (published::IsPublished(computation.protocol)) {
    uint64_t cells = 0;
    for (const size_t a : rows.analyses)
      cells += NumReleased(study, "published/" + study.file.analyses[a].name);
    return privacy::NumberBits(cells, 0);
  }
  if (IsImputed(study)) {
    uint64_t numbers = 0;
    for (const mpc::Release& release : ImputationReleases(
             ImputationTaskOf(study, computation, rows), study.parties[study.receiver].name))
      numbers += release.max_count * release.num_values.value_or(0);
    return privacy::NumberBits(numbers, 0);
  }
  return MomentBits(study, computation, rows) + RobustBits(study, rows);
}

}  // namespace partita::methods::mle
