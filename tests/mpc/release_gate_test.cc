#include "mpc/release_gate.h"

#include <gtest/gtest.h>

#include "base/error.h"
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
