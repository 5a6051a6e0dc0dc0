// The keys of a run: made by all, the same at all, kept for a resume.
#include "methods/mixture/run_keys.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <map>

#include "methods/mixture/session.h"
#include "net/joint_draw.h"
#include "tests/data/expect_error.h"
#include "tests/mpc/transcript.h"
#include "tests/net/parties.h"

namespace partita::methods::mixture::run_keys_test {
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
    crypto::Prg nonces = net::TestRandom(static_cast<uint8_t>(200 + self));
    channel.BeginPhase(kKeysPhase);
    const RunKeys keys = AgreeOnKeys(channel, computing, self < computing ? &shares[self] : nullptr,
                                     binding, net::kTestRun, &nonces);
    agreed.batch[self] = keys.batch.Expose();
    agreed.public_key[self] = keys.public_key.Expose();
    const net::PhaseTraffic phase = channel.traffic().back();
    EXPECT_EQ(phase.phase, kKeysPhase);
    EXPECT_EQ(phase.rounds, 2u);
    for (size_t peer = 0; peer < processes; ++peer) {
      const bool sends = peer != self && self < computing;
      const uint64_t keys_told = !sends ? 0 : peer < computing ? 2 : 1;
      EXPECT_EQ(phase.links[peer].messages_sent, sends ? 2u : 0u);
      EXPECT_EQ(phase.links[peer].bytes_sent,
                keys_told * (net::kCommitmentBytes + net::kOpeningBytes));
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
    ASSERT_EQ(one.Messages(party, 2).size(), 2u);
    const auto& batch = shares[party].batch.Expose();
    const Bytes opening = one.Messages(party, 2)[1];
    EXPECT_EQ(Bytes(opening.begin(), opening.begin() + 32), Bytes(batch.begin(), batch.end()));
    EXPECT_EQ(one.Messages(party, 2), two.Messages(party, 2));
    EXPECT_NE(one.Messages(party, 1 - party), two.Messages(party, 1 - party));
    EXPECT_TRUE(one.Messages(2, party).empty());
  }
}

TEST(DpviKeysTest, MistakesAndLostPeers) {
  const KeyShares shares = SharesOf(0);
  const auto errors = net::RunChannels(net::MemoryParties(3), [&](net::Channel& channel) {
    if (channel.self() == 1) return;  // gone
    crypto::SystemRandom random;
    AgreeOnKeys(channel, 3, &shares, DigestOf(1), net::kTestRun, &random);
  });
  for (size_t party : {0, 2}) {
    ASSERT_TRUE(errors[party]);
    EXPECT_EQ(errors[party]->code(), ErrorCode::kPeerLost);
  }
  net::RunChannels(net::MemoryParties(2), [&](net::Channel& channel) {
    ExpectError(ErrorCode::kUsage, "brings a share of each", "",
                [&] { AgreeOnKeys(channel, 2, nullptr, DigestOf(1), net::kTestRun, nullptr); });
  });
}

// Two parties with a number each.
RunPlan SmallPlan() {
  RunRequest request;
  request.layout = stats::mixture::MakeLayout({{"a", stats::mixture::Family::kGaussian, 0, 1, 0},
                                               {"b", stats::mixture::Family::kGaussian, 0, 1, 1}});
  request.party_index = {0, 1};
  request.num_rows = 20;
  request.components = 2;
  request.variational.steps = 5;
  request.batch_size = 4;
  request.noise_parties = {0, 1};
  return PlanRun(std::move(request));
}

class KeptSharesTest : public ::testing::Test {
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
  EXPECT_FALSE(LoadShares(folder_, DigestOf(1)));
  const KeyShares first = DrawKeyShares(random);
  KeepShares(folder_, DigestOf(1), {first, DigestOf(3), DigestOf(4)});
  const KeptShares again = LoadShares(folder_, DigestOf(1)).value();
  EXPECT_EQ(first.batch.Expose(), again.shares.batch.Expose());
  EXPECT_EQ(first.public_key.Expose(), again.shares.public_key.Expose());
  EXPECT_EQ(again.keys, DigestOf(3));
  EXPECT_EQ(again.run, DigestOf(4));
  EXPECT_NE(first.batch.Expose(), first.public_key.Expose());
  const auto mode = std::filesystem::status(File()).permissions();
  EXPECT_EQ(mode, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  ExpectError(ErrorCode::kRefused, "another study", "same tables",
              [&] { LoadShares(folder_, DigestOf(2)); });
}

TEST_F(KeptSharesTest, DamagedFilesAreRefused) {
  crypto::Prg random = net::TestRandom(7);
  KeepShares(folder_, DigestOf(1), {DrawKeyShares(random), DigestOf(3), DigestOf(4)});
  std::ifstream in(File(), std::ios::binary);
  const std::string whole(std::istreambuf_iterator<char>(in), {});
  const auto refused = [&](const std::string& content) {
    std::ofstream(File(), std::ios::binary | std::ios::trunc) << content;
    ExpectError(ErrorCode::kBadInput, "is damaged", "as a new release",
                [&] { LoadShares(folder_, DigestOf(1)); });
  };
  for (size_t i = 0; i < whole.size(); i += 5) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 4);
    refused(damaged);
  }
  for (const size_t size : {size_t{0}, size_t{31}, whole.size() - 1})
    refused(whole.substr(0, size));
  refused(whole + "x");
  std::filesystem::remove(File());
  std::filesystem::create_directory(File());
  try {
    LoadShares(folder_, DigestOf(1));
    ADD_FAILURE() << "a folder was read";
  } catch (const Error& error) {
    EXPECT_EQ(error.message(), "cannot read the file of key shares " + File().string());
  }
}

// An honest party that restarts sends the shares that it sent before, which the others know by
// then: one of them may fit its own to them. What comes of it is refused.
TEST_F(KeptSharesTest, KeysThatComeOutOtherThanBeforeAreRefused) {
  const auto begin = [&](const std::map<size_t, std::filesystem::path>& folders, uint8_t seed) {
    std::vector<KeyBytes> batch(2);
    const auto errors = net::RunChannels(net::MemoryParties(2), [&](net::Channel& channel) {
      crypto::Prg random = net::TestRandom(static_cast<uint8_t>(seed + channel.self()));
      SessionInput input;
      input.num_computing = 2;
      input.study = DigestOf(9);
      input.own = DigestOf(static_cast<uint8_t>(1 + channel.self()));
      input.random = &random;
      input.folder = folders.at(channel.self());
      input.run = "run";
      batch[channel.self()] = BeginSession(channel, SmallPlan(), input).keys.batch.Expose();
    });
    return std::pair(errors, batch);
  };
  const std::map<size_t, std::filesystem::path> both = {{0, folder_ / "0"}, {1, folder_ / "1"}};
  const auto [first_errors, first] = begin(both, 20);
  EXPECT_EQ(net::Describe(first_errors), "");
  const auto [again_errors, again] = begin(both, 30);
  EXPECT_EQ(net::Describe(again_errors), "");
  EXPECT_EQ(again, first);

  // Party 1 says that it kept its share, and sends another.
  crypto::Prg random = net::TestRandom(40);
  const KeptShares kept = LoadShares(folder_ / "1", DigestOf(2)).value();
  KeepShares(folder_ / "1", DigestOf(2), {DrawKeyShares(random), kept.keys, kept.run});
  const auto errors = begin(both, 50).first;
  ASSERT_TRUE(errors[0]);
  EXPECT_EQ(errors[0]->code(), ErrorCode::kPeerFault);
  EXPECT_THAT(errors[0]->message(), ::testing::HasSubstr("came out other than in its earlier"));

  // Says that it kept none: both draw anew, for without a checkpoint nothing had opened.
  std::filesystem::remove_all(folder_ / "1");
  std::filesystem::copy(folder_ / "0", folder_ / "of an earlier attempt");
  const auto [new_errors, fresh] = begin(both, 60);
  EXPECT_EQ(net::Describe(new_errors), "");
  EXPECT_EQ(fresh[0], fresh[1]);
  EXPECT_NE(fresh[0], first[0]);
  // Each kept shares, of two attempts, in both of which the other was stopped before it did.
  std::filesystem::remove_all(folder_ / "0");
  std::filesystem::copy(folder_ / "of an earlier attempt", folder_ / "0");
  const auto [apart_errors, anew] = begin(both, 65);
  EXPECT_EQ(net::Describe(apart_errors), "");
  EXPECT_EQ(anew[0], anew[1]);
  EXPECT_NE(anew[0], first[0]);
  EXPECT_NE(anew[0], fresh[0]);
  EXPECT_EQ(LoadShares(folder_ / "0", DigestOf(1))->run,
            LoadShares(folder_ / "1", DigestOf(2))->run);
  // With one, the others would go on under keys that it does not know: refused, and nothing is
  // lost.
  const KeptShares before = LoadShares(folder_ / "0", DigestOf(1)).value();
  CheckpointFiles(folder_ / "0", before.keys).Store({4, {}});
  std::filesystem::remove_all(folder_ / "1");
  const auto lost = begin(both, 70).first;
  ASSERT_TRUE(lost[0]);
  EXPECT_EQ(lost[0]->code(), ErrorCode::kRefused);
  EXPECT_EQ(LoadShares(folder_ / "0", DigestOf(1))->keys, before.keys);
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
}  // namespace partita::methods::mixture::run_keys_test
