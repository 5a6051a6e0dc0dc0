// Whether few persons stand behind what is to open: counts of rows, compared on shares before
// anything else opens (mpc/functions/small_cells.h: over all holders, and over all but each one).
//
// Curve     Of a group: in every interval between report times the rows that leave with the event,
//           and those that leave without, and after the last one all rows, are 0 or at least
//           min_cell.
// Log-rank  Of every group the rows and the events are 0 or at least min_cell. The numbers of events
//           open if those after the last report time, which the curves leave, are so as well.
// Revealed  Nothing.
#pragma once

#include "methods/survival/risk_sets.h"

namespace partita::methods::survival {

struct Passes {
  mpc::Shared curves;  // groups x 1, 0 or 1
  // 1 x 1; empty with one group.
  mpc::Shared log_rank, late_events;
};
Passes CheckCells(mpc::Engine& engine, const Task& task, const RiskSets& sets, uint64_t min_cell);

// At report times, report x groups: events since the report time before, rows that leave later.
struct ReportCounts {
  mpc::Shared events, remaining;
  mpc::Shared rows;  // 1 x groups
};
ReportCounts CountsAtReports(mpc::Engine& engine, const Task& task, const RiskSets& sets);

// What a column grows by from one of its rows to the next of these; the first from zero.
mpc::Shared Steps(mpc::Engine& engine, const mpc::Shared& until, const std::vector<size_t>& rows);

}  // namespace partita::methods::survival
