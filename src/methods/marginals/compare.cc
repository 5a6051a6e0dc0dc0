// Rehearsals of method `marginals`: what opened beside the counts of the same rows in the clear.
#include <fmt/format.h>

#include <algorithm>

#include "methods/marginals/study.h"
#include "run/rehearse/rehearsal.h"
#include "stats/mixture/held_out_rows.h"

namespace partita::methods::marginals {

namespace {

// The rows that are counted: of every block those that are not set aside, in the order that its
// holders have them in.
std::vector<size_t> CountedRows(const MarginalsStudy& study, const data::MockStudy& mock) {
  std::vector<size_t> counted;
  for (const data::Segment& segment : study.partition.segments) {
    std::vector<size_t> rows;
    for (size_t i = 0; i < mock.row_blocks.size(); ++i) {
      if (mock.row_blocks[i] == study.partition.blocks[segment.block].name) rows.push_back(i);
    }
    if (segment.parts.size() > 1) {
      std::ranges::sort(rows, {}, [&](size_t row) { return mock.row_keys[row]; });
    }
    const stats::mixture::RowSplit split = stats::mixture::SplitRows(
        static_cast<uint32_t>(rows.size()), study.spec.utility.test_rows, study.spec.utility.seed);
    for (const uint32_t row : split.train) counted.push_back(rows[row]);
  }
  return counted;
}

}  // namespace

void MarginalsStudy::Compare(const run::RehearsedRun& run, run::Agreement& agreement,
                             Progress& /*progress*/) const {
  const auto& result = dynamic_cast<const MarginalsRun&>(*run.outcome(receiver).protocol);
  const data::Table pooled = run::TakeRows(run.mock.pooled, CountedRows(*this, run.mock));
  stats::marginals::Codes codes;
  for (const LevelColumn& column : spec.columns) {
    codes.push_back(LevelsOf(column, pooled, 0, pooled.num_rows));
  }
  const std::vector<double> counts = stats::marginals::Count(task.set, codes);
  const std::string& analysis = file.analyses.front().name;
  agreement.Add(analysis, "cells", static_cast<double>(result.cells->size()),
                static_cast<double>(counts.size()));
  std::vector<double> noise;
  const stats::marginals::NoisyTables noisy = OpenedBy(*this, *result.cells).noisy;
  for (size_t t = 0; t < task.set.tables.size(); ++t) {
    const stats::marginals::CountTable& table = task.set.tables[t];
    for (size_t i = table.offset; i < table.offset + table.cells(); ++i) {
      noise.push_back((noisy.cells[i] - counts[i]) / noisy.Stddev(t));
    }
  }
  agreement.random.push_back(run::IndependentNormals(
      analysis, fmt::format("noise of all cells, of standard deviation {} rows", NoiseText()),
      noise));
}

}  // namespace partita::methods::marginals
