// Windows of carries: tables and what is looked up in them against the definition, signs from them,
// exact costs.
#include "mpc/window_carries.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "base/error.h"
#include "mpc/window_kernels.h"
#include "tests/mpc/evaluate.h"

namespace partita::mpc::testing::window_carries_test {
namespace {

using Planes = std::vector<uint64_t>;

bool At(const Planes& planes, size_t j, size_t words, size_t entry) {
  return (planes[j * words + entry / 64] >> (entry % 64) & 1) != 0;
}

Planes RandomPlanes(size_t planes, size_t words, std::mt19937_64& random) {
  Planes made(planes * words);
  for (uint64_t& word : made) word = random();
  return made;
}

// By the definition, of every entry by itself.
void ExpectCarries(const WindowShares& all, const Planes& c, const Planes& r, size_t width,
                   size_t words) {
  for (size_t entry = 0; entry < 64 * words; ++entry) {
    std::vector<bool> p, g;
    for (size_t j = 0; j < width; ++j) {
      p.push_back(At(c, j, words, entry) != At(r, j, words, entry));
      g.push_back(At(c, j, words, entry) && At(r, j, words, entry));
    }
    for (size_t j = 0; j < width; ++j) {
      const size_t first = j / kCarryBlock * kCarryBlock;
      const size_t end = std::min(first + kCarryBlock, width);
      bool ones = true;
      for (size_t k = j; k < end; ++k) ones = ones && p[k];
      ASSERT_EQ(At(all.propagate, j, words, entry), p[j]) << width << " " << j;
      ASSERT_EQ(At(all.block_ones, j, words, entry), ones) << width << " " << j;
      if (j + 1 == width) continue;
      bool generate = false, propagate = true, agree = true;
      for (size_t k = first; k <= j; ++k) {
        generate = g[k] || (p[k] && generate);
        propagate = propagate && p[k];
      }
      for (size_t k = j; k < std::min(end, width - 1); ++k)
        agree = agree && p[k + 1] == (p[k] || g[k]);
      ASSERT_EQ(At(all.block_generate, j, words, entry), generate) << width << " " << j;
      ASSERT_EQ(At(all.block_propagate, j, words, entry), propagate) << width << " " << j;
      ASSERT_EQ(At(all.block_agree, j, words, entry), agree) << width << " " << j;
    }
  }
}

void Xor(Planes& into, const Planes& other) {
  for (size_t i = 0; i < into.size(); ++i) into[i] ^= other[i];
}

// Every width up to three blocks and some beyond; whole tables, and shares of three parties.
TEST(WindowCarriesTest, AreWhatTwoAddendsMakeOfEachOther) {
  std::mt19937_64 random(4);
  constexpr size_t kWords = 2;
  for (const size_t width : {2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 64, 65, 121, 128}) {
    const Planes c = RandomPlanes(width, kWords, random);
    const Planes r = RandomPlanes(width, kWords, random);
    Planes last = TablesOf(r, width, kWords);
    ASSERT_EQ(last.size(), WindowPlanes(width) * kWords);
    ExpectCarries(LookUp(c, last, width, kWords, true), c, r, width, kWords);
    WindowShares sum;
    for (size_t party = 0; party < 3; ++party) {
      const Planes own = party < 2 ? RandomPlanes(WindowPlanes(width), kWords, random) : last;
      if (party < 2) Xor(last, own);
      WindowShares share = LookUp(c, own, width, kWords, party == 0);
      if (party == 0) {
        sum = std::move(share);
        continue;
      }
      Xor(sum.propagate, share.propagate);
      Xor(sum.block_generate, share.block_generate);
      Xor(sum.block_propagate, share.block_propagate);
      Xor(sum.block_ones, share.block_ones);
      Xor(sum.block_agree, share.block_agree);
    }
    ExpectCarries(sum, c, r, width, kWords);
  }
}

TEST(WindowCarriesTest, SignsOnEveryEngine) {
  for (const Setting& setting : kSettings) {
    SCOPED_TRACE(setting.kind);
    for (const size_t bits : {1, 3, 4, 5, 9, 30}) {
      const Int128 most = (Int128{1} << bits) - 1;
      std::vector<Int128> values = {0, 1, -1, most, -most};
      std::mt19937_64 random(bits);
      for (int i = 0; i < 80; ++i) {
        const auto value = static_cast<Int128>(random()) & most;
        values.push_back(i % 2 == 0 ? value : -value);
      }
      const size_t n = values.size();
      const std::vector<Opened> opened =
          Evaluate(setting, {{{{n, 1}, values}, std::ldexp(1.0, static_cast<int>(bits)), 0}},
                   [](Engine& engine, const std::vector<Shared>& x) {
                     std::vector<Shared> results = engine.ToRing(IsNegativeInWindows(engine, x));
                     results[0].bound = 1;
                     return results;
                   });
      for (size_t i = 0; i < n; ++i) EXPECT_EQ(opened[0].integers[i], values[i] < 0 ? 1 : 0);
    }
    const size_t less = setting.kind == "dealer" ? 2 : 0;  // 62 bits below the sign: 16 blocks
    ExpectRounds(setting, setting.d() + 6 - less, [](Engine& engine) {
      const Shared value{{100, 1}, 0, std::ldexp(1.0, 61), std::make_shared<Shared::Payload>()};
      IsNegativeInWindows(engine, {&value, 1});
    });
  }
}

// 31 bits for every window of five, 7 for one of three (width 11: bits 0 to 4, 4 to 8, 8 to 10); words
// of 8 bytes for 64 entries.
TEST(WindowCarriesTest, BytesAreThoseOfMasksAndTables) {
  EXPECT_EQ(WindowPlanes(11), 31u + 31u + 7u);
  for (const size_t n : {2, 3, 5}) {
    PlanEngine plan("dealer", n);
    plan.BeginPhase("windows");
    const Shared value{{130, 1}, 0, 1, std::make_shared<Shared::Payload>()};
    const size_t width = 11;
    DecomposeWindows(plan, {&value, 1}, {&width, 1});
    EXPECT_EQ(plan.phases()[0].Total().bytes, n * (n - 1) * 130 * 2 + 69 * 3 * 8);
  }
}

TEST(WindowCarriesTest, NeedADealer) {
  const Shared value{{3, 1}, 0, 1, std::make_shared<Shared::Payload>()};
  const size_t width = 5, too_narrow = 1;
  PlanEngine replicated("replicated", 3), dealer("dealer", 2);
  EXPECT_FALSE(HasWindows(replicated));
  EXPECT_THROW(DecomposeWindows(replicated, {&value, 1}, {&width, 1}), Error);
  EXPECT_THROW(DecomposeWindows(dealer, {&value, 1}, {&too_narrow, 1}), Error);
}

}  // namespace
}  // namespace partita::mpc::testing::window_carries_test
