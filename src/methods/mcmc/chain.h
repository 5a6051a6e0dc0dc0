// Whole chains under secure computation: the loop of stats/mcmc/chains.h with the decisions of this
// folder, the same code at every process.
//
// Public at all parties   Plan, seed, proposals, the prior, every decision, hence all draws.
// Of a party alone        Its rows, and its log likelihood at any state.
// Number of decisions     Declared in the plan and never exceeded, however often a run is
//                         interrupted (record.h). Chains that may go on (stats/mcmc/chains.h) stop
//                         after a stage with which they have converged: when they do is a function
//                         of the decisions, and public as these are.
// Revealed                What the rule opens, to all parties: of Version 3 a bit per decision and
//                         chain (decisions.h), of the others a noisy number (noisy_sums.h,
//                         penalty.h). The dealer learns when decisions are made, and nothing else.
// Cost                    Decisions / speculation blocks of what the rule costs, twice as many in a
//                         staged plan.
#pragma once

#include <functional>
#include <optional>

#include "crypto/random.h"
#include "methods/mcmc/decisions.h"
#include "methods/mcmc/penalty.h"
#include "methods/mcmc/record.h"
#include "stats/mcmc/chains.h"

namespace partita::methods::mcmc {

enum class Rule {
  kBit,      // Version 3, by the plan's acceptance
  kSum,      // Version 1; Metropolis's
  kProduct,  // Version 2; Metropolis's
  kPenalty,  // Metropolis's
};

struct ChainPlan {
  stats::mcmc::ChainOptions options;
  Rule rule = Rule::kBit;
  PenaltyScale penalty;   // of kPenalty
  Eigen::MatrixXd start;  // parameters by chains
  std::vector<stats::mcmc::Prior> priors;
  // Delayed acceptance (stats/mcmc/stages.h): every decision is two bits of each chain, the second
  // a coin where the first rejected. Of kBit, without speculation.
  bool staged = false;
  size_t ahead = 64;      // blocks that variates are made for at once
  uint64_t stretch = 64;  // blocks between two stored records
};

// Throws kUsage for options that do not fit each other or the rule: Versions 1 and 2 and the
// penalty method decide by Metropolis's rule, one decision at a time.
void CheckPlan(const ChainPlan& plan);

// The one release of what is left to do after `decided` decisions, for the gate.
mpc::Release ReleaseOf(const ChainPlan& plan, uint64_t decided = 0);

struct ChainInputs {
  const stats::mcmc::LocalTarget* target = nullptr;  // parties
  // Parties of a staged plan: the rows of the second stage; `target` has the others.
  const stats::mcmc::LocalTarget* later = nullptr;
  const crypto::Key* public_key = nullptr;  // parties: the seed that all of them made
  crypto::RandomSource* random = nullptr;   // parties: own
  ChainRecord record;                       // agreed; empty: from the beginning
  // So many decisions may be open from now on: more before they are, fewer only at the end of a
  // run. Both durable on return, and may be empty in tests.
  std::function<void(uint64_t decisions)> mark;
  std::function<void(const ChainRecord&)> store;
  // Every process of a plan of several stages, after each but the last: whether another one is
  // made. own: what the draws of a party say; a dealer has none, and must be told. Empty: every
  // party follows its own, and without draws all stages are made.
  std::function<bool(std::optional<bool> own)> go_on;
  // Every process: variates of Version 3 that were made ahead, one per block (Decisions::Use); what
  // is missing is made in the run.
  std::vector<mpc::Shared> variates = {};
};

struct ChainResult {
  stats::mcmc::Draws draws;  // parties
  ChainRecord record;
  uint64_t skipped = 0;  // decisions
};

// Throws as the rule and CheckPlan do. Of a log density that is no number its owner learns the
// details, the others that this party stopped.
ChainResult RunSecureChains(mpc::Engine& engine, const ChainPlan& plan, const ChainInputs& inputs,
                            Progress& progress);

}  // namespace partita::methods::mcmc
