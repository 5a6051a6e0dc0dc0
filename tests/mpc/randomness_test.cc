// When randomness may be used twice and when not (rules R-a and R-c), seen on the wire and on the
// tapes of the engine `dealer`.
#include <gtest/gtest.h>

#include <set>

#include "base/error.h"
#include "mpc/dealer_engine.h"
#include "mpc/dealer_node.h"
#include "tests/mpc/harness.h"
#include "tests/mpc/transcript.h"

namespace partita::mpc::testing::randomness_test {
namespace {

using Kind = Product::Kind;

// Sends nothing twice from memory: every use of a fixed operand is a new message.
constexpr DealerOptions kNeverKeep{0};
std::unique_ptr<CostModel> NeverKeepPlan(size_t num_parties) {
  return MakeDealerCostModel(num_parties, 128, kNeverKeep);
}

// Every engine with these options and tapes.
EngineMaker MakeWith(DealerOptions options,
                     std::function<TapeFactory(net::Channel&)> tapes = nullptr) {
  return [=](net::Channel& channel, ReleaseGate& gate) -> std::unique_ptr<Engine> {
    TapeFactory factory = tapes ? tapes(channel) : ChannelTapes(channel, kDealerTapes);
    if (channel.self() + 1 == channel.num_parties()) {
      return std::make_unique<DealerNode<Ring128>>(channel, factory, options);
    }
    return std::make_unique<DealerEngine<Ring128>>(channel, gate, factory, options);
  };
}

RunOptions Recorded(Transcript& transcript, EngineMaker make = {}) {
  RunOptions options;
  options.make = std::move(make);
  options.wrap = [&transcript](std::unique_ptr<net::Transport> inner) {
    return std::make_unique<RecordingTransport>(std::move(inner), transcript);
  };
  return options;
}

// A fixed matrix of party 0 times one of party 1 and times a changing private one, twice.
std::vector<IntMatrix> UseFixedTwice(Engine& engine, const IntMatrix& x, const IntMatrix& y) {
  FixedOperand fixed_x = engine.Register(Private(engine, 0, x, 1000));
  FixedOperand fixed_y = engine.Register(Private(engine, 1, y, 1000));
  std::vector<Shared> shares;
  for (int i = 0; i < 2; ++i) {
    std::vector<Product> products = {{Kind::kGram, fixed_x, fixed_y},
                                     {Kind::kGram, fixed_x, fixed_y},
                                     {Kind::kGram, fixed_x, Private(engine, 1, y, 1000)}};
    for (Shared& share : engine.Multiply(products)) shares.push_back(share);
  }
  return engine.Reveal("out", shares, kEverybody);
}

struct FixedTest : ::testing::Test {
  std::mt19937_64 random{1};
  IntMatrix x = RandomMatrix(random, {900, 7}, 1000), y = RandomMatrix(random, {900, 5}, 1000);
  const size_t x_bytes = 900 * 7 * 16, y_bytes = 900 * 5 * 16;
};

TEST_F(FixedTest, ASentOpeningIsKeptAndNotSentAgain) {
  Transcript transcript;
  std::vector<std::vector<IntMatrix>> opened(4);
  RunAndComparePlan(Recorded(transcript), [&](Engine& engine, size_t self) {
    opened[self] = UseFixedTwice(engine, x, y);
  });
  for (size_t party : {0, 1}) {
    for (const auto& m : opened[party]) EXPECT_TRUE(m == PlainProduct(Kind::kGram, x, y));
  }
  auto from0 = transcript.Messages(0, 1), from1 = transcript.Messages(1, 0);
  ASSERT_EQ(from0.size(), 2u);  // the opening of x once, then the shares of the results
  EXPECT_EQ(from0[0].size(), x_bytes);
  ASSERT_EQ(from1.size(), 3u);
  EXPECT_EQ(from1[0].size(), 2 * y_bytes);  // fixed and changing
  EXPECT_EQ(from1[1].size(), y_bytes);      // changing only
}

TEST_F(FixedTest, AnOpeningThatIsNotKeptIsTheSameBytesAgain) {
  Transcript transcript;
  RunOptions options = Recorded(transcript, MakeWith(kNeverKeep));
  options.plan = &NeverKeepPlan;
  std::vector<std::vector<IntMatrix>> opened(4);
  RunAndComparePlan(
      options, [&](Engine& engine, size_t self) { opened[self] = UseFixedTwice(engine, x, y); });
  for (const auto& m : opened[1]) EXPECT_TRUE(m == PlainProduct(Kind::kGram, x, y));
  auto from0 = transcript.Messages(0, 1), from1 = transcript.Messages(1, 0);
  ASSERT_EQ(from0.size(), 3u);
  EXPECT_EQ(from0[0], from0[1]);
  // Of party 1 the fixed opening is repeated, the changing one is not although its values are.
  ASSERT_EQ(from1.size(), 3u);
  ASSERT_EQ(from1[0].size(), 2 * y_bytes);
  auto half = [&](size_t message, size_t part) {
    return Bytes(from1[message].begin() + static_cast<ptrdiff_t>(part * y_bytes),
                 from1[message].begin() + static_cast<ptrdiff_t>((part + 1) * y_bytes));
  };
  EXPECT_EQ(half(0, 0), half(1, 0));
  EXPECT_NE(half(0, 1), half(1, 1));
  EXPECT_NE(half(0, 0), half(0, 1));
  // Every product is dealt afresh, the repeated ones too.
  std::set<Bytes> corrections;
  for (const Bytes& message : transcript.Messages(2, 1)) {
    for (size_t i = 0; i < message.size(); i += 7 * 5 * 16) {
      corrections.emplace(message.begin() + static_cast<ptrdiff_t>(i),
                          message.begin() + static_cast<ptrdiff_t>(i + 7 * 5 * 16));
    }
  }
  EXPECT_EQ(corrections.size(), 6u);
}

TEST_F(FixedTest, AFixedMatrixThatChangedIsRefused) {
  RunOptions options;
  options.make = MakeWith(kNeverKeep);
  IntMatrix changed = x;
  changed.values[700 * 7] += 1;
  auto result = RunAll(options, [&](Engine& engine, size_t) {
    bool second = false;
    PrivateMatrix matrix = Private(engine, 0, x, 1000);
    if (matrix.read) {
      matrix.read = [&](size_t first, size_t count, Int128* out) {
        const IntMatrix& now = second ? changed : x;
        std::copy_n(now.values.begin() + static_cast<ptrdiff_t>(7 * first), 7 * count, out);
      };
    }
    FixedOperand fixed = engine.Register(matrix);
    for (int i = 0; i < 2; ++i) {
      std::vector<Product> products = {{Kind::kGram, fixed, Private(engine, 1, y, 1000)}};
      engine.Multiply(products);
      second = true;
    }
  });
  ASSERT_TRUE(result.errors[0]);
  try {
    std::rethrow_exception(result.errors[0]);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBadData);
  }
  EXPECT_TRUE(result.errors[1]);
}

// What all processes send in one run of a small program.
std::vector<Bytes> OneRun(const EngineMaker& make) {
  Transcript transcript;
  RunOptions options = Recorded(transcript, make);
  IntMatrix x{{2, 2}, {1, 2, 3, 4}};
  RunAll(options, [&](Engine& engine, size_t) {
    FixedOperand fixed = engine.Register(Private(engine, 0, x, 10));
    std::vector<PrivateMatrix> inputs = {Private(engine, 1, x, 10)};
    Shared shared = engine.Input(inputs)[0], truncated = shared;
    truncated.fraction_bits = 20;
    std::vector<Product> products = {{Kind::kMatrix, shared, shared},
                                     {Kind::kMatrix, shared, fixed},
                                     {Kind::kMatrix, fixed, Private(engine, 1, x, 10)}};
    auto shares = engine.Multiply(products);
    shares.push_back(engine.Rescale({&truncated, 1}, 0)[0]);
    shares.push_back(shared);  // a bare input: only the zero shares hide its owner's share
    engine.Reveal("out", shares, 0);
  }).ThrowIfFailed();
  std::vector<Bytes> all;
  for (size_t from = 0; from <= 2; ++from) {
    for (size_t to = 0; to < 2; ++to) {
      for (Bytes& message : transcript.Messages(from, to)) all.push_back(std::move(message));
    }
  }
  return all;
}

// True if no 16-byte element that anybody sends appears twice, within a run or between two: with
// uniform masks a repetition among fewer than 2^9 elements has probability below 2^-110.
bool EverythingIsFresh(const EngineMaker& make) {
  std::set<Bytes> seen;
  size_t count = 0;
  for (int run = 0; run < 2; ++run) {
    std::set<Bytes> messages;
    for (Bytes& message : OneRun(make)) messages.insert(std::move(message));
    for (const Bytes& message : messages) {
      for (size_t i = 0; i < message.size(); i += 16, ++count) {
        seen.emplace(message.begin() + static_cast<ptrdiff_t>(i),
                     message.begin() + static_cast<ptrdiff_t>(i + 16));
      }
    }
  }
  return count > 0 && seen.size() == count;
}

// Expands a key that is a constant, or the same tape wherever it is read.
class FaultyTape : public Tape {
 public:
  FaultyTape(std::unique_ptr<Tape> inner, uint64_t period)
      : inner_(std::move(inner)), period_(period) {}
  void Read(uint64_t offset, std::span<uint8_t> out) override {
    for (size_t i = 0; i < out.size(); ++i) inner_->Read((offset + i) % period_, out.subspan(i, 1));
  }

 private:
  std::unique_ptr<Tape> inner_;
  uint64_t period_;
};

// Bytes that depend on the pair and the offset, but not on the run.
class ConstantTape : public Tape {
 public:
  explicit ConstantTape(uint64_t pair) : pair_(pair) {}
  void Read(uint64_t offset, std::span<uint8_t> out) override {
    for (size_t i = 0; i < out.size(); ++i) {
      std::mt19937_64 random(pair_ * 1'000'003 + offset + i);
      out[i] = static_cast<uint8_t>(random());
    }
  }

 private:
  uint64_t pair_;
};

TEST(FreshnessTest, NothingIsSentTwice) { EXPECT_TRUE(EverythingIsFresh(MakeWith({}))); }

TEST(FreshnessTest, TheCheckCatchesMasksThatSurviveARun) {
  auto constant = [](net::Channel& channel) -> TapeFactory {
    return [self = channel.self()](PartyIndex peer) {
      return std::make_unique<ConstantTape>((std::min(self, peer) + 1) * 100 +
                                            std::max(self, peer));
    };
  };
  EXPECT_FALSE(EverythingIsFresh(MakeWith({}, constant)));
}

TEST(FreshnessTest, TheCheckCatchesMasksThatRepeatWithinARun) {
  auto repeating = [](net::Channel& channel) -> TapeFactory {
    return [inner = ChannelTapes(channel, kDealerTapes)](PartyIndex peer) {
      return std::make_unique<FaultyTape>(inner(peer), 16);
    };
  };
  EXPECT_FALSE(EverythingIsFresh(MakeWith({}, repeating)));
}

// Tapes that log which bytes were read.
struct ReadLog {
  std::map<std::pair<PartyIndex, uint64_t>, int> bytes;  // (peer, offset) -> number of reads
};

class LoggedTape : public Tape {
 public:
  LoggedTape(std::unique_ptr<Tape> inner, PartyIndex peer, ReadLog& log)
      : inner_(std::move(inner)), peer_(peer), log_(log) {}
  void Read(uint64_t offset, std::span<uint8_t> out) override {
    inner_->Read(offset, out);
    for (size_t i = 0; i < out.size(); ++i) ++log_.bytes[{peer_, offset + i}];
  }

 private:
  std::unique_ptr<Tape> inner_;
  PartyIndex peer_;
  ReadLog& log_;
};

// Two operations never read the same place of a tape, except a fixed operand's mask.
TEST(FreshnessTest, OperationsReadDisjointPlacesOfEveryTape) {
  IntMatrix x{{3, 1}, {1, 2, 3}};
  auto places = [&](size_t process, bool repeat_fixed) {
    ReadLog log;
    std::vector<std::set<std::pair<PartyIndex, uint64_t>>> by_operation;
    RunOptions options;
    options.make = MakeWith({}, [&](net::Channel& channel) -> TapeFactory {
      const bool logged = channel.self() == process;
      return [inner = ChannelTapes(channel, kDealerTapes), logged,
              &log](PartyIndex peer) -> std::unique_ptr<Tape> {
        if (!logged) return inner(peer);
        return std::make_unique<LoggedTape>(inner(peer), peer, log);
      };
    });
    RunAll(options, [&](Engine& engine, size_t self) {
      FixedOperand fixed = engine.Register(Private(engine, 0, x, 10));
      std::vector<PrivateMatrix> inputs = {Private(engine, 1, x, 10)};
      Shared shared = engine.Input(inputs)[0], truncated = shared;
      truncated.fraction_bits = 20;
      auto note = [&] {
        if (self != process) return;
        by_operation.emplace_back();
        for (const auto& [place, times] : log.bytes) by_operation.back().insert(place);
        log.bytes.clear();
      };
      for (int i = 0; i < 2; ++i) {
        std::vector<Product> products = {{Kind::kElementwise, shared, shared}};
        engine.Multiply(products);
        note();
        engine.Rescale({&truncated, 1}, 0);
        note();
        products = {{Kind::kElementwise, shared, Private(engine, 0, x, 10)}};
        engine.Multiply(products);
        note();
        if (repeat_fixed) {
          products = {{Kind::kElementwise, fixed, shared}};
          engine.Multiply(products);
          note();
        }
        engine.Reveal("out", {&shared, 1}, kEverybody);
        note();
      }
    }).ThrowIfFailed();
    return by_operation;
  };
  auto overlaps = [](const auto& sets) {
    size_t count = 0;
    for (size_t i = 0; i < sets.size(); ++i) {
      for (size_t j = 0; j < i; ++j) {
        for (const auto& place : sets[i]) count += sets[j].contains(place);
      }
    }
    return count;
  };
  for (size_t process = 0; process < 3; ++process) {
    auto sets = places(process, false);
    EXPECT_EQ(sets.size(), 8u);
    EXPECT_EQ(overlaps(sets), 0u) << process;
  }
  EXPECT_EQ(overlaps(places(0, true)), 3u * 16);  // the owner's mask of the fixed operand
  EXPECT_EQ(overlaps(places(1, true)), 0u);
}

}  // namespace
}  // namespace partita::mpc::testing::randomness_test
