// Sums in a public order, permutations as networks of switches, shuffles and random variates.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <numeric>
#include <set>

#include "base/error.h"
#include "crypto/prg.h"
#include "mpc/functions/order.h"
#include "mpc/functions/shuffle.h"
#include "mpc/functions/switching_network.h"
#include "mpc/functions/variates.h"
#include "tests/mpc/evaluate.h"

namespace partita::mpc::testing::random_functions_test {
namespace {

using List = std::vector<Shared>;

TEST(OrderTest, SumsAlongAPublicOrder) {
  std::mt19937_64 random(1);
  for (const Setting& setting : kSettings) {
    for (size_t rows : {1, 2, 3, 8, 37}) {
      const IntMatrix x = RandomMatrix(random, {rows, 3}, 1000);
      std::vector<size_t> order(rows);
      std::iota(order.begin(), order.end(), size_t{0});
      std::shuffle(order.begin(), order.end(), random);
      const auto opened = Evaluate(setting, {{x, 1000, 0}}, [&](Engine& engine, const List& v) {
        return List{engine.SelectRows(v[0], order), CumulativeSums(engine, v[0])};
      });
      EXPECT_EQ(opened[1].bound, 1000.0 * static_cast<double>(rows));
      for (size_t col = 0; col < 3; ++col) {
        auto at = [&](size_t row) { return x.values[row * 3 + col]; };
        Int128 sum = 0;
        for (size_t row = 0; row < rows; ++row) {
          EXPECT_EQ(opened[0].integers[row * 3 + col], at(order[row]));
          EXPECT_EQ(opened[1].integers[row * 3 + col], sum += at(row));
        }
      }
    }
  }
}

TEST(OrderTest, RefusesRowsThatThereAreNot) {
  PlanEngine plan("dealer", 2);
  const Shared value = Planned({3, 2}, 40, 1);
  EXPECT_THROW(plan.SelectRows(value, std::vector<size_t>{0, 3}), Error);
  EXPECT_THROW(CumulativeSums(plan, Planned({8, 1}, 40, 0x1p84)), Error);
  EXPECT_EQ(plan.SelectRows(value, {}).shape, (Shape{0, 2}));
}

std::vector<size_t> Apply(const std::vector<SwitchLayer>& layers, size_t size) {
  std::vector<size_t> places(size);
  std::iota(places.begin(), places.end(), size_t{0});
  for (const SwitchLayer& layer : layers) {
    for (size_t k = 0; k < layer.places.size(); ++k) {
      const auto [a, b] = layer.places[k];
      if (layer.exchange[k] == 1) std::swap(places[a], places[b]);
    }
  }
  return places;
}

void ExpectRouted(const std::vector<size_t>& permutation,
                  const std::vector<SwitchLayer>& identity) {
  const auto layers = RoutePermutation(permutation);
  EXPECT_EQ(Apply(layers, permutation.size()), permutation);
  ASSERT_EQ(layers.size(), identity.size());
  for (size_t i = 0; i < layers.size(); ++i) EXPECT_EQ(layers[i].places, identity[i].places);
}

TEST(SwitchingNetworkTest, EveryPermutationOfUpToSevenPlaces) {
  for (size_t size = 0; size <= 7; ++size) {
    std::vector<size_t> permutation(size);
    std::iota(permutation.begin(), permutation.end(), size_t{0});
    const auto identity = RoutePermutation(permutation);
    do {
      ExpectRouted(permutation, identity);
    } while (std::next_permutation(permutation.begin(), permutation.end()));
  }
}

TEST(SwitchingNetworkTest, LargerNetworks) {
  crypto::SystemRandom random;
  for (size_t size : {8, 31, 32, 33, 100, 1000, 1023, 1025}) {
    std::vector<size_t> identity(size);
    std::iota(identity.begin(), identity.end(), size_t{0});
    const auto layers = RoutePermutation(identity);
    EXPECT_EQ(layers.size(), 2 * CeilLog2(size) - 1);
    for (const SwitchLayer& layer : layers) {
      std::set<size_t> touched;
      for (const auto& [a, b] : layer.places) {
        EXPECT_TRUE(touched.insert(a).second);
        EXPECT_TRUE(touched.insert(b).second);
      }
    }
    for (int i = 0; i < 5; ++i) ExpectRouted(RandomPermutation(size, random), layers);
    std::reverse(identity.begin(), identity.end());
    ExpectRouted(identity, layers);
  }
}

std::vector<size_t> Apply(const std::vector<BlockLayer>& layers, size_t size) {
  std::vector<size_t> places(size);
  std::iota(places.begin(), places.end(), size_t{0});
  for (const BlockLayer& layer : layers) {
    const std::vector<size_t> before = places;
    for (size_t b = 0; b < layer.places.size(); ++b) {
      for (size_t i = 0; i < layer.places[b].size(); ++i)
        places[layer.places[b][i]] = before[layer.places[b][layer.from[b][i]]];
    }
  }
  return places;
}

TEST(SwitchingNetworkTest, BlocksOfPlaces) {
  crypto::SystemRandom random;
  for (size_t size : {0, 1, 2, 3, 5, 8, 9, 16, 17, 33, 100, 127, 128, 129, 1000, 1024, 1025}) {
    SCOPED_TRACE(size);
    std::vector<size_t> identity(size);
    std::iota(identity.begin(), identity.end(), size_t{0});
    const auto layers = RouteBlocks(identity);
    const size_t bits = size < 2 ? 0 : CeilLog2(size);
    const size_t ends = bits > 4 ? (bits - 2) / 3 : 0;
    ASSERT_EQ(layers.size(), size < 2 ? 0 : 2 * ends + 1);
    for (size_t l = 0; l < layers.size(); ++l) {
      std::set<size_t> touched;
      for (const std::vector<size_t>& places : layers[l].places) {
        EXPECT_GE(places.size(), 2u);
        EXPECT_LE(places.size(), l == ends ? 16u : 8u);
        for (const size_t place : places) EXPECT_TRUE(touched.insert(place).second);
      }
    }
    for (int i = 0; i < 5; ++i) {
      const auto permutation = RandomPermutation(size, random);
      const auto own = RouteBlocks(permutation);
      EXPECT_EQ(Apply(own, size), permutation);
      for (size_t l = 0; l < layers.size(); ++l) EXPECT_EQ(own[l].places, layers[l].places);
    }
  }
}

TEST(SwitchingNetworkTest, ManyPlacesKeepTheirSwitches) {
  crypto::SystemRandom random;
  const auto permutation = RandomPermutation(kMostRowsInBlocks + 1, random);
  const auto layers = RouteBlocks(permutation);
  EXPECT_EQ(layers.size(), 29u);
  for (const BlockLayer& layer : layers) {
    for (const std::vector<size_t>& places : layer.places) EXPECT_EQ(places.size(), 2u);
  }
  EXPECT_EQ(Apply(layers, permutation.size()), permutation);
}

TEST(SwitchingNetworkTest, RefusesWhatIsNoPermutation) {
  EXPECT_THROW(RoutePermutation(std::vector<size_t>{0, 0}), Error);
  EXPECT_THROW(RoutePermutation(std::vector<size_t>{1, 2}), Error);
}

// 24 counts of mean 1000 and standard deviation 31; beyond 5.7 of these with probability
// 24 * 1.2e-8 = 3e-7.
TEST(SwitchingNetworkTest, PermutationsAreUniform) {
  crypto::SystemRandom random;
  std::map<std::vector<size_t>, int> counts;
  for (int i = 0; i < 24'000; ++i) ++counts[RandomPermutation(4, random)];
  EXPECT_EQ(counts.size(), 24u);
  for (const auto& [permutation, count] : counts) EXPECT_NEAR(count, 1000, 5.7 * 31);
}

// Gives the same byte for ever.
class ConstantRandom : public crypto::RandomSource {
 public:
  explicit ConstantRandom(uint8_t byte) : byte_(byte) {}
  void Fill(std::span<uint8_t> out) override { std::fill(out.begin(), out.end(), byte_); }

 private:
  uint8_t byte_;
};

TEST(ShuffleTest, RowsStayTogetherAndNoneIsLost) {
  std::mt19937_64 random(7);
  for (const Setting& setting : kSettings) {
    for (size_t rows : {1, 2, 3, 8, 33, 70}) {
      IntMatrix x{{rows, 2}, {}};
      for (size_t i = 0; i < rows; ++i) {
        x.values.push_back(static_cast<Int128>(i));
        x.values.push_back(static_cast<Int128>(i * i + 5));
      }
      const double bound = 4800;
      const auto opened = Evaluate(setting, {{x, bound, 0}}, [](Engine& engine, const List& v) {
        crypto::SystemRandom own;
        return List{ShuffleRows(engine, v[0], own)};
      });
      EXPECT_EQ(opened[0].bound, bound);
      std::set<Int128> seen;
      for (size_t i = 0; i < rows; ++i) {
        const Int128 key = opened[0].integers[2 * i];
        EXPECT_EQ(opened[0].integers[2 * i + 1], key * key + 5);
        EXPECT_TRUE(seen.insert(key).second);
      }
    }
  }
}

// Each party's permutation alone is uniform and comes to bear: the others' stay the same all the
// time. 6 counts of mean 80 and standard deviation 8.2; beyond 5.7 with probability 6 * 1.2e-8.
TEST(ShuffleTest, EveryPartyPermutes) {
  constexpr size_t kShuffles = 480;
  for (const Setting& setting : {kSettings[1], kSettings[2]}) {
    for (size_t mixing = 0; mixing < setting.num_parties; ++mixing) {
      std::map<std::vector<Int128>, int> counts;
      const TestInput x = {{{3, 1}, {0, 1, 2}}, 2, 0};
      const auto opened = Evaluate(setting, {x}, [&](Engine& engine, const List& v) {
        crypto::SystemRandom random;
        ConstantRandom constant(0xFF);
        crypto::RandomSource* own = &constant;
        if (engine.self() == mixing) own = &random;
        List all;
        for (size_t i = 0; i < kShuffles; ++i) all.push_back(ShuffleRows(engine, v[0], *own));
        return List{engine.Concatenate(all, false)};
      });
      for (size_t i = 0; i < kShuffles; ++i) {
        std::vector<Int128> order;
        for (size_t row = 0; row < 3; ++row) {
          order.push_back(opened[0].integers[row * kShuffles + i]);
        }
        ++counts[order];
      }
      EXPECT_EQ(counts.size(), 6u);
      for (const auto& [order, count] : counts) EXPECT_NEAR(count, 80, 5.7 * 8.2);
    }
  }
}

TEST(ShuffleTest, RoundsAreAsStated) {
  for (const Setting& setting : kSettings) {
    const size_t rounds = PlannedRounds(setting, [](Engine& engine) {
      crypto::SystemRandom own;
      ShuffleRows(engine, Planned({100, 3}, 40, 1), own);
    });
    const size_t stated = setting.num_parties * 3 + (setting.d() == 1 ? 0 : 1);
    if (setting.kind == "ot") {
      EXPECT_LE(rounds, 3 * stated + 2);
    } else {
      EXPECT_EQ(rounds, stated);
    }
  }
}

// With a dealer and two parties: of a block of 16 rows each party in turn sends its 225 masked
// settings, gets 15 masked differences and has as many dealt, to itself or to the other one.
TEST(ShuffleTest, BytesOfAPartysOwnSettings) {
  PlanEngine plan("dealer", 2);
  plan.BeginPhase("shuffle");
  crypto::SystemRandom own;
  ShuffleRows(plan, Planned({16, 1}, 40, 1), own);
  EXPECT_EQ(plan.phases()[0].Total().bytes, 2u * 16 * (225 + 15 + 15));
}

// With a dealer the bits are the parties' own, exclusive or: so K is known here.
std::vector<uint64_t> KnownNumbers(Shape shape, size_t parties, const crypto::Key* keys) {
  BitMatrix bits = MakeBits(shape, 40);
  for (size_t party = 0; party < parties; ++party) {
    crypto::Prg prg(keys[party]);
    std::vector<uint64_t> words(bits.words.size());
    prg.Fill({reinterpret_cast<uint8_t*>(words.data()), words.size() * 8});
    for (size_t i = 0; i < words.size(); ++i) bits.words[i] ^= words[i];
  }
  std::vector<uint64_t> numbers(shape.size());
  for (size_t i = 0; i < numbers.size(); ++i) {
    for (size_t j = 0; j < 40; ++j) numbers[i] |= uint64_t{GetBit(bits, j, i)} << j;
  }
  return numbers;
}

TEST(VariatesTest, AreThePartiesOwnBitsAndTheirLogarithms) {
  for (size_t parties : {2, 3}) {
    const Setting setting = {"dealer", parties};
    crypto::SystemRandom system;
    const crypto::Key keys[] = {crypto::RandomKey(system), crypto::RandomKey(system),
                                crypto::RandomKey(system)};
    const Shape shape = {50, 7};
    const auto opened = Evaluate(setting, {}, [&](Engine& engine, const List&) {
      auto own = [&] { return crypto::Prg(keys[engine.self().value_or(0)]); };
      crypto::Prg first = own(), second = own(), third = own();
      return List{UniformVariates(engine, shape, first),
                  ExponentialVariates(engine, shape, second, 40),
                  LogisticVariates(engine, shape, third, 40)};
    });
    const std::vector<uint64_t> numbers = KnownNumbers(shape, parties, keys);
    for (size_t i = 0; i < shape.size(); ++i) {
      ASSERT_EQ(opened[0].integers[i], static_cast<Int128>(2 * numbers[i] + 1));
      const long double u = std::ldexp(static_cast<long double>(2 * numbers[i] + 1), -41);
      EXPECT_NEAR(opened[1][i], static_cast<double>(-std::log(u)), 0x1p-40 + 0x1p-41 + 0x1p-46);
      EXPECT_NEAR(opened[2][i], static_cast<double>(std::log(u) - std::log1p(-u)),
                  0x1p-39 + 0x1p-40 + 0x1p-46);
    }
  }
}

TEST(VariatesTest, TheLargestAndTheSmallest) {
  for (uint8_t byte : {uint8_t{0x00}, uint8_t{0xFF}}) {
    const auto opened = Evaluate(kSettings[0], {}, [&](Engine& engine, const List&) {
      ConstantRandom own(engine.self() == PartyIndex{0} ? byte : uint8_t{0});
      return List{UniformVariates(engine, {1, 3}, own),
                  ExponentialVariates(engine, {1, 3}, own, 40),
                  LogisticVariates(engine, {1, 3}, own, 40)};
    });
    const double u = byte == 0 ? 0x1p-41 : 1 - 0x1p-41;
    EXPECT_EQ(opened[0][0], u);
    EXPECT_NEAR(opened[1][0], -std::log(u), 0x1p-39);
    EXPECT_NEAR(opened[2][0], std::log(u) - std::log1p(-u), 0x1p-38);
  }
}

// Kolmogorov's distance of n variates, by Dvoretzky, Kiefer, Wolfowitz and Massart: beyond
// sqrt(log(2 / alpha) / (2 n)) with probability below alpha = 1e-6.
void ExpectDistributed(const Opened& sample, double (*distribution)(double)) {
  std::vector<double> sorted;
  for (size_t i = 0; i < sample.integers.size(); ++i) sorted.push_back(sample[i]);
  std::sort(sorted.begin(), sorted.end());
  const auto n = static_cast<double>(sorted.size());
  double distance = 0;
  for (size_t i = 0; i < sorted.size(); ++i) {
    const double p = distribution(sorted[i]);
    distance =
        std::max({distance, p - static_cast<double>(i) / n, static_cast<double>(i + 1) / n - p});
  }
  EXPECT_LE(distance, std::sqrt(std::log(2e6) / (2 * n)));
}

TEST(VariatesTest, FollowTheirDistributions) {
  for (const Setting& setting : {kSettings[0], kSettings[2]}) {
    const auto opened = Evaluate(setting, {}, [&](Engine& engine, const List&) {
      crypto::SystemRandom own;
      const Shape shape = {2000, 2};
      return List{UniformVariates(engine, shape, own), ExponentialVariates(engine, shape, own, 40),
                  LogisticVariates(engine, shape, own, 40)};
    });
    ExpectDistributed(opened[0], [](double x) { return x; });
    ExpectDistributed(opened[1], [](double x) { return -std::expm1(-x); });
    ExpectDistributed(opened[2], [](double x) { return 1 / (1 + std::exp(-x)); });
  }
}

TEST(VariatesTest, RoundsAreAsStated) {
  for (const Setting& setting : kSettings) {
    const size_t d = setting.d();
    crypto::SystemRandom own;
    ExpectRounds(setting, d, [&](Engine& e) { UniformVariates(e, {9, 1}, own); });
    const size_t logarithm = 7 + 2 * d + 3 * setting.c() + 1 + d;
    ExpectRounds(setting, logarithm, [&](Engine& e) { ExponentialVariates(e, {9, 1}, own, 40); });
    ExpectRounds(setting, logarithm, [&](Engine& e) { LogisticVariates(e, {9, 1}, own, 40); });
  }
}

}  // namespace
}  // namespace partita::mpc::testing::random_functions_test
