// Studies as one site sees them, to be held against policies and changed one thing at a time.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/files.h"
#include "methods/all.h"
#include "methods/prepare_study.h"
#include "run/method/plan_privacy.h"
#include "run/party/build_plan.h"
#include "study/approval/fits.h"
#include "tests/paths.h"
#include "tests/study/policy_text.h"

namespace partita::study::policy_case {

inline std::vector<std::string> AllMethodNames() {
  std::vector<std::string> names;
  for (const methods::Method& method : methods::AllMethods())
    names.push_back(method.section.method);
  return names;
}

// All that a study is held against, to be changed one thing at a time.
struct Case {
  StudyFile file;
  Plan plan;
  privacy::EngineStructure engine;
  std::string self = "south", proposer = "north", table = "patients";
  std::vector<KnownParty> parties = {{"north", DigestOf('1'), DigestOf('2')},
                                     {"west", DigestOf('3'), DigestOf('4')},
                                     {"helper", DigestOf('5'), DigestOf('6')}};
  std::vector<std::string> trust;
  std::string useless;
  Policy policy = ParsePolicyFile(kPolicy, "p.toml", AllMethodNames());
  PolicySpent spent{0, 0, 1'790'000'000};

  PolicyStudy study() const {
    return {file, plan, engine, self, proposer, table, parties, trust, useless};
  }
  std::vector<PolicyReason> Reasons() const { return FitsPolicy(study(), policy, spent); }
  // The fields that it misses, each once.
  std::set<std::string> Misses() const {
    std::set<std::string> fields;
    for (const PolicyReason& reason : Reasons()) fields.insert(reason.field);
    return fields;
  }
  std::string Sentence() const {
    const std::vector<PolicyReason> reasons = Reasons();
    return reasons.empty() ? "fits" : reasons[0].sentence;
  }
};

inline Case CaseOf(const std::string& text) {
  const auto study = methods::PrepareStudy(methods::ParseStudyFile(text, "study.toml"));
  Case made;
  made.file = study->file;
  made.plan = run::BuildPlan(*study);
  made.engine = run::StructureOf(study->file.engine);
  return made;
}

inline std::string Example(const std::string& name) {
  return ReadFile(SourcePath("examples/" + name + "/study.toml"), kMaxStudyFileBytes, "a study");
}

}  // namespace partita::study::policy_case
