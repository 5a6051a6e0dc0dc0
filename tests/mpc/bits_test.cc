// Every operation on bits of both engines against plaintext bits, its costs against the PlanEngine
// and against what the headers state, and what is refused.
#include "mpc/bits.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>

#include "base/error.h"
#include "mpc/batch.h"
#include "mpc/bit_kernels.h"
#include "mpc/dealer_engine.h"
#include "mpc/replicated_engine.h"
#include "mpc/shamir_engine.h"
#include "tests/mpc/harness.h"

namespace partita::mpc::testing::bits_test {
namespace {

struct Setting {
  std::string kind;
  size_t num_parties;
};
const Setting kSettings[] = {{"dealer", 2}, {"dealer", 4}, {"replicated", 3},
                             {"ot", 2},     {"shamir", 3}, {"shamir", 5}};

RunOptions OptionsOf(const Setting& setting) {
  RunOptions options;
  options.kind = setting.kind;
  options.num_parties = setting.num_parties;
  if (setting.kind == "replicated") options.make = MakeReplicatedEngine;
  if (setting.kind == "shamir") options.make = MakeShamirEngine;
  return options;
}

BitMatrix RandomBitMatrix(std::mt19937_64& random, Shape shape, size_t width) {
  BitMatrix bits = MakeBits(shape, width);
  for (uint64_t& word : bits.words) word = random();
  ClearUnused(bits);
  return bits;
}

// Has words at the owner only.
PrivateBits PrivateOf(const Engine& engine, PartyIndex owner, const BitMatrix& bits) {
  if (engine.self() == owner) return {owner, bits};
  return {owner, {bits.shape, bits.width, {}}};
}

SharedBits InputOf(Engine& engine, PartyIndex owner, const BitMatrix& bits) {
  const PrivateBits input = PrivateOf(engine, owner, bits);
  return engine.InputBits({&input, 1})[0];
}

std::vector<uint64_t> Words(const std::vector<uint64_t>& a, const std::vector<uint64_t>& b,
                            uint64_t (*f)(uint64_t, uint64_t)) {
  std::vector<uint64_t> out(a.size());
  for (size_t i = 0; i < a.size(); ++i) out[i] = f(a[i], b[i]);
  return out;
}

// Runs `body` at all processes of every setting, compares the costs with the plan's; what `body`
// opened to everybody must be `expected`.
void ExpectOpened(const std::vector<BitMatrix>& expected,
                  const std::function<std::vector<SharedBits>(Engine&)>& body) {
  for (const Setting& setting : kSettings) {
    SCOPED_TRACE(setting.kind + " " + std::to_string(setting.num_parties));
    RunAndComparePlan(OptionsOf(setting), [&](Engine& engine, size_t) {
      const std::vector<SharedBits> bits = body(engine);
      const std::vector<BitMatrix> opened = engine.RevealBits("out", bits, kEverybody);
      ASSERT_EQ(opened.size(), expected.size());
      for (size_t i = 0; engine.self() && i < opened.size(); ++i) {
        EXPECT_EQ(opened[i].shape, expected[i].shape) << i;
        EXPECT_EQ(opened[i].width, expected[i].width) << i;
        EXPECT_EQ(opened[i].words, expected[i].words) << i;
      }
    });
  }
}

BitMatrix With(BitMatrix like, std::vector<uint64_t> words) {
  like.words = std::move(words);
  ClearUnused(like);
  return like;
}

TEST(BitsTest, LocalOperations) {
  std::mt19937_64 random(1);
  for (Shape shape : {Shape{1, 1}, {9, 7}, {64, 1}, {5, 13}, {40, 5}, {0, 3}}) {
    const BitMatrix x = RandomBitMatrix(random, shape, 3), y = RandomBitMatrix(random, shape, 3);
    const size_t words = WordsPerPlane(shape);
    std::vector<uint64_t> selected, joined = x.words;
    for (size_t plane : {2, 0, 2, 1}) {
      for (size_t w = 0; w < words; ++w) selected.push_back(x.words[plane * words + w]);
    }
    joined.insert(joined.end(), y.words.begin(), y.words.end());
    const std::vector<BitMatrix> expected = {
        x,
        y,
        With(x, Words(x.words, y.words, [](uint64_t a, uint64_t b) { return a ^ b; })),
        With(x, Words(x.words, y.words, [](uint64_t a, uint64_t) { return ~a; })),
        With(x, Words(x.words, y.words, [](uint64_t a, uint64_t b) { return a & b; })),
        {shape, 4, selected},
        {shape, 6, joined},
    };
    ExpectOpened(expected, [&](Engine& engine) {
      const SharedBits a = InputOf(engine, 0, x), b = engine.PublicBits(y);
      const SharedBits parts[] = {a, b};
      const size_t planes[] = {2, 0, 2, 1};
      return std::vector<SharedBits>{a,
                                     b,
                                     engine.Xor(a, b),
                                     engine.Not(a),
                                     engine.AndPublic(a, y),
                                     engine.SelectPlanes(a, planes),
                                     engine.JoinPlanes(parts)};
    });
  }
}

TEST(BitsTest, AndOfInputsOfAllParties) {
  std::mt19937_64 random(2);
  for (Shape shape : {Shape{1, 1}, {65, 2}, {0, 1}}) {
    const BitMatrix x = RandomBitMatrix(random, shape, 2), y = RandomBitMatrix(random, shape, 2);
    const auto both = Words(x.words, y.words, [](uint64_t a, uint64_t b) { return a & b; });
    for (auto [a, b] : {std::pair{0, 1}, {1, 0}, {1, 1}}) {
      const auto left = static_cast<PartyIndex>(a), right = static_cast<PartyIndex>(b);
      ExpectOpened({With(x, both), x, With(x, both)}, [&](Engine& engine) {
        const SharedBits p = InputOf(engine, left, x), q = InputOf(engine, right, y);
        const BitProduct products[] = {{p, q}, {p, p}, {q, p}};
        return engine.And(products);
      });
    }
  }
}

// a + b = (a ^ b) + 2 (a AND b), and the parts of a decomposition are the latter two.
TEST(BitsTest, DecompositionAddsUp) {
  std::mt19937_64 random(3);
  for (const Setting& setting : kSettings) {
    SCOPED_TRACE(setting.kind);
    const bool masked = setting.kind == "shamir";
    const int unused = masked ? 48 : 3;
    IntMatrix x{{67, 1}, std::vector<Int128>(67)};
    for (Int128& value : x.values) {
      value = static_cast<Int128>((static_cast<UInt128>(random()) << 64) | random()) >> unused;
    }
    std::vector<size_t> widths = {1, 2, 7, 8, 52, 64, 65};
    if (masked) {
      widths.push_back(82);
    } else {
      widths.insert(widths.end(), {127, 128});
    }
    RunAndComparePlan(OptionsOf(setting), [&](Engine& engine, size_t) {
      const PrivateMatrix input = Private(engine, 1, x, std::ldexp(1.0, 128 - unused));
      const Shared shared = engine.Input({&input, 1})[0];
      const std::vector<Shared> values(widths.size(), shared);
      const auto carries = engine.Decompose(values, widths);
      std::vector<SharedBits> bits;
      for (const auto& [propagate, generate] : carries) {
        bits.push_back(propagate);
        bits.push_back(generate);
      }
      const auto opened = engine.RevealBits("out", bits, kEverybody);
      for (size_t k = 0; engine.self() && k < widths.size(); ++k) {
        const BitMatrix &propagate = opened[2 * k], &generate = opened[2 * k + 1];
        const size_t width = widths[k];
        ASSERT_EQ(propagate.width, width);
        const UInt128 mask = width == 128 ? ~UInt128{0} : (UInt128{1} << width) - 1;
        for (size_t i = 0; i < 67; ++i) {
          UInt128 sum = 0;
          for (size_t j = 0; j < width; ++j) {
            sum += static_cast<UInt128>(GetBit(propagate, j, i)) << j;
            if (j < 127) sum += static_cast<UInt128>(GetBit(generate, j, i)) << (j + 1);
            ASSERT_FALSE(GetBit(propagate, j, i) && GetBit(generate, j, i));
          }
          EXPECT_EQ(sum & mask, static_cast<UInt128>(x.values[i]) & mask) << width << " " << i;
        }
      }
    });
  }
}

TEST(BitsTest, BitsAsRingElements) {
  std::mt19937_64 random(4);
  for (const Setting& setting : kSettings) {
    for (Shape shape : {Shape{1, 1}, {33, 2}, {0, 2}}) {
      const BitMatrix x = RandomBitMatrix(random, shape, 3), y = RandomBitMatrix(random, shape, 3);
      RunAndComparePlan(OptionsOf(setting), [&](Engine& engine, size_t) {
        // Owned by one party, owned by another, and by nobody alone.
        const SharedBits a = InputOf(engine, 0, x), b = InputOf(engine, 1, y);
        const SharedBits all[] = {a, b, engine.Xor(a, b), engine.PublicBits(x)};
        const std::vector<Shared> elements = engine.ToRing(all);
        for (const Shared& element : elements) {
          EXPECT_EQ(element.shape, (Shape{3 * shape.rows, shape.cols}));
          EXPECT_EQ(element.fraction_bits, 0);
          EXPECT_EQ(element.bound, 1.0);
        }
        const auto opened = engine.Reveal("out", elements, kEverybody);
        for (size_t plane = 0; engine.self() && plane < 3; ++plane) {
          for (size_t i = 0; i < shape.size(); ++i) {
            const size_t at = plane * shape.size() + i;
            const bool p = GetBit(x, plane, i), q = GetBit(y, plane, i);
            EXPECT_EQ(opened[0].values[at], Int128{p});
            EXPECT_EQ(opened[1].values[at], Int128{q});
            EXPECT_EQ(opened[2].values[at], Int128{p != q});
            EXPECT_EQ(opened[3].values[at], Int128{p});
          }
        }
      });
    }
  }
}

// Gives the same byte for ever.
class ConstantRandom : public crypto::RandomSource {
 public:
  explicit ConstantRandom(uint8_t byte) : byte_(byte) {}
  void Fill(std::span<uint8_t> out) override { std::fill(out.begin(), out.end(), byte_); }

 private:
  uint8_t byte_;
};

// With a dealer random bits are every party's own, exclusive or: the tapes play no part (R-b).
TEST(BitsTest, RandomBitsWithADealerAreThePartiesOwn) {
  RunAndComparePlan({.num_parties = 3}, [&](Engine& engine, size_t process) {
    ConstantRandom own(static_cast<uint8_t>(1 << (2 * process)));
    const SharedBits bits = engine.RandomBits({64, 1}, 2, own);
    const auto opened = engine.RevealBits("out", {&bits, 1}, kEverybody);
    if (engine.self()) {
      EXPECT_EQ(opened[0].words, std::vector<uint64_t>(2, 0x1515151515151515));
    }
  });
}

// In `replicated` they come from the pairs' tapes: new every time, fair, and the same for all.
TEST(BitsTest, RandomBitsOfThreeParties) {
  std::array<std::vector<uint64_t>, 3> seen;
  RunAndComparePlan(OptionsOf({"replicated", 3}), [&](Engine& engine, size_t) {
    ConstantRandom own(0);
    const SharedBits bits[] = {engine.RandomBits({4096, 4}, 4, own),
                               engine.RandomBits({4096, 4}, 4, own)};
    const auto opened = engine.RevealBits("out", bits, kEverybody);
    if (!engine.self()) return;
    EXPECT_NE(opened[0].words, opened[1].words);
    seen[*engine.self()] = opened[0].words;
  });
  EXPECT_EQ(seen[0], seen[1]);
  EXPECT_EQ(seen[0], seen[2]);
  int64_t ones = 0;
  for (uint64_t word : seen[0]) ones += std::popcount(word);
  // 65536 fair bits: beyond 6 standard deviations (of 128) with probability 2e-9.
  EXPECT_NEAR(static_cast<double>(ones), 32768, 6 * 128);
}

TEST(BitsTest, RevealToOnePartyIsSeenByItAlone) {
  std::mt19937_64 random(6);
  const BitMatrix x = RandomBitMatrix(random, {70, 1}, 2);
  for (const Setting& setting : kSettings) {
    for (PartyIndex to = 0; to < setting.num_parties; ++to) {
      RunAndComparePlan(OptionsOf(setting), [&](Engine& engine, size_t) {
        const SharedBits bits = InputOf(engine, 1, x);
        const auto opened = engine.RevealBits("out", {&bits, 1}, to);
        if (engine.self() == to) {
          EXPECT_EQ(opened[0].words, x.words);
        } else {
          EXPECT_TRUE(opened[0].words.empty());
        }
      });
    }
  }
}

TEST(BitsTest, UnlikeOperationsShareTheirRounds) {
  std::mt19937_64 random(7);
  const BitMatrix x = RandomBitMatrix(random, {70, 1}, 2);
  const IntMatrix v = RandomMatrix(random, {70, 1}, 1000);
  for (const Setting& setting : kSettings) {
    const auto result = RunAndComparePlan(OptionsOf(setting), [&](Engine& engine, size_t) {
      const SharedBits bits = InputOf(engine, 0, x);
      const PrivateMatrix input = Private(engine, 1, v, 1000);
      const Shared value = engine.Input({&input, 1})[0];
      engine.BeginPhase("batch");
      Batch batch(engine);
      const PrivateBits more = PrivateOf(engine, 1, x);
      const BitProduct product = {bits, bits};
      const Product square = {Product::Kind::kElementwise, value, value};
      const size_t width = 12;
      auto shares = batch.InputBits({&more, 1});
      auto both = batch.And({&product, 1});
      auto carries = batch.Decompose({&value, 1}, {&width, 1});
      auto elements = batch.ToRing({&bits, 1});
      auto squares = batch.Multiply({&square, 1});
      auto opened = batch.RevealBits("out", {&bits, 1}, kEverybody);
      auto values = batch.Reveal("out", {&value, 1}, kEverybody);
      batch.Flush();
      engine.BeginPhase("check");
      const SharedBits checked[] = {shares.Get()[0], both.Get()[0]};
      const auto again = engine.RevealBits("out", checked, kEverybody);
      const Shared rings[] = {elements.Get()[0], squares.Get()[0]};
      const auto numbers = engine.Reveal("out", rings, kEverybody);
      if (!engine.self()) return;
      EXPECT_EQ(opened.Get()[0].words, x.words);
      EXPECT_TRUE(values.Get()[0] == v);
      EXPECT_EQ(again[0].words, x.words);
      EXPECT_EQ(again[1].words, x.words);
      for (size_t i = 0; i < 70; ++i) {
        EXPECT_EQ(numbers[0].values[i], Int128{GetBit(x, 0, i)});
        EXPECT_EQ(numbers[1].values[i], v.values[i] * v.values[i]);
      }
    });
    // How much longer the longest chain of messages became.
    uint64_t before = 0, after = 0;
    for (const auto& traffic : result.traffic) {
      uint64_t depth = 0;
      for (const net::PhaseTraffic& phase : traffic) {
        if (phase.phase == "batch") before = std::max(before, depth);
        depth += phase.rounds;
        if (phase.phase == "batch") after = std::max(after, depth);
      }
    }
    const std::map<std::string, uint64_t> expected = {
        {"dealer", 1},
        {"replicated", 2},
        {"ot", 2 + 2 + 1},  // a link, transfers, openings
        {"shamir", setting.num_parties == 3 ? 3 : 4}};
    EXPECT_EQ(after - before, expected.at(setting.kind));
  }
}

// The numbers that the engines' bit schedules state.
TEST(BitsTest, CostsAreAsStated) {
  const Shape shape = {130, 1};  // three words
  const size_t width = 11;
  auto bytes_of = [&](const Setting& setting, const std::function<void(Engine&)>& body) {
    PlanEngine plan(setting.kind, setting.num_parties);
    body(plan);
    return plan.phases().empty() ? uint64_t{0} : plan.phases()[0].Total().bytes;
  };
  const uint64_t plane = 3 * 8, element = 16;
  const SharedBits bits{shape, width, std::make_shared<SharedBits::Payload>()};
  const SharedBits more{shape, width, std::make_shared<SharedBits::Payload>()};
  const Shared value{shape, 0, 1, std::make_shared<Shared::Payload>()};
  auto conjunction = [&](Engine& engine) {
    const BitProduct products[] = {{bits, more}, {bits, bits}};
    engine.And(products);
  };
  auto decompose = [&](Engine& engine) { engine.Decompose({&value, 1}, {&width, 1}); };
  auto to_ring = [&](Engine& engine) { engine.ToRing({&bits, 1}); };
  auto reveal = [&](Engine& engine) { engine.RevealBits("out", {&bits, 1}, 1); };
  auto input = [&](Engine& engine) {
    const PrivateBits of_one = {1, {shape, width, {}}};
    engine.InputBits({&of_one, 1});
  };
  for (size_t n : {2, 3, 5}) {
    const Setting dealer = {"dealer", n};
    EXPECT_EQ(bytes_of(dealer, conjunction), (n * (n - 1) * 2 + 2) * width * plane);
    EXPECT_EQ(bytes_of(dealer, decompose), n * (n - 1) * 130 * 2 + width * plane);
    EXPECT_EQ(bytes_of(dealer, to_ring), n * (n - 1) * width * plane + 130 * width * element);
    EXPECT_EQ(bytes_of(dealer, reveal), (n - 1) * width * plane);
    EXPECT_EQ(bytes_of(dealer, input), 0u);
  }
  const Setting replicated = {"replicated", 3};
  EXPECT_EQ(bytes_of(replicated, conjunction), 3 * 2 * width * plane);
  EXPECT_EQ(bytes_of(replicated, decompose), 4 * width * plane);
  EXPECT_EQ(bytes_of(replicated, to_ring), 3 * 130 * width * element);
  EXPECT_EQ(bytes_of(replicated, reveal), width * plane);
  EXPECT_EQ(bytes_of(replicated, input), width * plane);
}

// --- refusals

ErrorCode CodeOf(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_FALSE(error.message().empty());
    EXPECT_FALSE(error.hint().empty());
    return error.code();
  }
  ADD_FAILURE() << "nothing was thrown";
  return ErrorCode::kInternal;
}

TEST(BitsErrorsTest, WhatDoesNotFitIsRefused) {
  PlanEngine engine("dealer", 2);
  auto bits = [](Shape shape, size_t width) {
    return SharedBits{shape, width, std::make_shared<SharedBits::Payload>()};
  };
  auto refused = [&](const std::function<void()>& action) {
    EXPECT_EQ(CodeOf(action), ErrorCode::kUsage);
  };
  const SharedBits a = bits({3, 1}, 2), wider = bits({3, 1}, 3), longer = bits({4, 1}, 2);
  refused([&] { engine.Xor(a, wider); });
  refused([&] { engine.Xor(a, longer); });
  refused([&] {
    const BitProduct product = {a, longer};
    engine.And({&product, 1});
  });
  refused([&] { engine.AndPublic(a, MakeBits({3, 1}, 1)); });
  refused([&] { engine.AndPublic(a, {{3, 1}, 2, {}}); });
  refused([&] { engine.PublicBits({{3, 1}, 2, {1}}); });
  refused([&] {
    const size_t planes[] = {0, 2};
    engine.SelectPlanes(a, planes);
  });
  refused([&] { engine.JoinPlanes({}); });
  refused([&] {
    const SharedBits parts[] = {a, longer};
    engine.JoinPlanes(parts);
  });
  refused([&] { engine.RevealBits("out", {&a, 1}, 2); });
  refused([&] {
    const PrivateBits input = {2, MakeBits({3, 1}, 1)};
    engine.InputBits({&input, 1});
  });
  const Shared value{{3, 1}, 0, 1, std::make_shared<Shared::Payload>()};
  for (size_t width : {size_t{0}, size_t{129}}) {
    refused([&] { engine.Decompose({&value, 1}, {&width, 1}); });
  }
  refused([&] { engine.Decompose({&value, 1}, {}); });
}

TEST(BitsErrorsTest, HandlesOfAnotherEngineAreRefused) {
  for (const Setting& setting : kSettings) {
    RunAll(OptionsOf(setting), [&](Engine& engine, size_t) {
      if (!engine.self()) return;
      const SharedBits foreign{{3, 1}, 2, std::make_shared<SharedBits::Payload>()};
      EXPECT_EQ(CodeOf([&] { engine.Not(foreign); }), ErrorCode::kUsage);
    }).ThrowIfFailed();
  }
}

TEST(BitsErrorsTest, OpeningsPassTheGateWithTheirNumberOfBits) {
  for (const Setting& setting : kSettings) {
    for (uint64_t declared : {uint64_t{6}, uint64_t{3}}) {
      RunOptions options = OptionsOf(setting);
      options.releases = {{"out", "", "", "exact", 1, kEverybody, declared}};
      const auto result = RunAll(options, [&](Engine& engine, size_t) {
        const SharedBits bits = engine.PublicBits(MakeBits({3, 1}, 2));
        engine.RevealBits("out", {&bits, 1}, kEverybody);
        if (engine.self()) {
          EXPECT_EQ(CodeOf([&] {
                      engine.RevealBits("out", {&bits, 1}, kEverybody);
                    }),
                    ErrorCode::kRefused);
        }
      });
      // Among five of `shamir` a round makes the engine: who is still in it when another was
      // refused and left, loses that one.
      const bool may_lose = setting.kind == "shamir" && setting.num_parties == 5;
      size_t refused = 0;
      for (size_t p = 0; p < setting.num_parties; ++p) {
        if (declared == 6) {
          EXPECT_EQ(result.errors[p], nullptr);
          continue;
        }
        const ErrorCode code = CodeOf([&] { std::rethrow_exception(result.errors[p]); });
        refused += code == ErrorCode::kRefused ? 1 : 0;
        EXPECT_TRUE(code == ErrorCode::kRefused || (may_lose && code == ErrorCode::kPeerLost))
            << setting.kind << ": " << ErrorCodeName(code);
      }
      if (declared != 6) {
        EXPECT_GE(refused, 1u);
      }
    }
  }
}

TEST(BitsErrorsTest, APartyThatLeaves) {
  for (const Setting& setting : kSettings) {
    const auto result = RunAll(OptionsOf(setting), [&](Engine& engine, size_t process) {
      const SharedBits bits = engine.PublicBits(MakeBits({3, 1}, 2));
      if (process == 1) throw Error(ErrorCode::kCancelled, "stopped by a test", "none");
      const BitProduct product = {bits, bits};
      for (size_t i = 0; i < 3; ++i) engine.And({&product, 1});
    });
    for (size_t p = 0; p < setting.num_parties; ++p) {
      ASSERT_NE(result.errors[p], nullptr) << p;
      EXPECT_EQ(CodeOf([&] { std::rethrow_exception(result.errors[p]); }),
                p == 1 ? ErrorCode::kCancelled : ErrorCode::kPeerLost);
    }
  }
}

}  // namespace
}  // namespace partita::mpc::testing::bits_test
