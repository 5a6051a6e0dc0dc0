// The part of a run that computes: moments on shares, disclosure checks, then every analysis's
// releases. The same code runs at every party, at the dealer, and on the plan engine.
#pragma once

#include <vector>

#include "base/progress.h"
#include "methods/mle/fit/result.h"
#include "methods/mle/moments/pattern_counts.h"
#include "methods/mle/moments/pooled_moments.h"
#include "methods/mle/study/study.h"
#include "mpc/engine.h"
#include "run/party/outcome.h"

namespace partita::methods::mle {

struct ProtocolResult : run::MethodResult {
  std::vector<run::CheckOutcome> checks;  // at computing parties
  // At the receiver, by analysis: the moments of its groups on its own variables; empty for
  // analyses whose protocol does not open them.
  std::vector<std::vector<IntegerMoments>> moments;
  std::vector<NoisedMoments> noised;              // of a private study instead, by cell
  std::vector<std::optional<MleResult>> results;  // fitted during the protocol
};

// What a party brings to the protocol; empty at the dealer.
struct LocalRows : run::MethodRows {
  std::vector<std::vector<LocalBlock>> blocks;  // by computation and block
  std::vector<std::vector<uint64_t>> clusters;  // by block and row; empty: none
  OwnPatterns patterns;                         // at a holder of a study with checked cells
  // Of rows that have passed: Study::ExactRowSets.
  std::vector<std::vector<uint8_t>> passed_sets;
  bool only_sums = false;  // a database added up; which rows are in which set is not known here
};

// local: ignored where engine.self() is empty. noise: this party's own share, in a private study
// (private_moments.h). Phases: "moments",
// mpc::kReleaseOkPhase, "disclosure", kPatternCellsPhase where cells are checked, "release",
// "imputation", "likelihood NAME", "sealed NAME" and "robust NAME" of every such analysis,
// "results"; a private study has no "disclosure". Throws kRefused at every computing party if a
// disclosure check fails, naming variable and rule, or any pattern cell, which nobody is told;
// nothing but the answers of the checks is opened then.
ProtocolResult RunAnalyses(mpc::Engine& engine, const MleStudy& study, const LocalRows& local,
                           const std::vector<Int128>& noise, const run::RunInput& input,
                           Progress& progress);

// At the receiver, after the connections are closed: fits what is not fitted yet. By analysis.
std::vector<MleResult> FitAnalyses(const MleStudy& study, const ProtocolResult& result,
                                   Progress& progress);

}  // namespace partita::methods::mle
