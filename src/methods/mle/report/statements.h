// What every report says in words, whether its reader asked or not: generated from the facts of the
// run, in plain text.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "methods/mle/fit/result.h"
#include "report/run_facts.h"
#include "study/plan/plan.h"

namespace partita::methods::mle {

// In this order:
//   convergence           only if an analysis did not converge
//   agreement             to how many digits the result is that of the pooled fit, or that nobody
//                         measured it
//   differential-privacy  that exact releases are NOT differentially private
//   adversary             who is trusted, and which parties together could learn more
//   standard-errors       what the standard errors assume, and that it was not checked
//   not-done              what a pooled analysis would also have looked at
std::vector<report::Statement> Statements(std::span<const MleResult> results,
                                          const study::Plan& plan, const report::RunFacts& facts);

// Sentences for the methods section of a paper. `results` as in ResultJson.
std::string MethodsParagraph(std::span<const MleResult> results, const study::Plan& plan,
                             const report::RunFacts& facts);

// The result's own name, or "main".
std::string AnalysisName(const MleResult& result);

}  // namespace partita::methods::mle
