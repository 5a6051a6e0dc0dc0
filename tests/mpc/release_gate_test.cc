#include "mpc/release_gate.h"

#include <gtest/gtest.h>

#include <optional>
#include <thread>

#include "base/error.h"
#include "mpc/release_ok.h"
#include "net/memory_transport.h"
#include "tests/mpc/harness.h"

namespace partita::mpc::testing::release_gate_test {
namespace {

ErrorCode CodeOf(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.code();
  }
  return ErrorCode::kInternal;
}

TEST(CountingReleaseGateTest, CountsUpToTheMaximum) {
  CountingReleaseGate gate;
  gate.Reserve({{"a", "", "all", "exact", 2}, {"b", "", "north", "exact", 1}});
  gate.Opening("a", 0, 1);
  gate.Opening("b", 0, 1);
  gate.Opening("a", 0, 1);
  EXPECT_EQ(CodeOf([&] { gate.Opening("a", 0, 1); }), ErrorCode::kRefused);
  EXPECT_EQ(CodeOf([&] { gate.Opening("b", 0, 1); }), ErrorCode::kRefused);
  gate.Finish();
  ASSERT_EQ(gate.counts().size(), 2u);
  EXPECT_EQ(gate.counts()[0].release.id, "a");
  EXPECT_EQ(gate.counts()[0].opened, 2u);
  EXPECT_EQ(gate.counts()[1].opened, 1u);
}

TEST(CountingReleaseGateTest, RefusesWhatWasNotDeclared) {
  CountingReleaseGate gate;
  EXPECT_EQ(CodeOf([&] { gate.Opening("a", 0, 1); }), ErrorCode::kRefused);  // nothing reserved
  gate.Reserve({{"a", "", "all", "exact", 1}});
  EXPECT_EQ(CodeOf([&] { gate.Opening("c", 0, 1); }), ErrorCode::kRefused);
  EXPECT_EQ(CodeOf([&] { gate.Opening("", 0, 1); }), ErrorCode::kRefused);
  gate.Finish();
  EXPECT_EQ(CodeOf([&] { gate.Opening("a", 0, 1); }), ErrorCode::kRefused);
}

TEST(CountingReleaseGateTest, RefusesAnotherRecipientOrSize) {
  CountingReleaseGate gate;
  Release release{"a", "", "south", "exact", 3};
  release.to_party = 1;
  release.num_values = 10;
  gate.Reserve({release});
  EXPECT_EQ(CodeOf([&] { gate.Opening("a", kEverybody, 10); }), ErrorCode::kRefused);
  EXPECT_EQ(CodeOf([&] { gate.Opening("a", 0, 10); }), ErrorCode::kRefused);
  EXPECT_EQ(CodeOf([&] { gate.Opening("a", 1, 11); }), ErrorCode::kRefused);
  EXPECT_NO_THROW(gate.Opening("a", 1, 10));
  EXPECT_EQ(gate.counts()[0].opened, 1u);
}

TEST(CountingReleaseGateTest, RefusesASecondReservationAndDuplicates) {
  CountingReleaseGate gate;
  gate.Reserve({{"a", "", "all", "exact", 1}});
  EXPECT_EQ(CodeOf([&] { gate.Reserve({}); }), ErrorCode::kRefused);
  CountingReleaseGate other;
  EXPECT_EQ(CodeOf([&] {
              other.Reserve({{"a", "", "all", "exact", 1}, {"a", "", "all", "exact", 1}});
            }),
            ErrorCode::kRefused);
}

TEST(CountingReleaseGateTest, FinishComplainsAboutNothingElse) {
  CountingReleaseGate gate;
  gate.Reserve({{"a", "", "all", "exact", 5}});
  EXPECT_NO_THROW(gate.Finish());
}

// Every party's engine asks its gate before it sends.
void ExpectRefusedBeforeSending(const std::string& kind, size_t num_parties, const std::string& id,
                                uint64_t openings) {
  IntMatrix x{{1, 2}, {3, 4}};
  RunOptions options{.kind = kind, .num_parties = num_parties};
  options.releases = {{"a", "", "all", "exact", 1}};
  std::vector<ErrorCode> codes(num_parties + 2, ErrorCode::kInternal);
  auto result = RunAll(options, [&](Engine& engine, size_t self) {
    Shared shared = engine.Public({x, 0});
    for (uint64_t i = 0; i + 1 < openings; ++i) engine.Reveal("a", {&shared, 1}, kEverybody);
    engine.BeginPhase("refused");
    codes[self] = CodeOf([&] { engine.Reveal(id, {&shared, 1}, kEverybody); });
  });
  result.ThrowIfFailed();
  for (size_t party = 0; party < num_parties; ++party) {
    EXPECT_EQ(codes[party], ErrorCode::kRefused);
    EXPECT_EQ(result.traffic[party].back().phase, "refused");
    for (const auto& link : result.traffic[party].back().links) EXPECT_EQ(link.messages_sent, 0u);
  }
}

TEST(EngineGateTest, UndeclaredAndSurplusOpeningsSendNothing) {
  ExpectRefusedBeforeSending("dealer", 2, "b", 1);
  ExpectRefusedBeforeSending("dealer", 3, "a", 2);
}

// --- the ok before the first opening
// --------------------------------------------------------------

TEST(AgreedReleaseGateTest, OpensNothingBeforeTheOk) {
  AgreedReleaseGate gate(AsBytes("run"));
  EXPECT_EQ(CodeOf([&] { gate.Commit(); }), ErrorCode::kRefused);  // nothing reserved
  gate.Reserve({{"a", "", "all", "exact", 1}});
  EXPECT_EQ(CodeOf([&] { gate.Opening("a", 0, 1); }), ErrorCode::kRefused);
  EXPECT_EQ(gate.Commit().size(), AgreedReleaseGate::kOkBytes);
  EXPECT_EQ(CodeOf([&] { gate.Opening("a", 0, 1); }), ErrorCode::kRefused);  // the others' are out
  EXPECT_EQ(CodeOf([&] { gate.Commit(); }), ErrorCode::kRefused);            // a second time
  gate.Agreed();
  EXPECT_NO_THROW(gate.Opening("a", 0, 1));
  EXPECT_EQ(CodeOf([&] { gate.Opening("a", 0, 1); }), ErrorCode::kRefused);  // more than planned
}

// Another run, and anything that is different of what is reserved, is another ok.
TEST(AgreedReleaseGateTest, TheOkIsOfTheRunAndOfWhatItReleases) {
  const auto ok = [](const std::string& run, const std::vector<Release>& releases) {
    AgreedReleaseGate gate(AsBytes(run));
    gate.Reserve(releases);
    return gate.Commit();
  };
  const Release first{"a", "sums", "all", "exact", 2, 1, 7};
  const Bytes usual = ok("run", {first});
  EXPECT_EQ(usual, ok("run", {first}));
  EXPECT_NE(usual, ok("other", {first}));
  EXPECT_NE(usual, ok("run", {}));
  EXPECT_NE(usual, ok("run", {first, {"b", "", "all", "exact", 1}}));
  std::vector<Release> others(8, first);
  others[0].id = "b";
  others[1].what = "means";
  others[2].to = "north";
  others[3].mechanism = "noisy";
  others[4].max_count = 3;
  others[5].to_party = 2;
  others[6].to_party.reset();
  others[7].num_values = 8;
  for (const Release& other : others) EXPECT_NE(usual, ok("run", {other}));
}

struct Kind {
  std::string name;
  size_t parties = 0;
};
const Kind kKinds[] = {{"dealer", 2}, {"dealer", 3}, {"replicated", 3},
                       {"shamir", 3}, {"shamir", 5}, {"ot", 2}};

const IntMatrix kNumbers{{1, 2}, {3, 4}};

// Opens one shared matrix to party 0 and one to everybody.
void OpenTwice(Engine& engine) {
  const Shared shared = engine.Public({kNumbers, 0});
  engine.Reveal("out", {&shared, 1}, 0);
  engine.Reveal("out", {&shared, 1}, kEverybody);
}

// One round of 32 bytes between each two that compute, in a phase of its own, once.
TEST(EngineGateTest, TheOkCostsWhatThePlanSays) {
  for (const Kind& kind : kKinds) {
    SCOPED_TRACE(kind.name);
    RunOptions options{.kind = kind.name, .num_parties = kind.parties};
    options.agrees = true;
    const RunResult result = RunAndComparePlan(options, [](Engine& engine, size_t) {
      engine.BeginPhase("before");
      engine.AgreeToOpen();
      engine.BeginPhase("after");
      OpenTwice(engine);
    });
    for (size_t self = 0; self < result.traffic.size(); ++self) {
      const net::PhaseTraffic* phase = nullptr;
      for (const net::PhaseTraffic& one : result.traffic[self]) {
        if (one.phase == kReleaseOkPhase) phase = &one;
      }
      ASSERT_NE(phase, nullptr);
      const bool computes = self < kind.parties;
      // As the plan says; more than one where the setup left parties at different depths.
      EXPECT_EQ(phase->rounds > 0, computes);
      for (size_t peer = 0; peer < phase->links.size(); ++peer) {
        const bool linked = computes && peer < kind.parties && peer != self;
        EXPECT_EQ(phase->links[peer].messages_sent, linked ? 1u : 0u);
        EXPECT_EQ(phase->links[peer].bytes_sent, linked ? 32u : 0u);
      }
    }
  }
}

// Without the ok no engine sends a share of a release, whichever way it opens.
TEST(EngineGateTest, NoShareLeavesBeforeTheOk) {
  for (const Kind& kind : kKinds) {
    for (const std::string way : {"reveal", "bits", "oracle"}) {
      SCOPED_TRACE(kind.name + " " + way);
      RunOptions options{.kind = kind.name, .num_parties = kind.parties};
      options.agrees = true;
      std::vector<ErrorCode> codes(kind.parties + 2, ErrorCode::kInternal);
      const RunResult result = RunAll(options, [&](Engine& engine, size_t self) {
        const Shared shared = engine.Public({kNumbers, 0});
        const SharedBits bits = engine.PublicBits(MakeBits({1, 2}, 1));
        engine.BeginPhase("refused");
        codes[self] = CodeOf([&] {
          if (way == "reveal") engine.Reveal("out", {&shared, 1}, 0);
          if (way == "bits") engine.RevealBits("out", {&bits, 1}, kEverybody);
          if (way != "oracle") return;
          OracleTask task;
          task.centre = 0;
          task.weight_bound = 4;
          task.kinds = {{"out", 1, 1}};
          engine.RunOracle(engine.Transpose(shared), task, [](const OracleEvaluate& evaluate) {
            evaluate(0, {{1, 2}, {1, 1}});
          });
        });
      });
      for (size_t party = 0; party < kind.parties; ++party) {
        // Of an oracle the centre alone asks; what it prepares travels before its first question.
        if (way != "oracle" || party == 0) {
          EXPECT_EQ(codes[party], ErrorCode::kRefused);
        }
        if (way == "oracle") continue;
        for (const auto& link : result.traffic[party].back().links) EXPECT_EQ(link.bytes_sent, 0u);
      }
    }
  }
}

// A party whose ok is another one is named, and nothing opens anywhere.
TEST(EngineGateTest, AnotherOkStopsEverybody) {
  constexpr size_t kParties = 3;
  crypto::SystemRandom random;
  auto transports = net::MakeMemoryTransports({"north", "south", "west"}, random);
  std::vector<std::optional<Error>> errors(kParties);
  std::vector<ErrorCode> opening(kParties, ErrorCode::kInternal);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < kParties; ++i) {
    threads.emplace_back([&, i, transport = std::move(transports[i])]() mutable {
      net::Channel channel(std::move(transport), AsBytes("run"), 1);
      AgreedReleaseGate gate(AsBytes(i == 1 ? "another run" : "run"));
      gate.Reserve({{"out", "", "all", "exact", 1}});
      try {
        AgreeToOpen(channel, gate, kParties);
      } catch (const Error& error) {
        errors[i] = error;
      }
      opening[i] = CodeOf([&] { gate.Opening("out", 0, 1); });
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t i = 0; i < kParties; ++i) {
    ASSERT_TRUE(errors[i]);
    EXPECT_EQ(errors[i]->code(), ErrorCode::kPeerFault);
    if (i != 1) {
      EXPECT_NE(errors[i]->message().find("party south"), std::string::npos);
    }
    EXPECT_EQ(opening[i], ErrorCode::kRefused);
  }
}

TEST(EngineGateTest, PlanEngineAsksTheGateToo) {
  CountingReleaseGate gate;
  gate.Reserve({{"a", "", "all", "exact", 1}});
  PlanEngine engine("dealer", 2, &gate);
  Shared x = engine.Public({{{1, 1}, {1}}, 0});
  engine.Reveal("a", {&x, 1}, 0);
  EXPECT_THROW(engine.Reveal("a", {&x, 1}, 0), Error);
  EXPECT_EQ(engine.openings().find("a")->second, 1u);
}

}  // namespace
}  // namespace partita::mpc::testing::release_gate_test
