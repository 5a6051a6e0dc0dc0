// What a holder makes of its own rows for a model of proportional hazards, in the clear, before it
// shares anything; and at a public point, who is at risk.
//
// Cells         times count in the public cells of time_grid.h, of which each stratum has its own; who
//               leaves in a cell is at risk in it, with the event or without, and who enters in a cell
//               is at risk from the next on. Rows that do not enter before the cell they leave in are
//               left out, as R leaves out those that enter no earlier than they leave.
// At a point b  of every cell the sums over the rows at risk of w, w x and the upper triangle of
//               w xx', w = e^(x'b); in one row 1 + p + p(p + 1)/2 numbers. Predictors x'b beyond
//               kMostPredictor count as that and are counted. For ties by Efron also the sums over
//               the rows with the event in the cell.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "base/int128.h"
#include "methods/survival/cox/spec.h"
#include "stats/survival/cox.h"

namespace partita::methods::survival {

inline constexpr double kMostPredictor = 10;
inline constexpr int kRiskBits = 40;  // after the point

struct CoxCells {
  size_t strata = 1;  // of all holders
  size_t cells = 1;   // of time
  size_t count() const { return strata * cells; }
};

// g of a cell: time from the first cell at -1 to the last at 1.
inline double TimeOf(const CoxCells& cells, size_t place) {
  if (cells.cells == 1) return 0;
  return 2 * static_cast<double>(place % cells.cells) / static_cast<double>(cells.cells - 1) - 1;
}

struct CoxRows {
  Eigen::MatrixXd x;            // in [-1, 1]
  std::vector<uint32_t> place;  // stratum * cells + cell
  std::vector<uint32_t> entry;  // the place of the cell of entry; empty: none
  std::vector<uint32_t> unit;   // the number of a row's cluster; empty: none
  std::vector<uint8_t> event;
  // Of the tables, then clusters where errors are of these, then rows without the event, with it, all.
  std::vector<Int128> counts;

  std::vector<Int128> hazard_counts;  // baseline.h; empty where no hazard opens
  // By cell; of p columns at kRiskBits.
  std::vector<Int128> events, event_sums;
  std::vector<Int128> timed_sums;  // of x over events, each times TimeOf its cell
};

// Those of `rows` that are at risk in some cell: all of them where there are no times of entry.
std::vector<size_t> RowsAtRisk(const CoxSpec& spec, const data::Table& table,
                               const std::vector<size_t>& rows);

// Of the rows at risk among `rows`. own_stratum: of a holder where holders are strata.
CoxRows CoxRowsOf(const CoxSpec& spec, const data::ModelCounts& tables, const CoxCells& cells,
                  size_t own_stratum, const data::Table& table, const std::vector<size_t>& rows);
// Of a party without rows.
CoxRows NoCoxRows(const CoxSpec& spec, const data::ModelCounts& tables, const CoxCells& cells);

// Clusters, or rows where there are none.
size_t NumUnits(const CoxRows& rows);

// Counts beside those of tables.
inline size_t NumOtherCounts(const CoxSpec& spec) { return spec.clustered() ? 4 : 3; }

// The tables that are counted: those of the model, and of the stratum.
data::ModelCounts CoxTables(const CoxSpec& spec, const data::Schema& factors);

inline double WeightOf(double predictor) {
  return std::exp(std::clamp(predictor, -kMostPredictor, kMostPredictor));
}

struct RiskSums {
  // cells.count() x (1 + p + p(p + 1)/2), at kRiskBits: of who is at risk, of who has the event.
  std::vector<Int128> sums, tied;
  uint64_t outside = 0;
};
RiskSums RiskSumsAt(const CoxRows& rows, const CoxCells& cells, const Eigen::VectorXd& point);

// Of robust errors (robust.h): over the rows that leave in each cell, with the event or without. Row by
// row of cells x columns, at kRiskBits.
struct LeavingSums {
  std::vector<Int128> events;     // x of who has the event: p
  std::vector<Int128> weighted;   // w (1, x, xx') of who has it: NumRiskSums(p)
  std::vector<Int128> squared;    // w^2 (1, x, xx'); apart: of who has it
  std::vector<Int128> others;     // apart: of who has not; else empty
  Eigen::MatrixXd event_squares;  // xx' over all events, p x p
};
// apart: whether events are squared apart from the others, as by Efron. No times of entry.
LeavingSums LeavingSumsAt(const CoxRows& rows, const CoxCells& cells, const Eigen::VectorXd& point,
                          bool apart);

// All rows together as stats/survival/cox.h has them, with cells as times.
stats::survival::CoxRows PooledCoxRows(const CoxCells& cells,
                                       const std::vector<CoxRows>& by_holder);

inline size_t NumRiskSums(size_t columns) { return 1 + columns + columns * (columns + 1) / 2; }

}  // namespace partita::methods::survival
