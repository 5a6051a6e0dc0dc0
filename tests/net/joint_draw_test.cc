// Keys that several processes draw together: equal at all, chosen by none.
#include "net/joint_draw.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "crypto/hash.h"
#include "tests/mpc/transcript.h"
#include "tests/net/parties.h"

namespace partita::net::joint_draw_test {
namespace {

using ::testing::HasSubstr;
using KeyBytes = std::array<uint8_t, 32>;

crypto::Key KeyOf(uint8_t seed) {
  crypto::Prg random = TestRandom(seed);
  return crypto::RandomKey(random);
}

KeyBytes ExclusiveOr(KeyBytes a, const KeyBytes& b) {
  for (size_t i = 0; i < a.size(); ++i) a[i] ^= b[i];
  return a;
}

// Keys "one", of everybody, and "two", of the drawing processes.
std::array<JointKey, 2> KeysOf(const Channel& channel, size_t drawing) {
  return {{{"one", channel.num_parties()}, {"two", drawing}}};
}

TEST(JointDrawTest, EverybodyHasTheSumOfAllSharesAtTheDeclaredCost) {
  for (const size_t drawing : {size_t{2}, size_t{4}}) {
    const size_t processes = drawing + 1;
    std::vector<std::array<KeyBytes, 2>> got(processes);
    const auto errors = RunChannels(MemoryParties(processes), [&](Channel& channel) {
      const size_t self = channel.self();
      channel.BeginPhase("draw");
      const bool draws = self < drawing;
      std::vector<crypto::Key> shares;
      if (draws)
        shares = {KeyOf(static_cast<uint8_t>(self)), KeyOf(static_cast<uint8_t>(50 + self))};
      crypto::Prg random = TestRandom(static_cast<uint8_t>(99 + self));
      const auto keys = KeysOf(channel, drawing);
      const auto drawn =
          DrawTogether(channel, drawing, keys, shares, kTestRun, draws ? &random : nullptr);
      for (size_t k : {0, 1}) got[self][k] = drawn[k].Expose();
      const PhaseTraffic phase = channel.traffic().back();
      EXPECT_EQ(phase.rounds, 2u);
      for (size_t peer = 0; peer < processes; ++peer) {
        const uint64_t keys_told = peer == self || !draws ? 0 : peer < drawing ? 2 : 1;
        EXPECT_EQ(phase.links[peer].messages_sent, keys_told > 0 ? 2u : 0u);
        EXPECT_EQ(phase.links[peer].bytes_sent, keys_told * (kCommitmentBytes + kOpeningBytes));
      }
    });
    EXPECT_EQ(Describe(errors), "");
    KeyBytes one{}, two{};
    for (size_t p = 0; p < drawing; ++p) {
      one = ExclusiveOr(one, KeyOf(static_cast<uint8_t>(p)).Expose());
      two = ExclusiveOr(two, KeyOf(static_cast<uint8_t>(50 + p)).Expose());
    }
    for (size_t p = 0; p < processes; ++p) {
      EXPECT_EQ(got[p][0], one);
      EXPECT_EQ(got[p][1], p < drawing ? two : KeyBytes{});
    }
  }
}

// What the first round tells is no function of the share alone.
TEST(JointDrawTest, CommitmentsHideTheShares) {
  std::vector<Bytes> first;
  for (const int nonces : {1, 2}) {
    mpc::testing::Transcript transcript;
    Transports transports = MemoryParties(2);
    for (auto& transport : transports)
      transport =
          std::make_unique<mpc::testing::RecordingTransport>(std::move(transport), transcript);
    RunChannels(std::move(transports), [&](Channel& channel) {
      crypto::Prg random =
          TestRandom(static_cast<uint8_t>(nonces + 10 * static_cast<int>(channel.self())));
      const std::array<JointKey, 1> key = {{{"one", 2}}};
      const std::vector<crypto::Key> shares = {KeyOf(7)};
      DrawTogether(channel, 2, key, shares, kTestRun, &random);
    });
    first.push_back(transcript.Messages(0, 1)[0]);
  }
  EXPECT_EQ(first[0].size(), kCommitmentBytes);
  EXPECT_NE(first[0], first[1]);
}

// A process of three that speaks by its own rules, last in every round.
struct Adversary {
  // Commitments of the others to the one key, by process; what is sent to `to` then.
  std::function<Bytes(const std::vector<Bytes>& commitments, size_t to)> commit;
  std::function<Bytes(const std::vector<Bytes>& commitments, const std::vector<Bytes>& openings,
                      size_t to)>
      open;
};

std::vector<Bytes> ReceiveFromAll(Channel& channel, size_t size) {
  std::vector<Bytes> seen(channel.num_parties(), Bytes(size));
  std::vector<Receive> receives;
  for (PartyIndex peer = 0; peer < channel.num_parties(); ++peer) {
    if (peer == channel.self()) continue;
    Receive receive;
    receive.from = peer;
    receive.into = seen[peer];
    receives.push_back(receive);
  }
  channel.Exchange({}, receives);
  return seen;
}

void SendToAll(Channel& channel, const std::function<Bytes(size_t)>& message) {
  std::vector<Bytes> out;
  std::vector<Send> sends;
  for (PartyIndex peer = 0; peer < channel.num_parties(); ++peer) out.push_back(message(peer));
  for (PartyIndex peer = 0; peer < channel.num_parties(); ++peer) {
    if (peer != channel.self()) sends.push_back({peer, out[peer], 0, nullptr});
  }
  channel.Exchange(sends, {});
}

struct Attempt {
  std::vector<std::optional<Error>> errors;
  std::vector<std::optional<KeyBytes>> drawn = {std::nullopt, std::nullopt, std::nullopt};
};

Attempt Attack(const Adversary& adversary) {
  Attempt attempt;
  attempt.errors = RunChannels(MemoryParties(3), [&](Channel& channel) {
    const size_t self = channel.self();
    if (self == 2) {
      const std::vector<Bytes> commitments = ReceiveFromAll(channel, kCommitmentBytes);
      SendToAll(channel, [&](size_t to) { return adversary.commit(commitments, to); });
      const std::vector<Bytes> openings = ReceiveFromAll(channel, kOpeningBytes);
      SendToAll(channel, [&](size_t to) { return adversary.open(commitments, openings, to); });
      return;
    }
    crypto::SystemRandom random;
    const std::array<JointKey, 1> key = {{{"one", 3}}};
    const std::vector<crypto::Key> shares = {crypto::RandomKey(random)};
    attempt.drawn[self] = DrawTogether(channel, 3, key, shares, kTestRun, &random).front().Expose();
  });
  return attempt;
}

Bytes CommitmentOf(ByteView run, size_t party, ByteView share_and_nonce) {
  crypto::Sha256 hash;
  hash.Field("partita joint draw").Field(run).Field("one").U64(party).Field(share_and_nonce);
  const crypto::Digest digest = hash.Finish();
  return {digest.begin(), digest.end()};
}

crypto::Digest DigestOfAll(std::vector<Bytes> commitments, const Bytes& own) {
  commitments[2] = own;
  crypto::Sha256 hash;
  for (const Bytes& commitment : commitments) hash.Update(commitment);
  return hash.Finish();
}

Bytes OpeningOf(ByteView share, ByteView nonce, const crypto::Digest& seen) {
  ByteWriter out;
  out.Raw(share);
  out.Raw(nonce);
  out.Raw(seen);
  return out.Take();
}

const Bytes kNonce(32, 5), kShare(32, 6);

// The control: an adversary that speaks last, but as the protocol says, is not noticed.
TEST(JointDrawTest, WhoeverSpeaksLastButKeepsItsWordTakesPart) {
  ByteWriter own;
  own.Raw(kShare);
  own.Raw(kNonce);
  const Bytes committed = CommitmentOf(kTestRun, 2, own.bytes());
  const Attempt attempt =
      Attack({[&](const auto&, size_t) { return committed; },
              [&](const auto& commitments, const auto&, size_t) {
                return OpeningOf(kShare, kNonce, DigestOfAll(commitments, committed));
              }});
  EXPECT_EQ(Describe(attempt.errors), "");
  EXPECT_TRUE(attempt.drawn[0] && attempt.drawn[0] == attempt.drawn[1]);
}

// With shares that are told in one round the last to speak sends whatever makes the key its own.
TEST(JointDrawTest, WhoeverSpeaksLastCannotChooseTheKey) {
  ByteWriter own;
  own.Raw(kShare);
  own.Raw(kNonce);
  const Bytes committed = CommitmentOf(kTestRun, 2, own.bytes());
  const Attempt attempt =
      Attack({[&](const auto&, size_t) { return committed; },
              [&](const auto& commitments, const auto& openings, size_t) {
                Bytes wanted(32, 0xAA);
                for (size_t i = 0; i < 32; ++i) {
                  const int others = openings[0][i] ^ openings[1][i];
                  wanted[i] = static_cast<uint8_t>(wanted[i] ^ others);
                }
                return OpeningOf(wanted, kNonce, DigestOfAll(commitments, committed));
              }});
  for (size_t party : {0, 1}) {
    EXPECT_FALSE(attempt.drawn[party]);
    ASSERT_TRUE(attempt.errors[party]);
    EXPECT_EQ(attempt.errors[party]->code(), ErrorCode::kPeerFault);
    EXPECT_THAT(attempt.errors[party]->message(),
                HasSubstr("east opened another share of a common key than it committed to"));
  }
}

// Nor can it take another's commitment for its own and open it when that one has: both shares
// would cancel.
TEST(JointDrawTest, AnothersCommitmentOpensNothing) {
  const Attempt attempt = Attack({[&](const auto& commitments, size_t) { return commitments[0]; },
                                  [&](const auto& commitments, const auto& openings, size_t) {
                                    Bytes opening = openings[0];
                                    const crypto::Digest seen =
                                        DigestOfAll(commitments, commitments[0]);
                                    std::copy(seen.begin(), seen.end(), opening.begin() + 64);
                                    return opening;
                                  }});
  for (size_t party : {0, 1}) {
    ASSERT_TRUE(attempt.errors[party]);
    EXPECT_EQ(attempt.errors[party]->code(), ErrorCode::kPeerFault);
  }
}

// A commitment of another run, or to another share at each, gives no key either.
TEST(JointDrawTest, OtherRunsAndTwoFacesAreNoticed) {
  ByteWriter own;
  own.Raw(kShare);
  own.Raw(kNonce);
  const Bytes elsewhere = CommitmentOf(Bytes{9}, 2, own.bytes());
  const Attempt of_other_run =
      Attack({[&](const auto&, size_t) { return elsewhere; },
              [&](const auto& commitments, const auto&, size_t) {
                return OpeningOf(kShare, kNonce, DigestOfAll(commitments, elsewhere));
              }});
  const auto share_for = [](size_t to) { return Bytes(32, static_cast<uint8_t>(to)); };
  const auto commitment_for = [&](size_t to) {
    ByteWriter out;
    out.Raw(share_for(to));
    out.Raw(kNonce);
    return CommitmentOf(kTestRun, 2, out.bytes());
  };
  const Attempt two_faced = Attack(
      {[&](const auto&, size_t to) { return commitment_for(to); },
       [&](const auto& commitments, const auto&, size_t to) {
         return OpeningOf(share_for(to), kNonce, DigestOfAll(commitments, commitment_for(to)));
       }});
  for (const Attempt* attempt : {&of_other_run, &two_faced}) {
    for (size_t party : {0, 1}) {
      EXPECT_FALSE(attempt->drawn[party]);
      ASSERT_TRUE(attempt->errors[party]);
      EXPECT_EQ(attempt->errors[party]->code(), ErrorCode::kPeerFault);
    }
  }
  EXPECT_THAT(two_faced.errors[0]->message(), HasSubstr("saw other commitments"));
}

TEST(JointDrawTest, SharesBelongToThoseWhoDraw) {
  RunChannels(MemoryParties(1), [&](Channel& channel) {
    crypto::SystemRandom random;
    const std::array<JointKey, 1> key = {{{"one", 1}}};
    const std::vector<crypto::Key> share = {KeyOf(1)};
    for (const bool draws : {false, true}) {
      try {
        DrawTogether(channel, draws ? 1 : 0, key, draws ? std::span<const crypto::Key>() : share,
                     kTestRun, &random);
        ADD_FAILURE() << "nothing was thrown";
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::kUsage);
      }
    }
  });
}

}  // namespace
}  // namespace partita::net::joint_draw_test
