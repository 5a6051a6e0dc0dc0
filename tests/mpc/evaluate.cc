#include "tests/mpc/evaluate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <mutex>

namespace partita::mpc::testing {

RunOptions OptionsOf(const Setting& setting) {
  RunOptions options;
  options.kind = setting.kind;
  options.num_parties = setting.num_parties;
  return options;
}

std::vector<Opened> Evaluate(
    const Setting& setting, const std::vector<TestInput>& inputs,
    const std::function<std::vector<Shared>(Engine&, const std::vector<Shared>&)>& function) {
  std::mutex mutex;
  std::vector<Opened> results;
  RunAndComparePlan(OptionsOf(setting), [&](Engine& engine, size_t) {
    std::vector<PrivateMatrix> matrices;
    for (const TestInput& input : inputs) {
      matrices.push_back(Private(engine, 1, input.values, input.bound, input.fraction_bits));
    }
    const std::vector<Shared> values = function(engine, engine.Input(matrices));
    const std::vector<IntMatrix> opened = engine.Reveal("out", values, kEverybody);
    if (!engine.self()) return;
    const std::lock_guard lock(mutex);
    const bool first = results.empty();
    for (size_t k = 0; k < values.size(); ++k) {
      const Shared& value = values[k];
      EXPECT_EQ(opened[k].shape, value.shape);
      if (first) {
        results.push_back({value.shape, value.fraction_bits, value.bound, opened[k].values});
        for (size_t i = 0; i < opened[k].values.size(); ++i) {
          EXPECT_LE(std::abs(results[k][i]), value.bound) << "result " << k << " entry " << i;
        }
      } else {
        EXPECT_EQ(results[k].integers, opened[k].values);
      }
    }
  });
  return results;
}

size_t PlannedRounds(const Setting& setting, const std::function<void(Engine&)>& body) {
  PlanEngine plan(setting.kind, setting.num_parties);
  body(plan);
  const auto by_process = plan.phases().back().rounds;
  return *std::max_element(by_process.begin(), by_process.end());
}

Shared Planned(Shape shape, int fraction_bits, double bound) {
  return {shape, fraction_bits, bound, std::make_shared<Shared::Payload>()};
}

void ExpectRounds(const Setting& setting, size_t stated, const std::function<void(Engine&)>& body) {
  const size_t rounds = PlannedRounds(setting, body);
  if (setting.kind ==
      "ot") {  // two rounds more for every set, of which a dealer needs one at least
    EXPECT_LE(rounds, 3 * stated + 2);
    return;
  }
  EXPECT_LE(rounds, stated);
  if (setting.d() == 1) {
    EXPECT_EQ(rounds, stated);
  }
}

size_t CeilLog2(size_t n) { return static_cast<size_t>(std::bit_width(n - 1)); }

TestInput Column(const std::vector<double>& values, double bound, int fraction_bits) {
  IntMatrix matrix{{values.size(), 1}, {}};
  for (double value : values) matrix.values.push_back(EncodeFixed(value, fraction_bits));
  return {std::move(matrix), bound, fraction_bits};
}

}  // namespace partita::mpc::testing
