// The rows of all parties in one table, as the plain side of a rehearsal reads them: which rows take
// part by the study file, and their means and covariances in double precision. Knows nothing of
// rings, shares or bounds.
#pragma once

#include <string>
#include <vector>

#include "data/table.h"
#include "methods/mle/study/study.h"
#include "stats/sem/fiml.h"
#include "stats/sem/moments.h"

namespace partita::methods::mle {

// Which rows take part in an analysis, how often, and in which group.
struct WeightedRows {
  std::vector<double> weight;  // 0: not at all
  std::vector<int32_t> group;  // index into the groups
  std::vector<size_t> block;   // of each row, for effects of the site
};

// table: with the design columns; row_blocks: the block of each row.
WeightedRows PooledRowsOf(const MleStudy& study, size_t analysis, const data::Table& table,
                          const std::vector<std::string>& row_blocks);

// The rows that miss what the pattern lists, and nothing else that a model uses.
WeightedRows RowsOfPattern(const MleStudy& study, const data::Table& table,
                           const study::MissingPattern& pattern, WeightedRows rows);

// The numbers of some columns, which the table keeps.
std::vector<const double*> NumbersOf(const data::Table& table,
                                     const std::vector<std::string>& names);

// One row of the columns after the other, for the rows of one group: use(row, values).
template <typename Use>
void ForEachRow(const WeightedRows& rows, int32_t group, const std::vector<const double*>& columns,
                const Use& use) {
  Eigen::VectorXd values(static_cast<Eigen::Index>(columns.size()));
  for (size_t i = 0; i < rows.weight.size(); ++i) {
    if (rows.weight[i] == 0 || rows.group[i] != group) continue;
    for (size_t v = 0; v < columns.size(); ++v)
      values[static_cast<Eigen::Index>(v)] = columns[v][i];
    use(i, values);
  }
}

// Covariance with divisor n, in two passes; around the mean of each block if sites have effects of
// their own, else around the mean of all.
stats::GroupMoments WeightedMoments(const WeightedRows& rows, int32_t group, bool by_block,
                                    const std::vector<const double*>& columns);

// Of every group and pattern of the study that has rows. observed: by pattern, the columns that its
// rows have.
std::vector<stats::PatternMoments> WeightedPatternMoments(
    const MleStudy& study, const data::Table& table, const WeightedRows& rows, size_t groups,
    const std::vector<std::vector<size_t>>& observed, const std::vector<const double*>& columns);

}  // namespace partita::methods::mle
