// The keys of a run: made by all, the same at all, kept for a resume.
#include "methods/dpvi/run_keys.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "tests/data/expect_error.h"
#include "tests/mpc/transcript.h"
#include "tests/net/parties.h"

namespace partita::methods::dpvi::run_keys_test {
namespace {

crypto::Digest DigestOf(uint8_t seed) {
  crypto::Digest digest{};
  digest[0] = seed;
  return digest;
}

KeyShares SharesOf(size_t party, uint8_t change = 0) {
  crypto::Prg random = net::TestRandom(static_cast<uint8_t>(100 + party + change));
  return DrawKeyShares(random);
}

using KeyBytes = std::array<uint8_t, 32>;
struct Agreed {
  std::vector<KeyBytes> batch, public_key;  // by process
};

Agreed Agree(size_t computing, bool dealer, const std::vector<KeyShares>& shares,
             const crypto::Digest& binding, mpc::testing::Transcript* transcript = nullptr) {
  const size_t processes = computing + (dealer ? 1 : 0);
  Agreed agreed;
  agreed.batch.resize(processes);
  agreed.public_key.resize(processes);
  net::Transports transports = net::MemoryParties(processes);
  if (transcript != nullptr) {
    for (auto& transport : transports)
      transport =
          std::make_unique<mpc::testing::RecordingTransport>(std::move(transport), *transcript);
  }
  const auto errors = net::RunChannels(std::move(transports), [&](net::Channel& channel) {
    const size_t self = channel.self();
    const RunKeys keys =
        AgreeOnKeys(channel, computing, self < computing ? &shares[self] : nullptr, binding);
    agreed.batch[self] = keys.batch.Expose();
    agreed.public_key[self] = keys.public_key.Expose();
    const net::PhaseTraffic phase = channel.traffic().back();
    EXPECT_EQ(phase.phase, kKeysPhase);
    EXPECT_EQ(phase.rounds, 1u);
    for (size_t peer = 0; peer < processes; ++peer) {
      const bool sends = peer != self && self < computing;
      EXPECT_EQ(phase.links[peer].messages_sent, sends ? 1u : 0u);
      EXPECT_EQ(phase.links[peer].bytes_sent, !sends             ? 0u
                                              : peer < computing ? kKeySharesBytes
                                                                 : kBatchShareBytes);
    }
  });
  EXPECT_EQ(net::Describe(errors), "");
  return agreed;
}

std::vector<KeyShares> SharesOfAll(size_t computing) {
  std::vector<KeyShares> shares;
  for (size_t party = 0; party < computing; ++party) shares.push_back(SharesOf(party));
  return shares;
}

TEST(DpviKeysTest, EverybodyHasTheSameAndTheDealerNoParameters) {
  for (const size_t computing : {2, 3, 5}) {
    const Agreed agreed = Agree(computing, true, SharesOfAll(computing), DigestOf(1));
    for (size_t process = 1; process <= computing; ++process)
      EXPECT_EQ(agreed.batch[process], agreed.batch[0]);
    for (size_t party = 1; party < computing; ++party)
      EXPECT_EQ(agreed.public_key[party], agreed.public_key[0]);
    EXPECT_EQ(agreed.public_key[computing], KeyBytes{});
    EXPECT_NE(agreed.batch[0], agreed.public_key[0]);
  }
}

// Every share matters, and the study.
TEST(DpviKeysTest, EveryShareAndTheStudyDecide) {
  const std::vector<KeyShares> shares = SharesOfAll(3);
  const Agreed before = Agree(3, false, shares, DigestOf(1));
  for (size_t party = 0; party < 3; ++party) {
    std::vector<KeyShares> changed = shares;
    changed[party] = SharesOf(party, 50);
    const Agreed after = Agree(3, false, changed, DigestOf(1));
    EXPECT_NE(after.batch[0], before.batch[0]);
    EXPECT_NE(after.public_key[0], before.public_key[0]);
  }
  const Agreed other_study = Agree(3, false, shares, DigestOf(2));
  EXPECT_NE(other_study.batch[0], before.batch[0]);
  EXPECT_NE(other_study.public_key[0], before.public_key[0]);
  const Agreed again = Agree(3, false, shares, DigestOf(1));
  EXPECT_EQ(again.batch[2], before.batch[0]);
}

// What the dealer receives is the parties' batch shares, and nothing that depends on the others.
TEST(DpviKeysTest, NothingOfTheParametersGoesToTheDealer) {
  mpc::testing::Transcript one, two;
  std::vector<KeyShares> shares = SharesOfAll(2);
  Agree(2, true, shares, DigestOf(1), &one);
  for (size_t party : {0, 1}) shares[party].public_key = SharesOf(party, 50).public_key;
  Agree(2, true, shares, DigestOf(1), &two);
  for (size_t party : {0, 1}) {
    ASSERT_EQ(one.Messages(party, 2).size(), 1u);
    const auto& batch = shares[party].batch.Expose();
    EXPECT_EQ(one.Messages(party, 2)[0], Bytes(batch.begin(), batch.end()));
    EXPECT_EQ(one.Messages(party, 2), two.Messages(party, 2));
    EXPECT_NE(one.Messages(party, 1 - party), two.Messages(party, 1 - party));
    EXPECT_TRUE(one.Messages(2, party).empty());
  }
}

TEST(DpviKeysTest, MistakesAndLostPeers) {
  const KeyShares shares = SharesOf(0);
  const auto errors = net::RunChannels(net::MemoryParties(3), [&](net::Channel& channel) {
    if (channel.self() == 1) return;  // gone
    AgreeOnKeys(channel, 3, &shares, DigestOf(1));
  });
  for (size_t party : {0, 2}) {
    ASSERT_TRUE(errors[party]);
    EXPECT_EQ(errors[party]->code(), ErrorCode::kPeerLost);
  }
  net::RunChannels(net::MemoryParties(2), [&](net::Channel& channel) {
    ExpectError(ErrorCode::kUsage, "shares of the keys", "",
                [&] { AgreeOnKeys(channel, 2, nullptr, DigestOf(1)); });
  });
}

class KeptSharesTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              ("partita-dpvi-keys-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::filesystem::path File() const { return folder_ / "key-shares"; }

  std::filesystem::path folder_;
};

TEST_F(KeptSharesTest, AreTheSameAgain) {
  crypto::Prg random = net::TestRandom(7);
  const KeyShares first = KeptKeyShares(folder_, DigestOf(1), random);
  const KeyShares again = KeptKeyShares(folder_, DigestOf(1), random);
  EXPECT_EQ(first.batch.Expose(), again.batch.Expose());
  EXPECT_EQ(first.public_key.Expose(), again.public_key.Expose());
  EXPECT_NE(first.batch.Expose(), first.public_key.Expose());
  const auto mode = std::filesystem::status(File()).permissions();
  EXPECT_EQ(mode, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  ExpectError(ErrorCode::kRefused, "another study", "same tables",
              [&] { KeptKeyShares(folder_, DigestOf(2), random); });
  std::filesystem::remove(File());
  EXPECT_NE(KeptKeyShares(folder_, DigestOf(1), random).batch.Expose(), first.batch.Expose());
}

TEST_F(KeptSharesTest, DamagedFilesAreRefused) {
  crypto::Prg random = net::TestRandom(7);
  KeptKeyShares(folder_, DigestOf(1), random);
  std::ifstream in(File(), std::ios::binary);
  const std::string whole(std::istreambuf_iterator<char>(in), {});
  const auto refused = [&](const std::string& content) {
    std::ofstream(File(), std::ios::binary | std::ios::trunc) << content;
    ExpectError(ErrorCode::kBadInput, "is damaged", "as a new release",
                [&] { KeptKeyShares(folder_, DigestOf(1), random); });
  };
  for (size_t i = 0; i < whole.size(); i += 5) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 4);
    refused(damaged);
  }
  for (const size_t size : {size_t{0}, size_t{31}, whole.size() - 1})
    refused(whole.substr(0, size));
  refused(whole + "x");
}

// A checkpoint of other keys is not gone on from.
TEST(DpviKeysTest, CheckpointsAreBoundToTheKeys) {
  RunKeys keys{SharesOf(0).batch, SharesOf(0).public_key};
  const crypto::Digest before = CheckpointBinding(keys, DigestOf(1));
  EXPECT_EQ(CheckpointBinding(keys, DigestOf(1)), before);
  EXPECT_NE(CheckpointBinding(keys, DigestOf(2)), before);
  keys.batch = SharesOf(1).batch;
  EXPECT_NE(CheckpointBinding(keys, DigestOf(1)), before);
  keys = {SharesOf(0).batch, SharesOf(1).public_key};
  EXPECT_NE(CheckpointBinding(keys, DigestOf(1)), before);
}

}  // namespace
}  // namespace partita::methods::dpvi::run_keys_test
