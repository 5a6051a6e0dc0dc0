// A step of Newton's method or Fisher scoring on shares, and the variances of the estimates.
//
// Input     J and u: information and score divided by 2^unit_bits, the entries of J at most 1.
// Method    d = 2^(-e/2) by the size of J's diagonal at the first point, K = diag(d) J diag(d), and
//           K^-1 = X in few rounds, later ones from the last (information_inverse.h); the step is
//           d X (d u), v = d^2 diag(X) times the unit and the dispersion, halved: half the squared
//           standard error. Of robust errors the diagonal of the sandwich (sandwich.h) stands for the
//           one of X, without a dispersion. Which columns of X are true is found out beside.
// Next      Of a point that is to open, the step from the last one is compared with its limit and the
//           grids are marked beside the check of X and the variances' own; what failed has no grid.
// Failures  Counted on shares, never opened one by one: a column whose J is below 2^-28, whose
//           variance inflation is above 10^6, or whose information has changed by more than 2^5
//           since the last point (information_inverse.h); |d u| above 32; a diagonal of the sandwich
//           above 2^20, or what a cluster adds to it; v above 2^10, that is a standard error above 45 of a column in [-1, 1]. What
//           fails is 0 from there on.
// Error     X: information_inverse.h; the step 2^-38 and v 2^-40 absolute beside that. Covariances: X, or the
//           sandwich, to 2^-33 beside what it is, and 2^-53 absolute.
// Cost      Two products, the inverse, its correction and beside its check three products and a
//           comparison with its way back to the ring, a product; with a dispersion or robust errors
//           a comparison and a product more, and what sandwich.h or cluster_sandwich.h takes. Covariances: beside the products of the
//           variances as many of p^2 numbers, of robust errors a cut before. Next: a comparison and a
//           product, MarkErrorGrids, beside these, and a product. First: InformationSizes, and the
//           order of columns beside.
// Timing    constant in shares; not in shapes and bounds (public). Not run by tests/ctime.
// Revealed  Nothing.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "mpc/engine.h"
#include "mpc/functions/magnitude.h"
#include "mpc/functions/release_grid.h"

namespace partita::mpc {

inline constexpr double kMostVariance = 0x1p10;
// Of J, and of pivots of K, a variance inflation of 10^6: where it is looked at in the clear.
inline constexpr double kLeastInformation = 0x1p-28, kSmallestPivot = 0x1p-20;
inline constexpr int kStepBits = 40, kCovarianceBits = 54;
// Of coordinates of a point: columns are in [-1, 1].
inline constexpr double kMostCoordinate = 1024;

// A point that will open on grids of 2^-grid_bits standard errors.
struct NextPoint {
  std::vector<double> from;  // public; the step is taken from here
  int grid_bits = 0;
};
// from, p x 1.
Shared PublicPoint(Engine& engine, const std::vector<double>& values);

struct ScoringSums {
  Shared information;  // J, p x p
  Shared score;        // u, p x 1
  Shared meat = {};    // p x p, divided like J (sandwich.h); only of robust errors
  // C x p, not divided (cluster_sandwich.h), in the place of a meat; of a point without a last one.
  Shared clusters = {};
  // Makes it, 1 x 1, beside the inverse; only where there is one, of errors that are not robust.
  std::function<Shared(Engine&)> dispersion = {};
  int unit_bits = 0;
  // Where the step is not changed any more: its point and grids are made beside the checks.
  std::optional<NextPoint> next = {};
  bool covariances = false;  // of the estimates, for covariance_grid.h
};

struct SolvedStep {
  Shared step;       // p x 1, at kStepBits
  Shared variances;  // p x 1: SE^2 / 2
  Shared collinear;  // p x 1, 0 or 1: follows from those before it; empty at later points
  Shared failures;   // 1 x 1, a number
  // p x p: X, of robust errors X N X (sandwich.h); the covariance of the estimates but for d on both
  // sides and a factor. Of columns of X that are not true anything.
  Shared covariance;
  Shared is_true;      // p x 1, 0 or 1
  Shared covariances;  // p x p, in the units of the variances: SE^2 on its diagonal; empty without
  Shared dispersion;   // 1 x 1; empty without
  SizeClasses sizes;   // of diag(J) at the first point, which d is of
  Shared scale, inverse;  // d and X, for the next point
  // Of ScoringSums::next: from + step, 0 where beyond kMostCoordinate, and how often that is; the
  // grids, none of columns that failed. Empty without.
  Shared next, beyond;
  GridMarks marks;
};

// last: what the point before gave, or null at the first.
SolvedStep SolveStep(Engine& engine, const ScoringSums& sums, const SolvedStep* last = nullptr);

// d = diag(J)^(-1/2), K = diag(d) J diag(d), with ones on its diagonal, and d u: for inverses of one
// point alone.
struct ScaledInformation {
  Shared scale, correlation, weighted;
};
ScaledInformation ScaleInformation(Engine& engine, const Shared& information, const Shared& score);
inline constexpr double kMostWeighted = 32;  // |d u|

// Whether |value| <= limit (p x 1 each; of equal fraction bits): 0 or 1 by entry.
Shared Within(Engine& engine, const Shared& value, const Shared& limit);
// value where |value| <= limit, else 0; what is not is added to `failures`.
Shared KeepWithin(Engine& engine, const Shared& value, double limit, Shared& failures);
// The number of zeros among 0/1 entries.
Shared CountZeros(Engine& engine, const Shared& bits);

}  // namespace partita::mpc
