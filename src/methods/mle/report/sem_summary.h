// The result in the terminal: lavaan's summary(fit, fit.measures = TRUE, standardized = TRUE, ci =
// TRUE) for people who know it, preceded by convergence in words and followed by who learned what
// and what it cost.
#pragma once

#include <span>
#include <string>

#include "methods/mle/fit/result.h"
#include "report/run_facts.h"
#include "study/plan/plan.h"

namespace partita::methods::mle {

// The statistical part alone, of one analysis.
std::string SemSummary(const MleResult& result);

// It and RunSummary, under a heading with the study's name and hash. Several analyses follow one
// another, each under its name.
std::string TerminalSummary(std::span<const MleResult> results, const study::Plan& plan,
                            const report::RunFacts& facts);

}  // namespace partita::methods::mle
