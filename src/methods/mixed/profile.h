// The profiled likelihood at values of lambda, side by side, on shares.
//
// Input     Columns of node_sums.h: A, a, y, and their derivatives A', a', y' by a step of log lambda,
//           over the rows.
// Method    d = diag(A)^(-1/2), K = diag(d) A diag(d), X = K^-1 by Newton-Schulz steps
//           (mpc/functions/inverse.h), of all columns at once; g = d a, c = X g, so that b = d c. Then
//
//             R = y - 2 g'c + c'Kc            the residual sum of squares over n: of second order in
//                                             what X errs by
//             R' = y' - 2 (d a')'c + c'Sc     its derivative, S = diag(d) A' diag(d), c being its minimum
//             T = sum of X o S                that of log |A|
//
//           The slope of the criterion of stats/mixed is n times D + (nu / n) R' / R + T / n, with D
//           the derivative of log |V| over n and nu = n - p; of ML nu = n, without T.
// Domain    Diagonals of A of at least 2^-32 and K of eigenvalues of at least p 2^-22; beyond, what is
//           made of them is anything, within its bounds: a fit looks at K X at the end.
// Error     of R, R': 2^-56 for c of at most 1, else that times c's square, of c 2^-38 and what
//           inverse.h says; T p 2^-42. For this K, S and g are there twice: cut short for X and c, and
//           at kFineBits for the three terms of R and R', which cancel.
// Cost      InverseRoot of p numbers a column, five products, InvertPositive of p x p.
// Revealed  Nothing.
#pragma once

#include "methods/mixed/node_sums.h"

namespace partita::methods::mixed {

inline constexpr int kProfileBits = 46, kFineBits = 58, kScaleBits = 36;
inline constexpr double kLeastDiagonal = 0x1p-32, kMostScale = 0x1p16,
                        kLeastResidual = 0x1p-30;  // R below it has no logarithm

// p x nodes, or p^2 x nodes, a matrix below the other row by row.
struct ScaledSums {
  mpc::Shared scale;        // d
  mpc::Shared correlation;  // K, at mpc::kScaledInformationBits
  mpc::Shared right;        // g, at kProfileBits
  mpc::Shared slopes;       // S, at kProfileBits
  mpc::Shared fine_correlation, fine_right, fine_slopes, right_slopes;  // at kFineBits
  mpc::Shared square, square_slope, determinant_slope;                  // y, y', D: 1 x nodes
};
ScaledSums Scale(mpc::Engine& engine, size_t columns, const mpc::Shared& means);

// K of a node, p x p.
mpc::Shared CorrelationOf(mpc::Engine& engine, const ScaledSums& sums, size_t node);

struct Profile {
  mpc::Shared inverse;          // X, p^2 x nodes
  mpc::Shared solutions;        // c, p x nodes
  mpc::Shared residual, falls;  // R, R': 1 x nodes at kFineBits
  mpc::Shared trace;            // T, at kProfileBits
  mpc::Shared
      leading_variances;  // only of one node, on request: X_jj of its leading blocks j, p x 1
};
Profile ProfileOf(mpc::Engine& engine, const ScaledSums& sums, bool leading_blocks);

// n and what follows from it. nu / n = 1 - p / n.
struct RowNumbers {
  mpc::Shared rows;
  RowInverses inverses;
};
// R times the slope over n: of its sign. nodes x 1.
mpc::Shared SlopeSigns(mpc::Engine& engine, const Task& task, const ScaledSums& sums,
                       const Profile& profile, const RowNumbers& numbers);

// D, T, R and R' of nodes -> the slope itself by a step of the ladder, and R' / R. 1 x nodes each.
struct SlopeParts {
  mpc::Shared determinant_slope, trace, residual, falls;
};
struct Slopes {
  mpc::Shared slope;  // at kWeightBits
  mpc::Shared ratio;  // R' / R, at kProfileBits
};
Slopes SlopesOf(mpc::Engine& engine, const Task& task, const SlopeParts& parts,
                const RowNumbers& numbers);

}  // namespace partita::methods::mixed
