#include "stats/sem/syntax.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "stats/sem/tokens.h"

namespace partita::stats {
namespace {

using Tokens = std::span<const Token>;

struct Refusal {
  std::string_view word, what, hint;
};

// Operators of lavaan that mean something else than a parameter of a continuous, single-level
// model.
constexpr std::array<Refusal, 7> kRefusedOperators = {{
    {"|", "thresholds (|) of ordered variables are not supported",
     "treat the variable as continuous, or leave it out"},
    {"~*~", "scaling factors (~*~) of ordered variables are not supported", "remove this line"},
    {"<~", "formative latent variables (<~) are not supported",
     "compute the composite as a column of the data, or measure the variable with =~"},
    {"%", "blocks (%) are not supported", "use modifiers with one value per group: c(a, b)*x"},
    {"<", "inequality constraints (<) are not supported",
     "remove the constraint and look at the estimate, or fix the parameter with =="},
    {">", "inequality constraints (>) are not supported",
     "remove the constraint and look at the estimate, or fix the parameter with =="},
    {":", "blocks (NAME: ...) are not supported", "begin a statement with a name and an operator"},
}};

// What stands before the : of a block.
constexpr std::array<Refusal, 4> kRefusedBlocks = {{
    {"group", "blocks (group:) are not supported",
     "name the groups in the analysis (group = \"school\") and use modifiers with one value per "
     "group: c(a, b)*x"},
    {"level", "models of two levels (level:) are not supported",
     "for rows that belong together use robust standard errors with `cluster` in [design], or "
     "site = \"fixed\" for institutions with intercepts of their own"},
    {"class", "models with latent classes (class:) are not supported",
     "use a model without classes"},
    {"block", "blocks (block:) are not supported",
     "use groups: group = \"school\" in the analysis, c(a, b)*x in the model"},
}};

constexpr std::array<Refusal, 5> kRefusedModifiers = {{
    {"lower", "bounds are not supported", "remove lower(...) and look at the estimate"},
    {"upper", "bounds are not supported", "remove upper(...) and look at the estimate"},
    {"efa", "exploratory blocks are not supported", "write the loadings out, one =~ per factor"},
    {"prior", "priors are not part of a maximum likelihood model", "remove prior(...)"},
    {"rv", "random slopes are not supported", "remove rv(...)"},
}};

const Refusal* Find(std::span<const Refusal> refusals, std::string_view word) {
  const auto found = std::find_if(refusals.begin(), refusals.end(),
                                  [&](const Refusal& refusal) { return refusal.word == word; });
  return found == refusals.end() ? nullptr : &*found;
}

// Modifiers that are written as functions, beside c().
bool IsNamedModifier(std::string_view name) {
  return name == "start" || name == "label" || name == "equal";
}

bool IsIdentifier(std::string_view text) {
  const auto ordinary = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' ||
           c == '_' || static_cast<unsigned char>(c) >= 0x80U;
  };
  if (text.empty() || (text[0] >= '0' && text[0] <= '9')) return false;
  const bool number_like = text.size() > 1 && text[0] == '.' && text[1] >= '0' && text[1] <= '9';
  return !number_like && std::all_of(text.begin(), text.end(), ordinary);
}

// Splits at a symbol outside brackets; an empty input gives one empty piece.
std::vector<Tokens> SplitAt(Tokens tokens, std::string_view symbol) {
  std::vector<Tokens> pieces;
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i].Is("(")) ++depth;
    if (tokens[i].Is(")")) --depth;
    if (depth == 0 && tokens[i].Is(symbol)) {
      pieces.push_back(tokens.subspan(begin, i - begin));
      begin = i + 1;
    }
  }
  pieces.push_back(tokens.subspan(begin));
  return pieces;
}

class StatementParser {
 public:
  // `tokens` is one statement, never empty, followed in memory by a separator or the end.
  StatementParser(const SourceText& source, Tokens tokens) : source_(source), tokens_(tokens) {}

  ModelStatement Run() {
    const std::size_t op = FindOperator();
    const Token& token = tokens_[op];
    const Refusal* block = token.Is(":") ? Find(kRefusedBlocks, tokens_.front().raw) : nullptr;
    if (block != nullptr) Fail(token, std::string(block->what), std::string(block->hint));
    if (const Refusal* refusal = Find(kRefusedOperators, token.raw)) {
      Fail(token, std::string(refusal->what), std::string(refusal->hint));
    }
    statement_.op = token.raw;
    statement_.position = tokens_.front().position;
    const Tokens lhs = tokens_.first(op);
    const Tokens rhs = tokens_.subspan(op + 1);
    if (lhs.empty()) {
      Fail(token, fmt::format("nothing stands before {}", token.raw),
           "a statement begins with a name, like y ~ x");
    }
    if (rhs.empty()) {
      Fail(token, fmt::format("nothing follows {}", token.raw), "complete or remove the statement");
    }
    if (token.raw == ":=" || token.raw == "==") {
      ParseConstraint(lhs, rhs);
    } else {
      ParseLeftSide(lhs);
      ParseRightSide(rhs);
    }
    return std::move(statement_);
  }

 private:
  std::size_t FindOperator() {
    static constexpr std::array<std::string_view, 11> kOperators = {
        "=~", "~~", "~", ":=", "==", "|", "~*~", "<~", "%", "<", ">"};
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      const Token& token = tokens_[i];
      if (token.kind != TokenKind::kSymbol) continue;
      if (std::find(kOperators.begin(), kOperators.end(), token.raw) != kOperators.end()) return i;
      // "group: 1" is a block, "f ~ a:b" an interaction.
      if (token.raw == ":" && i == 1) return i;
      if (token.raw == "=") {
        Fail(token, "a single '=' means nothing here",
             "write =~ (measured by), == (constraint) or := (definition)");
      }
    }
    const Token& first = tokens_.front();
    Fail(first, "no operator in this statement",
         "expected =~ ~ ~~ := or ==; a formula goes on in the next line only after or before an "
         "operator such as +");
  }

  void ParseConstraint(Tokens lhs, Tokens rhs) {
    for (const Token& token : rhs) {
      if (Find(kRefusedOperators, token.raw) != nullptr || token.Is("=~") || token.Is("~~") ||
          token.Is("~") || token.Is("==") || token.Is(":=")) {
        Fail(token, fmt::format("a second operator '{}' in one statement", token.raw),
             "end the statement before it with a line break or ';'");
      }
    }
    statement_.lhs_text = Join(lhs);
    statement_.rhs_text = Join(rhs);
    if (statement_.op == ":=") {
      if (lhs.size() != 1 || lhs[0].kind != TokenKind::kName) {
        Fail(lhs[0], "the left side of := must be one new name", "like indirect := a*b");
      }
    } else {
      statement_.sides.push_back(ParseExpressionTokens(source_, lhs));
    }
    statement_.sides.push_back(ParseExpressionTokens(source_, rhs));
  }

  static std::string Join(Tokens tokens) {
    std::string text;
    for (const Token& token : tokens) text += token.raw;
    return text;
  }

  void ParseLeftSide(Tokens lhs) {
    for (const Tokens piece : SplitAt(lhs, "+")) {
      if (piece.empty()) {
        Fail(lhs.front(), "a '+' without a name beside it on the left side", "remove the '+'");
      }
      const Token& token = piece.front();
      if (piece.size() > 1 && piece[1].Is("*")) {
        Fail(token, "modifiers are not allowed on the left side",
             "write the modifier on the right: f =~ a*x");
      }
      if (piece.size() > 1) {
        Fail(piece[1], fmt::format("expected '+' or an operator, not {}", DescribeToken(piece[1])),
             "join names on the left side with +");
      }
      statement_.lhs.push_back({VariableName(token), token.position});
    }
  }

  std::string VariableName(const Token& token) {
    if (!token.IsText() || token.value.empty()) {
      Fail(token, fmt::format("expected the name of a variable, not {}", DescribeToken(token)),
           "names are letters, digits, dots and underscores, or anything in quotes");
    }
    if (token.kind == TokenKind::kName && token.raw == "NA") {
      Fail(token, "NA is not the name of a variable", "put it in quotes if a column is called NA");
    }
    return std::string(token.value);
  }

  void ParseRightSide(Tokens rhs) {
    // lavaan forgives a '+' right after the operator.
    const Tokens terms = rhs.front().Is("+") ? rhs.subspan(1) : rhs;
    for (const Tokens piece : SplitAt(terms, "+")) {
      if (piece.empty()) {
        const auto begin = static_cast<std::size_t>(piece.data() - rhs.data());
        Fail(rhs[begin > 0 ? begin - 1 : 0], "a '+' without a term after it or before it",
             "remove the '+' or add the missing term");
      }
      AddTerm(ParseTerm(piece));
    }
  }

  // Repetitions of a variable within one formula add modifiers: a*x + start(0.5)*x.
  void AddTerm(ModelTerm term) {
    auto& terms = statement_.terms;
    const auto [known, added] = term_index_.try_emplace(term.name, terms.size());
    if (added) {
      terms.push_back(std::move(term));
      return;
    }
    if (term.modifiers.empty()) {
      FailAt(source_, term.position, fmt::format("{} occurs twice in this formula", Shown(term)),
             "remove one of the two");
    }
    for (Modifier& modifier : term.modifiers)
      AddModifier(std::move(modifier), terms[known->second]);
  }

  static std::string Shown(const ModelTerm& term) {
    return term.name.empty() ? "the intercept 1" : "'" + term.name + "'";
  }

  void AddModifier(Modifier modifier, ModelTerm& term) const {
    const auto same = std::find_if(term.modifiers.begin(), term.modifiers.end(),
                                   [&](const Modifier& m) { return m.kind == modifier.kind; });
    if (same != term.modifiers.end()) {
      FailAt(source_, modifier.position,
             fmt::format("{} already has a modifier of this kind in this formula", Shown(term)),
             "keep one label, one fixed value and one start() per variable");
    }
    term.modifiers.push_back(std::move(modifier));
  }

  ModelTerm ParseTerm(Tokens piece) {
    for (const Token& token : piece) {
      if (token.Is(":")) {
        Fail(token, "products of variables (x:z) are not supported",
             "name the product in the study file and use that name: [[derived]] with transform = "
             "\"product\", from = \"x\", with = \"z\", both held by one party");
      }
      if (token.Is("?")) {
        Fail(token, "'?' start values are not supported", "write start(0.5)*x instead of 0.5?x");
      }
    }
    const std::vector<Tokens> factors = SplitAt(piece, "*");
    const Tokens variable = factors.back();
    ModelTerm term;
    term.position = piece.front().position;
    if (variable.size() != 1) FailAtVariable(piece, variable);
    if (variable[0].kind == TokenKind::kNumber) {
      ParseIntercept(variable[0], factors.size() > 1, term);
    } else {
      term.name = VariableName(variable[0]);
    }
    if (factors.size() > 1) {
      const auto size = static_cast<std::size_t>(variable.data() - piece.data()) - 1;
      AddModifiers(piece.first(size), factors, term);
    }
    return term;
  }

  // NA*c(a, a)*x is NA*x + c(a, a)*x; but 2*0.5*x has one fixed value, an expression.
  void AddModifiers(Tokens all, const std::vector<Tokens>& factors, ModelTerm& term) {
    const auto stands_alone = [](Tokens factor) {
      return !factor.empty() && factor[0].kind == TokenKind::kName &&
             (factor.size() == 1 ? factor[0].raw == "NA" : IsModifierCall(factor));
    };
    if (factors.size() == 2 || std::none_of(factors.begin(), factors.end() - 1, stands_alone)) {
      term.modifiers.push_back(ParseModifier(all));
      return;
    }
    for (auto factor = factors.begin(); factor + 1 != factors.end(); ++factor)
      AddModifier(ParseModifier(*factor), term);
  }

  static bool IsModifierCall(Tokens tokens) {
    return tokens.size() > 2 && tokens[0].kind == TokenKind::kName && tokens[1].Is("(") &&
           tokens.back().Is(")") &&
           (tokens[0].raw == "c" || IsNamedModifier(tokens[0].raw) ||
            Find(kRefusedModifiers, tokens[0].raw) != nullptr);
  }

  [[noreturn]] void FailAtVariable(Tokens piece, Tokens variable) {
    if (variable.empty()) Fail(piece.back(), "nothing follows this '*'", "write a*x");
    const Token& extra = variable[0].IsText() ? variable[1] : variable[0];
    if (extra.Is("-")) {
      Fail(extra, "terms cannot be subtracted", "write + -1*x for a path fixed at -1");
    }
    if (variable[0].IsText() && extra.IsText()) {
      Fail(extra, fmt::format("expected an operator before {}", DescribeToken(extra)),
           "join terms with +; a formula goes on in the next line after or before a +");
    }
    if (extra.Is("~") || extra.Is("~~") || extra.Is("=~") || extra.Is("==") || extra.Is(":=")) {
      Fail(extra, fmt::format("a second operator '{}' in one statement", extra.raw),
           "end the statement before it with a line break or ';'");
    }
    Fail(extra, fmt::format("expected the name of a variable or '+', not {}", DescribeToken(extra)),
         "a term is a variable, or modifier*variable");
  }

  void ParseIntercept(const Token& token, bool has_modifier, ModelTerm& term) {
    if (statement_.op != "~") {
      Fail(token, fmt::format("the number {} cannot stand here as a variable", token.raw),
           statement_.op == "=~" ? "a latent variable needs indicators; f =~ 0*x fixes one at zero"
                                 : "intercepts are written y ~ 1");
    }
    if (token.number == 0 && !has_modifier) {  // y ~ 0 + x, as in R
      Modifier zero;
      zero.values.emplace_back();
      zero.position = token.position;
      term.modifiers.push_back(zero);
    } else if (token.number != 1) {
      Fail(token, fmt::format("the number {} cannot stand here as a variable", token.raw),
           "write y ~ 1 for a free intercept and y ~ 0.5*1 for one fixed at 0.5");
    }
  }

  Modifier ParseModifier(Tokens tokens) {
    if (tokens.empty()) {
      Fail(tokens_.back(), "nothing stands before a '*'", "write a*x, 0.5*x or NA*x");
    }
    const Token& first = tokens.front();
    const bool call = tokens.size() > 2 && first.kind == TokenKind::kName && tokens[1].Is("(") &&
                      tokens.back().Is(")");
    if (call) {
      if (const Refusal* refusal = Find(kRefusedModifiers, first.raw)) {
        Fail(first, std::string(refusal->what), std::string(refusal->hint));
      }
      if (IsNamedModifier(first.raw)) {
        return NamedModifier(first, tokens.subspan(2, tokens.size() - 3));
      }
    }
    Modifier modifier;
    modifier.position = first.position;
    modifier.values = ParseValues(tokens);
    const bool text = std::any_of(modifier.values.begin(), modifier.values.end(), IsTextValue);
    modifier.kind = text ? Modifier::Kind::kLabel : Modifier::Kind::kFixed;
    FinishLabels(modifier);
    return modifier;
  }

  // start(...), label(...) and equal(...).
  Modifier NamedModifier(const Token& name, Tokens arguments) {
    Modifier modifier;
    modifier.position = name.position;
    modifier.kind = name.raw == "start" ? Modifier::Kind::kStart : Modifier::Kind::kLabel;
    modifier.equal = name.raw == "equal";
    if (arguments.empty()) {
      Fail(name, fmt::format("{}() without a value", name.raw),
           modifier.kind == Modifier::Kind::kStart ? "write start(0.5)*x" : "write label(\"a\")*x");
    }
    for (const Tokens argument : SplitAt(arguments, ",")) {
      if (argument.empty()) {
        Fail(name, fmt::format("an empty value in {}()", name.raw), "remove the extra comma");
      }
      for (ModifierValue& value : ParseValues(argument)) {
        modifier.values.push_back(std::move(value));
      }
    }
    const bool label = modifier.kind == Modifier::Kind::kLabel;
    for (const ModifierValue& value : modifier.values) {
      const bool fits = value.kind == ModifierValue::Kind::kNotAvailable ||
                        (value.kind == ModifierValue::Kind::kText) == label;
      if (!fits) {
        Fail(name, fmt::format("{}() takes {}", name.raw, label ? "labels" : "numbers"),
             label ? "write label(\"a\")*x" : "write start(0.5)*x");
      }
    }
    FinishLabels(modifier);
    return modifier;
  }

  static bool IsTextValue(const ModifierValue& value) {
    return value.kind == ModifierValue::Kind::kText;
  }

  // One value, or c(...).
  std::vector<ModifierValue> ParseValues(Tokens tokens) {
    const bool combined = tokens.size() > 2 && tokens[0].kind == TokenKind::kName &&
                          tokens[0].raw == "c" && tokens[1].Is("(") && tokens.back().Is(")");
    if (!combined) return {ParseValue(tokens)};
    std::vector<ModifierValue> values;
    bool bare_label = false;
    const Tokens inside = tokens.subspan(2, tokens.size() - 3);
    for (const Tokens item : SplitAt(inside, ",")) {
      if (item.empty()) {
        Fail(tokens[0], "an empty value in c()", "write one value per group: c(a, b)*x");
      }
      values.push_back(ParseValue(item));
      bare_label |= item[0].kind == TokenKind::kName && IsTextValue(values.back());
    }
    const bool any_text = std::any_of(values.begin(), values.end(), IsTextValue);
    for (const ModifierValue& value : values) {
      if (any_text && value.kind == ModifierValue::Kind::kNumber) {
        Fail(tokens[0], "c() mixes labels and numbers",
             "write two modifiers: c(\"a\", \"b\")*x + c(NA, 0.5)*x");
      }
      if (bare_label && value.kind == ModifierValue::Kind::kNotAvailable) {
        Fail(tokens[0], "c() mixes labels and NA",
             "write c(\"a\", \"\")*x for a label in the first group only");
      }
    }
    return values;
  }

  ModifierValue ParseValue(Tokens tokens) {
    const Token& first = tokens.front();
    ModifierValue value;
    if (tokens.size() == 1 && first.IsText()) {
      const bool na = first.kind == TokenKind::kName && first.raw == "NA";
      value.kind = na ? ModifierValue::Kind::kNotAvailable : ModifierValue::Kind::kText;
      if (!na) value.text = first.value;
      return value;
    }
    const Expression expression = ParseExpressionTokens(source_, tokens);
    if (!expression.names().empty()) {
      FailAt(source_, expression.positions().front(),
             fmt::format("the label '{}' inside a fixed value", expression.names().front()),
             "write a*x + 0.5*x for a label and a value, and == for a function of parameters");
    }
    value.number = expression.Evaluate(std::span<const double>());
    if (!std::isfinite(value.number)) {
      Fail(first, "this value is not a finite number", "write a number like 0.5");
    }
    return value;
  }

  // NA among labels means no label in that group, as in lavaan.
  void FinishLabels(Modifier& modifier) {
    if (modifier.kind != Modifier::Kind::kLabel) return;
    for (ModifierValue& value : modifier.values) {
      value.kind = ModifierValue::Kind::kText;
      if (!modifier.equal && !value.text.empty() && !IsIdentifier(value.text)) {
        FailAt(source_, modifier.position, fmt::format("'{}' cannot be a label", value.text),
               "labels are letters, digits, dots and underscores");
      }
    }
  }

  [[noreturn]] void Fail(const Token& token, const std::string& message,
                         const std::string& hint) const {
    FailAt(source_, token.position, message, hint);
  }

  const SourceText& source_;
  Tokens tokens_;
  ModelStatement statement_;
  std::unordered_map<std::string, std::size_t> term_index_;
};

}  // namespace

std::vector<ModelStatement> ParseModelSyntax(std::string_view text) {
  const SourceText source{text, {}};
  const std::vector<Token> tokens = Tokenize(source);
  std::vector<ModelStatement> statements;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const TokenKind kind = tokens[i].kind;
    if (kind != TokenKind::kSeparator && kind != TokenKind::kEnd) continue;
    if (i > begin) {
      const Tokens statement = Tokens(tokens).subspan(begin, i - begin);
      statements.push_back(StatementParser(source, statement).Run());
    }
    begin = i + 1;
  }
  if (statements.empty()) {
    FailAt(source, {}, "the model is empty", "write at least one formula, like f =~ x1 + x2 + x3");
  }
  return statements;
}

void FailAtModelText(std::string_view text, TextPosition at, const std::string& message,
                     const std::string& hint) {
  FailAt({text, {}}, at, message, hint);
}

}  // namespace partita::stats
