#include "node/job/policy_study.h"

#include <algorithm>

#include "base/error.h"
#include "methods/all.h"
#include "node/parties/trust.h"
#include "run/method/plan_privacy.h"
#include "run/method/useful.h"

namespace partita::node {
namespace {

// By what the engine says of itself.
CouldRead WhoCouldRead(const Prepared& prepared) {
  const std::string& engine = prepared.study->file.engine.name;
  if (engine == "replicated") return ReadByMoreThan(1);
  if (engine == "shamir") return ReadByMoreThan(prepared.plan.threshold.value_or(1));
  if (engine == "dealer") {
    const std::string dealer = prepared.study->parties.back().name;
    return [dealer](const std::vector<std::string>& together) {
      return together.size() > 1 &&
             std::find(together.begin(), together.end(), dealer) != together.end();
    };
  }
  // With oblivious transfers all others together read nothing.
  return [](const std::vector<std::string>&) { return false; };
}

}  // namespace

std::string UselessOf(const run::Study& study) {
  try {
    run::RequireUseful(study, false);
    return "";
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kRefused) throw;
    return error.message();
  }
}

std::vector<std::string> TrustWarnings(const Prepared& prepared, const PartyList& list) {
  std::vector<std::string> names, warnings;
  for (const study::Party& party : prepared.study->file.parties) names.push_back(party.name);
  for (const IntroducerReach& reach : ReachOfIntroducers(list, names, WhoCouldRead(prepared)))
    warnings.push_back(ReachText(reach));
  return warnings;
}

study::PolicyStudy PolicyStudyOf(const Prepared& prepared, const PartyList& list,
                                 const std::string& proposer, const std::string& table) {
  const run::Study& study = *prepared.study;
  study::PolicyStudy seen = {study.file,
                             prepared.plan,
                             run::StructureOf(study.file.engine),
                             list.owner,
                             proposer,
                             table,
                             {},
                             TrustWarnings(prepared, list),
                             UselessOf(study)};
  for (const study::Party& party : study.file.parties) {
    const ListedParty* listed = FindListed(list, party.name);
    if (listed != nullptr && listed->revoked_at == 0)
      seen.parties.push_back({listed->name, listed->node_key, listed->steward_key});
  }
  return seen;
}

std::vector<std::string> AllMethodNames() {
  std::vector<std::string> names;
  for (const methods::Method& method : methods::AllMethods())
    names.push_back(method.section.method);
  return names;
}

study::Policy ParsePolicy(const std::string& text) {
  return study::ParsePolicyFile(text, "the policy", AllMethodNames());
}

}  // namespace partita::node
