// The minimiser of a perturbed logistic objective, found on shares: Gaussian objective perturbation
// (Rajkumar & Agarwal, Algorithm 4) and approximate minima perturbation (Iyengar et al. 2019), of
// which only the final coefficients open, so that no iterate and no objective value can be
// differenced.
//
// Ideal function   (rows, a share of the linear noise and of the output noise of every party) ->
//                  one bit: whether |gradient| <= tolerance in the largest coordinate's sense
//                  below; and, if so, w plus output noise, to everybody. If not, nothing else
//                  (R-i).
// Method           J(w) = 1/N sum phi(y x'w) + lambda/2 |w|^2 + eta'w / N. With the rows signed,
//                  u(w) = N grad J = sum X_p' s_p + eta + N lambda w,  s = -1/(1 + e^(X w)),
//                  and P = (c sum X_p'X_p + N lambda I)^-1, c = 1/4, once (Boehning & Lindsay 1988:
//                  the Hessian never exceeds 1/(N) P^-1), a fixed number of steps
//                    w_{t+1} = v_t - P u(v_t),  v_{t+1} = w_{t+1} + b (w_{t+1} - w_t),
//                  b = (1 - r)/(1 + r), r = sqrt(lambda / (lambda + c)) (Nesterov 2004, 2.2.1, in
//                  the norm of P^-1): the error of J falls by 1 - r in each. Each party's signed
//                  rows are one fixed operand, masked once.
// Certificate      Every |u_j| <= N tolerance / sqrt(d), compared on shares before anything is cut.
//                  Then |grad J| <= tolerance + |rounding of u| / N (GradientError below).
// Revealed         The certificate's bit and the noisy coefficients, to everybody. The bit also to
//                  whoever counts messages on the wire: without it there is no second opening.
// Cost             InvertDefinite, then per step: 2 private products, Sigmoid of N values, one
//                  d x d product, 4 cuts.
#pragma once

#include <Eigen/Core>
#include <optional>
#include <span>
#include <vector>

#include "base/progress.h"
#include "mpc/engine.h"
#include "mpc/release_gate.h"
#include "privacy/sampling/distributed_noise.h"
#include "stats/erm/minimize.h"

namespace partita::methods::classify {

inline constexpr int kMinimumBits = 40;  // fraction bits of rows, noise and coefficients
inline constexpr char kCertificateRelease[] = "certificate";
inline constexpr char kCoefficientsRelease[] = "coefficients";

struct MinimumTask {
  double lambda = 0.1;               // with any slack
  std::vector<uint64_t> party_rows;  // of every computing party; public
  size_t dimension = 0;
  size_t iterations = 0;    // public and fixed: IterationsFor
  double tolerance = 1e-7;  // of |grad J|
  double largest = 0;       // bound of |w_j| of all iterates: LargestCoefficient
};

uint64_t TotalRows(const MinimumTask& task);
// Steps after which the gradient is below the tolerance whatever the data are, from |w| <= largest.
size_t IterationsFor(double lambda, double tolerance, double largest);
// |w| of the minimiser, and of the iterates, cannot exceed 4 (sqrt(2 ln 2 / lambda) + noise/(N
// lambda)) for |eta| <= noise.
double LargestCoefficient(double lambda, uint64_t rows, double noise);
// What the certificate does not see: the fixed-point error of u, over N. Enters gamma of
// approximate_minima.h.
double GradientError(const MinimumTask& task);

// A party's own part; empty at the dealer and on the PlanEngine.
struct OwnMinimum {
  stats::erm::LabelledRows rows;     // of norm at most 1
  std::vector<Int128> linear_noise;  // its share of eta, d grid units
  std::vector<Int128> output_noise;  // its share, d grid units
};

struct PerturbedMinimum {
  bool certified = false;
  Eigen::VectorXd w;  // empty unless certified
};

std::vector<mpc::Release> ReleasesOf(const MinimumTask& task);

// bounds: of |entries| of one party's share of the linear and the output noise, in real units (64
// standard deviations). Phase "minimum". Throws kUsage for a task that makes no sense, kBadData to
// the owner of rows that are too many, too long or badly labelled.
struct NoiseBounds {
  double linear = 0, output = 0;
};
PerturbedMinimum RunMinimum(mpc::Engine& engine, const MinimumTask& task, const NoiseBounds& bounds,
                            const std::optional<OwnMinimum>& own, Progress& progress);

}  // namespace partita::methods::classify
