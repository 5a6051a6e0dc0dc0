// Robust (Huber-White) standard errors and scaled chi-square, rows or columns or both split, after
// a fit by pooled moments.
//
// Ideal function    The receiver's estimates -> every computing party. Then every holder's rows ->
//                   the receiver: the meat, q (q + 1) / 2 sums over all rows of products of scores;
//                   two traces; with clusters, their number in every group.
// Method            The estimates are shared by the receiver and opened to everybody. Every holder
//                   computes Q_g = sum t t' of its own rows (stats/sem/robust.h) in the clear; it
//                   inputs the upper triangles of A Q A' (the scores' products, A follows from the
//                   estimates) and of Q. The meats are added on shares and opened. The traces are
//                   <w, Q> with weights w that only the receiver knows, since they follow from the
//                   sample moments: one evaluation of the linear oracle. So neither Q, nor
//                   anybody's part of a sum, nor the sample moments are opened to anybody. Why two
//                   numbers suffice, and why they are linear in Q: stats/sem/robust.h.
//                   Of row blocks whose columns several parties hold, Q is computed on shares
//                   (split_products.h); the meat A Q A' follows from it by public weights, without
//                   a message. Then all t are about the model's means and standard deviations by
//                   column (stats/sem/column_frame.h) instead of whitened.
// Source            Huber 1967; White 1982; Yuan & Bentler 2000; lavaan 0.6-14, estimator "MLR".
// Revealed          To every computing party (release `estimates/NAME`): the estimates, and without
//                   a mean structure the sample means of every group, which the scores need.
//                   Not the standard errors, nor other moments of fixed.x covariates. To the
//                   receiver (`robust-meat/NAME`, `robust-scaling/NAME`): the sums above, the same
//                   numbers however rows and columns are split. A receiver that is one of two
//                   holders of whole rows obtains the other's part by subtraction.
// Cost              Two inputs, two openings and one evaluation of the oracle; D (D + 1) / 2 ring
//                   elements per group and holder, D = 1 + p + p (p + 1) / 2 (1540 at p = 9,
//                   61776 at p = 25). A holder's own work is n D^2 / 2 multiplications. Split
//                   columns: what split_products.h says besides.
// Accuracy          Scores are divided by the root of the expected information, which makes the
//                   meat of order 1 per row; sums are divided by 2^ceil(log2 max_rows) and rounded
//                   at 2^-60 per holder, Q at 2^-45, weights (sum of magnitudes 1) at 2^-40.
//                   Standard errors are within 1e-10 relative of the plaintext's for n / max_rows
//                   >= 1e-5, the scaling factor within 1e-6. Where columns are split cells are
//                   rounded as split_products.h says, before the products: 1e-6 relative on all
//                   references.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "methods/mle/fit/analysis.h"
#include "methods/mle/fit/result.h"
#include "methods/mle/moments/moments_task.h"
#include "mpc/engine.h"

namespace partita::methods::mle {

struct RobustTask {
  std::string name;  // of the analysis; part of the release ids
  bool clustered = false;
  // Rows of one block of which nobody knows which match: no estimate leaves the receiver
  // (hidden_robust.h).
  bool hidden = false;
  mpc::PartyIndex receiver = 0;
  // As for the moments, without fixed effects of blocks. A block with one holder has all variables
  // of the analysis there; with several no clusters, and weights of 0 and 1 only.
  MomentsTask moments;
  std::vector<size_t> variables;  // of the analysis, as indices into those of the moments
  std::vector<size_t> cells;      // of the moments, one per group of the analysis
};

std::string EstimatesRelease(const RobustTask& task);
std::string MeatRelease(const RobustTask& task);
std::string ScalingRelease(const RobustTask& task);

// The releases, as the plan declares them; of hidden rows without the estimates. receiver_name: for `to`.
std::vector<mpc::Release> RobustReleases(const MleAnalysis& analysis, const RobustTask& task,
                                         const std::string& receiver_name);

// What a party knows: its blocks as for the moments, and with clusters one number per row of each
// (equal numbers, equal cluster, within this party). Clusters lie within one party. A row that
// counts several times (RowCell weights) is so many rows.
struct RobustLocal {
  std::vector<LocalBlock> blocks;
  std::vector<std::vector<uint64_t>> clusters;
};

// What the receiver has already.
struct FittedModel {
  std::vector<stats::GroupMoments> moments;  // natural units
  stats::SemFit fit;
};

// Runs the protocol at every process; `fitted` is set at the receiver only. The robust results at
// the receiver, empty elsewhere. Throws kBadInput for fixed effects, for clusters or weights of a
// block that several parties hold, and at every computing party where the estimates imply variables
// of such blocks that are almost linearly dependent; kBadData, to the holder only, for rows so far
// from the model that their sums do not fit. Of hidden rows none of these: what is wrong shows to
// the receiver only, after the last message (hidden_robust.h).
std::optional<stats::RobustFit> RobustStandardErrors(mpc::Engine& engine,
                                                     const MleAnalysis& analysis,
                                                     const RobustTask& task,
                                                     const RobustLocal& local,
                                                     const FittedModel* fitted);

}  // namespace partita::methods::mle
