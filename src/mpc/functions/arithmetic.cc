#include "mpc/functions/arithmetic.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <utility>

#include "base/error.h"
#include "mpc/batch.h"
#include "mpc/rules.h"

namespace partita::mpc {

namespace {

// What the engine takes for the bound of the product.
double BoundOfProduct(Product::Kind kind, const Operand& a, const Operand& b) {
  double terms = 1;
  if (kind == Product::Kind::kMatrix) terms = static_cast<double>(ShapeOf(a).cols);
  if (kind == Product::Kind::kGram) terms = static_cast<double>(ShapeOf(a).rows);
  return BoundOf(a) * BoundOf(b) * terms;
}

// The operand whose bound may be changed for it.
Shared* SharedOf(Operand& a, Operand& b) {
  auto* shared = std::get_if<Shared>(&a);
  return shared != nullptr ? shared : std::get_if<Shared>(&b);
}

}  // namespace

void ProductRound::Add(Product::Kind kind, Operand a, Operand b, double bound, Shared& result) {
  // The engine checks the product of the operands' bounds, where the caller may know better.
  const double product = BoundOfProduct(kind, a, b);
  Shared* shared = SharedOf(a, b);
  if (product > bound && shared != nullptr) shared->bound *= bound / product;
  products_.push_back({kind, std::move(a), std::move(b)});
  fraction_bits_.emplace_back();
  results_.push_back(&result);
  bounds_.push_back(bound);
}

void ProductRound::AddCut(Product::Kind kind, Operand a, Operand b, double bound, int fraction_bits,
                          Shared& result) {
  // What is cut is masked by its bound on some engines: it must not be smaller than the caller's.
  for (Operand* operand : {&a, &b}) {
    auto* zero = std::get_if<Shared>(operand);
    if (zero != nullptr && zero->bound == 0) zero->bound = 1;
  }
  const double product = BoundOfProduct(kind, a, b);
  Shared* shared = SharedOf(a, b);
  if (product > 0 && product < bound && shared != nullptr) shared->bound *= bound / product;
  Add(kind, std::move(a), std::move(b), bound, result);
  fraction_bits_.back() = fraction_bits;
}

void ProductRound::AddCut(const Shared& value, double bound, int fraction_bits, Shared& result) {
  const size_t rows = value.shape.rows;
  AddCut(WithBound(value, bound), PublicMatrix{{{rows, 1}, std::vector<Int128>(rows, 1)}, 0}, bound,
         fraction_bits, result);
}

void ProductRound::AddTwoCuts(Operand a, Operand b, double bound, int fraction_bits, Shared& result,
                              int other_bits, Shared& other) {
  if (engine_.capabilities().truncates_products) {
    AddCut(a, b, bound, other_bits, other);
    AddCut(std::move(a), std::move(b), bound, fraction_bits, result);
    return;
  }
  Add(std::move(a), std::move(b), bound, result);
  cut_twice_.push_back({&result, &other, fraction_bits, other_bits, bound});
}

void ProductRound::Run() {
  if (products_.empty()) return;
  std::vector<Shared> products = engine_.MultiplyAndRescale(products_, fraction_bits_);
  for (size_t i = 0; i < products.size(); ++i) {
    *results_[i] = WithBound(std::move(products[i]), bounds_[i]);
  }
  products_.clear();
  fraction_bits_.clear();
  results_.clear();
  bounds_.clear();
  CutRound cuts(engine_);
  for (const CutTwice& product : cut_twice_) {
    *product.other = *product.result;
    cuts.Add(*product.other, product.other_bits, product.bound);
    cuts.Add(*product.result, product.fraction_bits, product.bound);
  }
  cut_twice_.clear();
  cuts.Run();
}

void CutRound::Add(Shared& value, int fraction_bits, double bound) {
  entries_.push_back({&value, fraction_bits, bound});
}

void CutRound::Run() {
  if (entries_.empty()) return;
  std::map<int, std::vector<Shared>> by_bits;
  for (const Entry& entry : entries_) by_bits[entry.fraction_bits].push_back(*entry.value);
  Batch batch(engine_);
  std::map<int, Pending<Shared>> pending;
  for (const auto& [bits, values] : by_bits) pending.emplace(bits, batch.Rescale(values, bits));
  batch.Flush();
  std::map<int, size_t> next;
  for (const Entry& entry : entries_) {
    const std::vector<Shared>& done = pending.at(entry.fraction_bits).Get();
    *entry.value = WithBound(done[next[entry.fraction_bits]++], entry.bound);
  }
  entries_.clear();
}

void CheckCarriesFractions(const Engine& engine, std::string_view function) {
  if (engine.ring_bits() >= 127) return;
  throw Error(ErrorCode::kBadInput,
              fmt::format("{}: an engine with integers of {} bits carries sums, products of "
                          "integers and bits only",
                          function, engine.ring_bits()),
              "use an engine over the ring of 128 bits or the field of 127");
}

Shared ConstantLike(Engine& engine, const Shared& value, double constant, int fraction_bits) {
  const Int128 term = EncodeFixed(constant, fraction_bits);
  return engine.Public(
      {{value.shape, std::vector<Int128>(value.shape.size(), term)}, fraction_bits});
}

Shared PlusConstant(Engine& engine, const Shared& value, double constant, double bound) {
  return WithBound(engine.Add(value, ConstantLike(engine, value, constant, value.fraction_bits)),
                   bound);
}

Shared TimesConstant(Engine& engine, const Shared& value, double constant, int constant_bits) {
  Shared product =
      engine.Scale(TimesPowerOfTwo(value, -constant_bits), EncodeFixed(constant, constant_bits));
  product.bound = value.bound * std::abs(constant);
  return product;
}

Shared Lift(Engine& engine, const Shared& value, int fraction_bits) {
  Shared lifted = engine.Scale(TimesPowerOfTwo(value, value.fraction_bits - fraction_bits),
                               Int128{1} << (fraction_bits - value.fraction_bits));
  lifted.bound = value.bound;
  return lifted;
}

Shared TimesPowerOfTwo(Shared value, int exponent) {
  value.fraction_bits -= exponent;
  value.bound = std::ldexp(value.bound, exponent);
  return value;
}

Shared OfAnySize(const Engine& engine, const Shared& value) {
  return WithBound(value, std::ldexp(1 - 0x1p-10, engine.ring_bits() - 2 - value.fraction_bits));
}

Shared Reshape(Shared value, Shape shape) {
  if (shape.size() != value.shape.size()) {
    Misuse("another shape must have as many entries");
  }
  value.shape = shape;
  return value;
}

Shared SumOfRows(Engine& engine, const Shared& value, double bound) {
  const PublicMatrix ones = {{{value.shape.cols, 1}, std::vector<Int128>(value.shape.cols, 1)}, 0};
  Shared small = value;  // such that what is checked is the caller's bound
  small.bound = bound / static_cast<double>(value.shape.cols);
  return WithBound(engine.MultiplyPublic(small, ones), bound);
}

Shared DiagonalOf(Engine& engine, const Shared& matrix) {
  const size_t p = matrix.shape.rows;
  std::vector<size_t> entries;
  for (size_t i = 0; i < p; ++i) entries.push_back(i * p + i);
  return WithBound(engine.SelectRows(Reshape(matrix, {p * p, 1}), entries), matrix.bound);
}

Shared FromUpperTriangle(Engine& engine, const Shared& packed, size_t p) {
  std::vector<size_t> entries(p * p);
  size_t next = 0;
  for (size_t i = 0; i < p; ++i) {
    for (size_t j = i; j < p; ++j) entries[i * p + j] = entries[j * p + i] = next++;
  }
  return Reshape(engine.SelectRows(packed, entries), {p, p});
}

}  // namespace partita::mpc
