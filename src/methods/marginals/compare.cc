// Rehearsals of method `marginals`: what opened beside the counts of the same rows in the clear.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

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

// Scores and chosen pairs are what the opened one-way tables and scores make them in the clear.
void CompareScores(const MarginalsStudy& study, const MarginalsRun& result,
                   const OpenedTables& opened, const std::vector<double>& counts,
                   run::Agreement& agreement) {
  const stats::marginals::TableSet& set = study.task.set;
  const std::string& analysis = study.file.analyses.front().name;
  uint64_t most = 0;
  for (const RowBlock& block : study.task.blocks) most += block.rows;
  std::optional<uint64_t> rows;
  if (study.rows()) rows = most;
  std::vector<int64_t> one_way, scores;
  for (size_t i = 0; i < stats::marginals::OneWayCells(set); ++i)
    one_way.push_back(std::llround(opened.noisy.cells[i]));
  const std::vector<double> exact = stats::marginals::ScoresOf(
      set, counts, stats::marginals::IndependentCounts(set, one_way, rows, most));
  std::vector<double> noise;
  for (size_t p = 0; p < exact.size(); ++p) {
    scores.push_back(std::llround(opened.scores.scores[p]));
    noise.push_back((opened.scores.scores[p] - exact[p]) / opened.scores.noise_stddev);
  }
  agreement.random.push_back(
      run::IndependentNormals(analysis,
                              fmt::format("noise of all scores, of standard deviation {:.4g} rows",
                                          opened.scores.noise_stddev),
                              noise));
  const std::vector<size_t> chosen = stats::marginals::ChoosePairs(
      set, scores, study.design.noise_stddev() / SelectionOf(study.task).pair,
      study.task.scored->pairs);
  size_t same = 0;
  for (const size_t table : result.chosen)
    same += static_cast<size_t>(std::ranges::count(chosen, table));
  agreement.Add(analysis, "chosen pairs", static_cast<double>(same),
                static_cast<double>(chosen.size()));
}

}  // namespace

void MarginalsStudy::Compare(const run::RehearsedRun& run, run::Agreement& agreement,
                             Progress& /*progress*/) const {
  const auto& result = dynamic_cast<const MarginalsRun&>(*run.outcome(receiver).protocol);
  data::Table pooled = run::TakeRows(run.mock.pooled, CountedRows(*this, run.mock));
  DeriveColumns(pooled);
  stats::marginals::Codes codes;
  for (uint32_t a = 0; a < spec.columns.size(); ++a)
    codes.push_back(LevelsOfAttribute(spec, a, pooled, 0, pooled.num_rows));
  const std::vector<double> counts = stats::marginals::Count(task.set, codes);
  const std::string& analysis = file.analyses.front().name;
  agreement.Add(analysis, "cells", static_cast<double>(result.cells->size()),
                static_cast<double>(counts.size()));
  std::vector<double> noise;
  const OpenedTables opened = OpenedBy(*this, result);
  const stats::marginals::NoisyTables& noisy = opened.noisy;
  for (size_t t = 0; t < task.set.tables.size(); ++t) {
    const stats::marginals::CountTable& table = task.set.tables[t];
    if (!noisy.Measured(t)) continue;
    for (size_t i = table.offset; i < table.offset + table.cells(); ++i) {
      noise.push_back((noisy.cells[i] - counts[i]) / noisy.Stddev(t));
    }
  }
  agreement.random.push_back(run::IndependentNormals(
      analysis, fmt::format("noise of all cells, of standard deviation {} rows", NoiseText()),
      noise));
  if (task.scored) CompareScores(*this, result, opened, counts, agreement);
}

}  // namespace partita::methods::marginals
