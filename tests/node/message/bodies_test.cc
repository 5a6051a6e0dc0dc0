#include "node/message/bodies.h"

#include <gtest/gtest.h>

#include <functional>

#include "base/error.h"
#include "tests/node/doubles.h"

namespace partita::node::bodies_test {
namespace {

// Reads bytes of one kind and writes them again.
using Again = std::function<Bytes(ByteView)>;

struct Case {
  const char* name;
  Bytes bytes;
  Again again;
};

std::vector<Case> Cases() {
  Offer offer;
  offer.run_certificate = BytesOf("certificate");
  offer.steward.fill(3);
  offer.address = "north.example:7400";
  offer.plan_hash.fill(4);
  Offer refusal;
  refusal.refusal = "not here: é";
  Ended ended;
  ended.attempt = 0xffff'ffff;
  ended.outcome = Outcome::kFinished;
  ended.result.fill(8);
  ended.signature = BytesOf("signature");
  const Again offers = [](ByteView b) { return Encode(DecodeOffer(b)); };
  return {
      {"proposal", Encode(Proposal{"file", Nonce{1}, 1'790'000'000}),
       [](ByteView b) { return Encode(DecodeProposal(b)); }},
      {"offer", Encode(offer), offers},
      {"refusal", Encode(refusal), offers},
      {"roster", Encode(RosterFile{"text", {BytesOf("one"), BytesOf("two")}}),
       [](ByteView b) { return Encode(DecodeRosterFile(b)); }},
      {"document", Encode(Document{"text"}), [](ByteView b) { return Encode(DecodeDocument(b)); }},
      {"slot?", Encode(AskSlot{3, 1 << 20, 60}),
       [](ByteView b) { return Encode(DecodeAskSlot(b)); }},
      {"slot", Encode(Slot{12}), [](ByteView b) { return Encode(DecodeSlot(b)); }},
      {"busy", Encode(Busy{12, 1'790'000'000, 2}),
       [](ByteView b) { return Encode(DecodeBusy(b)); }},
      {"start", Encode(Start{2, Tag{1, 2}}), [](ByteView b) { return Encode(DecodeStart(b)); }},
      {"progress", Encode(Progress{1, "moments", 1000}),
       [](ByteView b) { return Encode(DecodeProgress(b)); }},
      {"ended", Encode(ended), [](ByteView b) { return Encode(DecodeEnded(b)); }},
      {"withdraw", Encode(Withdraw{true, "why"}),
       [](ByteView b) { return Encode(DecodeWithdraw(b)); }},
      {"not-understood", Encode(NotUnderstood{Digest{1}, 2, 15}),
       [](ByteView b) { return Encode(DecodeNotUnderstood(b)); }},
      {"head", Encode(LogHead{2, 3, Digest{1}, {{20'000, Digest{2}}, {20'001, Digest{3}}}}),
       [](ByteView b) { return Encode(DecodeLogHead(b)); }},
      {"receipt", Encode(LogReceipt{Digest{1}, 7, Digest{2}, 3, 9}),
       [](ByteView b) { return Encode(DecodeLogReceipt(b)); }},
      {"relay", Encode(Relay{{1, 2, 3}}), [](ByteView b) { return Encode(DecodeRelay(b)); }},
  };
}

TEST(Bodies, AreReadBackOrRefusedAndNeverReadTwoWays) {
  for (const Case& one : Cases()) {
    EXPECT_EQ(one.again(one.bytes), one.bytes) << one.name;
    for (size_t size = 0; size < one.bytes.size(); ++size)
      EXPECT_THROW(one.again(ByteView(one.bytes).first(size)), Error) << one.name << size;
    Bytes longer = one.bytes;
    longer.push_back(0);
    EXPECT_THROW(one.again(longer), Error) << one.name;
    for (size_t i = 0; i < one.bytes.size(); ++i) {
      for (const int change : {1, 0x80, 0xff}) {
        Bytes changed = one.bytes;
        changed[i] = static_cast<uint8_t>(changed[i] ^ change);
        try {
          EXPECT_EQ(one.again(changed), changed) << one.name << i;
        } catch (const Error& error) {
          EXPECT_EQ(error.code(), ErrorCode::kPeerFault) << one.name << i;
        }
      }
    }
  }
}

TEST(Bodies, WhatMakesNoSenseIsRefused) {
  Offer both;
  both.run_certificate = BytesOf("certificate");
  both.refusal = "no";
  EXPECT_THROW(DecodeOffer(Encode(both)), Error);
  EXPECT_THROW(DecodeOffer(Encode(Offer{})), Error);
  EXPECT_THROW(DecodeRosterFile(Encode(RosterFile{"text", {}})), Error);
  EXPECT_THROW(DecodeRosterFile(Encode(RosterFile{"text", std::vector<Bytes>(65)})), Error);
  EXPECT_THROW(DecodeProgress(Encode(Progress{1, "moments", 1001})), Error);
  EXPECT_THROW(DecodeProgress(Encode(Progress{1, "two\nlines", 1})), Error);
  EXPECT_THROW(DecodeWithdraw(Encode(Withdraw{true, std::string(401, 'x')})), Error);
  EXPECT_THROW(DecodeWithdraw(Encode(Withdraw{true, "\xff"})), Error);
  EXPECT_THROW(DecodeDocument(Encode(Document{std::string(kMaxDocumentBytes + 1, 'x')})), Error);
  EXPECT_THROW(DecodeProposal(Encode(Proposal{std::string(kMaxProposalBytes + 1, 'x'), {}, 0})),
               Error);
  EXPECT_THROW(DecodeProposal(Encode(Proposal{"file", {}, -1})), Error);
  Ended ended;
  ended.outcome = Outcome::kFinished;
  ended.may_have_opened = false;
  EXPECT_THROW(DecodeEnded(Encode(ended)), Error);
}

TEST(Bodies, DaysOfALogAreAllThatTheyCanBe) {
  const ToldDay day{20'000, Digest{2}};
  const auto refuses = [](const LogHead& head) {
    EXPECT_THROW(DecodeLogHead(Encode(head)), Error) << head.first << " to " << head.newest;
  };
  refuses({1, 1, Digest{1}, {day}});  // the first day follows none
  refuses({2, 2, Digest{}, {day}});
  refuses({1, 2, Digest{}, {day}});  // one is kept back
  refuses({1, 1, Digest{}, {day, day}});
  refuses({1, 0, Digest{}, {}});
  refuses({kMaxLogDays + 1, kMaxLogDays + 1, Digest{1}, {day}});
  refuses({1, 1, Digest{}, {{3'000'000, Digest{2}}}});
  LogHead many{1, kMaxDaysTold + 5, Digest{}, std::vector<ToldDay>(kMaxDaysTold, day)};
  EXPECT_EQ(DecodeLogHead(Encode(many)), many);
  many.days.push_back(day);
  refuses(many);
  EXPECT_LT(Encode(many).size(), kMaxInlineBytes);
  for (const LogReceipt& receipt :
       {LogReceipt{{}, 0, Digest{1}, 0, 0}, LogReceipt{{}, 1, {}, 0, 0},
        LogReceipt{{}, 1, Digest{1}, 0, 2}, LogReceipt{{}, 1, Digest{1}, 3, 2}})
    EXPECT_THROW(DecodeLogReceipt(Encode(receipt)), Error);
}

// The signature is for one study, one party, one attempt and one outcome.
TEST(Bodies, WhatTheRunKeySignsNamesAllOfIt) {
  Ended ended;
  ended.attempt = 1;
  const Bytes fields = EndedFields(StudyId{1}, "north", ended);
  EXPECT_NE(EndedFields(StudyId{2}, "north", ended), fields);
  EXPECT_NE(EndedFields(StudyId{1}, "south", ended), fields);
  Ended other = ended;
  other.attempt = 2;
  EXPECT_NE(EndedFields(StudyId{1}, "north", other), fields);
  other = ended;
  other.may_have_opened = false;
  EXPECT_NE(EndedFields(StudyId{1}, "north", other), fields);
  other = ended;
  other.outcome = Outcome::kFailed;
  EXPECT_NE(EndedFields(StudyId{1}, "north", other), fields);
  other = ended;
  other.result[0] = 1;
  EXPECT_NE(EndedFields(StudyId{1}, "north", other), fields);
  other = ended;
  other.signature = {1};
  EXPECT_EQ(EndedFields(StudyId{1}, "north", other), fields);
}

}  // namespace
}  // namespace partita::node::bodies_test
