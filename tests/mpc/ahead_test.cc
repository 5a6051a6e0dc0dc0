// Correlations made ahead, by a dealer that then leaves and by transfers: the run's results and its
// online costs, the offline costs, one use only, and packages for another plan.
#include "mpc/ahead.h"

#include <gtest/gtest.h>

#include <optional>
#include <set>

#include "base/error.h"
#include "mpc/compare.h"
#include "mpc/correlation_store.h"
#include "mpc/dealer_engine.h"
#include "mpc/functions/reciprocal.h"
#include "mpc/ot/ot_engine.h"
#include "tests/mpc/crash_storage.h"
#include "tests/mpc/harness.h"

namespace partita::mpc::testing::ahead_test {
namespace {

using Kind = Product::Kind;

ErrorCode CodeOf(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.code();
  }
  ADD_FAILURE() << "nothing was thrown";
  return ErrorCode::kInternal;
}

// Every operation, with data of its own.
struct Program {
  std::mt19937_64 random{3};
  IntMatrix x = RandomMatrix(random, {70, 3}, 1 << 20), y = RandomMatrix(random, {70, 2}, 1 << 20);

  std::vector<IntMatrix> Run(Engine& engine, size_t rows = 70) const {
    IntMatrix v = x, w = y;
    v.shape.rows = w.shape.rows = rows;
    const PrivateMatrix inputs[] = {Private(engine, 0, v, 0x1p20), Private(engine, 1, w, 0x1p20)};
    const std::vector<Shared> in = engine.Input(inputs);
    const FixedOperand fixed = engine.Register(inputs[0]);
    std::vector<Shared> results;
    for (int i = 0; i < 2; ++i) {
      const std::vector<Product> products = {{Kind::kGram, in[0], in[1]},
                                             {Kind::kGram, fixed, inputs[1]},
                                             {Kind::kGram, in[0], in[0]},
                                             {Kind::kElementwise, in[0], in[0]},
                                             {Kind::kMatrix, engine.Transpose(in[0]), inputs[1]}};
      for (Shared& result : engine.Multiply(products)) results.push_back(std::move(result));
    }
    results.push_back(engine.ToRing(IsNegative(engine, {&in[0], 1}))[0]);
    return engine.Reveal("out", results, kEverybody);
  }

  void Check(const std::vector<IntMatrix>& opened, size_t rows = 70) const {
    IntMatrix v = x, w = y;
    v.shape.rows = w.shape.rows = rows;
    v.values.resize(v.shape.size());
    w.values.resize(w.shape.size());
    const IntMatrix cross = PlainProduct(Kind::kGram, v, w);
    ASSERT_EQ(opened.size(), 11u);
    for (size_t i : {0, 1, 4, 5, 6, 9}) EXPECT_TRUE(opened[i] == cross) << i;
    for (size_t i : {2, 7}) EXPECT_TRUE(opened[i] == PlainProduct(Kind::kGram, v, v)) << i;
    for (size_t i : {3, 8}) EXPECT_TRUE(opened[i] == PlainProduct(Kind::kElementwise, v, v)) << i;
    for (size_t e = 0; e < v.shape.size(); ++e) {
      EXPECT_TRUE(opened[10].values[e] == (v.values[e] < 0 ? 1 : 0)) << e;
    }
  }
};

// An oracle between other operations, with two kinds of evaluations and more rows than a chunk; the
// packages hold its rows, or with `ot` the run makes its transfers.
struct OracleProgram {
  static constexpr uint64_t kMost = 40;
  std::mt19937_64 random{4};
  IntMatrix s = RandomMatrix(random, {3, 2}, 1000);
  std::vector<IntMatrix> weights;

  OracleProgram() {
    for (uint64_t i = 0; i < 2 * kMost; ++i) {
      weights.push_back(RandomMatrix(random, {i < kMost ? 1u : 4u, 3}, 50));
    }
  }
  OracleTask Task(PartyIndex centre) const {
    return {centre, 0, 200, {{"out", 1, kMost}, {"out", 4, kMost}}};
  }
  // Runs `evaluations` of each kind, in turn.
  void Run(Engine& engine, PartyIndex centre, uint64_t evaluations = kMost) const {
    const PrivateMatrix input = Private(engine, 1 - centre, s, 1000);
    const Shared shared = engine.Input({&input, 1})[0];
    engine.RunOracle(shared, Task(centre), [&](const OracleEvaluate& evaluate) {
      for (uint64_t i = 0; i < 2 * evaluations; ++i) {
        const size_t kind = i % 2;
        const IntMatrix& w = weights[kind * kMost + i / 2];
        EXPECT_TRUE(evaluate(kind, w) == PlainProduct(Kind::kMatrix, w, s)) << i;
      }
    });
    // What comes after an oracle stands where it should.
    const Product square{Kind::kElementwise, shared, shared};
    const auto opened = engine.Reveal("out", engine.Multiply({&square, 1}), kEverybody);
    if (engine.self()) {
      EXPECT_TRUE(opened[0] == PlainProduct(Kind::kElementwise, s, s));
    }
  }
};

// One package per party, and what was counted while they were made.
struct Offline {
  std::vector<AheadPackage> packages;
  RunResult result;
};

Offline MakeAhead(const std::string& kind, size_t num_parties, const ShapeBody& body) {
  Offline offline;
  offline.packages.resize(num_parties + 1);
  RunOptions options;
  options.kind = kind;
  options.num_parties = num_parties;
  options.prepare = [&](net::Channel& channel) {
    const size_t self = channel.self();
    channel.BeginPhase("ahead");
    if (kind == "ot") {
      crypto::SystemRandom random;
      offline.packages[self] = MakeByTransfers<Ring128>(channel, random, body);
    } else if (self == num_parties) {
      DealAhead<Ring128>(channel, body);
    } else {
      offline.packages[self] = ReceiveFromDealer<Ring128>(channel, body);
    }
  };
  offline.result = RunAll(options, [](Engine&, size_t) {});
  offline.result.ThrowIfFailed();
  return offline;
}

std::unique_ptr<CostModel> DealerOnlinePlan(size_t num_parties) {
  DealerOptions options;
  options.dealt_ahead = true;
  return MakeDealerCostModel(num_parties, 128, options);
}
std::unique_ptr<CostModel> OtOnlinePlan(size_t num_parties) {
  return MakeOtCostModel(num_parties, 128, true);
}

RunOptions OnlineOptions(const std::string& kind, size_t num_parties,
                         std::vector<AheadPackage>& packages) {
  RunOptions options;
  options.kind = kind + " ahead";  // no process for a dealer
  options.num_parties = num_parties;
  options.plan = kind == "ot" ? OtOnlinePlan : DealerOnlinePlan;
  options.make = [kind, &packages](net::Channel& channel, ReleaseGate& gate) {
    AheadPackage package = std::move(packages[channel.self()]);
    return kind == "ot" ? MakeOtEngineAhead(channel, gate, std::move(package))
                        : MakeDealerEngineAhead(channel, gate, std::move(package));
  };
  return options;
}

struct Setting {
  std::string kind;
  size_t num_parties;
};
const Setting kSettings[] = {{"dealer", 2}, {"dealer", 3}, {"ot", 2}};

const Capabilities& CapabilitiesOf(const Setting& setting) {
  return setting.kind == "ot" ? OtCapabilities() : DealerCapabilities();
}

TEST(AheadTest, ARunWithoutItsDealer) {
  const Program program;
  for (const Setting& setting : kSettings) {
    SCOPED_TRACE(setting.kind + " " + std::to_string(setting.num_parties));
    const ShapeBody body = [&](Engine& engine) { program.Run(engine); };
    Offline offline = MakeAhead(setting.kind, setting.num_parties, body);
    const crypto::Digest label = LabelOf(CapabilitiesOf(setting), setting.num_parties, 128, body);
    for (size_t party = 0; party < setting.num_parties; ++party) {
      EXPECT_EQ(LabelOf(offline.packages[party]), label);
      // As from a file.
      offline.packages[party] = DecodePackage(EncodePackage(offline.packages[party]));
    }
    RunAndComparePlan(OnlineOptions(setting.kind, setting.num_parties, offline.packages),
                      [&](Engine& engine, size_t) {
                        const auto opened = program.Run(engine);
                        if (engine.self()) program.Check(opened);
                      });
  }
}

TEST(AheadTest, OfflineCostsAreDeclared) {
  const Program program;
  const ShapeBody body = [&](Engine& engine) { program.Run(engine); };
  const Offline offline = MakeAhead("ot", 2, body);
  const ExecutionCost cost = CostOfTransfers(128, body);
  for (PartyIndex self : {0, 1}) {
    const net::PhaseTraffic& phase = offline.result.traffic[self].back();
    ASSERT_EQ(phase.phase, "ahead");
    uint64_t sent = 0, messages = 0;
    for (const MessagePart& part : cost.parts) {
      sent += part.from == self ? part.bytes : 0;
      messages += part.from == self && part.bytes > 0 ? 1 : 0;
    }
    EXPECT_EQ(phase.links[1 - self].bytes_sent, sent);
    EXPECT_EQ(phase.links[1 - self].messages_sent, messages);
    EXPECT_LE(phase.rounds, cost.steps);
  }
  // With a dealer: exactly what it sends during a run, and nobody else anything, in one round.
  const Offline dealt = MakeAhead("dealer", 2, body);
  PlanEngine live("dealer", 2);
  live.BeginPhase("run");
  program.Run(live);
  for (PartyIndex from : {0, 1, 2}) {
    for (PartyIndex to : {0, 1, 2}) {
      const uint64_t expected = from == 2 ? live.phases()[0].links[from][to].bytes : 0;
      EXPECT_EQ(dealt.result.traffic[from].back().links[to].bytes_sent, expected);
    }
  }
}

// With an oracle, whose rows leave at once.
TEST(AheadTest, CostsOfDealingAreDeclared) {
  const OracleProgram program;
  const ShapeBody body = [&](Engine& engine) { program.Run(engine, 1); };
  for (const size_t num_parties : {2, 3}) {
    const Offline offline = MakeAhead("dealer", num_parties, body);
    std::vector<LinkCost> from_dealer(num_parties + 1);
    for (const ExecutionCost& cost : CostOfDealing(num_parties, 128, body)) {
      for (PartyIndex to = 0; to < num_parties; ++to) {
        uint64_t bytes = 0;
        for (const MessagePart& part : cost.parts) bytes += part.to == to ? part.bytes : 0;
        from_dealer[to].messages += bytes > 0 ? 1 : 0;
        from_dealer[to].bytes += bytes;
      }
    }
    const auto& links = offline.result.traffic[num_parties].back().links;
    for (PartyIndex to = 0; to < num_parties; ++to) {
      EXPECT_EQ(links[to].bytes_sent, from_dealer[to].bytes);
      EXPECT_EQ(links[to].messages_sent, from_dealer[to].messages);
      EXPECT_EQ(offline.result.traffic[to].back().rounds, from_dealer[to].bytes > 0 ? 1u : 0u);
      EXPECT_EQ(offline.result.traffic[to].back().links[num_parties].bytes_sent, 0u);
    }
    EXPECT_GT(from_dealer[1].bytes, 2u * (1 + 4) * OracleProgram::kMost * 16);
  }
}

TEST(AheadTest, FunctionsRunOnPackages) {
  const IntMatrix x{{3, 1}, {Int128{1} << 40, Int128{3} << 41, Int128{5} << 39}};
  auto run = [&](Engine& engine) {
    const PrivateMatrix input = Private(engine, 1, x, 16, 40);
    const PositiveValue value{engine.Input({&input, 1})[0], 0.5};
    return engine.Reveal("out", Reciprocal(engine, {&value, 1}, 40), kEverybody);
  };
  for (const Setting& setting : kSettings) {
    Offline offline =
        MakeAhead(setting.kind, setting.num_parties, [&](Engine& engine) { run(engine); });
    RunAndComparePlan(OnlineOptions(setting.kind, setting.num_parties, offline.packages),
                      [&](Engine& engine, size_t) {
                        const auto opened = run(engine);
                        for (size_t i = 0; engine.self() && i < 3; ++i) {
                          EXPECT_NEAR(DecodeFixed(opened[0].values[i], 40),
                                      1 / DecodeFixed(x.values[i], 40), 1e-10);
                        }
                      });
  }
}

TEST(AheadTest, OraclesRunWithoutTheirDealer) {
  const OracleProgram program;
  for (const Setting& setting : kSettings) {
    for (PartyIndex centre : {0, 1}) {
      SCOPED_TRACE(setting.kind + " " + std::to_string(setting.num_parties) + ", centre " +
                   std::to_string(centre));
      const ShapeBody body = [&](Engine& engine) { program.Run(engine, centre); };
      Offline offline = MakeAhead(setting.kind, setting.num_parties, body);
      const crypto::Digest label = LabelOf(CapabilitiesOf(setting), setting.num_parties, 128, body);
      for (AheadPackage& package : offline.packages) {
        if (&package == &offline.packages.back()) break;  // the dealer's place
        EXPECT_EQ(LabelOf(package), label);
        package = DecodePackage(EncodePackage(package));
      }
      RunAndComparePlan(OnlineOptions(setting.kind, setting.num_parties, offline.packages),
                        [&](Engine& engine, size_t) { program.Run(engine, centre); });
      // Another oracle is another package.
      const ShapeBody fewer = [&](Engine& engine) {
        OracleTask task = program.Task(centre);
        task.kinds.pop_back();
        const PrivateMatrix input = Private(engine, 1, program.s, 1000);
        engine.RunOracle(engine.Input({&input, 1})[0], task, [](const OracleEvaluate&) {});
      };
      EXPECT_NE(LabelOf(CapabilitiesOf(setting), setting.num_parties, 128, fewer), label);
    }
  }
}

// A run that asks less often than it may leaves rows unused, and goes on with what follows.
TEST(AheadTest, UnusedOracleRowsAreLeft) {
  const OracleProgram program;
  for (const uint64_t evaluations : {uint64_t{0}, uint64_t{3}}) {
    Offline offline =
        MakeAhead("dealer", 3, [&](Engine& engine) { program.Run(engine, 0, evaluations); });
    RunAll(OnlineOptions("dealer", 3, offline.packages), [&](Engine& engine, size_t) {
      program.Run(engine, 0, evaluations);
    }).ThrowIfFailed();
  }
}

// Through the store: what was made for other shapes is refused before anything is spent, the rest
// is used once.
TEST(AheadTest, FromTheStoreOnce) {
  const Program program;
  const ShapeBody body = [&](Engine& engine) { program.Run(engine); };
  const std::vector<std::string> fingerprints = {std::string(64, 'a'), std::string(64, 'b')};
  auto identity_of = [&](uint64_t self) {
    StoreIdentity identity;
    identity.fingerprints = fingerprints;
    identity.self = self;
    return identity;
  };
  Disk disks[] = {Disk(1), Disk(2)};
  const Offline offline = MakeAhead("ot", 2, body);
  const crypto::Digest label = LabelOf(offline.packages[0]);
  for (uint64_t self : {0, 1}) {
    CorrelationStore store = CorrelationStore::Create(disks[self].Open(), identity_of(self));
    store.Append(0, label, EncodePackage(offline.packages[self]));
  }
  const crypto::Digest other =
      LabelOf(OtCapabilities(), 2, 128, [&](Engine& engine) { program.Run(engine, 69); });
  EXPECT_NE(other, label);
  for (const bool first : {true, false}) {
    RunOptions options;
    options.kind = "ot";
    options.make = [&](net::Channel& channel, ReleaseGate& gate) {
      CorrelationStore store =
          CorrelationStore::Open(disks[channel.self()].Open(), identity_of(channel.self()));
      const AgreedPackages agreed = AgreeOnPackages(channel, 2, store);
      EXPECT_EQ(agreed.usable.size(), first ? 1u : 0u);
      if (first) {
        EXPECT_EQ(CodeOf([&] { store.Take(0, other); }), ErrorCode::kRefused);
      }
      return MakeOtEngineAhead(channel, gate, DecodePackage(store.Take(0, label)));
    };
    const RunResult result =
        RunAll(options, [&](Engine& engine, size_t) { program.Check(program.Run(engine)); });
    if (first) {
      result.ThrowIfFailed();
      continue;
    }
    for (const auto& error : result.errors) {
      ASSERT_TRUE(error);
      const ErrorCode code = CodeOf([&] { std::rethrow_exception(error); });
      EXPECT_TRUE(code == ErrorCode::kRefused || code == ErrorCode::kPeerLost);
    }
  }
}

TEST(AheadErrorsTest, ARunThatAsksForSomethingElse) {
  const Program program;
  for (const Setting& setting : kSettings) {
    for (const bool more : {false, true}) {
      Offline offline = MakeAhead(setting.kind, setting.num_parties,
                                  [&](Engine& engine) { program.Run(engine, more ? 70 : 69); });
      const RunResult result =
          RunAll(OnlineOptions(setting.kind, setting.num_parties, offline.packages),
                 [&](Engine& engine, size_t) {
                   program.Run(engine);
                   if (more) program.Run(engine);
                 });
      for (const auto& error : result.errors) {
        ASSERT_TRUE(error);
        const ErrorCode code = CodeOf([&] { std::rethrow_exception(error); });
        EXPECT_TRUE(code == ErrorCode::kBadInput || code == ErrorCode::kPeerLost);
      }
    }
  }
}

// A product of some rows of a party's fixed operand with a shared matrix, of its other side, or of
// some rows of both.
struct ChosenRows {
  enum class Side { kLeft, kRight, kBoth };
  Side side = Side::kRight;
  std::optional<std::vector<size_t>> rows = {};  // none: all, as they are

  IntMatrix Run(Engine& engine) const {
    std::mt19937_64 random(8);
    const IntMatrix x = RandomMatrix(random, {4, 3}, 1000), y = RandomMatrix(random, {4, 2}, 1000);
    const PrivateMatrix of_x = Private(engine, 0, x, 1000), of_y = Private(engine, 1, y, 1000);
    const FixedOperand fixed = engine.Register(of_x), other = engine.Register(of_y);
    const Operand chosen = rows ? OnlyRows(fixed, *rows) : fixed;
    Product product{Kind::kGram, engine.Input({&of_y, 1})[0], chosen};
    if (side == Side::kLeft) std::swap(product.left, product.right);
    if (side == Side::kBoth) {
      product = {Kind::kGram, OnlyRows(other, {0, 1, 2, 3}), chosen};
    }
    return engine.Reveal("out", engine.Multiply({&product, 1}), kEverybody)[0];
  }
};

// Shapes, owners and offsets are the same: what such a run opened would be the product with rows
// that the masks of others do not hide.
TEST(AheadErrorsTest, RowsThatThePackageWasNotMadeFor) {
  using Side = ChosenRows::Side;
  const std::vector<std::optional<std::vector<size_t>>> choices = {
      {{3, 0, 2, 1}}, {{3, 0, 1, 2}}, {{3, 3, 2, 1}}, {{0, 1, 2, 3}}, {}};
  for (const Setting& setting : kSettings) {
    for (const Side side : {Side::kLeft, Side::kRight, Side::kBoth}) {
      std::set<crypto::Digest> labels;
      for (const auto& rows : choices) {
        SCOPED_TRACE(setting.kind + ", side " + std::to_string(static_cast<int>(side)));
        const ChosenRows run{side, rows}, made{side, choices[0]};
        labels.insert(LabelOf(CapabilitiesOf(setting), setting.num_parties, 128,
                              [&](Engine& engine) { run.Run(engine); }));
        Offline offline =
            MakeAhead(setting.kind, setting.num_parties, [&](Engine& engine) { made.Run(engine); });
        std::vector<IntMatrix> opened(setting.num_parties);
        const RunResult result =
            RunAll(OnlineOptions(setting.kind, setting.num_parties, offline.packages),
                   [&](Engine& engine, size_t self) { opened[self] = run.Run(engine); });
        if (rows == choices[0]) {
          result.ThrowIfFailed();
          continue;
        }
        for (size_t party = 0; party < setting.num_parties; ++party) {
          ASSERT_TRUE(result.errors[party]);
          EXPECT_TRUE(opened[party].values.empty());
          const ErrorCode code = CodeOf([&] { std::rethrow_exception(result.errors[party]); });
          EXPECT_TRUE(code == ErrorCode::kBadInput || code == ErrorCode::kPeerLost);
        }
      }
      EXPECT_EQ(labels.size(), choices.size());
    }
  }
}

TEST(AheadErrorsTest, DamagedPackages) {
  AheadPackage package;
  package.steps.push_back({{}, {{16, Bytes(100, 3)}, {kBitTapeBase, Bytes(8, 4)}}});
  package.dealt_on_tape = true;
  const Bytes bytes = EncodePackage(package);
  const AheadPackage again = DecodePackage(bytes);
  EXPECT_EQ(again.steps[0].pieces, package.steps[0].pieces);
  EXPECT_TRUE(again.dealt_on_tape);
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_EQ(CodeOf([&] { DecodePackage(ByteView(bytes).first(size)); }), ErrorCode::kBadInput);
  }
  Bytes longer = bytes;
  longer.push_back(0);
  EXPECT_EQ(CodeOf([&] { DecodePackage(longer); }), ErrorCode::kBadInput);
  Bytes version = bytes;
  version[0] = 9;
  EXPECT_EQ(CodeOf([&] { DecodePackage(version); }), ErrorCode::kBadInput);
  Bytes on_tape = bytes;
  on_tape[8 + 32] = 2;
  EXPECT_EQ(CodeOf([&] { DecodePackage(on_tape); }), ErrorCode::kBadInput);
  Bytes disorder = bytes;
  disorder[8 + 32 + 1 + 8 + 32 + 8 + 8 + 8 + 100] = 16;     // the second offset, of kBitTapeBase
  disorder[8 + 32 + 1 + 8 + 32 + 8 + 8 + 8 + 100 + 7] = 0;  // is the first again
  EXPECT_EQ(CodeOf([&] { DecodePackage(disorder); }), ErrorCode::kBadInput);
  Bytes many = bytes;
  many[8 + 32 + 1 + 7] = 0xff;  // the number of steps
  EXPECT_EQ(CodeOf([&] { DecodePackage(many); }), ErrorCode::kBadInput);
}

}  // namespace
}  // namespace partita::mpc::testing::ahead_test
