// A classification from beginning to end: fit, intervals, evaluation, by what a study file says
// (spec.h). Protocols for comparison draw no noise, or not enough: IsPrivate. Everything in
// Classification is public and derived by every party alike.
//
// Budget    (epsilon, delta) protects a row that is used for training: the fit takes 1 -
//           interval_share of both, the intervals the rest (basic composition). Test rows are other
//           rows: their counts take (epsilon, delta) of their own.
// Openings  To everybody, because every party computes with the coefficients: statement.h.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/progress.h"
#include "methods/classify/baselines.h"
#include "methods/classify/held_out_counts.h"
#include "methods/classify/newton_sums.h"
#include "methods/classify/spec.h"
#include "methods/classify/statement.h"
#include "stats/erm/one_versus_rest.h"
#include "stats/erm/score_counts.h"
#include "stats/erm/unit_ball.h"

namespace partita::methods::classify {

using Share = stats::erm::Estimate;
using Evaluated = stats::erm::CountedEvaluation;

struct Promise {
  double epsilon = 1, delta = 1e-6;
  uint32_t known_shares = 1;
};

// Exactly one of the five is set, by the protocol.
struct FitDesign {
  std::optional<DescentTask> descent;
  std::optional<AggregationTask> aggregation;
  std::optional<PsgdTask> psgd;
  std::optional<PrivateMinimum> minimum;  // of objective perturbation, too
  std::optional<BaselineTask> baseline;
  double noise_multiplier = 0;  // of the descent
  NoisedSum sum;                // of descent, aggregation, baselines
  std::optional<PsgdNoise> psgd_noise;
  MinimumBudget budget;  // of the minimum
};

struct Classification {
  Spec spec;
  Promise promise;
  Audience audience;
  std::vector<uint64_t> train_rows, test_rows;  // of every computing party
  stats::erm::UnitBallScaling scaling;
  FitDesign fit;
  std::optional<NewtonTask> newton;
  std::optional<CountsTask> counts;
  NoisedSum newton_sum, counts_sum;
  // Of everything together; none where nothing opens.
  std::optional<privacy::Statement> statement;
  std::vector<mpc::Release> releases;
};

// rows: of every computing party, public. audience.delta and known_shares are those of the promise,
// which protocols that draw no noise do not use. Throws kRefused for a delta above 1/n, kBadInput
// for a party without rows to train with, kUsage or kBudget for budgets that no noise meets, or an
// objective whose slack Delta would exceed its penalty.
Classification DesignClassification(const Spec& spec, const Promise& promise,
                                    const std::vector<uint64_t>& rows, Audience audience);

// A party's own rows before scaling.
struct OwnTable {
  Eigen::MatrixXd x;          // N by the spec's columns, original units
  std::vector<size_t> level;  // of the outcome
  // By row, 1: it contributes nothing. Empty: every row does.
  std::vector<uint8_t> neutral = {};
};

// Rows that are ready: scaled, training and test apart. A neutral row is zero in training, where
// its gradient and its curvature then vanish whatever its label, and takes no part in the test: by
// the number of rows, which is public, it is there.
struct OwnClassification {
  stats::erm::LevelRows train, test;
  size_t clipped_rows = 0;  // for the owner only
};
// Throws kBadData (to the owner) for outcomes that are no level.
OwnClassification PrepareOwn(const Classification& design, const OwnTable& table,
                             crypto::RandomSource& random);

struct ClassificationResult {
  // d by 1, or by the number of levels; of the scaled rows. Of protocol "single-party" its own.
  Eigen::MatrixXd w;
  Eigen::MatrixXd coefficients;   // original units, the intercept last
  bool hidden_curvature = false;  // intervals were bought, but the noise hides the curvature
  std::optional<stats::erm::CoefficientIntervals> intervals;  // original units
  std::optional<stats::erm::ScoreCounts> counts;              // with noise
  std::optional<stats::erm::CountedEvaluation> evaluation;  // of the counts; empty: hidden by noise
  // On this party's own test rows, without noise, for its own eyes.
  std::optional<stats::erm::CountedEvaluation> local;
  Eigen::MatrixXd local_confusion;  // L by L; empty without test rows
};

// own: empty at the dealer and on the PlanEngine. random: for noise and batches; unused there.
// Phases: that of the protocol, "intervals", "evaluation". Errors as those of the protocol;
// kNotConverged at every computing party if the minimum's certificate fails.
ClassificationResult RunClassification(mpc::Engine& engine, const Classification& design,
                                       const std::optional<OwnClassification>& own,
                                       crypto::RandomSource* random, Progress& progress);

}  // namespace partita::methods::classify
