// Random-walk chains whose decisions somebody else takes: proposals are public (a common seed), and
// a decision is one bit per chain, so that parties who share nothing but the bits walk together.
//
// Exactness   Metropolis: accept if log r >= log U. Barker: accept if log r + L >= 0, L logistic,
//             that is with probability r / (1 + r). Both leave the posterior invariant.
// Adaptation  During the warm-up the covariance of the proposals follows the states of all chains
//             (Haario, Saksman & Tamminen, Bernoulli 2001) and their scale the acceptance rate
//             (Andrieu & Thoms 2008); both are frozen when the draws begin. Superchains, which
//             begin far from each other, forget after a quarter and after half of the warm-up
//             where they came from.
// Stages      Chains that may go on (most_decisions) do so while they have not converged: what was
//             drawn becomes warm-up, whose covariance the proposals take over, the warm-up is made
//             once more, and then there are twice as many decisions for as many draws. All of it
//             follows from decisions that are public anyway.
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
  // So many groups of neighbouring chains begin at one point each and are judged together
  // (diagnostics.h); divides `chains`. 0: every chain is judged by itself.
  size_t superchains = 0;
  size_t warmup = 1000;
  size_t draws = 1000;  // kept from each chain
  size_t thin = 1;      // decisions per kept draw; twice as many with every further stage
  // Of each chain, all stages together: the last one that does not fit is not begun. Less than one
  // stage: there is one.
  uint64_t most_decisions = 0;
  Acceptance acceptance = Acceptance::kBarker;
  double initial_scale = 0.1;  // standard deviation of the first proposals
  // So many decisions are asked for at once; divides warmup + draws thin. Proposals of one block
  // have one covariance; otherwise the chain is the same.
  size_t speculation = 1;
  // Steps longer than this are shortened to it, |d| = sum_j reach_j |d_j| (lipschitz.h); 0: none.
  double longest = 0;
  Eigen::VectorXd reach;
};

// Of each chain, warm-up included: of one stage (from 0), of all before it, and of all that may be
// made.
uint64_t DecisionsOfStage(const ChainOptions& options, size_t stage);
uint64_t DecisionsBefore(const ChainOptions& options, size_t stage);
size_t StagesOf(const ChainOptions& options);
uint64_t DecisionsOf(const ChainOptions& options);
// Whether `speculation` divides the decisions of every stage.
bool HasWholeBlocks(const ChainOptions& options);

// A block of decisions: for every one, one bit per chain, whether the chain makes that step. A
// chain that stands at x after k decisions of the block is asked about x + steps[k]. current and
// steps: d by chains. Called with the same matrices at every party.
using Decide = std::function<std::vector<std::vector<bool>>(
    const Eigen::MatrixXd& current, const std::vector<Eigen::MatrixXd>& steps)>;

// Where a chain of a block of k decisions can stand: 2^k matrices; number m has made the steps
// whose bits are set in m.
std::vector<Eigen::MatrixXd> Reachable(const Eigen::MatrixXd& current,
                                       const std::vector<Eigen::MatrixXd>& steps);
// The questions of such a block: number (2^k - 1) + m is that of a chain at Reachable[m], m < 2^k,
// before decision k: from `from` to `to`.
struct Question {
  size_t from = 0, to = 0;
};
std::vector<Question> Questions(size_t decisions);

struct Draws {
  std::vector<Eigen::MatrixXd> chains;  // draws by parameters, of the last stage
  size_t superchains = 0;               // as in ChainOptions
  size_t stages = 1;                    // that were made
  double acceptance_rate = 0;           // after the warm-up
  uint64_t decisions = 0;               // of all chains, warm-up included
};

// Whether chains go on after these draws; asked after every stage but the last. The same at every
// party.
using GoOn = std::function<bool(const Draws& draws)>;

// start: d by chains. public_source: the common seed. go_on: none: while they have not converged
// (diagnostics.h). Throws kUsage for no chains or draws, where speculation does not divide the
// decisions of a stage, and where superchains do not divide the chains or begin at two points.
Draws RunChains(const Eigen::MatrixXd& start, const ChainOptions& options, const Decide& decide,
                crypto::RandomSource& public_source, Progress& progress, const GoOn& go_on = {});

// One party's differences l(to) - l(from) for the questions of a block, every value computed once.
class Differences {
 public:
  explicit Differences(const LocalTarget& target) : target_(target) {}
  // Questions by chains. Throws kBadData, to the owner, for NaN, +infinity, and a chain that begins
  // where the likelihood is 0.
  const Eigen::MatrixXd& Of(const Eigen::MatrixXd& current,
                            const std::vector<Eigen::MatrixXd>& steps);
  // After the decisions.
  void Replace(const std::vector<std::vector<bool>>& accepted);

 private:
  const LocalTarget& target_;
  Eigen::MatrixX2d at_current_;           // by chain, LocalTarget::Parts
  std::vector<Eigen::MatrixX2d> values_;  // of the reachable states
  Eigen::MatrixXd differences_;
};

// The prior's, which are public: as Differences::Of.
Eigen::MatrixXd PriorDifferences(const std::vector<Prior>& priors, const Eigen::MatrixXd& current,
                                 const std::vector<Eigen::MatrixXd>& steps);
// The number of the question that chain c meets at decision k = bits.size(), given its decisions
// before.
size_t QuestionAfter(const std::vector<bool>& bits);

// The decision in the clear: sum of all parties' differences and the prior's, against a fresh
// variate from `secret_source`. Also what a trusted centre would do; the oracle of the protocols.
class PlainDecisions {
 public:
  PlainDecisions(const std::vector<const LocalTarget*>& targets, std::vector<Prior> priors,
                 Acceptance acceptance, crypto::RandomSource& secret_source);
  std::vector<std::vector<bool>> operator()(const Eigen::MatrixXd& current,
                                            const std::vector<Eigen::MatrixXd>& steps);

 private:
  std::vector<Differences> parties_;
  std::vector<Prior> priors_;
  Acceptance acceptance_;
  blr::Variates variates_;
};

// -log U or log U - log(1 - U).
double DecisionVariate(Acceptance acceptance, double uniform);

}  // namespace partita::stats::mcmc
