#include "methods/mle/study/variables.h"

#include <algorithm>
#include <cmath>

#include "data/scaling.h"

namespace partita::methods::mle {
namespace {

using run::VariableSummary;

std::string HeldBy(const MleStudy& study, const std::string& source) {
  std::string names;
  for (const data::Holder& holder : study.partition.holders) {
    for (const std::string& column : holder.columns) {
      if (column == source) names += (names.empty() ? "" : ", ") + holder.name;
    }
  }
  return names;
}

// Sums of one variable over the groups of an analysis, and over the patterns that have it.
void AddMoments(const Computation& computation, const PreparedAnalysis& analysis, size_t index,
                const std::vector<IntegerMoments>& groups, VariableSummary& summary) {
  const size_t p = analysis.variables.size();
  data::PooledMoments pooled;
  pooled.fraction_bits = computation.task.fraction_bits;
  pooled.sums.assign(1, 0);
  pooled.cross_products.assign(1, 0);
  const std::vector<std::vector<size_t>>& patterns = analysis.analysis.patterns;
  for (size_t g = 0; g < groups.size(); ++g) {
    const IntegerMoments& group = groups[g];
    if (!patterns.empty()) {
      const std::vector<size_t>& observed = patterns[g % patterns.size()];
      if (!std::binary_search(observed.begin(), observed.end(), index)) continue;
    }
    pooled.num_rows += static_cast<uint64_t>(group.n);
    pooled.sums[0] += group.sum[index];
    pooled.cross_products[0] += group.cross[index * p + index];
  }
  if (pooled.num_rows == 0) return;
  const std::vector<data::ColumnScale> scale = {
      data::ScaleOf(analysis.analysis.variables[index].schema)};
  const data::SampleMoments moments = data::ToOriginalUnits(pooled, scale);
  summary.num_rows = pooled.num_rows;
  summary.sd = std::sqrt(moments.covariance[0]);
  if (computation.task.centred.empty()) summary.mean = moments.mean[0];
}

}  // namespace

std::vector<VariableSummary> SummariseVariables(const MleStudy& study,
                                                const ProtocolResult& result) {
  std::vector<VariableSummary> summaries;
  const auto find = [&](const data::DesignColumn& column) -> VariableSummary& {
    for (VariableSummary& summary : summaries) {
      if (summary.name == column.schema.name) return summary;
    }
    VariableSummary& added = summaries.emplace_back();
    added.name = column.schema.name;
    added.type = data::ColumnTypeName(column.schema.type);
    added.unit = column.schema.unit;
    added.held_by = HeldBy(study, column.source);
    // A protocol may scale by others.
    const auto declared = std::find_if(
        study.columns.begin(), study.columns.end(),
        [&](const auto& candidate) { return candidate.schema.name == column.schema.name; });
    added.lower = declared->schema.lower;
    added.upper = declared->schema.upper;
    return added;
  };
  for (size_t a = 0; a < study.analyses.size(); ++a) {
    const PreparedAnalysis& analysis = study.analyses[a];
    const Computation& computation = study.computations[analysis.computation];
    for (size_t v = 0; v < analysis.variables.size(); ++v) {
      VariableSummary& summary = find(analysis.analysis.variables[v]);
      if (summary.num_rows > 0 || result.moments[a].empty() ||
          !study.file.analyses[a].subset.empty())
        continue;
      AddMoments(computation, analysis, v, result.moments[a], summary);
    }
  }
  return summaries;
}

}  // namespace partita::methods::mle
