#include "methods/survival/cox/baseline.h"

#include <algorithm>
#include <cmath>

#include "mpc/functions/arithmetic.h"
#include "mpc/functions/logarithm.h"
#include "mpc/functions/reciprocal.h"
#include "mpc/functions/small_cells.h"
#include "mpc/together.h"

namespace partita::methods::survival {
namespace {

using mpc::Engine;
using mpc::Shared;
using mpc::WithBound;

constexpr int kReportedBits = 46, kLogHazardBits = 40, kInverseEventsBits = 40;
constexpr double kMostLogHazard = 64;

size_t NumKinds(const CoxSpec& spec) { return spec.entry.empty() ? 2 : 3; }

// Of each stratum the rows at report times.
Shared AtReports(Engine& engine, const BaselineTask& task, const Shared& of_cells) {
  std::vector<size_t> rows;
  for (size_t stratum = 0; stratum < task.cells.strata; ++stratum)
    for (const size_t cell : task.spec.report) rows.push_back(stratum * task.cells.cells + cell);
  return WithBound(engine.SelectRows(of_cells, rows), of_cells.bound);
}

// Whether the counts of each stratum pass.
Shared CountsPass(Engine& engine, const BaselineTask& task, const std::vector<Shared>& counts,
                  uint64_t min_cell) {
  mpc::CellTables tables;
  tables.by_holder = counts;
  tables.sizes.assign(task.cells.strata, NumHazardCounts(task.spec));
  tables.max_rows = task.max_rows;
  const std::vector<mpc::SharedBits> bits = {mpc::NoSmallCells(engine, tables, min_cell, true)};
  return WithBound(engine.ToRing(bits).front(), 1);
}

}  // namespace

size_t NumHazardCounts(const CoxSpec& spec) {
  return spec.report.size() * NumKinds(spec) + NumKinds(spec) - 1;
}

std::vector<Int128> HazardCounts(const CoxSpec& spec, const CoxCells& cells, const CoxRows& rows) {
  const size_t width = NumHazardCounts(spec), kinds = NumKinds(spec), reports = spec.report.size();
  std::vector<Int128> counts(cells.strata * width);
  // kind: with the event, without it, who enters. After the last report time the first two are one.
  const auto count = [&](size_t place, size_t kind) {
    const auto interval = static_cast<size_t>(
        std::lower_bound(spec.report.begin(), spec.report.end(), place % cells.cells) -
        spec.report.begin());
    const size_t first = place / cells.cells * width + interval * kinds;
    const bool late = interval == reports;
    ++counts[first + (late ? (kind == 2 ? 1 : 0) : kind)];
  };
  for (size_t row = 0; row < rows.place.size(); ++row) {
    count(rows.place[row], rows.event[row] != 0 ? 0 : 1);
    if (!rows.entry.empty()) count(rows.entry[row], 2);
  }
  return counts;
}

GridBaseline BaselineOnGrid(Engine& engine, const BaselineTask& task, const CoxTerms& terms,
                            const std::vector<Shared>& counts, uint64_t min_cell,
                            const Shared& holds) {
  const auto rows = static_cast<double>(task.max_rows);
  const size_t cells = task.cells.count(), reports = task.spec.report.size();
  const double most = MostHazard(rows, !task.spec.entry.empty());
  const auto up_to = [&](const Shared& of_terms, double bound) {
    return AtReports(engine, task,
                     UpTo(engine, task.cells, SumOfTerms(engine, of_terms, cells, bound), bound));
  };
  const Shared events = up_to(terms.events, rows);
  Shared hazard = up_to(terms.hazards, most);
  mpc::CutRound cut(engine);
  cut.Add(hazard, kReportedBits, most);
  cut.Run();
  GridBaseline baseline;
  Shared log_hazard;
  mpc::GridMarks marks;
  const std::vector<mpc::Task> tasks = {
      [&](Engine& e) { baseline.passes = CountsPass(e, task, counts, min_cell); },
      [&](Engine& e) {
        const double least = std::exp(-kMostPredictor) / (2 * rows);
        const std::vector<mpc::PositiveValue> positive = {{hazard, least}};
        log_hazard = WithBound(mpc::Log(e, positive, kLogHazardBits).front(), kMostLogHazard);
      },
      [&](Engine& e) {
        const std::vector<mpc::PositiveValue> positive = {{events, 1}};
        const Shared inverse =
            WithBound(mpc::Reciprocal(e, positive, kInverseEventsBits).front(), 2);
        marks =
            mpc::MarkErrorGrids(e, WithBound(mpc::TimesPowerOfTwo(inverse, -1), 1), task.grid_bits);
      }};
  mpc::Together(engine, tasks);
  baseline.range = marks.range;
  const Shared on_grid =
      mpc::RoundToGrids(engine, {{log_hazard, kMostLogHazard, marks}}, nullptr, 0, task.grid_bits)
          .front();
  Shared shown;
  mpc::ProductRound both(engine);
  both.Add(baseline.passes,
           WithBound(engine.SelectRows(holds, std::vector<size_t>(task.cells.strata, 0)), 1), 1,
           shown);
  both.Run();
  std::vector<size_t> stratum_of;
  for (size_t place = 0; place < task.cells.strata * reports; ++place)
    stratum_of.push_back(place / reports);
  const Shared mask = WithBound(engine.SelectRows(shown, stratum_of), 1);
  mpc::ProductRound masked(engine);
  masked.Add(marks.reached, mask, marks.reached.bound, baseline.reached);
  masked.Add(on_grid, mask, on_grid.bound, baseline.log_hazard);
  masked.Run();
  baseline.passes = shown;
  return baseline;
}

}  // namespace partita::methods::survival
