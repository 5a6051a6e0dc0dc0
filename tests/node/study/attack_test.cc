// Peers that deviate, were set back, or send what nobody understands.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "node/study/codec.h"
#include "tests/node/scene.h"

namespace partita::node::attack_test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

// ---- Rosters ------------------------------------------------------------------------------------

// The roster that north sends south, changed, in a study where south has none yet.
struct RosterScene : Scene {
  RosterFile roster;

  RosterScene() : Scene({}, false) {
    RunTo(0, Phase::kSettled);
    world.RunUntilQuiet(world.now + 5);
    roster = DecodeRosterFile(Sent(Kind::kRoster, "south").message.body);
    // South once more, without it.
    Study study = At(1);
    EXPECT_EQ(study.phase, Phase::kSettled);
    study.phase = Phase::kValidated;
    study.roster.clear();
    study.parties.clear();
    study.agreement_hash.reset();
    world.site(1).disk.studies[id] = EncodeStudy(study);
    world.site(1).disk.received.clear();
    world.site(1).disk.numbers.clear();
    world.site(1).node = std::make_unique<Node>(world.PartsOf(world.site(1)));
  }
  // West's offer with something else in it, signed by `signer`.
  void ChangeOfferOfWest(const std::function<void(Offer&)>& change,
                         const std::string& signer = "west") {
    SignedMessage offer = DecodeMessage(roster.offers[2]);
    Offer body = DecodeOffer(offer.message.body);
    change(body);
    SetBody(offer.message, Encode(body));
    offer.signature = NamedTrust::SignAs(signer, offer.message);
    roster.offers[2] = EncodeMessage(offer);
  }
  void Retext(const std::string& from, const std::string& to) {
    const size_t at = roster.text.find(from);
    ASSERT_NE(at, std::string::npos);
    roster.text.replace(at, from.size(), to);
  }
  void ExpectRefused(const std::string& why) {
    const Study before = At(1);
    EXPECT_EQ(Send("north", 1, Kind::kRoster, Encode(roster)), Receipt::kRefused);
    EXPECT_THAT(LastRefusal(1), HasSubstr(why));
    ExpectUnmoved(before, At(1));
  }
};

std::string FingerprintOf(const Bytes& certificate) { return ToHex(crypto::Sha256Of(certificate)); }

TEST(Attack, TheRosterItselfCounts) {
  RosterScene scene;
  EXPECT_EQ(scene.Send("north", 1, Kind::kRoster, Encode(scene.roster)), Receipt::kTaken);
  EXPECT_EQ(scene.At(1).phase, Phase::kSettled);
}

TEST(Attack, ARosterWithAForeignRunKey) {
  RosterScene scene;
  const Bytes mallory = BytesOf(RunKey("west") + "mallory");
  Bytes own;
  scene.ChangeOfferOfWest(
      [&](Offer& offer) { own = std::exchange(offer.run_certificate, mallory); }, "north");
  scene.Retext(FingerprintOf(own), FingerprintOf(mallory));
  scene.ExpectRefused("not signed by the key");
}

TEST(Attack, ARosterTextWithAnotherFingerprintThanItsOffers) {
  RosterScene scene;
  const Bytes mallory = BytesOf("mallory");
  scene.Retext(FingerprintOf(
                   DecodeOffer(DecodeMessage(scene.roster.offers[2]).message.body).run_certificate),
               FingerprintOf(mallory));
  scene.ExpectRefused("says something else");
}

TEST(Attack, ARosterWithAnOwnStewardKey) {
  RosterScene scene;
  scene.ChangeOfferOfWest([](Offer& offer) { offer.steward = StewardOf("mallory"); });
  scene.ExpectRefused("steward who is not on the own list");
}

TEST(Attack, ARosterForAnotherPlan) {
  RosterScene scene;
  scene.ChangeOfferOfWest([](Offer& offer) { offer.plan_hash[0] ^= 1; });
  scene.ExpectRefused("another plan");
}

TEST(Attack, ARosterWithAnotherOwnOffer) {
  RosterScene scene;
  SignedMessage offer = DecodeMessage(scene.roster.offers[1]);
  offer.message.number += 1;
  offer.signature = NamedTrust::SignAs("south", offer.message);
  scene.roster.offers[1] = EncodeMessage(offer);
  scene.ExpectRefused("another offer of this node");
}

TEST(Attack, ARosterWithoutSomebodyOrInAnotherOrder) {
  RosterScene scene;
  std::swap(scene.roster.offers[0], scene.roster.offers[2]);
  scene.ExpectRefused("another order");
  scene.roster.offers.pop_back();
  scene.ExpectRefused("one offer of every party");
}

TEST(Attack, ARosterWithOneRunKeyTwice) {
  RosterScene scene;
  const Bytes south =
      DecodeOffer(DecodeMessage(scene.roster.offers[1]).message.body).run_certificate;
  scene.ChangeOfferOfWest([&](Offer& offer) { offer.run_certificate = south; });
  scene.ExpectRefused("no run key of that party");
}

TEST(Attack, ARosterOfSomebodyElse) {
  RosterScene scene;
  EXPECT_EQ(scene.Send("west", 1, Kind::kRoster, Encode(scene.roster)), Receipt::kRefused);
  EXPECT_THAT(scene.LastRefusal(1), HasSubstr("proposer did not send"));
}

TEST(Attack, ASecondRoster) {
  RosterScene scene;
  EXPECT_EQ(scene.Send("north", 1, Kind::kRoster, Encode(scene.roster)), Receipt::kTaken);
  const Study before = scene.At(1);
  scene.ChangeOfferOfWest([](Offer& offer) { offer.address = "other.example:7400"; });
  scene.Retext("west.example", "other.example");
  EXPECT_EQ(scene.Send("north", 1, Kind::kRoster, Encode(scene.roster)), Receipt::kRefused);
  EXPECT_THAT(scene.LastRefusal(1), HasSubstr("second roster"));
  ExpectUnmoved(before, scene.At(1));
}

// ---- Approvals and withdrawals ------------------------------------------------------------------

// What one person of two has signed leaves this site in no message, and lets no peer go on.
TEST(Attack, OneSignatureOfTwo) {
  Scene scene({}, false);
  scene.RunTo(1, Phase::kSettled);
  scene.world.RunUntilQuiet(scene.world.now + 5);
  const Study study = scene.At(1);
  const Digest agreement = *study.agreement_hash;
  const Digest plan = study.facts.plan_hash;
  const std::string one = FirstOfTwoText("south", agreement, plan, study.expires);
  int messages = 0;
  scene.world.on_delivery = [&](const OutboxEntry&) { ++messages; };
  const auto own = [&](const std::string& text) {
    scene.world.node(1).Command(scene.id, OwnApproval{text}, scene.world.now);
    scene.world.RunUntilQuiet(scene.world.now + 5);
  };
  Digest other = plan;
  other[3] ^= 1;
  EXPECT_THROW(own(FirstOfTwoText("south", agreement, other, study.expires)), Error);
  own(one);
  EXPECT_EQ(scene.At(1).phase, Phase::kSettled);
  EXPECT_EQ(scene.At(1).first, one);
  EXPECT_TRUE(scene.At(1).approvals.empty());
  EXPECT_EQ(messages, 0);
  // As if it came from a peer whose node tells it all the same.
  const Bytes peers = Encode(Document{FirstOfTwoText("west", agreement, plan, study.expires)});
  EXPECT_EQ(scene.Send("west", 1, Kind::kApproval, peers), Receipt::kRefused);
  // The state of a study from before there was a first signature, and reminders.
  Study older = scene.At(1);
  older.first.clear();
  older.waits_since = 0;
  older.reminded = 0;
  Bytes bytes = EncodeStudy(older);
  bytes[0] = 2;
  bytes.resize(bytes.size() - 20);
  EXPECT_EQ(DecodeStudy(bytes), older);
  // Both have signed.
  own(ApprovalText("south", agreement, plan, study.expires));
  EXPECT_EQ(scene.At(1).phase, Phase::kApproved);
  EXPECT_GT(messages, 0);
}

TEST(Attack, ApprovalsOfOtherThings) {
  Scene scene({}, false);
  scene.RunTo(1, Phase::kSettled);
  scene.world.RunUntilQuiet(scene.world.now + 5);
  const Study study = scene.At(1);
  const Digest agreement = *study.agreement_hash;
  const Digest plan = study.facts.plan_hash;
  Digest other = plan;
  other[3] ^= 1;
  const auto own = [&](const std::string& text) {
    scene.world.node(1).Command(scene.id, OwnApproval{text}, scene.world.now);
  };
  EXPECT_THROW(own(ApprovalText("south", other, plan, study.expires)), Error);
  EXPECT_THROW(own(ApprovalText("south", agreement, other, study.expires)), Error);
  EXPECT_THROW(own(ApprovalText("south", agreement, plan, study.expires - 1)), Error);
  EXPECT_THROW(own(ApprovalText("south", agreement, plan, study.expires + 1)), Error);
  EXPECT_THROW(own(ApprovalText("west", agreement, plan, study.expires)), Error);
  EXPECT_THROW(own("nonsense"), Error);
  EXPECT_EQ(scene.At(1), study);
  own(ApprovalText("south", agreement, plan, study.expires));
  EXPECT_EQ(scene.At(1).phase, Phase::kApproved);
  // A peer's that is somebody else's, or not for this: it never agrees.
  const Bytes forged = Encode(Document{ApprovalText("north", agreement, plan, study.expires)});
  EXPECT_EQ(scene.Send("west", 1, Kind::kApproval, forged), Receipt::kRefused);
  const Bytes wrong = Encode(Document{ApprovalText("west", other, plan, study.expires)});
  EXPECT_EQ(scene.Send("west", 1, Kind::kApproval, wrong), Receipt::kTaken);
  EXPECT_EQ(scene.Send("north", 1, Kind::kApproval, forged), Receipt::kTaken);
  EXPECT_EQ(scene.At(1).phase, Phase::kApproved);
}

TEST(Attack, AWithdrawalInTheProposersName) {
  Scene scene({}, false);
  scene.RunTo(1, Phase::kSettled);
  const Bytes body = Encode(Withdraw{.by_steward = false, .reason = "no"});
  EXPECT_EQ(scene.Send("west", 1, Kind::kWithdraw, body), Receipt::kRefused);
  EXPECT_EQ(scene.At(1).phase, Phase::kSettled);
  EXPECT_THROW(scene.world.node(1).Command(scene.id, OwnWithdrawal{false, "no"}, scene.world.now),
               Error);
  EXPECT_THROW(
      scene.world.node(1).Command(scene.id, OwnWithdrawal{true, "two\nlines"}, scene.world.now),
      Error);
  EXPECT_EQ(scene.Send("north", 1, Kind::kWithdraw, body), Receipt::kTaken);
  EXPECT_EQ(scene.At(1).phase, Phase::kWithdrawn);
}

TEST(Attack, ARejectionEndsItEverywhereAndAfterAnApprovalItDoesNot) {
  Scene scene({}, false);
  scene.RunTo(2, Phase::kSettled);
  scene.world.RunUntilQuiet(scene.world.now + 5);
  scene.world.node(2).Command(scene.id, OwnRejection{RejectionText("west", "no such question")},
                              scene.world.now);
  scene.world.RunUntilQuiet(scene.world.now + 100);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(scene.At(i).phase, Phase::kRejected);
    EXPECT_EQ(scene.At(i).ending, (Ending{"west", "no such question"}));
  }
  AgreedScene approved;
  EXPECT_EQ(
      approved.Send("west", 1, Kind::kRejection, Encode(Document{RejectionText("west", "no")})),
      Receipt::kRefused);
}

TEST(Attack, ARejectionOfSomethingElse) {
  Scene scene({}, false);
  scene.RunTo(1, Phase::kSettled);
  scene.world.RunUntilQuiet(scene.world.now + 5);
  const Study before = scene.At(1);
  const Digest agreement = *before.agreement_hash;
  Digest other = agreement;
  other[3] ^= 1;
  const auto rejection = [](const Digest& hash, const Digest& plan) {
    return RejectionText("west", "not this", hash, plan);
  };
  for (const std::string& text : {rejection(agreement, other), rejection(other, PlanOfAll())}) {
    EXPECT_EQ(scene.Send("west", 1, Kind::kRejection, Encode(Document{text})), Receipt::kRefused);
    EXPECT_THAT(scene.LastRefusal(1), HasSubstr("another study"));
    EXPECT_THROW(
        scene.world.node(1).Command(
            scene.id, OwnRejection{RejectionText("south", "no", agreement, other)}, before.expires),
        Error);
    ExpectUnmoved(before, scene.At(1));
  }
  EXPECT_EQ(
      scene.Send("west", 1, Kind::kRejection, Encode(Document{rejection(agreement, PlanOfAll())})),
      Receipt::kTaken);
  EXPECT_EQ(scene.At(1).phase, Phase::kRejected);
}

TEST(Attack, ARevokedPartyAgreesToNothingAndStartsNothing) {
  AgreedScene agreed;
  agreed.world.site(1).trust->Revoke("west");
  EXPECT_EQ(agreed.Send("north", 1, Kind::kStart, Encode(Start{1, {1}})), Receipt::kTaken);
  EXPECT_EQ(agreed.At(1).phase, Phase::kClosing);  // refused, by signed word
  Scene scene({}, false);
  scene.RunTo(1, Phase::kSettled);
  scene.world.RunUntilQuiet(scene.world.now + 5);
  const Study study = scene.At(1);
  const auto approval = [&](const std::string& party) {
    return ApprovalText(party, *study.agreement_hash, PlanOfAll(), study.expires);
  };
  const int64_t now = scene.world.now;
  EXPECT_EQ(scene.Send("west", 1, Kind::kApproval, Encode(Document{approval("west")})),
            Receipt::kTaken);
  scene.world.site(1).trust->Revoke("west");
  // Neither the own approval nor north's is refused for what west's key has become.
  scene.world.node(1).Command(scene.id, OwnApproval{approval("south")}, now);
  EXPECT_EQ(scene.Send("north", 1, Kind::kApproval, Encode(Document{approval("north")})),
            Receipt::kTaken);
  EXPECT_EQ(scene.At(1).phase, Phase::kApproved);
  EXPECT_EQ(scene.At(1).approvals.size(), size_t{3});
}

// ---- Starts -------------------------------------------------------------------------------------

TEST(Attack, AStartWithANumberThatIsNotTheNextOne) {
  AgreedScene scene;
  const Study before = scene.At(1);
  for (const uint32_t attempt : {0u, 2u, 20u, 0xffff'fffeu, 0xffff'ffffu}) {
    const size_t waiting = scene.world.node(1).Due(scene.world.now).size();
    EXPECT_EQ(scene.Send("north", 1, Kind::kStart, Encode(Start{attempt, {1}})), Receipt::kTaken);
    ExpectUnmoved(before, scene.At(1));
    // Answered with the own number.
    const std::vector<OutboxEntry> due = scene.world.node(1).Due(scene.world.now);
    ASSERT_EQ(due.size(), waiting + 1);
    const SignedMessage answer = DecodeMessage(due.back().message);
    EXPECT_EQ(answer.message.kind, Kind::kBusy);
    EXPECT_EQ(DecodeBusy(answer.message.body).attempt, 1u);
  }
  EXPECT_EQ(scene.Send("west", 1, Kind::kStart, Encode(Start{1, {1}})), Receipt::kRefused);
  EXPECT_THAT(scene.LastRefusal(1), HasSubstr("another party than the proposer"));
}

TEST(Attack, AStartOfWhatWasNotApprovedHereOrEndedLongAgo) {
  Scene scene({}, false);
  scene.RunTo(1, Phase::kSettled);
  scene.world.RunUntilQuiet(scene.world.now + 5);
  scene.world.Command(1, scene.id, OwnRejection{RejectionText("south", "no")});
  scene.world.RunUntilQuiet(scene.world.now + 5);
  const Study rejected = scene.At(1);
  ASSERT_EQ(rejected.phase, Phase::kRejected);
  EXPECT_EQ(scene.Send("north", 1, Kind::kStart, Encode(Start{1, {1}})), Receipt::kTaken);
  ExpectUnmoved(rejected, scene.At(1));
  AgreedScene old;
  old.world.RunUntilQuiet(World::kBegin + World::kLife + 10);
  const Study expired = old.At(1);
  ASSERT_EQ(expired.phase, Phase::kExpired);
  old.world.now += 2 * kClosingSeconds;
  EXPECT_EQ(old.Send("north", 1, Kind::kStart, Encode(Start{1, {1}})), Receipt::kTaken);
  ExpectUnmoved(expired, old.At(1));
}

TEST(Attack, TwoStartsOfOneAttempt) {
  AgreedScene scene;
  EXPECT_EQ(scene.Send("north", 1, Kind::kStart, Encode(Start{1, {1}})), Receipt::kTaken);
  const Study before = scene.At(1);
  EXPECT_EQ(before.phase, Phase::kScheduled);
  EXPECT_EQ(scene.Send("north", 1, Kind::kStart, Encode(Start{1, {2}})), Receipt::kTaken);
  ExpectUnmoved(before, scene.At(1));
  EXPECT_EQ(scene.At(1).tag, Tag{1});
}

TEST(Attack, AStartNearTheExpiryIsRefusedBySignedWord) {
  AgreedScene scene;
  scene.world.now = World::kBegin + World::kLife - kLastStartSeconds;
  EXPECT_EQ(scene.Send("north", 1, Kind::kStart, Encode(Start{1, {1}})), Receipt::kTaken);
  EXPECT_EQ(scene.At(1).phase, Phase::kClosing);
  scene.world.After(1, [] {});
  scene.world.RunUntilQuiet(scene.world.now + 2);
  // It goes around: the others refuse the attempt that they have not heard of, and it is closed.
  const SignedMessage said = scene.Sent(Kind::kEnded, "west");
  EXPECT_EQ(said.message.from, "south");
  const Ended own = DecodeEnded(said.message.body);
  EXPECT_EQ(own.outcome, Outcome::kRefused);
  EXPECT_FALSE(own.may_have_opened);
  EXPECT_FALSE(own.signature.empty());
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(scene.At(i).closed, 1u);
}

TEST(Attack, WhatOneSaysWithoutTheRunKeyMayHaveOpened) {
  AgreedScene scene;
  EXPECT_EQ(scene.Send("north", 1, Kind::kStart, Encode(Start{1, {1}})), Receipt::kTaken);
  Ended ended;
  ended.attempt = 1;
  ended.outcome = Outcome::kRefused;
  ended.may_have_opened = false;
  ended.signature = BytesOf("not by the run key");
  EXPECT_EQ(scene.Send("west", 1, Kind::kEnded, Encode(ended)), Receipt::kTaken);
  const Ended believed = scene.At(1).ended.at("west");
  EXPECT_TRUE(believed.may_have_opened);
  EXPECT_TRUE(believed.signature.empty());
  // The first word counts.
  ended.signature = HashSignature(RunKey("west") + ToHex(ByteView(scene.id).first(4)), kEndedDomain,
                                  EndedFields(scene.id, "west", ended));
  EXPECT_EQ(scene.Send("west", 1, Kind::kEnded, Encode(ended)), Receipt::kTaken);
  EXPECT_EQ(scene.At(1).ended.at("west"), believed);
}

TEST(Attack, AStartAfterSomebodySaidHowItsPartEnded) {
  AgreedScene scene;
  Ended ended;
  ended.attempt = 1;
  EXPECT_EQ(scene.Send("west", 1, Kind::kEnded, Encode(ended)), Receipt::kTaken);
  EXPECT_EQ(scene.At(1).phase,
            Phase::kAgreed);  // not signed by the run key: anybody's daemon says so
  EXPECT_EQ(scene.Send("north", 1, Kind::kStart, Encode(Start{1, {1}})), Receipt::kTaken);
  EXPECT_EQ(scene.At(1).phase, Phase::kClosing);
}

// ---- Messages -----------------------------------------------------------------------------------

TEST(Attack, EveryMessageChangedOrSentAgain) {
  Scene scene;
  scene.world.RunUntilQuiet(World::kBegin + 3600);
  std::set<Kind> kinds;
  std::vector<Study> ends;
  for (size_t i = 0; i < 3; ++i) ends.push_back(scene.At(i));
  ASSERT_EQ(ends[0].phase, Phase::kFinished);
  const std::vector<OutboxEntry> sent = scene.sent;
  CountedRandom random(3);
  for (const OutboxEntry& entry : sent) {
    const SignedMessage message = DecodeMessage(entry.message);
    kinds.insert(message.message.kind);
    const size_t to = entry.to == "north" ? 0 : entry.to == "south" ? 1 : 2;
    EXPECT_EQ(scene.world.node(to).Receive(entry.message, scene.world.now), Receipt::kTaken);
    for (int change = 0; change < 20; ++change) {
      Bytes changed = entry.message;
      changed[random.Below(changed.size())] ^= static_cast<uint8_t>(1 + random.Below(255));
      EXPECT_EQ(scene.world.node(to).Receive(changed, scene.world.now), Receipt::kRefused);
    }
  }
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(scene.At(i), ends[i]);
  EXPECT_EQ(kinds, (std::set<Kind>{Kind::kProposal, Kind::kOffer, Kind::kRoster, Kind::kApproval,
                                   Kind::kAskSlot, Kind::kSlot, Kind::kStart, Kind::kEnded}));
}

// A party that signs what it likes can stop a study, but not make a node throw, forget what was
// opened or open twice.
TEST(Attack, EveryKindWithAChangedBodySignedByItsSender) {
  Scene plain;
  plain.world.RunUntilQuiet(World::kBegin + 3600);
  CountedRandom random(4);
  uint64_t refused = 0, taken = 0;
  for (size_t k = 0; k < plain.sent.size(); ++k) {
    for (int change = 0; change < 6; ++change) {
      Scene scene;
      size_t seen = 0;
      bool done = false;
      scene.world.on_delivery = [&](const OutboxEntry& entry) {
        if (seen++ != k || done) return;
        done = true;
        SignedMessage message = DecodeMessage(entry.message);
        Bytes body = message.message.body;
        if (body.empty()) return;
        body[random.Below(body.size())] ^= static_cast<uint8_t>(1 + random.Below(255));
        if (change % 3 == 0) body.resize(random.Below(body.size()));
        const size_t to = entry.to == "north" ? 0 : entry.to == "south" ? 1 : 2;
        const Receipt receipt = scene.world.node(to).Receive(
            SignedBy(message.message.from, entry.to, message.message.kind, message.message.study,
                     body, 5000, scene.world.now),
            scene.world.now);
        (receipt == Receipt::kRefused ? refused : taken) += 1;
      };
      scene.world.RunUntilQuiet(World::kBegin + World::kLife + 3 * 86'400);
      for (size_t i = 0; i < 3; ++i) {
        EXPECT_TRUE(IsEnd(scene.At(i).phase)) << k;
        EXPECT_TRUE(scene.At(i).charged || scene.world.openings[scene.id].empty() ||
                    scene.At(i).phase != Phase::kFinished)
            << k;
      }
      EXPECT_LE(scene.world.openings[scene.id].size(), size_t{1}) << k;
    }
  }
  EXPECT_GT(refused, uint64_t{50});
  EXPECT_GT(taken, uint64_t{10});
}

TEST(Attack, WhatIsNotUnderstoodIsKeptAndAnswered) {
  Scene scene;
  scene.world.RunUntilQuiet(World::kBegin + 3600);
  SignedMessage message = DecodeMessage(SignedBy("west", "south", static_cast<Kind>(16), scene.id,
                                                 BytesOf("introduction"), 7, scene.world.now));
  const Study before = scene.At(1);
  const auto send = [&] {
    message.signature = NamedTrust::SignAs("west", message.message);
    return scene.world.node(1).Receive(EncodeMessage(message), scene.world.now);
  };
  EXPECT_EQ(send(), Receipt::kTaken);
  EXPECT_THAT(scene.world.site(1).disk.received, Contains(::testing::Key(MessageName(message))));
  std::vector<OutboxEntry> due = scene.world.node(1).Due(scene.world.now);
  ASSERT_EQ(due.size(), size_t{1});
  const SignedMessage answer = DecodeMessage(due[0].message);
  EXPECT_EQ(answer.message.kind, Kind::kNotUnderstood);
  EXPECT_EQ(DecodeNotUnderstood(answer.message.body),
            (NotUnderstood{MessageName(message), kMessageVersion, 16}));
  EXPECT_EQ(send(), Receipt::kTaken);  // again: not answered again
  EXPECT_EQ(scene.world.node(1).Due(scene.world.now).size(), size_t{1});
  message.message.version = 2;
  message.message.number = 8;
  EXPECT_EQ(send(), Receipt::kTaken);
  EXPECT_EQ(scene.world.node(1).Due(scene.world.now).size(), size_t{2});
  // An answer of a later version is not answered: that would have no end.
  message.message.kind = Kind::kNotUnderstood;
  message.message.number = 9;
  EXPECT_EQ(send(), Receipt::kTaken);
  EXPECT_EQ(scene.world.node(1).Due(scene.world.now).size(), size_t{2});
  ExpectUnmoved(before, scene.At(1));
}

TEST(Attack, ANodeThatWasSetBackUsesItsNumbersTwice) {
  Scene scene({}, false);
  const Disk old = scene.world.site(0).disk;
  scene.world.RunUntilQuiet(World::kBegin + 100);
  ASSERT_EQ(scene.At(0).phase, Phase::kSettled);
  // North from its old disk, in the same incarnation: what it says now has numbers that were used.
  World::Site& north = scene.world.site(0);
  north.node.reset();
  north.disk = old;
  scene.world.now += 1000;
  north.store = std::make_unique<MemoryStore>(north.disk, [] {});
  north.node = std::make_unique<Node>(scene.world.PartsOf(north));
  north.node->Propose("another study", scene.world.now + World::kLife, scene.world.now);
  const size_t before = scene.world.node(1).open().size();
  scene.world.RunUntilQuiet(scene.world.now + 100);
  EXPECT_EQ(scene.world.node(1).open().size(), before);
  EXPECT_THAT(scene.world.node(1).refusals(), Contains(HasSubstr("used a number twice")));
}

TEST(Attack, StrangersAndMessagesForOthers) {
  Scene scene({}, false);
  scene.RunTo(1, Phase::kSettled);
  const Bytes body = Encode(Start{1, {1}});
  Node& south = scene.world.node(1);
  const int64_t now = scene.world.now;
  EXPECT_EQ(south.Receive(SignedBy("mallory", "south", Kind::kStart, scene.id, body, 1, now), now),
            Receipt::kRefused);
  EXPECT_EQ(south.Receive(SignedBy("north", "west", Kind::kStart, scene.id, body, 1, now), now),
            Receipt::kRefused);
  EXPECT_EQ(south.Receive(SignedBy("south", "south", Kind::kStart, scene.id, body, 1, now), now),
            Receipt::kRefused);
  EXPECT_EQ(south.Receive(Bytes(100, 7), now), Receipt::kRefused);
  // Of a study that is not here: perhaps its proposal is still on the way.
  EXPECT_EQ(south.Receive(SignedBy("north", "south", Kind::kStart, StudyId{5}, body, 1, now), now),
            Receipt::kLater);
  // A start before the agreement has to wait.
  EXPECT_EQ(scene.Send("north", 1, Kind::kStart, body), Receipt::kLater);
}

TEST(Attack, ProposalsThatCountNowhere) {
  Scene scene;
  Node& south = scene.world.node(1);
  const int64_t now = scene.world.now;
  uint64_t number = 1;
  const auto propose = [&](const Proposal& proposal, const StudyId& id) {
    return south.Receive(
        SignedBy("west", "south", Kind::kProposal, id, Encode(proposal), ++number, now), now);
  };
  const Proposal good{"file", Nonce{1}, now + 86'400};
  const StudyId id = StudyIdOf(good.study_file, "west", good.nonce, good.expires);
  EXPECT_EQ(propose(good, StudyIdOf(good.study_file, "north", good.nonce, good.expires)),
            Receipt::kRefused);
  Proposal late = good;
  late.expires = now;
  const auto id_of = [](const Proposal& proposal) {
    return StudyIdOf(proposal.study_file, "west", proposal.nonce, proposal.expires);
  };
  EXPECT_EQ(propose(late, id_of(late)), Receipt::kRefused);
  late.expires = now + kMaxStudySeconds + 1;
  EXPECT_EQ(propose(late, id_of(late)), Receipt::kRefused);
  // The same study with another end, told to one node alone.
  late.expires = good.expires + 86'400;
  EXPECT_EQ(propose(late, id), Receipt::kRefused);
  EXPECT_EQ(propose(good, id), Receipt::kTaken);
  // Only so many of one peer are open at a time.
  for (size_t i = 1; i < kMaxOpenPerPeer; ++i) {
    Proposal more = good;
    more.nonce[1] = static_cast<uint8_t>(i);
    EXPECT_EQ(propose(more, StudyIdOf(more.study_file, "west", more.nonce, more.expires)),
              Receipt::kTaken);
  }
  Proposal last = good;
  last.nonce[2] = 1;
  EXPECT_EQ(propose(last, StudyIdOf(last.study_file, "west", last.nonce, last.expires)),
            Receipt::kLater);
}

TEST(Attack, BodiesAboveTheLimitAreFetchedByDigest) {
  Scene scene;
  scene.world.RunUntilQuiet(World::kBegin + 3600);
  const StudyId id = scene.world.node(0).Propose(std::string(100'000, 'x'),
                                                 scene.world.now + World::kLife, scene.world.now);
  scene.world.RunUntilQuiet(scene.world.now + 3600);
  EXPECT_EQ(scene.world.StudyAt(1, id).file.size(), size_t{100'000});
  EXPECT_EQ(scene.world.StudyAt(1, id).phase, Phase::kFinished);
  for (const size_t size : {kMaxBodyBytes + 1, kMaxInlineBytes}) {
    const Bytes body(size);
    EXPECT_THROW(scene.world.node(1).TakeBody(crypto::Sha256Of(body), body), Error);
  }
  EXPECT_THROW(scene.world.node(1).TakeBody(Digest{1}, Bytes(kMaxInlineBytes + 1)), Error);
  // Of studies that are over nothing is left.
  for (size_t i = 0; i < 3; ++i) EXPECT_TRUE(scene.world.site(i).disk.bodies.empty());
}

TEST(Attack, BodiesThatNoMessageNeedsAreNotKept) {
  AgreedScene scene;
  Node& south = scene.world.node(1);
  const Bytes body(100'000, 'x');
  const Digest digest = crypto::Sha256Of(body);
  EXPECT_THROW(south.TakeBody(digest, body), Error);
  // Only proposals and rosters are long.
  for (const Kind kind : {Kind::kEnded, Kind::kApproval, Kind::kOffer, Kind::kProgress})
    EXPECT_EQ(scene.Send("west", 1, kind, body), Receipt::kRefused);
  EXPECT_THROW(south.TakeBody(digest, body), Error);
  // Asked for, it is in memory only until its message counts.
  const Bytes message =
      SignedBy("west", "south", Kind::kProposal, StudyId{7}, body, 50, scene.world.now);
  EXPECT_EQ(south.Receive(message, scene.world.now), Receipt::kNeedsBody);
  EXPECT_THROW(south.TakeBody(digest, Bytes(100'000, 'y')), Error);
  south.TakeBody(digest, body);
  EXPECT_TRUE(scene.world.site(1).disk.bodies.empty());
  EXPECT_EQ(south.Receive(message, scene.world.now), Receipt::kRefused);
  EXPECT_TRUE(scene.world.site(1).disk.bodies.empty());
  EXPECT_THROW(south.TakeBody(digest, body), Error);
}

TEST(Attack, APeerMakesANodeKeepSoMuchADay) {
  AgreedScene scene;
  const Disk& disk = scene.world.site(1).disk;
  const Bytes large(60'000, 'x');
  size_t taken = 0;
  while (scene.Send("west", 1, static_cast<Kind>(16), large) == Receipt::kTaken) ++taken;
  EXPECT_GT(taken, kMaxBytesPerPeerDay / 61'000);
  uint64_t kept = 0;
  for (const auto& [name, message] : disk.received)
    kept += message.from == "west" ? message.message.size() : 0;
  EXPECT_LE(kept, kMaxBytesPerPeerDay);
  // Others are not held up by it, nor it the day after.
  EXPECT_EQ(scene.Send("north", 1, static_cast<Kind>(16), large), Receipt::kTaken);
  scene.world.now += 86'400;
  EXPECT_EQ(scene.Send("west", 1, static_cast<Kind>(16), large), Receipt::kTaken);
}

TEST(Attack, QuestionsAndProgressAreNotKept) {
  Scene scene;
  scene.world.RunUntilQuiet(World::kBegin + 3600);
  ASSERT_EQ(scene.At(1).phase, Phase::kFinished);
  std::set<Kind> kept;
  for (size_t i = 0; i < 3; ++i) {
    for (const auto& [name, message] : scene.world.site(i).disk.received)
      kept.insert(DecodeMessage(message.message).message.kind);
  }
  EXPECT_EQ(kept, (std::set<Kind>{Kind::kProposal, Kind::kOffer, Kind::kRoster, Kind::kApproval,
                                  Kind::kStart, Kind::kEnded}));
}

}  // namespace
}  // namespace partita::node::attack_test
