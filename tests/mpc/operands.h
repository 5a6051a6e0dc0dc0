// Products of every kind of operand, and linear algebra, against plaintext integers: what the tests
// of several engines ask of each.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "mpc/engine.h"
#include "tests/mpc/harness.h"

namespace partita::mpc::testing {

IntMatrix Row(std::vector<Int128> values);

Shared InputOne(Engine& engine, PartyIndex owner, const IntMatrix& values, double bound,
                int fraction_bits = 0);

// Runs `body`, which returns what it opened to everybody; expects all parties to have opened the
// same and the costs to be those of the plan.
std::vector<IntMatrix> OpenAtAll(const RunOptions& options,
                                 const std::function<std::vector<IntMatrix>(Engine&)>& body);

// How an operand enters a product.
enum class As { kShared, kPublic, kPrivate, kFixed };
struct Way {
  As as;
  PartyIndex owner;  // of all but public ones
};

Operand MakeOperand(Engine& engine, Way way, const IntMatrix& values, double bound,
                    int fraction_bits = 0);

// All combinations of one product in one Multiply, twice: the second time, fixed operands are
// already shared.
void CheckAllWays(const RunOptions& options, std::span<const Way> ways, Product::Kind kind,
                  Shape left_shape, Shape right_shape, int64_t magnitude);

// Sums, differences, multiples, products with public matrices and slices of shared and public
// matrices.
void CheckLinearAlgebra(const RunOptions& options);

}  // namespace partita::mpc::testing
