// The engine `ot` against plaintext integers and its costs against the PlanEngine and the headers.
// (Bits, comparisons, functions and the oracle: the tests of those run on this engine as well.)
#include "mpc/ot/ot_engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.h"
#include "mpc/ahead_source.h"
#include "mpc/ot/tasks.h"
#include "tests/mpc/harness.h"
#include "tests/mpc/transcript.h"

namespace partita::mpc::testing::ot_engine_test {
namespace {

using Kind = Product::Kind;

enum class As { kShared, kPublic, kPrivate0, kPrivate1, kFixed0, kFixed1 };
constexpr As kAll[] = {As::kShared,   As::kPublic, As::kPrivate0,
                       As::kPrivate1, As::kFixed0, As::kFixed1};

Operand MakeOperand(Engine& engine, As as, const IntMatrix& values, double bound,
                    PartyIndex shared_owner) {
  if (as == As::kShared) {
    const PrivateMatrix input = Private(engine, shared_owner, values, bound);
    return engine.Input({&input, 1})[0];
  }
  if (as == As::kPublic) return PublicMatrix{values, 0};
  const PartyIndex owner = as == As::kPrivate0 || as == As::kFixed0 ? 0 : 1;
  PrivateMatrix matrix = Private(engine, owner, values, bound);
  if (as == As::kFixed0 || as == As::kFixed1) return engine.Register(matrix);
  return matrix;
}

// One product of every pair of operand kinds.
struct ProductCase {
  Kind kind;
  IntMatrix left, right, truth;

  ProductCase(Kind of, Shape left_shape, Shape right_shape) : kind(of) {
    std::mt19937_64 random(left_shape.rows + 7 * right_shape.cols);
    left = RandomMatrix(random, left_shape, int64_t{1} << 50);
    right = RandomMatrix(random, right_shape, int64_t{1} << 50);
    truth = PlainProduct(kind, left, right);
  }
};

// In one run, whose link is made once.
TEST(OtEngineTest, ProductsOfAllOperandKinds) {
  const std::vector<ProductCase> cases = {
      {Kind::kElementwise, {5, 3}, {5, 3}}, {Kind::kElementwise, {1, 1}, {1, 1}},
      {Kind::kElementwise, {0, 4}, {0, 4}}, {Kind::kElementwise, {6, 1}, {6, 4}},
      {Kind::kElementwise, {6, 4}, {6, 1}}, {Kind::kMatrix, {3, 5}, {5, 2}},
      {Kind::kMatrix, {2, 5}, {5, 3}},      {Kind::kMatrix, {3, 0}, {0, 2}},
      {Kind::kMatrix, {0, 3}, {3, 2}},      {Kind::kGram, {7, 3}, {7, 2}},
      {Kind::kGram, {7, 2}, {7, 3}},        {Kind::kGram, {0, 3}, {0, 2}}};
  RunAndComparePlan({.kind = "ot"}, [&](Engine& engine, size_t) {
    for (size_t c = 0; c < cases.size(); ++c) {
      const ProductCase& one = cases[c];
      std::vector<Product> products;
      for (As l : kAll) {
        for (As r : kAll) {
          products.push_back({one.kind, MakeOperand(engine, l, one.left, 0x1p50, 0),
                              MakeOperand(engine, r, one.right, 0x1p50, 1)});
        }
      }
      // Twice: the openings of fixed operands are kept, the transfers are not.
      for (int i = 0; i < 2; ++i) {
        const std::vector<IntMatrix> opened =
            engine.Reveal("out", engine.Multiply(products), kEverybody);
        for (size_t p = 0; engine.self() && p < products.size(); ++p) {
          EXPECT_TRUE(opened[p] == one.truth)
              << "case " << c << ", operand kinds " << p / 6 << " and " << p % 6;
        }
      }
    }
  });
}

// More transfers than a batch has: groups are cut at any row.
TEST(OtEngineTest, ProductsOverManyBatches) {
  std::mt19937_64 random(5);
  const IntMatrix x = RandomMatrix(random, {2500, 3}, int64_t{1} << 50);
  const IntMatrix y = RandomMatrix(random, {2500, 2}, int64_t{1} << 50);
  const IntMatrix v = RandomMatrix(random, {2500, 1}, int64_t{1} << 50);
  RunAndComparePlan({.kind = "ot"}, [&](Engine& engine, size_t) {
    const PrivateMatrix inputs[] = {Private(engine, 0, x, 0x1p50), Private(engine, 1, y, 0x1p50),
                                    Private(engine, 1, v, 0x1p50)};
    const std::vector<Shared> in = engine.Input(inputs);
    const std::vector<Product> products = {{Kind::kGram, in[0], in[1]},
                                           {Kind::kElementwise, in[0], in[2]},
                                           {Kind::kGram, inputs[0], inputs[1]}};
    const auto opened = engine.Reveal("out", engine.Multiply(products), kEverybody);
    if (!engine.self()) return;
    EXPECT_TRUE(opened[0] == PlainProduct(Kind::kGram, x, y));
    EXPECT_TRUE(opened[1] == PlainProduct(Kind::kElementwise, x, v));
    EXPECT_TRUE(opened[2] == PlainProduct(Kind::kGram, x, y));
  });
}

TEST(OtEngineTest, Squares) {
  std::mt19937_64 random(6);
  const IntMatrix x = RandomMatrix(random, {6, 6}, int64_t{1} << 50);
  RunAndComparePlan({.kind = "ot"}, [&](Engine& engine, size_t) {
    const PrivateMatrix input = Private(engine, 1, x, 0x1p50);
    const Shared shared = engine.Input({&input, 1})[0];
    std::vector<Product> products;
    for (Kind kind : {Kind::kElementwise, Kind::kMatrix, Kind::kGram}) {
      products.push_back({kind, shared, shared});
    }
    const auto opened = engine.Reveal("out", engine.Multiply(products), kEverybody);
    for (size_t i = 0; engine.self() && i < products.size(); ++i) {
      EXPECT_TRUE(opened[i] == PlainProduct(products[i].kind, x, x)) << i;
    }
  });
}

// Values at and around every power of two that a rescale may see.
IntMatrix ManyMagnitudes() {
  std::mt19937_64 random(7);
  IntMatrix x;
  for (int bits = 0; bits <= 125; bits += 5) {
    const Int128 power = Int128{1} << bits;
    for (Int128 v : {power - 1, 1 - power, power, -power}) x.values.push_back(v);
    x.values.push_back(static_cast<Int128>(random() >> 2) << (bits / 2));
  }
  x.shape = {x.values.size(), 1};
  return x;
}

// Error below one unit in the last place, exact where nothing is dropped, for every kind of shift.
TEST(OtEngineTest, RescaleByEveryShift) {
  const IntMatrix x = ManyMagnitudes();
  RunAndComparePlan({.kind = "ot"}, [&](Engine& engine, size_t) {
    for (int shift : {1, 2, 39, 40, 64, 80, 125, 126}) {
      const int to = std::max(0, 60 - shift), from = to + shift;
      const PrivateMatrix input = Private(engine, 0, x, std::ldexp(1.0, 125 - from), from);
      const std::vector<Shared> shares = engine.Rescale(engine.Input({&input, 1}), to);
      const IntMatrix opened = engine.Reveal("out", shares, kEverybody)[0];
      for (size_t i = 0; engine.self() && i < x.values.size(); ++i) {
        const Int128 down = x.values[i] >> shift;
        const bool exact = (down << shift) == x.values[i];
        EXPECT_TRUE(opened.values[i] == down || (!exact && opened.values[i] == down + 1))
            << ToString(x.values[i]) << " >> " << shift << " gave " << ToString(opened.values[i]);
      }
    }
  });
}

// The mean of 20000 rescales of a value one third between two units is within 5 standard deviations
// of it (false alarm 6e-7).
TEST(OtEngineTest, RescaleIsUnbiased) {
  constexpr size_t kCount = 20'000;
  const IntMatrix x{{kCount, 1}, std::vector<Int128>(kCount, 3 * 1024 + 1024 / 3)};
  RunAndComparePlan({.kind = "ot"}, [&](Engine& engine, size_t) {
    const PrivateMatrix input = Private(engine, 0, x, 10, 10);
    const auto shares = engine.Rescale(engine.Input({&input, 1}), 0);
    const IntMatrix opened = engine.Reveal("out", shares, 0)[0];
    if (engine.self() != 0) return;
    double sum = 0;
    for (Int128 v : opened.values) sum += static_cast<double>(v);
    const double p = (1024 / 3) / 1024.0;
    EXPECT_NEAR(sum / kCount, 3 + p, 5 * std::sqrt(p * (1 - p) / kCount));
  });
}

// Over the tiny rings, every pair of values.
template <typename R>
void ExpectTinyRing() {
  RunOptions options;
  options.kind = "ot";
  options.make = [](net::Channel& channel, ReleaseGate& gate) -> std::unique_ptr<Engine> {
    static crypto::SystemRandom random;  // without state
    return std::make_unique<OtEngine<R>>(channel, gate, ChannelTapes(channel, kOtTapes), random);
  };
  constexpr size_t kValues = size_t{1} << R::kBits;
  IntMatrix x{{kValues * kValues, 1}, {}}, y = x;
  for (size_t i = 0; i < kValues * kValues; ++i) {
    x.values.push_back(R::ToSigned(static_cast<typename R::Word>(i % kValues)));
    y.values.push_back(R::ToSigned(static_cast<typename R::Word>(i / kValues)));
  }
  RunAll(options, [&](Engine& engine, size_t) {
    const PrivateMatrix inputs[] = {Private(engine, 0, x, 0.5), Private(engine, 1, y, 0.25)};
    const std::vector<Shared> in = engine.Input(inputs);
    const std::vector<Product> products = {{Kind::kElementwise, in[0], in[1]},
                                           {Kind::kElementwise, in[0], inputs[1]},
                                           {Kind::kElementwise, in[0], in[0]}};
    const auto opened = engine.Reveal("out", engine.Multiply(products), kEverybody);
    for (size_t i = 0; i < x.values.size(); ++i) {
      auto reduced = [](Int128 v) { return R::ToSigned(R::FromSigned(v)); };
      ASSERT_TRUE(opened[0].values[i] == reduced(x.values[i] * y.values[i])) << i;
      ASSERT_TRUE(opened[1].values[i] == reduced(x.values[i] * y.values[i])) << i;
      ASSERT_TRUE(opened[2].values[i] == reduced(x.values[i] * x.values[i])) << i;
    }
  }).ThrowIfFailed();
}

TEST(OtEngineTest, TinyRings) {
  ExpectTinyRing<Ring4>();
  ExpectTinyRing<Ring8>();
  ExpectTinyRing<Ring16>();
}

// The numbers that ot_engine.h states: bytes of both parties together, without openings.
TEST(OtEngineTest, CostsAreAsStated) {
  PlanEngine plan("ot", 2), online = OnlinePlan("ot", 2);
  auto bytes_of = [](PlanEngine& engine, auto operation) {
    engine.BeginPhase("x");
    operation(engine);
    return engine.phases().back().Total().bytes;
  };
  auto multiply = [](Engine& engine) {
    auto value = [] { return Shared{{1000, 1}, 0, 1, std::make_shared<Shared::Payload>()}; };
    const Product product{Kind::kElementwise, value(), value()};
    engine.Multiply({&product, 1});
  };
  const uint64_t opened = 2 * 2 * 1000 * 16;
  EXPECT_EQ(bytes_of(online, multiply), opened);
  EXPECT_EQ(bytes_of(plan, multiply), opened + 2 * (8224 + 8192) + 1000 * 3200);
  EXPECT_EQ(plan.phases().back().rounds[0], 2u + 2 + 1);
  EXPECT_EQ(online.phases().back().rounds[0], 1u);
  EXPECT_EQ(bytes_of(plan, multiply), opened + 1000 * 3200);
  EXPECT_EQ(plan.phases().back().rounds[0], 3u);
}

// --- what is seen on the wire

// By sender.
std::vector<std::vector<Bytes>> MessagesOf(int64_t x0, int64_t y0) {
  constexpr size_t kCount = 500;
  const IntMatrix x{{kCount, 1}, std::vector<Int128>(kCount, x0)};
  const IntMatrix y{{kCount, 1}, std::vector<Int128>(kCount, y0)};
  Transcript transcript;
  RunOptions options;
  options.kind = "ot";
  options.wrap = [&](std::unique_ptr<net::Transport> inner) {
    return std::make_unique<RecordingTransport>(std::move(inner), transcript);
  };
  RunAll(options, [&](Engine& engine, size_t) {
    const PrivateMatrix inputs[] = {Private(engine, 0, x, 0x1p50), Private(engine, 1, y, 0x1p50)};
    const std::vector<Shared> in = engine.Input(inputs);
    const std::vector<Product> products = {{Kind::kElementwise, in[0], in[1]},
                                           {Kind::kElementwise, inputs[0], inputs[1]}};
    engine.Multiply(products);
    engine.Rescale(in, 0);
    const size_t widths[] = {60, 60};
    const std::vector<CarryBits> carries = engine.Decompose(in, widths);
    const BitProduct both{carries[0].generate, carries[1].propagate};
    engine.And({&both, 1});
    const SharedBits bits = carries[0].propagate;
    engine.ToRing({&bits, 1});
  }).ThrowIfFailed();
  return {transcript.Messages(0, 1), transcript.Messages(1, 0)};
}

// All inputs zero, or all at opposite extremes: the same messages in number and length, and bytes
// of one distribution. Two-sample chi-square with 255 degrees of freedom per message; above 400
// with probability below 2e-8 each, 1e-6 in all (fewer than 50 messages).
TEST(OtViewTest, MessagesOfTwoWorldsLookAlike) {
  const auto zeros = MessagesOf(0, 0);
  const auto extremes = MessagesOf(int64_t{1} << 49, -(int64_t{1} << 49));
  for (PartyIndex from : {0, 1}) {
    const std::vector<Bytes>&zero = zeros[from], &extreme = extremes[from];
    ASSERT_EQ(zero.size(), extreme.size());
    ASSERT_LT(zero.size(), 25u);
    for (size_t m = 0; m < zero.size(); ++m) {
      ASSERT_EQ(zero[m].size(), extreme[m].size());
      std::array<double, 256> a{}, b{};
      for (uint8_t byte : zero[m]) ++a[byte];
      for (uint8_t byte : extreme[m]) ++b[byte];
      double chi_square = 0;
      for (size_t v = 0; v < 256; ++v) {
        if (a[v] + b[v] > 0) chi_square += (a[v] - b[v]) * (a[v] - b[v]) / (a[v] + b[v]);
      }
      EXPECT_LT(chi_square, 400) << "message " << m << " of party " << from;
    }
  }
}

// No eight bytes at a multiple of eight occur twice among all messages: a mask that is used twice
// would show. By chance 1e-9 (2e5 words).
TEST(OtViewTest, NothingIsMaskedTwice) {
  std::set<uint64_t> seen;
  size_t words = 0;
  const auto messages = MessagesOf(0, 0);
  for (const Bytes& message : messages[0]) {
    for (size_t at = 0; at + 8 <= message.size(); at += 8) {
      uint64_t word = 0;
      std::memcpy(&word, message.data() + at, 8);
      seen.insert(word);
      ++words;
    }
  }
  EXPECT_GT(words, 10'000u);
  EXPECT_EQ(seen.size(), words);
}

// An oracle's centre asks the same twice: no part of the second request is one of the first.
TEST(OtViewTest, OracleRequestsHaveFreshPads) {
  Transcript transcript;
  RunOptions options;
  options.kind = "ot";
  options.wrap = [&](std::unique_ptr<net::Transport> inner) {
    return std::make_unique<RecordingTransport>(std::move(inner), transcript);
  };
  const IntMatrix s{{3, 1}, {5, 6, 7}};
  RunAll(options, [&](Engine& engine, size_t) {
    const PrivateMatrix input = Private(engine, 1, s, 10);
    const Shared shared = engine.Input({&input, 1})[0];
    engine.RunOracle(shared, {0, 0, 10, {{"out", 1, 2}}}, [&](const OracleEvaluate& evaluate) {
      for (int i = 0; i < 2; ++i) {
        EXPECT_TRUE(evaluate(0, {{1, 3}, {1, 2, 3}}) == (IntMatrix{{1, 1}, {38}}));
      }
    });
  }).ThrowIfFailed();
  const std::vector<Bytes> sent = transcript.Messages(0, 1);
  std::vector<Bytes> requests;
  for (const Bytes& message : sent) {
    if (message.size() == 8 + 3 * 1088) requests.push_back(message);
  }
  ASSERT_EQ(requests.size(), 2u);
  size_t equal = 0;
  for (size_t i = 8; i < requests[0].size(); ++i) equal += requests[0][i] == requests[1][i] ? 1 : 0;
  // 3264 bytes agree by chance 12.75 times; 50 times with probability below 1e-13.
  EXPECT_LT(equal, 50u);
}

// --- errors

ErrorCode CodeOf(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.code();
  }
  return ErrorCode::kInternal;
}

TEST(OtErrorsTest, OnlyTwoParties) {
  EXPECT_EQ(CodeOf([] { PlanEngine("ot", 3); }), ErrorCode::kBadInput);
  const RunResult result = RunAll({.kind = "ot", .num_parties = 3}, [](Engine&, size_t) {});
  for (const auto& error : result.errors) {
    ASSERT_TRUE(error);
    const ErrorCode code = CodeOf([&] { std::rethrow_exception(error); });
    EXPECT_TRUE(code == ErrorCode::kBadInput || code == ErrorCode::kPeerLost);
  }
}

// Frames that begin a link but are no elements, or have another length: named, and both stop.
TEST(OtErrorsTest, APeerThatBeginsALinkWrongly) {
  for (size_t size : {ot::kLinkFirstBytes, ot::kLinkFirstBytes - 1, ot::kLinkFirstBytes + 1}) {
    RunOptions options;
    options.kind = "ot";
    options.prepare = [&](net::Channel& channel) {
      if (channel.self() != 1) return;
      const Bytes bad(size, 0xff);
      const net::Send send{0, bad, 0, nullptr};
      Bytes theirs(ot::kLinkFirstBytes);
      net::Receive receive;
      receive.from = 0;
      receive.into = theirs;
      channel.Exchange({&send, 1}, {&receive, 1});
    };
    const IntMatrix x{{1, 1}, {3}};
    const RunResult result = RunAll(options, [&](Engine& engine, size_t self) {
      if (self == 1) return;
      const PrivateMatrix inputs[] = {Private(engine, 0, x, 10), Private(engine, 1, x, 10)};
      const Product product{Kind::kElementwise, inputs[0], inputs[1]};
      engine.Multiply({&product, 1});
    });
    ASSERT_TRUE(result.errors[0]);
    EXPECT_EQ(CodeOf([&] { std::rethrow_exception(result.errors[0]); }), ErrorCode::kPeerFault);
  }
}

// Tweaks: no index twice, in either direction, and both parties agree on them.
TEST(LinkTest, IndicesAreNeverRepeated) {
  std::vector<std::vector<uint64_t>> first(2);
  RunOptions options;
  options.kind = "ot";
  options.prepare = [&](net::Channel& channel) {
    crypto::SystemRandom random;
    ot::Link link(channel, 1 - channel.self(), random);
    for (PartyIndex sender : {0, 1, 1, 0, 1}) {
      first[channel.self()].push_back(link.TakeIndices(sender, 100));
    }
  };
  RunAll(options, [](Engine&, size_t) {}).ThrowIfFailed();
  EXPECT_EQ(first[0], first[1]);
  std::sort(first[0].begin(), first[0].end());
  for (size_t i = 1; i < first[0].size(); ++i) EXPECT_GE(first[0][i] - first[0][i - 1], 100u);
}

// A piece that was handed out is gone; one that was not used is noticed.
TEST(AheadSourceTest, EveryPieceOnce) {
  struct Source : AheadSource<Ring64> {
    using AheadSource::AheadSource;
    using AheadSource::Give;
  };
  const crypto::Key key(std::array<uint8_t, 32>{1});
  Source source(KeyTape(key), false);
  StepMessages messages;
  std::vector<uint64_t> out(2);
  auto words = Words<Ring64>(out);
  source.Give({{32, Bytes(16, 1)}});
  EXPECT_EQ(CodeOf([&] { source.Give({}); }), ErrorCode::kInternal);
  source.Deal(32, false, words, messages);
  EXPECT_EQ(out[1], 0x0101010101010101u);
  EXPECT_THROW(source.Deal(32, false, words, messages), Error);
  EXPECT_THROW(source.DealBits(32, false, out, messages), Error);
  source.Give({{48, Bytes(8, 1)}});
  EXPECT_THROW(source.Deal(48, false, words, messages), Error) << "of another size";
  // What no piece tells of is a mask from the tape, or dealt on it.
  Source on_tape(KeyTape(key), true);
  on_tape.Deal(64, false, words, messages);
  std::vector<uint64_t> mask(2);
  source.Mask({2, 1}, 64).fill(0, 2, mask);
  EXPECT_EQ(mask, out);
}

}  // namespace
}  // namespace partita::mpc::testing::ot_engine_test
