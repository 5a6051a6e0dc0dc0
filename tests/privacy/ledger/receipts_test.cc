// Heads and receipts on the wire, and what a peer refuses.
#include "privacy/ledger/receipts.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "tests/privacy/ledger/fixtures.h"

namespace partita::privacy::ledger::receipts_test {
namespace {

Head HeadAt(uint64_t sequence, uint64_t variant = 0) {
  return {DigestOf(1), sequence, DigestOf(sequence * 1000 + variant)};
}

TEST(HeadTest, OneEncodingOfOneLength) {
  const Head head = HeadAt(12345);
  const Bytes bytes = EncodeHead(head);
  ASSERT_EQ(bytes.size(), kHeadBytes);
  EXPECT_EQ(DecodeHead(bytes, "north"), head);
  for (size_t size = 0; size < bytes.size(); ++size)
    ExpectError(
        ErrorCode::kPeerFault, [&] { DecodeHead(ByteView(bytes).first(size), "north"); }, "north");
  Bytes longer = bytes;
  longer.push_back(0);
  ExpectError(ErrorCode::kPeerFault, [&] { DecodeHead(longer, "north"); });
  for (size_t at = 0; at < 8; ++at) {
    Bytes other = bytes;
    other[at] ^= 1;
    ExpectError(ErrorCode::kPeerFault, [&] { DecodeHead(other, "north"); });
  }
  for (const uint64_t sequence : {uint64_t{0}, (uint64_t{1} << 62) + 1, UINT64_MAX})
    ExpectError(ErrorCode::kPeerFault, [&] { DecodeHead(EncodeHead(HeadAt(sequence)), "north"); });
}

TEST(HeadTest, RandomBytesAreAHeadOrAFault) {
  const bool ok = rc::check([](const Bytes& bytes) {
    Bytes padded = bytes;
    padded.resize(kHeadBytes);
    try {
      RC_ASSERT(EncodeHead(DecodeHead(padded, "north")) == padded);
    } catch (const Error& error) {
      RC_ASSERT(error.code() == ErrorCode::kPeerFault);
    }
  });
  EXPECT_TRUE(ok);
}

TEST(ReceiptTest, ASignatureIsForOneHeadRunAndStudy) {
  for (const crypto::KeyKind kind : {crypto::KeyKind::kEd25519, crypto::KeyKind::kP256}) {
    const crypto::Identity peer = crypto::MakeIdentity({.name = "north", .kind = kind});
    const crypto::Identity other = crypto::MakeIdentity({.name = "north", .kind = kind});
    const Receipt receipt{HeadAt(5), DigestOf(2), DigestOf(3)};
    const Bytes signature = SignReceipt(peer, receipt);
    const auto accepts = [&](const Receipt& changed) {
      return VerifyReceipt(*peer.certificate, changed, signature);
    };
    EXPECT_TRUE(accepts(receipt));
    EXPECT_FALSE(VerifyReceipt(*other.certificate, receipt, signature));
    EXPECT_FALSE(accepts({HeadAt(6), DigestOf(2), DigestOf(3)}));
    EXPECT_FALSE(accepts({HeadAt(5, 1), DigestOf(2), DigestOf(3)}));
    EXPECT_FALSE(accepts({{DigestOf(9), 5, HeadAt(5).hash}, DigestOf(2), DigestOf(3)}));
    EXPECT_FALSE(accepts({HeadAt(5), DigestOf(4), DigestOf(3)}));
    EXPECT_FALSE(accepts({HeadAt(5), DigestOf(2), DigestOf(4)}));
    EXPECT_FALSE(accepts({HeadAt(5), DigestOf(3), DigestOf(2)}));
  }
}

TEST(ReceiptTest, ASignatureOnTheWireHasOneLength) {
  for (const size_t size : {size_t{1}, size_t{64}, size_t{72}, size_t{80}}) {
    const Bytes signature(size, 0xab);
    const Bytes bytes = EncodeSignature(signature);
    ASSERT_EQ(bytes.size(), kReceiptBytes);
    EXPECT_EQ(DecodeSignature(bytes, "north"), signature);
    if (size < 80) {
      Bytes padded = bytes;
      padded.back() = 1;
      ExpectError(
          ErrorCode::kPeerFault, [&] { DecodeSignature(padded, "north"); }, "north");
    }
    ExpectError(ErrorCode::kPeerFault,
                [&] { DecodeSignature(ByteView(bytes).first(kReceiptBytes - 1), "north"); });
  }
  for (const uint8_t length : {uint8_t{0}, uint8_t{81}, uint8_t{255}}) {
    Bytes bytes = EncodeSignature(Bytes(64, 1));
    bytes[4] = length;
    ExpectError(ErrorCode::kPeerFault, [&] { DecodeSignature(bytes, "north"); });
  }
  Bytes bytes = EncodeSignature(Bytes(64, 1));
  bytes[7] = 1;  // a length of 2^24 + 64
  ExpectError(ErrorCode::kPeerFault, [&] { DecodeSignature(bytes, "north"); });
}

TEST(ShownHeadTest, OlderOrOtherHeadsAreRefused) {
  const Receipt last{HeadAt(10), DigestOf(1), DigestOf(2)};
  const auto shown = [](const Head& head) { return Receipt{head, DigestOf(7), DigestOf(8)}; };
  CheckShownHead(std::nullopt, shown(HeadAt(1)), "south");
  CheckShownHead(last, shown(HeadAt(11)), "south");
  CheckShownHead(last, shown(HeadAt(10)), "south");
  ExpectError(
      ErrorCode::kRefused, [&] { CheckShownHead(last, shown(HeadAt(9)), "south"); },
      "south shows a privacy ledger that ends at entry 9, after it had shown one that ends at "
      "entry 10");
  ExpectError(
      ErrorCode::kRefused, [&] { CheckShownHead(last, shown(HeadAt(10, 1)), "south"); },
      "entry 10 is not the one");
}

}  // namespace
}  // namespace partita::privacy::ledger::receipts_test
