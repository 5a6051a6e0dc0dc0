// What faulty parties can do to the engine `shamir`: wrong shares in openings are corrected,
// noticed or beyond what is promised, lies in products are not noticed, peers stop.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "mpc/batch.h"
#include "mpc/shamir_engine.h"
#include "tests/mpc/harness.h"
#include "tests/mpc/operands.h"
#include "tests/mpc/shamir_parties.h"

namespace partita::mpc::testing::shamir_faults_test {
namespace {

using Kind = Product::Kind;
using ::testing::HasSubstr;

TEST(ShamirFaultsTest, WrongNumbersOfParties) {
  for (size_t n : {2, 8}) {
    EXPECT_EQ(CodeOf([&] { PlanEngine("shamir", n); }), ErrorCode::kBadInput);
    auto result = RunAll(Among(n), [](Engine&, size_t) {});
    for (const auto& error : result.errors) EXPECT_EQ(CodeOf(error), ErrorCode::kBadInput);
  }
}

TEST(ShamirFaultsTest, ADroppedPeerIsNamed) {
  for (PartyIndex gone = 0; gone < 3; ++gone) {
    auto result = RunAll(Among(3), [&](Engine& engine, size_t self) {
      Shared shared = InputOne(engine, 0, Row({1, 2}), 10, 20);
      engine.BeginPhase("second");
      if (self == gone) return;
      engine.Rescale({&shared, 1}, 0);
      engine.Reveal("out", {&shared, 1}, kEverybody);
    });
    size_t named = 0;
    for (size_t party = 0; party < 3; ++party) {
      if (party == gone) continue;
      EXPECT_EQ(CodeOf(result.errors[party]), ErrorCode::kPeerLost);
      ASSERT_TRUE(result.errors[party]);
      try {
        std::rethrow_exception(result.errors[party]);
      } catch (const Error& error) {
        const std::string name = "party" + std::to_string(gone);
        named += error.message().find(name) != std::string::npos ? 1 : 0;
      }
    }
    EXPECT_GE(named, 1u);
  }
}

template <size_t kSlices>
using Shamir = ShamirEngine<Field127, kSlices>;

// The value with this party's share moved by `shift` from entry `first` on.
Shared Lie(const Shared& value, UInt128 shift, size_t first = 0) {
  auto shares = Shamir<2>::SharesOf(value).components;
  for (size_t i = first; i < shares[0].size(); ++i) {
    shares[0][i] = Field127::Add(shares[0][i], Field127::Reduce(shift + i));
  }
  return Shamir<2>::WithShares(value, std::move(shares));
}

struct Promise {
  size_t parties, threshold, noticed, corrected;
};
// As in shamir_engine.h.
constexpr Promise kPromises[] = {{3, 1, 1, 0}, {4, 1, 2, 1}, {5, 2, 2, 0},
                                 {6, 2, 3, 0}, {7, 3, 3, 0}, {5, 1, 2, 1},
                                 {6, 1, 3, 1}, {7, 1, 4, 1}, {7, 2, 2, 2}};

// The last `lies` parties lie in an opening to everybody.
TEST(ShamirFaultsTest, EveryNumberOfLiesInOpenings) {
  const IntMatrix x = Row({7, -8, 9});
  for (const Promise& promise : kPromises) {
    const size_t n = promise.parties, noticed = promise.noticed, corrected = promise.corrected;
    for (size_t lies = 0; lies <= n; ++lies) {
      SCOPED_TRACE(std::to_string(lies) + " of " + std::to_string(n));
      std::vector<std::vector<IntMatrix>> opened(n);
      std::vector<std::vector<PartyIndex>> named(n);
      auto result = RunAll(Among(n, promise.threshold), [&](Engine& engine, size_t self) {
        Shared value = InputOne(engine, 0, x, 10);
        if (self + lies >= n) value = Lie(value, 1000 + 77 * self, 1);
        opened[self] = engine.Reveal("out", {&value, 1}, kEverybody);
        named[self] = CorrectedParties(engine);
      });
      for (PartyIndex party = 0; party + lies < n; ++party) {
        if (lies <= corrected) {
          ASSERT_FALSE(result.errors[party]);
          EXPECT_TRUE(opened[party][0] == x);
          std::vector<PartyIndex> liars;
          for (size_t i = n - lies; i < n; ++i) liars.push_back(i);
          EXPECT_EQ(named[party], liars);
        } else if (lies <= noticed) {
          // Whoever notices first tells the others.
          const ErrorCode code = CodeOf(result.errors[party]);
          EXPECT_TRUE(code == ErrorCode::kPeerFault || code == ErrorCode::kPeerLost);
          EXPECT_TRUE(opened[party].empty());
        }
      }
    }
  }
}

// n = 5, t = 2: two wrong shares could be decoded so that an honest party looks like the liar, so
// nobody is named.
TEST(ShamirFaultsTest, NobodyIsNamedWhereItCouldBeAnHonestParty) {
  auto result = RunAll(Among(5), [&](Engine& engine, size_t self) {
    Shared value = InputOne(engine, 0, Row({7}), 10);
    if (self == 4) value = Lie(value, 5);
    engine.Reveal("out", {&value, 1}, 0);
    EXPECT_NE(self, 0u);
  });
  EXPECT_EQ(CodeOf(result.errors[0]), ErrorCode::kPeerFault);
  ASSERT_TRUE(result.errors[0]);
  try {
    std::rethrow_exception(result.errors[0]);
  } catch (const Error& error) {
    EXPECT_EQ(error.message().find("party4"), std::string::npos);
    EXPECT_EQ(error.message().find("party0"), std::string::npos);
  }
}

// With t = 1 of 4 there is one liar at most, not one per entry.
TEST(ShamirFaultsTest, DifferentLiarsInDifferentEntriesAreTooMany) {
  auto result = RunAll(Among(4), [&](Engine& engine, size_t self) {
    Shared value = InputOne(engine, 0, Row({7, 8}), 10);
    if (self >= 2) value = Lie(value, 5, 3 - self);  // party 2 lies in entry 1, party 3 in both
    if (self == 3) {
      auto shares = Shamir<2>::SharesOf(value).components;
      shares[0][1] = Field127::Sub(shares[0][1], 6);  // and takes it back in entry 1
      value = Shamir<2>::WithShares(value, std::move(shares));
    }
    engine.Reveal("out", {&value, 1}, 0);
    EXPECT_NE(self, 0u);
  });
  EXPECT_EQ(CodeOf(result.errors[0]), ErrorCode::kPeerFault);
}

TEST(ShamirFaultsTest, AfterAFaultNothingMoreIsDone) {
  auto result = RunAll(Among(3), [&](Engine& engine, size_t self) {
    Shared value = InputOne(engine, 0, Row({7}), 10);
    const Shared honest = value;
    if (self == 1) value = Lie(value, 5);
    if (self != 2) {
      engine.Reveal("out", {&value, 1}, 2);
      return;
    }
    EXPECT_EQ(CodeOf([&] { engine.Reveal("out", {&value, 1}, 2); }), ErrorCode::kPeerFault);
    EXPECT_ANY_THROW(engine.Reveal("out", {&honest, 1}, kEverybody));
    EXPECT_ANY_THROW(engine.Multiply(std::vector<Product>{{Kind::kElementwise, honest, honest}}));
  });
  EXPECT_FALSE(result.errors[2]);
}

// Bits are decoded as well, and so are the masked openings inside a rescale.
TEST(ShamirFaultsTest, LiesAboutBitsAndMaskedValuesAreCorrectedOrNoticed) {
  for (size_t n : {3, 4}) {
    std::vector<std::vector<PartyIndex>> named(n);
    auto result = RunAll(Among(n), [&](Engine& engine, size_t self) {
      const PrivateBits input{
          1, engine.self() == 1 ? BitMatrix{{1, 70}, 1, {~uint64_t{5}, 63}} : MakeBits({1, 70}, 1)};
      SharedBits bits = engine.InputBits({&input, 1})[0];
      if (self == 2) {
        if (n == 3) {
          auto slices = Shamir<2>::BitsOf(bits);
          slices[1][0] ^= 2;
          bits = Shamir<2>::WithBits(bits, slices);
        } else {
          auto slices = Shamir<3>::BitsOf(bits);
          slices[2][1] ^= 2;
          slices[0][0] ^= ~uint64_t{0};
          bits = Shamir<3>::WithBits(bits, slices);
        }
      }
      const auto opened = engine.RevealBits("out", {&bits, 1}, kEverybody);
      EXPECT_EQ(opened[0].words, (std::vector<uint64_t>{~uint64_t{5}, 63}));
      named[self] = CorrectedParties(engine);
    });
    auto rescaled = RunAll(Among(n), [&](Engine& engine, size_t self) {
      Shared value = InputOne(engine, 0, Row({40, 80}), 10, 3);
      if (self == 1) value = Lie(value, 1);
      value = engine.Rescale({&value, 1}, 0)[0];
      if (self == 1) return;
    });
    if (n == 3) {
      // Whoever notices first tells the others.
      for (const RunResult* run : {&result, &rescaled}) {
        size_t faults = 0;
        for (const auto& error : run->errors) {
          faults += CodeOf(error) == ErrorCode::kPeerFault ? 1 : 0;
        }
        EXPECT_GE(faults, 1u);
      }
    } else {
      rescaled.ThrowIfFailed();
      result.ThrowIfFailed();
      for (PartyIndex party : {0, 1, 3}) {
        EXPECT_EQ(named[party], (std::vector<PartyIndex>{2}));
      }
    }
  }
}

// What this engine does not promise, so that nobody believes it does: a lie about a share of degree
// 2 t, that of a product, goes unnoticed, because resharings are believed; even of one party where
// two liars in openings are corrected.
TEST(ShamirFaultsTest, LiesInProductsAreNotNoticed) {
  for (const Structure& structure : {Structure{3, 1}, {5, 2}, {7, 2}}) {
    const size_t n = structure.parties, t = structure.threshold;
    std::vector<std::vector<IntMatrix>> opened(n);
    auto result = RunAll(Among(n, t), [&](Engine& engine, size_t self) {
      Shared value = InputOne(engine, 0, Row({7}), 10);
      if (self == 1) value = Lie(value, 1);
      Product product{Kind::kElementwise, value, value};
      opened[self] = engine.Reveal("out", engine.Multiply({&product, 1}), kEverybody);
    });
    result.ThrowIfFailed();
    for (PartyIndex party = 0; party < n; ++party) {
      EXPECT_TRUE(opened[party][0] == opened[0][0]);
      EXPECT_FALSE(opened[party][0] == Row({49}));
    }
  }
}

// p itself, and the largest word.
TEST(ShamirFaultsTest, WhatIsNoElementIsRefusedAndItsSenderNamed) {
  for (UInt128 word : {Field127::kModulus, ~static_cast<UInt128>(0)}) {
    for (size_t n : {3, 4}) {
      auto result = RunAll(Among(n), [&](Engine& engine, size_t self) {
        Shared value = InputOne(engine, 0, Row({7}), 10);
        if (self == 1) value = Shamir<2>::WithShares(value, {std::vector<UInt128>{word}});
        engine.Reveal("out", {&value, 1}, 0);
      });
      EXPECT_EQ(CodeOf(result.errors[0]), ErrorCode::kPeerFault);
      ASSERT_TRUE(result.errors[0]);
      try {
        std::rethrow_exception(result.errors[0]);
      } catch (const Error& error) {
        EXPECT_THAT(error.message(), HasSubstr("party1"));
      }
    }
  }
}

}  // namespace
}  // namespace partita::mpc::testing::shamir_faults_test
