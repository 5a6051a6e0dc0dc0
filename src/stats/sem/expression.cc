#include "stats/sem/expression.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "base/error.h"
#include "stats/sem/tokens.h"

namespace partita::stats {
namespace {

constexpr int kMaxDepth = 200;
constexpr std::size_t kMaxNodes = 10000;

struct Function {
  std::string_view name;
  double (*value)(double);
  double (*slope)(double);
};

double Sign(double x) { return x > 0 ? 1.0 : x < 0 ? -1.0 : 0.0; }

constexpr std::array<Function, 17> kFunctions = {{
    {"exp", [](double x) { return std::exp(x); }, [](double x) { return std::exp(x); }},
    {"log", [](double x) { return std::log(x); }, [](double x) { return 1 / x; }},
    {"log2", [](double x) { return std::log2(x); },
     [](double x) { return std::numbers::log2e / x; }},
    {"log10", [](double x) { return std::log10(x); },
     [](double x) { return std::numbers::log10e / x; }},
    {"log1p", [](double x) { return std::log1p(x); }, [](double x) { return 1 / (1 + x); }},
    {"expm1", [](double x) { return std::expm1(x); }, [](double x) { return std::exp(x); }},
    {"sqrt", [](double x) { return std::sqrt(x); }, [](double x) { return 0.5 / std::sqrt(x); }},
    {"abs", [](double x) { return std::abs(x); }, Sign},
    {"sin", [](double x) { return std::sin(x); }, [](double x) { return std::cos(x); }},
    {"cos", [](double x) { return std::cos(x); }, [](double x) { return -std::sin(x); }},
    {"tan", [](double x) { return std::tan(x); },
     [](double x) { return 1 / (std::cos(x) * std::cos(x)); }},
    {"asin", [](double x) { return std::asin(x); },
     [](double x) { return 1 / std::sqrt((1 - x) * (1 + x)); }},
    {"acos", [](double x) { return std::acos(x); },
     [](double x) { return -1 / std::sqrt((1 - x) * (1 + x)); }},
    {"atan", [](double x) { return std::atan(x); }, [](double x) { return 1 / (1 + x * x); }},
    {"sinh", [](double x) { return std::sinh(x); }, [](double x) { return std::cosh(x); }},
    {"cosh", [](double x) { return std::cosh(x); }, [](double x) { return std::sinh(x); }},
    {"tanh", [](double x) { return std::tanh(x); },
     [](double x) { return (1 - std::tanh(x)) * (1 + std::tanh(x)); }},
}};

}  // namespace

// Recursive descent over sum -> product -> signed -> power -> primary, each appending its nodes.
class ExpressionParser {
 public:
  ExpressionParser(const SourceText& source, std::span<const Token> tokens)
      : source_(source), tokens_(tokens) {}

  Expression Run() {
    ParseSum();
    if (!AtEnd()) {
      Fail(Peek(), fmt::format("expected an operator, not {}", DescribeToken(Peek())),
           "join terms with + - * / or ^");
    }
    return std::move(result_);
  }

 private:
  using Op = Expression::Op;

  std::size_t ParseSum() {
    std::size_t left = ParseProduct();
    while (PeekIs("+") || PeekIs("-")) {
      const Op op = Next().raw == "+" ? Op::kAdd : Op::kSubtract;
      left = AddBinary(op, left, ParseProduct());
    }
    return left;
  }

  std::size_t ParseProduct() {
    std::size_t left = ParseSigned();
    while (PeekIs("*") || PeekIs("/")) {
      const Op op = Next().raw == "*" ? Op::kMultiply : Op::kDivide;
      left = AddBinary(op, left, ParseSigned());
    }
    return left;
  }

  std::size_t ParseSigned() {
    if (!PeekIs("-") && !PeekIs("+")) return ParsePower();
    Enter();
    const bool negative = Next().raw == "-";
    const std::size_t operand = ParseSigned();
    --depth_;
    return negative ? AddUnary(Op::kNegate, operand, 0) : operand;
  }

  // a^-b and a^b^c take a signed right side, so that ^ associates to the right.
  std::size_t ParsePower() {
    const std::size_t base = ParsePrimary();
    if (!PeekIs("^") && !PeekIs("**")) return base;
    Enter();
    Next();
    const std::size_t exponent = ParseSigned();
    --depth_;
    return AddBinary(Op::kPower, base, exponent);
  }

  std::size_t ParsePrimary() {
    const Token& token = Next();
    if (token.kind == TokenKind::kNumber) return Add({.number = token.number});
    if (token.kind == TokenKind::kName) return PeekIs("(") ? ParseCall(token) : AddName(token);
    if (!token.Is("(")) {
      Fail(token, fmt::format("expected a number, a label or '(', not {}", DescribeToken(token)),
           token.kind == TokenKind::kQuoted ? "write labels without quotes here" : "");
    }
    return ParseBracketed();
  }

  std::size_t ParseCall(const Token& name) {
    const auto* function =
        std::find_if(kFunctions.begin(), kFunctions.end(),
                     [&](const Function& candidate) { return candidate.name == name.raw; });
    if (function == kFunctions.end()) {
      if (name.raw == "c" || name.raw == "start" || name.raw == "label" || name.raw == "equal") {
        Fail(name,
             fmt::format("{}() is a modifier and cannot stand inside an expression", name.raw),
             "write it alone before a variable, or several of them one after the other: "
             "NA*c(a, b)*x");
      }
      std::vector<std::string_view> known;
      known.reserve(kFunctions.size());
      for (const Function& candidate : kFunctions) known.push_back(candidate.name);
      Fail(name, fmt::format("unknown function '{}'", name.raw),
           fmt::format("the functions are {}", fmt::join(known, ", ")));
    }
    Next();
    const std::size_t argument = ParseBracketed();
    return AddUnary(Op::kCall, argument, static_cast<std::size_t>(function - kFunctions.begin()));
  }

  // After the opening bracket.
  std::size_t ParseBracketed() {
    Enter();
    const std::size_t inside = ParseSum();
    const Token& close = Next();
    if (!close.Is(")")) {
      Fail(close, fmt::format("expected ')' or an operator, not {}", DescribeToken(close)),
           close.Is(",") ? "functions take one argument here" : "");
    }
    --depth_;
    return inside;
  }

  std::size_t AddName(const Token& token) {
    const std::string name(token.raw);
    auto& names = result_.names_;
    const auto found = index_.try_emplace(name, names.size());
    if (found.second) {
      names.push_back(name);
      result_.positions_.push_back(token.position);
    }
    return Add({.op = Op::kName, .left = found.first->second, .degree = 1});
  }

  std::size_t AddUnary(Op op, std::size_t operand, std::size_t function) {
    const int inner = result_.nodes_[operand].degree;
    const int degree = op == Op::kNegate || inner == 0 ? inner : 2;
    return Add({.op = op, .left = operand, .right = function, .degree = degree});
  }

  std::size_t AddBinary(Op op, std::size_t left, std::size_t right) {
    const int a = result_.nodes_[left].degree;
    const int b = result_.nodes_[right].degree;
    int degree = std::max(a, b);
    if (op == Op::kMultiply) degree = std::min(2, a + b);
    if (op == Op::kDivide && b > 0) degree = 2;
    if (op == Op::kPower && (a > 0 || b > 0)) degree = 2;
    return Add({.op = op, .left = left, .right = right, .degree = degree});
  }

  std::size_t Add(const Expression::Node& node) {
    if (result_.nodes_.size() >= kMaxNodes) {
      Fail(tokens_.front(),
           fmt::format("this expression has more than {} operands and operators", kMaxNodes),
           "split it with := into several");
    }
    result_.nodes_.push_back(node);
    return result_.nodes_.size() - 1;
  }

  void Enter() {
    if (++depth_ > kMaxDepth) {
      Fail(Peek(), fmt::format("this expression is nested more than {} deep", kMaxDepth),
           "split it with := into several");
    }
  }

  bool AtEnd() const { return at_ >= tokens_.size() || tokens_[at_].kind == TokenKind::kEnd; }
  bool PeekIs(std::string_view symbol) const { return !AtEnd() && tokens_[at_].Is(symbol); }
  const Token& Peek() const { return AtEnd() ? end_ : tokens_[at_]; }
  const Token& Next() {
    const Token& token = Peek();
    if (!AtEnd()) ++at_;
    return token;
  }

  [[noreturn]] void Fail(const Token& token, const std::string& message, const std::string& hint) {
    if (token.kind != TokenKind::kEnd) FailAt(source_, token.position, message, hint);
    // The end is best shown where the last word stands.
    const bool empty = tokens_.empty() || tokens_.front().kind == TokenKind::kEnd;
    const TextPosition at = empty ? source_.origin : tokens_[at_ == 0 ? 0 : at_ - 1].position;
    FailAt(source_, at, "the expression ends too early: " + message, hint);
  }

  const SourceText& source_;
  std::span<const Token> tokens_;
  std::size_t at_ = 0;
  int depth_ = 0;
  Token end_;
  std::map<std::string, std::size_t> index_;
  Expression result_;
};

std::vector<double> Expression::NodeValues(std::span<const double> values) const {
  std::vector<double> x;
  x.reserve(nodes_.size());
  for (const Node& node : nodes_) {
    switch (node.op) {
      case Op::kNumber:
        x.push_back(node.number);
        break;
      case Op::kName:
        x.push_back(values[node.left]);
        break;
      case Op::kAdd:
        x.push_back(x[node.left] + x[node.right]);
        break;
      case Op::kSubtract:
        x.push_back(x[node.left] - x[node.right]);
        break;
      case Op::kMultiply:
        x.push_back(x[node.left] * x[node.right]);
        break;
      case Op::kDivide:
        x.push_back(x[node.left] / x[node.right]);
        break;
      case Op::kPower:
        x.push_back(std::pow(x[node.left], x[node.right]));
        break;
      case Op::kNegate:
        x.push_back(-x[node.left]);
        break;
      case Op::kCall:
        x.push_back(kFunctions[node.right].value(x[node.left]));
        break;
    }
  }
  return x;
}

double Expression::Evaluate(std::span<const double> values) const {
  if (values.size() != names_.size()) {
    throw Error(ErrorCode::kInternal, fmt::format("an expression of {} names was given {} values",
                                                  names_.size(), values.size()));
  }
  return NodeValues(values).back();
}

double Expression::Evaluate(const std::map<std::string, double>& values) const {
  std::vector<double> ordered;
  for (const std::string& name : names_) {
    const auto found = values.find(name);
    if (found == values.end()) {
      throw Error(ErrorCode::kInternal, fmt::format("no value for the label '{}'", name));
    }
    ordered.push_back(found->second);
  }
  return Evaluate(ordered);
}

double Expression::EvaluateWithGradient(std::span<const double> values,
                                        std::span<double> gradient) const {
  if (values.size() != names_.size() || gradient.size() != names_.size()) {
    throw Error(ErrorCode::kInternal,
                fmt::format("an expression of {} names was given {} values and {} derivatives",
                            names_.size(), values.size(), gradient.size()));
  }
  const std::vector<double> x = NodeValues(values);
  std::vector<double> adjoint(nodes_.size(), 0.0);
  adjoint.back() = 1;
  std::fill(gradient.begin(), gradient.end(), 0.0);
  for (std::size_t i = nodes_.size(); i-- > 0;) {
    const Node& node = nodes_[i];
    if (node.op == Op::kName) gradient[node.left] += adjoint[i];
    if (node.degree > 0 && adjoint[i] != 0) PushBack(i, x, adjoint);
  }
  return x.back();
}

// Adds node i's share to the derivatives with respect to its operands. Constant operands are left
// out: the derivative of a^2 with respect to 2 would ask for log(a).
void Expression::PushBack(std::size_t i, std::span<const double> x,
                          std::vector<double>& adjoint) const {
  const Node& node = nodes_[i];
  const double outer = adjoint[i];
  const std::size_t l = node.left;
  const std::size_t r = node.right;
  switch (node.op) {
    case Op::kNumber:
    case Op::kName:
      break;
    case Op::kAdd:
      adjoint[l] += outer;
      adjoint[r] += outer;
      break;
    case Op::kSubtract:
      adjoint[l] += outer;
      adjoint[r] -= outer;
      break;
    case Op::kMultiply:
      adjoint[l] += outer * x[r];
      adjoint[r] += outer * x[l];
      break;
    case Op::kDivide:
      adjoint[l] += outer / x[r];
      adjoint[r] -= outer * x[i] / x[r];
      break;
    case Op::kPower:
      if (nodes_[l].degree > 0 && x[r] != 0) adjoint[l] += outer * x[r] * std::pow(x[l], x[r] - 1);
      if (nodes_[r].degree > 0 && x[i] != 0) adjoint[r] += outer * x[i] * std::log(x[l]);
      break;
    case Op::kNegate:
      adjoint[l] -= outer;
      break;
    case Op::kCall:
      adjoint[l] += outer * kFunctions[r].slope(x[l]);
      break;
  }
}

bool Expression::IsAffine() const { return nodes_.back().degree <= 1; }

Expression ParseExpressionTokens(const SourceText& source, std::span<const Token> tokens) {
  return ExpressionParser(source, tokens).Run();
}

Expression ParseExpression(std::string_view text, TextPosition at) {
  const SourceText source{text, at};
  std::vector<Token> tokens = Tokenize(source);
  // A line break means nothing inside an expression.
  std::erase_if(tokens, [](const Token& t) { return t.raw == "\n"; });
  return ParseExpressionTokens(source, tokens);
}

}  // namespace partita::stats
