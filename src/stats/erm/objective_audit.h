// The true delta of objective perturbation with one feature, from exact densities: the evidence
// that the sigma* printed in Rajkumar & Agarwal, Procedure 3, does not keep its promise and that
// the corrected one does.
#pragma once

#include <Eigen/Core>

#include "stats/erm/minimize.h"

namespace partita::stats::erm {

// Two tables with one column, neighbours of each other, and the released law of each:
// the minimiser under eta ~ N(0, noise_stddev^2).
struct ReleasePair {
  LabelledRows rows, neighbour;
  Objective objective;  // without noise
  double noise_stddev = 1;
};

// sup over events of P(w in A) - e^epsilon P'(w in A), the larger of the two directions, by the
// trapezoid rule on `points` points. With w, eta(w) = -(sum of gradients) - N (lambda + slack) w is
// normal and strictly monotone, so the density of w is that of eta times |d eta / d w|.
double TrueDelta(const ReleasePair& pair, double epsilon, size_t points = 20001);

}  // namespace partita::stats::erm
