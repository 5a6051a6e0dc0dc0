// Maximum likelihood for structural equation models wholly on shares: protocol `sealed` (methods.md
// 1).
//
// Ideal function   (moments on shares) -> to the receiver, the estimates and one bit: whether they
//                  are a stationary point; standard errors and fit scalars where they are asked
//                  for. No moment, no likelihood of the way and no iterate opens.
// Method           Fisher scoring on the discrepancy F (point.h, direction.h) for
//                  model.scoring_steps, which come near from public starts; then Newton's method
//                  as well up to model.iterations, which converges quadratically where scoring is
//                  linear. Each step tries several lengths at once and takes the first that is
//                  proved to be a covariance and does not raise F, or none, on shares, without
//                  pivots or logarithms (trial.h). What opens is from inverses of the last point that
//                  are checked (last_inverse.h, slope.h).
// Start            Public numbers in units of the secret standard deviations.
// Incomplete rows  Every pattern of observed variables is a sample, and F the sum over all of them
//                  by their parts of the rows: full information maximum likelihood. Neither
//                  patterns' moments nor their rows open. Rounds depend on their number only by the
//                  bits of the number of faults that is compared with zero.
// Domain           Of every variable, the variance that the others do not explain is at least 2^-14
//                  of its half-width squared: a standard deviation of 2^-6 half-widths of which the
//                  others explain three quarters. Below, numbers outgrow kLargestEntry and
//                  estimates and bit are arbitrary; nothing more opens.
// Precision        40 fraction bits; estimates agree with a fit in floating point far below 1e-4
//                  standard errors (tests). What opens is rounded on shares to the grid of the
//                  release rule (mpc/functions/release_grid.h), unless the study asks for all digits.
// Revealed         To the receiver: the releases of SealedReleases. Nothing to others.
// Cost             Rounds of a step grow with neither variables nor parameters: for 9 variables
//                  and 21 parameters 82 rounds (`dealer`), in Newton's steps 91. What needs the sample
//                  alone goes beside the steps (mpc/together.h). The end is some 130 rounds; with
//                  `fit` it has a pivot of FactorDefinite for every variable one after the other,
//                  beside which the rest is done (end.h).
#pragma once

#include <Eigen/Core>
#include <optional>
#include <string>
#include <vector>

#include "base/progress.h"
#include "methods/mle/sealed/model.h"
#include "methods/mle/sealed/sample.h"
#include "methods/mle/sealed/values.h"
#include "mpc/engine.h"
#include "mpc/functions/release_grid.h"
#include "mpc/release_gate.h"
#include "stats/sem/fit.h"

namespace partita::methods::mle {

// What opens, to whom.
struct SealedOpenings {
  std::string name;  // of the analysis; part of the release ids
  mpc::PartyIndex receiver = 0;
  // Computed on shares. From the expected information, without fixed.x covariates, they follow from
  // the estimates and need not open.
  bool standard_errors = false;
  bool fit = false;   // SealedScalars; of complete rows only
  int grid_bits = 0;  // g = 2^-grid_bits; 0: all digits
  // That standard errors are from; observed, of incomplete rows (missing at random).
  stats::Information information = stats::Information::kExpected;
};

std::vector<mpc::Release> SealedReleases(const SealedModel& model, const SealedOpenings& openings,
                                         const std::string& receiver_name);

// Of one row, averaged over all rows; on a grid of all rows together. Together they give the fit
// measures but SRMR.
struct SealedScalars {
  double chisq = 0, baseline_chisq = 0;  // of the model and of the baseline model
  // Of the saturated model, in half-widths: log|S|, with fixed.x given the covariates; its
  // log-likelihood is -(p log 2 pi + p + this) / 2.
  double saturated = 0;
};

struct SealedEstimates {
  bool converged = false;
  Eigen::VectorXd x;  // of model.opened, internal units of model.ram; empty but at the receiver
  Eigen::VectorXd deviations;  // standard errors times sqrt(n), likewise; empty unless opened
  std::optional<SealedScalars> scalars;
};

// samples: one of each group, or several of rows with the same variables observed. Throws kBadInput
// where incomplete rows meet a model without means, or `fit`. rows: 1 x 1, of all samples, at most
// max_rows; needed with a grid alone.
SealedEstimates FitSealed(mpc::Engine& engine, const SealedModel& model,
                          const SealedOpenings& openings, const std::vector<SealedSample>& samples,
                          Progress& progress, const mpc::Shared& rows = {}, double max_rows = 0);

}  // namespace partita::methods::mle
