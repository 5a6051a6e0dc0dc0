// What a chain found: summaries, warnings, and draws in the formats that other programs read.
#pragma once

#include <string>
#include <vector>

#include "methods/mcmc/chain.h"

namespace partita::methods::mcmc {

struct ParameterResult {
  std::string name;
  double mean = 0, sd = 0, mcse_mean = 0, q2_5 = 0, median = 0, q97_5 = 0;
  double rhat = 0, bulk_ess = 0, tail_ess = 0;
};

struct ChainSummary {
  std::vector<ParameterResult> parameters;
  size_t superchains = 0;             // 0: R-hat is that of single chains
  double acceptance_rate = 0;         // after the warm-up
  uint64_t decisions = 0;             // of all chains
  double ess_per_decision = 0;        // the smallest bulk ESS, per decision
  bool converged = false;             // R-hat < 1.01 and both ESS > 400, everywhere
  std::vector<std::string> warnings;  // whole sentences
};

// At least 4 draws per chain (kUsage).
ChainSummary SummariseChain(const ChainPlan& plan, const std::vector<std::string>& names,
                            const ChainResult& result);

// "chain,iteration,draw,NAME,...", numbers that read back exactly: what R's posterior and coda and
// Python's ArviZ take. Chains and iterations count from 1, draws over all chains.
std::string DrawsCsv(const std::vector<std::string>& names, const stats::mcmc::Draws& draws);
// One chain (from 0) as CmdStan writes it: comments, lp__, then the parameters. lp__ is 0, for
// nobody knows the density.
std::string StanCsv(const std::vector<std::string>& names, const stats::mcmc::Draws& draws,
                    size_t chain);

// Of one parameter: how many draws of each chain, or of each superchain if there are any, have a
// rank in each of `bins` equal parts of all ranks; chains by bins. Equal numbers everywhere: they
// agree.
std::vector<std::vector<double>> RankCounts(const stats::mcmc::Draws& draws, size_t parameter,
                                            size_t bins);

}  // namespace partita::methods::mcmc
