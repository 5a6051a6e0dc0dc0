// Random-walk chains whose decisions somebody else takes: proposals are public (a common seed), and
// a decision is one bit per chain, so that parties who share nothing but the bits walk together.
//
// Exactness   Metropolis: accept if log r >= log U. Barker: accept if log r + L >= 0, L logistic,
// that
//             is with probability r / (1 + r). Both leave the posterior invariant.
// Adaptation  During the warm-up the covariance of the proposals follows the states of all chains
//             (Haario, Saksman & Tamminen, Bernoulli 2001) and their scale the acceptance rate
//             (Andrieu & Thoms 2008); both are frozen when the draws begin.
#pragma once

#include <Eigen/Core>
#include <functional>
#include <vector>

#include "base/progress.h"
#include "crypto/random.h"
#include "stats/mcmc/priors.h"
#include "stats/mcmc/targets.h"

namespace partita::stats::mcmc {

enum class Acceptance { kMetropolis, kBarker };

struct ChainOptions {
  size_t chains = 4;
  size_t warmup = 1000;
  size_t draws = 1000;  // kept from each chain
  size_t thin = 1;      // decisions per kept draw
  Acceptance acceptance = Acceptance::kBarker;
  double initial_scale = 0.1;  // standard deviation of the first proposals
};

// One bit per chain: whether column c of `proposed` replaces column c of `current`. Called with the
// same matrices at every party.
using Decide = std::function<std::vector<bool>(const Eigen::MatrixXd& current,
                                               const Eigen::MatrixXd& proposed)>;

struct Draws {
  std::vector<Eigen::MatrixXd> chains;  // draws by parameters
  double acceptance_rate = 0;           // after the warm-up
  uint64_t decisions = 0;               // of all chains, warm-up included
};

// start: d by chains. public_source: the common seed. Throws kUsage for no chains or draws.
Draws RunChains(const Eigen::MatrixXd& start, const ChainOptions& options, const Decide& decide,
                crypto::RandomSource& public_source, Progress& progress);

// One party's differences l(proposed) - l(current), each state's value computed once.
class Differences {
 public:
  explicit Differences(const LocalTarget& target) : target_(target) {}
  // C values. Throws kBadData, to the owner, for NaN or +infinity.
  const Eigen::VectorXd& Of(const Eigen::MatrixXd& current, const Eigen::MatrixXd& proposed);
  // After the decision.
  void Replace(const std::vector<bool>& accepted);

 private:
  const LocalTarget& target_;
  Eigen::VectorXd at_current_, at_proposed_, differences_;
};

// The decision in the clear: sum of all parties' differences and the prior's, against a fresh
// variate from `secret_source`. Also what a trusted centre would do; the oracle of the protocols.
class PlainDecisions {
 public:
  PlainDecisions(const std::vector<const LocalTarget*>& targets, std::vector<Prior> priors,
                 Acceptance acceptance, crypto::RandomSource& secret_source);
  std::vector<bool> operator()(const Eigen::MatrixXd& current, const Eigen::MatrixXd& proposed);

 private:
  std::vector<Differences> parties_;
  std::vector<Prior> priors_;
  Acceptance acceptance_;
  blr::Variates variates_;
};

// -log U or log U - log(1 - U).
double DecisionVariate(Acceptance acceptance, double uniform);

}  // namespace partita::stats::mcmc
