// DPVI for the mixture model (Tajeddine et al., Algorithm 1): the loop around the one step that
// touches data. What computes the noisy sum is passed in: the oracle in the clear
// (PlainGradientSum) or the secure protocol; everything else is the same and public.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "crypto/random.h"
#include "stats/mixture/batches.h"
#include "stats/mixture/gradient.h"
#include "stats/mixture/variational.h"

namespace partita::stats::mixture {

// K x (1 + J): the noisy sum of clipped gradients of these rows at theta.
using GradientSum =
    std::function<Eigen::ArrayXXd(const Eigen::ArrayXXd& theta, std::span<const uint32_t> batch)>;

struct ClippedNoise {
  double clip = 1;              // C; infinity: no clipping, then no noise either
  double noise_multiplier = 0;  // standard deviation in units of C; 0: none
  int grid_bits = 30;           // sum and noise are multiples of 2^-grid_bits
};

// Rounds a sum to the grid and adds discrete Gaussian noise from the source, exact on the grid;
// does nothing without noise. The source must outlive the function. Throws kBadInput for a clip
// that is not positive, or noise without clipping.
using NoiseAdder = std::function<void(Eigen::ArrayXXd& sum)>;
NoiseAdder MakeNoiseAdder(const ClippedNoise& options, crypto::RandomSource& noise);

// The oracle: all rows in one place, in floating point; it protects nobody and claims no privacy.
// Layout, rows and source must outlive the function. Throws as MakeNoiseAdder.
GradientSum PlainGradientSum(const Layout& layout, const Rows& rows, const ClippedNoise& options,
                             crypto::RandomSource& noise);

// Called after every step, and once before the first.
using AfterStep = std::function<void(const VariationalState& state)>;

// Runs options.steps - state.step more steps. `variates` gives eta, which everybody may know.
// Throws kBadInput for options out of range and for more components than rows.
void RunDpvi(const Layout& layout, const VariationalOptions& options, uint32_t num_rows,
             const GradientSum& gradient_sum, Batches& batches, blr::Variates& variates,
             const AfterStep& after_step, VariationalState& state);

}  // namespace partita::stats::mixture
