// Policies at the signer, and at the own job that does not believe it.
#include <filesystem>

#include "node/job/own_policy.h"
#include "node/job/policy_study.h"
#include "node/job/policy_uses.h"
#include "node/sign/by_policy.h"
#include "study/approval/delegation.h"
#include "tests/node/sign/signer_scene.h"

namespace partita::node::signer_policy_test {
namespace {

namespace fs = std::filesystem;
using namespace signer_scene;  // NOLINT(google-build-using-namespace)

class PolicyScene : public SignerScene {
 protected:
  std::string PolicyText(const std::string& table = "pupils", int results = 2) {
    std::string text = "partita_envelope = 2\nname = \"abilities\"\ntables = [\"" + table +
                       "\"]\n" +
                       R"(methods = ["mle"]
protocols = ["pooled-moments"]
functions = ["cfa"]
engines = ["dealer"]
receivers = ["north"]
releases = ["moments"]
variables = ["x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9"]
conditions = []
proposers = ["north"]
dealers = ["helper"]
min_parties = 3
valid_until = "2099-12-31"
max_leakage = {disclosure = "exact", moments = "exact"}
min_cell = 11
)" + "max_results = " + std::to_string(results) +
                       "\nexact = [\"" + ToHex(crypto::Sha256Of(AsBytes(south.study.file))) +
                       "\"]\n";
    for (const ListedParty& party : world.ListOf("south").parties) {
      text += "[[party]]\nname = \"" + party.name + "\"\nnode = \"" + ToHex(party.node_key) +
              "\"\nsteward = \"" + ToHex(party.steward_key) + "\"\n";
    }
    return text;
  }
  TestJson Add(const std::string& text) {
    return Ask({{"do", "policy-add"}, {"text", text}, {"passphrase", kPhrase}});
  }
  TestJson End() {
    return Ask({{"do", "policy-end"}, {"name", "abilities"}, {"passphrase", kPhrase}});
  }
  TestJson Approve() { return Ask(Request("policy-approve")); }
  Digest Commitment() { return CommitmentOf(SignerFolder(home).Ended().policies.at(0)); }
  study::SignedApproval Signed() {
    return study::ParseApproval(Approve().at("document").get<std::string>(), "the approval");
  }

  // What the own job says to a document for `study`; "none" if it takes it.
  std::string AtJob(const study::SignedApproval& document, const Study& study,
                    const std::string& table = "pupils") {
    return ErrorOf([&] {
      RequireOwnPolicy(south.settings, Prepare("south", study.file), study, world.ListOf("south"),
                       SignerFolder(home).Ended(), table, document);
    });
  }
  // What the run job says to it, from what root, the signer and its own folder have.
  std::string AtRun(const study::SignedApproval& document) {
    return ErrorOf([&] {
      const Prepared prepared = Prepare("south", south.study.file);
      const StudyFolder folder(south.settings, south.study.id);
      const node::Documents documents =
          VerifyDocuments(south.settings, south.study, prepared, folder);
      RequireOwnApproval(south.settings, documents, prepared, south.study, folder.Table(),
                         study::RenderApproval(document));
    });
  }
  SignerFolder::PolicyKey Stolen() { return SignerFolder(home).OpenPolicy(Commitment()); }
  // By whoever has the key: the document with another use, signed again.
  study::SignedApproval ByHand(study::SignedApproval document, uint64_t use) {
    const SignerFolder::PolicyKey stolen = Stolen();
    document.approval.use = use;
    study::SignedApproval forged = study::SignApproval(document.approval, stolen.key);
    forged.delegation = stolen.delegation;
    return forged;
  }
  Study Another(const std::string& file, uint8_t nonce) {
    Study study = south.study;
    study.file = file;
    study.nonce.fill(nonce);
    study.id = StudyIdOf(study.file, study.proposer, study.nonce, study.expires);
    return study;
  }
};

// The reader is a child: what it is asked and answers goes by bytes.
ForSteward ReadByBytes(const ReadOrder& order) {
  EXPECT_EQ(DecodeReadOrder(Encode(order)), order);
  return DecodeReadAnswer(AnswerReadOrder(Encode(order)));
}

TEST_F(PolicyScene, SignsWhatFitsWithoutAPassphrase) {
  Add(PolicyText());
  signer = std::make_unique<Signer>(
      SignerParts{SignerFolder(home), ReadByBytes, [this] { return now; }});
  const study::SignedApproval document = Signed();
  EXPECT_NO_THROW(study::RequireSigned(document, "south", ToHex(PrintOf(south.steward))));
  EXPECT_EQ(document.approval.use, 1u);
  EXPECT_EQ(document.approval.runs, 1u);
  EXPECT_EQ(document.approval.disclosure.min_cell, 11u);
  EXPECT_EQ(document.approval.valid_until, south.study.expires);
  EXPECT_EQ(AtJob(document, south.study), "none");
  // The next attempt of the same study.
  EXPECT_EQ(AtJob(document, south.study), "none");
  // The same study gets the same bytes, and is one use.
  now += 60;
  signer = NewSigner();
  EXPECT_EQ(study::RenderApproval(Signed()), study::RenderApproval(document));
  EXPECT_EQ(Ask({{"do", "policy-list"}}).at("policies").at(0).at("results"), 1);
}

// The steward signs the draft of the study that waits, and it is approved by it, once.
TEST_F(PolicyScene, ADraftOfAStudyApprovesIt) {
  signer = std::make_unique<Signer>(
      SignerParts{SignerFolder(home), ReadByBytes, [this] { return now; }});
  const TestJson shown = Show();
  EXPECT_EQ(shown.at("no_policy"), TestJson::array());
  const std::string text = shown.at("policy_draft");
  const study::Policy policy = ParsePolicy(text);
  EXPECT_EQ(policy.tables, std::vector<std::string>{"pupils"});
  EXPECT_EQ(policy.parties.size(), world.ListOf("south").parties.size());
  EXPECT_FALSE(Approve().contains("document"));
  EXPECT_EQ(Add(text).at("name"), policy.name);
  EXPECT_EQ(AtJob(Signed(), south.study), "none");
  const TestJson listed = Ask({{"do", "policy-list"}}).at("policies").at(0);
  EXPECT_EQ(listed.at("tables"), TestJson::array({"pupils"}));
  EXPECT_EQ(listed.at("exact"), 1);
  EXPECT_EQ(listed.at("uses"), TestJson::array({{{"number", 1},
                                                 {"study", ToHex(south.study.id)},
                                                 {"epsilon", 0.0},
                                                 {"approved", FormatUtc(now)}}}));
  EXPECT_EQ(listed.at("results"), listed.at("max_results"));
}

// Of a table that only the daemon names there is none.
TEST_F(PolicyScene, NoDraftWithoutTheJobsWord) {
  draft.clear();
  EXPECT_EQ(Show().at("policy_draft"), "");
  EXPECT_EQ(Show().at("no_policy"), TestJson::array());
}

// What fits no policy is for a person; a policy takes the passphrase.
TEST_F(PolicyScene, SignsNothingElse) {
  EXPECT_EQ(Approve().at("reasons"), TestJson::array({"there is no policy at this site"}));
  ExpectRefused(
      Refusal({{"do", "policy-add"}, {"text", PolicyText()}, {"passphrase", "another one"}}),
      "refused");
  ExpectRefused(Refusal({{"do", "policy-add"}, {"text", "x"}, {"passphrase", kPhrase}}),
                "bad-input");
  EXPECT_TRUE(SignerFolder(home).Ended().policies.empty());
  now += 1;  // a wrong passphrase is waited for
  Add(PolicyText("others"));
  EXPECT_EQ(Approve(),
            TestJson({{"reasons", {"the policy 'abilities' does not have the table 'pupils'"}}}));
  EXPECT_EQ(Ask({{"do", "policy-list"}}).at("policies").at(0).at("results"), 0);
}

// The daemon keeps the new list back: the job saw its serial, or has none with this policy.
TEST_F(PolicyScene, AnEndedPolicyCountsForNothing) {
  Add(PolicyText());
  const study::SignedApproval document = Signed();
  End();
  EXPECT_FALSE(Approve().contains("document"));
  ExpectRefused(AtJob(document, south.study), "which the steward ended, or never signed");
  for (const auto& entry : fs::directory_iterator(home)) {
    const bool is_policy = entry.path().stem().string().starts_with("policy-");
    EXPECT_FALSE(is_policy && entry.path().extension() == ".key") << entry.path();
  }
}

// What the run job goes by: the steward of root's file, and the newest list that it saw.
TEST_F(PolicyScene, TheRunTakesThePolicyOfItsOwnSteward) {
  const std::string before = ReadFile(south.settings.ended, 1 << 20, "the list");
  Add(PolicyText());
  const study::SignedApproval document = Signed();
  EXPECT_EQ(AtRun(document), "none");
  study::SignedApproval forged = document;
  forged.delegation = study::SignDelegation(
      "south", crypto::Sha256Of(document.signature.certificate), document.approval.envelope,
      document.delegation->from, document.delegation->until, 2, world.at("north").steward);
  ExpectRefused(AtRun(forged), "not signed by a key of the stewards' file");
  study::SignedApproval bare = document;
  bare.delegation.reset();
  ExpectRefused(AtRun(bare), "not signed by a key of the stewards' file");
  const std::string with_policy = ReadFile(south.settings.ended, 1 << 20, "the list");
  End();
  ExpectRefused(AtRun(document), "which the steward ended, or never signed");
  WriteFileAtomically(south.settings.ended.string(), with_policy);
  ExpectRefused(AtRun(document), "a newer one was signed");
  WriteFileAtomically(south.settings.ended.string(), before);
  ExpectRefused(AtRun(document), "a newer one was signed");
}

// Whoever has the key: studies that fit, within the numbers, and no other.
TEST_F(PolicyScene, AStolenKeyIsBoundedByTheJob) {
  Add(PolicyText());
  const study::SignedApproval document = Signed();
  // Another file: `exact` does not have it.
  std::string file = south.study.file;
  file.replace(file.find("min_rows = 200"), 14, "min_rows = 201");
  ExpectRefused(AtJob(ByHand(document, 1), Another(file, 1)),
                "does not have this study file among those with exact results");
  ExpectRefused(AtJob(ByHand(document, 1), south.study, "others"), "the table 'others'");
  // Laxer than the policy.
  study::SignedApproval lax = document;
  lax.approval.disclosure.min_cell = 5;
  ExpectRefused(AtJob(ByHand(lax, 1), south.study), "demands less than the policy");
  // Another key that the steward delegated to, under the commitment of this policy.
  const crypto::Identity other = crypto::MakeIdentity({.name = "south"});
  study::SignedApproval forged = study::SignApproval(document.approval, other);
  forged.delegation = study::SignDelegation("south", PrintOf(other), document.approval.envelope,
                                            document.delegation->from, document.delegation->until,
                                            9, south.steward);
  EXPECT_NO_THROW(study::RequireSigned(forged, "south", ToHex(PrintOf(south.steward))));
  ExpectRefused(AtJob(forged, south.study), "signed by a key that is not the policy's");
  // Up to its results, in any order.
  EXPECT_EQ(AtJob(ByHand(document, 2), Another(south.study.file, 2)), "none");
  EXPECT_EQ(AtJob(ByHand(document, 1), south.study), "none");
  ExpectRefused(AtJob(ByHand(document, 3), Another(south.study.file, 3)), "which are used up");
  // Every attempt is compared, not the first one of a study alone.
  ExpectRefused(AtJob(ByHand(document, 1), south.study, "others"), "the table 'others'");
  ExpectRefused(AtJob(ByHand(lax, 1), south.study), "demands less than the policy");
}

// A signer whose record was set back signs numbers again that a job has seen.
TEST_F(PolicyScene, AFolderThatWasSetBackShows) {
  Add(PolicyText("pupils", 5));
  const fs::path record = SignerFolder(home).UsesOfPolicy(Commitment());
  fs::copy_file(record, home / "before");
  const study::SignedApproval document = Signed();
  EXPECT_EQ(AtJob(document, south.study), "none");
  fs::copy_file(home / "before", record, fs::copy_options::overwrite_existing);
  const Study other = Another(south.study.file, 4);
  PolicyCase at;
  at.study = other.id;
  at.draft = study::ParseApproval(draft, "the draft").approval;
  at.policies = SignerFolder(home).Ended().policies;
  at.reads = {{}};
  at.now = now;
  const study::SignedApproval second =
      study::ParseApproval(ApproveByPolicy(SignerFolder(home), at).document, "the approval");
  EXPECT_EQ(second.approval.use, 1u);
  ExpectRefused(AtJob(second, other), "by use 1, which was that of another study");
  ExpectRefused(AtJob(ByHand(document, 2), south.study), "by another use than before");
}

}  // namespace
}  // namespace partita::node::signer_policy_test
