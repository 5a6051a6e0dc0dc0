// The signer's list of parties: which list counts, pairings, introductions, revocations.
#include "node/parties/introduction.h"
#include "tests/node/sign/signer_scene.h"

namespace partita::node::signer_parties_test {
namespace {

using signer_scene::ExpectRefused;
using signer_scene::HasSubstr;
using signer_scene::kPhrase;
using signer_scene::PrintOf;
using signer_scene::SignerScene;
using signer_scene::TestJson;
using signer_scene::World;

class SignerPartiesTest : public SignerScene {};

TEST_F(SignerPartiesTest, AnOlderListIsNotTakenAndTheNewestIsKept) {
  const Bytes first_list = list;
  EXPECT_EQ(Ask({{"do", "parties"}, {"list", ToHex(list)}}).at("parties").size(), 3u);
  const TestJson revoked =
      Ask({{"do", "revoke"}, {"name", "west"}, {"list", ToHex(list)}, {"passphrase", kPhrase}});
  // A daemon that shows the list of before, or none.
  for (const Bytes& shown : {first_list, Bytes()}) {
    const TestJson said = Ask({{"do", "parties"}, {"list", ToHex(shown)}});
    EXPECT_EQ(said.at("document"), revoked.at("document"));
    EXPECT_NE(said.at("parties").at(2).at("revoked_at"), "");
  }
  ExpectRefused(Refusal(Request("study")),
                "not signed by the key that the own list of parties has");
  std::filesystem::remove(home / "parties");
  EXPECT_THAT(Refusal({{"do", "parties"}, {"list", ToHex(first_list)}}), HasSubstr("untrusted: "));
  EXPECT_THAT(Refusal({{"do", "parties"}, {"list", ""}}),
              HasSubstr("untrusted: the list of parties that was signed last is not here"));
  EXPECT_EQ(Refusal({{"do", "parties"}, {"list", revoked.at("document")}}), "none");
}

TEST_F(SignerPartiesTest, AListOfTheDaemonsIsNone) {
  const PartyList forged = world.ListOf("south");
  const Bytes bytes = EncodeSignedList(SignPartyList(forged, south.node));
  EXPECT_THAT(Refusal({{"do", "parties"}, {"list", ToHex(bytes)}}),
              HasSubstr("untrusted: the list of parties does not count"));
}

PairedParty East(const crypto::Identity& node, const crypto::Identity& steward, int64_t now) {
  return {"east", crypto::EncodeCertificate(*node.certificate),
          crypto::EncodeCertificate(*steward.certificate), "east.example.org:7400", now};
}

TEST_F(SignerPartiesTest, OneUnlockedHourIsForOnePairing) {
  Digest hash{};
  hash.fill(3);
  const PairedParty east =
      East(crypto::MakeIdentity({.name = "east"}), crypto::MakeIdentity({.name = "east"}), now);
  const auto pair = [&] {
    return Ask({{"do", "pairing"},
                {"name", "east"},
                {"role", 1},
                {"hash", ToHex(hash)},
                {"address", "south.example.org:7400"},
                {"passphrase", kPhrase}});
  };
  const auto add = [&](const std::string& name, const Digest& of) {
    return TestJson{{"do", "add"},
                    {"hash", ToHex(of)},
                    {"party",
                     {{"name", name},
                      {"node_certificate", ToHex(east.node_certificate)},
                      {"steward_certificate", ToHex(east.steward_certificate)},
                      {"address", east.address},
                      {"compared_at", east.compared_at}}},
                    {"list", ToHex(list)}};
  };
  const std::string missing = "the text 'passphrase' is missing";
  EXPECT_THAT(Refusal(add("east", hash)), HasSubstr(missing));
  const TestJson word = pair();
  const StewardWord expected =
      SignPaired(PairingRole::kInviter, hash, south.steward, "south.example.org:7400");
  EXPECT_EQ(word.at("signature"), ToHex(expected.signature));
  Digest other = hash;
  other[0] ^= 1;
  EXPECT_THAT(Refusal(add("east", other)), HasSubstr(missing));
  EXPECT_THAT(Refusal(add("lake", hash)), HasSubstr(missing));
  // Not only refused afterwards, but gone without a request.
  EXPECT_FALSE(signer->Forget());
  now += kPairedSeconds + 1;
  EXPECT_TRUE(signer->Forget());
  EXPECT_THAT(Refusal(add("east", hash)), HasSubstr(missing));
  pair();
  const SignedPartyList made =
      DecodeSignedList(FromHex(Ask(add("east", hash)).at("document").get<std::string>()));
  EXPECT_NO_THROW(RequireSignedList(made, "south", {PrintOf(south.steward)}, {}));
  ASSERT_NE(FindListed(made.list, "east"), nullptr);
  EXPECT_THAT(Refusal(add("east", hash)), HasSubstr(missing)) << "once";
  TestJson bad = {{"do", "pairing"},     {"name", "east"},   {"role", 257},
                  {"hash", ToHex(hash)}, {"address", "a:1"}, {"passphrase", kPhrase}};
  EXPECT_THAT(Refusal(bad), HasSubstr("usage: a pairing has no such role"));
}

class IntroducedTest : public SignerScene {
 protected:
  IntroducedTest() {
    lake.name = "lake";
    lake.node_key.fill(8);
    lake.steward_key.fill(9);
    lake.address = "lake.example.org:7400";
    lake.compared_at = now - 60;
  }

  SignedIntroduction By(const std::string& introducer, const std::string& to = "south") {
    return SignIntroduction(lake, introducer, to, world.at(introducer).node);
  }
  // accept, of what these say.
  TestJson Accept(const std::vector<SignedIntroduction>& introductions) const {
    TestJson said = TestJson::array();
    for (const SignedIntroduction& introduction : introductions)
      said.push_back({{"introduction", ToHex(EncodeIntroduction(introduction))}});
    return {{"do", "accept"},
            {"name", "lake"},
            {"node_key", ToHex(lake.node_key)},
            {"steward_key", ToHex(lake.steward_key)},
            {"introductions", said},
            {"list", ToHex(list)},
            {"passphrase", kPhrase}};
  }

  Introduction lake;
};

TEST_F(IntroducedTest, PartiesAreAcceptedByName) {
  Introduction other = lake;
  other.node_key.fill(7);
  const SignedIntroduction by_west =
      SignIntroduction(other, "west", "south", world.at("west").node);
  TestJson request = Accept({By("north"), by_west, By("helper")});
  // Other keys than those that were seen: put there since the look, or another introducer's word.
  for (const char* key : {"node_key", "steward_key"}) {
    TestJson swapped = request;
    swapped[key] = std::string(64, 'a');
    EXPECT_THAT(Refusal(swapped),
                HasSubstr("untrusted: nobody introduces lake with the keys that were shown"));
  }
  request["name"] = "pond";
  EXPECT_THAT(Refusal(request), HasSubstr("usage: nobody introduced pond"));
  EXPECT_FALSE(std::filesystem::exists(home / "tries"));
  request["name"] = "lake";
  const TestJson said = Ask(request);
  EXPECT_EQ(said.at("introducers"), TestJson({"north", "helper"}));
  const SignedPartyList made = DecodeSignedList(FromHex(said.at("document").get<std::string>()));
  ASSERT_NE(FindListed(made.list, "lake"), nullptr);
  EXPECT_EQ(FindListed(made.list, "lake")->introducers,
            (std::vector<std::string>{"helper", "north"}));
  EXPECT_EQ(FindListed(made.list, "lake")->node_key, lake.node_key);
}

// A daemon has the node key of its own site, and all that was ever sent to it.
TEST_F(IntroducedTest, ADaemonCannotMakeOneUp) {
  const auto refusal = [&](const SignedIntroduction& introduction) {
    return Refusal(Accept({introduction}));
  };
  const std::string not_norths = "not signed by the node key that the own list has of north";
  // Under the own node key, and under one that is made out to north.
  ExpectRefused(refusal(SignIntroduction(lake, "north", "south", south.node)), not_norths);
  ExpectRefused(
      refusal(SignIntroduction(lake, "north", "south", crypto::MakeIdentity({.name = "north"}))),
      not_norths);
  // Another party's word as north's; of one that is not on the list; of none at all.
  ExpectRefused(refusal(SignIntroduction(lake, "north", "south", world.at("west").node)),
                not_norths);
  ExpectRefused(
      refusal(SignIntroduction(lake, "coast", "south", crypto::MakeIdentity({.name = "coast"}))),
      "that the own list has of coast");
  SignedIntroduction unsigned_one = By("north");
  unsigned_one.signature.signature.clear();
  ExpectRefused(refusal(unsigned_one), not_norths);
  // Meant for another site.
  ExpectRefused(refusal(By("north", "west")), "it is meant for west");
  SignedIntroduction readdressed = By("north", "west");
  readdressed.to = "south";
  ExpectRefused(refusal(readdressed), not_norths);
  // North's signature of another introduction.
  Introduction pond = lake;
  pond.name = "pond";
  SignedIntroduction moved = By("north");
  moved.signature = SignIntroduction(pond, "north", "south", world.at("north").node).signature;
  ExpectRefused(refusal(moved), not_norths);
  // Its own with the daemon's keys, or another address.
  for (Digest Introduction::*key : {&Introduction::node_key, &Introduction::steward_key}) {
    SignedIntroduction changed = By("north");
    (changed.introduction.*key).fill(5);
    TestJson request = Accept({changed});
    request["node_key"] = ToHex(changed.introduction.node_key);
    request["steward_key"] = ToHex(changed.introduction.steward_key);
    ExpectRefused(Refusal(request), not_norths);
  }
  SignedIntroduction elsewhere = By("north");
  elsewhere.introduction.address = "daemon.example.org:7400";
  ExpectRefused(refusal(elsewhere), not_norths);
  // One made up beside a good one.
  ExpectRefused(Refusal(Accept({By("north"), SignIntroduction(lake, "west", "south", south.node)})),
                "that the own list has of west");
  EXPECT_FALSE(std::filesystem::exists(home / "tries"));
  EXPECT_EQ(Refusal(Accept({By("north")})), "none");
}

// By the signer's own list, whatever list the daemon shows.
TEST_F(IntroducedTest, ARevokedIntroducersWordIsNone) {
  const TestJson request = Accept({By("north")});
  Ask({{"do", "revoke"}, {"name", "north"}, {"list", ToHex(list)}, {"passphrase", kPhrase}});
  ExpectRefused(Refusal(request), "that the own list has of north");
}

// A revocation reaches the jobs without the node, which could keep it back.
TEST_F(SignerPartiesTest, JobsReadTheListThatTheSignerPublishes) {
  const std::filesystem::path published = south.settings.parties;
  const TestJson revoked =
      Ask({{"do", "revoke"}, {"name", "west"}, {"list", ToHex(list)}, {"passphrase", kPhrase}});
  const auto read = [&] { return ToHex(AsBytes(ReadFile(published, 1 << 20, "the list"))); };
  EXPECT_EQ(read(), revoked.at("document"));
  EXPECT_EQ(std::filesystem::status(published).permissions(), std::filesystem::perms(0644));
  const job_world::Said said = World::Do(south, JobKind::kCommit, 0);
  EXPECT_EQ(said.Last<Committed>(), nullptr);
  EXPECT_THAT(World::Problem(south),
              HasSubstr("not signed by the key that the own list of parties has"));
  // The list of before is put back, or removed: it comes again when the signer begins.
  WriteFileAtomically(published.string(), std::string(list.begin(), list.end()));
  SignerFolder(home).Publish();
  EXPECT_EQ(read(), revoked.at("document"));
  std::filesystem::remove(published);
  SignerFolder(home).Publish();
  EXPECT_EQ(read(), revoked.at("document"));
}

}  // namespace
}  // namespace partita::node::signer_parties_test
