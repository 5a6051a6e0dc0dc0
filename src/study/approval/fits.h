// Whether a study keeps within a policy: a pure function, the same for whoever signs and whoever runs.
//
// A function for each field of the policy, and every one closed: what it does not know does not fit. A study that
// does not fit is for a person; nothing is said against it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "privacy/statement.h"
#include "study/approval/policy.h"
#include "study/file/study_file.h"
#include "study/plan/plan.h"

namespace partita::study {

// A study as one site sees it. Whoever fills it in has verified it: the caller's own parse and plan, keys by its own
// list of parties, the table by the statement of its own job.
struct PolicyStudy {
  const StudyFile& file;
  const Plan& plan;
  privacy::EngineStructure engine;  // of the file's engine
  std::string self, proposer;
  std::string table;                // of the own site; empty: it brings none
  std::vector<KnownParty> parties;  // all others of the roster
  std::vector<std::string> trust;   // warnings about how parties are known
  std::string useless;              // why the result would hardly be useful
};

// What was signed by the policy before, this study's own use not among it; and the time (utc_time.h).
struct PolicySpent {
  uint64_t results = 0;
  double epsilon = 0;  // added up
  int64_t now = 0;

  bool operator==(const PolicySpent&) const = default;
};

struct PolicyReason {
  std::string field;     // of the policy, or "trust", "useful"
  std::string sentence;  // "the policy 'asthma' does not have the table 'other'"
};

// All reasons for which the study goes to a person; none: it fits.
std::vector<PolicyReason> FitsPolicy(const PolicyStudy& study, const Policy& policy,
                                     const PolicySpent& spent);

// Every field that is looked at, in the order of the reasons.
std::vector<std::string> PolicyFields();

// What a plan opens, by the names of `max_leakage`: exactly where any release of that name is exact.
std::map<std::string, Leakage> LeakageOf(const Plan& plan);

// What a study counts against epsilon_per_study and epsilon_in_all: the largest of the plan's statement over
// all adversaries that the engine withstands, at the policy's adjacency and a delta that is not above the policy's.
// 0 where nothing is noisy; none where there is no such bound.
std::optional<double> EpsilonOf(const PolicyStudy& study, const Policy& policy);

}  // namespace partita::study
