#include "study/approval/approval.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "base/utc_time.h"
#include "crypto/signature.h"
#include "tests/data/expect_error.h"
#include "tests/study/study_text.h"

namespace partita::study::approval_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const crypto::Identity& North() {
  static const crypto::Identity identity = crypto::MakeIdentity({.name = "north"});
  return identity;
}
std::string NorthFingerprint() { return crypto::Fingerprint(*North().certificate); }

Digest Filled(uint8_t value) {
  Digest digest;
  digest.fill(value);
  return digest;
}

constexpr int64_t kNow = 1'790'000'000;  // 2026-09-21

Approval Example() {
  Approval approval;
  approval.party = "north";
  approval.study = "small";
  approval.agreement_hash = Filled(1);
  approval.plan_hash = Filled(2);
  approval.commitment = Filled(3);
  approval.disclosure = {7, 30, false};
  approval.approved_at = kNow;
  approval.valid_until = kNow + 100;
  approval.software_version = "0.1.0";
  approval.runs = 2;
  approval.nonce = Filled(5);
  return approval;
}

ApprovalTerms Terms() { return {"small", Filled(1), Filled(2), {5, 20, false}}; }

void ExpectRefused(const std::string& message, const std::function<void(Approval&)>& change,
                   int64_t now = kNow) {
  Approval approval = Example();
  change(approval);
  const std::optional<Error> error =
      ThrownBy([&] { RequireApproves(approval, "north", Terms(), now); });
  ASSERT_TRUE(error.has_value()) << "not refused; expected: " << message;
  EXPECT_EQ(error->code(), ErrorCode::kRefused);
  EXPECT_EQ(error->message(), message);
  EXPECT_NE(error->hint(), "");
}

TEST(ApprovalTest, ReadsBackWhatItWrites) {
  Approval approval = Example();
  approval.reason = "wegen \"n\" \xc3\xbc \\ ok";
  approval.disclosure.refuse_small_samples = true;
  approval.envelope = Filled(9);
  const SignedApproval document = SignApproval(approval, North());
  const std::string text = RenderApproval(document);
  const SignedApproval back = ParseApproval(text, "a.json");
  EXPECT_EQ(RenderApproval(back), text);
  EXPECT_EQ(back.approval.reason, approval.reason);
  EXPECT_EQ(back.approval.envelope, approval.envelope);
  EXPECT_EQ(back.approval.valid_until, approval.valid_until);
  EXPECT_EQ(back.approval.runs, 2u);
  EXPECT_EQ(ApprovalDigest(back.approval), ApprovalDigest(approval));
  EXPECT_NO_THROW(RequireSigned(back, "north", NorthFingerprint()));
  EXPECT_THAT(text, HasSubstr("\"decision\": \"approve\""));
  EXPECT_THAT(text, HasSubstr("\"approved_at\": \"2026-09-21T"));
  approval.commitment = {};
  EXPECT_THAT(RenderApproval({approval, {}}), HasSubstr("\"snapshot_commitment\": null"));
}

TEST(ApprovalTest, EveryFieldIsSigned) {
  const SignedApproval good = SignApproval(Example(), North());
  const std::vector<std::function<void(Approval&)>> changes = {
      [](auto& a) { a.party = "south"; },
      [](auto& a) { a.decision = Decision::kReject; },
      [](auto& a) { a.reason = "x"; },
      [](auto& a) { a.study = "smal"; },
      [](auto& a) { a.agreement_hash[0] ^= 1; },
      [](auto& a) { a.plan_hash[31] ^= 1; },
      [](auto& a) { a.commitment[5] ^= 1; },
      [](auto& a) { a.disclosure.min_cell = 8; },
      [](auto& a) { a.disclosure.min_rows = 31; },
      [](auto& a) { a.disclosure.refuse_small_samples = true; },
      [](auto& a) { a.approved_at += 1; },
      [](auto& a) { a.valid_until += 1; },
      [](auto& a) { a.software_version = "0.1.1"; },
      [](auto& a) { a.envelope[0] = 1; },
      [](auto& a) { a.runs = 3; },
      [](auto& a) { a.nonce[9] ^= 1; },
      [](auto& a) { std::swap(a.agreement_hash, a.plan_hash); },
  };
  for (size_t i = 0; i < changes.size(); ++i) {
    SignedApproval forged = good;
    changes[i](forged.approval);
    ExpectError(ErrorCode::kRefused,
                "the signature of the approval of party north is wrong: it was changed after it "
                "was signed",
                "approve again", [&] { RequireSigned(forged, "north", NorthFingerprint()); });
  }
  EXPECT_NO_THROW(RequireSigned(good, "north", NorthFingerprint()));
}

// What runs are counted by: another one after any change, and for every new approval of the same.
TEST(ApprovalTest, EveryApprovalHasADigestOfItsOwn) {
  Approval again = Example();
  EXPECT_EQ(ApprovalDigest(again), ApprovalDigest(Example()));
  again.nonce[0] ^= 1;
  EXPECT_NE(ApprovalDigest(again), ApprovalDigest(Example()));
  again = Example();
  again.runs = 3;
  EXPECT_NE(ApprovalDigest(again), ApprovalDigest(Example()));
}

// No character of the document can change without notice, those that say nothing included.
TEST(ApprovalTest, NoCharacterMayChange) {
  const std::string good = RenderApproval(SignApproval(Example(), North()));
  for (size_t i = 0; i + 1 < good.size(); ++i) {
    std::string forged = good;
    forged[i] = static_cast<char>(forged[i] ^ (i % 2 == 0 ? 1 : 0x20));
    EXPECT_TRUE(ThrownBy([&] {
                  RequireSigned(ParseApproval(forged, "a.json"), "north", NorthFingerprint());
                }).has_value())
        << "position " << i << ": " << forged.substr(i, 20);
  }
}

TEST(ApprovalTest, OnlyTheRostersKeySigns) {
  const auto refusal = [](const SignedApproval& document, const std::string& fingerprint) {
    const auto error = ThrownBy([&] { RequireSigned(document, "north", fingerprint); });
    if (!error) return std::string("accepted");
    EXPECT_EQ(error->code(), ErrorCode::kRefused);
    return error->message();
  };
  const SignedApproval good = SignApproval(Example(), North());
  const crypto::Identity impostor = crypto::MakeIdentity({.name = "north"});
  EXPECT_EQ(refusal(good, NorthFingerprint()), "accepted");
  EXPECT_EQ(refusal(SignApproval(Example(), impostor), NorthFingerprint()),
            "the approval of party north was signed with a certificate that does not count: its "
            "fingerprint is " +
                crypto::Fingerprint(*impostor.certificate) + ", the roster says " +
                NorthFingerprint());
  // The right certificate beside a signature by another key.
  SignedApproval mixed = SignApproval(Example(), impostor);
  mixed.signature.certificate = good.signature.certificate;
  EXPECT_THAT(refusal(mixed, NorthFingerprint()), HasSubstr("changed after it was signed"));
  EXPECT_EQ(refusal({Example(), {}}, NorthFingerprint()),
            "the approval of party north is not signed");
  SignedApproval damaged = good;
  damaged.signature.certificate.pop_back();
  EXPECT_EQ(refusal(damaged, NorthFingerprint()),
            "the approval of party north carries no readable certificate");
  const crypto::Identity old =
      crypto::MakeIdentity({.name = "north", .days = 1, .start = std::chrono::hours(-48)});
  EXPECT_THAT(refusal(SignApproval(Example(), old), crypto::Fingerprint(*old.certificate)),
              HasSubstr("it expired on"));
  const crypto::Identity south = crypto::MakeIdentity({.name = "south"});
  EXPECT_THAT(refusal(SignApproval(Example(), south), crypto::Fingerprint(*south.certificate)),
              HasSubstr("it is not made out to 'north' alone"));
}

// A signature of another kind of document, by the same key over the same bytes, is none.
TEST(ApprovalTest, TheKindOfDocumentIsSigned) {
  SignedApproval document = SignApproval(Example(), North());
  document.signature.signature = crypto::Sign(North(), "partita envelope v1", Bytes{});
  EXPECT_TRUE(ThrownBy([&] { RequireSigned(document, "north", NorthFingerprint()); }).has_value());
}

TEST(ApprovalTest, ApprovesExactlyItsStudy) {
  EXPECT_NO_THROW(RequireApproves(Example(), "north", Terms(), kNow));
  ExpectRefused("the approval of party north was made by party south",
                [](auto& a) { a.party = "south"; });
  ExpectRefused("the approval of party north is for the study 'other', not for 'small'",
                [](auto& a) { a.study = "other"; });
  ExpectRefused(
      "the approval of party north is for another study file or roster: it names the agreement "
      "hash "
      "0909090909090909..., here it is 0101010101010101...",
      [](auto& a) { a.agreement_hash = Filled(9); });
  ExpectRefused(
      "the approval of party north is for another plan: it names the plan hash "
      "0909090909090909..., "
      "here it is 0202020202020202...",
      [](auto& a) { a.plan_hash = Filled(9); });
  ExpectRefused("party north rejected the study: too few rows", [](auto& a) {
    a.decision = Decision::kReject;
    a.reason = "too few rows";
  });
}

TEST(ApprovalTest, HoldsForItsTime) {
  const auto nothing = [](Approval&) {};
  ExpectRefused("the approval of party north expired at " + FormatUtc(kNow + 100), nothing,
                kNow + 100);
  EXPECT_NO_THROW(RequireApproves(Example(), "north", Terms(), kNow + 99));
  // A clock that is a little behind is forgiven, one far behind is not.
  EXPECT_NO_THROW(RequireApproves(Example(), "north", Terms(), kNow - kClockSkewSeconds));
  ExpectRefused("the approval of party north was made at " + FormatUtc(kNow) +
                    ", but here it is only " + FormatUtc(kNow - kClockSkewSeconds - 1),
                nothing, kNow - kClockSkewSeconds - 1);
}

TEST(ApprovalTest, ThresholdsAreOnlyRaised) {
  ExpectRefused("the approval of party north asks for min_cell = 4, below the study's 5",
                [](auto& a) { a.disclosure.min_cell = 4; });
  ExpectRefused("the approval of party north asks for min_rows = 19, below the study's 20",
                [](auto& a) { a.disclosure.min_rows = 19; });
  ApprovalTerms strict = Terms();
  strict.disclosure.refuse_small_samples = true;
  ExpectError(ErrorCode::kRefused, "does not refuse small samples, which the study does", "approve",
              [&] { RequireApproves(Example(), "north", strict, kNow); });
}

TEST(ApprovalTest, TheStrictestThresholdHolds) {
  std::vector<SignedApproval> all(3);
  all[0].approval.disclosure = {5, 50, false};
  all[1].approval.disclosure = {9, 20, false};
  all[2].approval.disclosure = {6, 20, true};
  const DisclosureSpec strictest = StrictestDisclosure({5, 20, false}, all);
  EXPECT_EQ(strictest.min_cell, 9u);
  EXPECT_EQ(strictest.min_rows, 50u);
  EXPECT_TRUE(strictest.refuse_small_samples);
  const DisclosureSpec own = StrictestDisclosure({12, 70, false}, std::span(all).first(2));
  EXPECT_EQ(own.min_cell, 12u);
  EXPECT_EQ(own.min_rows, 70u);
  EXPECT_FALSE(own.refuse_small_samples);
}

// The longest that every field may be still fits the fixed size of the message.
TEST(ApprovalTest, TheLongestOneFitsTheMessage) {
  SignedApproval document;
  Approval& approval = document.approval;
  approval = Example();
  approval.party = std::string(32, 'p');
  approval.decision = Decision::kReject;
  approval.reason = std::string(kMaxReasonBytes, '"');  // each needs two characters
  approval.study = std::string(64, 's');
  approval.disclosure = {kMaxThreshold, kMaxThreshold, false};
  approval.approved_at = 0;
  approval.valid_until = kMaxUtc;
  approval.software_version = std::string(32, 'v');
  approval.envelope = Filled(255);
  approval.runs = kMaxApprovedRuns;
  document.signature.certificate.resize(crypto::kMaxCertificateBytes);
  document.signature.signature.resize(crypto::kMaxSignatureBytes);
  const Bytes bytes = EncodeApproval(document);
  EXPECT_EQ(bytes.size(), kApprovalBytes);
  EXPECT_EQ(RenderApproval(DecodeApproval(bytes, "north")), RenderApproval(document));
}

TEST(ApprovalTest, DamagedMessagesNameTheirParty) {
  Bytes bytes = EncodeApproval(SignApproval(Example(), North()));
  bytes[0] = 'x';
  ExpectError(ErrorCode::kPeerFault,
              "party south sent a damaged approval: its approval: it is not a JSON object",
              "same release", [&] { DecodeApproval(bytes, "south"); });
  // Hidden after the text.
  bytes = EncodeApproval(SignApproval(Example(), North()));
  bytes.back() = '!';
  EXPECT_TRUE(ThrownBy([&] { DecodeApproval(bytes, "south"); }).has_value());
  ExpectError(ErrorCode::kPeerFault, "party south", "",
              [] { DecodeApproval(Bytes(kApprovalBytes, 0), "south"); });
}

TEST(ApprovalTest, BadDocumentsAreRefusedByName) {
  const std::string good = RenderApproval({Example(), {}});
  const auto problem = [](const std::string& text) {
    const auto error = ThrownBy([&] { ParseApproval(text, "a.json"); });
    if (!error) return std::string("none");
    EXPECT_EQ(error->code(), ErrorCode::kBadInput);
    return error->message();
  };
  EXPECT_EQ(problem(good), "none");
  EXPECT_EQ(problem(""), "a.json: it is not a JSON object");
  EXPECT_EQ(problem("[]"), "a.json: it is not a JSON object");
  EXPECT_EQ(problem(std::string(100'000, '[')), "a.json: it is not a JSON object");
  EXPECT_EQ(problem("{}"), "a.json: it has no key 'partita_approval'");
  EXPECT_EQ(problem(Edited(good, "_approval\": 3", "_approval\": 1")),
            "a.json: its format is not 3, the one that is read here");
  EXPECT_EQ(problem(Edited(good, "\"runs\": 2", "\"runs\": 0")),
            "a.json: 'runs' is not a whole number from 1 to 1000000");
  EXPECT_EQ(problem(Edited(good, "\"reason\": \"\",", "")), "a.json: it has no key 'reason'");
  EXPECT_EQ(problem(Edited(good, "\"north\"", "\"No rth\"")),
            "a.json: 'party' is not the name of a party");
  EXPECT_EQ(problem(Edited(good, "\"small\"", "\"../x\"")),
            "a.json: 'study' is not the name of a study");
  EXPECT_EQ(problem(Edited(good, "\"approve\"", "\"perhaps\"")),
            "a.json: 'decision' is neither 'approve' nor 'reject'");
  EXPECT_EQ(problem(Edited(good, "\"approve\"", "\"reject\"")),
            "a.json: a rejection without a 'reason'");
  EXPECT_EQ(problem(Edited(good, "\"reason\": \"\"", "\"reason\": \"\\u001b[2J\"")),
            "a.json: 'reason' is no text that fits here");
  EXPECT_EQ(problem(Edited(good, "\"min_cell\": 7", "\"min_cell\": -7")),
            "a.json: 'min_cell' is not a whole number from 0 to 1000000000");
  EXPECT_EQ(problem(Edited(good, "\"min_cell\": 7", "\"min_cell\": 7.5")),
            "a.json: 'min_cell' is not a whole number from 0 to 1000000000");
  EXPECT_EQ(problem(Edited(good, "samples\": false", "samples\": 0")),
            "a.json: 'refuse_small_samples' is neither true nor false");
  EXPECT_EQ(problem(Edited(good, "\"0202", "\"02")),
            "a.json: 'plan_hash' is not a hash of 64 hexadecimal digits");
  EXPECT_EQ(problem(Edited(good, "\"0202", "\"zz02")),
            "a.json: 'plan_hash' is not in hexadecimal digits");
  EXPECT_THAT(problem(Edited(good, "\"approved_at\": \"2026-09", "\"approved_at\": \"2026-13")),
              HasSubstr("'approved_at' is not a time such as"));
  EXPECT_EQ(problem(Edited(good, "\"study\"", "\"extra\": 1,\n  \"study\"")),
            "a.json: it is not in the form in which it was written");
  // Twice the same key: readers differ in which one counts.
  EXPECT_EQ(problem(Edited(good, "\"min_cell\"", "\"min_cell\": 9,\n  \"min_cell\"")),
            "a.json: it is not in the form in which it was written");
}

TEST(ApprovalTest, TheSecretReadsBack) {
  ApprovalSecret secret;
  secret.party = "north";
  secret.commitment = Filled(3);
  secret.salt.Expose().fill(4);
  const std::string text = RenderSecret(secret);
  const ApprovalSecret back = ParseSecret(text, "a.secret.json");
  EXPECT_EQ(back.salt.Expose(), secret.salt.Expose());
  EXPECT_EQ(back.commitment, secret.commitment);
  ExpectError(ErrorCode::kBadInput, "a.secret.json: it has no key 'partita_approval_secret'", "",
              [] {
                ParseSecret(RenderApproval({Example(), {}}), "a.secret.json");
              });
  // The salt is nowhere in what is shared.
  EXPECT_THAT(RenderApproval({Example(), {}}), Not(HasSubstr(ToHex(secret.salt.Expose()))));
}

TEST(UtcTimeTest, FormatsAndParses) {
  EXPECT_EQ(FormatUtc(0), "1970-01-01T00:00:00Z");
  EXPECT_EQ(FormatUtc(951'782'399), "2000-02-28T23:59:59Z");
  EXPECT_EQ(FormatUtc(951'782'400), "2000-02-29T00:00:00Z");
  EXPECT_EQ(FormatUtc(kMaxUtc), "9999-12-31T23:59:59Z");
  for (int64_t utc : {int64_t{0}, int64_t{951'782'400}, kNow, kMaxUtc})
    EXPECT_EQ(ParseUtc(FormatUtc(utc)), utc);
  for (const char* bad : {"", "2026-09-01", "2026-02-29T00:00:00Z", "2026-13-01T00:00:00Z",
                          "2026-09-01T24:00:00Z", "2026-09-01T00:60:00Z", "2026-09-01T00:00:60Z",
                          "2026-09-01t00:00:00Z", "2026-09-01T00:00:00", "1969-12-31T23:59:59Z",
                          "+026-09-01T00:00:00Z", "2026-09-01T00:00:00Z "}) {
    EXPECT_EQ(ParseUtc(bad), std::nullopt) << bad;
  }
  EXPECT_EQ(FormatUtc(*ParseUntil("2026-12-31")), "2026-12-31T23:59:59Z");
  EXPECT_EQ(FormatUtc(*ParseUntil("2026-12-31T10:00:00Z")), "2026-12-31T10:00:00Z");
  EXPECT_EQ(ParseUntil("31.12.2026"), std::nullopt);
  EXPECT_EQ(ParseUntil("2026-02-30"), std::nullopt);
}

}  // namespace
}  // namespace partita::study::approval_test
