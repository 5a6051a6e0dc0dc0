#include "study/approval/persons.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>

#include "base/utc_time.h"
#include "crypto/signature.h"
#include "study/approval/delegation.h"
#include "tests/data/expect_error.h"

namespace partita::study::persons_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr int64_t kNow = 1'790'000'000;  // 2026-09-21
constexpr int64_t kDay = 86'400;
constexpr char kParty[] = "north";

const crypto::Identity& Key(const std::string& of) {
  static std::map<std::string, crypto::Identity> keys;
  const auto found = keys.find(of);
  if (found != keys.end()) return found->second;
  return keys.emplace(of, crypto::MakeIdentity({.name = kParty})).first->second;
}
Digest PrintOf(const crypto::Identity& identity) {
  return crypto::Sha256Of(crypto::EncodeCertificate(*identity.certificate));
}
std::string Pinned() { return crypto::Fingerprint(*Key("steward").certificate); }

Approval Draft(uint64_t stewards) {
  Approval approval;
  approval.party = kParty;
  approval.study = "small";
  approval.agreement_hash = crypto::Sha256Of(AsBytes("agreement"));
  approval.plan_hash = crypto::Sha256Of(AsBytes("plan"));
  approval.commitment = crypto::Sha256Of(AsBytes("table"));
  approval.approved_at = kNow;
  approval.valid_until = kNow + kDay;
  approval.software_version = "0.1.0";
  approval.nonce = crypto::Sha256Of(AsBytes("nonce"));
  approval.stewards = stewards;
  return approval;
}

Deputy DeputyOf(const std::string& name, int64_t from = kNow - kDay, int64_t until = kNow + kDay,
                const std::string& by = "steward", const std::string& party = kParty) {
  return SignDeputy(party, name, PrintOf(Key(name)), from, until, Key(by));
}

// The steward signs under the name "steward".
SignedApproval First(const std::string& who, const Approval& approval = Draft(1)) {
  SignedApproval document = SignApproval(approval, Key(who));
  if (who == "steward") return document;
  document.deputy = DeputyOf(who);
  document.steward_certificate = crypto::EncodeCertificate(*Key("steward").certificate);
  return document;
}
SignedApproval Second(const SignedApproval& first, const std::string& who, int64_t at = kNow + 60) {
  if (who == "steward") return SignSecond(first, Key(who), at, std::nullopt);
  return SignSecond(first, Key(who), at, DeputyOf(who));
}
SignedApproval ByTwo(const std::string& one, const std::string& other) {
  return Second(First(one, Draft(2)), other);
}

std::string Refusal(const SignedApproval& document) {
  try {
    // As it is read by whoever gets it.
    RequireSigned(ParseApproval(RenderApproval(document), "a.json"), kParty, Pinned());
    return "none";
  } catch (const Error& error) {
    return error.message();
  }
}

TEST(PersonsTest, ReadsBackAndCounts) {
  for (const SignedApproval& document : {First("steward"), First("kim"), ByTwo("steward", "kim"),
                                         ByTwo("kim", "steward"), ByTwo("kim", "lee")}) {
    const std::string text = RenderApproval(document);
    EXPECT_LE(text.size(), kApprovalBytes);
    EXPECT_EQ(RenderApproval(ParseApproval(text, "a.json")), text);
    EXPECT_EQ(Refusal(document), "none");
    EXPECT_EQ(Refusal(DecodeApproval(EncodeApproval(document), kParty)), "none");
  }
}

// The longest that may be: two deputies, with the longest names.
TEST(PersonsTest, FitsOnTheWire) {
  const std::string party(crypto::kMaxPartyName, 'p');
  const auto key = [&] { return crypto::MakeIdentity({.name = party}); };
  const crypto::Identity steward = key(), one = key(), other = key();
  Approval approval = Draft(2);
  approval.party = party;
  approval.study = std::string(64, 's');
  approval.software_version = std::string(32, '1');
  approval.disclosure = {kMaxThreshold, kMaxThreshold, false};
  SignedApproval document = SignApproval(approval, one);
  document.deputy =
      SignDeputy(party, std::string(kMaxDeputyName, 'a'), PrintOf(one), kNow, kNow + kDay, steward);
  document.steward_certificate = crypto::EncodeCertificate(*steward.certificate);
  document = SignSecond(document, other, kNow,
                        SignDeputy(party, std::string(kMaxDeputyName, 'b'), PrintOf(other), kNow,
                                   kNow + kDay, steward));
  EXPECT_EQ(EncodeApproval(document).size(), kApprovalBytes);
  EXPECT_NO_THROW(RequireSigned(document, party, crypto::Fingerprint(*steward.certificate)));
}

// The format of what one steward signs is what it was.
TEST(PersonsTest, OthersDoNotHaveIt) {
  const std::string text = RenderApproval(First("steward"));
  EXPECT_THAT(text, HasSubstr("\"partita_approval\": 3"));
  EXPECT_THAT(text, Not(HasSubstr("stewards")));
  EXPECT_THAT(text, Not(HasSubstr("second")));
}

TEST(PersonsTest, SaysWhoSigned) {
  EXPECT_THAT(WhoSigned(RenderApproval(ByTwo("kim", "steward"))), ElementsAre("kim", kStewardName));
  EXPECT_THAT(WhoSigned(RenderApproval(First("steward"))), ElementsAre(kStewardName));
  EXPECT_THAT(WhoSigned(RenderApproval(First("kim", Draft(2)))), ElementsAre("kim"));
  EXPECT_THAT(WhoSigned(RenderApproval({Draft(2), {}})), IsEmpty());
  EXPECT_THAT(WhoSigned("approve|north"), IsEmpty());
}

TEST(PersonsTest, EveryByteIsSigned) {
  for (const SignedApproval& document :
       {First("kim"), ByTwo("steward", "kim"), ByTwo("kim", "lee")}) {
    const std::string text = RenderApproval(document);
    for (size_t i = 0; i + 1 < text.size(); i += 3) {
      std::string forged = text;
      forged[i] = static_cast<char>(forged[i] ^ (i % 2 == 0 ? 1 : 0x20));
      EXPECT_ANY_THROW(RequireSigned(ParseApproval(forged, "a.json"), kParty, Pinned())) << i;
    }
  }
}

TEST(PersonsTest, OneSignatureOfTwoCountsForNothing) {
  const SignedApproval first = First("steward", Draft(2));
  EXPECT_THAT(Refusal(first), HasSubstr("is signed by one person and asks for two"));
  EXPECT_NO_THROW(RequireFirstSigned(first, kParty, Pinned()));
  // What waits for nobody is no first one, and what another key signed is none either.
  EXPECT_ANY_THROW(RequireFirstSigned(First("steward"), kParty, Pinned()));
  EXPECT_ANY_THROW(RequireFirstSigned(ByTwo("steward", "kim"), kParty, Pinned()));
  EXPECT_ANY_THROW(RequireFirstSigned(SignApproval(Draft(2), Key("mallory")), kParty, Pinned()));
  // Neither left out, nor said to be enough.
  SignedApproval cut = ByTwo("steward", "kim");
  cut.second.reset();
  EXPECT_THAT(Refusal(cut), HasSubstr("asks for two"));
  cut.approval.stewards = 1;
  EXPECT_THAT(Refusal(cut), HasSubstr("it was changed after it was signed"));
  // A second one where one is enough.
  EXPECT_THAT(Refusal(Second(First("steward"), "kim")), HasSubstr("which it does not ask for"));
}

TEST(PersonsTest, OnePersonIsNotTwo) {
  EXPECT_THAT(Refusal(ByTwo("steward", "steward")), HasSubstr("by one person twice"));
  EXPECT_THAT(Refusal(ByTwo("kim", "kim")), HasSubstr("by one person twice"));
  // One key under two names.
  SignedApproval document = First("kim", Draft(2));
  document = SignSecond(
      document, Key("kim"), kNow,
      SignDeputy(kParty, "lee", PrintOf(Key("kim")), kNow - kDay, kNow + kDay, Key("steward")));
  EXPECT_THAT(Refusal(document), HasSubstr("by one person twice"));
  // The steward as a deputy of its own.
  document = First("steward", Draft(2));
  document = SignSecond(
      document, Key("steward"), kNow,
      SignDeputy(kParty, "lee", PrintOf(Key("steward")), kNow - kDay, kNow + kDay, Key("steward")));
  EXPECT_THAT(Refusal(document), HasSubstr("the steward's own key"));
}

// A second signature is under this approval, and none that was made for another.
TEST(PersonsTest, ASecondSignatureIsOfThisApproval) {
  Approval older = Draft(2);
  older.commitment = crypto::Sha256Of(AsBytes("an older table"));
  SignedApproval document = First("steward", Draft(2));
  document.second = Second(First("steward", older), "kim").second;
  EXPECT_THAT(Refusal(document), HasSubstr("the signature of the second signature"));
  // Nor is a whole approval of the deputy's a second signature, nor the other way round.
  document.second = {kNow, First("kim", Draft(2)).signature, DeputyOf("kim")};
  EXPECT_THAT(Refusal(document), HasSubstr("the signature of the second signature"));
  SignedApproval turned = First("kim", Draft(2));
  turned.signature = ByTwo("steward", "kim").second->signature;
  EXPECT_THAT(Refusal(Second(turned, "lee")), HasSubstr("was changed after it was signed"));
}

TEST(PersonsTest, OnlyWhomTheStewardNamed) {
  const auto with = [](const Deputy& deputy) {
    SignedApproval document = First("kim");
    document.deputy = deputy;
    return document;
  };
  EXPECT_THAT(Refusal(with(DeputyOf("kim", kNow - kDay, kNow + kDay, "mallory"))),
              HasSubstr("the steward's word of party north for its deputy kim"));
  EXPECT_THAT(Refusal(with(DeputyOf("kim", kNow - kDay, kNow + kDay, "steward", "south"))),
              HasSubstr("the steward's word"));
  EXPECT_THAT(Refusal(with(DeputyOf("lee"))), HasSubstr("the steward's word"));
  // Another name, or other times, than the steward signed.
  Deputy changed = DeputyOf("kim");
  changed.name = "lee";
  EXPECT_THAT(Refusal(with(changed)), HasSubstr("the steward's word"));
  changed = DeputyOf("kim", kNow - 2 * kDay, kNow - kDay);
  changed.until = kNow + kDay;
  EXPECT_THAT(Refusal(with(changed)), HasSubstr("the steward's word"));
  // With a certificate of somebody else who signed the word, too.
  SignedApproval foreign = with(DeputyOf("kim", kNow - kDay, kNow + kDay, "mallory"));
  foreign.steward_certificate = crypto::EncodeCertificate(*Key("mallory").certificate);
  EXPECT_THAT(Refusal(foreign), HasSubstr("the steward's word"));
}

TEST(PersonsTest, OnlyInItsTime) {
  const auto at = [](int64_t from, int64_t until) {
    SignedApproval document = First("kim");
    document.deputy = DeputyOf("kim", from, until);
    return Refusal(document);
  };
  EXPECT_EQ(at(kNow, kNow), "none");
  EXPECT_THAT(at(kNow + 1, kNow + kDay), HasSubstr("that deputy signs from"));
  EXPECT_THAT(at(kNow - kDay, kNow - 1), HasSubstr("that deputy signs from"));
  EXPECT_EQ(at(kNow, kNow + kMaxDeputySeconds), "none");
  EXPECT_THAT(at(kNow, kNow + kMaxDeputySeconds + 1), HasSubstr("for more than a year"));
  // The second person's time is its own, and signed.
  const SignedApproval first = First("steward", Draft(2));
  EXPECT_EQ(Refusal(Second(first, "kim", kNow + kDay)), "none");
  EXPECT_THAT(Refusal(Second(first, "kim", kNow + kDay + 1)), HasSubstr("that deputy signs from"));
  SignedApproval late = Second(first, "kim", kNow + kDay + 1);
  late.second->at = kNow;
  EXPECT_THAT(Refusal(late), HasSubstr("the signature of the second signature"));
}

// A policy is no person: neither alone where two have to sign, nor beside one.
TEST(PersonsTest, APolicyIsNoPerson) {
  Approval approval = Draft(2);
  approval.envelope = crypto::Sha256Of(AsBytes("policy"));
  approval.use = 1;
  SignedApproval document = SignApproval(approval, Key("policy"));
  document.delegation = SignDelegation(kParty, PrintOf(Key("policy")), approval.envelope, kNow,
                                       kNow + 2 * kDay, 5, Key("steward"));
  EXPECT_ANY_THROW(RequireSigned(document, kParty, Pinned()));
  SignedApproval beside = Second(document, "kim");
  EXPECT_ANY_THROW(RequireSigned(beside, kParty, Pinned()));
  // Use 2 of a policy signs other bytes than two persons.
  Approval used = Draft(1);
  used.use = 2;
  Approval two = Draft(2);
  EXPECT_NE(ApprovalDigest(used), ApprovalDigest(two));
}

// Whoever reads has the steward's fingerprint and nothing else.
TEST(PersonsTest, ADeputyOfAnotherStewardIsNone) {
  EXPECT_ANY_THROW(
      RequireSigned(First("kim"), kParty, crypto::Fingerprint(*Key("mallory").certificate)));
  EXPECT_TRUE(
      IsDeputyOf(DeputyOf("kim"), kParty, PrintOf(Key("kim")), *Key("steward").certificate));
  EXPECT_FALSE(
      IsDeputyOf(DeputyOf("kim"), kParty, PrintOf(Key("lee")), *Key("steward").certificate));
}

// A deputy rejects as the steward does.
TEST(PersonsTest, ADeputyRejects) {
  Approval rejection = Draft(1);
  rejection.decision = Decision::kReject;
  rejection.reason = "no ethics reference";
  EXPECT_EQ(Refusal(First("kim", rejection)), "none");
}

}  // namespace
}  // namespace partita::study::persons_test
