// Arithmetic on labelled parameters: the right sides of := and both sides of == in a model.
//
// Grammar (R's, the part that makes sense here): numbers, labels, + - * / ^ (also **), parentheses
// and the functions exp log log2 log10 log1p expm1 sqrt abs sin cos tan asin acos atan sinh
// cosh tanh. As in R, ^ binds tighter than a sign (-2^2 is -4) and associates to the right.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace partita::stats {

// Where an expression begins in the text that the user wrote; both 1-based.
struct TextPosition {
  int line = 1;
  int column = 1;
};

// An immutable parsed expression. Values outside a function's domain give NaN or infinity, never
// an exception: an optimiser may step there, and the caller knows what to say.
class Expression {
 public:
  // The labels used, each once, in order of first use.
  const std::vector<std::string>& names() const { return names_; }

  // Where each of names() stands first.
  const std::vector<TextPosition>& positions() const { return positions_; }

  // values[i] belongs to names()[i].
  double Evaluate(std::span<const double> values) const;

  // Throws kInternal for a label without a value.
  double Evaluate(const std::map<std::string, double>& values) const;

  // Returns the value; gradient[i] becomes the exact derivative with respect to names()[i]
  // (reverse mode: one pass, whatever the number of names). abs has derivative 0 at 0.
  double EvaluateWithGradient(std::span<const double> values, std::span<double> gradient) const;

  // True if the expression is affine in its names by its form (a + 2*b, not a*b), so that its
  // gradient does not depend on the values.
  bool IsAffine() const;

 private:
  friend class ExpressionParser;
  Expression() = default;

  enum class Op : std::uint8_t {
    kNumber,
    kName,
    kAdd,
    kSubtract,
    kMultiply,
    kDivide,
    kPower,
    kNegate,
    kCall
  };
  // Operands are indices of earlier nodes, so one forward sweep evaluates and one backward sweep
  // differentiates; the last node is the result.
  struct Node {
    Op op = Op::kNumber;
    std::size_t left = 0;   // first operand; for kName an index of names_
    std::size_t right = 0;  // second operand; for kCall an index of the table of functions
    double number = 0;      // for kNumber
    int degree = 0;         // 0: constant, 1: affine in the names, 2: anything else
  };

  std::vector<double> NodeValues(std::span<const double> values) const;
  void PushBack(std::size_t i, std::span<const double> x, std::vector<double>& adjoint) const;

  std::vector<Node> nodes_;
  std::vector<std::string> names_;
  std::vector<TextPosition> positions_;
};

// Parses the whole text; `at` is its position in the model, used in errors (kBadInput, naming line
// and column). At most 200 levels of nesting and 10000 operands and operators.
Expression ParseExpression(std::string_view text, TextPosition at = {});

}  // namespace partita::stats
