// Linear oracles of both engines against plaintext integers, their costs against the PlanEngine and
// against what linear_oracle.h states, and what goes wrong.
#include "mpc/linear_oracle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "base/error.h"
#include "mpc/dealer_engine.h"
#include "mpc/oracle_schedule.h"
#include "mpc/oracle_session.h"
#include "mpc/ot/ot_engine.h"
#include "mpc/replicated_engine.h"
#include "mpc/shamir_engine.h"
#include "tests/mpc/harness.h"

namespace partita::mpc::testing::linear_oracle_test {
namespace {

// What crosses every link ([from][to]) during an oracle with exactly so many evaluations, in
// whatever order: set-up, requests, replies, chunks and the stop.
std::vector<std::vector<LinkCost>> OracleTraffic(const OracleCost& cost, const OracleTask& task,
                                                 const OracleUse& use, size_t num_processes) {
  std::vector<std::vector<LinkCost>> links(num_processes, std::vector<LinkCost>(num_processes));
  auto add = [&](const ExecutionCost& execution) {
    for (const MessagePart& part : execution.parts) {
      ++links[part.from][part.to].messages;
      links[part.from][part.to].bytes += part.bytes;
    }
  };
  add(cost.setup);
  OracleChunks chunks(cost.rows_per_chunk, cost.num_chunks);
  for (size_t k = 0; k < task.kinds.size(); ++k) {
    for (uint64_t i = 0; i < use.evaluations[k]; ++i) {
      add(CostOfEvaluation(cost, k, chunks.Take(task.kinds[k].rows)));
    }
  }
  add(CostOfStop(cost, chunks.outstanding()));
  return links;
}

using ::testing::HasSubstr;

constexpr size_t kElement = 16, kHead = 8;

struct Setting {
  std::string kind;
  size_t num_parties;
};
const Setting kSettings[] = {{"dealer", 2}, {"dealer", 3}, {"dealer", 5}, {"replicated", 3},
                             {"ot", 2},     {"shamir", 3}, {"shamir", 5}};

RunOptions OptionsOf(const Setting& setting, const OracleTask& task) {
  RunOptions options;
  options.kind = setting.kind;
  options.num_parties = setting.num_parties;
  if (setting.kind == "replicated") options.make = MakeReplicatedEngine;
  if (setting.kind == "ot") {
    options.make = [](net::Channel& channel, ReleaseGate& gate) {
      return MakeOtEngine(channel, gate);
    };
  }
  if (setting.kind == "shamir") options.make = MakeShamirEngine;
  options.releases.clear();
  for (const OracleKind& kind : task.kinds) {
    options.releases.push_back(
        {kind.release_id, "W S", "the centre", "exact", kind.max_count, task.centre});
  }
  return options;
}

IntMatrix RandomWide(std::mt19937_64& random, Shape shape, int bits) {
  IntMatrix matrix{shape, std::vector<Int128>(shape.size())};
  for (Int128& v : matrix.values) {
    const UInt128 wide = (static_cast<UInt128>(random()) << 64) | random();
    v = static_cast<Int128>(wide) >> (127 - bits);
  }
  return matrix;
}

// The matrix that is asked about, as the sum of a part of every party.
struct Parts {
  std::vector<IntMatrix> parts;
  IntMatrix sum;
};

Parts MakeParts(std::mt19937_64& random, size_t num_parties, Shape shape) {
  Parts made{{}, {shape, std::vector<Int128>(shape.size())}};
  for (size_t p = 0; p < num_parties; ++p) {
    made.parts.push_back(RandomWide(random, shape, 60));
    for (size_t i = 0; i < shape.size(); ++i) made.sum.values[i] += made.parts[p].values[i];
  }
  return made;
}

Shared Share(Engine& engine, const Parts& parts) {
  std::vector<PrivateMatrix> inputs;
  for (size_t p = 0; p < parts.parts.size(); ++p) {
    inputs.push_back(Private(engine, p, parts.parts[p], 1, 60));
  }
  const std::vector<Shared> shares = engine.Input(inputs);
  Shared sum = shares[0];
  for (size_t p = 1; p < shares.size(); ++p) sum = engine.Add(sum, shares[p]);
  return sum;
}

// Weights below 2^40, at 40 fraction bits: a row of d of them adds up to at most d.
OracleTask MakeTask(PartyIndex centre, size_t d) {
  return {centre, 40, static_cast<double>(d), {{"value", 1, 40}, {"gradient", 4, 40}}};
}

constexpr Shape kValues = {7, 2};

TEST(LinearOracleTest, AnswersAreExactWhateverTheOrder) {
  // Of `ot`: two for the link, one for the columns.
  const std::map<std::string, uint64_t> setup_rounds = {
      {"dealer", 1}, {"replicated", 0}, {"ot", 3}, {"shamir", 0}};
  for (const Setting& setting : kSettings) {
    for (PartyIndex centre = 0; centre < setting.num_parties; ++centre) {
      SCOPED_TRACE(setting.kind + " " + std::to_string(setting.num_parties) + ", centre " +
                   std::to_string(centre));
      std::mt19937_64 random(centre + 10 * setting.num_parties);
      const Parts parts = MakeParts(random, setting.num_parties, kValues);
      const OracleTask task = MakeTask(centre, kValues.rows);
      std::vector<OracleUse> uses(setting.num_parties + 1);
      const auto result = RunAll(OptionsOf(setting, task), [&](Engine& engine, size_t self) {
        const Shared values = Share(engine, parts);
        engine.BeginPhase("oracle");
        bool asked = false;
        uses[self] = engine.RunOracle(values, task, [&](const OracleEvaluate& evaluate) {
          asked = true;
          std::mt19937_64 weights_of(7);
          for (size_t i = 0; i < 37; ++i) {
            const size_t kind = weights_of() % 2;
            const Shape shape = {task.kinds[kind].rows, kValues.rows};
            const IntMatrix weights = RandomWide(weights_of, shape, 40);
            EXPECT_TRUE(evaluate(kind, weights) ==
                        PlainProduct(Product::Kind::kMatrix, weights, parts.sum));
          }
        });
        EXPECT_EQ(asked, self == centre);
      });
      result.ThrowIfFailed();
      for (size_t p = 0; p < setting.num_parties; ++p) {
        EXPECT_EQ(uses[p].evaluations, uses[0].evaluations);
        EXPECT_EQ(uses[p].evaluations[0] + uses[p].evaluations[1], 37u);
      }
      // What was counted is what the plan says of this many evaluations.
      PlanEngine plan(setting.kind, setting.num_parties);
      Shared values = plan.Public({{kValues, std::vector<Int128>(kValues.size(), 1)}, 60});
      plan.RunOracle(values, task, nullptr);
      const size_t processes = result.traffic.size();
      const auto expected = OracleTraffic(plan.oracles()[0], task, uses[0], processes);
      for (size_t self = 0; self < processes; ++self) {
        const net::PhaseTraffic& counted = result.traffic[self].back();
        ASSERT_EQ(counted.phase, "oracle");
        for (size_t peer = 0; peer < processes; ++peer) {
          EXPECT_EQ((LinkCost{counted.links[peer].messages_sent, counted.links[peer].bytes_sent}),
                    expected[self][peer])
              << self << " -> " << peer;
          EXPECT_EQ(
              (LinkCost{counted.links[peer].messages_received, counted.links[peer].bytes_received}),
              expected[peer][self])
              << self << " <- " << peer;
        }
        if (self != centre) continue;
        EXPECT_EQ(counted.rounds, 2 * 37u + setup_rounds.at(setting.kind));
      }
    }
  }
}

TEST(LinearOracleTest, PlanIsExactWhenEverythingAllowedIsAsked) {
  for (const Setting& setting : kSettings) {
    std::mt19937_64 random(5);
    const Parts parts = MakeParts(random, setting.num_parties, kValues);
    OracleTask task = MakeTask(setting.num_parties - 1, kValues.rows);
    using Counts = std::vector<uint64_t>;
    for (const Counts& counts : {Counts{1, 1}, {3, 7}, {16, 9}, {40, 1}}) {
      task.kinds[0].max_count = counts[0];
      task.kinds[1].max_count = counts[1];
      RunAndComparePlan(OptionsOf(setting, task), [&](Engine& engine, size_t) {
        const Shared shares = Share(engine, parts);
        const OracleUse use = engine.RunOracle(shares, task, [&](const OracleEvaluate& evaluate) {
          for (size_t kind : {0, 1}) {
            const IntMatrix zeros{{task.kinds[kind].rows, kValues.rows},
                                  std::vector<Int128>(task.kinds[kind].rows * kValues.rows)};
            for (uint64_t i = 0; i < task.kinds[kind].max_count; ++i) evaluate(kind, zeros);
          }
        });
        if (engine.self()) {
          EXPECT_EQ(use.evaluations, counts);
        }
      });
      if (HasFailure()) return;
    }
  }
}

// The numbers that the header states.
TEST(LinearOracleTest, CostOfAnEvaluation) {
  const size_t d = 54, q = 61;
  const OracleTask task = {0, 40, 64, {{"gradient", q, 1000}}};
  PlanEngine dealer("dealer", 3), replicated("replicated", 3);
  const Shared values{{d, 1}, 60, 1, std::make_shared<Shared::Payload>()};
  dealer.RunOracle(values, task, nullptr);
  replicated.RunOracle(values, task, nullptr);
  auto bytes = [](const ExecutionCost& cost, size_t step, PartyIndex from, PartyIndex to) {
    uint64_t sum = 0;
    for (const MessagePart& part : cost.parts) {
      if (part.step == step && part.from == from && part.to == to) sum += part.bytes;
    }
    return sum;
  };
  const ExecutionCost& of_dealer = dealer.oracles()[0].evaluations[0];
  EXPECT_EQ(of_dealer.parts.size(), 4u);
  for (PartyIndex party : {1, 2}) {
    EXPECT_EQ(bytes(of_dealer, 0, 0, party), kHead + q * d * kElement);
    EXPECT_EQ(bytes(of_dealer, 1, party, 0), q * kElement);
  }
  const ExecutionCost& of_replicated = replicated.oracles()[0].evaluations[0];
  EXPECT_EQ(of_replicated.parts.size(), 4u);
  EXPECT_EQ(bytes(of_replicated, 0, 0, 1), kHead);
  EXPECT_EQ(bytes(of_replicated, 0, 0, 2), kHead + q * d * kElement);
  for (PartyIndex party : {1, 2}) EXPECT_EQ(bytes(of_replicated, 1, party, 0), q * kElement);
  EXPECT_EQ(dealer.phases()[0].rounds[0], 1u + 2 * 1000);
  EXPECT_EQ(replicated.phases()[0].rounds[0], 2u * 1000);
  EXPECT_EQ(dealer.openings().at("gradient"), 1000u);
}

TEST(LinearOracleTest, TwoOraclesOverOneMatrixAndOtherWorkAfterThem) {
  for (const Setting& setting : kSettings) {
    std::mt19937_64 random(11);
    const Parts parts = MakeParts(random, setting.num_parties, kValues);
    const OracleTask first = MakeTask(0, kValues.rows);
    OracleTask second = MakeTask(1, kValues.rows);
    second.kinds[0].release_id = "other";
    second.kinds[1].release_id = "other gradient";
    RunOptions options = OptionsOf(setting, first);
    for (const Release& release : OptionsOf(setting, second).releases) {
      options.releases.push_back(release);
    }
    options.releases.push_back({"out", "", "all", "exact", 1});
    RunAll(options, [&](Engine& engine, size_t) {
      const Shared values = Share(engine, parts);
      for (const OracleTask* task : std::array<const OracleTask*, 2>{&first, &second}) {
        engine.RunOracle(values, *task, [&](const OracleEvaluate& evaluate) {
          IntMatrix ones{{1, kValues.rows}, std::vector<Int128>(kValues.rows, 1)};
          EXPECT_TRUE(evaluate(0, ones) == PlainProduct(Product::Kind::kMatrix, ones, parts.sum));
        });
      }
      const auto opened = engine.Reveal("out", {&values, 1}, kEverybody);
      if (engine.self()) {
        EXPECT_TRUE(opened[0] == parts.sum);
      }
    }).ThrowIfFailed();
  }
}

// --- refusals and faults

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

TEST(LinearOracleErrorsTest, TasksThatMakeNoSense) {
  PlanEngine engine("dealer", 2);
  const Shared values{{3, 1}, 60, 1, std::make_shared<Shared::Payload>()};
  const OracleTask good = {0, 40, 8, {{"out", 1, 1}}};
  auto code = [&](auto change) {
    OracleTask task = good;
    Shared shares = values;
    change(task, shares);
    return CodeOf([&] { engine.RunOracle(shares, task, nullptr); });
  };
  EXPECT_EQ(code([](OracleTask& t, Shared&) { t.centre = 2; }), ErrorCode::kUsage);
  EXPECT_EQ(code([](OracleTask& t, Shared&) { t.kinds.clear(); }), ErrorCode::kUsage);
  EXPECT_EQ(code([](OracleTask& t, Shared&) { t.kinds[0].rows = 0; }), ErrorCode::kUsage);
  EXPECT_EQ(code([](OracleTask& t, Shared&) { t.kinds[0].max_count = 0; }), ErrorCode::kUsage);
  EXPECT_EQ(code([](OracleTask&, Shared& s) { s.shape.rows = 0; }), ErrorCode::kUsage);
  EXPECT_EQ(code([](OracleTask& t, Shared&) { t.kinds[0].max_count = uint64_t{1} << 60; }),
            ErrorCode::kBadInput);
  EXPECT_EQ(code([](OracleTask& t, Shared&) { t.weight_bound = std::ldexp(1.0, 26); }),
            ErrorCode::kBadInput);
  EXPECT_EQ(code([](OracleTask& t, Shared&) { t.weight_bound = NAN; }), ErrorCode::kBadInput);
  EXPECT_NO_THROW(engine.RunOracle(values, good, nullptr));
}

// The largest row of weights is accepted, one beyond is refused, and the oracle goes on.
TEST(LinearOracleErrorsTest, WeightsBeyondTheBoundAreRefusedBeforeAnythingIsSent) {
  for (const Setting& setting : kSettings) {
    const OracleTask task = {0, 40, 2, {{"out", 2, 3}}};
    std::mt19937_64 random(3);
    const Parts parts = MakeParts(random, setting.num_parties, {3, 1});
    RunAll(OptionsOf(setting, task), [&](Engine& engine, size_t) {
      engine.RunOracle(Share(engine, parts), task, [&](const OracleEvaluate& evaluate) {
        const Int128 one = Int128{1} << 40;
        IntMatrix weights{{2, 3}, {0, 0, 0, one, -one, 3}};  // each rounded by half a unit at most
        EXPECT_TRUE(evaluate(0, weights) ==
                    PlainProduct(Product::Kind::kMatrix, weights, parts.sum));
        IntMatrix large = weights;
        large.values[5] = -4;
        EXPECT_EQ(CodeOf([&] { evaluate(0, large); }), ErrorCode::kBadInput);
        large.values[5] = static_cast<Int128>(UInt128{1} << 127);
        EXPECT_EQ(CodeOf([&] { evaluate(0, large); }), ErrorCode::kBadInput);
        EXPECT_EQ(CodeOf([&] { evaluate(1, weights); }), ErrorCode::kUsage);
        EXPECT_EQ(CodeOf([&] { evaluate(0, {{3, 2}, weights.values}); }), ErrorCode::kUsage);
        EXPECT_TRUE(evaluate(0, weights) ==
                    PlainProduct(Product::Kind::kMatrix, weights, parts.sum));
        evaluate(0, weights);
        EXPECT_EQ(CodeOf([&] { evaluate(0, weights); }), ErrorCode::kRefused);
      });
    }).ThrowIfFailed();
  }
}

// Every computing party asks its own gate: the plan of one of them allows less.
TEST(LinearOracleErrorsTest, EveryPartyAsksItsGate) {
  for (const Setting& setting : kSettings) {
    for (PartyIndex strict = 0; strict < setting.num_parties; ++strict) {
      const OracleTask task = {0, 40, 2, {{"out", 1, 3}}};
      std::mt19937_64 random(3);
      const Parts parts = MakeParts(random, setting.num_parties, {3, 1});
      RunOptions options = OptionsOf(setting, task);
      size_t answered = 0;
      auto usual = options.make ? options.make : [](net::Channel& channel, ReleaseGate& gate) {
        return MakeDealerEngine(channel, gate);
      };
      CountingReleaseGate strict_gate;
      strict_gate.Reserve({{"out", "", "", "exact", 2, 0, 1}});
      options.make = [&](net::Channel& channel, ReleaseGate& gate) {
        return usual(channel, channel.self() == strict ? strict_gate : gate);
      };
      const auto result = RunAll(options, [&](Engine& engine, size_t) {
        engine.RunOracle(Share(engine, parts), task, [&](const OracleEvaluate& evaluate) {
          const IntMatrix weights{{1, 3}, {1, 2, 3}};
          for (size_t i = 0; i < 3; ++i, ++answered) evaluate(0, weights);
        });
      });
      EXPECT_EQ(CodeOf([&] { std::rethrow_exception(result.errors[strict]); }),
                ErrorCode::kRefused);
      EXPECT_EQ(answered, 2u);
    }
  }
}

TEST(LinearOracleErrorsTest, WhatTheQueriesThrowEndsTheRunEverywhere) {
  for (const Setting& setting : kSettings) {
    const OracleTask task = {0, 40, 2, {{"out", 1, 3}}};
    std::mt19937_64 random(3);
    const Parts parts = MakeParts(random, setting.num_parties, {3, 1});
    const auto result = RunAll(OptionsOf(setting, task), [&](Engine& engine, size_t) {
      engine.RunOracle(Share(engine, parts), task, [&](const OracleEvaluate& evaluate) {
        evaluate(0, {{1, 3}, {1, 2, 3}});
        throw Error(ErrorCode::kNotConverged, "the optimiser gave up", "try other starts");
      });
    });
    EXPECT_EQ(CodeOf([&] { std::rethrow_exception(result.errors[0]); }), ErrorCode::kNotConverged);
    for (size_t p = 1; p < result.errors.size(); ++p) {
      ASSERT_NE(result.errors[p], nullptr) << p;
      EXPECT_EQ(CodeOf([&] { std::rethrow_exception(result.errors[p]); }), ErrorCode::kPeerLost);
    }
  }
}

// A party that is gone when its answer is due.
TEST(LinearOracleErrorsTest, APartyThatLeaves) {
  for (const Setting& setting : kSettings) {
    for (PartyIndex lost = 0; lost < setting.num_parties; ++lost) {
      const OracleTask task = {0, 40, 2, {{"out", 1, 3}}};
      std::mt19937_64 random(3);
      const Parts parts = MakeParts(random, setting.num_parties, {3, 1});
      const auto result = RunAll(OptionsOf(setting, task), [&](Engine& engine, size_t self) {
        const Shared values = Share(engine, parts);
        if (self == lost) throw Error(ErrorCode::kCancelled, "stopped by a test", "none");
        engine.RunOracle(values, task, [&](const OracleEvaluate& evaluate) {
          evaluate(0, {{1, 3}, {1, 2, 3}});
        });
      });
      for (size_t p = 0; p < result.errors.size(); ++p) {
        ASSERT_NE(result.errors[p], nullptr) << p;
        EXPECT_EQ(CodeOf([&] { std::rethrow_exception(result.errors[p]); }),
                  p == lost ? ErrorCode::kCancelled : ErrorCode::kPeerLost);
      }
    }
  }
}

// A centre that does not keep to the protocol is named.
TEST(LinearOracleErrorsTest, RequestsThatAreNone) {
  const OracleTask task = {0, 40, 2, {{"out", 1, 3}}};
  auto head = [](uint64_t word, size_t more) {
    const auto bytes = OracleHead(word);
    Bytes request(bytes.begin(), bytes.end());
    request.resize(request.size() + more);
    return request;
  };
  const Shape shape = {3, 1};
  // Kind 1 does not exist; kind 0 needs 48 bytes more; stop needs none; two bytes are no request.
  // The dealer has dealt all three rows and knows no other word.
  const std::pair<PartyIndex, Bytes> requests[] = {
      {1, head(2, 48)}, {1, head(1, 47)}, {1, head(1, 0)},           {1, head(0, 48)},
      {1, Bytes(2)},    {1, Bytes()},     {2, head(kOracleMore, 0)}, {2, head(7, 0)}};
  for (const auto& [to, request] : requests) {
    RunOptions options;
    net::Channel* of_centre = nullptr;
    options.prepare = [&](net::Channel& channel) {
      if (channel.self() == 0) of_centre = &channel;
    };
    const auto result =
        RunAll(options, [&, &receiver = to, &sent = request](Engine& engine, size_t self) {
          const Shared values = engine.Public({{shape, {1, 2, 3}}, 60});
          engine.RunOracle(values, task, [&](const OracleEvaluate&) {
            const net::Send send{receiver, sent, 0, nullptr};
            of_centre->Exchange({&send, 1}, {});
            Bytes answer;
            net::Receive receive;
            receive.from = receiver;
            receive.body = &answer;
            receive.max_bytes = 1000;
            of_centre->Exchange({}, {&receive, 1});
          });
          ADD_FAILURE() << "process " << self << " went on";
        });
    for (PartyIndex p : {0, 1, 2}) {
      EXPECT_EQ(CodeOf([&] { std::rethrow_exception(result.errors[p]); }),
                p == to ? ErrorCode::kPeerFault : ErrorCode::kPeerLost);
    }
  }
}

}  // namespace
}  // namespace partita::mpc::testing::linear_oracle_test
