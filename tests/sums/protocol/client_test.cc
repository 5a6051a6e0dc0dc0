// A client's shares against its row and its noise in the clear, and what subsets of shares show.
#include "sums/protocol/client.h"

#include <cmath>
#include <limits>
#include <set>

#include "privacy/sampling/clipping.h"
#include "privacy/sampling/discrete_gaussian.h"
#include "sums/protocol/open_upload.h"
#include "tests/sums/protocol/world.h"

namespace partita::sums::client_test {
namespace {

TEST(ClientTest, SharesAddUpToTheClippedRowAndItsNoise) {
  for (const RingBits ring : {RingBits::k64, RingBits::k128}) {
    Contract contract = SmallContract(20, 5, 4);
    contract.ring = ring;
    Splitter splitter(contract);
    const privacy::DiscreteGaussian noise(ShareVariance(contract));
    Shares shares = splitter.MakeShares();
    for (uint64_t seed = 0; seed < 200; ++seed) {
      // Small, at the bound, far beyond it.
      const double size = std::ldexp(1.0, static_cast<int>(seed % 40) - 20);
      const std::vector<double> row = {size, -size, size / 3, 0, -2 * size};
      crypto::Prg random = SeededStream(seed);
      splitter.Split(row, random, shares);
      crypto::Prg again = SeededStream(seed);
      std::vector<Int128> expected(5);
      std::vector<Int128> drawn(5);
      privacy::ClipToGrid(row, contract.clip, expected);
      noise.Sample(again, drawn);
      for (size_t i = 0; i < drawn.size(); ++i) expected[i] += drawn[i];
      ASSERT_EQ(Open(contract, shares), expected);
    }
  }
}

TEST(ClientTest, NodesThatAddTheNoiseGetTheBareRow) {
  Contract contract = SmallContract();
  contract.noise_source = NoiseSource::kNodes;
  Splitter splitter(contract);
  Shares shares = splitter.MakeShares();
  crypto::Prg random = SeededStream(3);
  splitter.Split(std::vector<double>{1.5, -2, 0}, random, shares);
  const Int128 unit = Int128{1} << 20;
  EXPECT_EQ(Open(contract, shares), (std::vector<Int128>{3 * unit / 2, -2 * unit, 0}));
}

// Every seed of every upload is another: a seed used twice would let the nodes that know it remove
// more than one mask.
TEST(ClientTest, NoSeedIsUsedTwice) {
  const Contract contract = SmallContract(20, 3, 5);
  Splitter splitter(contract);
  Shares shares = splitter.MakeShares();
  crypto::SystemRandom random;
  std::set<std::array<uint8_t, 32>> seen;
  const std::vector<double> row(3);
  for (int i = 0; i < 500; ++i) {
    splitter.Split(row, random, shares);
    for (const crypto::Key& seed : shares.seeds) {
      EXPECT_TRUE(seen.insert(seed.Expose()).second);
    }
  }
  EXPECT_EQ(seen.size(), 500U * 4);
}

// Any M - 1 shares look uniform: without the stream of one seed the high byte of what is left of
// node 0's word is uniform whatever the row. Chi-square with 255 degrees of freedom over 3 subsets;
// the limit 400 is exceeded with probability below 1e-7 each (Wilson-Hilferty: z = 5.8).
TEST(ClientTest, SubsetsOfSharesAreUniform) {
  const Contract contract = SmallContract(20, 1, 4);
  Splitter splitter(contract);
  Shares shares = splitter.MakeShares();
  crypto::Prg random = SeededStream(4);
  constexpr int kDraws = 20000;
  std::array<std::array<int, 256>, 3> counts{};
  for (int i = 0; i < kDraws; ++i) {
    splitter.Split(std::vector<double>{1000.0}, random, shares);
    for (size_t missing = 0; missing < 3; ++missing) {
      std::vector<crypto::Key> known = shares.seeds;
      known.erase(known.begin() + static_cast<ptrdiff_t>(missing));
      MaskedSum sum = MaskedSum::Of(contract);
      sum.AddWords(shares.masked.words());
      sum.AddStreams(known);
      ++counts[missing][sum.words()[7]];
    }
  }
  for (const auto& histogram : counts) {
    double chi_square = 0;
    for (const int count : histogram) {
      chi_square += std::pow(count - kDraws / 256.0, 2) / (kDraws / 256.0);
    }
    EXPECT_LT(chi_square, 400);
    EXPECT_GT(chi_square, 140);
  }
}

TEST(ClientTest, RefusesWhatIsNotANumber) {
  Splitter splitter(SmallContract());
  Shares shares = splitter.MakeShares();
  crypto::Prg random = SeededStream(5);
  for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    ExpectError(ErrorCode::kBadData, [&] {
      splitter.Split(std::vector<double>{0, bad, 0}, random, shares);
    });
  }
  ExpectError(ErrorCode::kInternal, [&] {
    splitter.Split(std::vector<double>{0, 0}, random, shares);
  });
}

TEST(ClientTest, RegisteredKeysAgreeAndDiffer) {
  crypto::Prg random = SeededStream(6);
  const crypto::BoxKeyPair client = crypto::MakeBoxKeyPair(random);
  const crypto::BoxKeyPair node = crypto::MakeBoxKeyPair(random);
  StudyHash study{};
  const crypto::Key own = RegisteredKey(client, node.public_key, study, IdOf(1), 2);
  EXPECT_EQ(own.Expose(), RegisteredKey(node, client.public_key, study, IdOf(1), 2).Expose());
  std::set<std::array<uint8_t, 32>> keys = {own.Expose()};
  keys.insert(RegisteredKey(client, node.public_key, study, IdOf(2), 2).Expose());
  keys.insert(RegisteredKey(client, node.public_key, study, IdOf(1), 1).Expose());
  study[0] = 1;
  keys.insert(RegisteredKey(client, node.public_key, study, IdOf(1), 2).Expose());
  for (uint64_t epoch = 0; epoch < 10; ++epoch) keys.insert(EpochKey(own, epoch).Expose());
  EXPECT_EQ(keys.size(), 14U);
  ExpectError(ErrorCode::kBadInput, [&] { RegisteredKey(client, {}, study, IdOf(1), 2); });
}

// The nodes but node 0 together know node 0's words up to the noisy row; what they see of node 0's
// commitment must not let them try its values.
TEST(ClientTest, CommitmentsHideTheContent) {
  World world(SmallContract(20, 1, 2));
  Splitter splitter(world.contract);
  Shares shares = splitter.MakeShares();
  splitter.Split(std::vector<double>{1.0}, world.random, shares);
  const Envelope envelope = [&] {
    static std::vector<Bytes> uploads;
    uploads = world.Encrypt(1, shares);
    return ParseEnvelope(uploads[1]);
  }();
  const Bytes opened = crypto::OpenSealed(envelope.body, world.boxes[1]).value();
  const SealedContent inside = ParseSealedContent(opened, world.contract, 1);
  const ByteView words = shares.masked.words();
  EXPECT_NE(inside.commitments[0], crypto::Sha256Of(words));
  EXPECT_NE(inside.commitments[0], Commit(inside.opening, words));
  EXPECT_EQ(inside.commitments[1], Commit(inside.opening, inside.content));
}

TEST(ContractTest, RefusesWhatCannotProtectOrFit) {
  const auto refuses = [](const std::function<void(Contract&)>& change) {
    Contract contract = SmallContract();
    change(contract);
    ExpectError(ErrorCode::kUsage, [&] { CheckContract(contract); });
  };
  EXPECT_NO_THROW(CheckContract(SmallContract()));
  refuses([](Contract& c) { c.nodes = 1; });
  refuses([](Contract& c) { c.nodes = 65; });
  refuses([](Contract& c) { c.dimension = 0; });
  refuses([](Contract& c) { c.dimension = kMaxDimension + 1; });
  refuses([](Contract& c) { c.max_drop = 17; });           // 17 + 2 + 1 = N
  refuses([](Contract& c) { c.max_drop = 0xffffffffU; });  // no wrap around
  refuses([](Contract& c) { c.clip.norm = privacy::Norm::kLinf; });
  refuses([](Contract& c) { c.clip.fraction_bits = 50; });  // the sum would wrap
  refuses([](Contract& c) { c.clip.bound = 0; });
  refuses([](Contract& c) { c.variance = privacy::VarianceOfStddev(8); });  // shares too small
  refuses([](Contract& c) { c.variance = privacy::VarianceOfStddev(0x1p62); });
  refuses([](Contract& c) { c.ring = RingBits{32}; });
  Contract wide = SmallContract();
  wide.clip.fraction_bits = 50;
  wide.ring = RingBits::k128;
  EXPECT_NO_THROW(CheckContract(wide));
}

// s / (N - T_drop - T_collude - 1), exactly, with the two numbers apart.
TEST(ContractTest, SizesSharesForThoseWhoRemain) {
  Contract contract = SmallContract(1000);
  contract.max_drop = 200;
  contract.max_collude = 49;
  EXPECT_EQ(privacy::Multiply(ShareVariance(contract), 750), contract.variance);
  EXPECT_EQ(MinAccepted(contract), 800U);
  contract.noise_source = NoiseSource::kNodes;
  EXPECT_EQ(ShareVariance(contract), contract.variance);
}

}  // namespace
}  // namespace partita::sums::client_test
