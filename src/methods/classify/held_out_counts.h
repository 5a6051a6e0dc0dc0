// Evaluation that respects the budget: test rows that were held aside are counted by predicted
// probability and label, and the counts of all parties open once with noise.
//
// Ideal function  (test rows and a noise share of every party, public coefficients) -> the noisy
//                 counts, to the recipient; stats/erm/score_counts.h makes error rates, ROC,
//                 calibration of them.
// Sensitivity     Replacing a row moves a count from one cell to another: sqrt(2) in L2; adding or
//                 removing one: 1.
// Composition     Which rows are held aside is drawn by their owner without looking at them, so
//                 that a row is in training or in test, never in both, and the same in a
//                 neighbouring table: the losses of training and of test do not add up, the larger
//                 one counts (parallel composition).
// Revealed        2 B noisy counts. Public: every party's number of test rows.
// The alternative is local: each party evaluates on its own rows and shows nobody (evaluate.h).
#pragma once

#include <Eigen/Core>
#include <optional>

#include "methods/classify/noised_sum.h"
#include "methods/classify/statement.h"
#include "privacy/adjacency.h"
#include "stats/erm/score_counts.h"

namespace partita::methods::classify {

struct HeldAside {
  stats::erm::LabelledRows train, test;
};
// round(share n) rows at random. Throws kUsage for a share outside [0, 1) or if no row is left to
// train with.
HeldAside HoldAside(const stats::erm::LabelledRows& rows, double share,
                    crypto::RandomSource& random);

struct CountsTask {
  size_t bins = 10;         // even
  uint64_t party_rows = 0;  // test rows of a party, at most; public
  uint32_t parties = 2;
  uint32_t known_shares = 1;
  privacy::Adjacency adjacency = privacy::Adjacency::kReplace;
  int fraction_bits = 20;
  mpc::PartyIndex to = mpc::kEverybody;
};

// Calibrated so that the shares that the adversary does not know meet (epsilon, delta).
NoisedSum DesignCounts(const CountsTask& task, double epsilon, double delta);

// test: this party's own; none at the dealer and on the PlanEngine. Phase "evaluation". Counts with
// their noise's standard deviation where they are learned, else empty. Throws kBadData to the owner
// of rows that are too many or badly labelled.
stats::erm::ScoreCounts RunCounts(mpc::Engine& engine, const CountsTask& task, const NoisedSum& sum,
                                  const std::optional<stats::erm::LabelledRows>& test,
                                  const Eigen::VectorXd& w, crypto::RandomSource& random);

privacy::Statement StateCounts(const CountsTask& task, const NoisedSum& sum,
                               const Audience& audience);

}  // namespace partita::methods::classify
