// One secure step of DPVI-VPD: the noisy sum of clipped gradients of a mixture model whose columns
// are held by several parties (Tajeddine et al., Algorithms 3 and 4; methods.md, 4.1 to 4.4).
//
// Ideal function  (log densities and squared scores of every holder for the rows of a batch; a
//                 noise share of every noise party) -> to everybody
//                   sum_n s_n (r_n - pi),  sum_n s_n r_nk d_nkj   and all noise shares,
//                 with r_nk = pi_k prod_p F_p / den_n, s_n = min(1, C' / ||g_n||), nothing else.
//                 C' = C (1 - 2^-17), and rows of which the holders' densities hardly overlap are
//                 shortened further (below).
// Method          O(N K) products. For unconstrained parameters ||g_n||^2 = sum_k r_nk^2 (1 + D_nk)
//                 - 2 sum_k pi_k r_nk + sum_k pi_k^2 with D_nk = sum_p ||d_nk^p||^2 known to its
//                 holders, and s_n r_nk = a_nk v_n^(-1/2), where a_nk = pi_k prod_p m_nk^p,
//                 den_n = sum_k a_nk, v_n = max(den_n^2, den_n^2 ||g_n||^2 / C'^2): one comparison
//                 and one inverse root for a row, no division. What is left are products of the
//                 shared weights t_nk with the holders' statistics T(x), which are fixed operands:
//                 masked once in a run, rows by number; then the public Jacobian, on shares.
// Two holders     m = F_p / max_k F_p at F = 60 fraction bits, pi in the first holder's: their
//                 product is exact at 120. Squared scores enter the same way, multiplied into the
//                 densities by their holder, so that everything that v_n needs is there after one
//                 product and one cut.
// More holders    Products of two at a time, each row brought back to a sum in [1/2, 1) by a power
//                 of two (down to 2^-40: rows below weigh less), until one factor meets the last
//                 holder's.
// Dynamic range   v_n lies between 2^-2e and 2^L (StepFormat). The power of two that it lies below
//                 is found for all at once (mpc/functions/magnitude.h). A row with den_n < 2^-e
//                 weighs less than its clipped gradient would: the series below ends at its floor.
// Inverse root    c = v 2^(-2 i) or 2^(-2 i - 1) in [1/2, 1); y0 = (1144 - 1056 c + 425 c^2) / 512,
//                 e = 1 - c y0^2, |e| < 0.0077, c^(-1/2) = y0 (1 + (1/2 + 1.39e-5) e + 3 e^2/8), the
//                 cubic term of the series spread over the first: relative error below 6e-8. For
//                 c < 1/2 (the floor) e > 0, and the sum stays below c^(-1/2). a times the guess is
//                 made beside the series.
// Clipping        No row contributes more than C, given the holders' own densities and scores (they
//                 are trusted with these: semi-honest). The contribution of a row is linear in the
//                 shared a_nk, so its norm is v_n^(-1/2) times that of the exact gradient at these
//                 a_nk; what is to bound is how much too small v_n can be. With E = 2^-46 (docs in
//                 step.cc, kSquareError) that is at most a factor 1 - 2^-18 down to the floor, and
//                 the series adds 6e-8: together below the 2^-17 that C' leaves.
// Revealed        The noisy sum, through the gate as kGradientRelease. To the parties: nothing
//                 else. The dealer (engine `dealer`) learns which rows a batch has: it makes masks
//                 for these rows (decision 0028).
// Rounds          engine `dealer`: two holders 23, three 37, four and five 51; see PlannedStep in
//                 the tests and docs/decisions/0029 and 0036. Bytes: PlanEngine.
#pragma once

#include <Eigen/Core>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mpc/engine.h"

namespace partita::methods::mixture {

inline constexpr char kGradientRelease[] = "gradient";

// Fraction bits: of the clipped weights t, of statistics and of the Jacobian; the opened sum's.
inline constexpr int kWeightBits = 40, kStatisticBits = 28, kSlopeBits = 20;
inline constexpr int kGridBits = kWeightBits + kStatisticBits + kSlopeBits;

// A party that holds columns.
struct Holder {
  mpc::PartyIndex party = 0;
  size_t num_columns = 0;       // J_p, statistics and parameters
  double statistic_bound = 64;  // |T_j(x)|, public
};

enum class Formulation {
  kSums,   // as above
  kPaper,  // the paper's: every entry of every gradient on shares (paper.h); two holders
};

// Public, the same at every process.
struct StepDesign {
  Formulation formulation = Formulation::kSums;
  std::vector<Holder> holders;  // two or more
  size_t num_rows = 0;          // N, of the whole table
  size_t batch_rows = 0;        // rows of every step, real ones and padding
  size_t components = 0;        // K
  double clip = 1;              // C
  // 1 + sum_p D_nk is at most this; a holder of a row that may exceed its part gives it no weight.
  double max_square = 1024;
  // Who adds noise: all computing parties, or a trusted third party that holds no columns (then it
  // is one of the engine's parties, and the only one here).
  std::vector<mpc::PartyIndex> noise_parties;
  double noise_bound = 0;  // of one share, in the units of the sum

  size_t num_columns() const;    // J
  size_t num_values() const;     // K (1 + J): opened
  double holder_square() const;  // a holder's part of max_square
};

// Throws kBadInput: fewer than two holders, a clip outside [2^-6, 2^6], K > N, a batch larger than
// the table, bounds that leave no digits.
void CheckDesign(const StepDesign& design);

// What the bounds leave: 2^L bounds ||g||^2 / C'^2, 2^-e is the smallest den that is told apart.
struct StepFormat {
  int log2_largest = 0;  // L
  int floor = 0;         // e
  double clip_to = 0;    // C'
  int score_bits = 0;    // of densities times squared scores
  int square_bits = 0;   // of what a is multiplied with for v
};
StepFormat FormatOf(const StepDesign& design);

// Public, of one step: functions of the parameters.
struct StepParameters {
  Eigen::ArrayXd pi;                                  // K
  std::vector<Eigen::ArrayXXd> slope, below, offset;  // by holder, K x J_p
  bool has_below = false;
  std::vector<uint32_t> batch;  // at most batch_rows
};

// Known to one holder, for the rows of the batch: K x |batch|.
struct HolderValues {
  Eigen::ArrayXXd log_densities;   // log F_p
  Eigen::ArrayXXd squared_scores;  // D^p
};

// Rounds slopes to the grid that the protocol applies them at: squared scores must be computed from
// the rounded ones.
Eigen::ArrayXXd RoundSlopes(const Eigen::ArrayXXd& slopes);
// The nearest statistic on the grid; likewise.
double RoundStatistic(double statistic);

// The nearest multiple of 2^-bits, as EncodeFixed; quicker for what fits 62 bits.
Int128 ToGrid(double x, int bits);

// T(x) of the own columns, N x J_p row by row; read at the holder only.
using StatisticReader = std::function<void(size_t first_row, size_t num_rows, double* out)>;

class SecureStep {
 public:
  // Registers the statistics. own: by holder, set at that holder only. The engine must outlive the
  // object.
  SecureStep(mpc::Engine& engine, const StepDesign& design,
             const std::vector<StatisticReader>& own);

  // One step. own_values: at holders; own_noise: at noise parties, num_values() grid units in the
  // order of the result. before_opening: called once, before any share of the sum leaves; if it
  // throws, none does. Returns K x (1 + J) real numbers, multiples of 2^-kGridBits rounded to
  // double, at every computing party; empty at the dealer and in a plan. Throws kBadData, at the
  // holder, for densities or scores that are not finite.
  Eigen::ArrayXXd Run(const StepParameters& parameters,
                      const std::optional<HolderValues>& own_values,
                      std::span<const Int128> own_noise,
                      const std::function<void()>& before_opening = {});

  const StepDesign& design() const { return design_; }

 private:
  // K x (1 + J) at kGridBits; the noise's shares are put into `noise` in rounds that it takes
  // anyway.
  mpc::Shared SumOfGradients(const StepParameters& parameters,
                             const std::optional<HolderValues>& own_values,
                             std::span<const mpc::PrivateMatrix> noise_inputs,
                             std::vector<mpc::Shared>& noise);

  mpc::Engine& engine_;
  StepDesign design_;
  std::vector<StatisticReader> own_;           // by holder
  std::vector<mpc::FixedOperand> statistics_;  // by holder
};

}  // namespace partita::methods::mixture
