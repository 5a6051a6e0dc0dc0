#include "study/plan/hashes.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "base/error.h"
#include "tests/report/sample_run.h"

namespace partita::study::hashes_test {
namespace {

StudyIdentity Identity() {
  StudyIdentity identity;
  identity.wire_version = 1;
  identity.method = "mle";
  identity.method_version = 2;
  identity.study_text = "partita = 1";
  identity.parties = {{"north", {}, "aa"}, {"south", {}, "bb"}};
  return identity;
}

TEST(StudyHashTest, DependsOnEveryField) {
  std::set<Digest> hashes = {AgreementHash(Identity())};
  const std::vector<std::function<void(StudyIdentity&)>> changes = {
      [](auto& i) { i.wire_version = 2; },
      [](auto& i) { i.method = "ml"; },
      [](auto& i) { i.method_version = 3; },
      [](auto& i) { i.study_text += " "; },
      [](auto& i) { i.parties[0].name = "nort"; },
      [](auto& i) { i.parties[1].schema[31] = 1; },
      [](auto& i) { i.parties[1].fingerprint = "bc"; },
      [](auto& i) { std::swap(i.parties[0], i.parties[1]); },
      [](auto& i) { i.parties.pop_back(); },
      // Bytes that move from one field to the next.
      [](auto& i) { i.method = "mlep", i.study_text = "artita = 1"; },
      [](auto& i) { i.parties[0].fingerprint = "aab", i.parties[1].fingerprint = "b"; },
  };
  for (const auto& change : changes) {
    StudyIdentity identity = Identity();
    change(identity);
    EXPECT_TRUE(hashes.insert(AgreementHash(identity)).second) << hashes.size();
  }
  EXPECT_EQ(AgreementHash(Identity()), AgreementHash(Identity()));
}

TEST(StudyHashTest, CommitmentsEnterInOrder) {
  const Digest one = {1}, two = {2};
  const Digest zero{};
  std::set<Digest> hashes = {AgreementHash(Identity())};
  for (const auto& commitments :
       {std::array{zero, zero}, std::array{one, two}, std::array{two, one}, std::array{one, one}}) {
    EXPECT_TRUE(hashes.insert(StudyHash(Identity(), commitments)).second);
  }
  StudyIdentity identity = Identity();
  identity.study_text += " ";
  EXPECT_TRUE(hashes.insert(StudyHash(identity, std::vector{one, two})).second);
  EXPECT_THROW(StudyHash(Identity(), std::vector<Digest>{one}), Error);
}

TEST(StudyHashTest, IsFixed) {
  // Computed apart from this code from the documented encoding; changes only with the wire version.
  EXPECT_EQ(ToHex(AgreementHash(Identity())),
            "202a274011294cefc31dd3563a84d62ceed6710330f5795f68f60f206c1c2046");
  EXPECT_EQ(ToHex(PlanHash(report::FullPlan())),
            "0264efc210ae1333659ea36887818844d720b3e8f6f59263393e769384564bcd");
}

TEST(PlanHashTest, DependsOnTheNormativePartOnly) {
  const Plan original = report::FullPlan();
  std::set<Digest> hashes = {PlanHash(original)};
  const std::vector<std::function<void(Plan&)>> normative = {
      [](Plan& p) { p.study = "x"; },
      [](Plan& p) { p.study_file_hash[0] = 'b'; },
      [](Plan& p) { p.method = "x"; },
      [](Plan& p) { p.method_version = 2; },
      [](Plan& p) { p.protocol = "x"; },
      [](Plan& p) { p.engine = "x"; },
      [](Plan& p) { p.threshold = 1; },
      [](Plan& p) { p.threshold = 2; },
      [](Plan& p) { p.partition = "x"; },
      [](Plan& p) { p.parties[1].name = "x"; },
      [](Plan& p) { p.parties[0].roles.pop_back(); },
      [](Plan& p) { p.parties[0].contributes = "x"; },
      [](Plan& p) { p.parties[0].learns[1] = "x"; },
      [](Plan& p) { p.parties.pop_back(); },
      [](Plan& p) { p.phases[0].name = "x"; },
      [](Plan& p) { p.phases[0].rounds = 7; },
      [](Plan& p) { p.phases[1].links[0].from = "x"; },
      [](Plan& p) { p.phases[1].links[0].to = "x"; },
      [](Plan& p) { p.phases[1].links[1].messages = 3; },
      [](Plan& p) { p.phases[1].links[1].bytes = 3; },
      [](Plan& p) {
        p.preparation = {{"make", 1, {{"a", "b", 1, 10}}}};
      },
      [](Plan& p) {
        p.preparation = {{"make", 2, {{"a", "b", 1, 10}}}};
      },
      [](Plan& p) {
        p.preparation = {{"make", 1, {{"a", "b", 1, 11}}}};
      },
      [](Plan& p) { p.correlations[0].name = "x"; },
      [](Plan& p) { p.correlations[0].count = 3; },
      [](Plan& p) { p.releases[0].id = "x"; },
      [](Plan& p) { p.releases[0].what = "x"; },
      [](Plan& p) { p.releases[0].to = "x"; },
      [](Plan& p) { p.releases[0].mechanism = "x"; },
      [](Plan& p) { p.releases[0].max_count = 2; },
      [](Plan& p) { p.analyses[0].name = "x"; },
      [](Plan& p) { p.analyses[0].protocol = "x"; },
      [](Plan& p) { p.analyses[0].model = "x"; },
      [](Plan& p) { p.analyses[0].rows = "x"; },
      [](Plan& p) { p.analyses[0].free_parameters = 4; },
      [](Plan& p) { p.checks[0].analysis = "x"; },
      [](Plan& p) { p.checks[0].variable = "x"; },
      [](Plan& p) { p.checks[0].rule = "x"; },
      [](Plan& p) { p.checks[0].minimum = 4; },
      [](Plan& p) { p.checks[1].warning = false; },
      [](Plan& p) { p.checks.clear(); },
      [](Plan& p) { p.exposures[0].of = "x"; },
      [](Plan& p) { p.exposures[0].to = "x"; },
      [](Plan& p) { p.exposures[0].opened = 7; },
      [](Plan& p) { p.exposures[0].statistics = 7; },
      [](Plan& p) { p.exposures[0].level = "x"; },
      [](Plan& p) { p.exposures[0].exposes.pop_back(); },
      [](Plan& p) { p.exposures[0].bits.reset(); },
      [](Plan& p) { p.exposures[0].bits->opened = 85; },
      [](Plan& p) { p.exposures[0].bits->table = 191; },
      [](Plan& p) { p.exposures[0].bits->rows = 157; },
      [](Plan& p) { p.exposures[0].bits->patterns = "x"; },
      [](Plan& p) { p.exposures[0].bits->grid = "x"; },
      [](Plan& p) { p.exposures[0].bits->passes = false; },
      [](Plan& p) { p.exposures[0].bits->meaning = "x"; },
      [](Plan& p) { p.privacy[0].adversary = "x"; },
      [](Plan& p) { p.privacy[1].adjacency = "x"; },
      [](Plan& p) { p.privacy[1].loss = "x"; },
      [](Plan& p) { p.leakage_level = "x"; },
      [](Plan& p) { p.assumptions[0] = "x"; },
      [](Plan& p) { p.assumptions.clear(); },
  };
  for (size_t i = 0; i < normative.size(); ++i) {
    Plan plan = original;
    normative[i](plan);
    EXPECT_TRUE(hashes.insert(PlanHash(plan)).second) << "change " << i;
  }
  Plan plan = original;
  plan.title = "Another title";
  plan.notes.clear();
  plan.utility.clear();
  plan.predictions.clear();
  EXPECT_EQ(PlanHash(plan), PlanHash(original));
}

}  // namespace
}  // namespace partita::study::hashes_test
