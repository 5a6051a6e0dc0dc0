#include "methods/survival/cells.h"

#include "mpc/functions/arithmetic.h"
#include "mpc/functions/small_cells.h"

namespace partita::methods::survival {
namespace {

using mpc::Engine;
using mpc::Shared;
using mpc::WithBound;

// One below the other: by group the cells of its curve; rows, events, late events by group.
Shared CellsOfHolder(Engine& engine, const Spec& spec, const Shared& events_until,
                     const Shared& left_until) {
  const double most = left_until.bound;
  const size_t groups = spec.num_groups();
  const Shared events = Steps(engine, events_until, spec.report);
  const Shared left = Steps(engine, left_until, spec.report);
  const Shared censored = WithBound(engine.Subtract(left, events), most);
  const std::vector<size_t> last = {spec.report.back()};
  const Shared rows = LastRow(engine, left_until), all_events = LastRow(engine, events_until);
  const Shared remaining =
      WithBound(engine.Subtract(rows, engine.SelectRows(left_until, last)), most);
  const Shared late_events =
      WithBound(engine.Subtract(all_events, engine.SelectRows(events_until, last)), most);
  const std::vector<Shared> of_curves = {events, censored, remaining};
  const Shared curves = engine.Transpose(engine.Concatenate(of_curves, true));
  std::vector<Shared> parts = {mpc::Reshape(curves, {curves.shape.size(), 1})};
  if (groups > 1) {
    for (const Shared& counts : {rows, all_events, late_events})
      parts.push_back(mpc::Reshape(counts, {groups, 1}));
  }
  return engine.Concatenate(parts, true);
}

}  // namespace

Shared Steps(Engine& engine, const Shared& until, const std::vector<size_t>& rows) {
  const Shared at = engine.SelectRows(until, rows);
  return WithBound(engine.Subtract(at, Before(engine, at)), until.bound);
}

Passes CheckCells(Engine& engine, const Task& task, const RiskSets& sets, uint64_t min_cell) {
  const size_t groups = task.spec.num_groups();
  mpc::CellTables tables;
  tables.max_rows = run::MostRows(task.holders);
  for (size_t h = 0; h < task.holders.size(); ++h) {
    tables.by_holder.push_back(
        CellsOfHolder(engine, task.spec, sets.events_until[h], sets.left_until[h]));
  }
  tables.sizes.assign(groups, 2 * task.spec.report.size() + 1);
  if (groups > 1) tables.sizes.insert(tables.sizes.end(), {2 * groups, groups});
  const std::vector<mpc::SharedBits> bits = {mpc::NoSmallCells(engine, tables, min_cell, true)};
  const Shared passes = engine.ToRing(bits).front();
  if (groups == 1) return {passes, {}, {}};
  return {engine.Slice(passes, 0, 0, {groups, 1}), engine.Slice(passes, groups, 0, {1, 1}),
          engine.Slice(passes, groups + 1, 0, {1, 1})};
}

ReportCounts CountsAtReports(Engine& engine, const Task& task, const RiskSets& sets) {
  const double most = task.max_rows();
  Shared events = sets.events_until.front(), left = sets.left_until.front();
  for (size_t h = 1; h < task.holders.size(); ++h) {
    events = engine.Add(events, sets.events_until[h]);
    left = engine.Add(left, sets.left_until[h]);
  }
  events.bound = left.bound = most;
  ReportCounts counts;
  counts.events = Steps(engine, events, task.spec.report);
  counts.rows = LastRow(engine, left);
  const std::vector<size_t> last(task.spec.report.size(), left.shape.rows - 1);
  counts.remaining = WithBound(
      engine.Subtract(engine.SelectRows(left, last), engine.SelectRows(left, task.spec.report)),
      most);
  return counts;
}

}  // namespace partita::methods::survival
