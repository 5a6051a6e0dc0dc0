// The signer's list: bytes, signatures, how parties come and go; introductions, successors, and whose
// word a study rests on.
#include "node/parties/party_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "node/parties/introduction.h"
#include "node/parties/succession.h"
#include "node/parties/trust.h"
#include "tests/node/parties/sites.h"

namespace partita::node::party_list_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr int64_t kDay = 86'400;

PairedParty Paired(const std::string& name, const std::string& key = "") {
  const std::string identity = key.empty() ? name : key;
  return {name, CertificateOf(identity), CertificateOf(identity + "/steward"),
          name + ".example.org:7400", kNow};
}

Introduction IntroductionOf(const std::string& name) {
  return {name, KeyOf(name), KeyOf(name + "/steward"), name + ".example.org:7400", kNow - kDay};
}

// Of south, which compared digits with north and east.
PartyList SouthsList() {
  PartyList list;
  list.owner = "south";
  list.made_at = kNow;
  list = WithPaired(list, Paired("north"), kNow);
  return WithPaired(list, Paired("east"), kNow);
}

TEST(PartyListTest, HasOneFormInBytes) {
  PartyList list = WithIntroduced(SouthsList(), "north", IntroductionOf("west"), kNow);
  list =
      WithSuccessor(list, MakeSuccession(IdentityOf("north"), IdentityOf("north/2"), kNow), kNow);
  list = WithRevoked(list, "east", kNow);
  EXPECT_EQ(list.serial, 5u);
  ASSERT_EQ(list.parties.size(), 3u);
  EXPECT_EQ(list.parties[0].name, "east");
  EXPECT_EQ(list.parties[2].name, "west");
  const Bytes bytes = EncodePartyList(list);
  EXPECT_EQ(DecodePartyList(bytes), list);
  for (size_t i = 0; i < bytes.size(); ++i) {
    EXPECT_EQ(CodeOf([&] { DecodePartyList(ByteView(bytes).first(i)); }), ErrorCode::kBadInput)
        << i;
    // A changed byte is refused, or is another list; never the same one.
    Bytes changed = bytes;
    changed[i] ^= 0x80;
    std::optional<PartyList> other;
    const auto code = CodeOf([&] { other = DecodePartyList(changed); });
    EXPECT_TRUE(code == ErrorCode::kBadInput || other != list) << i;
  }
  Bytes longer = bytes;
  longer.push_back(0);
  EXPECT_EQ(CodeOf([&] { DecodePartyList(longer); }), ErrorCode::kBadInput);
}

TEST(PartyListTest, KeepsToItsRules) {
  const PartyList good = WithIntroduced(SouthsList(), "north", IntroductionOf("west"), kNow);
  auto refused = [&](const std::string& what, auto change) {
    PartyList list = good;
    change(list);
    EXPECT_EQ(CodeOf([&] { EncodePartyList(list); }), ErrorCode::kBadInput) << what;
  };
  refused("order", [](auto& list) { std::swap(list.parties[0], list.parties[1]); });
  refused("a name twice", [](auto& list) { list.parties.push_back(list.parties.back()); });
  refused("a key twice", [](auto& list) { list.parties[0].node_key = list.parties[1].node_key; });
  refused("a steward's key as a node's",
          [](auto& list) { list.parties[0].steward_key = list.parties[1].node_key; });
  refused("the owner", [](auto& list) { list.owner = "west"; });
  refused("a bad name", [](auto& list) { list.parties[0].name = "EAST"; });
  refused("nobody introduced it", [](auto& list) { list.parties[2].introducers.clear(); });
  refused("digits and an introducer", [](auto& list) { list.parties[0].introducers = {"north"}; });
  refused("introducers out of order", [](auto& list) {
    list.parties[2].introducers = {"north", "east"};
  });
  refused("introduced itself", [](auto& list) { list.parties[2].introducers = {"west"}; });
  refused("a successor without a time",
          [](auto& list) { list.parties[0].next_node_key = KeyOf("lake"); });
  refused("a revoked key in use",
          [](auto& list) { list.revoked_keys = {list.parties[0].node_key}; });
  refused("revoked without its key", [](auto& list) { list.parties[0].revoked_at = kNow; });
}

TEST(PartyListTest, CountsSignedByAnOwnSteward) {
  const PartyList list = SouthsList();
  const crypto::Identity& steward = IdentityOf("south/steward");
  const std::vector<Digest> stewards = {KeyOf("south/steward")};
  const SignedPartyList document = DecodeSignedList(EncodeSignedList(SignPartyList(list, steward)));
  EXPECT_EQ(document.list, list);
  RequireSignedList(document, "south", stewards, MarkOf(list));
  RequireSignedList(document, "south", stewards, {});
  auto refused = [&](const SignedPartyList& other, std::string_view owner, uint64_t serial) {
    EXPECT_EQ(CodeOf([&] {
                RequireSignedList(other, owner, stewards, {serial, {}});
              }),
              ErrorCode::kUntrusted);
  };
  // Another list of the same serial, as a signer that was set back makes it.
  PartyList twin = list;
  twin.made_at += 1;
  EXPECT_EQ(CodeOf([&] {
              RequireSignedList(SignPartyList(twin, steward), "south", stewards, MarkOf(list));
            }),
            ErrorCode::kUntrusted);
  twin.serial += 1;
  RequireSignedList(SignPartyList(twin, steward), "south", stewards, MarkOf(list));
  refused(document, "north", 0);
  refused(document, "south", list.serial + 1);  // an older list, played back
  refused(SignPartyList(list, IdentityOf("north/steward")), "south", 0);
  SignedPartyList changed = document;
  changed.list.parties[0].node_key = KeyOf("lake");
  refused(changed, "south", 0);
  changed = document;
  changed.signature.certificate = CertificateOf("north/steward");
  refused(changed, "south", 0);
  changed = document;
  changed.signature.signature.clear();
  refused(changed, "south", 0);
  const Bytes bytes = EncodeSignedList(document);
  for (size_t i = 0; i < bytes.size(); ++i) {
    EXPECT_EQ(CodeOf([&] { DecodeSignedList(ByteView(bytes).first(i)); }), ErrorCode::kBadInput);
  }
}

TEST(PartyListTest, AnOtherKeyIsAnotherParty) {
  const PartyList list = SouthsList();
  // North's name with a key of somebody else; north's key under another name; the own name.
  EXPECT_EQ(CodeOf([&] { WithPaired(list, Paired("north", "north/2"), kNow); }),
            ErrorCode::kRefused);
  PairedParty renamed = Paired("north");
  renamed.name = "lake";
  EXPECT_EQ(CodeOf([&] { WithPaired(list, renamed, kNow); }), ErrorCode::kRefused);
  EXPECT_EQ(CodeOf([&] { WithPaired(list, Paired("south"), kNow); }), ErrorCode::kRefused);
  // After its certificate expired, with digits; and its new steward, with digits.
  const PartyList renewed = WithPaired(list, Paired("north", "north/2"), kNow, true);
  EXPECT_TRUE(NodeKeyCounts(*FindListed(renewed, "north"), KeyOf("north/2"), kNow));
  EXPECT_FALSE(NodeKeyCounts(*FindListed(renewed, "north"), KeyOf("north"), kNow));
  PairedParty new_steward = Paired("north");
  new_steward.steward_certificate = CertificateOf("north/steward2");
  const PartyList staffed = WithPaired(list, new_steward, kNow);
  EXPECT_TRUE(StewardKeyCounts(*FindListed(staffed, "north"), KeyOf("north/steward2")));
  EXPECT_FALSE(StewardKeyCounts(*FindListed(staffed, "north"), KeyOf("north/steward")));
}

TEST(PartyListTest, RevocationHoldsAtOnceAndForGood) {
  PartyList list = SouthsList();
  list =
      WithSuccessor(list, MakeSuccession(IdentityOf("north"), IdentityOf("north/2"), kNow), kNow);
  list = WithRevoked(list, "north", kNow + 1);
  const ListedParty& north = *FindListed(list, "north");
  for (const int64_t now : {kNow + 1, kNow + 30 * kDay}) {
    EXPECT_FALSE(NodeKeyCounts(north, KeyOf("north"), now));
    EXPECT_FALSE(NodeKeyCounts(north, KeyOf("north/2"), now));
    EXPECT_FALSE(StewardKeyCounts(north, KeyOf("north/steward")));
  }
  EXPECT_EQ(WithRevoked(list, "north", kNow + 2), list) << "again";
  EXPECT_EQ(CodeOf([&] { WithRevoked(list, "lake", kNow); }), ErrorCode::kRefused);
  // Neither stolen key comes back, not even by digits, nor under another name.
  EXPECT_EQ(CodeOf([&] { WithPaired(list, Paired("north"), kNow + 2); }), ErrorCode::kRefused);
  EXPECT_EQ(CodeOf([&] { WithPaired(list, Paired("north", "north/2"), kNow + 2); }),
            ErrorCode::kRefused);
  EXPECT_EQ(CodeOf([&] {
              WithSuccessor(list, MakeSuccession(IdentityOf("north"), IdentityOf("north/3"), kNow),
                            kNow + 2);
            }),
            ErrorCode::kUntrusted);
  const PartyList again = WithPaired(list, Paired("north", "north/3"), kNow + 3);
  EXPECT_TRUE(NodeKeyCounts(*FindListed(again, "north"), KeyOf("north/3"), kNow + 3));
  EXPECT_EQ(again.revoked_keys.size(), 2u);
}

// ---- Introductions. -----------------------------------------------------------------------------

TEST(IntroductionTest, IsOfPartiesWhoseDigitsWereComparedHere) {
  const PartyList list = WithIntroduced(SouthsList(), "north", IntroductionOf("west"), kNow);
  const Introduction introduction = MakeIntroduction(list, "north", "north.example.org:7400");
  EXPECT_EQ(introduction.compared_at, kNow);
  const SignedIntroduction document =
      SignIntroduction(introduction, "south", "east", IdentityOf("south"));
  EXPECT_EQ(document.introduction, introduction);
  EXPECT_EQ(DecodeIntroduction(EncodeIntroduction(document)), document);
  EXPECT_EQ(CodeOf([&] { MakeIntroduction(list, "west", "west:1"); }), ErrorCode::kRefused);
  EXPECT_EQ(CodeOf([&] { MakeIntroduction(list, "lake", "lake:1"); }), ErrorCode::kRefused);
  EXPECT_EQ(CodeOf([&] { MakeIntroduction(WithRevoked(list, "north", kNow), "north", "n:1"); }),
            ErrorCode::kRefused);
}

SignedIntroduction NorthsOf(const Introduction& introduction) {
  return SignIntroduction(introduction, "north", "south", IdentityOf("north"));
}

TEST(IntroductionTest, IsReadStrictly) {
  const Bytes body = EncodeIntroduction(NorthsOf(IntroductionOf("west")));
  for (size_t i = 0; i < body.size(); ++i) {
    EXPECT_EQ(CodeOf([&] { DecodeIntroduction(ByteView(body).first(i)); }), ErrorCode::kPeerFault);
  }
  Bytes longer = body;
  longer.push_back(0);
  EXPECT_EQ(CodeOf([&] { DecodeIntroduction(longer); }), ErrorCode::kPeerFault);
  const auto code = [](const SignedIntroduction& bad) {
    return CodeOf([&] { DecodeIntroduction(EncodeIntroduction(bad)); });
  };
  for (const std::string name : {"", "West", "-west", "a name"}) {
    Introduction bad = IntroductionOf("west");
    bad.name = name;
    EXPECT_EQ(code(NorthsOf(bad)), ErrorCode::kPeerFault);
    SignedIntroduction document = NorthsOf(IntroductionOf("west"));
    document.introducer = name;
    EXPECT_EQ(code(document), ErrorCode::kPeerFault);
    document.introducer = "north";
    document.to = name;
    EXPECT_EQ(code(document), ErrorCode::kPeerFault);
  }
  Introduction bad = IntroductionOf("west");
  bad.address = "west";
  EXPECT_EQ(code(NorthsOf(bad)), ErrorCode::kPeerFault);
}

// No byte of it can be another one.
TEST(IntroductionTest, TheSignatureIsOverAllOfIt) {
  const PartyList list = SouthsList();
  const Bytes body = EncodeIntroduction(NorthsOf(IntroductionOf("west")));
  EXPECT_EQ(CodeOf([&] { RequireSignedIntroduction(list, DecodeIntroduction(body), kNow); }),
            std::nullopt);
  for (size_t i = 0; i < body.size(); ++i) {
    Bytes changed = body;
    changed[i] ^= 1;
    const auto code =
        CodeOf([&] { RequireSignedIntroduction(list, DecodeIntroduction(changed), kNow); });
    EXPECT_TRUE(code == ErrorCode::kPeerFault || code == ErrorCode::kUntrusted) << i;
  }
  const crypto::Identity expired =
      crypto::MakeIdentity({.name = "lake", .days = 1, .start = std::chrono::hours(-48)});
  PairedParty lake = Paired("lake");
  lake.node_certificate = crypto::EncodeCertificate(*expired.certificate);
  const SignedIntroduction late =
      SignIntroduction(IntroductionOf("west"), "lake", "south", expired);
  EXPECT_EQ(CodeOf([&] { RequireSignedIntroduction(WithPaired(list, lake, kNow), late, kNow); }),
            ErrorCode::kUntrusted);
  // A successor's word counts when the successor does.
  const PartyList next =
      WithSuccessor(list, MakeSuccession(IdentityOf("north"), IdentityOf("north/2"), kNow), kNow);
  const SignedIntroduction by_next =
      SignIntroduction(IntroductionOf("west"), "north", "south", IdentityOf("north/2"));
  EXPECT_EQ(CodeOf([&] { RequireSignedIntroduction(next, by_next, kNow); }), ErrorCode::kUntrusted);
  EXPECT_EQ(CodeOf([&] { RequireSignedIntroduction(next, by_next, kNow + 8 * kDay); }),
            std::nullopt);
}

// To receive one changes nothing: the list is the same until a steward accepts.
TEST(IntroductionTest, NothingIsAcceptedByItself) {
  const PartyList list = SouthsList();
  const Bytes before = EncodePartyList(list);
  RequireIntroducible(list, "north", IntroductionOf("west"));
  EXPECT_EQ(EncodePartyList(list), before);
  EXPECT_EQ(FindListed(list, "west"), nullptr);
  const PartyList accepted = WithIntroduced(list, "north", IntroductionOf("west"), kNow);
  const ListedParty& west = *FindListed(accepted, "west");
  EXPECT_EQ(west.known_by, KnownBy::kIntroduction);
  EXPECT_THAT(west.introducers, ElementsAre("north"));
  EXPECT_TRUE(NodeKeyCounts(west, KeyOf("west"), kNow));
  // A second introducer of the same keys.
  const PartyList more = WithIntroduced(accepted, "east", IntroductionOf("west"), kNow);
  EXPECT_THAT(FindListed(more, "west")->introducers, ElementsAre("east", "north"));
  // Digits of one's own end the matter.
  const PartyList compared = WithPaired(more, Paired("west"), kNow);
  EXPECT_EQ(FindListed(compared, "west")->known_by, KnownBy::kDigits);
  EXPECT_THAT(FindListed(compared, "west")->introducers, IsEmpty());
}

TEST(IntroductionTest, WhatCannotBeIsRefused) {
  const PartyList list = WithIntroduced(SouthsList(), "north", IntroductionOf("west"), kNow);
  auto refused = [&](const std::string& what, const std::string& introducer, auto change) {
    Introduction introduction = IntroductionOf("lake");
    change(introduction);
    EXPECT_EQ(CodeOf([&] { RequireIntroducible(list, introducer, introduction); }),
              ErrorCode::kRefused)
        << what;
    EXPECT_EQ(CodeOf([&] { WithIntroduced(list, introducer, introduction, kNow); }),
              ErrorCode::kRefused)
        << what;
  };
  EXPECT_EQ(CodeOf([&] { RequireIntroducible(list, "north", IntroductionOf("lake")); }),
            std::nullopt);
  refused("by a stranger", "coast", [](auto&) {});
  refused("of itself", "north", [](auto& i) { i = IntroductionOf("north"); });
  refused("of us", "north", [](auto& i) { i.name = "south"; });
  refused("of one compared here", "north", [](auto& i) { i = IntroductionOf("east"); });
  refused("known with other keys", "east", [](auto& i) { i.name = "west"; });
  refused("a second key of a steward", "east", [](auto& i) {
    i = IntroductionOf("west");
    i.steward_key = KeyOf("lake/steward");
  });
  refused("with another's key", "north", [](auto& i) { i.node_key = KeyOf("east"); });
  refused("with another's steward", "north",
          [](auto& i) { i.steward_key = KeyOf("north/steward"); });
  refused("with one key", "north", [](auto& i) { i.steward_key = i.node_key; });
  const PartyList revoked = WithRevoked(list, "north", kNow);
  EXPECT_EQ(CodeOf([&] { RequireIntroducible(revoked, "north", IntroductionOf("lake")); }),
            ErrorCode::kRefused);
  Introduction stolen = IntroductionOf("lake");
  stolen.node_key = KeyOf("north");
  EXPECT_EQ(CodeOf([&] { RequireIntroducible(revoked, "east", stolen); }), ErrorCode::kRefused);
}

// ---- The path of trust. -------------------------------------------------------------------------

TEST(TrustTest, WhoIsKnownOnlyThroughOneIsOneWithIt) {
  PartyList list = WithIntroduced(SouthsList(), "north", IntroductionOf("west"), kNow);
  list = WithIntroduced(list, "west", IntroductionOf("lake"), kNow);
  list = WithIntroduced(list, "east", IntroductionOf("coast"), kNow);
  EXPECT_THAT(OneWith(list, "north"), ElementsAre("north", "lake", "west"));
  EXPECT_THAT(OneWith(list, "west"), ElementsAre("west", "lake"));
  EXPECT_THAT(OneWith(list, "east"), ElementsAre("east", "coast"));
  EXPECT_THAT(OneWith(list, "lake"), ElementsAre("lake"));
  // Two introducers of the same keys would have to be in it together.
  list = WithIntroduced(list, "east", IntroductionOf("lake"), kNow);
  EXPECT_THAT(OneWith(list, "north"), ElementsAre("north", "west"));
  EXPECT_THAT(OneWith(list, "east"), ElementsAre("east", "coast"));
  // Unless one of them is the other.
  list = WithIntroduced(list, "north", IntroductionOf("island"), kNow);
  list = WithIntroduced(list, "west", IntroductionOf("island"), kNow);
  EXPECT_THAT(OneWith(list, "north"), ElementsAre("north", "island", "west"));
  // Digits compared by ourselves.
  list = WithPaired(list, Paired("west"), kNow);
  EXPECT_THAT(OneWith(list, "north"), ElementsAre("north"));
}

// Who introduce each other rest on whoever introduced the first of them.
TEST(TrustTest, MutualIntroductionsAreNoSecondWord) {
  PartyList list = WithIntroduced(SouthsList(), "north", IntroductionOf("west"), kNow);
  PartyList both = WithIntroduced(list, "north", IntroductionOf("lake"), kNow);
  both = WithIntroduced(both, "lake", IntroductionOf("west"), kNow);
  both = WithIntroduced(both, "west", IntroductionOf("lake"), kNow);
  PartyList chain = WithIntroduced(list, "west", IntroductionOf("lake"), kNow);
  chain = WithIntroduced(chain, "lake", IntroductionOf("west"), kNow);
  for (const PartyList& mutual : {both, chain}) {
    EXPECT_THAT(OneWith(mutual, "north"), ElementsAre("north", "lake", "west"));
    EXPECT_THAT(OneWith(mutual, "east"), ElementsAre("east"));
    EXPECT_THAT(ReachOfIntroducers(mutual, {"south", "north", "west", "lake"}, ReadByMoreThan(2)),
                ElementsAre(IntroducerReach{"north", {"lake", "north", "west"}}));
  }
  // East's word is one of its own.
  const PartyList apart = WithIntroduced(both, "east", IntroductionOf("lake"), kNow);
  EXPECT_THAT(OneWith(apart, "north"), ElementsAre("north"));
}

// A stolen key's introductions go with it, and so does who is known by nobody else.
TEST(TrustTest, RevokedIntroducersVouchForNobody) {
  PartyList list = WithIntroduced(SouthsList(), "north", IntroductionOf("west"), kNow);
  list = WithIntroduced(list, "west", IntroductionOf("island"), kNow);
  list = WithIntroduced(list, "north", IntroductionOf("lake"), kNow);
  list = WithIntroduced(list, "east", IntroductionOf("lake"), kNow);
  list = WithRevoked(list, "north", kNow + 1);
  EXPECT_EQ(FindListed(list, "west"), nullptr);
  EXPECT_EQ(FindListed(list, "island"), nullptr);
  EXPECT_THAT(OneWith(list, "east"), ElementsAre("east", "lake"));
  EXPECT_EQ(DecodePartyList(EncodePartyList(list)), list);
  // They may come again, by somebody else or by digits.
  EXPECT_TRUE(NodeKeyCounts(
      *FindListed(WithIntroduced(list, "east", IntroductionOf("west"), kNow + 2), "west"),
      KeyOf("west"), kNow + 2));
}

TEST(TrustTest, SaysWhereAnIntroducerCouldReadATable) {
  PartyList list = WithIntroduced(SouthsList(), "north", IntroductionOf("west"), kNow);
  list = WithIntroduced(list, "north", IntroductionOf("lake"), kNow);
  // Threshold 1: two together read.
  EXPECT_THAT(ReachOfIntroducers(list, {"south", "north", "east"}, ReadByMoreThan(1)), IsEmpty());
  EXPECT_THAT(ReachOfIntroducers(list, {"south", "north", "west"}, ReadByMoreThan(1)),
              ElementsAre(IntroducerReach{"north", {"north", "west"}}));
  // Also where it takes no part under its own name.
  EXPECT_THAT(ReachOfIntroducers(list, {"south", "west", "lake"}, ReadByMoreThan(1)),
              ElementsAre(IntroducerReach{"north", {"lake", "west"}}));
  EXPECT_THAT(ReachOfIntroducers(list, {"south", "west", "east"}, ReadByMoreThan(1)), IsEmpty());
  // Threshold 2: three.
  EXPECT_THAT(
      ReachOfIntroducers(list, {"south", "north", "west", "east", "lake"}, ReadByMoreThan(2)),
      ElementsAre(IntroducerReach{"north", {"lake", "north", "west"}}));
  EXPECT_THAT(ReachOfIntroducers(list, {"south", "north", "west", "east"}, ReadByMoreThan(2)),
              IsEmpty());
  // A dealer and anybody else.
  auto dealer_and_one = [](const std::vector<std::string>& together) {
    return together.size() > 1 &&
           std::find(together.begin(), together.end(), "lake") != together.end();
  };
  EXPECT_THAT(ReachOfIntroducers(list, {"south", "east", "north", "lake"}, dealer_and_one),
              ElementsAre(IntroducerReach{"north", {"lake", "north"}}));
  EXPECT_THAT(ReachOfIntroducers(list, {"south", "east", "north", "west"}, dealer_and_one),
              IsEmpty());
  // Who could by itself is no news.
  EXPECT_THAT(ReachOfIntroducers(list, {"south", "north", "west"}, ReadByMoreThan(0)), IsEmpty());
}

TEST(TrustTest, SaysItInASentence) {
  EXPECT_EQ(ReachText({"north", {"north", "west"}}),
            "north could read your table here: west is known only because north introduced it");
  EXPECT_EQ(ReachText({"north", {"east", "lake", "west"}}),
            "north could read your table here: east, lake and west are known only because north "
            "introduced them");
}

// ---- Successors. --------------------------------------------------------------------------------

TEST(SuccessionTest, CountsAfterSevenDays) {
  const Bytes document = MakeSuccession(IdentityOf("north"), IdentityOf("north/2"), kNow);
  const PartyList list = WithSuccessor(SouthsList(), document, kNow + 100);
  const ListedParty& north = *FindListed(list, "north");
  const int64_t counts = kNow + 100 + 7 * kDay;
  EXPECT_TRUE(NodeKeyCounts(north, KeyOf("north"), kNow));
  EXPECT_FALSE(NodeKeyCounts(north, KeyOf("north/2"), counts - 1));
  EXPECT_TRUE(NodeKeyCounts(north, KeyOf("north/2"), counts));
  EXPECT_TRUE(NodeKeyCounts(north, KeyOf("north"), counts)) << "until its certificate expires";
  EXPECT_FALSE(NodeKeyCounts(north, KeyOf("north/3"), counts));
  // Sent again, later: the seven days do not begin anew.
  EXPECT_EQ(WithSuccessor(list, document, kNow + kDay), list);
}

TEST(SuccessionTest, AnExpiredKeyNamesNoSuccessor) {
  const crypto::Identity old_key =
      crypto::MakeIdentity({.name = "lake", .days = 1, .start = std::chrono::hours(-48)});
  PairedParty lake = Paired("lake");
  lake.node_certificate = crypto::EncodeCertificate(*old_key.certificate);
  const PartyList list = WithPaired(SouthsList(), lake, kNow);
  const Bytes document = MakeSuccession(old_key, IdentityOf("lake/2"), kNow);
  EXPECT_EQ(CodeOf([&] { WithSuccessor(list, document, kNow); }), ErrorCode::kRefused);
}

TEST(SuccessionTest, OneSuccessorAtATime) {
  const PartyList list = WithSuccessor(
      SouthsList(), MakeSuccession(IdentityOf("north"), IdentityOf("north/2"), kNow), kNow);
  const Bytes rival = MakeSuccession(IdentityOf("north"), IdentityOf("north/3"), kNow);
  EXPECT_EQ(CodeOf([&] { WithSuccessor(list, rival, kNow); }), ErrorCode::kRefused);
  EXPECT_EQ(CodeOf([&] { WithSuccessor(list, rival, kNow + 8 * kDay); }), ErrorCode::kRefused);
  // The successor's own successor, once it counts; then the first key is done with.
  const Bytes next = MakeSuccession(IdentityOf("north/2"), IdentityOf("north/3"), kNow);
  EXPECT_EQ(CodeOf([&] { WithSuccessor(list, next, kNow + 7 * kDay - 1); }), ErrorCode::kUntrusted);
  const PartyList later = WithSuccessor(list, next, kNow + 7 * kDay);
  const ListedParty& north = *FindListed(later, "north");
  EXPECT_FALSE(NodeKeyCounts(north, KeyOf("north"), kNow + 7 * kDay));
  EXPECT_TRUE(NodeKeyCounts(north, KeyOf("north/2"), kNow + 7 * kDay));
  EXPECT_TRUE(NodeKeyCounts(north, KeyOf("north/3"), kNow + 14 * kDay));
}

TEST(SuccessionTest, OnlyTheOldKeyNamesASuccessor) {
  const PartyList list = SouthsList();
  auto code = [&](const Bytes& document) {
    return CodeOf([&] { WithSuccessor(list, document, kNow); });
  };
  // Of a party that is not on the list; of another name; of a key that is there.
  EXPECT_EQ(code(MakeSuccession(IdentityOf("lake"), IdentityOf("lake/2"), kNow)),
            ErrorCode::kUntrusted);
  EXPECT_EQ(CodeOf([&] { MakeSuccession(IdentityOf("north"), IdentityOf("lake"), kNow); }),
            ErrorCode::kUsage);
  EXPECT_EQ(code(MakeSuccession(IdentityOf("north"), IdentityOf("north/steward"), kNow)),
            ErrorCode::kRefused);
  EXPECT_EQ(code(MakeSuccession(IdentityOf("north"), IdentityOf("north"), kNow)),
            ErrorCode::kRefused);
  const crypto::Identity expired =
      crypto::MakeIdentity({.name = "north", .days = 1, .start = std::chrono::hours(-48)});
  EXPECT_EQ(code(MakeSuccession(IdentityOf("north"), expired, kNow)), ErrorCode::kRefused);
  // Every changed byte and every shorter piece: the signatures are of exactly these bytes.
  const Bytes good = MakeSuccession(IdentityOf("north"), IdentityOf("north/2"), kNow);
  for (size_t i = 0; i < good.size(); ++i) {
    Bytes changed = good;
    changed[i] ^= 1;
    EXPECT_TRUE(code(changed).has_value()) << i;
    changed.resize(i);
    EXPECT_EQ(code(changed), ErrorCode::kPeerFault) << i;
  }
  Bytes longer = good;
  longer.push_back(0);
  EXPECT_EQ(code(longer), ErrorCode::kPeerFault);
}

}  // namespace
}  // namespace partita::node::party_list_test
