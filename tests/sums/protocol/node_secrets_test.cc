// What a node derives from its key: the same for one set of one round, and for nothing else.
#include "sums/protocol/node_secrets.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "tests/sums/protocol/world.h"

namespace partita::sums::node_secrets_test {
namespace {

AcceptedSet SetOf(uint32_t clients) {
  AcceptedSet set;
  for (uint32_t client = 0; client < clients; ++client) set.push_back({IdOf(client), {}});
  std::ranges::sort(set);
  return set;
}

NodeRound SomeRound(NoiseLaw law = NoiseLaw::kGaussian) {
  NodeRound round;
  round.contract = SmallContract();
  round.contract.noise_source = NoiseSource::kNodes;
  round.contract.noise_law = law;
  round.contract.laplace_scale = 1000;
  round.epoch = kEpoch;
  round.node = 1;
  round.box.secret_key.Expose().fill(3);
  return round;
}

// Each differs from `round` in one thing that must matter.
std::vector<NodeRound> Others(const NodeRound& round) {
  std::vector<NodeRound> others;
  const auto add = [&](const std::function<void(NodeRound&)>& change) {
    others.push_back(round);
    change(others.back());
  };
  add([](NodeRound& r) { ++r.epoch; });
  add([](NodeRound& r) { ++r.node; });
  add([](NodeRound& r) { r.box.secret_key.Expose()[31] ^= 1; });
  add([](NodeRound& r) { r.contract.study[31] ^= 1; });
  add([](NodeRound& r) { ++r.contract.dimension; });
  add([](NodeRound& r) { r.contract.ring = RingBits::k128; });
  add([](NodeRound& r) { ++r.contract.nodes; });
  add([](NodeRound& r) { ++r.contract.clients; });
  add([](NodeRound& r) { ++r.contract.max_drop; });
  add([](NodeRound& r) { ++r.contract.max_collude; });
  add([](NodeRound& r) { r.contract.clip.bound *= 2; });
  add([](NodeRound& r) { --r.contract.clip.fraction_bits; });
  add([](NodeRound& r) { r.contract.variance = privacy::VarianceOfStddev(0x1p21); });
  add([](NodeRound& r) { ++r.contract.laplace_scale; });
  add([](NodeRound& r) { r.contract.sensitivity = 1; });
  return others;
}

std::vector<Int128> NoiseOf(const NodeRound& round, const crypto::Digest& set_hash) {
  MaskedSum sum = MaskedSum::Of(round.contract);
  AddOwnNoise(round, set_hash, sum);
  return sum.Signed();
}

TEST(NodeSecretsTest, SealedSetsAreOfOneRoundOfOneNode) {
  const NodeRound round = SomeRound();
  const AcceptedSet set = SetOf(5);
  const Bytes sealed = SealSet(round, set);
  EXPECT_EQ(OpenSealedSet(round, sealed), set);
  for (const NodeRound& other : Others(round)) {
    ExpectError(ErrorCode::kBadInput, [&] { OpenSealedSet(other, sealed); });
  }
  for (size_t i = 0; i < sealed.size(); ++i) {
    Bytes changed = sealed;
    changed[i] ^= 1;
    ExpectError(ErrorCode::kBadInput, [&] { OpenSealedSet(round, changed); });
  }
  // A client more or less, under the old seal; a bare set; nothing.
  for (const size_t size : {4, 6}) {
    Bytes other = EncodeSet(SetOf(static_cast<uint32_t>(size)));
    other.insert(other.end(), sealed.end() - 32, sealed.end());
    ExpectError(ErrorCode::kBadInput, [&] { OpenSealedSet(round, other); });
  }
  ExpectError(ErrorCode::kBadInput, [&] { OpenSealedSet(round, EncodeSet(set)); });
  ExpectError(ErrorCode::kBadInput, [&] { OpenSealedSet(round, {}); });
}

TEST(NodeSecretsTest, NoiseIsThatOfTheRoundAndTheSet) {
  for (const NoiseLaw law : {NoiseLaw::kGaussian, NoiseLaw::kLaplace}) {
    const NodeRound round = SomeRound(law);
    const crypto::Digest set = SetHash(round.contract.study, round.epoch, SetOf(5));
    const std::vector<Int128> noise = NoiseOf(round, set);
    EXPECT_EQ(NoiseOf(round, set), noise);
    // Unrelated noise is the same in three coordinates with probability below 1e-9 (Laplace of
    // scale 1000: the likeliest value has 1/2000).
    std::vector<std::vector<Int128>> others = {
        NoiseOf(round, SetHash(round.contract.study, round.epoch, SetOf(6)))};
    for (const NodeRound& other : Others(round)) others.push_back(NoiseOf(other, set));
    for (const std::vector<Int128>& other : others) {
      EXPECT_FALSE(std::equal(noise.begin(), noise.end(), other.begin()));
    }
  }
}

// Over many sets the derived noise has the variance of the contract. The mean of n squares of a
// Gaussian of variance v has standard deviation v sqrt(2/n): 6 of them, 2e-9.
TEST(NodeSecretsTest, NoiseHasTheContractsVariance) {
  constexpr uint32_t kSets = 100;
  NodeRound round = SomeRound();
  round.contract.dimension = 50;
  double squares = 0;
  for (uint32_t i = 0; i < kSets; ++i) {
    crypto::Digest set{};
    set[0] = static_cast<uint8_t>(i);
    for (const Int128 value : NoiseOf(round, set))
      squares += std::pow(static_cast<double>(value), 2);
  }
  const double draws = kSets * static_cast<double>(round.contract.dimension);
  EXPECT_NEAR(squares / draws / std::pow(0x1p20, 2), 1, 6 * std::sqrt(2 / draws));
}

TEST(NodeSecretsTest, CommitmentsAreOfTheSumTheSetAndTheKey) {
  const NodeRound round = SomeRound();
  const crypto::Digest set = SetHash(round.contract.study, round.epoch, SetOf(5));
  const Bytes words(24, 7);
  std::set<crypto::Digest> all = {CommitToSum(round, set, words)};
  EXPECT_TRUE(all.contains(CommitToSum(round, set, words)));
  Bytes changed = words;
  ++changed[23];
  crypto::Digest other_set = set;
  ++other_set[0];
  EXPECT_TRUE(all.insert(CommitToSum(round, set, changed)).second);
  EXPECT_TRUE(all.insert(CommitToSum(round, other_set, words)).second);
  for (const NodeRound& other : Others(round)) {
    EXPECT_TRUE(all.insert(CommitToSum(other, set, words)).second);
  }
}

}  // namespace
}  // namespace partita::sums::node_secrets_test
