// Concordance of a fit on shares: of the pairs of a row with the event and one at risk then that leaves
// later, or in that cell without the event, the part in which the event's predictor x'b is the larger,
// ties counted half. R's concordance of the times in cells and of x'b in bins.
//
// Method    x'b lies within [-s, s], s the sum of the |b|, for covariates are within [-1, 1]; there are
//           kMostBins of one width, fewer where there are many cells of time. Of every cell a holder
//           adds up the events d_k by bin k, and of who is at risk beside the events of the cell
//           twice those in lower bins and once those in k; all of these are shared. With the sums over
//           holders twice the pairs that are ordered as the fit says, ties half, are the sum over cells
//           and bins of the product, all pairs the sum of all d times twice all that are at risk.
// Error     That of bins beside the predictor's own digits: two in one bin are tied. Of the quotient
//           2^-43.
// Cost      An input of 2 cells x (bins + 1) numbers for each holder, two Gram products, Divide.
// Revealed  Nothing.
// Timing    constant in shares; not in shapes and bounds (public). Not run by tests/ctime.
#pragma once

#include "methods/survival/cox/rows.h"
#include "mpc/engine.h"
#include "run/method/row_holder.h"
#include "stats/survival/after_cox.h"

namespace partita::methods::survival {

// Bins of predictors at a public point.
struct PredictorBins {
  size_t count = 1;
  double most = 0;  // |x'b|

  size_t Of(double predictor) const;
};
PredictorBins BinsAt(const CoxCells& cells, const Eigen::VectorXd& point);

// Of a holder: cells x (bins + 1), the last column of all bins.
struct OrderedRows {
  std::vector<Int128> events;   // with the event in the cell
  std::vector<Int128> at_risk;  // twice those in lower bins and once those in this one
};
OrderedRows OrderRows(const CoxRows& rows, const CoxCells& cells, const Eigen::VectorXd& point);

// In plain code, of the times in cells and predictors in bins at the point. rows: PooledCoxRows.
stats::survival::Concordance BinnedConcordance(const CoxCells& cells,
                                               const stats::survival::CoxRows& rows,
                                               const Eigen::VectorXd& point);

// 2^kConcordanceLog2 times the concordance, 1 x 1, at `fraction_bits`; 0 where there are no pairs.
inline constexpr int kConcordanceLog2 = 4;
mpc::Shared ConcordanceOnShares(mpc::Engine& engine, const CoxCells& cells,
                                const std::vector<run::RowHolder>& holders, size_t bins,
                                const OrderedRows& own, int fraction_bits);

}  // namespace partita::methods::survival
