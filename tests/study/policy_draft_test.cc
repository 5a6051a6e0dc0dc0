// The draft of a policy covers the study that it was made from, once, and nothing that differs from it.
#include "study/approval/policy_draft.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <set>

#include "base/hex.h"
#include "base/utc_time.h"
#include "crypto/hash.h"
#include "methods/mle/section.h"
#include "tests/study/edited.h"
#include "tests/study/policy_case.h"

namespace partita::study::policy_draft_test {
namespace {

using policy_case::AllMethodNames;
using policy_case::Case;
using policy_case::CaseOf;
using policy_case::Example;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kNow = 1'790'000'000;
constexpr int64_t kDay = 86'400;

const Case& NoisyCase() {
  static const Case made = CaseOf(Example("private_regression"));
  return made;
}
const Case& WithoutNoise() {
  static const Case made = [] {
    const std::string text = Example("private_regression");
    return CaseOf(text.substr(0, text.find("[analysis.privacy]")));
  }();
  return made;
}

PolicyDraft DraftOf(const Case& made) { return DraftPolicy(made.study(), kNow, AllMethodNames()); }

// The case under the policy of its own draft.
Case UnderItsDraft(Case made) {
  const PolicyDraft draft = DraftOf(made);
  EXPECT_THAT(draft.reasons, IsEmpty());
  made.policy = ParsePolicyFile(draft.text, "the draft", AllMethodNames());
  made.spent = {0, 0, kNow};
  return made;
}

TEST(PolicyDraftTest, CoversItsStudyOnce) {
  for (const Case* made : {&NoisyCase(), &WithoutNoise()}) {
    Case again = UnderItsDraft(*made);
    EXPECT_EQ(again.Sentence(), "fits");
    EXPECT_EQ(again.policy.max_results, 1U);
    EXPECT_EQ(FormatUtc(again.policy.valid_until).substr(0, 10),
              FormatUtc(kNow + 30 * kDay).substr(0, 10));
    again.spent.results = 1;
    EXPECT_THAT(again.Misses(), ElementsAre("max_results"));
    again.spent = {0, 0, kNow + 31 * kDay};
    EXPECT_THAT(again.Misses(), ElementsAre("valid_until"));
  }
}

struct Other {
  std::string field;
  std::function<void(Case&)> change;
};

methods::mle::MleSection& MleOfDraft(Case& made) {
  AnalysisSpec& analysis = made.file.analyses[0];
  const auto own = std::make_shared<methods::mle::MleSection>(methods::mle::MleOf(analysis));
  analysis.section = own;
  return *own;
}

data::Condition Under(const std::string& variable, double below) {
  data::Condition condition;
  condition.variable = variable;
  condition.kind = data::Condition::Kind::kBelow;
  condition.number = below;
  return condition;
}

// One thing at a time.
TEST(PolicyDraftTest, CoversNothingThatDiffers) {
  const std::vector<Other> others = {
      {"tables", [](Case& c) { c.table = "others"; }},
      {"party", [](Case& c) { c.parties[1].node_key = DigestOf('9'); }},
      {"party", [](Case& c) { c.parties[1].steward_key = DigestOf('9'); }},
      {"proposers", [](Case& c) { c.proposer = "west"; }},
      {"dealers", [](Case& c) { c.file.parties[1].dealer = true; }},
      {"min_parties", [](Case& c) { c.file.parties[1].holder = false; }},
      {"methods", [](Case& c) { c.file.analyses[0].method = "glm"; }},
      {"protocols", [](Case& c) { c.file.analyses[0].protocol = "likelihood"; }},
      {"functions", [](Case& c) { MleOfDraft(c).function = "growth"; }},
      {"engines", [](Case& c) { c.file.engine.name = "shamir"; }},
      {"receivers", [](Case& c) { c.file.parties[1].receiver = true; }},
      {"releases", [](Case& c) { MleOfDraft(c).robust = true; }},
      {"variables", [](Case& c) { c.file.design.cluster = "ward"; }},
      {"conditions", [](Case& c) { c.file.population.subset = {Under("age", 42)}; }},
      {"max_rows_per_person", [](Case& c) { c.file.population.max_rows_per_person = 2; }},
      {"key", [](Case& c) { c.file.table.key = "ssn"; }},
      {"block", [](Case& c) { c.file.table.block = "hiv"; }},
      {"matchings",
       [](Case& c) {
         c.file.blocks[0].match.emplace();
         c.file.blocks[0].match->record = DigestOf('7');
       }},
      {"max_leakage", [](Case& c) { c.plan.releases[0].id = "another/main"; }},
      {"epsilon_per_study",
       [](Case& c) { c.plan.privacy_statement->rows[0].loss.epsilon_upper = 50; }},
  };
  const Case own = UnderItsDraft(NoisyCase());
  for (const Other& other : others) {
    SCOPED_TRACE(other.field);
    Case changed = own;
    other.change(changed);
    EXPECT_TRUE(changed.Misses().contains(other.field)) << changed.Sentence();
  }
}

// Exact results open for the very bytes, and the draft of a noisy study opens none.
TEST(PolicyDraftTest, ExactIsOfThisFileAlone) {
  Case exact = UnderItsDraft(WithoutNoise());
  EXPECT_THAT(exact.policy.exact, ElementsAre(crypto::Sha256Of(AsBytes(WithoutNoise().file.text))));
  exact.file.text += "# the same otherwise\n";
  EXPECT_THAT(exact.Misses(), ElementsAre("exact"));
  Case noisy = UnderItsDraft(NoisyCase());
  EXPECT_THAT(noisy.policy.exact, IsEmpty());
  noisy.plan.privacy_statement.reset();
  EXPECT_TRUE(noisy.Misses().contains("exact"));
}

// The numbers are those of the study: no more epsilon, in all either.
TEST(PolicyDraftTest, EpsilonIsThatOfTheStudy) {
  const Case made = UnderItsDraft(NoisyCase());
  EXPECT_EQ(made.policy.epsilon_per_study, EpsilonOf(made.study(), made.policy));
  EXPECT_EQ(made.policy.epsilon_in_all, made.policy.epsilon_per_study);
  EXPECT_EQ(made.policy.disclosure.min_cell, made.file.disclosure.min_cell);
  EXPECT_EQ(made.policy.disclosure.min_rows, made.file.disclosure.min_rows);
}

TEST(PolicyDraftTest, WhatGoesToAPersonHasNone) {
  const std::vector<std::pair<std::string, std::function<void(Case&)>>> studies = {
      {"a policy takes no threshold that a study sets",
       [](Case& c) { c.file.engine.threshold = 1; }},
      {"a policy takes no stored correlations",
       [](Case& c) { c.file.engine.stored_correlations = true; }},
      {"a policy takes no stripes", [](Case& c) { c.file.engine.stripes = 2; }},
      {"a policy is for studies to which this site brings a table", [](Case& c) { c.table = ""; }},
      {"a policy takes no study with a warning: north introduced both",
       [](Case& c) { c.trust = {"north introduced both"}; }},
      {"a policy takes no study that is of little use: noise",
       [](Case& c) { c.useless = "noise"; }},
      {"a policy takes no study of a proposer who is no party of it",
       [](Case& c) { c.proposer = "east"; }},
      {"a policy does not have the party 'west'",
       [](Case& c) { c.parties.erase(c.parties.begin() + 1); }},
      {"a policy needs an epsilon",
       [](Case& c) { c.plan.privacy_statement->rows[0].loss.infinite = true; }},
      {"a policy cannot be written for it: ",
       [](Case& c) { c.file.design.cluster = std::string(65, 'x'); }},
  };
  for (const auto& [reason, change] : studies) {
    SCOPED_TRACE(reason);
    Case changed = NoisyCase();
    change(changed);
    const PolicyDraft draft = DraftOf(changed);
    EXPECT_EQ(draft.text, "");
    ASSERT_FALSE(draft.reasons.empty());
    EXPECT_THAT(draft.reasons[0], HasSubstr(reason));
  }
  Case keyed = WithoutNoise();
  keyed.file.table.key = "id";
  EXPECT_THAT(DraftOf(keyed).reasons, ElementsAre(HasSubstr("rows that are known by all their")));
}

// Whatever a peer wrote stays within its quotes.
TEST(PolicyDraftTest, WordsOfPeersAreQuoted) {
  Case made = NoisyCase();
  made.file.design.cluster = "w\"\nmax_results = 999\n#";
  EXPECT_EQ(DraftOf(made).text, "");
  made.file.design.cluster = R"(w\"]  # max_results = 999)";
  const Case drafted = UnderItsDraft(made);
  EXPECT_EQ(drafted.policy.max_results, 1U);
  EXPECT_EQ(drafted.policy.variables.back(), made.file.design.cluster);
}

TEST(PolicyDraftTest, OfManyMethods) {
  for (const char* example :
       {"private_classifier", "synthetic_registry", "three_factor/horizontal", "registry_survival",
        "readmission", "pooled_registries", "baseline_table", "trial_survival", "ward_recovery"}) {
    SCOPED_TRACE(example);
    Case made = CaseOf(Example(example));
    made.self = made.file.parties[0].name;
    made.proposer = made.file.parties[1].name;
    made.parties.clear();
    for (const Party& party : made.file.parties)
      made.parties.push_back({party.name, DigestOf('1'), DigestOf('2')});
    EXPECT_EQ(UnderItsDraft(made).Sentence(), "fits");
  }
}

}  // namespace
}  // namespace partita::study::policy_draft_test
