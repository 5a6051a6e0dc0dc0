// Curves, medians and log-rank in plain code from what each holder counts: what the protocol must
// open, and what it must withhold. Rehearsals and tests compare with it; it protects nobody.
#pragma once

#include <optional>
#include <vector>

#include "methods/survival/own_counts.h"
#include "stats/survival/curve.h"
#include "stats/survival/log_rank.h"

namespace partita::methods::survival {

class PlainCurves {
 public:
  // own: of each holder. Both must outlive it.
  PlainCurves(const Spec& spec, const std::vector<OwnCounts>& own, uint64_t min_cell)
      : spec_(spec), own_(own), min_cell_(min_cell) {}

  // Whether what is counted of the group's curve is 0 or reaches min_cell; of the log-rank test.
  bool CurvePasses(size_t group) const;
  bool LogRankPasses() const;
  bool ShowsObserved() const;

  uint64_t Rows(size_t group) const;
  uint64_t Events(size_t report, size_t group) const;     // since the report time before
  uint64_t Remaining(size_t report, size_t group) const;  // that leave later

  // The group's rows, with the ends of their cells as times.
  std::vector<stats::survival::Observation> RowsOf(size_t group) const;
  stats::survival::LogRank LogRank() const;
  // Of the first cells that are at 1/2 or below (medians.h), from 1; 0: none, or withheld.
  std::vector<uint64_t> MedianPlaces(size_t group) const;

 private:
  // By holder: rows of the group that leave in the cells [first, last).
  std::vector<uint64_t> Counted(size_t group, size_t first, size_t last, bool events,
                                bool censored) const;
  uint64_t Total(size_t group, size_t first, size_t last, bool events, bool censored) const;
  bool Enough(const std::vector<uint64_t>& by_holder, bool none_passes) const;
  size_t After(size_t report) const { return spec_.report[report] + 1; }

  const Spec& spec_;
  const std::vector<OwnCounts>& own_;
  const uint64_t min_cell_;
};

}  // namespace partita::methods::survival
