#include "mpc/rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "mpc/bit_rules.h"
#include "mpc/oracle_schedule.h"

namespace partita::mpc {
namespace {

std::string Text(Shape shape) { return fmt::format("{} x {}", shape.rows, shape.cols); }

double PublicBound(const PublicMatrix& matrix) {
  double largest = 0;
  for (Int128 value : matrix.values.values) {
    largest = std::max(largest, std::abs(static_cast<double>(value)));
  }
  return std::ldexp(largest, -matrix.fraction_bits);
}

// Largest sum of magnitudes over a row, or over a column.
double LargestSum(const PublicMatrix& matrix, bool by_rows) {
  const Shape shape = matrix.values.shape;
  std::vector<double> sums(by_rows ? shape.rows : shape.cols);
  for (size_t i = 0; i < matrix.values.values.size(); ++i) {
    sums[by_rows ? i / shape.cols : i % shape.cols] +=
        std::abs(static_cast<double>(matrix.values.values[i]));
  }
  const double largest = sums.empty() ? 0 : *std::max_element(sums.begin(), sums.end());
  return std::ldexp(largest, -matrix.fraction_bits);
}

void CheckPublic(const PublicMatrix& matrix) {
  if (matrix.values.values.size() != matrix.values.shape.size()) {
    Misuse(fmt::format("a public matrix of shape {} has {} values", Text(matrix.values.shape),
                       matrix.values.values.size()));
  }
}

void CheckRows(const FixedOperand& operand) {
  if (operand.rows == nullptr || operand.rows->empty()) return;
  const size_t last = *std::max_element(operand.rows->begin(), operand.rows->end());
  if (last < operand.matrix.shape.rows) return;
  Misuse(fmt::format("row {} was chosen of a fixed operand of {} rows", last,
                     operand.matrix.shape.rows));
}

void CheckOperand(const Operand& operand, const EngineFacts& facts) {
  if (auto* matrix = std::get_if<PrivateMatrix>(&operand)) CheckPrivate(*matrix, facts);
  if (auto* matrix = std::get_if<PublicMatrix>(&operand)) CheckPublic(*matrix);
  if (auto* fixed = std::get_if<FixedOperand>(&operand)) {
    if (fixed->id == 0) Misuse("a fixed operand was not registered with the engine");
    CheckPrivate(fixed->matrix, facts);
    CheckRows(*fixed);
  }
}

// Shape of the product and how many terms each of its entries adds up.
struct ProductShape {
  Shape shape;
  size_t terms = 1;
};

ProductShape ShapeOfProduct(Product::Kind kind, Shape left, Shape right) {
  switch (kind) {
    case Product::Kind::kElementwise:
      if (left.rows == right.rows &&
          (left.cols == right.cols || left.cols == 1 || right.cols == 1)) {
        return {{left.rows, left.cols == 1 ? right.cols : left.cols}, 1};
      }
      Misuse(fmt::format(
          "an elementwise product of {} and {} needs equal shapes, or one column on one side",
          Text(left), Text(right)));
    case Product::Kind::kMatrix:
      if (left.cols == right.rows) return {{left.rows, right.cols}, left.cols};
      Misuse(fmt::format("a matrix product of {} and {} does not fit", Text(left), Text(right)));
    case Product::Kind::kGram:
      if (left.rows == right.rows) return {{left.cols, right.cols}, left.rows};
      Misuse(fmt::format("a cross product of {} and {} needs equal numbers of rows", Text(left),
                         Text(right)));
  }
  Misuse("unknown kind of product");
}

template <typename... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <typename... F>
Overloaded(F...) -> Overloaded<F...>;

}  // namespace

Shape ShapeOf(const Operand& operand) {
  return std::visit(Overloaded{[](const Shared& v) { return v.shape; },
                               [](const PublicMatrix& v) { return v.values.shape; },
                               [](const PrivateMatrix& v) { return v.shape; },
                               [](const FixedOperand& v) {
                                 if (v.rows == nullptr) return v.matrix.shape;
                                 return Shape{v.rows->size(), v.matrix.shape.cols};
                               }},
                    operand);
}

int FractionBitsOf(const Operand& operand) {
  return std::visit(Overloaded{[](const Shared& v) { return v.fraction_bits; },
                               [](const PublicMatrix& v) { return v.fraction_bits; },
                               [](const PrivateMatrix& v) { return v.fraction_bits; },
                               [](const FixedOperand& v) { return v.matrix.fraction_bits; }},
                    operand);
}

double BoundOf(const Operand& operand) {
  return std::visit(Overloaded{[](const Shared& v) { return v.bound; },
                               [](const PublicMatrix& v) { return PublicBound(v); },
                               [](const PrivateMatrix& v) { return v.bound; },
                               [](const FixedOperand& v) { return v.matrix.bound; }},
                    operand);
}

std::optional<PartyIndex> OwnerOf(const Operand& operand) {
  if (auto* matrix = std::get_if<PrivateMatrix>(&operand)) return matrix->owner;
  if (auto* fixed = std::get_if<FixedOperand>(&operand)) return fixed->matrix.owner;
  return {};
}

RowList RowsOf(const Operand& operand) {
  auto* fixed = std::get_if<FixedOperand>(&operand);
  return fixed != nullptr ? fixed->rows : nullptr;
}

void CheckRowsAreKept(const FixedOperand& operand, bool kept) {
  if (operand.rows == nullptr || kept) return;
  throw Error(ErrorCode::kBadInput,
              fmt::format("a fixed operand of shape {} is too large to choose rows of",
                          Text(operand.matrix.shape)),
              "use fewer rows or columns, or all rows in every product");
}

void CheckFits(const Shared& value, int ring_bits) {
  // Written so that a NaN is refused too.
  if (std::ldexp(value.bound, value.fraction_bits) < std::ldexp(1.0, ring_bits - 2)) return;
  throw Error(
      ErrorCode::kBadInput,
      fmt::format("a result of shape {} may reach {:.6g} and has {} fraction bits, which does not "
                  "fit the ring of {} bits",
                  Text(value.shape), value.bound, value.fraction_bits, ring_bits),
      "use fewer fraction bits, tighter bounds or fewer rows, or rescale before the product");
}

void CheckPrivate(const PrivateMatrix& matrix, const EngineFacts& facts) {
  if (matrix.owner >= facts.num_parties) {
    Misuse(
        fmt::format("a private matrix belongs to party {} of {}", matrix.owner, facts.num_parties));
  }
  if (facts.self == matrix.owner && !matrix.read && matrix.shape.size() > 0) {
    Misuse("a private matrix has no values at its owner");
  }
}

Shared InputResult(const PrivateMatrix& matrix, const EngineFacts& facts) {
  CheckPrivate(matrix, facts);
  Shared result{matrix.shape, matrix.fraction_bits, matrix.bound, nullptr};
  CheckFits(result, facts.ring_bits);
  return result;
}

Shared ProductResult(const Product& product, const EngineFacts& facts) {
  CheckOperand(product.left, facts);
  CheckOperand(product.right, facts);
  ProductShape product_shape =
      ShapeOfProduct(product.kind, ShapeOf(product.left), ShapeOf(product.right));
  Shared result{
      product_shape.shape, FractionBitsOf(product.left) + FractionBitsOf(product.right),
      BoundOf(product.left) * BoundOf(product.right) * static_cast<double>(product_shape.terms),
      nullptr};
  CheckFits(result, facts.ring_bits);
  return result;
}

Shared RescaleResult(const Shared& value, int fraction_bits, const EngineFacts& facts) {
  if (fraction_bits < 0 || fraction_bits > facts.ring_bits - 2 ||
      value.fraction_bits - fraction_bits > facts.ring_bits - 2) {
    Misuse(fmt::format("rescaling from {} to {} fraction bits is not possible in {} bits",
                       value.fraction_bits, fraction_bits, facts.ring_bits));
  }
  CheckFits(value, facts.ring_bits);
  Shared result{value.shape, fraction_bits, value.bound, nullptr};
  if (fraction_bits < value.fraction_bits) result.bound += std::ldexp(1.0, -fraction_bits);
  // A truncated value is smaller than the value before, which fits, except for its error.
  if (fraction_bits > value.fraction_bits) CheckFits(result, facts.ring_bits);
  return result;
}

void CheckOperation(Operation& operation, const EngineFacts& facts) {
  if (auto* input = std::get_if<InputOperation>(&operation)) {
    input->results.clear();
    for (const auto& matrix : input->inputs) input->results.push_back(InputResult(matrix, facts));
  }
  if (auto* multiply = std::get_if<MultiplyOperation>(&operation)) {
    multiply->results.clear();
    for (size_t i = 0; i < multiply->products.size(); ++i) {
      Shared result = ProductResult(multiply->products[i], facts);
      if (IsTruncated(*multiply, i)) {
        result = RescaleResult(result, multiply->fraction_bits[i], facts);
      }
      multiply->results.push_back(std::move(result));
    }
  }
  if (auto* rescale = std::get_if<RescaleOperation>(&operation)) {
    rescale->results.clear();
    for (const auto& value : rescale->values) {
      rescale->results.push_back(RescaleResult(value, rescale->fraction_bits, facts));
    }
  }
  if (auto* reveal = std::get_if<RevealOperation>(&operation)) {
    if (reveal->to != kEverybody && reveal->to >= facts.num_parties) {
      Misuse(fmt::format("release '{}' is to be opened to party {} of {}", reveal->release_id,
                         reveal->to, facts.num_parties));
    }
    reveal->results.assign(reveal->values.size(), IntMatrix{});
  }
  CheckBitOperation(operation, facts);
}

double CheckOracle(const Shared& values, const OracleTask& task, const EngineFacts& facts) {
  if (task.centre >= facts.num_parties) {
    Misuse(
        fmt::format("the centre of an oracle is party {} of {}", task.centre, facts.num_parties));
  }
  if (values.shape.size() == 0) Misuse("an oracle was asked about an empty matrix");
  if (task.kinds.empty()) Misuse("an oracle has no kind of evaluation");
  const double width = static_cast<double>(values.shape.rows + values.shape.cols);
  double elements = 0;
  for (const OracleKind& kind : task.kinds) {
    if (kind.rows == 0 || kind.max_count == 0) {
      Misuse(fmt::format("evaluations for release '{}' have no rows or may never happen",
                         kind.release_id));
    }
    elements += static_cast<double>(kind.rows) * static_cast<double>(kind.max_count) * width;
  }
  if (!(elements < 0x1p52)) {
    throw Error(ErrorCode::kBadInput,
                fmt::format("an oracle that may be asked for {:.3g} elements is too much for one "
                            "run",
                            elements),
                "declare fewer evaluations");
  }
  // Rounding to the grid moves each weight by at most half a unit.
  const double bound =
      values.bound * (task.weight_bound + std::ldexp(static_cast<double>(values.shape.rows),
                                                     -task.weight_fraction_bits));
  CheckFits({{MaxOracleRowsAtOnce(task), values.shape.cols},
             values.fraction_bits + task.weight_fraction_bits,
             bound,
             nullptr},
            facts.ring_bits);
  return bound;
}

Shared PublicResult(const PublicMatrix& value, const EngineFacts& facts) {
  CheckPublic(value);
  Shared result{value.values.shape, value.fraction_bits, PublicBound(value), nullptr};
  CheckFits(result, facts.ring_bits);
  return result;
}

Shared AddResult(const Shared& a, const Shared& b, const EngineFacts& facts) {
  if (a.shape != b.shape) {
    Misuse(fmt::format("a sum of {} and {} needs equal shapes", Text(a.shape), Text(b.shape)));
  }
  if (a.fraction_bits != b.fraction_bits) {
    Misuse(fmt::format("a sum needs equal fraction bits, not {} and {}", a.fraction_bits,
                       b.fraction_bits));
  }
  Shared result{a.shape, a.fraction_bits, a.bound + b.bound, nullptr};
  CheckFits(result, facts.ring_bits);
  return result;
}

Shared ScaleResult(const Shared& a, Int128 factor, const EngineFacts& facts) {
  Shared result{a.shape, a.fraction_bits, a.bound * std::abs(static_cast<double>(factor)), nullptr};
  CheckFits(result, facts.ring_bits);
  return result;
}

Shared MultiplyPublicResult(const Operand& left, const Operand& right, const EngineFacts& facts) {
  CheckOperand(left, facts);
  CheckOperand(right, facts);
  ProductShape product_shape =
      ShapeOfProduct(Product::Kind::kMatrix, ShapeOf(left), ShapeOf(right));
  // An entry is a weighted sum of shared values, so the public matrix's largest sum of magnitudes
  // over a row (on the left) or a column (on the right) is all that a bound can grow by: a 0/1
  // selection does not make it grow.
  const auto* weights = std::get_if<PublicMatrix>(&left);
  const bool by_rows = weights != nullptr;
  if (!by_rows) weights = &std::get<PublicMatrix>(right);
  Shared result{product_shape.shape, FractionBitsOf(left) + FractionBitsOf(right),
                BoundOf(by_rows ? right : left) * LargestSum(*weights, by_rows), nullptr};
  CheckFits(result, facts.ring_bits);
  return result;
}

Shared TransposeResult(const Shared& a) {
  return {{a.shape.cols, a.shape.rows}, a.fraction_bits, a.bound, nullptr};
}

Shared SliceResult(const Shared& a, size_t row, size_t col, Shape shape) {
  if (row > a.shape.rows || shape.rows > a.shape.rows - row || col > a.shape.cols ||
      shape.cols > a.shape.cols - col) {
    Misuse(fmt::format("a slice of {} at ({}, {}) leaves a matrix of {}", Text(shape), row, col,
                       Text(a.shape)));
  }
  return {shape, a.fraction_bits, a.bound, nullptr};
}

Shared ConcatenateResult(std::span<const Shared> parts, bool by_rows) {
  if (parts.empty()) Misuse("nothing to concatenate");
  Shared result{parts[0].shape, parts[0].fraction_bits, parts[0].bound, nullptr};
  for (const Shared& part : parts.subspan(1)) {
    if (part.fraction_bits != result.fraction_bits) {
      Misuse(fmt::format("concatenation needs equal fraction bits, not {} and {}",
                         result.fraction_bits, part.fraction_bits));
    }
    if (by_rows ? part.shape.cols != result.shape.cols : part.shape.rows != result.shape.rows) {
      Misuse(fmt::format("a matrix of {} cannot be concatenated with one of {}", Text(result.shape),
                         Text(part.shape)));
    }
    (by_rows ? result.shape.rows : result.shape.cols) +=
        by_rows ? part.shape.rows : part.shape.cols;
    result.bound = std::max(result.bound, part.bound);
  }
  return result;
}

Shared SelectRowsResult(const Shared& a, std::span<const size_t> rows) {
  for (size_t row : rows) {
    if (row < a.shape.rows) continue;
    Misuse(fmt::format("row {} was selected from a matrix of {}", row, Text(a.shape)));
  }
  return {{rows.size(), a.shape.cols}, a.fraction_bits, a.bound, nullptr};
}

Shared SumRowsResult(const Shared& a, const EngineFacts& facts) {
  Shared result{
      {1, a.shape.cols}, a.fraction_bits, a.bound * static_cast<double>(a.shape.rows), nullptr};
  CheckFits(result, facts.ring_bits);
  return result;
}

}  // namespace partita::mpc
