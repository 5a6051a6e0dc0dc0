#include "study/approval/fits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <set>

#include "base/utc_time.h"
#include "crypto/hash.h"
#include "methods/mle/section.h"
#include "tests/data/expect_error.h"
#include "tests/study/edited.h"
#include "tests/study/policy_case.h"

namespace partita::study::fits_test {
namespace {

using policy_case::Case;
using policy_case::CaseOf;
using policy_case::Example;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// With noise, and the same without.
const std::string& NoisyText() {
  static const std::string text = Example("private_regression");
  return text;
}
std::string ExactText() { return NoisyText().substr(0, NoisyText().find("[analysis.privacy]")); }
const Case& Noisy() {
  static const Case made = CaseOf(NoisyText());
  return made;
}

Digest FileDigest(const std::string& text) { return crypto::Sha256Of(AsBytes(text)); }

// A policy by which this very file may open its exact results.
Case ExactCase(const std::string& text, const std::string& allowed) {
  Case made = CaseOf(text);
  made.policy.exact = {FileDigest(allowed)};
  made.policy.max_leakage.clear();
  for (const PlanRelease& release : made.plan.releases)
    made.policy.max_leakage[release.id.substr(0, release.id.find('/'))] = Leakage::kExact;
  return made;
}

data::Condition On(const std::string& variable, double below) {
  data::Condition condition;
  condition.variable = variable;
  condition.kind = data::Condition::Kind::kBelow;
  condition.number = below;
  return condition;
}

methods::mle::MleSection& OwnMle(AnalysisSpec& analysis) {
  const auto own = std::make_shared<methods::mle::MleSection>(methods::mle::MleOf(analysis));
  analysis.section = own;
  return *own;
}

RowMatch MatchOf(const Digest& record) {
  RowMatch match;
  match.matching = "lists";
  match.record = record;
  return match;
}

TEST(FitsTest, AStudyThatKeepsWithin) {
  EXPECT_EQ(Noisy().Sentence(), "fits");
  EXPECT_EQ(ExactCase(ExactText(), ExactText()).Sentence(), "fits");
}

struct Miss {
  std::string field, says;
  std::function<void(Case&)> change;
};

// For each field studies that miss by it alone.
std::vector<Miss> AllMisses() {
  return {
      {"tables", "does not have the table 'others'", [](Case& c) { c.table = "others"; }},
      {"tables", "this one does not", [](Case& c) { c.table = ""; }},
      {"party", "does not have the party 'west'",
       [](Case& c) { c.policy.parties.erase(c.policy.parties.begin() + 1); }},
      {"party", "has party 'west' by other keys",
       [](Case& c) { c.parties[1].node_key = DigestOf('9'); }},
      {"party", "has party 'west' by other keys",
       [](Case& c) { c.parties[1].steward_key = DigestOf('9'); }},
      {"party", "has party 'west' by other keys",
       [](Case& c) { c.parties.erase(c.parties.begin() + 1); }},
      {"proposers", "does not have the proposer 'west'", [](Case& c) { c.proposer = "west"; }},
      {"proposers", "a proposer who is no party of it",
       [](Case& c) {
         c.policy.proposers = {"east"};
         c.proposer = "east";
       }},
      {"dealers", "does not have the dealer 'helper'", [](Case& c) { c.policy.dealers.clear(); }},
      {"min_parties", "asks for 4 parties with rows, and this study has 3",
       [](Case& c) { c.policy.min_parties = 4; }},
      {"methods", "the method of analysis 'main' 'glm'",
       [](Case& c) { c.file.analyses[0].method = "glm"; }},
      {"protocols", "'likelihood'", [](Case& c) { c.file.analyses[0].protocol = "likelihood"; }},
      {"functions", "the function of analysis 'main' 'growth'",
       [](Case& c) { OwnMle(c.file.analyses[0]).function = "growth"; }},
      {"engines", "does not have the engine 'shamir'",
       [](Case& c) { c.file.engine.name = "shamir"; }},
      {"engines", "no threshold that a study sets", [](Case& c) { c.file.engine.threshold = 1; }},
      {"engines", "no stored correlations",
       [](Case& c) { c.file.engine.stored_correlations = true; }},
      {"receivers", "the receiver 'west'",
       [](Case& c) {
         c.file.parties[0].receiver = false;
         c.file.parties[2].receiver = true;
       }},
      {"receivers", "the receiver of a release of analysis 'main' 'all'",
       [](Case& c) { c.policy.receivers = {"north"}; }},
      {"releases", "the release of analysis 'main' 'robust'",
       [](Case& c) { OwnMle(c.file.analyses[0]).robust = true; }},
      {"variables", "the variable 'bmi'",
       [](Case& c) {
         c.policy.variables = {"sbp", "age", "smoker"};
       }},
      {"variables", "the group of analysis 'main' 'ward'",
       [](Case& c) { OwnMle(c.file.analyses[0]).group = "ward"; }},
      {"variables", "the weights 'ward'", [](Case& c) { c.file.design.weights = "ward"; }},
      {"variables", "the cluster 'ward'", [](Case& c) { c.file.design.cluster = "ward"; }},
      {"conditions", "the condition 'age < 42'",
       [](Case& c) { c.file.population.subset = {On("age", 42)}; }},
      {"conditions", "the condition 'age < 42'",
       [](Case& c) {
         c.file.analyses[0].subset = {On("age", 40), On("age", 42)};
       }},
      {"max_rows_per_person", "says 20 rows of a person, and this study 1",
       [](Case& c) { c.policy.max_rows_per_person = 20; }},
      {"max_rows_per_person", "says 1 rows of a person, and this study 2",
       [](Case& c) { c.file.population.max_rows_per_person = 2; }},
      {"key", "the key column 'ssn'", [](Case& c) { c.file.table.key = "ssn"; }},
      {"key", "the key column 'ssn'",
       [](Case& c) {
         c.policy.key = "id";
         c.file.table.key = "ssn";
       }},
      {"block", "the block column 'hiv'", [](Case& c) { c.file.table.block = "hiv"; }},
      {"block", "the block column 'hiv'",
       [](Case& c) {
         c.policy.block = "site";
         c.file.table.block = "hiv";
       }},
      {"matchings", "the matching 'lists'",
       [](Case& c) { c.file.blocks[0].match = MatchOf(DigestOf('7')); }},
      {"matchings", "the matching 'lists'",
       [](Case& c) {
         c.policy.matchings = {DigestOf('8')};
         c.file.blocks[0].match = MatchOf(DigestOf('7'));
       }},
      {"max_leakage", "does not have what the plan opens as 'result'",
       [](Case& c) { c.policy.max_leakage.erase("result"); }},
      {"exact", "this study file",
       [](Case& c) {
         c.policy.max_leakage["moments"] = Leakage::kExact;
         c.plan.releases[0].mechanism = "exact";
       }},
      {"exact", "this study file",
       [](Case& c) {
         c.policy.max_leakage["moments"] = Leakage::kExact;
         c.plan.releases[0].mechanism = "a noise of a later version";
       }},
      {"exact", "this study file", [](Case& c) { c.plan.releases.clear(); }},
      {"exact", "known by all their cells",
       [](Case& c) {
         c = ExactCase(ExactText(), ExactText());
         c.policy.key = c.file.table.key = "id";
       }},
      {"exact", "known by all their cells",
       [](Case& c) {
         c = ExactCase(ExactText(), ExactText());
         c.policy.matchings = {DigestOf('7')};
         c.file.blocks[0].match = MatchOf(DigestOf('7'));
       }},
      {"epsilon_per_study", "has epsilon 2 for a study",
       [](Case& c) { c.policy.epsilon_per_study = 2; }},
      {"epsilon_per_study", "needs a bound", [](Case& c) { c.policy.delta = 1e-7; }},
      {"epsilon_per_study", "needs a bound",
       [](Case& c) { c.policy.adjacency = privacy::Adjacency::kAddRemove; }},
      {"epsilon_in_all", "of which 10 are spent", [](Case& c) { c.spent.epsilon = 10; }},
      {"max_results", "30 results, which are used up", [](Case& c) { c.spent.results = 30; }},
      {"valid_until", "ended at 2030-12-31T23:59:59Z",
       [](Case& c) { c.spent.now = c.policy.valid_until; }},
      {"trust", "a warning: north introduced both",
       [](Case& c) { c.trust = {"north introduced both"}; }},
      {"useful", "of little use: noise", [](Case& c) { c.useless = "noise"; }},
  };
}

TEST(FitsTest, EveryFieldRefusesByItself) {
  std::set<std::string> seen;
  for (const Miss& miss : AllMisses()) {
    Case changed = Noisy();
    miss.change(changed);
    SCOPED_TRACE(miss.field + ": " + miss.says);
    EXPECT_THAT(changed.Misses(), ElementsAre(miss.field));
    EXPECT_THAT(changed.Sentence(), HasSubstr("the policy 'pressure' "));
    EXPECT_THAT(changed.Sentence(), HasSubstr(miss.says));
    seen.insert(miss.field);
  }
  const std::vector<std::string> fields = PolicyFields();
  EXPECT_EQ(seen, std::set<std::string>(fields.begin(), fields.end()));
}

// With 'noisy' in the policy exact is two steps too far: by the kind, and by the file.
TEST(FitsTest, ExactIsNotNoisy) {
  Case changed = Noisy();
  changed.plan.releases[0].mechanism = "exact";
  EXPECT_THAT(changed.Misses(), ElementsAre("exact", "max_leakage"));
  EXPECT_THAT(changed.Sentence(), HasSubstr("has 'moments' with noise only"));
  // A plan that calls itself noisy and bounds nothing.
  changed = Noisy();
  changed.plan.privacy_statement.reset();
  EXPECT_THAT(changed.Misses(), ElementsAre("exact", "max_leakage"));
}

// Every reason is told, not the first alone.
TEST(FitsTest, AllReasonsAreTold) {
  Case changed = Noisy();
  changed.table = "others";
  changed.proposer = "west";
  changed.spent.results = 31;
  EXPECT_THAT(changed.Misses(), ElementsAre("max_results", "proposers", "tables"));
}

// The last one that fits, and the first that does not.
TEST(FitsTest, LimitsAreInclusive) {
  Case edge = Noisy();
  const double epsilon = EpsilonOf(edge.study(), edge.policy).value();
  edge.policy.epsilon_per_study = epsilon;
  edge.policy.epsilon_in_all = 4 + epsilon;
  edge.spent = {29, 4, edge.policy.valid_until - 1};
  EXPECT_THAT(edge.Reasons(), IsEmpty());
  edge.policy.epsilon_per_study = std::nextafter(epsilon, 0);
  EXPECT_THAT(edge.Misses(), ElementsAre("epsilon_per_study"));
}

// Largest over everybody whom the engine withstands: any two parties together.
TEST(FitsTest, EpsilonIsThatOfTheStrongest) {
  const Case& noisy = Noisy();
  double largest = 0;
  bool has_dealer_and_party = false;
  for (const privacy::StatementRow& row : noisy.plan.privacy_statement->rows) {
    if (row.loss.infinite)
      has_dealer_and_party |= row.adversary.with_dealer;
    else
      largest = std::max(largest, row.loss.epsilon_upper);
  }
  EXPECT_TRUE(has_dealer_and_party);
  EXPECT_GT(largest, 2.9);
  EXPECT_EQ(EpsilonOf(noisy.study(), noisy.policy), largest);
}

TEST(FitsTest, NoBoundForAnybodyWhomTheEngineWithstandsIsNone) {
  const Case& noisy = Noisy();
  const auto with_row = [&](privacy::AdversaryKind kind, uint32_t size, bool with_dealer) {
    Case changed = noisy;
    privacy::StatementRow row;
    row.adversary.kind = kind;
    row.adversary.size = size;
    row.adversary.with_dealer = with_dealer;
    row.loss.infinite = true;
    changed.plan.privacy_statement->rows.push_back(row);
    return EpsilonOf(changed.study(), changed.policy).has_value();
  };
  using Kind = privacy::AdversaryKind;
  EXPECT_FALSE(with_row(Kind::kParty, 0, false));
  EXPECT_FALSE(with_row(Kind::kOutsideAnalyst, 0, false));
  EXPECT_FALSE(with_row(Kind::kDealer, 0, false));
  EXPECT_FALSE(with_row(Kind::kBatchObserver, 0, false));
  EXPECT_FALSE(with_row(Kind::kCoalition, 2, false));
  EXPECT_TRUE(with_row(Kind::kCoalition, 3, false));
  EXPECT_TRUE(with_row(Kind::kParty, 0, true));
  // An engine without a dealer promises nothing about one.
  Case changed = noisy;
  changed.engine = privacy::EngineStructure::kReplicated;
  EXPECT_FALSE(EpsilonOf(changed.study(), changed.policy));
  // No row at all is no bound.
  changed = noisy;
  changed.plan.privacy_statement->rows.clear();
  EXPECT_FALSE(EpsilonOf(changed.study(), changed.policy));
  // Nor is what compares with nothing.
  for (const double epsilon :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    changed = noisy;
    changed.plan.privacy_statement->rows[0].loss.epsilon_upper = epsilon;
    EXPECT_FALSE(EpsilonOf(changed.study(), changed.policy));
  }
  changed = noisy;
  changed.policy.delta.reset();
  EXPECT_FALSE(EpsilonOf(changed.study(), changed.policy));
}

// Whatever selects other rows of the same table. Exact: it is another file, for a person. With noise the
// losses add up, and both are signed.
struct Selection {
  std::string name, one, other;  // TOML in place of the marks below
};

std::string With(const std::string& text, const std::string& change) {
  if (change.starts_with("[[derived]]"))
    return Edited(Edited(text, "[design]\n", change + "\n[design]\n"), "+ smoker\n",
                  "+ smoker + old.over\n");
  if (change.starts_with("[population]"))
    return Edited(text, "[design]\n", change + "\n[design]\n");
  if (change.starts_with("subset"))
    return Edited(text, "function = \"sem\"\n", "function = \"sem\"\n" + change + "\n");
  if (change.starts_with("sbp")) return Edited(text, "sbp ~ age + bmi + smoker", change);
  if (change.find("weights") != std::string::npos)
    return Edited(With(text, "sbp ~ age + bmi"), "missing = \"refuse\"\n", change + "\n");
  return Edited(text, "missing = \"refuse\"\n", change + "\n");
}

std::string Old(int from) {
  return "[[derived]]\nname = \"old\"\nfrom = \"age\"\ntransform = \"cut\"\npoints = [" +
         std::to_string(from) + "]\nlabels = [\"under\", \"over\"]\n";
}

std::string Below(int age) {
  return "subset = [{variable = \"age\", below = " + std::to_string(age) + "}]";
}

TEST(FitsTest, AnotherSelectionOfTheSameTableIsForAPerson) {
  const std::vector<Selection> selections = {
      {"subset of an analysis", Below(40), Below(41)},
      {"subset of the population", "[population]\n" + Below(40) + "\n",
       "[population]\n" + Below(41) + "\n"},
      {"derived group", Old(40), Old(41)},
      {"a variable that one row lacks", "sbp ~ age + bmi", "sbp ~ age + bmi + smoker"},
      {"the rule for missing cells", "missing = \"refuse\"", "missing = \"complete\""},
      {"0/1 weights", "sbp ~ age + bmi",
       "missing = \"refuse\"\nweights = \"smoker\"\nweights_type = \"frequency\""},
  };
  for (const Selection& selection : selections) {
    SCOPED_TRACE(selection.name);
    const std::string one = With(ExactText(), selection.one);
    const std::string other = With(ExactText(), selection.other);
    EXPECT_EQ(ExactCase(one, one).Sentence(), "fits");
    const Case second = ExactCase(other, one);
    EXPECT_THAT(second.Misses(), ElementsAre("exact"));
    EXPECT_THAT(second.Sentence(), HasSubstr("those with exact results"));
  }
}

TEST(FitsTest, SelectionsWithNoiseAddUp) {
  double spent = 0;
  for (const std::string& change : {Below(40), Below(41), Old(40), Old(41)}) {
    SCOPED_TRACE(change);
    Case made = CaseOf(With(NoisyText(), change));
    made.policy.epsilon_in_all = 12;
    made.spent.epsilon = spent;
    EXPECT_EQ(made.Sentence(), "fits");
    spent += EpsilonOf(made.study(), made.policy).value();
  }
  EXPECT_GT(spent, 4 * 2.9);
  Case fifth = Noisy();
  fifth.spent.epsilon = spent;
  EXPECT_THAT(fifth.Misses(), ElementsAre("epsilon_in_all"));
}

// Another matching, and codes for missing cells that drop the rows that a proposer chooses: bytes of the file.
TEST(FitsTest, ExactIsByteForByte) {
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {"upper = 90", "upper = 89"},
           {"[table]\n", "[table]\nmissing = [\"41\"]\n"},
           {"count = 900", "count = 901"},
           {"sbp ~ age", "sbp ~  age"}}) {
    SCOPED_TRACE(to);
    Case changed = ExactCase(ExactText(), ExactText());
    changed.file.text = Edited(ExactText(), from, to);
    EXPECT_THAT(changed.Misses(), ElementsAre("exact"));
  }
  EXPECT_EQ(ToHex(FileDigest(ExactText())), CaseOf(ExactText()).plan.study_file_hash);
}

// A study of every kind of method goes through a policy that was written for it, and through no narrower one.
Policy PolicyFor(const Case& made, const std::string& table) {
  Policy policy = made.policy;
  policy.tables = {table};
  for (auto list : {&AdmittedLists::methods, &AdmittedLists::protocols, &AdmittedLists::functions,
                    &AdmittedLists::releases, &AdmittedLists::variables})
    (policy.*list).clear();
  policy.receivers = {"all"};
  policy.engines = {made.file.engine.name};
  for (const AnalysisSpec& analysis : made.file.analyses) {
    policy.methods.push_back(analysis.method);
    policy.protocols.push_back(analysis.protocol);
    const SectionUses uses = analysis.section->Uses();
    policy.functions.insert(policy.functions.end(), uses.functions.begin(), uses.functions.end());
    for (const ReleaseSpec& release : uses.releases) policy.releases.push_back(release.what);
    for (const ReleaseSpec& release : analysis.releases) policy.releases.push_back(release.what);
    for (const data::Condition& condition : analysis.subset)
      policy.conditions.push_back(data::ConditionText(condition));
  }
  for (const data::Condition& condition : made.file.population.subset)
    policy.conditions.push_back(data::ConditionText(condition));
  for (const data::ColumnSchema& column : made.file.dictionary.columns) {
    for (const std::string& name : {column.name, column.time_column, column.event_column})
      policy.variables.push_back(name);
  }
  policy.parties.clear();
  policy.dealers.clear();
  for (const Party& party : made.file.parties) {
    if (party.receiver) policy.receivers.push_back(party.name);
    if (party.dealer) policy.dealers.push_back(party.name);
  }
  policy.proposers = {made.proposer};
  policy.min_parties = 2;
  policy.max_rows_per_person = static_cast<uint64_t>(made.file.population.max_rows_per_person);
  policy.key = made.file.table.key;
  policy.block = made.file.table.block;
  for (const RowBlock& block : made.file.blocks) {
    if (block.match) policy.matchings.push_back(block.match->record);
  }
  policy.max_leakage.clear();
  for (const PlanRelease& release : made.plan.releases) {
    policy.max_leakage[release.id.substr(0, release.id.find('/'))] = Leakage::kNoisy;
  }
  policy.epsilon_per_study = 100;
  policy.epsilon_in_all.reset();
  policy.delta = 0.01;
  return policy;
}

struct Shown {
  std::string example;
  bool noisy, has_key = false;
};

TEST(FitsTest, StudiesOfManyMethods) {
  const std::vector<Shown> examples = {
      {"private_regression", true}, {"private_classifier", true},
      {"synthetic_registry", true}, {"three_factor/horizontal", false},
      {"registry_survival", false}, {"readmission", false},
      {"pooled_registries", false}, {"baseline_table", false},
      {"trial_survival", false},    {"matched_lists", false, true},
      {"ward_recovery", false}};
  for (const Shown& shown : examples) {
    SCOPED_TRACE(shown.example);
    const std::string text = Example(shown.example);
    Case made = CaseOf(text);
    made.parties.clear();
    made.self = made.file.parties[0].name;
    made.proposer = made.file.parties[1].name;
    made.policy = PolicyFor(made, made.table);
    for (const Party& party : made.file.parties) {
      const KnownParty known = {party.name, DigestOf('1'), DigestOf('2')};
      made.parties.push_back(known);
      made.policy.parties.push_back(known);
    }
    if (shown.noisy) {
      EXPECT_EQ(made.Sentence(), "fits");
      continue;
    }
    EXPECT_THAT(made.Misses(), ElementsAre("exact", "max_leakage"));
    for (auto& [kind, leakage] : made.policy.max_leakage) leakage = Leakage::kExact;
    EXPECT_THAT(made.Misses(), ElementsAre("exact"));
    made.policy.exact = {FileDigest(text)};
    EXPECT_EQ(made.Sentence(), shown.has_key ? "the policy 'pressure' opens exact results only of "
                                               "rows that are known by all their cells"
                                             : "fits");
  }
}

}  // namespace
}  // namespace partita::study::fits_test
