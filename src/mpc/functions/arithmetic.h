// What the functions of this folder are written with: rounds of unlike products and cuts, and local
// arithmetic with constants. Every bound that is handed in is the caller's knowledge of the value,
// which is often better than what the operands' bounds say.
//
// Timing  constant in shares; not in shapes and bounds (public). Proved by tests/ctime.
#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "mpc/engine.h"

namespace partita::mpc {

inline Shared WithBound(Shared value, double bound) {
  value.bound = bound;
  return value;
}

// Products of independent operands in one set of rounds, each result into its place.
class ProductRound {
 public:
  explicit ProductRound(Engine& engine) : engine_(engine) {}
  // `bound` holds for the result; `result` is written by Run and must live until then.
  void Add(Operand a, Operand b, double bound, Shared& result) {
    Add(Product::Kind::kElementwise, std::move(a), std::move(b), bound, result);
  }
  void Add(Product::Kind kind, Operand a, Operand b, double bound, Shared& result);
  // And cut to fraction_bits, with the same bound; on engines that truncate products for less than
  // a product and a cut.
  void AddCut(Operand a, Operand b, double bound, int fraction_bits, Shared& result) {
    AddCut(Product::Kind::kElementwise, std::move(a), std::move(b), bound, fraction_bits, result);
  }
  void AddCut(Product::Kind kind, Operand a, Operand b, double bound, int fraction_bits,
              Shared& result);
  // No product, but a cut beside the others.
  void AddCut(const Shared& value, double bound, int fraction_bits, Shared& result);
  // A product cut to two numbers of fraction bits. Elsewhere than on engines that truncate products
  // these cuts come after those of AddCut.
  void AddTwoCuts(Operand a, Operand b, double bound, int fraction_bits, Shared& result,
                  int other_bits, Shared& other);
  // Does nothing if nothing was added.
  void Run();

 private:
  struct CutTwice {
    Shared *result, *other;
    int fraction_bits, other_bits;
    double bound;
  };
  Engine& engine_;
  std::vector<Product> products_;
  std::vector<CutTwice> cut_twice_;
  std::vector<std::optional<int>> fraction_bits_;  // of what is cut
  std::vector<Shared*> results_;
  std::vector<double> bounds_;
};

// Cuts to different numbers of fraction bits in one set of rounds, each in its place.
class CutRound {
 public:
  explicit CutRound(Engine& engine) : engine_(engine) {}
  // `value` is replaced by Run: cut (or lifted) to fraction_bits, with this bound.
  void Add(Shared& value, int fraction_bits, double bound);
  void Run();

 private:
  struct Entry {
    Shared* value;
    int fraction_bits;
    double bound;
  };
  Engine& engine_;
  std::vector<Entry> entries_;
};

// Throws kBadInput, naming the function, on an engine whose integers are too short for products of
// fixed-point values.
void CheckCarriesFractions(const Engine& engine, std::string_view function);

// All entries equal to `constant`, rounded to fraction_bits.
Shared ConstantLike(Engine& engine, const Shared& value, double constant, int fraction_bits);
// value + constant, the constant rounded to the value's grid.
Shared PlusConstant(Engine& engine, const Shared& value, double constant, double bound);
// value * constant, the constant rounded to 2^-constant_bits; so many more fraction bits.
Shared TimesConstant(Engine& engine, const Shared& value, double constant, int constant_bits);
// The same value at more fraction bits, exactly.
Shared Lift(Engine& engine, const Shared& value, int fraction_bits);
// The same shares read as value * 2^exponent: local and free.
Shared TimesPowerOfTwo(Shared value, int exponent);
// value with the widest bound there is, so that a comparison takes nothing on trust.
Shared OfAnySize(const Engine& engine, const Shared& value);
// Another shape of the same number of entries; the order in memory is row by row, so local and
// free.
Shared Reshape(Shared value, Shape shape);
// The sum of every row, rows x 1; local. `bound` as above.
Shared SumOfRows(Engine& engine, const Shared& value, double bound);

// The diagonal of a square matrix, p x 1; local.
Shared DiagonalOf(Engine& engine, const Shared& matrix);
// The symmetric p x p matrix of its upper triangle, row by row, p(p + 1)/2 x 1; local.
Shared FromUpperTriangle(Engine& engine, const Shared& packed, size_t p);

}  // namespace partita::mpc
