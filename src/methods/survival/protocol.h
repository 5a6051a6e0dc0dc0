// Survival curves of rows at several holders, with medians and the log-rank test, on shares.
//
// Ideal function   (every holder's rows) -> to everybody one bit, whether there are min_rows rows;
//                  if so to the receiver, or to all where the study says so: which groups pass, and
//                  whether the log-rank test does (cells.h); of a group that passes its rows, at
//                  every report time the events since the one before, the rows that leave later and,
//                  if there are any, log S and its standard error on the grid, and the places of its
//                  median and of the median's interval (medians.h); of the test O - E and its error
//                  on the grid, chi-square and, if they pass as well, observed events (log_rank.h).
//                  What does not pass is 0.
// Method           Holders count who leaves in each public cell of time, with the event and without
//                  (own_counts.h), and share the counts, so that the cost does not depend on the
//                  rows. Numbers of single cells tell of single persons and open to nobody.
//                  Everything is made beside the checks (mpc/together.h), and last of all multiplied
//                  by their shared bits; the messages are the same whatever these are.
// Revealed         Release `disclosure`: the bit. Release `curves`: NumOpened numbers.
// Cost             One input, two openings, and between them cells.h, curves.h with medians.h behind
//                  it, log_rank.h: rounds of the longest of these, and a product.
#pragma once

#include <optional>
#include <vector>

#include "methods/survival/risk_sets.h"

namespace partita::methods::survival {

inline constexpr char kDisclosureRelease[] = "disclosure", kCurvesRelease[] = "curves";

// Numbers of the opening of the curves.
uint64_t NumOpened(const Task& task);

// Opens the answer to everybody; empty where engine.self() is empty.
std::optional<bool> EnoughRows(mpc::Engine& engine, const Task& task, const RiskSets& sets,
                               uint64_t min_rows);

struct OpenedLogRank {
  bool passes = false;
  bool shows_observed = false;
  std::vector<uint64_t> observed;                  // by group
  std::vector<double> differences, errors, steps;  // O - E, its standard error, its grid; 0: none
  double chi_square = 0;
};

// By group, and where there are report times by report time and group, row-major.
struct OpenedCurves {
  std::vector<bool> passes;
  std::vector<uint64_t> rows;
  std::vector<uint64_t> events, remaining;
  std::vector<double> log_survival, errors, steps;  // step 0: withheld, or no event until then
  std::vector<uint64_t> medians;          // groups x 3 places (medians.h); 0: none or withheld
  std::optional<OpenedLogRank> log_rank;  // with two groups or more
};

// Empty where the curves are not learned.
std::optional<OpenedCurves> OpenCurves(mpc::Engine& engine, const Task& task, const RiskSets& sets,
                                       uint64_t min_cell);

}  // namespace partita::methods::survival
