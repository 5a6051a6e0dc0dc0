#include "study/approval/fits.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string_view>

#include "base/utc_time.h"
#include "crypto/hash.h"
#include "study/approval/admitted.h"
#include "study/file/text.h"

namespace partita::study {
namespace {

// A study, held against one policy.
struct Fitting {
  const PolicyStudy& study;
  const Policy& policy;
  const PolicySpent& spent;
};

// What does not fit, as the end of a sentence that begins with the policy; none: it fits.
using Misfits = std::vector<std::string>;

bool Lists(const NameList& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// "does not have the engine 'shamir'".
Misfits NotListed(const NameList& outside) {
  Misfits misfits;
  for (const std::string& what : outside) misfits.push_back("does not have " + what);
  return misfits;
}

Misfits FitsTables(const Fitting& at) {
  if (at.study.table.empty()) return {"is for sites that bring a table, which this one does not"};
  if (Lists(at.policy.tables, at.study.table)) return {};
  return NotListed({"the table " + Quote(at.study.table)});
}

const KnownParty* FindParty(const std::vector<KnownParty>& parties, const std::string& name) {
  const auto found = std::find_if(parties.begin(), parties.end(),
                                  [&](const KnownParty& party) { return party.name == name; });
  return found == parties.end() ? nullptr : &*found;
}

// Names mean nothing: whoever has other keys is another party.
Misfits FitsParties(const Fitting& at) {
  Misfits misfits;
  for (const Party& party : at.study.file.parties) {
    if (party.name == at.study.self) continue;
    const KnownParty* here = FindParty(at.study.parties, party.name);
    const KnownParty* listed = FindParty(at.policy.parties, party.name);
    if (listed == nullptr)
      misfits.push_back("does not have the party " + Quote(party.name));
    else if (here == nullptr || *here != *listed)
      misfits.push_back("has party " + Quote(party.name) + " by other keys");
  }
  return misfits;
}

// One that is no party of the study has signed nothing of it: its name would be the daemon's word alone.
Misfits FitsProposers(const Fitting& at) {
  const std::string& proposer = at.study.proposer;
  if (!Lists(at.policy.proposers, proposer)) return NotListed({"the proposer " + Quote(proposer)});
  for (const Party& party : at.study.file.parties) {
    if (party.name == proposer) return {};
  }
  return {"takes no study of a proposer who is no party of it"};
}

// A dealer and any party together read everything.
Misfits FitsDealers(const Fitting& at) {
  NameList outside;
  for (const Party& party : at.study.file.parties) {
    if (party.dealer && !Lists(at.policy.dealers, party.name))
      outside.push_back("the dealer " + Quote(party.name));
  }
  return NotListed(outside);
}

// Parties without rows hide nobody's.
Misfits FitsMinParties(const Fitting& at) {
  uint64_t holders = 0;
  for (const Party& party : at.study.file.parties) holders += party.holder ? 1 : 0;
  if (holders >= at.policy.min_parties) return {};
  return {fmt::format("asks for {} parties with rows, and this study has {}", at.policy.min_parties,
                      holders)};
}

Misfits FitsMethods(const Fitting& at) {
  return NotListed(OutsideMethods(at.study.file, at.policy));
}
Misfits FitsProtocols(const Fitting& at) {
  return NotListed(OutsideProtocols(at.study.file, at.policy));
}
Misfits FitsFunctions(const Fitting& at) {
  return NotListed(OutsideFunctions(at.study.file, at.policy));
}
Misfits FitsReceivers(const Fitting& at) {
  return NotListed(OutsideReceivers(at.study.file, at.policy));
}
Misfits FitsReleases(const Fitting& at) {
  return NotListed(OutsideReleases(at.study.file, at.policy));
}
Misfits FitsVariables(const Fitting& at) {
  return NotListed(OutsideVariables(at.study.file, at.policy));
}

// A low threshold, or correlations made by whoever made them before, lets fewer parties read everything.
Misfits FitsEngines(const Fitting& at) {
  Misfits misfits = NotListed(OutsideEngines(at.study.file, at.policy));
  const EngineSpec& engine = at.study.file.engine;
  if (engine.threshold) misfits.emplace_back("takes no threshold that a study sets");
  if (engine.stored_correlations) misfits.emplace_back("takes no stored correlations");
  if (engine.stripes > 1) misfits.emplace_back("takes no stripes");
  return misfits;
}

Misfits FitsConditions(const Fitting& at) {
  NameList outside;
  const auto check = [&](const std::vector<data::Condition>& conditions) {
    for (const data::Condition& condition : conditions) {
      const std::string text = data::ConditionText(condition);
      if (!Lists(at.policy.conditions, text)) outside.push_back("the condition " + Quote(text));
    }
  };
  check(at.study.file.population.subset);
  for (const AnalysisSpec& analysis : at.study.file.analyses) check(analysis.subset);
  return NotListed(outside);
}

// Epsilon is of a person only if the study knows how many rows a person has.
Misfits FitsRowsPerPerson(const Fitting& at) {
  const int rows = at.study.file.population.max_rows_per_person;
  if (rows > 0 && static_cast<uint64_t>(rows) == at.policy.max_rows_per_person) return {};
  return {fmt::format("says {} rows of a person, and this study {}", at.policy.max_rows_per_person,
                      rows)};
}

// Rows of a block are counted, and its number is public: a block column selects rows without any condition.
Misfits FitsKey(const Fitting& at) {
  const std::string& key = at.study.file.table.key;
  if (key.empty() || key == at.policy.key) return {};
  return NotListed({"the key column " + Quote(key)});
}
Misfits FitsBlock(const Fitting& at) {
  const std::string& block = at.study.file.table.block;
  if (block.empty() || block == at.policy.block) return {};
  return NotListed({"the block column " + Quote(block)});
}

Misfits FitsMatchings(const Fitting& at) {
  NameList outside;
  for (const RowBlock& block : at.study.file.blocks) {
    if (!block.match) continue;
    const auto& listed = at.policy.matchings;
    if (std::find(listed.begin(), listed.end(), block.match->record) == listed.end())
      outside.push_back("the matching " + Quote(block.match->matching));
  }
  return NotListed(outside);
}

// "result" of "result/main".
std::string KindOf(const PlanRelease& release) {
  return release.id.substr(0, release.id.find('/'));
}

// What plans call noise that a statement bounds, and what is made of it. All else counts as exact.
constexpr std::string_view kNoiseMechanisms[] = {"discrete Gaussian", "discrete-gaussian",
                                                 "computed from the noised moments"};

Leakage LeakageOf(const PlanRelease& release, const Plan& plan) {
  const bool noisy =
      std::any_of(std::begin(kNoiseMechanisms), std::end(kNoiseMechanisms),
                  [&](std::string_view noise) { return release.mechanism.starts_with(noise); });
  return noisy && plan.privacy_statement ? Leakage::kNoisy : Leakage::kExact;
}

bool OpensExactly(const Plan& plan) {
  return plan.releases.empty() ||
         std::any_of(plan.releases.begin(), plan.releases.end(), [&](const PlanRelease& release) {
           return LeakageOf(release, plan) == Leakage::kExact;
         });
}

bool OpensWithNoise(const Plan& plan) {
  return std::any_of(plan.releases.begin(), plan.releases.end(), [&](const PlanRelease& release) {
    return LeakageOf(release, plan) == Leakage::kNoisy;
  });
}

Misfits FitsMaxLeakage(const Fitting& at) {
  Misfits misfits;
  const Plan& plan = at.study.plan;
  for (const PlanRelease& release : plan.releases) {
    const auto listed = at.policy.max_leakage.find(KindOf(release));
    if (listed == at.policy.max_leakage.end())
      misfits.push_back("does not have what the plan opens as " + Quote(KindOf(release)));
    else if (listed->second == Leakage::kNoisy && LeakageOf(release, plan) == Leakage::kExact)
      misfits.push_back("has " + Quote(KindOf(release)) + " with noise only");
  }
  std::sort(misfits.begin(), misfits.end());
  misfits.erase(std::unique(misfits.begin(), misfits.end()), misfits.end());
  return misfits;
}

// The record of served rows then takes a row with a corrected cell for the same row, and exact results before and
// after open what was corrected.
bool KnowsRowsByKey(const StudyFile& file) {
  return !file.table.key.empty() ||
         std::any_of(file.blocks.begin(), file.blocks.end(),
                     [](const RowBlock& block) { return block.match.has_value(); });
}

// Subsets, derived variables, weights, groups, missing cells, codes and matchings all select rows, and exact
// results of two selections can be subtracted: only files that a steward named, byte for byte.
Misfits FitsExact(const Fitting& at) {
  if (!OpensExactly(at.study.plan)) return {};
  if (KnowsRowsByKey(at.study.file))
    return {"opens exact results only of rows that are known by all their cells"};
  const Digest digest = crypto::Sha256Of(AsBytes(at.study.file.text));
  const auto& listed = at.policy.exact;
  if (std::find(listed.begin(), listed.end(), digest) != listed.end()) return {};
  return {"does not have this study file among those with exact results"};
}

Misfits FitsEpsilonPerStudy(const Fitting& at) {
  const auto epsilon = EpsilonOf(at.study, at.policy);
  if (!epsilon) return {"needs a bound of epsilon for everybody whom the engine withstands"};
  if (*epsilon == 0) return {};
  if (at.policy.epsilon_per_study && *epsilon <= *at.policy.epsilon_per_study) return {};
  return {fmt::format("has epsilon {} for a study, and this one takes {}",
                      at.policy.epsilon_per_study.value_or(0), *epsilon)};
}

Misfits FitsEpsilonInAll(const Fitting& at) {
  const auto epsilon = EpsilonOf(at.study, at.policy);
  if (!epsilon || !at.policy.epsilon_in_all) return {};
  if (at.spent.epsilon + *epsilon <= *at.policy.epsilon_in_all) return {};
  return {fmt::format("has epsilon {} in all, of which {} are spent", *at.policy.epsilon_in_all,
                      at.spent.epsilon)};
}

Misfits FitsMaxResults(const Fitting& at) {
  if (at.spent.results < at.policy.max_results) return {};
  return {fmt::format("was for {} results, which are used up", at.policy.max_results)};
}

Misfits FitsValidUntil(const Fitting& at) {
  if (at.spent.now < at.policy.valid_until) return {};
  return {"ended at " + FormatUtc(at.policy.valid_until)};
}

Misfits FitsTrust(const Fitting& at) {
  if (at.study.trust.empty()) return {};
  return {"takes no study with a warning: " + at.study.trust.front()};
}

Misfits FitsUseful(const Fitting& at) {
  if (at.study.useless.empty()) return {};
  return {"takes no study that is of little use: " + at.study.useless};
}

struct FieldOfPolicy {
  const char* name;
  Misfits (*fits)(const Fitting&);
};
constexpr FieldOfPolicy kFields[] = {
    {"tables", FitsTables},
    {"party", FitsParties},
    {"proposers", FitsProposers},
    {"dealers", FitsDealers},
    {"min_parties", FitsMinParties},
    {"methods", FitsMethods},
    {"protocols", FitsProtocols},
    {"functions", FitsFunctions},
    {"engines", FitsEngines},
    {"receivers", FitsReceivers},
    {"releases", FitsReleases},
    {"variables", FitsVariables},
    {"conditions", FitsConditions},
    {"max_rows_per_person", FitsRowsPerPerson},
    {"key", FitsKey},
    {"block", FitsBlock},
    {"matchings", FitsMatchings},
    {"max_leakage", FitsMaxLeakage},
    {"exact", FitsExact},
    {"epsilon_per_study", FitsEpsilonPerStudy},
    {"epsilon_in_all", FitsEpsilonInAll},
    {"max_results", FitsMaxResults},
    {"valid_until", FitsValidUntil},
    {"trust", FitsTrust},
    {"useful", FitsUseful},
};

uint32_t ComputingParties(const StudyFile& file) {
  uint32_t parties = 0;
  for (const Party& party : file.parties) parties += party.dealer ? 0 : 1;
  return parties;
}

// What no engine promises: the dealer together with a party, or more parties than it withstands.
bool IsBeyondEngine(const PolicyStudy& study, const privacy::Adversary& adversary) {
  if (adversary.with_dealer) return study.engine.dealer;
  if (adversary.kind != privacy::AdversaryKind::kCoalition) return false;
  return !privacy::Withstands(study.engine, adversary.size, ComputingParties(study.file));
}

}  // namespace

std::vector<PolicyReason> FitsPolicy(const PolicyStudy& study, const Policy& policy,
                                     const PolicySpent& spent) {
  const Fitting at = {study, policy, spent};
  std::vector<PolicyReason> reasons;
  for (const FieldOfPolicy& field : kFields) {
    for (const std::string& misfit : field.fits(at))
      reasons.push_back({field.name, fmt::format("the policy '{}' {}", policy.name, misfit)});
  }
  return reasons;
}

std::map<std::string, Leakage> LeakageOf(const Plan& plan) {
  std::map<std::string, Leakage> leakage;
  for (const PlanRelease& release : plan.releases) {
    Leakage& kind = leakage.emplace(KindOf(release), Leakage::kNoisy).first->second;
    if (LeakageOf(release, plan) == Leakage::kExact) kind = Leakage::kExact;
  }
  return leakage;
}

std::vector<std::string> PolicyFields() {
  std::vector<std::string> names;
  for (const FieldOfPolicy& field : kFields) names.emplace_back(field.name);
  return names;
}

std::optional<double> EpsilonOf(const PolicyStudy& study, const Policy& policy) {
  if (!OpensWithNoise(study.plan)) return 0;
  double epsilon = 0;
  bool bounded = false;
  for (const privacy::StatementRow& row : study.plan.privacy_statement->rows) {
    if (row.loss.infinite && IsBeyondEngine(study, row.adversary)) continue;
    const bool counts = !row.loss.infinite && std::isfinite(row.loss.epsilon_upper) &&
                        row.adjacency == policy.adjacency && policy.delta &&
                        row.loss.delta <= *policy.delta;
    if (!counts) return std::nullopt;
    bounded = true;
    epsilon = std::max(epsilon, row.loss.epsilon_upper);
  }
  if (!bounded) return std::nullopt;
  return epsilon;
}

}  // namespace partita::study
