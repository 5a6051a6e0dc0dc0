#include "node/message/message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace partita::node::message_test {
namespace {

SignedMessage Example(size_t body_bytes = 5) {
  SignedMessage signed_message;
  Message& message = signed_message.message;
  message.kind = Kind::kStart;
  message.from = "north";
  message.to = "south";
  message.study.fill(7);
  message.incarnation.fill(9);
  message.number = 12;
  message.time = 1'790'000'000;
  SetBody(message, Bytes(body_bytes, 'b'));
  signed_message.signature = {Bytes(300, 'c'), Bytes(64, 's')};
  return signed_message;
}

TEST(Message, ReadsBackWhatItWrote) {
  for (const size_t size : {size_t{0}, size_t{5}, kMaxInlineBytes, kMaxInlineBytes + 1}) {
    const SignedMessage message = Example(size);
    EXPECT_EQ(message.message.fetched.has_value(), size > kMaxInlineBytes);
    EXPECT_EQ(DecodeMessage(EncodeMessage(message)), message) << size;
  }
}

TEST(Message, KeepsVersionsAndKindsThatItDoesNotKnow) {
  SignedMessage message = Example();
  message.message.version = 9;
  message.message.kind = static_cast<Kind>(1000);
  const SignedMessage read = DecodeMessage(EncodeMessage(message));
  EXPECT_EQ(read, message);
  EXPECT_FALSE(IsKnown(read.message.kind));
  EXPECT_EQ(KindName(read.message.kind), "unknown");
}

TEST(Message, IsRefusedWhereverItIsCutOrContinued) {
  const Bytes bytes = EncodeMessage(Example());
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_THROW(DecodeMessage(ByteView(bytes).first(size)), Error) << size;
  Bytes longer = bytes;
  longer.push_back(0);
  EXPECT_THROW(DecodeMessage(longer), Error);
  EXPECT_THROW(DecodeMessage(Bytes(kMaxMessageBytes + 1)), Error);
}

TEST(Message, EveryChangedByteIsRefusedOrChangesTheNameOrTheSignature) {
  const SignedMessage message = Example();
  const Bytes bytes = EncodeMessage(message);
  size_t read = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    Bytes changed = bytes;
    changed[i] ^= 1;
    try {
      const SignedMessage other = DecodeMessage(changed);
      ++read;
      EXPECT_EQ(EncodeMessage(other), changed) << i;
      EXPECT_TRUE(MessageName(other) != MessageName(message) ||
                  other.signature.signature != message.signature.signature)
          << i;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kPeerFault) << i;
    }
  }
  EXPECT_GT(read, size_t{300});
}

TEST(Message, WhatCannotBeReadIsNotWritten) {
  SignedMessage nobody = Example();
  nobody.message.from = "North";
  EXPECT_THROW(EncodeMessage(nobody), Error);
  SignedMessage early = Example();
  early.message.time = -1;
  EXPECT_THROW(EncodeMessage(early), Error);
  SignedMessage small = Example();
  small.message.body.clear();
  small.message.fetched = BodyDigest{{}, kMaxInlineBytes};  // which fits in the message
  EXPECT_THROW(EncodeMessage(small), Error);
}

TEST(Message, TheIdOfAStudyIsOfFileProposerAndNonce) {
  const StudyId id = StudyIdOf("file", "north", Nonce{1}, 7);
  EXPECT_EQ(StudyIdOf("file", "north", Nonce{1}, 7), id);
  EXPECT_NE(StudyIdOf("file2", "north", Nonce{1}, 7), id);
  EXPECT_NE(StudyIdOf("file", "south", Nonce{1}, 7), id);
  EXPECT_NE(StudyIdOf("file", "north", Nonce{2}, 7), id);
  EXPECT_NE(StudyIdOf("file", "north", Nonce{1}, 8), id);
  EXPECT_NE(StudyIdOf("filenorth", "", Nonce{1}, 7), StudyIdOf("file", "north", Nonce{1}, 7));
}

}  // namespace
}  // namespace partita::node::message_test
