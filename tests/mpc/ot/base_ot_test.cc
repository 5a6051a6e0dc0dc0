// Base transfers: the chosen key and no other, for every choice; bound to the session; and what a
// peer may send that no honest party sends.
#include "mpc/ot/base_ot.h"

#include <gtest/gtest.h>

#include <set>

#include "base/error.h"
#include "crypto/prg.h"

namespace partita::mpc::ot::base_ot_test {
namespace {

constexpr size_t kPoint = crypto::kRistrettoBytes;

Bytes BytesOf(const crypto::Key& key) { return {key.Expose().begin(), key.Expose().end()}; }

template <typename F>
void ExpectPeerFault(const F& f) {
  try {
    f();
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kPeerFault);
    EXPECT_NE(error.message().find("mallory"), std::string::npos) << error.message();
  }
}

std::vector<bool> RandomChoices(size_t count, crypto::RandomSource& random) {
  Bytes bytes(count);
  random.Fill(bytes);
  std::vector<bool> choices(count);
  for (size_t i = 0; i < count; ++i) choices[i] = (bytes[i] & 1) != 0;
  return choices;
}

TEST(BaseOtTest, TheChosenKeyAndNoOther) {
  crypto::SystemRandom random;
  for (const auto& choices : {std::vector<bool>{}, {false}, {true}, RandomChoices(64, random)}) {
    const BaseOtReceiver receiver(AsBytes("session"), "mallory", choices, random);
    const BaseOtSender sender(AsBytes("session"), "mallory", random);
    EXPECT_EQ(receiver.message().size(), choices.size() * kBaseReceiverBytes);
    EXPECT_EQ(sender.message().size(), kBaseSenderBytes);
    const auto both = sender.Finish(receiver.message(), choices.size());
    const auto chosen = receiver.Finish(sender.message());
    ASSERT_EQ(both.size(), choices.size());
    ASSERT_EQ(chosen.size(), choices.size());
    std::set<Bytes> all;
    for (size_t i = 0; i < choices.size(); ++i) {
      EXPECT_EQ(BytesOf(chosen[i]), BytesOf(choices[i] ? both[i].one : both[i].zero)) << i;
      all.insert(BytesOf(both[i].zero));
      all.insert(BytesOf(both[i].one));
    }
    EXPECT_EQ(all.size(), 2 * choices.size()) << "every key is another";
  }
}

// Of one session's messages another session makes other keys, at both ends.
TEST(BaseOtTest, KeysAreBoundToTheSession) {
  const std::vector<bool> choices = {true, false};
  auto keys = [&](const char* of_receiver, const char* of_sender) {
    crypto::Prg random(crypto::Key(std::array<uint8_t, 32>{5}));
    const BaseOtReceiver receiver(AsBytes(of_receiver), "peer", choices, random);
    const BaseOtSender sender(AsBytes(of_sender), "peer", random);
    const auto both = sender.Finish(receiver.message(), 2);
    const auto chosen = receiver.Finish(sender.message());
    return std::pair{BytesOf(both[0].one), BytesOf(chosen[0])};
  };
  const auto same = keys("a", "a"), different = keys("a", "b");
  EXPECT_EQ(same.first, same.second);
  EXPECT_NE(different.first, different.second);
  EXPECT_EQ(same, keys("a", "a"));
  EXPECT_NE(same.first, keys("b", "b").first);
}

// Neither element of a pair tells the choice by being special: no repeated element over many
// transfers, and all valid. (Their distribution is uniform by construction.)
TEST(BaseOtTest, MessagesAreValidAndNeverRepeated) {
  crypto::SystemRandom random;
  const BaseOtReceiver receiver(AsBytes("s"), "peer", std::vector<bool>(32, true), random);
  std::set<Bytes> seen;
  for (size_t at = 0; at < receiver.message().size(); at += kPoint) {
    const ByteView point = ByteView(receiver.message()).subspan(at, kPoint);
    EXPECT_TRUE(crypto::RistrettoPoint::Decode(point));
    seen.emplace(point.begin(), point.end());
  }
  EXPECT_EQ(seen.size(), 64u);
}

TEST(BaseOtErrorsTest, BytesThatAreNoElement) {
  crypto::SystemRandom random;
  const BaseOtReceiver receiver(AsBytes("s"), "mallory", {true, false}, random);
  const BaseOtSender sender(AsBytes("s"), "mallory", random);
  const Bytes identity(kPoint, 0), not_canonical(kPoint, 0xff);
  for (const Bytes& bad :
       {identity, not_canonical, Bytes(kPoint - 1), Bytes{}, Bytes(kPoint + 1)}) {
    ExpectPeerFault([&] { receiver.Finish(bad); });
  }
  for (const Bytes& bad : {identity, not_canonical}) {
    for (size_t place = 0; place < 4; ++place) {
      Bytes message = receiver.message();
      std::copy(bad.begin(), bad.end(), message.begin() + static_cast<ptrdiff_t>(place * kPoint));
      ExpectPeerFault([&] { sender.Finish(message, 2); });
    }
  }
  Bytes shorter = receiver.message();
  shorter.pop_back();
  ExpectPeerFault([&] { sender.Finish(shorter, 2); });
  ExpectPeerFault([&] { sender.Finish(receiver.message(), 3); });
  ExpectPeerFault([&] { sender.Finish({}, 2); });
}

// Whatever bytes come, there are keys or a kPeerFault.
TEST(BaseOtErrorsTest, RandomBytes) {
  crypto::SystemRandom random;
  const BaseOtSender sender(AsBytes("s"), "mallory", random);
  size_t refused = 0;
  for (int i = 0; i < 300; ++i) {
    Bytes message(kBaseReceiverBytes);
    random.Fill(message);
    try {
      EXPECT_EQ(sender.Finish(message, 1).size(), 1u);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kPeerFault);
      ++refused;
    }
  }
  // A random string is an element with probability about 1/16, a pair with 1/256: that all 300
  // pass has no probability worth stating.
  EXPECT_GT(refused, 200u);
}

}  // namespace
}  // namespace partita::mpc::ot::base_ot_test
