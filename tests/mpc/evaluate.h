// Evaluates functions of shared values on every engine, with costs as planned.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/mpc/harness.h"
#include "tests/mpc/sanitized.h"
#include "tests/thorough.h"

namespace partita::mpc::testing {

struct Setting {
  std::string kind;
  size_t num_parties;
  // Rounds of Rescale, Decompose and ToRing, as the headers of functions call it; on `shamir` the
  // longest, of a Decompose under a uniform mask.
  size_t d() const { return kind == "dealer" ? 1 : kind == "shamir" ? 4 : 2; }
  // Of a product with its cut, one operation on `replicated`.
  size_t c() const { return kind == "replicated" ? d() : 1 + d(); }
  // Of a test's random values, how many are left out for each that is tried: two parties with a
  // dealer and three without see all, settings that take longer the edges and fewer others. The
  // functions are the same code on every engine.
  int thinning() const {
    if (kSanitized) return 20;
    if (kind == "shamir") return 5;
    return Thorough() || kind == "replicated" || (num_parties == 2 && kind == "dealer") ? 1 : 5;
  }
};
inline const Setting kSettings[] = {
    {"dealer", 2}, {"dealer", 3}, {"replicated", 3}, {"ot", 2}, {"shamir", 3}};

RunOptions OptionsOf(const Setting& setting);

// A private matrix of party 1, for Evaluate.
struct TestInput {
  IntMatrix values;
  double bound = 0;
  int fraction_bits = 40;
};

struct Opened {
  Shape shape;
  int fraction_bits = 0;
  double bound = 0;
  std::vector<Int128> integers;
  double operator[](size_t i) const { return DecodeFixed(integers[i], fraction_bits); }
};

// What `function` makes of the inputs, opened. Expects the costs to be those of the plan, all
// parties to open the same, and every value to be within its bound.
std::vector<Opened> Evaluate(
    const Setting& setting, const std::vector<TestInput>& inputs,
    const std::function<std::vector<Shared>(Engine&, const std::vector<Shared>&)>& function);

// Rounds of the longest chain of messages of `body`, by the PlanEngine.
size_t PlannedRounds(const Setting& setting, const std::function<void(Engine&)>& body);
// A handle for plans.
Shared Planned(Shape shape, int fraction_bits, double bound);

// Expects so many rounds at D = 1, and at most so many at D = 2.
void ExpectRounds(const Setting& setting, size_t stated, const std::function<void(Engine&)>& body);

// ceil(log2 n).
size_t CeilLog2(size_t n);

// A column of reals, rounded to the grid.
TestInput Column(const std::vector<double>& values, double bound, int fraction_bits = 40);

}  // namespace partita::mpc::testing
