#include "study/approval/delegation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "base/utc_time.h"
#include "crypto/signature.h"
#include "tests/data/expect_error.h"

namespace partita::study::delegation_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kNow = 1'790'000'000;  // 2026-09-21
constexpr int64_t kDay = 86'400;

const crypto::Identity& Steward() {
  static const crypto::Identity identity = crypto::MakeIdentity({.name = "north"});
  return identity;
}
const crypto::Identity& PolicyKey() {
  static const crypto::Identity identity = crypto::MakeIdentity({.name = "north"});
  return identity;
}
const crypto::Identity& Attacker() {
  static const crypto::Identity identity = crypto::MakeIdentity({.name = "north"});
  return identity;
}
Digest KeyOf(const crypto::Identity& identity) {
  return crypto::Sha256Of(crypto::EncodeCertificate(*identity.certificate));
}
std::string Pinned() { return crypto::Fingerprint(*Steward().certificate); }

Digest Policy(char digit) {
  return PolicyCommitment(crypto::Sha256Of(AsBytes("salt")), {&digit, 1});
}

Approval ByPolicy() {
  Approval approval;
  approval.party = "north";
  approval.study = "small";
  approval.agreement_hash = crypto::Sha256Of(AsBytes("agreement"));
  approval.plan_hash = crypto::Sha256Of(AsBytes("plan"));
  approval.approved_at = kNow;
  approval.valid_until = kNow + kDay;
  approval.software_version = "0.1.0";
  approval.nonce = crypto::Sha256Of(AsBytes("nonce"));
  approval.envelope = Policy('a');
  approval.use = 3;
  return approval;
}

struct Word {
  std::string party = "north";
  Digest key = KeyOf(PolicyKey());
  Digest commitment = Policy('a');
  int64_t from = kNow, until = kNow + 30 * kDay;
  uint64_t max_uses = 10;
};

SignedApproval Document(const Approval& approval = ByPolicy(), const Word& word = {},
                        const crypto::Identity& steward = Steward(),
                        const crypto::Identity& key = PolicyKey()) {
  SignedApproval document = SignApproval(approval, key);
  document.delegation = SignDelegation(word.party, word.key, word.commitment, word.from, word.until,
                                       word.max_uses, steward);
  return document;
}

TEST(DelegationTest, ReadsBackAndCounts) {
  const std::string text = RenderApproval(Document());
  EXPECT_LE(text.size(), kApprovalBytes);
  const SignedApproval back = ParseApproval(text, "a.json");
  EXPECT_EQ(RenderApproval(back), text);
  EXPECT_EQ(back.approval.use, 3u);
  EXPECT_NO_THROW(RequireSigned(back, "north", Pinned()));
  EXPECT_NO_THROW(RequireSigned(DecodeApproval(EncodeApproval(back), "north"), "north", Pinned()));
}

// The format of approvals without it is what it was.
TEST(DelegationTest, OthersDoNotHaveIt) {
  Approval approval = ByPolicy();
  approval.use = 0;
  const std::string text = RenderApproval(SignApproval(approval, Steward()));
  EXPECT_THAT(text, HasSubstr("\"partita_approval\": 3"));
  EXPECT_THAT(text, Not(HasSubstr("deleg")));
  EXPECT_THAT(text, Not(HasSubstr("\"use\"")));
  EXPECT_FALSE(HasDelegation(text));
}

TEST(DelegationTest, EveryByteIsSigned) {
  const std::string text = RenderApproval(Document());
  for (size_t i = 0; i + 1 < text.size(); i += 3) {
    std::string forged = text;
    forged[i] = static_cast<char>(forged[i] ^ (i % 2 == 0 ? 1 : 0x20));
    EXPECT_TRUE(ThrownBy([&] {
      RequireSigned(ParseApproval(forged, "a.json"), "north", Pinned());
    })) << i;
  }
}

TEST(DelegationTest, OnlyWhatTheStewardDelegated) {
  const auto refused = [](const SignedApproval& document, const std::string& why) {
    ExpectError(ErrorCode::kRefused, why, "", [&] { RequireSigned(document, "north", Pinned()); });
  };
  // By another steward, of another key, party or policy; without one.
  refused(Document(ByPolicy(), {}, Attacker()), "the policy of party north");
  refused(Document(ByPolicy(), {}, Steward(), Attacker()), "the policy of party north");
  refused(Document(ByPolicy(), {.party = "south"}), "the policy of party north");
  refused(Document(ByPolicy(), {.commitment = Policy('b')}), "the policy of party north");
  SignedApproval bare = Document();
  bare.delegation.reset();
  refused(bare, "the approval of party north");
  // The steward's own key needs none.
  refused(Document(ByPolicy(), {.key = KeyOf(Steward())}, Steward(), Steward()), "own key");

  const auto changed = [](const std::function<void(Approval&)>& change) {
    Approval approval = ByPolicy();
    change(approval);
    return Document(approval);
  };
  refused(changed([](Approval& a) { a.runs = 2; }), "more than one run");
  refused(changed([](Approval& a) { a.decision = Decision::kReject; }), "rejects");
  refused(changed([](Approval& a) { a.use = 11; }), "is use 11 of 10");
  refused(changed([](Approval& a) { a.approved_at = kNow - 1; }), "within its time");
  refused(changed([](Approval& a) { a.valid_until = kNow + 30 * kDay + 1; }), "within its time");
  refused(Document(ByPolicy(), {.until = kNow + 91 * kDay}), "longer than 90 days");
}

// Whoever guesses the text cannot see whether it is right.
TEST(DelegationTest, CommitmentHidesTheText) {
  const Digest one = crypto::Sha256Of(AsBytes("1")), other = crypto::Sha256Of(AsBytes("2"));
  EXPECT_NE(PolicyCommitment(one, "a"), PolicyCommitment(other, "a"));
  EXPECT_NE(PolicyCommitment(one, "a"), PolicyCommitment(one, "b"));
}

}  // namespace
}  // namespace partita::study::delegation_test
