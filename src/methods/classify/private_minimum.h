// How much noise the minimum on shares needs: the budget of approximate minima perturbation, with
// the constants of stats/erm/objective_noise.h.
//
// The released vector is w* + (w - w*) + b: w* the exact minimiser under eta, w what was found, b
// the output noise.
//   1. w* alone is (eps_1, delta_1): eta of ObjectiveNoise(kLinearModel) at eps~ = gaussian_share
//      eps_1 or more, and the slack that pays the determinants with the rest.
//   2. Given w*, the vector (w - w*) has length at most r = gamma / Lambda under EITHER of two
//      neighbours, because the certificate bounds |grad J(w)| by gamma and J is Lambda-strongly
//      convex. Two such vectors are 2 r apart, and b is calibrated (analytically, on the grid) to
//      that. Iyengar et al. 2019 charge r, which we cannot prove.
//   3. eta is a discrete Gaussian, where step 1 wants a density. A Gaussian rounded to the grid is
//      within d/(8 s) (s: variance in grid units) of it in total variation, which is added to
//      delta; and rounding moves u by at most sqrt(d)/2 grid units per share, which is added to
//      gamma.
// A certificate that fails opens nothing; that it failed is one bit about w, which the output noise
// does not cover. R-i applies: the whole budget stays charged, and whoever makes a statement of it
// must say so.
#pragma once

#include <optional>

#include "methods/classify/minimum_on_shares.h"
#include "privacy/sampling/sensitivity.h"

namespace partita::methods::classify {

struct MinimumBudget {
  double epsilon = 1, delta = 1e-6;
  double output_share = 0.02;   // of both, for the output noise; not of DesignObjective
  double gaussian_share = 0.7;  // of the rest of epsilon, at least, for the linear noise; more
                                // where the determinants need less than what is left, without slack
  uint32_t known_shares = 1;    // of each noise, that an adversary may know
};

struct PrivateMinimum {
  MinimumTask task;  // lambda with the slack
  privacy::DistributedNoise linear;
  std::optional<privacy::DistributedNoise> output;  // of DesignMinimum
  NoiseBounds bounds;
  double gamma = 0;          // of the certificate, all rounding included
  double linear_stddev = 0;  // sigma* against the adversary, in real units
  double slack = 0;          // Delta, beside the penalty that was asked for
};

// Neighbours: one row of norm at most 1 replaced; the parties' row counts are public. Throws kUsage
// for a budget or a task out of range.
PrivateMinimum DesignMinimum(const MinimumBudget& budget, double lambda,
                             std::vector<uint64_t> party_rows, size_t dimension,
                             double tolerance = 1e-7);

// Gaussian objective perturbation (Rajkumar & Agarwal, Algorithm 4) on shares: all of (epsilon,
// delta) goes to step 1, and there is no output noise, so that step 2 is NOT covered: the theorem
// speaks of the exact minimiser, and what opens is up to gamma / Lambda away from it. Throws as
// DesignMinimum.
PrivateMinimum DesignObjective(const MinimumBudget& budget, double lambda,
                               std::vector<uint64_t> party_rows, size_t dimension,
                               double tolerance = 1e-7);

// A computing party's own shares, drawn before the protocol.
OwnMinimum OwnPart(const PrivateMinimum& design, stats::erm::LabelledRows rows,
                   crypto::RandomSource& random);

}  // namespace partita::methods::classify
