// The same random program on every engine: untruncated results are bit-identical, because each is
// the exact integer.
#include <gtest/gtest.h>

#include "mpc/replicated_engine.h"
#include "mpc/shamir_engine.h"
#include "tests/mpc/harness.h"

namespace partita::mpc::testing::agreement_test {
namespace {

constexpr size_t kSide = 4;  // all values are kSide x kSide

// Draws the same steps at every process and on every engine.
class RandomProgram {
 public:
  RandomProgram(Engine& engine, uint64_t seed, const std::vector<IntMatrix>& data)
      : engine_(engine), random_(seed), data_(data) {}

  std::vector<IntMatrix> Run() {
    std::vector<PrivateMatrix> inputs;
    for (size_t i = 0; i < 3; ++i) inputs.push_back(Data(Draw(data_.size())));
    values_ = engine_.Input(inputs);
    fixed_ = engine_.Register(Data(Draw(data_.size())));
    for (int step = 0; step < 6; ++step) {
      if (Draw(2) == 0) {
        Multiply();
      } else {
        values_.push_back(Linear());
      }
    }
    return engine_.Reveal("out", values_, kEverybody);
  }

 private:
  size_t Draw(size_t below) { return random_() % below; }
  const Shared& Value() { return values_[Draw(values_.size())]; }
  // Matrix i belongs to party i mod 3.
  PrivateMatrix Data(size_t i) { return Private(engine_, i % 3, data_[i], 100); }
  // A shared value whose products still fit.
  const Shared& SmallValue() {
    const Shared& value = Value();
    return value.bound < 1e12 ? value : values_[Draw(3)];
  }
  Operand AnyOperand() {
    switch (Draw(5)) {
      case 0:
        return Data(Draw(data_.size()));
      case 1:
        return fixed_;
      case 2:
        return PublicMatrix{data_[Draw(data_.size())], 0};
      default:
        return SmallValue();
    }
  }
  void Multiply() {
    constexpr Product::Kind kKinds[] = {Product::Kind::kElementwise, Product::Kind::kMatrix,
                                        Product::Kind::kGram};
    std::vector<Product> products;
    for (size_t count = 1 + Draw(3); count > 0; --count) {
      Product product;
      product.kind = kKinds[Draw(3)];
      product.left = AnyOperand();
      product.right = AnyOperand();
      products.push_back(std::move(product));
    }
    for (Shared& result : engine_.Multiply(products)) values_.push_back(std::move(result));
  }
  Shared Linear() {
    const Shared a = SmallValue(), b = SmallValue();
    switch (Draw(5)) {
      case 0:
        return engine_.Add(a, b);
      case 1:
        return engine_.Subtract(a, b);
      case 2:
        return engine_.Scale(a, -3);
      case 3:
        return engine_.Transpose(a);
      default:
        return engine_.MultiplyPublic(a, PublicMatrix{data_[Draw(data_.size())], 0});
    }
  }

  Engine& engine_;
  std::mt19937_64 random_;
  const std::vector<IntMatrix>& data_;
  std::vector<Shared> values_;
  FixedOperand fixed_;
};

std::vector<IntMatrix> RunOn(RunOptions options, uint64_t seed,
                             const std::vector<IntMatrix>& data) {
  options.num_parties = 3;
  std::vector<std::vector<IntMatrix>> opened(5);
  RunAndComparePlan(options, [&](Engine& engine, size_t process) {
    opened[process] = RandomProgram(engine, seed, data).Run();
  });
  for (size_t party = 1; party < 3; ++party) {
    EXPECT_EQ(opened[party].size(), opened[0].size());
    for (size_t i = 0; i < opened[0].size(); ++i) EXPECT_TRUE(opened[party][i] == opened[0][i]);
  }
  return opened[0];
}

TEST(AgreementTest, EnginesGiveTheSameIntegers) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<IntMatrix> data;
    for (int i = 0; i < 5; ++i) data.push_back(RandomMatrix(random, {kSide, kSide}, 100));
    const auto dealer = RunOn({.kind = "dealer"}, seed, data);
    const auto replicated = RunOn({.kind = "replicated", .make = MakeReplicatedEngine}, seed, data);
    const auto shamir = RunOn({.kind = "shamir", .make = MakeShamirEngine}, seed, data);
    ASSERT_GE(dealer.size(), 3u);
    ASSERT_EQ(dealer.size(), replicated.size());
    ASSERT_EQ(dealer.size(), shamir.size());
    for (size_t i = 0; i < dealer.size(); ++i) {
      EXPECT_TRUE(dealer[i] == replicated[i]) << "seed " << seed << ", value " << i;
      EXPECT_TRUE(dealer[i] == shamir[i]) << "seed " << seed << ", value " << i;
    }
  }
}

}  // namespace
}  // namespace partita::mpc::testing::agreement_test
