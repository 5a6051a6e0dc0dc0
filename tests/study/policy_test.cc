#include "study/approval/policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/utc_time.h"
#include "tests/data/expect_error.h"
#include "tests/study/edited.h"
#include "tests/study/policy_text.h"

namespace partita::study::policy_test {
namespace {

using ::testing::HasSubstr;

const std::vector<std::string> kMethods = {"mle", "glm"};

TEST(PolicyTest, IsReadAsItIsWritten) {
  const Policy policy = ParsePolicyFile(kPolicy, "p.toml", kMethods);
  EXPECT_EQ(policy.name, "pressure");
  EXPECT_EQ(policy.tables, std::vector<std::string>{"patients"});
  EXPECT_EQ(policy.functions, std::vector<std::string>{"sem"});
  EXPECT_EQ(policy.conditions, (std::vector<std::string>{"age < 40", "age < 41"}));
  EXPECT_EQ(policy.dealers, std::vector<std::string>{"helper"});
  EXPECT_EQ(policy.min_parties, 3u);
  EXPECT_EQ(policy.max_results, 30u);
  EXPECT_EQ(FormatUtc(policy.valid_until), "2030-12-31T23:59:59Z");
  EXPECT_EQ(policy.max_leakage, (std::map<std::string, Leakage>{{"moments", Leakage::kNoisy},
                                                                {"result", Leakage::kNoisy}}));
  EXPECT_EQ(policy.epsilon_per_study, 3);
  EXPECT_EQ(policy.epsilon_in_all, 12);
  EXPECT_EQ(policy.delta, 1e-6);
  EXPECT_EQ(policy.disclosure.min_cell, 8u);
  ASSERT_EQ(policy.parties.size(), 3u);
  EXPECT_EQ(policy.parties[1].name, "west");
  EXPECT_EQ(policy.parties[1].node_key, DigestOf('3'));
  EXPECT_EQ(policy.parties[1].steward_key, DigestOf('4'));
}

// What is left out allows nothing.
TEST(PolicyTest, DefaultsAreClosed) {
  const Policy policy = ParsePolicyFile(kPolicy, "p.toml", kMethods);
  EXPECT_EQ(policy.adjacency, privacy::Adjacency::kReplace);
  EXPECT_EQ(policy.max_rows_per_person, 1u);
  EXPECT_EQ(policy.key + policy.block, "");
  EXPECT_TRUE(policy.matchings.empty());
  EXPECT_TRUE(policy.exact.empty());
}

TEST(PolicyTest, MistakesAreNamedWithTheirPlace) {
  const auto problem = [](const std::string& from, const std::string& to) {
    const auto error =
        ThrownBy([&] { ParsePolicyFile(Edited(kPolicy, from, to), "p.toml", kMethods); });
    if (!error) return std::string("none");
    EXPECT_EQ(error->code(), ErrorCode::kBadInput);
    EXPECT_NE(error->hint(), "");
    return error->message();
  };
  EXPECT_EQ(problem("partita_envelope = 2", "partita_envelope = 1"),
            "p.toml:1:20: this version of Partita cannot read format 1");
  EXPECT_THAT(problem("max_results", "max_result"), HasSubstr("unknown key 'max_result'"));
  // Every list that limits has to be there; those that may list nothing say so.
  for (const char* key : {"tables", "methods", "protocols", "functions", "engines", "receivers",
                          "releases", "variables", "conditions", "proposers", "dealers"}) {
    const std::string line = "\n" + std::string(key) + " = ";
    const size_t at = kPolicy.find(line) + 1;
    ASSERT_NE(at, 0u) << key;
    const std::string whole = kPolicy.substr(at, kPolicy.find('\n', at) + 1 - at);
    EXPECT_EQ(problem(whole, ""),
              "p.toml:1:1: the policy needs the key '" + std::string(key) + "'");
  }
  for (const char* key : {"max_results = 30\n", "valid_until = \"2030-12-31\"\n",
                          "max_leakage = {moments = \"noisy\", result = \"noisy\"}\n",
                          "epsilon_per_study = 3\n", "delta = 1e-6\n"})
    EXPECT_THAT(problem(key, ""), HasSubstr("needs the key")) << key;
  EXPECT_THAT(problem("max_results = 30", "max_results = 1001"), HasSubstr("cannot be 1001"));
  EXPECT_THAT(problem("[\"patients\"]", "[]"), HasSubstr("'tables' lists nothing"));
  EXPECT_THAT(problem("moments = \"noisy\"", "moments = \"any\""),
              HasSubstr("'moments' in [max_leakage] cannot be 'any'"));
  EXPECT_THAT(problem("{moments = \"noisy\", result = \"noisy\"}", "{}"),
              HasSubstr("'max_leakage' lists nothing"));
  EXPECT_THAT(problem("\"replace\"", "\"either\""), HasSubstr("cannot be 'either'"));
  EXPECT_THAT(problem("name = \"west\"", "name = \"north\""), HasSubstr("'north' is there twice"));
  EXPECT_THAT(problem(Hex('3'), Hex('3').substr(1)), HasSubstr("'node' cannot be '333"));
  EXPECT_THAT(problem(Hex('3'), Hex('0')), HasSubstr("'node' cannot be '000"));
  EXPECT_THAT(problem("steward = \"" + Hex('4') + "\"\n", ""), HasSubstr("'steward'"));
}

// Numbers that compare with nothing, or with everything, are no limits.
TEST(PolicyTest, LimitsAreNumbers) {
  for (const char* limit : {"nan", "inf", "-inf", "0", "-1", "101"}) {
    ExpectError(ErrorCode::kBadInput, "'epsilon_per_study' is out of range", "above 0", [&] {
      ParsePolicyFile(
          Edited(kPolicy, "epsilon_per_study = 3", std::string("epsilon_per_study = ") + limit),
          "p.toml", kMethods);
    });
    ExpectError(ErrorCode::kBadInput, "'delta' is out of range", "above 0", [&] {
      ParsePolicyFile(Edited(kPolicy, "delta = 1e-6", std::string("delta = ") + limit), "p.toml",
                      kMethods);
    });
  }
  for (const char* limit : {"nan", "inf", "0", "-1"}) {
    ExpectError(ErrorCode::kBadInput, "'epsilon_in_all' is out of range", "above 0", [&] {
      ParsePolicyFile(
          Edited(kPolicy, "epsilon_in_all = 12", std::string("epsilon_in_all = ") + limit),
          "p.toml", kMethods);
    });
  }
}

// One file run on two tables that differ in one row opens that row.
TEST(PolicyTest, ExactResultsAreOfOneTable) {
  const std::string exact = "exact = [\"" + Hex('a') + "\"]\n";
  const std::string one = Edited(kPolicy, "min_cell", exact + "min_cell");
  EXPECT_EQ(ParsePolicyFile(one, "p.toml", kMethods).exact, std::vector<Digest>{DigestOf('a')});
  ExpectError(ErrorCode::kBadInput, "a policy with 'exact' has one table, not 2", "subtracted",
              [&] {
                ParsePolicyFile(Edited(one, "[\"patients\"]", "[\"patients\", \"patients-2\"]"),
                                "p.toml", kMethods);
              });
}

TEST(PolicyTest, SaysThatItIsOne) {
  EXPECT_TRUE(IsPolicyFile(kPolicy));
  EXPECT_FALSE(IsPolicyFile(Edited(kPolicy, "envelope = 2", "envelope = 1")));
  EXPECT_FALSE(IsPolicyFile("partita_envelope = \"2\""));
  EXPECT_FALSE(IsPolicyFile("partita_envelope = "));
  EXPECT_FALSE(IsPolicyFile(""));
}

// Nothing signs by a policy: where an envelope is signed, it is refused by name.
TEST(PolicyTest, IsNoEnvelope) {
  ExpectError(ErrorCode::kBadInput,
              "p.toml:1:20: format 2 is a policy of a node, by which nothing can be signed yet",
              "approve every study", [] { ParseEnvelopeFile(kPolicy, "p.toml", kMethods); });
}

}  // namespace
}  // namespace partita::study::policy_test
