// Tasks that travel together equal the same tasks one after the other, in the rounds of the longest
// and the bytes of all; whatever ends one of them ends all, at every party, and leaves no thread.
#include "mpc/together.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>

#include "base/error.h"
#include "base/progress.h"
#include "mpc/compare.h"
#include "mpc/functions/arithmetic.h"
#include "mpc/functions/reciprocal.h"
#include "tests/mpc/harness.h"
#include "tests/net/stopping_transport.h"

namespace partita::mpc::testing::together_test {
namespace {

using Kind = Product::Kind;

struct Setting {
  std::string kind;
  size_t num_parties;
};
const Setting kSettings[] = {{"dealer", 2}, {"dealer", 4}, {"replicated", 3},
                             {"ot", 2},     {"shamir", 3}, {"shamir", 5}};

RunOptions OptionsOf(const Setting& setting) {
  return {.kind = setting.kind, .num_parties = setting.num_parties};
}

constexpr int kBits = 20;
const IntMatrix kA{{2, 2}, {3, -5, 7, 11}}, kB{{2, 2}, {-2, 13, 1, 4}};

std::vector<Shared> InputsOf(Engine& engine) {
  const PrivateMatrix inputs[] = {Private(engine, 0, kA, 16), Private(engine, 1, kB, 16)};
  return engine.Input(inputs);
}

IntMatrix Open(Engine& engine, const Shared& value) {
  return engine.Reveal("out", {&value, 1}, kEverybody).front();
}

// a b^times, one product after the other.
Shared TimesPower(Engine& engine, Shared a, const Shared& b, size_t times) {
  for (size_t i = 0; i < times; ++i) {
    const Product product{Kind::kMatrix, a, b};
    a = engine.Multiply({&product, 1}).front();
  }
  return a;
}

IntMatrix PlainTimesPower(IntMatrix a, const IntMatrix& b, size_t times) {
  for (size_t i = 0; i < times; ++i) a = PlainProduct(Kind::kMatrix, a, b);
  return a;
}

// 1 where an entry of a is below b's.
Shared Below(Engine& engine, const Shared& a, const Shared& b) {
  const Comparison comparison{a, b};
  return engine.ToRing(LessThan(engine, {&comparison, 1})).front();
}

// Random bits, the same with themselves, and their complement with themselves: 1 and 0, with bits
// that differ between parties where these do not draw in the same order.
std::vector<SharedBits> DrawnBits(Engine& engine, crypto::RandomSource& own) {
  const SharedBits drawn = engine.RandomBits({3, 1}, 8, own);
  const BitProduct products[] = {{drawn, drawn}, {drawn, engine.Not(drawn)}};
  const std::vector<SharedBits> both = engine.And(products);
  return {engine.Xor(drawn, both[0]), both[1]};
}

TEST(Together, EqualsOneAfterTheOther) {
  for (const Setting& setting : kSettings) {
    SCOPED_TRACE(setting.kind + " " + std::to_string(setting.num_parties));
    RunAndComparePlan(OptionsOf(setting), [&](Engine& engine, size_t) {
      crypto::SystemRandom own;
      const std::vector<Shared> in = InputsOf(engine);
      Shared power, below, inverse;
      std::vector<SharedBits> drawn, drawn_too;
      const std::vector<Task> tasks = {
          [&](Engine& e) { power = TimesPower(e, in[0], in[1], 3); },
          [&](Engine& e) { drawn = DrawnBits(e, own); },
          [&](Engine& e) { below = Below(e, in[0], in[1]); },
          [&](Engine& e) {
            const PositiveValue value{WithBound(e.Scale(in[0], 1), 16), 1};
            inverse = Reciprocal(e, {&value, 1}, kBits).front();
          },
          [&](Engine& e) { drawn_too = DrawnBits(e, own); }};
      Together(engine, tasks);
      drawn.insert(drawn.end(), drawn_too.begin(), drawn_too.end());
      const IntMatrix powers = Open(engine, power), bits = Open(engine, below),
                      inverses = Open(engine, inverse);
      const std::vector<BitMatrix> zeros = engine.RevealBits("out", drawn, kEverybody);
      if (!engine.self()) return;
      EXPECT_TRUE(powers == PlainTimesPower(kA, kB, 3));
      EXPECT_TRUE(bits == (IntMatrix{{2, 2}, {0, 1, 0, 0}}));
      for (const size_t i : {size_t{0}, size_t{2}, size_t{3}}) {
        EXPECT_NEAR(DecodeFixed(inverses.values[i], kBits), 1 / static_cast<double>(kA.values[i]),
                    2 * std::ldexp(1, -kBits));
      }
      for (const BitMatrix& zero : zeros) {
        for (const uint64_t word : zero.words) EXPECT_EQ(word, 0u);
      }
    });
  }
}

// Of a run so far: its longest chain of messages, and the payload of all links.
struct Cost {
  uint64_t rounds = 0, messages = 0, bytes = 0;
};
Cost CostOf(const Setting& setting, const std::function<void(Engine&)>& body) {
  PlanEngine plan(setting.kind, setting.num_parties);
  body(plan);
  Cost cost;
  std::vector<uint64_t> depths(plan.num_processes());
  for (const PhaseCost& phase : plan.phases()) {
    for (size_t i = 0; i < depths.size(); ++i) depths[i] += phase.rounds[i];
    cost.messages += phase.Total().messages;
    cost.bytes += phase.Total().bytes;
  }
  cost.rounds = *std::max_element(depths.begin(), depths.end());
  return cost;
}

// Products alone, so that all operations have the same rounds on every engine. That runs have the
// costs of plans is compared above.
TEST(Together, TakesTheRoundsOfTheLongestAndTheBytesOfAll) {
  for (const Setting& setting : kSettings) {
    SCOPED_TRACE(setting.kind + " " + std::to_string(setting.num_parties));
    const auto products = [&](const std::vector<size_t>& lengths) {
      return CostOf(setting, [&](Engine& engine) {
        const std::vector<Shared> in = InputsOf(engine);
        std::vector<Task> tasks;
        for (const size_t length : lengths)
          tasks.emplace_back([&in, length](Engine& e) { TimesPower(e, in[0], in[1], length); });
        Together(engine, tasks);
      });
    };
    const Cost none = products({}), longest = products({5}), all = products({2, 5, 0, 3});
    EXPECT_EQ(all.rounds, longest.rounds);
    EXPECT_EQ(all.messages, longest.messages);
    const uint64_t sum = longest.bytes + products({2}).bytes + products({3}).bytes - 2 * none.bytes;
    if (setting.kind == "ot") {
      EXPECT_LE(all.bytes, sum);
    } else {
      EXPECT_EQ(all.bytes, sum);
    }
  }
}

// On `dealer` of any tasks, what is local included.
TEST(Together, TakesTheRoundsOfTheLongestOfAnyTasksOnDealer) {
  const auto rounds = [](const std::vector<Task>& tasks, bool together) {
    return CostOf({"dealer", 3},
                  [&](Engine& engine) {
                    if (together) return Together(engine, tasks);
                    for (const Task& task : tasks) task(engine);
                  })
        .rounds;
  };
  const auto constant = [](Engine& e) {
    return WithBound(e.Public({{{2, 2}, {1, 2, 3, 4}}, kBits}), 16);
  };
  const std::vector<Task> tasks = {[&](Engine& e) {
                                     const PositiveValue value{constant(e), 0.5};
                                     Root(e, {&value, 1}, kBits);
                                   },
                                   [&](Engine& e) { TimesPower(e, constant(e), constant(e), 2); },
                                   [&](Engine& e) {
                                     Shared x = constant(e);
                                     for (int i = 1; i <= 30; ++i)
                                       x = e.Rescale({&x, 1}, kBits + i).front();  // local
                                     Below(e, x, x);
                                   }};
  const uint64_t alone[] = {rounds({tasks[0]}, false), rounds({tasks[1]}, false),
                            rounds({tasks[2]}, false)};
  EXPECT_EQ(rounds(tasks, false), alone[0] + alone[1] + alone[2]);
  EXPECT_EQ(rounds(tasks, true), alone[0]);
  EXPECT_GT(alone[0], alone[2]);
  EXPECT_EQ(rounds({tasks[1], tasks[2]}, true), alone[2]);
  EXPECT_EQ(rounds({tasks[2]}, true), alone[2]);
  EXPECT_EQ(rounds({}, true), 0u);
}

TEST(Together, TasksMayHaveTasks) {
  for (const Setting& setting : kSettings) {
    SCOPED_TRACE(setting.kind + " " + std::to_string(setting.num_parties));
    RunAndComparePlan(OptionsOf(setting), [&](Engine& engine, size_t) {
      const std::vector<Shared> in = InputsOf(engine);
      std::vector<Shared> powers(3);
      const auto power = [&](size_t times) {
        return [&, times](Engine& e) { powers[times] = TimesPower(e, in[0], in[1], times); };
      };
      const std::vector<Task> inner = {power(2), power(0)};
      const std::vector<Task> outer = {power(1), [&](Engine& e) { Together(e, inner); }};
      Together(engine, outer);
      for (size_t times = 0; times < powers.size(); ++times) {
        const IntMatrix opened = Open(engine, powers[times]);
        EXPECT_TRUE(!engine.self() || opened == PlainTimesPower(kA, kB, times)) << times;
      }
    });
  }
}

// Counts the tasks that are under way.
class UnderWay {
 public:
  explicit UnderWay(std::atomic<int>& count) : count_(count) { ++count_; }
  ~UnderWay() { --count_; }

 private:
  std::atomic<int>& count_;
};

ErrorCode CodeOf(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.code();
  }
  return ErrorCode::kInternal;
}

// Whichever it is, before its first operation, between two, or after the others have ended. The
// engine is as good as before.
TEST(Together, ATaskThatThrowsEndsAll) {
  for (const Setting& setting : kSettings) {
    SCOPED_TRACE(setting.kind + " " + std::to_string(setting.num_parties));
    RunAndComparePlan(OptionsOf(setting), [&](Engine& engine, size_t) {
      const std::vector<Shared> in = InputsOf(engine);
      for (size_t which = 0; which < 3; ++which) {
        for (size_t when = 0; when < 4; ++when) {
          std::atomic<int> under_way = 0, ended = 0;
          std::vector<Task> tasks;
          for (size_t t = 0; t < 3; ++t) {
            tasks.emplace_back([&, t](Engine& e) {
              const UnderWay here(under_way);
              TimesPower(e, in[0], in[1], t == which ? when : 2);
              if (t == which) throw Error(ErrorCode::kBadInput, "of the test");
              ++ended;
            });
          }
          EXPECT_EQ(CodeOf([&] { Together(engine, tasks); }), ErrorCode::kBadInput);
          EXPECT_EQ(under_way, 0);
          EXPECT_EQ(ended, when == 3 ? 2 : when == 2 ? static_cast<int>(which) : 0);
        }
      }
      const IntMatrix opened = Open(engine, TimesPower(engine, in[0], in[1], 1));
      EXPECT_TRUE(!engine.self() || opened == PlainTimesPower(kA, kB, 1));
    });
  }
}

TEST(Together, OfSeveralErrorsItIsTheFirst) {
  PlanEngine plan("dealer", 2);
  const std::vector<Task> tasks = {[](Engine& e) {
                                     try {
                                       TimesPower(e, InputsOf(e)[0], InputsOf(e)[1], 1);
                                     } catch (...) {
                                       throw Error(ErrorCode::kInternal, "while the task ends");
                                     }
                                   },
                                   [](Engine&) { throw Error(ErrorCode::kBadInput, "first"); },
                                   [](Engine&) { throw Error(ErrorCode::kRefused, "not begun"); }};
  EXPECT_EQ(CodeOf([&] { Together(plan, tasks); }), ErrorCode::kBadInput);
}

TEST(Together, RefusesWhatHasItsPlaceInTheProgram) {
  CountingReleaseGate gate;
  gate.Reserve({{"out", "test output", "all", "exact", 1000}});
  PlanEngine plan("dealer", 2, &gate);
  const Shared x = plan.Public({{{1, 1}, {1}}, 0});
  const SharedBits bits = plan.PublicBits(MakeBits({1, 1}, 1));
  const std::vector<Task> refused = {
      [&](Engine& e) {
        e.Reveal("out", {&x, 1}, kEverybody);
      },
      [&](Engine& e) {
        e.RevealBits("out", {&bits, 1}, 0);
      },
      [&](Engine& e) { e.BeginPhase("phase"); },
      [&](Engine& e) { e.AgreeToOpen(); },
      [&](Engine& e) { e.RunOracle(x, {}, {}); },
      [&](Engine& e) {
        Together(e, std::vector<Task>{[&](Engine& own) { own.Reveal("out", {&x, 1}, 0); }});
      }};
  for (const Task& task : refused) {
    EXPECT_EQ(CodeOf([&] { Together(plan, {&task, 1}); }), ErrorCode::kUsage);
  }
  EXPECT_TRUE(plan.openings().empty());
}

// The user of one party stops it at its `number`-th look.
class CancelsAt : public SilentProgress {
 public:
  explicit CancelsAt(size_t number) : left_(number) {}
  void CheckCancelled() override {
    if (left_-- == 0) throw Error(ErrorCode::kCancelled, "of the test");
  }

 private:
  size_t left_;
};

// Two tasks of four products at every party; what each of them ends with.
RunResult RunTwo(const RunOptions& options, std::atomic<int>& under_way,
                 const std::function<void(Engine&, size_t step)>& before) {
  return RunAll(options, [&](Engine& engine, size_t) {
    const std::vector<Shared> in = InputsOf(engine);
    const Task task = [&](Engine& e) {
      const UnderWay here(under_way);
      Shared power = in[0];
      for (size_t step = 0; step < 4; ++step) {
        before(e, step);
        power = TimesPower(e, power, in[1], 1);
      }
    };
    Together(engine, std::vector<Task>{task, task});
    Open(engine, in[0]);
  });
}

TEST(Together, CancellingOnePartyEndsAll) {
  for (const Setting& setting : kSettings) {
    SCOPED_TRACE(setting.kind + " " + std::to_string(setting.num_parties));
    for (size_t number = 0; number < 8; ++number) {
      std::atomic<int> under_way = 0;
      CancelsAt progress(number);
      const RunResult result = RunTwo(OptionsOf(setting), under_way, [&](Engine& engine, size_t) {
        if (engine.self() == 1u) progress.CheckCancelled();
      });
      for (size_t party = 0; party < setting.num_parties; ++party) {
        ASSERT_NE(result.errors[party], nullptr) << party;
        const ErrorCode code = CodeOf([&] { std::rethrow_exception(result.errors[party]); });
        EXPECT_EQ(code, party == 1 ? ErrorCode::kCancelled : ErrorCode::kPeerLost);
      }
      EXPECT_EQ(under_way, 0);
    }
  }
}

// One party's connection fails at each of its events in turn: everybody ends.
TEST(Together, AnErrorOfAPeerEndsAll) {
  for (const Setting& setting : kSettings) {
    SCOPED_TRACE(setting.kind + " " + std::to_string(setting.num_parties));
    size_t stops = 0;
    for (uint64_t number = 0;; number += setting.num_parties) {
      std::atomic<int> under_way = 0;
      RunOptions options = OptionsOf(setting);
      options.wrap = [&](std::unique_ptr<net::Transport> inner) -> std::unique_ptr<net::Transport> {
        if (inner->self() != 0) return inner;
        return std::make_unique<net::StoppingTransport>(std::move(inner), number);
      };
      const RunResult result = RunTwo(options, under_way, [](Engine&, size_t) {});
      EXPECT_EQ(under_way, 0);
      if (result.errors[0] == nullptr) break;
      ++stops;
    }
    EXPECT_GT(stops, 5u);
  }
}

}  // namespace
}  // namespace partita::mpc::testing::together_test
