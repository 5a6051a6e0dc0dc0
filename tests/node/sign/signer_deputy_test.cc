// Deputies and second signatures at the signer, and at the own job that does not believe it.
#include <filesystem>

#include "node/job/closed.h"
#include "node/job/documents.h"
#include "node/job/folder.h"
#include "node/job/own_persons.h"
#include "study/approval/persons.h"
#include "tests/node/sign/signer_scene.h"

namespace partita::node::signer_deputy_test {
namespace {

namespace fs = std::filesystem;
using namespace signer_scene;  // NOLINT(google-build-using-namespace)

constexpr int64_t kDay = 86'400;
constexpr char kWords[] = "some words of a deputy";

class DeputyScene : public SignerScene {
 protected:
  // Two persons have to sign for the table, as root wrote it for the jobs.
  void AskForTwo() {
    south.settings.catalogue.at("pupils").stewards_needed = 2;
    fs::remove(south.settings.studies / ToHex(south.study.id) / "draft.json");
    Commit();
  }
  std::string MakeKey(const std::string& name) {
    return Ask({{"do", "deputy-key"}, {"name", name}, {"passphrase", Words(name)}}).at("key");
  }
  static std::string Words(const std::string& name) { return kWords + (" " + name); }
  TestJson AddRequest(const std::string& name, const std::string& key, int64_t from,
                      int64_t until) const {
    return {{"do", "deputy-add"},
            {"name", name},
            {"key", key},
            {"from", FormatUtc(from)},
            {"until", FormatUtc(until)},
            {"passphrase", kPhrase}};
  }
  void Name(const std::string& name) {
    Ask(AddRequest(name, MakeKey(name), now - kDay, now + kDay));
  }
  TestJson EndDeputyRequest(const std::string& name) const {
    return {{"do", "deputy-end"}, {"name", name}, {"passphrase", kPhrase}};
  }
  static TestJson As(TestJson request, const std::string& deputy) {
    request["deputy"] = deputy;
    request["passphrase"] = Words(deputy);
    return request;
  }
  study::SignedApproval Signed(const TestJson& request) {
    return study::ParseApproval(Ask(request).at("document").get<std::string>(), "the approval");
  }
  study::SignedApproval By(const std::string& who) {
    return Signed(who == "steward" ? ApproveRequest() : As(ApproveRequest(), who));
  }
  // The daemon keeps it, and passes it on to the second.
  void PassOn(const study::SignedApproval& document) { first = study::RenderApproval(document); }

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
  fs::path Published(const std::string& name) const {
    return EndedFileOf(south.settings.ended, name);
  }
  crypto::Identity KeyOf(const std::string& name) const {
    return SignerFolder(home).OpenDeputy(name, Words(name), now).identity;
  }
};

TEST_F(DeputyScene, ADeputyApprovesInTheStewardsPlace) {
  Name("kim");
  const study::SignedApproval document = By("kim");
  EXPECT_NO_THROW(study::RequireSigned(document, "south", ToHex(PrintOf(south.steward))));
  EXPECT_EQ(document.deputy->name, "kim");
  EXPECT_EQ(document.approval.approved_at, now);
  EXPECT_EQ(AtRun(document), "none");
  EXPECT_EQ(AtRun(By("steward")), "none");
  const TestJson listed = Ask({{"do", "deputy-list"}}).at("deputies").at(0);
  EXPECT_EQ(listed.at("state"), "signs");
  EXPECT_EQ(Show().at("may_sign"), TestJson::array({"the steward", "kim"}));
}

TEST_F(DeputyScene, AKeyCountsWhenTheStewardHasNamedIt) {
  const std::string key = MakeKey("kim");
  EXPECT_EQ(Ask({{"do", "deputy-list"}}).at("deputies").at(0).at("state"),
            "not named by the steward");
  ExpectRefused(Refusal(As(ApproveRequest(), "kim")), "the steward named no deputy 'kim'");
  ExpectRefused(Refusal({{"do", "deputy-key"}, {"name", "kim"}, {"passphrase", Words("lee")}}),
                "there is a key of the deputy kim already");
  ExpectRefused(
      Refusal({{"do", "deputy-key"}, {"name", "../steward"}, {"passphrase", Words("lee")}}),
      "this cannot be the name of a deputy");
  // Somebody put another key there since the steward looked.
  std::string other = key;
  other[0] = other[0] == '0' ? '1' : '0';
  ExpectRefused(Refusal(AddRequest("kim", other, now, now + kDay)), "is another than the one");
  ExpectRefused(Refusal(AddRequest("lee", key, now, now + kDay)), "no key of such a deputy");
  for (const auto& [from, until] : std::vector<std::pair<int64_t, int64_t>>{
           {now - 2 * kDay, now - kDay}, {now + 2, now + 1}, {now, now + 367 * kDay}})
    ExpectRefused(Refusal(AddRequest("kim", key, from, until)), "for a year at most");
  EXPECT_TRUE(SignerFolder(home).Ended().deputies.empty());
  EXPECT_EQ(Refusal(AddRequest("kim", key, now, now + kDay)), "none");
  ExpectRefused(Refusal(AddRequest("kim", key, now, now + kDay)), "already");
}

TEST_F(DeputyScene, OnlyBetweenItsTwoDays) {
  Ask(AddRequest("kim", MakeKey("kim"), now + kDay, now + 2 * kDay));
  ExpectRefused(Refusal(As(ApproveRequest(), "kim")), "the deputy kim signs from");
  EXPECT_EQ(Show().at("may_sign"), TestJson::array({"the steward"}));
  EXPECT_EQ(Ask({{"do", "deputy-list"}}).at("deputies").at(0).at("state"), "to come");
  Ask(AddRequest("lee", MakeKey("lee"), now - 2 * kDay, now + 1));
  now += 2;
  ExpectRefused(Refusal(As(ApproveRequest(), "lee")), "the deputy lee signs from");
  ExpectRefused(Refusal(As(EndRequest("withdraw"), "lee")), "the deputy lee signs from");
}

// Whatever else takes a passphrase.
TEST_F(DeputyScene, TheRestIsTheStewardsAlone) {
  Name("kim");
  const std::string digest = ToHex(PrintOf(south.node));
  const std::vector<TestJson> others = {
      {{"do", "revoke"}, {"name", "north"}, {"list", ToHex(list)}},
      {{"do", "reopen"}, {"mark", ToHex(Encode(RestoredMark{"south", now, {}, {}, {}}))}},
      {{"do", "go-on"}, {"text", digest}},
      {{"do", "policy-end"}, {"name", "x"}},
      {{"do", "deputy-end"}, {"name", "kim"}},
      {{"do", "pairing"}, {"name", "east"}, {"role", 1}, {"hash", digest}, {"address", "a:1"}}};
  for (const TestJson& request : others)
    ExpectRefused(Refusal(As(request, "kim")), "this is for the steward alone");
  EXPECT_TRUE(SignerFolder(home).GivenUp().empty());
  // Nor does the passphrase of a deputy open the steward's key.
  TestJson request = others[1];
  request["passphrase"] = Words("kim");
  ExpectRefused(Refusal(request), "the passphrase is wrong");
}

// With the key itself in hand: the lists are the steward's.
TEST_F(DeputyScene, ADeputysKeySignsNoListsAndNoPolicies) {
  Name("kim");
  const study::SignedApproval document = By("kim");
  const crypto::Identity key = KeyOf("kim");
  const auto write = [](const fs::path& file, const Bytes& bytes) {
    WriteFileAtomically(file.string(), {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  };
  const std::string ended = ReadFile(south.settings.ended, 1 << 20, "the list");
  EndedList forged = SignerFolder(home).Ended();
  forged.serial += 1;
  forged.deputies.front().word.until += kDay;
  write(south.settings.ended, Encode(SignEndedList(forged, key)));
  ExpectRefused(AtRun(document), "not signed by a steward of this site");
  WriteFileAtomically(south.settings.ended.string(), ended);
  const std::string parties = ReadFile(south.settings.parties, 1 << 20, "the list");
  write(south.settings.parties, EncodeSignedList(SignPartyList(world.ListOf("south"), key)));
  ExpectRefused(AtRun(document), "steward");
  WriteFileAtomically(south.settings.parties.string(), parties);
  EXPECT_EQ(AtRun(document), "none");
  // As the key of a policy, or naming a deputy of its own.
  study::Approval approval = document.approval;
  approval.use = 1;
  approval.envelope = PrintOf(key);
  study::SignedApproval policy = study::SignApproval(approval, key);
  EXPECT_NE(AtRun(policy), "none");
  study::SignedApproval other = study::SignApproval(document.approval, south.jobs);
  other.deputy =
      study::SignDeputy("south", "lee", PrintOf(south.jobs), now - kDay, now + kDay, key);
  other.steward_certificate = crypto::EncodeCertificate(*key.certificate);
  ExpectRefused(AtRun(other), "not signed by a key of the stewards' file");
}

// Peers still believe what it signed; the own job does not.
TEST_F(DeputyScene, AnEndedDeputyCountsForNothing) {
  Name("kim");
  const study::SignedApproval document = By("kim");
  const std::string before = ReadFile(south.settings.ended, 1 << 20, "the list");
  EXPECT_EQ(AtRun(document), "none");
  EXPECT_EQ(Refusal(EndDeputyRequest("kim")), "none");
  EXPECT_NO_THROW(study::RequireSigned(document, "south", ToHex(PrintOf(south.steward))));
  ExpectRefused(AtRun(document), "by the deputy kim, whom the steward ended");
  ExpectRefused(Refusal(As(ApproveRequest(), "kim")), "or ended it");
  EXPECT_FALSE(fs::exists(home / "deputy-kim.key"));
  // The list of before, put back by whoever may write there.
  WriteFileAtomically(south.settings.ended.string(), before);
  ExpectRefused(AtRun(document), "a newer one was signed");
  SignerFolder(home).Publish();
  // The same name, another key.
  Name("kim");
  ExpectRefused(AtRun(document), "whom the steward ended or named for another time");
  ExpectRefused(Refusal(EndDeputyRequest("lee")), "there is no deputy 'lee'");
}

// Named anew for a shorter time: what the older word would allow is over, too.
TEST_F(DeputyScene, TheJobGoesByTheTimesOfTheList) {
  Name("kim");
  const study::SignedApproval document = By("kim");
  const SignerFolder folder(home);
  EndedList shorter = folder.Ended();
  shorter.serial += 1;
  PublishedDeputy& kim = shorter.deputies.front();
  kim.word = study::SignDeputy("south", "kim", kim.key, now - kDay, now + 10, south.steward);
  World::WriteEnded(south, shorter);
  ExpectRefused(AtRun(document), "named for another time");
}

// A deputy's withdrawal binds the jobs as the steward's does.
TEST_F(DeputyScene, WhatADeputyTakesBackIsNotRun) {
  Name("kim");
  Name("lee");
  const study::SignedApproval document = By("lee");
  const std::string before = ReadFile(Published("kim"), 1 << 20, "the list");
  EXPECT_EQ(AtRun(document), "none");
  EXPECT_EQ(Refusal(As(EndRequest("withdraw"), "kim")), "none");
  EXPECT_EQ(Show().at("why_not"), "this site took its approval back");
  ExpectRefused(AtRun(document), "took its approval back");
  // The daemon puts the list of before back, or takes it away.
  const std::string newest = ReadFile(Published("kim"), 1 << 20, "the list");
  WriteFileAtomically(Published("kim").string(), before);
  ExpectRefused(AtRun(document), "a newer one was signed");
  fs::remove(Published("kim"));
  ExpectRefused(AtRun(document), "the deputy kim ended");
  // Lee's list under kim's name.
  fs::copy_file(Published("lee"), Published("kim"));
  ExpectRefused(AtRun(document), "not signed by a steward of this site");
  SignerFolder(home).Publish();
  EXPECT_EQ(ReadFile(Published("kim"), 1 << 20, "the list"), newest);
  // A folder that was restored takes nothing back.
  WriteFileAtomically((home / "ended-kim").string(), before);
  ExpectRefused(ErrorOf([&] { SignerFolder(home).Publish(); }),
                "untrusted: a newer list of the deputy kim was published");
  WriteFileAtomically((home / "ended-kim").string(), newest);
  // It stays taken back when its deputy is ended.
  EXPECT_EQ(Refusal(EndDeputyRequest("kim")), "none");
  ExpectRefused(AtRun(document), "took its approval back");
}

TEST_F(DeputyScene, ADeputyRejects) {
  Name("kim");
  const study::SignedApproval rejection = Signed(As(EndRequest("reject"), "kim"));
  EXPECT_EQ(rejection.approval.decision, study::Decision::kReject);
  EXPECT_EQ(rejection.deputy->name, "kim");
  EXPECT_NO_THROW(study::RequireSigned(rejection, "south", ToHex(PrintOf(south.steward))));
  EXPECT_EQ(Show().at("why_not"), "this site took its approval back");
}

// Each passphrase waits for its own mistakes: a right one of a deputy takes no wrong one of the steward's back.
TEST_F(DeputyScene, MistakesAreCountedApart) {
  Name("kim");
  TestJson wrong = EndDeputyRequest("kim");
  wrong["passphrase"] = "not the words";
  for (int i = 0; i < 3; ++i) {
    Refusal(wrong);
    By("kim");
  }
  ExpectRefused(Refusal(wrong), "too many wrong passphrases");
  EXPECT_EQ(By("kim").deputy->name, "kim");
}

// ---- Two persons ----------------------------------------------------------------------------

TEST_F(DeputyScene, TwoPersonsSignOneApproval) {
  Name("kim");
  AskForTwo();
  EXPECT_EQ(Show().at("stewards_needed"), 2);
  const study::SignedApproval one = By("kim");
  EXPECT_EQ(one.approval.stewards, 2u);
  ExpectRefused(AtRun(one), "is signed by one person and asks for two");
  PassOn(one);
  EXPECT_EQ(Show().at("signed_by"), TestJson::array({"kim"}));
  EXPECT_EQ(Show().at("may_sign"), TestJson::array({"the steward"}));
  const study::SignedApproval both = By("steward");
  EXPECT_EQ(study::ApprovalDigest(both.approval), study::ApprovalDigest(one.approval));
  EXPECT_EQ(AtRun(both), "none");
  // The other way round, and by two deputies.
  first.clear();
  Name("lee");
  PassOn(By("steward"));
  EXPECT_EQ(AtRun(By("lee")), "none");
  first.clear();
  PassOn(By("kim"));
  EXPECT_EQ(AtRun(By("lee")), "none");
}

TEST_F(DeputyScene, OnePersonDoesNotSignTwice) {
  Name("kim");
  AskForTwo();
  PassOn(By("kim"));
  ExpectRefused(Refusal(As(ApproveRequest(), "kim")), "kim has signed already");
  first.clear();
  PassOn(By("steward"));
  ExpectRefused(Refusal(ApproveRequest()), "the steward has signed already");
  // A daemon that leaves the first one out gets a first one again.
  first.clear();
  ExpectRefused(AtRun(By("steward")), "is signed by one person and asks for two");
}

// What the daemon passes on as the first signature is under the draft of now, or the study is not shown.
TEST_F(DeputyScene, AFirstSignatureOfAnotherDraftIsRefused) {
  Name("kim");
  AskForTwo();
  const study::SignedApproval before = By("kim");
  AskForTwo();  // another nonce
  PassOn(before);
  ExpectRefused(Refusal(Request("study")), "the first signature is under another draft");
  first = study::RenderApproval({before.approval, {}});
  ExpectRefused(Refusal(Request("study")), "is not signed");
  first = "no document";
  ExpectRefused(Refusal(Request("study")), "the first signature");
  // Of a deputy that was ended: it is none, and another signs first.
  first.clear();
  PassOn(By("kim"));
  Ask(EndDeputyRequest("kim"));
  EXPECT_EQ(Show().at("signed_by"), TestJson::array());
  EXPECT_FALSE(By("steward").second.has_value());
}

// The second signs what the first has signed, limits included.
TEST_F(DeputyScene, TheSecondSignsTheSame) {
  Name("kim");
  AskForTwo();
  TestJson request = As(ApproveRequest(), "kim");
  request["min_cell"] = 20;
  PassOn(Signed(request));
  request = ApproveRequest();
  request["min_cell"] = 30;
  ExpectRefused(Refusal(request), "the second person signs what the first one has signed");
  const study::SignedApproval both = By("steward");
  EXPECT_EQ(both.approval.disclosure.min_cell, 20u);
  EXPECT_EQ(AtRun(both), "none");
}

// Whoever wrote node.toml when the table was frozen said one, and now it says two.
TEST_F(DeputyScene, TheJobAsksForWhatItsTableNeeds) {
  Name("kim");
  const study::SignedApproval one = By("steward");
  EXPECT_EQ(AtRun(one), "none");
  south.settings.catalogue.at("pupils").stewards_needed = 2;
  ExpectRefused(AtRun(one), "asks for 1 person to sign, and the table 'pupils' for 2");
}

// node.toml is the node's; signer.toml is not.
TEST_F(DeputyScene, TheSignerKeepsToItsOwnRule) {
  Name("kim");
  const std::string text = ReadFile(home / "signer.toml", 1 << 20, "signer.toml");
  WriteFileAtomically((home / "signer.toml").string(), text + "four_eyes = [\"pupils\"]\n");
  const std::string words = "signer.toml asks for two persons to sign for the table 'pupils'";
  EXPECT_THAT(Show().at("why_not").get<std::string>(), HasSubstr(words));
  ExpectRefused(Refusal(ApproveRequest()), words);
  ExpectRefused(Refusal(Request("policy-approve")), words);
  AskForTwo();
  PassOn(By("kim"));
  EXPECT_EQ(AtRun(By("steward")), "none");
}

TEST_F(DeputyScene, APolicyIsNoPerson) {
  AskForTwo();
  EXPECT_EQ(
      Ask(Request("policy-approve")).at("reasons"),
      TestJson::array({"two persons have to sign for the table 'pupils', and a policy is none"}));
}

// ---- The list -------------------------------------------------------------------------------

TEST_F(DeputyScene, TheListReadsBackInOneFormOnly) {
  Name("kim");
  const EndedList signed_list = SignerFolder(home).Ended();
  const Bytes bytes = Encode(SignEndedList(signed_list, south.steward));
  EXPECT_EQ(DecodeSignedEndedList(bytes).list, signed_list);
  for (size_t i = 0; i < bytes.size(); ++i) {
    Bytes forged = bytes;
    forged[i] ^= 1;
    EXPECT_ANY_THROW(RequireEndedList(DecodeSignedEndedList(forged), "south",
                                      {PrintOf(south.steward)}, signed_list.serial))
        << i;
  }
  // A name twice.
  EndedList twice = signed_list;
  twice.deputies.push_back(twice.deputies.front());
  EXPECT_ANY_THROW(DecodeSignedEndedList(Encode(SignEndedList(twice, south.steward))));
  EXPECT_EQ(WithoutDeputy(signed_list, "kim", now).deputies.size(), 0u);
  // Over, and everything that it could have ended with it.
  EXPECT_EQ(WithoutDeputy(signed_list, "x", now + 60 * kDay).deputies.size(), 1u);
  EXPECT_EQ(WithoutDeputy(signed_list, "x", now + 69 * kDay).deputies.size(), 0u);
}

}  // namespace
}  // namespace partita::node::signer_deputy_test
