// The steward's signer: what it shows and signs of a study, and what it refuses a daemon that lies.
#include "node/sign/signer.h"

#include <openssl/sha.h>

#include "node/daemon/control.h"
#include "node/job/statement.h"
#include "tests/node/sign/signer_scene.h"

namespace partita::node::signer_test {
namespace {

using signer_scene::ExpectRefused;
using signer_scene::HasSubstr;
using signer_scene::kPhrase;
using signer_scene::PrintOf;
using signer_scene::SignerScene;
using signer_scene::Site;
using signer_scene::TestJson;

class SignerTest : public SignerScene {};

// ---- what it shows and signs

TEST_F(SignerTest, ShowsWhatTheBytesSay) {
  const TestJson shown = Show();
  EXPECT_EQ(shown.at("name"), "three-factor-rows");
  EXPECT_EQ(shown.at("site"), "south");
  EXPECT_EQ(shown.at("proposer"), "north");
  EXPECT_TRUE(shown.at("settled").get<bool>());
  EXPECT_TRUE(shown.at("can_approve").get<bool>());
  EXPECT_EQ(shown.at("code").get<std::string>().size(), 25u);
  EXPECT_EQ(shown.at("table").at("name"), "pupils");
  EXPECT_GT(shown.at("table").at("rows").get<uint64_t>(), 0u);
  EXPECT_EQ(shown.at("valid_until"), FormatUtc(south.study.expires));
  EXPECT_THAT(shown.at("plan_text").get<std::string>(), HasSubstr("three-factor-rows"));
  EXPECT_EQ(shown.at("plan").at("study"), "three-factor-rows");
  EXPECT_EQ(shown.at("parties").size(), 3u);
  EXPECT_TRUE(shown.at("trust").empty());
}

TEST_F(SignerTest, WhatItSignsHoldsForTheJob) {
  TestJson request = ApproveRequest();
  request["min_cell"] = 12;
  request["valid_until"] = FormatUtc(south.study.expires - 60);
  const std::string text = Ask(request).at("document");
  const study::SignedApproval document = study::ParseApproval(text, "document");
  EXPECT_NO_THROW(study::RequireSigned(document, "south", ToHex(PrintOf(south.steward))));
  EXPECT_EQ(document.approval.disclosure.min_cell, 12u);
  EXPECT_EQ(document.approval.valid_until, south.study.expires - 60);
  const study::Approval asked = study::ParseApproval(draft, "draft").approval;
  EXPECT_EQ(document.approval.agreement_hash, asked.agreement_hash);
  EXPECT_EQ(document.approval.plan_hash, asked.plan_hash);
  EXPECT_EQ(document.approval.commitment, asked.commitment);
}

TEST_F(SignerTest, AStewardIsStricterThanTheStudyNeverLaxer) {
  const auto with = [&](const char* field, const TestJson& value) {
    TestJson request = ApproveRequest();
    request[field] = value;
    return Refusal(request);
  };
  EXPECT_THAT(with("min_cell", 1), HasSubstr("usage: the least cell is from 5"));
  EXPECT_THAT(with("min_cell", -1), HasSubstr("usage: the least cell"));
  EXPECT_THAT(with("min_cell", INT64_MAX), HasSubstr("usage: the least cell"));
  EXPECT_THAT(with("valid_until", FormatUtc(south.study.expires + 1)), HasSubstr("usage: an appr"));
  EXPECT_THAT(with("valid_until", FormatUtc(now)), HasSubstr("usage: an approval"));
  EXPECT_THAT(with("valid_until", "tomorrow"), HasSubstr("usage: an approval"));
  EXPECT_THAT(with("runs", 7), HasSubstr("fields that are not known"));
  // None of these looked at a passphrase.
  EXPECT_FALSE(std::filesystem::exists(home / "tries"));
}

TEST_F(SignerTest, ARejectionIsSignedAndEndsTheStudyHere) {
  const std::string text = Ask(EndRequest("reject")).at("document");
  const study::SignedApproval document = study::ParseApproval(text, "document");
  EXPECT_NO_THROW(study::RequireSigned(document, "south", ToHex(PrintOf(south.steward))));
  EXPECT_EQ(document.approval.decision, study::Decision::kReject);
  EXPECT_EQ(document.approval.reason, "no ethics reference");
  EXPECT_FALSE(Show().at("can_approve").get<bool>());
}

TEST_F(SignerTest, BeforeItIsSettledThereIsAPlanAndNothingToSign) {
  south.study.roster.clear();
  draft.clear();
  statement.clear();
  const TestJson shown = Show();
  EXPECT_FALSE(shown.at("settled").get<bool>());
  EXPECT_EQ(shown.at("code"), "");
  EXPECT_TRUE(shown.at("table").is_null());
  EXPECT_THAT(shown.at("plan_text").get<std::string>(), HasSubstr("three-factor-rows"));
  EXPECT_THAT(Refusal(ApproveRequest()), HasSubstr("refused: there is nothing to approve"));
}

// ---- a daemon that lies

TEST_F(SignerTest, ARosterWithAForeignRunKeyIsRefused) {
  // Somebody runs as west: an offer under a node key that is not on this site's list.
  Site& west = world.at("west");
  west.node = crypto::MakeIdentity({.name = "west"});
  Offer offer = DecodeOffer(DecodeMessage(west.study.own_offer).message.body);
  offer.run_certificate =
      crypto::EncodeCertificate(*crypto::MakeIdentity({.name = "west"}).certificate);
  world.PutOffer("west", offer);
  world.Settle();
  ExpectRefused(Refusal(Request("study")),
                "not signed by the key that the own list of parties has");
}

TEST_F(SignerTest, ARosterWithAForeignStewardIsRefused) {
  Site& west = world.at("west");
  west.steward = crypto::MakeIdentity({.name = "west"});
  Offer offer = DecodeOffer(DecodeMessage(west.study.own_offer).message.body);
  offer.steward = PrintOf(west.steward);
  world.PutOffer("west", offer);
  world.Settle();
  ExpectRefused(Refusal(Request("study")), "steward who is not on the own list");
}

TEST_F(SignerTest, ARosterWithAStewardOfTheDaemonsIsRefused) {
  const crypto::Identity own = south.steward;
  south.steward = crypto::MakeIdentity({.name = "south"});
  Offer offer = DecodeOffer(DecodeMessage(south.study.own_offer).message.body);
  offer.steward = PrintOf(south.steward);
  world.PutOffer("south", offer);
  world.Settle();
  south.steward = own;
  ExpectRefused(Refusal(Request("study")), "steward who is not on the own list");
}

// The daemon has the node key, so it can make another offer of this site; the draft is of the job's.
TEST_F(SignerTest, ARosterWithAnotherRunKeyOfThisSiteIsNotWhatTheJobFroze) {
  Offer offer = DecodeOffer(DecodeMessage(south.study.own_offer).message.body);
  offer.run_certificate =
      crypto::EncodeCertificate(*crypto::MakeIdentity({.name = "south"}).certificate);
  world.PutOffer("south", offer);
  world.Settle();
  ExpectRefused(Refusal(Request("study")), "refused: ");
  EXPECT_THAT(Refusal(Request("study")), HasSubstr("roster"));
}

TEST_F(SignerTest, ACommitStatementOfAnotherTableIsRefused) {
  const SignedCommit real = DecodeSignedCommit(statement);
  const Bytes good = statement;
  const auto said = [&](const SignedCommit& commit) {
    statement = Encode(commit);
    std::string error = Refusal(Request("study"));
    statement = good;
    return error;
  };
  // The name alone: the signature is the job's over the other name.
  SignedCommit renamed = real;
  renamed.statement.table = "screening";
  ExpectRefused(said(renamed), "not signed by the key of this site's jobs");
  renamed = real;
  renamed.statement.rows += 1;
  ExpectRefused(said(renamed), "not signed by the key of this site's jobs");
  // Signed again, by a key of the daemon's.
  const crypto::Identity daemon = crypto::MakeIdentity({.name = "south"});
  ExpectRefused(said(SignCommit(real.statement, daemon)),
                "not signed by the key of this site's jobs");
  ExpectRefused(said(SignCommit(real.statement, south.node)), "not signed by the key of this site");
  // The job's own words, about another study, another draft, or another table than the draft's.
  CommitStatement other = real.statement;
  other.study[0] ^= 1;
  ExpectRefused(said(SignCommit(other, south.jobs)), "about another study");
  other = real.statement;
  other.draft[0] ^= 1;
  ExpectRefused(said(SignCommit(other, south.jobs)), "not the one that the job wrote");
  other = real.statement;
  other.commitment[0] ^= 1;
  ExpectRefused(said(SignCommit(other, south.jobs)), "it is about another table");
  other = real.statement;
  other.table.clear();
  ExpectRefused(said(SignCommit(other, south.jobs)), "it is about another table");
  statement.clear();
  ExpectRefused(Refusal(Request("study")), "is not whole");
}

TEST_F(SignerTest, ADraftThatWasChangedIsRefused) {
  study::Approval more = study::ParseApproval(draft, "draft").approval;
  more.runs = 2;
  draft = study::RenderApproval({more, {}});
  ExpectRefused(Refusal(Request("study")), "not the one that the job wrote");
  // Signed by the key of the jobs, too: a job that was broken into gets no second run.
  CommitStatement of_job = DecodeSignedCommit(statement).statement;
  of_job.draft = crypto::Sha256Of(AsBytes(draft));
  statement = Encode(SignCommit(of_job, south.jobs));
  ExpectRefused(Refusal(Request("study")), "for more than one run");
}

// What the terms of the study do not fix: a job that was broken into gets nothing more by these either.
TEST_F(SignerTest, ADraftOfMoreThanTheStudyIsRefused) {
  const study::Approval real = study::ParseApproval(draft, "draft").approval;
  const CommitStatement said = DecodeSignedCommit(statement).statement;
  const auto refusal = [&](const study::Approval& changed, CommitStatement of_job) {
    draft = study::RenderApproval({changed, {}});
    of_job.draft = crypto::Sha256Of(AsBytes(draft));
    statement = Encode(SignCommit(of_job, south.jobs));
    return Refusal(Request("study"));
  };
  EXPECT_EQ(refusal(real, said), "none");
  study::Approval changed = real;
  changed.envelope.fill(3);
  ExpectRefused(refusal(changed, said), "for more than one run, or too long");
  changed = real;
  changed.valid_until = south.study.expires + 1;
  ExpectRefused(refusal(changed, said), "for more than one run, or too long");
  // South holds rows: a draft of a party without a table.
  changed = real;
  changed.commitment = {};
  CommitStatement of_none;
  of_none.study = said.study;
  ExpectRefused(refusal(changed, of_none), "for another role than this site has");
}

TEST_F(SignerTest, AProposerIsAName) {
  Study& study = south.study;
  for (const char* proposer : {"\x1b[2Jnorth", "North", ""}) {
    study.proposer = proposer;
    study.id = StudyIdOf(study.file, study.proposer, study.nonce, study.expires);
    ExpectRefused(Refusal(Request("study")), "the proposer of the study has a name that is none");
  }
}

TEST_F(SignerTest, AnotherStudyUnderTheNumberIsRefused) {
  for (const char* field : {"file", "proposer", "nonce", "expires"}) {
    TestJson request = Request("study");
    TestJson& value = request["documents"][field];
    if (value.is_number()) {
      value = value.get<int64_t>() + 1;
    } else {
      std::string text = value;
      text[0] = text[0] == '0' ? '1' : '0';
      value = text;
    }
    ExpectRefused(Refusal(request), "not the one that its number stands for");
  }
}

TEST_F(SignerTest, OnlyTheStudyThatWasSeenIsSigned) {
  TestJson request = ApproveRequest();
  std::string code = request.at("code");
  code[0] = code[0] == 'a' ? 'b' : 'a';
  request["code"] = code;
  EXPECT_THAT(Refusal(request), HasSubstr("untrusted: the code that was seen"));
  request["code"] = "";
  EXPECT_THAT(Refusal(request), HasSubstr("untrusted: the code that was seen"));
  EXPECT_FALSE(std::filesystem::exists(home / "tries"));
}

// A job may have frozen it anew since it was shown.
TEST_F(SignerTest, OnlyTheTableThatWasSeenIsSigned) {
  TestJson request = ApproveRequest();
  std::string digest = Show().at("table").at("digest");
  digest[0] = digest[0] == '0' ? '1' : '0';
  for (const std::string& other : {digest, std::string(), std::string("x")}) {
    request["table"] = other;
    EXPECT_THAT(Refusal(request), HasSubstr("untrusted: the table changed since you looked at it"));
  }
  EXPECT_FALSE(std::filesystem::exists(home / "tries"));
  request["table"] = Show().at("table").at("digest");
  EXPECT_EQ(Refusal(request), "none");
}

// What the signer says is the code is of what it has, whatever the child says.
TEST_F(SignerTest, TheCodeIsOfFileRosterAndPlan) {
  const std::string code = Show().at("code");
  const Digest plan = study::ParseApproval(draft, "draft").approval.plan_hash;
  EXPECT_EQ(code, CodeOf(south.study, plan));
  // SHA-256 of the four fields, each after its length (u64, little-endian), in base 32: by OpenSSL alone.
  std::string text;
  for (const std::string& field : {std::string("partita plan code 1"), south.study.file,
                                   south.study.roster, std::string(plan.begin(), plan.end())}) {
    for (int i = 0; i < 8; ++i) text.push_back(static_cast<char>(field.size() >> (8 * i)));
    text += field;
  }
  std::array<uint8_t, 32> digest{};
  ::SHA256(reinterpret_cast<const uint8_t*>(text.data()), text.size(), digest.data());
  std::string expected;
  for (size_t bit = 0; bit < 125; bit += 5) {
    unsigned five = 0;
    for (size_t i = bit; i < bit + 5; ++i) five = 2 * five + ((digest[i / 8] >> (7 - i % 8)) & 1U);
    expected.push_back("abcdefghijklmnopqrstuvwxyz234567"[five]);
  }
  EXPECT_EQ(code, expected);
  // Another roster, file or plan has another code, and neither is signed with the other's.
  Study other = south.study;
  other.roster += " ";
  EXPECT_NE(CodeOf(other, plan), code);
  other = south.study;
  other.file += " ";
  EXPECT_NE(CodeOf(other, plan), code);
  Digest other_plan = plan;
  other_plan[31] ^= 1;
  EXPECT_NE(CodeOf(south.study, other_plan), code);
  const TestJson request = ApproveRequest();
  signer = std::make_unique<Signer>(SignerParts{SignerFolder(home),
                                                [&](const ReadOrder& order) {
                                                  ForSteward read = ReadForSteward(order);
                                                  read.settled = false;
                                                  return read;
                                                },
                                                [this] { return now; }});
  EXPECT_EQ(Show().at("code"), "");
  signer = std::make_unique<Signer>(SignerParts{SignerFolder(home),
                                                [&](const ReadOrder& order) {
                                                  ForSteward read = ReadForSteward(order);
                                                  read.terms.plan_hash = other_plan;
                                                  return read;
                                                },
                                                [this] { return now; }});
  ExpectRefused(Refusal(request), "refused: ");
}

TEST_F(SignerTest, AStoppedNodeGoesOnByTheStewardsWord) {
  Digest text{};
  text.fill(5);
  const TestJson word = Ask({{"do", "go-on"}, {"text", ToHex(text)}, {"passphrase", kPhrase}});
  EXPECT_TRUE(crypto::VerifySignature(*south.steward.certificate, kGoOnDomain, text,
                                      FromHex(word.at("signature").get<std::string>())));
  EXPECT_THAT(Refusal({{"do", "go-on"}, {"text", "ab"}, {"passphrase", kPhrase}}),
              HasSubstr("usage: "));
  EXPECT_THAT(Refusal({{"do", "sign-anything"}}), HasSubstr("usage: the signer knows no request"));
}

}  // namespace
}  // namespace partita::node::signer_test
