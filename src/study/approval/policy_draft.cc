#include "study/approval/policy_draft.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/hex.h"
#include "base/utc_time.h"
#include "crypto/hash.h"
#include "study/approval/admitted.h"
#include "study/file/limits.h"
#include "study/file/toml_text.h"

namespace partita::study {
namespace {

constexpr int64_t kDaySeconds = 86'400;

NameList ConditionsOf(const StudyFile& file) {
  NameList texts;
  const auto add = [&texts](const std::vector<data::Condition>& conditions) {
    for (const data::Condition& condition : conditions) {
      std::string text = data::ConditionText(condition);
      if (std::find(texts.begin(), texts.end(), text) == texts.end())
        texts.push_back(std::move(text));
    }
  };
  add(file.population.subset);
  for (const AnalysisSpec& analysis : file.analyses) add(analysis.subset);
  return texts;
}

NameList DealersOf(const StudyFile& file) {
  NameList names;
  for (const Party& party : file.parties) {
    if (party.dealer) names.push_back(party.name);
  }
  return names;
}

uint64_t HoldersOf(const StudyFile& file) {
  return static_cast<uint64_t>(std::count_if(file.parties.begin(), file.parties.end(),
                                             [](const Party& party) { return party.holder; }));
}

bool Opens(const std::map<std::string, Leakage>& leakage, Leakage how) {
  return std::any_of(leakage.begin(), leakage.end(),
                     [how](const auto& entry) { return entry.second == how; });
}

std::string LeakageText(const std::map<std::string, Leakage>& leakage) {
  std::string text;
  for (const auto& [release, how] : leakage) {
    text += fmt::format("{}{} = \"{}\"", text.empty() ? "" : ", ", TomlText(release),
                        how == Leakage::kExact ? "exact" : "noisy");
  }
  return "{" + text + "}";
}

// The neighbours and the largest delta of the statement, at which EpsilonOf looks for a bound.
Policy LimitsOf(const Plan& plan) {
  Policy limits;
  limits.delta = kMinDelta;
  if (!plan.privacy_statement) return limits;
  for (const privacy::StatementRow& row : plan.privacy_statement->rows) {
    if (row.loss.infinite) continue;
    limits.adjacency = row.adjacency;
    limits.delta = std::max(*limits.delta, row.loss.delta);
  }
  return limits;
}

std::string PrivacyLimitsText(const PolicyStudy& study) {
  const Policy limits = LimitsOf(study.plan);
  const double epsilon = EpsilonOf(study, limits).value();
  const bool is_replace = limits.adjacency == privacy::Adjacency::kReplace;
  return fmt::format(
      "# Of one study, and of all that this policy approves.\n"
      "epsilon_per_study = {0}\nepsilon_in_all = {0}\ndelta = {1}\nadjacency = \"{2}\"\n",
      epsilon, *limits.delta, is_replace ? "replace" : "add-remove");
}

std::string ExactText(const StudyFile& file) {
  return fmt::format(
      "# This very file, byte for byte: its results open without noise.\nexact = [\"{}\"]\n",
      ToHex(crypto::Sha256Of(AsBytes(file.text))));
}

std::string RowKeysText(const StudyFile& file) {
  std::string text;
  if (file.population.max_rows_per_person != 1)
    text += fmt::format("max_rows_per_person = {}\n", file.population.max_rows_per_person);
  if (!file.table.key.empty()) text += fmt::format("key = {}\n", TomlText(file.table.key));
  if (!file.table.block.empty()) text += fmt::format("block = {}\n", TomlText(file.table.block));
  NameList records;
  for (const RowBlock& block : file.blocks) {
    if (block.match) records.push_back(ToHex(block.match->record));
  }
  if (!records.empty()) text += fmt::format("matchings = {}\n", TomlTexts(records));
  return text;
}

std::string DemandsText(const DisclosureSpec& disclosure) {
  return fmt::format("min_cell = {}\nmin_rows = {}\nrefuse_small_samples = {}\n",
                     disclosure.min_cell, disclosure.min_rows, disclosure.refuse_small_samples);
}

std::string PartiesText(const PolicyStudy& study) {
  std::string text;
  for (const Party& party : study.file.parties) {
    const auto known = std::find_if(study.parties.begin(), study.parties.end(),
                                    [&](const KnownParty& one) { return one.name == party.name; });
    if (party.name == study.self || known == study.parties.end()) continue;
    text += fmt::format("\n[[party]]\nname = {}\nnode = \"{}\"\nsteward = \"{}\"\n",
                        TomlText(known->name), ToHex(known->node_key), ToHex(known->steward_key));
  }
  return text;
}

std::string DraftText(const PolicyStudy& study, int64_t now) {
  const StudyFile& file = study.file;
  const AdmittedLists used = AllUsedBy(file);
  const std::map<std::string, Leakage> leakage = LeakageOf(study.plan);
  std::string text = fmt::format(
      "# A draft from the study {}. Nothing is approved by it before the steward signs it.\n"
      "partita_envelope = 2\nname = {}\ntables = {}\n",
      TomlText(file.name), TomlText(file.name), TomlTexts({study.table}));
  const auto list = [&text](const char* key, const NameList& names) {
    text += fmt::format("{} = {}\n", key, TomlTexts(names));
  };
  list("methods", used.methods);
  list("protocols", used.protocols);
  list("functions", used.functions);
  list("engines", used.engines);
  list("receivers", used.receivers);
  list("releases", used.releases);
  list("variables", used.variables);
  list("conditions", ConditionsOf(file));
  list("proposers", {study.proposer});
  list("dealers", DealersOf(file));
  text += fmt::format(
      "min_parties = {}\n# How many studies, whether they run or not.\nmax_results = 1\n"
      "valid_until = \"{}\"\nmax_leakage = {}\n",
      std::max<uint64_t>(2, HoldersOf(file)),
      FormatUtc(now + kPolicyDraftDays * kDaySeconds).substr(0, 10), LeakageText(leakage));
  if (Opens(leakage, Leakage::kNoisy)) text += PrivacyLimitsText(study);
  if (Opens(leakage, Leakage::kExact)) text += ExactText(file);
  return text + RowKeysText(file) + DemandsText(file.disclosure) + PartiesText(study);
}

// "a policy takes no study with a warning": the draft has no name that anybody would know.
std::string WithoutName(const std::string& sentence, const std::string& name) {
  const std::string begin = fmt::format("the policy '{}' ", name);
  return sentence.starts_with(begin) ? "a policy " + sentence.substr(begin.size()) : sentence;
}

}  // namespace

PolicyDraft DraftPolicy(const PolicyStudy& study, int64_t now,
                        const std::vector<std::string>& methods) {
  PolicyDraft draft;
  if (study.table.empty()) {
    draft.reasons.emplace_back("a policy is for studies to which this site brings a table");
    return draft;
  }
  if (!EpsilonOf(study, LimitsOf(study.plan))) {
    draft.reasons.emplace_back(
        "a policy needs an epsilon, which the plan does not state for all who could look");
    return draft;
  }
  const std::string text = DraftText(study, now);
  try {
    const Policy policy = ParsePolicyFile(text, "the draft", methods);
    for (const PolicyReason& reason : FitsPolicy(study, policy, {0, 0, now}))
      draft.reasons.push_back(WithoutName(reason.sentence, policy.name));
  } catch (const Error& error) {
    // Longer names than a policy takes, or nothing that opens.
    draft.reasons.push_back("a policy cannot be written for it: " + error.message());
  }
  if (draft.reasons.empty()) draft.text = text;
  return draft;
}

}  // namespace partita::study
