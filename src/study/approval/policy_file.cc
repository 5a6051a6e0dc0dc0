// The text of a policy as a steward writes it.
#include <cmath>

#include "base/hex.h"
#include "study/approval/envelope_keys.h"
#include "study/approval/policy.h"
#include "study/file/limits.h"
#include "study/file/sections.h"
#include "study/file/text.h"

namespace partita::study {
namespace {

const std::vector<std::string> kPolicyKeys = {"partita_envelope",
                                              "name",
                                              "tables",
                                              "methods",
                                              "protocols",
                                              "functions",
                                              "engines",
                                              "receivers",
                                              "releases",
                                              "variables",
                                              "conditions",
                                              "proposers",
                                              "dealers",
                                              "min_parties",
                                              "max_results",
                                              "valid_until",
                                              "max_leakage",
                                              "epsilon_per_study",
                                              "delta",
                                              "epsilon_in_all",
                                              "adjacency",
                                              "max_rows_per_person",
                                              "key",
                                              "block",
                                              "matchings",
                                              "exact",
                                              "min_cell",
                                              "min_rows",
                                              "refuse_small_samples",
                                              "party"};

Digest ReadPolicyDigest(const TableReader& reader, std::string_view key, const LocatedText& text) {
  Digest digest{};
  const bool good = text.value.size() == 2 * digest.size() && FromHex(text.value, digest);
  if (good && digest != Digest{}) return digest;
  reader.Fail(text.position, "'" + std::string(key) + "' cannot be " + Quote(text.value),
              "write 64 hexadecimal digits");
}

std::vector<Digest> ReadPolicyDigests(const TableReader& root, std::string_view key) {
  std::vector<Digest> digests;
  const auto texts = root.OptionalTexts(key);
  if (!texts) return digests;
  CheckDistinct(root, *texts, key);
  for (const LocatedText& text : *texts) digests.push_back(ReadPolicyDigest(root, key, text));
  return digests;
}

// Not a number, or infinite, would be no limit.
std::optional<double> ReadLimit(const TableReader& root, std::string_view key, double most) {
  const auto number = root.OptionalNumber(key);
  if (!number) return std::nullopt;
  if (!(number->value > 0 && number->value <= most)) {
    root.Fail(number->position, "'" + std::string(key) + "' is out of range",
              "write a number above 0");
  }
  return number->value;
}

std::string ReadPolicyColumn(const TableReader& root, std::string_view key) {
  const auto column = root.OptionalText(key);
  if (!column) return "";
  CheckPlainText(root, *column, key, kMaxColumnNameBytes);
  return column->value;
}

// The names are those of plans, which no list here could hold: one that is not a release admits nothing.
std::map<std::string, Leakage> ReadMaxLeakage(const TableReader& root, const toml::table& tree) {
  constexpr char kExample[] = "max_leakage = {moments = \"noisy\"}";
  std::vector<std::string> keys;
  if (const auto* table = tree["max_leakage"].as_table()) {
    for (const auto& [key, value] : *table) keys.emplace_back(key.str());
  }
  const TableReader reader = root.Table("max_leakage", keys, kExample);
  std::map<std::string, Leakage> leakage;
  for (const std::string& key : keys) {
    const std::string form = reader.Choice(reader.Text(key, kExample), key, {"exact", "noisy"});
    leakage[key] = form == "exact" ? Leakage::kExact : Leakage::kNoisy;
  }
  if (leakage.empty()) {
    root.Fail(root.PositionOf("max_leakage"), "'max_leakage' lists nothing",
              "name the releases of the plan, each \"exact\" or \"noisy\"");
  }
  return leakage;
}

std::vector<KnownParty> ReadKnownParties(const TableReader& root) {
  std::vector<KnownParty> parties;
  std::vector<LocatedText> names;
  for (const TableReader& reader : root.Tables("party", {"name", "node", "steward"})) {
    KnownParty party;
    names.push_back(reader.Text("name", "name = \"north\""));
    CheckName(reader, names.back(), kPartyName);
    party.name = names.back().value;
    constexpr char kDigits[] = "the fingerprint of 'partita node parties'";
    party.node_key = ReadPolicyDigest(reader, "node", reader.Text("node", kDigits));
    party.steward_key = ReadPolicyDigest(reader, "steward", reader.Text("steward", kDigits));
    parties.push_back(party);
  }
  if (parties.empty()) root.FailMissing("party", "[[party]]");
  CheckDistinct(root, names, "party");
  return parties;
}

bool HasNoise(const Policy& policy) {
  for (const auto& [release, leakage] : policy.max_leakage) {
    if (leakage == Leakage::kNoisy) return true;
  }
  return false;
}

void ReadPrivacyLimits(const TableReader& root, Policy& policy) {
  policy.epsilon_per_study = ReadLimit(root, "epsilon_per_study", kMaxEpsilon);
  policy.epsilon_in_all = ReadLimit(root, "epsilon_in_all", 1e6);
  policy.delta = ReadLimit(root, "delta", kMaxDelta);
  if (HasNoise(policy)) {
    if (!policy.epsilon_per_study) root.FailMissing("epsilon_per_study", "epsilon_per_study = 1");
    if (!policy.delta) root.FailMissing("delta", "delta = 1e-6");
  }
  const auto adjacency = root.OptionalText("adjacency");
  if (adjacency && root.Choice(*adjacency, "adjacency", {"replace", "add-remove"}) == "add-remove")
    policy.adjacency = privacy::Adjacency::kAddRemove;
}

// One study file on two tables that differ in one row opens that row.
void ReadExact(const TableReader& root, Policy& policy) {
  policy.exact = ReadPolicyDigests(root, "exact");
  if (policy.exact.empty() || policy.tables.size() == 1) return;
  root.Fail(root.PositionOf("tables"),
            "a policy with 'exact' has one table, not " + std::to_string(policy.tables.size()),
            "write a policy for each table: exact results of two tables can be subtracted");
}

}  // namespace

bool IsPolicyFile(const std::string& text) {
  try {
    const toml::table tree = ParseEnvelopeToml(text, "the envelope");
    return tree["partita_envelope"].value<int64_t>() == kPolicyFormat;
  } catch (const Error&) {
    return false;
  }
}

Policy ParsePolicyFile(const std::string& text, const std::string& file,
                       const std::vector<std::string>& methods) {
  const toml::table tree = ParseEnvelopeToml(text, file);
  const TableReader root(file, tree, "the policy", kPolicyKeys);
  CheckFormat(root, "partita_envelope", kPolicyFormat);
  Policy policy;
  policy.name = ReadEnvelopeName(root);
  static_cast<AdmittedLists&>(policy) = ReadAdmitted(root, methods);
  policy.tables = ReadEnvelopeList(root, "tables", "asthma");
  policy.conditions = ReadEnvelopeList(root, "conditions", "age >= 18", true, kMaxConditionBytes);
  policy.proposers = ReadEnvelopeList(root, "proposers", "north");
  policy.dealers = ReadEnvelopeList(root, "dealers", "helper", true);
  policy.parties = ReadKnownParties(root);
  policy.min_parties = ReadEnvelopeCount(root, "min_parties", 2, kMaxParties, policy.min_parties);
  policy.max_results = ReadMaxResults(root);
  if (policy.max_results > kMaxPolicyResults) {
    root.Fail(root.PositionOf("max_results"),
              "'max_results' of a policy cannot be " + std::to_string(policy.max_results),
              "write a whole number from 1 to " + std::to_string(kMaxPolicyResults));
  }
  policy.valid_until = ReadUntil(root);
  policy.max_leakage = ReadMaxLeakage(root, tree);
  ReadPrivacyLimits(root, policy);
  policy.max_rows_per_person =
      ReadEnvelopeCount(root, "max_rows_per_person", 1, kMaxRowsPerPerson, 1);
  policy.key = ReadPolicyColumn(root, "key");
  policy.block = ReadPolicyColumn(root, "block");
  policy.matchings = ReadPolicyDigests(root, "matchings");
  ReadExact(root, policy);
  policy.disclosure = ReadDemands(root);
  return policy;
}

}  // namespace partita::study
