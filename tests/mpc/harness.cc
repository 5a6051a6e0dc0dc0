#include "tests/mpc/harness.h"

#include <gtest/gtest.h>

#include <thread>

#include "base/error.h"
#include "crypto/random.h"
#include "mpc/dealer_engine.h"
#include "mpc/ot/ot_engine.h"
#include "mpc/replicated_engine.h"
#include "mpc/shamir_engine.h"
#include "net/memory_transport.h"

namespace partita::mpc::testing {
namespace {

size_t NumProcesses(const RunOptions& options) {
  return options.num_parties + (options.kind == "dealer" ? 1 : 0);
}

EngineMaker MakeKind(const std::string& kind) {
  if (kind == "replicated") return MakeReplicatedEngine;
  if (kind == "shamir") return MakeShamirEngine;
  if (kind == "ot") {
    return [](net::Channel& channel, ReleaseGate& gate) { return MakeOtEngine(channel, gate); };
  }
  return MakeDealerEngine;
}

std::unique_ptr<CountingReleaseGate> MakeGate(const RunOptions& options) {
  std::unique_ptr<CountingReleaseGate> gate;
  if (options.agrees) gate = std::make_unique<AgreedReleaseGate>(AsBytes("run of a test"));
  if (gate == nullptr) gate = std::make_unique<CountingReleaseGate>();
  gate->Reserve(options.releases);
  return gate;
}

void RunProcess(const RunOptions& options, const Body& body,
                std::unique_ptr<net::Transport> transport, RunResult& result) {
  const size_t process = transport->self();
  if (options.wrap) transport = options.wrap(std::move(transport));
  net::Channel channel(std::move(transport), AsBytes("run of a test"), 1);
  try {
    if (options.prepare) options.prepare(channel);
    const std::unique_ptr<CountingReleaseGate> gate = MakeGate(options);
    auto engine =
        options.make ? options.make(channel, *gate) : MakeKind(options.kind)(channel, *gate);
    body(*engine, process);
    gate->Finish();
  } catch (const Error& error) {
    result.errors[process] = std::current_exception();
    channel.Abort(error);
  } catch (...) {
    result.errors[process] = std::current_exception();
  }
  result.traffic[process] = channel.traffic();
  result.depth[process] = channel.depth();
}

}  // namespace

void RunResult::ThrowIfFailed() const {
  std::exception_ptr consequence;
  for (const auto& error : errors) {
    if (!error) continue;
    try {
      std::rethrow_exception(error);
    } catch (const Error& e) {
      if (e.code() != ErrorCode::kPeerLost) throw;
      consequence = error;
    }
  }
  if (consequence) std::rethrow_exception(consequence);
}

RunResult RunAll(const RunOptions& options, const Body& body) {
  std::vector<std::string> names;
  for (size_t i = 0; i < NumProcesses(options); ++i) {
    names.push_back(i < options.num_parties ? "party" + std::to_string(i) : "dealer");
  }
  crypto::SystemRandom random;
  auto transports = net::MakeMemoryTransports(names, random);
  RunResult result;
  result.traffic.resize(names.size());
  result.depth.resize(names.size());
  result.errors.resize(names.size());
  std::vector<std::thread> threads;
  for (auto& transport : transports) {
    threads.emplace_back([&options, &body, &result, own = std::move(transport)]() mutable {
      RunProcess(options, body, std::move(own), result);
    });
  }
  for (auto& thread : threads) thread.join();
  return result;
}

RunResult RunAndComparePlan(const RunOptions& options, const Body& body) {
  RunResult result = RunAll(options, body);
  result.ThrowIfFailed();
  const std::unique_ptr<CountingReleaseGate> gate = options.agrees ? MakeGate(options) : nullptr;
  PlanEngine plan = options.plan ? PlanEngine(options.plan(options.num_parties), gate.get())
                                 : PlanEngine(options.kind, options.num_parties, gate.get());
  body(plan, NumProcesses(options));
  const std::vector<PhaseCost> phases = plan.phases();
  for (size_t self = 0; self < result.traffic.size(); ++self) {
    const auto& traffic = result.traffic[self];
    // A process that sent and received nothing before the first named phase has no phase "start".
    size_t skipped = phases.size() - traffic.size();
    EXPECT_LE(traffic.size(), phases.size());
    if (traffic.size() > phases.size()) return result;
    for (size_t p = 0; p < traffic.size(); ++p) {
      const PhaseCost& expected = phases[p + skipped];
      EXPECT_EQ(traffic[p].phase, expected.phase);
      EXPECT_EQ(traffic[p].rounds, expected.rounds[self]) << "process " << self;
      for (size_t peer = 0; peer < result.traffic.size(); ++peer) {
        const net::LinkTraffic& link = traffic[p].links[peer];
        EXPECT_EQ(link.messages_sent, expected.links[self][peer].messages)
            << self << " -> " << peer;
        EXPECT_EQ(link.bytes_sent, expected.links[self][peer].bytes) << self << " -> " << peer;
        EXPECT_EQ(link.messages_received, expected.links[peer][self].messages)
            << self << " <- " << peer;
        EXPECT_EQ(link.bytes_received, expected.links[peer][self].bytes) << self << " <- " << peer;
      }
    }
  }
  return result;
}

PlanEngine OnlinePlan(const std::string& kind, size_t num_parties) {
  if (kind == "ot") return {MakeOtCostModel(num_parties, 128, true), nullptr};
  return {kind, num_parties};
}

PrivateMatrix Private(const Engine& engine, PartyIndex owner, const IntMatrix& values, double bound,
                      int fraction_bits) {
  PrivateMatrix matrix{owner, values.shape, fraction_bits, bound, nullptr};
  if (engine.self() == owner) {
    matrix.read = [&values](size_t first, size_t count, Int128* out) {
      const size_t cols = values.shape.cols;
      std::copy_n(values.values.begin() + static_cast<ptrdiff_t>(first * cols), count * cols, out);
    };
  }
  return matrix;
}

IntMatrix RandomMatrix(std::mt19937_64& random, Shape shape, int64_t magnitude) {
  std::uniform_int_distribution<int64_t> value(-magnitude, magnitude);
  IntMatrix matrix{shape, std::vector<Int128>(shape.size())};
  for (Int128& v : matrix.values) v = value(random);
  return matrix;
}

IntMatrix PlainProduct(Product::Kind kind, const IntMatrix& left, const IntMatrix& right) {
  auto l = [&](size_t r, size_t c) {
    return static_cast<UInt128>(left.values[r * left.shape.cols + c]);
  };
  auto r = [&](size_t row, size_t c) {
    return static_cast<UInt128>(right.values[row * right.shape.cols + c]);
  };
  IntMatrix out;
  if (kind == Product::Kind::kElementwise) {
    const size_t cols = left.shape.cols == 1 ? right.shape.cols : left.shape.cols;
    out.shape = {left.shape.rows, cols};
    for (size_t i = 0; i < left.shape.rows; ++i) {
      for (size_t j = 0; j < cols; ++j) {
        UInt128 v = l(i, left.shape.cols == 1 ? 0 : j) * r(i, right.shape.cols == 1 ? 0 : j);
        out.values.push_back(static_cast<Int128>(v));
      }
    }
    return out;
  }
  const bool gram = kind == Product::Kind::kGram;
  const size_t terms = right.shape.rows;
  out.shape = {gram ? left.shape.cols : left.shape.rows, right.shape.cols};
  for (size_t i = 0; i < out.shape.rows; ++i) {
    for (size_t j = 0; j < out.shape.cols; ++j) {
      UInt128 sum = 0;
      for (size_t t = 0; t < terms; ++t) sum += (gram ? l(t, i) : l(i, t)) * r(t, j);
      out.values.push_back(static_cast<Int128>(sum));
    }
  }
  return out;
}

bool operator==(const IntMatrix& a, const IntMatrix& b) {
  return a.shape == b.shape && a.values == b.values;
}

}  // namespace partita::mpc::testing
