// Delayed acceptance (Christen & Fox, JCGS 2005; Banterle, Grazian, Lee & Robert 2019): a proposal
// is decided twice, first on some of the rows and the prior, then, if it passed, on the others. A
// proposal that fails early costs a part of the likelihood only.
//
// Exactness   With r = r_1 r_2 the ratios of the two factors of the target, a step from x to y
//             happens with probability a(r_1) a(r_2), a(r) = r / (1 + r) or min(1, r). a(r) =
//             r a(1 / r) in both stages, so the product of the two satisfies detailed balance for
//             the whole target. It accepts less often than one decision does.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "stats/mcmc/chains.h"

namespace partita::stats::mcmc {

// One party's differences of the second stage, computed for the chains that passed the first.
class LaterDifferences {
 public:
  explicit LaterDifferences(const LocalTarget& target) : target_(target) {}
  // current, step: d by chains. 1 by chains, 0 where a chain did not pass. Throws as
  // Differences::Of.
  Eigen::MatrixXd Of(const Eigen::MatrixXd& current, const Eigen::MatrixXd& step,
                     const std::vector<bool>& passed);
  // After both decisions.
  void Replace(const std::vector<bool>& accepted);
  uint64_t evaluated() const { return evaluated_; }  // likelihoods of single states

 private:
  const LocalTarget& target_;
  Eigen::MatrixX2d at_current_, proposed_;  // by chain, LocalTarget::Parts
  uint64_t evaluated_ = 0;
};

// Chain by chain whether both stages accepted.
std::vector<bool> Both(const std::vector<bool>& first, const std::vector<bool>& second);

// The decisions in the clear, as PlainDecisions. A variate for every chain in both stages.
class PlainStagedDecisions {
 public:
  PlainStagedDecisions(const std::vector<const LocalTarget*>& first,
                       const std::vector<const LocalTarget*>& second, std::vector<Prior> priors,
                       Acceptance acceptance, crypto::RandomSource& secret_source);
  // One step only.
  std::vector<std::vector<bool>> operator()(const Eigen::MatrixXd& current,
                                            const std::vector<Eigen::MatrixXd>& steps);

 private:
  std::vector<Differences> first_;
  std::vector<LaterDifferences> second_;
  std::vector<Prior> priors_;
  Acceptance acceptance_;
  blr::Variates variates_;
};

}  // namespace partita::stats::mcmc
