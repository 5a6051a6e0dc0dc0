// The published protocols in studies of method `mle`: between hosts, for simulation and comparison.
// What they show some party is not bounded by what they say, so a study has to write
// rows_may_leak = true, and the plan says that rows may become known.
#pragma once

#include <string>
#include <vector>

#include "methods/mle/study/protocol.h"
#include "study/plan/plan.h"

namespace partita::methods::mle::published {

inline constexpr char kRowsLeak[] = "rows";  // a level of leakage

// "conditional", "secure-sum", "secure-matmul", "oblivious-transfer" or "plain-passing".
bool IsPublished(const std::string& protocol);

// "Protocol 'conditional' is for simulation and comparison."
std::string PublishedNote(const std::string& protocol);

// Whether an analysis of the study is by one of them.
bool HasPublished(const MleStudy& study);

// The receiver is the central node and holds no rows; block sizes are public; all rows take part.
// Throws kBadInput.
void RequireSupportedPublished(const MleStudy& study, size_t analysis);

// Counts every cell of every party once: each may become known.
mpc::Release PublishedReleaseOf(const MleStudy& study, size_t analysis);
study::PlanExposure PublishedExposure(const MleStudy& study, const Computation& computation,
                                      const RowSet& rows);
// Of the plan.
std::vector<std::string> PublishedAssumptions(const MleStudy& study);

// Fits every analysis of the computation, each in a phase named after the protocol, over
// input.channel. local: by block; ignored at the dealer, which takes part as a party without rows.
void FitPublishedAnalyses(const MleStudy& study, size_t computation,
                          const std::vector<LocalBlock>& local, const run::RunInput& input,
                          ProtocolResult& result, Progress& progress);

}  // namespace partita::methods::mle::published
