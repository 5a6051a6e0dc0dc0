// Robust (Huber-White) standard errors and scaled chi-square of rows of which nobody knows which
// match (level hidden): no estimate leaves the receiver.
//
// Ideal function    Every holder's columns and presence, and the receiver's fit -> the receiver: the
//                   meat, q (q + 1) / 2 numbers, and two traces. Nobody else learns anything.
// Method            Features t = (1, u, u_a u_b) of rows about the public bounds, u in [-1, 1], of
//                   b bits; Q = sum w t t' on shares, w = 1 where every holder has a row, exact in
//                   whole numbers (BoundedProducts of moments/split_products.h). The receiver alone
//                   knows the frame of its fit: scores are A t with A = (scores about the fitted
//                   point) (change of frame), which it shares, every row divided by its sum of
//                   magnitudes l_i, and the weights of the traces likewise. On shares T = A Q,
//                   truncated, then T A', truncated, of which the upper triangle opens; the
//                   receiver multiplies by l_i l_j. Messages do not depend on the fit, and not on
//                   whether there is one.
// Source            stats/sem/robust.h, stats/sem/column_frame.h.
// Revealed          To the receiver (`robust-meat/NAME`, `robust-scaling/NAME`): these numbers, with
//                   f bits each, the last of them noise of the truncations. Products are truncated
//                   before they open because an untruncated sum of products with known weights of f
//                   bits is an equation in whole numbers for what they multiply: enough of these
//                   determine T, which says more than T A'. To others nothing; they see when the
//                   receiver goes on, and so how long its fit took.
// Cost              That of BoundedProducts, an input of q D + D (D + 1) numbers, and two rounds of
//                   products with a truncation each: of q x D and D x D, and of q x D and D x q.
//                   D = 1 + p + p (p + 1) / 2.
// Accuracy          f = floor((124 - ceil(log2 D)) / 2): 59 for nine variables, 57 for 25. An
//                   entry of the meat is within (2^-f (4 + D) + 2^-50) l_i l_j max_rows of that of
//                   the rounded cells. l grows with (half-width / deviation)^2: of bounds ten times
//                   the deviation standard errors are within 1e-7 of the plaintext's on every
//                   reference. The receiver computes what follows from the bound
//                   (RobustFit::relative_error) and refuses above stats::kMostRobustError.
//                   Cells: b = BoundedCellBits, 2^-27 of the half-width for a million rows.
#pragma once

#include <optional>

#include "methods/mle/likelihood/robust.h"

namespace partita::methods::mle {

// As RobustStandardErrors of a task whose rows are hidden: one block, one cell. fitted: nullptr also
// at a receiver whose fit failed. Throws kBadInput at the receiver only, and only after the last
// message: at estimates for which there are none, or where stats::kMostRobustError is not reached.
std::optional<stats::RobustFit> HiddenRobustErrors(mpc::Engine& engine, const MleAnalysis& analysis,
                                                   const RobustTask& task, const RobustLocal& local,
                                                   const FittedModel* fitted);

}  // namespace partita::methods::mle
