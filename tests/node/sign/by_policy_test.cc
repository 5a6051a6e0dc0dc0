// The signer's use of a policy: counted before it is signed, never above its numbers.
#include "node/sign/by_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <functional>
#include <set>
#include <thread>

#include "base/utc_time.h"
#include "node/job/policy_uses.h"
#include "run/simulate/temporary_folder.h"
#include "study/approval/delegation.h"
#include "tests/data/expect_error.h"

namespace partita::node::by_policy_test {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;

crypto::Identity MakeFolder(const fs::path& home) {
  SignerConfig config;
  config.site = "south";
  const crypto::Identity node = crypto::MakeIdentity({.name = "south"});
  return SignerFolder::Make(home, config, *node.certificate, *node.certificate,
                            "several words of a steward");
}

// One steward's folder; each test has a policy of its own in it.
class ByPolicyTest : public ::testing::Test {
 protected:
  struct Scene {
    run::TemporaryFolder folder;
    fs::path home = folder.path() / "steward";
    crypto::Identity steward = MakeFolder(home);
  };
  static void SetUpTestSuite() { scene = new Scene; }
  static void TearDownTestSuite() { delete scene; }
  void TearDown() override {
    if (!signer.Ended().policies.empty()) signer.EndPolicy("weekly", scene->steward, now);
  }

  // epsilon: in all; 0: exact.
  static std::string Text(int results, double epsilon, const std::string& until = "2099-12-31") {
    std::string text = R"(partita_envelope = 2
name = "weekly"
tables = ["pupils"]
methods = ["mle"]
protocols = ["pooled-moments"]
functions = ["sem"]
engines = ["replicated"]
receivers = ["north"]
releases = ["moments"]
variables = ["age"]
conditions = []
proposers = ["north"]
dealers = []
min_parties = 3
valid_until = ")" + until +
                       "\"\nmax_results = " + std::to_string(results) + "\n";
    text +=
        epsilon > 0
            ? "max_leakage = {moments = \"noisy\"}\nepsilon_per_study = 1\ndelta = 1e-6\n"
              "epsilon_in_all = " +
                  std::to_string(epsilon) + "\n"
            : "max_leakage = {moments = \"exact\"}\nexact = [\"" + std::string(64, 'c') + "\"]\n";
    return text + "[[party]]\nname = \"north\"\nnode = \"" + std::string(64, 'a') +
           "\"\nsteward = \"" + std::string(64, 'b') + "\"\n";
  }
  void Add(const std::string& text) { signer.AddPolicy(text, scene->steward, now); }
  Digest Commitment() const { return CommitmentOf(signer.Ended().policies.at(0)); }
  uint64_t Newest() const {
    return PolicyUses(signer.UsesOfPolicy(Commitment()), Commitment()).newest();
  }
  // A study of this number that was read, and fits.
  PolicyCase Case(uint8_t number, double epsilon = 0) const {
    PolicyCase at;
    at.study.fill(number);
    at.draft.party = "south";
    at.draft.study = "ages";
    at.draft.approved_at = now;
    at.draft.valid_until = now + 86'400;
    at.draft.software_version = "0.1.0";
    at.policies = signer.Ended().policies;
    at.reads = {{{}, epsilon}};
    at.now = now;
    return at;
  }
  PolicyAnswer Approve(const PolicyCase& at) const { return ApproveByPolicy(signer, at); }

  static Scene* scene;
  SignerFolder signer{scene->home};
  int64_t now = NowUtc();
};
ByPolicyTest::Scene* ByPolicyTest::scene = nullptr;

// The end of the process between count and signature: the use is spent, and no other study gets its number.
TEST_F(ByPolicyTest, CountsBeforeItSigns) {
  Add(Text(2, 0));
  PolicyCase broken = Case(0);
  broken.draft.study = "no name of a study";  // is noticed when it is about to be signed
  for (int i = 0; i < 2; ++i) {
    ExpectError(ErrorCode::kBadInput, "a use of a policy", "", [&] { Approve(broken); });
    EXPECT_EQ(Newest(), 1u);
  }
  EXPECT_EQ(study::ParseApproval(Approve(Case(1)).document, "it").approval.use, 2u);
  EXPECT_THAT(Approve(Case(3)).reasons, ElementsAre("the policy 'weekly' is used up"));
}

TEST_F(ByPolicyTest, TheSameStudyGetsTheSameBytes) {
  Add(Text(1, 0));
  const std::string first = Approve(Case(1)).document;
  PolicyCase later = Case(1);
  later.now += 60;
  later.draft.nonce.fill(9);
  EXPECT_EQ(Approve(later).document, first);
  EXPECT_EQ(Newest(), 1u);
}

// Both were read while there was enough for one.
TEST_F(ByPolicyTest, TwoStudiesAtOnceForTheLastEpsilon) {
  Add(Text(9, 1.5));
  EXPECT_NE(Approve(Case(1, 1)).document, "");
  EXPECT_THAT(Approve(Case(2, 0.75)).reasons, ElementsAre("the policy 'weekly' is used up"));
  EXPECT_NE(Approve(Case(3, 0.5)).document, "");
  EXPECT_EQ(PolicyStates(signer, now).at(0).epsilon, 1.5);
}

TEST_F(ByPolicyTest, ManyAtOnceGetAsManyAsThereAre) {
  Add(Text(3, 0));
  std::array<PolicyAnswer, 8> answers;
  std::vector<std::thread> threads;
  for (size_t i = 0; i < answers.size(); ++i)
    threads.emplace_back([&, i] { answers[i] = Approve(Case(static_cast<uint8_t>(i + 1))); });
  for (std::thread& thread : threads) thread.join();
  std::multiset<uint64_t> numbers;
  for (const PolicyAnswer& answer : answers) {
    if (!answer.document.empty())
      numbers.insert(study::ParseApproval(answer.document, "it").approval.use);
  }
  EXPECT_THAT(numbers, ElementsAre(1u, 2u, 3u));
}

// The process that reads studies may say anything.
TEST_F(ByPolicyTest, NoAnswerOfTheReaderGivesBudgetBack) {
  Add(Text(9, 1.5));
  for (const double epsilon : std::array<double, 2>{std::nan(""), HUGE_VAL})
    EXPECT_EQ(Approve(Case(1, epsilon)).document, "");
  ExpectError(ErrorCode::kInternal, "no new use", "", [&] { Approve(Case(1, -1)); });
  EXPECT_EQ(Newest(), 0u);
  PolicyCase unread = Case(1);
  unread.reads.clear();
  ExpectError(ErrorCode::kInternal, "did not look at all policies", "", [&] { Approve(unread); });
}

// Its record began with it: one that is not there has lost uses.
TEST_F(ByPolicyTest, WithoutItsRecordNothingIsSigned) {
  Add(Text(2, 0));
  const PolicyCase at = Case(1);
  fs::remove(signer.UsesOfPolicy(Commitment()));
  for (const std::function<void()>& act :
       {std::function<void()>([&] { Approve(at); }),
        std::function<void()>([&] { PolicyStates(signer, now); })})
    ExpectError(ErrorCode::kRefused, "the record of the policy 'weekly' is not here",
                "policy end weekly", act);
}

TEST_F(ByPolicyTest, SignsWithinItsTime) {
  Add(Text(3, 0));
  PolicyCase at = Case(1);
  at.now = now - 1;
  EXPECT_THAT(Approve(at).reasons,
              ElementsAre("the policy 'weekly' does not hold now, by the clock of the signer"));
  at.now = now;
  at.draft.valid_until = now + study::kMaxDelegationSeconds + 1;
  EXPECT_THAT(Approve(at).reasons,
              ElementsAre("the policy 'weekly' ends before the study expires"));
  EXPECT_EQ(Newest(), 0u);
  at.draft.valid_until = now + study::kMaxDelegationSeconds;
  EXPECT_NE(Approve(at).document, "");
  // A policy that was ended, or another one, meanwhile.
  signer.EndPolicy("weekly", scene->steward, now);
  ExpectError(ErrorCode::kRefused, "the policies were changed", "", [&] { Approve(at); });
}

TEST_F(ByPolicyTest, IsAddedOnceAndEndsWithItsKey) {
  Add(Text(3, 0));
  ExpectError(ErrorCode::kRefused, "there is a policy 'weekly' already", "policy end weekly",
              [&] { Add(Text(4, 0)); });
  const PublishedPolicy policy = signer.Ended().policies.at(0);
  EXPECT_EQ(policy.until - policy.from, study::kMaxDelegationSeconds);
  const fs::path key = scene->home / ("policy-" + ToHex(Commitment()) + ".key");
  EXPECT_EQ(fs::status(key).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  signer.EndPolicy("weekly", scene->steward, now);
  EXPECT_FALSE(fs::exists(key));
  ExpectError(ErrorCode::kRefused, "there is no policy 'weekly'", "policy list",
              [&] { signer.EndPolicy("weekly", scene->steward, now); });
  ExpectError(ErrorCode::kRefused, "the policy 'weekly' is over already", "valid_until",
              [&] { Add(Text(3, 0, "2020-12-31")); });
}

}  // namespace
}  // namespace partita::node::by_policy_test
