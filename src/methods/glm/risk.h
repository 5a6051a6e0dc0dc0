// Calibration and discrimination of a binomial model at its estimates (stats/glm/risk.h), on shares.
//
// Ideal function   (every holder's rows, the estimates as they opened; of level sealed sealed/risk.h) -> numbers that open with the fit
//                  (told.h), if it converged: whether all cells of the groups, with and without an event, have no rows or
//                  at least min_cell, also without each holder's own; if so rows, events and expected events
//                  of each group, else zeros; and the area under the curve with its error.
// Method           Every holder counts its own rows in the clear. Cells by NoSmallCells; the area from the sums of
//                  bins, which do not open, by a product of a bin's events with the rows below, and Divide.
// Error            Expected events 2^-30 for each row; area and error 2^-18, before they are rounded.
// Cost             An input of 3 G + 512 numbers of each holder for G groups, NoSmallCells of 2 G cells,
//                  two products, Divide of two numbers.
// Timing           constant in shares; not in shapes and bounds (public). Not run by tests/ctime.
// Revealed         Nothing here.
#pragma once

#include <optional>
#include <vector>

#include "methods/glm/task.h"
#include "mpc/engine.h"

namespace partita::methods::glm {

// The area opens as so many times it on the absolute grid.
inline constexpr double kTimesArea = 16;

// 0 of a spec without risk groups.
size_t NumRiskNumbers(const Spec& spec);

// NumRiskNumbers x 1 at kTotalBits (fit_numbers.h), at most the rows. own: at a holder. Of a spec with cuts.
mpc::Shared RiskNumbers(mpc::Engine& engine, const Task& task, const OwnData& own,
                        const Eigen::VectorXd& estimates, uint64_t min_cell);

// What the numbers are made of, whoever counted (sealed/risk.h: nobody in the clear). With or without an
// event means: rows without one of every group, then those with one; of every bin likewise.
struct SharedRisk {
  std::vector<mpc::Shared> cells;  // 2 G x 1 by holder, or group of holders
  mpc::Shared expected;            // G x 1, at most kTotalBits
  mpc::Shared bins;                // 2 kRiskBins x 1
};
mpc::Shared RiskNumbersFrom(mpc::Engine& engine, const Task& task, const SharedRisk& risk,
                            uint64_t min_cell);

struct RiskGroup {
  double from = 0, to = 1;
  double rows = 0, events = 0, expected = 0;
};
struct Risk {
  bool shown = false;  // whether the groups are
  std::vector<RiskGroup> groups;
  double area = 0, error = 0;
};
// From the numbers as they opened.
Risk RiskOf(const Spec& spec, const std::vector<double>& numbers);

}  // namespace partita::methods::glm
