// What every row adds at a point nobody knows: mean, working weight and residual, on shares.
//
// Method    Binomial with logit: mu by Sigmoid, w = mu (1 - mu). Poisson: eta is capped at the limit of
//           linear predictors (stats/glm/family.h), mu = w by Exponential: beyond the cap the
//           likelihood goes on as a straight line, so that it stays concave. Gamma: of u = log y - eta,
//           capped at the logarithm of kMostSealedRatio in the same way, y / mu = e^u and the score
//           e^u - 1; w = e^u, the information as it is observed.
// At the end  the log-likelihood of binomial outcomes as well, the logarithm of the probability of
//           what happened, 1 - mu - y + 2 y mu, of gamma models u and squared scores, and how many rows
//           are beyond the limits.
// Robust    errors of rows take the squared residual of each row at the end, where it is at most 2^20 times the
//           working weight (mpc/functions/sandwich.h); a row beyond that is beyond the limits, as one
//           whose predictor is, and adds 0. Logistic: where the odds of what happened are at least
//           2^-20.
// Error     mu 2^-39 absolute (binomial), 2^-39 of itself and 2^-40 (poisson); logarithms 2^-40 and
//           2^-39 over the probability.
//           Squares 2^-SquareBits.
// Rounds    Sigmoid and a product, or a comparison, a product and Exponential; at the end Log and a
//           comparison.
// Revealed  Nothing.
#pragma once

#include "methods/glm/task.h"
#include "mpc/engine.h"

namespace partita::methods::glm {

inline constexpr int kMeanBits = 40;
// Fraction bits of working weights: as many as their sums with columns leave room for. Below
// kFewestWeightBits a study is refused.
int WeightBits(const Task& task);
// The same of squared residuals, which are at most MostSquare.
int SquareBits(const Task& task);
double MostSquare(const Task& task);
// Whether rows have squares: of robust errors of rows.
bool TakesSquares(const Spec& spec);
inline constexpr int kFewestWeightBits = 16;
// Of squared residuals: what a cut errs is far below the bound that they are compared with.
inline constexpr int kFewestSquareBits = 24;

struct RowValues {
  mpc::Shared mean;      // n x 1, kMeanBits; not of gamma models
  mpc::Shared weight;    // n x 1, WeightBits
  mpc::Shared residual;  // n x 1: y - mu, of gamma models (y - mu) / mu; kMeanBits
  mpc::Shared outside;   // 1 x 1; only at the end
  mpc::Shared squares;   // n x 1, SquareBits: of residuals; only at the end, where TakesSquares
  mpc::Shared logs;      // n x 1: log-likelihoods of binomial outcomes, u of gamma ones; at the end
  mpc::Shared pearson;   // n x 1, kMeanBits: squared scores of gamma models, at the end
};
// predictor: n x 1 at kStepBits; outcome: n x 1 without fraction bits, of gamma models its logarithm at
// kStepBits.
RowValues ValuesAt(mpc::Engine& engine, const Task& task, const mpc::Shared& predictor,
                   const mpc::Shared& outcome, bool last);
// Residuals of a gaussian model, whose rows have no other values, and where TakesSquares their squares, and
// how many are beyond MostSquare.
RowValues GaussianValues(mpc::Engine& engine, const Task& task, const mpc::Shared& predictor,
                         const mpc::Shared& outcome);

}  // namespace partita::methods::glm
