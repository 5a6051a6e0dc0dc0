// Approximate minima perturbation (Iyengar, Near, Song, Thakkar, Thakurta & Wang, IEEE S&P 2019,
// Algorithm 1): objective perturbation whose guarantee does not need the exact minimiser. Whatever
// w an optimiser finds, its distance from the exact minimiser is at most gamma / Lambda once the
// gradient of the perturbed objective is no longer than gamma, and output noise covers that
// distance.
//
// Rounding enters gamma: noise eta on a grid instead of the reals moves the exact minimiser by at
// most |rounding| / (N Lambda), so the caller passes gamma = tolerance + rounding / N, and the
// certificate compares with the tolerance alone.
#pragma once

#include <Eigen/Core>
#include <cstddef>

#include "privacy/sampling/sensitivity.h"
#include "stats/erm/loss.h"

namespace partita::stats::erm {

struct AmpBudget {
  privacy::Epsilon epsilon{1};
  privacy::Delta delta{1e-6};
  double output_share = 0.01;   // of epsilon and of delta, for the output noise
  double gaussian_share = 0.5;  // of the remaining epsilon, for the linear term; the rest pays the
                                // determinants
};

struct AmpDesign {
  double lambda = 0;         // penalty that is used: at least 2 c / ((eps_1 - eps_3) N)
  double linear_stddev = 0;  // of eta/N, the coefficients of the linear term
  double output_stddev = 0;
  double gamma = 0;  // bound of the gradient's norm, including rounding
};

// Neighbours: one row of norm at most 1 replaced, |phi'| <= 1. The standard deviations are those of
// the paper, (2/N)(1 + sqrt(2 ln(1/delta_1)))/eps_3 and (gamma/Lambda)(1 + sqrt(2
// ln(1/delta_2)))/eps_2.
AmpDesign DesignAmp(const AmpBudget& budget, const Loss& loss, double lambda, size_t rows,
                    double gamma);

}  // namespace partita::stats::erm
