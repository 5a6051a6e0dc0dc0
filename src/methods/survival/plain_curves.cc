#include "methods/survival/plain_curves.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "methods/survival/medians.h"

namespace partita::methods::survival {

using stats::survival::Observation;

bool PlainCurves::CurvePasses(size_t group) const {
  size_t first = 0;
  bool passes = true;
  for (size_t r = 0; r < spec_.report.size(); ++r) {
    passes = passes && Enough(Counted(group, first, After(r), true, false), true) &&
             Enough(Counted(group, first, After(r), false, true), true);
    first = After(r);
  }
  return passes && Enough(Counted(group, first, spec_.grid.cells, true, true), true);
}

bool PlainCurves::LogRankPasses() const {
  const size_t cells = spec_.grid.cells;
  for (size_t g = 0; g < spec_.num_groups(); ++g) {
    if (!Enough(Counted(g, 0, cells, true, true), true) ||
        !Enough(Counted(g, 0, cells, true, false), true))
      return false;
  }
  return true;
}

bool PlainCurves::ShowsObserved() const {
  bool shows = LogRankPasses();
  for (size_t g = 0; g < spec_.num_groups(); ++g) {
    const size_t late = After(spec_.report.size() - 1);
    shows = shows && Enough(Counted(g, late, spec_.grid.cells, true, false), true);
  }
  return shows;
}

uint64_t PlainCurves::Rows(size_t group) const {
  return Total(group, 0, spec_.grid.cells, true, true);
}

uint64_t PlainCurves::Events(size_t report, size_t group) const {
  return Total(group, report == 0 ? 0 : After(report - 1), After(report), true, false);
}

uint64_t PlainCurves::Remaining(size_t report, size_t group) const {
  return Total(group, After(report), spec_.grid.cells, true, true);
}

std::vector<Observation> PlainCurves::RowsOf(size_t group) const {
  std::vector<Observation> rows;
  for (size_t c = 0; c < spec_.grid.cells; ++c) {
    for (const bool event : {true, false}) {
      rows.insert(rows.end(), Total(group, c, c + 1, event, !event),
                  Observation{spec_.grid.End(c), event});
    }
  }
  return rows;
}

stats::survival::LogRank PlainCurves::LogRank() const {
  std::vector<std::vector<Observation>> groups;
  for (size_t g = 0; g < spec_.num_groups(); ++g) groups.push_back(RowsOf(g));
  return stats::survival::LogRankOf(groups);
}

std::vector<uint64_t> PlainCurves::MedianPlaces(size_t group) const {
  std::vector<uint64_t> places(kMediansOfGroup);
  if (!CurvePasses(group)) return places;
  const std::vector<MedianLevel> levels = MedianLevels(spec_);
  const auto curve = stats::survival::KaplanMeier(RowsOf(group));
  const auto at_half = [&](size_t which, const stats::survival::CurveStep& step) {
    const auto at = stats::survival::SurvivalAt({step}, step.time, spec_.confidence);
    if (which > 0 && !std::isfinite(step.variance)) return false;
    return (which == 0 ? at.estimate : which == 1 ? at.lower : at.upper) < 0.5 + 0x1p-26;
  };
  for (size_t which = 0; which < kMediansOfGroup; ++which) {
    const auto first = std::find_if(curve.begin(), curve.end(),
                                    [&](const auto& step) { return at_half(which, step); });
    if (first == curve.end()) continue;
    const size_t cell = spec_.grid.Of(first->time);
    const auto level = std::find_if(levels.begin(), levels.end(), [&](const MedianLevel& of) {
      return Enough(Counted(group, of.first[cell], of.last[cell] + 1, true, false), false);
    });
    if (level != levels.end()) places[which] = level->place[cell];
  }
  return places;
}

std::vector<uint64_t> PlainCurves::Counted(size_t group, size_t first, size_t last, bool events,
                                           bool censored) const {
  std::vector<uint64_t> counts;
  for (const OwnCounts& own : own_) {
    uint64_t count = 0;
    for (size_t c = first; c < last; ++c) {
      const size_t entry = c * spec_.num_groups() + group;
      if (events) count += static_cast<uint64_t>(own.events[entry]);
      if (censored) count += static_cast<uint64_t>(own.censored[entry]);
    }
    counts.push_back(count);
  }
  return counts;
}

uint64_t PlainCurves::Total(size_t group, size_t first, size_t last, bool events,
                            bool censored) const {
  const std::vector<uint64_t> counts = Counted(group, first, last, events, censored);
  return std::accumulate(counts.begin(), counts.end(), uint64_t{0});
}

bool PlainCurves::Enough(const std::vector<uint64_t>& by_holder, bool none_passes) const {
  const uint64_t all = std::accumulate(by_holder.begin(), by_holder.end(), uint64_t{0});
  const auto enough = [&](uint64_t rows) {
    return rows >= min_cell_ || (none_passes && rows == 0);
  };
  return enough(all) &&
         (by_holder.size() == 1 || std::all_of(by_holder.begin(), by_holder.end(),
                                               [&](uint64_t own) { return enough(all - own); }));
}

}  // namespace partita::methods::survival
