// A rehearsal: the study as it will run, on mock data, beside a plain fit of the same rows pooled.
//
// The secure run is the deployed code from study file to fit, all parties as threads; the plain one
// takes means and covariances of the pooled table in double precision and knows nothing of rings,
// shares or bounds. What the two agree on was computed twice.
#pragma once

#include <string>
#include <vector>

#include "base/progress.h"
#include "data/table.h"
#include "methods/mle/fit/result.h"
#include "methods/mle/study/study.h"
#include "run/simulate/simulate.h"

namespace partita::methods::mle {

struct RehearsalOptions {
  uint64_t rows_per_block = 200;  // of blocks without a declared count
  uint64_t seed = 1;
  double min_digits = 6;  // agreement that is asked of every parameter
};

// Digits of agreement are -log10(|secure - plain| / max(|plain|, standard error)), at most
// kAllDigits: a parameter near 0 is compared on the scale on which it is known.
inline constexpr double kAllDigits = 16;
double DigitsOfAgreement(double secure, double plain, double standard_error);

struct RehearsedParameter {
  std::string analysis;  // its name
  std::string lhs, op, rhs;
  int group = 1;
  double secure = 0, plain = 0, standard_error = 0;
  double digits = 0;                 // of the estimate
  double standard_error_digits = 0;  // of its standard error; kAllDigits where there is none
};

struct CostTotals {
  uint64_t rounds = 0, messages = 0, bytes = 0;
};

struct Rehearsal {
  uint64_t rows = 0;
  std::vector<RehearsedParameter> parameters;            // free and defined ones
  double lowest_digits = 0, median_digits = 0;           // over estimates and standard errors
  bool secure_converged = true, plain_converged = true;  // every analysis
  CostTotals planned, counted;
  // Whether planned and counted are equal for every phase and link.
  bool costs_agree = false;
  double secure_seconds = 0, plain_seconds = 0;

  bool passed(double min_digits) const;
};

// Errors of every layer; the cause if a party fails. Mock tables live in a temporary folder that is
// removed.
Rehearsal Rehearse(const MleStudy& study, const RehearsalOptions& options, Progress& progress);

// Fills in planned, counted and costs_agree: every phase and link of the plan against what the
// parties counted. Every party must have ended well.
void CompareCosts(const std::vector<run::PartyEnd>& ends, Rehearsal& rehearsal);

// The plain fits alone, by analysis. pooled: all rows with all columns of the dictionary;
// row_blocks: the block of each row. Subsets, incomplete rows, weights and effects of the site are
// treated as the study file says, on the whole table at once.
std::vector<MleResult> FitPooled(const MleStudy& study, data::Table pooled,
                                 const std::vector<std::string>& row_blocks, Progress& progress);

}  // namespace partita::methods::mle
