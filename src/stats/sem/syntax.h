// lavaan's model syntax: text in, statements with their positions out. Nothing is interpreted here
// beyond the modifiers: defaults and rows are the business of parameter_table.h.
//
// Statements are separated by line breaks or semicolons; a line goes on when it ends in an operator
// or the next one begins with one. # and ! start a comment. A name is letters, digits, dots and
// underscores, not beginning with a digit, or anything in single or double quotes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stats/sem/expression.h"

namespace partita::stats {

// One value of a modifier: a number, NA or a text. c(...) has one per group.
struct ModifierValue {
  enum class Kind { kNumber, kNotAvailable, kText };
  Kind kind = Kind::kNumber;
  double number = 0;
  std::string text;
};

// What stands before the * of a term.
struct Modifier {
  enum class Kind {
    kFixed,  // 0.5*x or NA*x
    kStart,  // start(0.5)*x
    kLabel   // a*x, "a"*x, label("a")*x, equal("a")*x
  };
  Kind kind = Kind::kFixed;
  std::vector<ModifierValue> values;  // one, or one per group
  bool equal = false;  // equal("..."): the text may be lhs-op-rhs of another parameter
  TextPosition position;
};

struct ModelTerm {
  std::string name;  // empty for the intercept 1
  std::vector<Modifier> modifiers;
  TextPosition position;
};

struct ModelName {
  std::string name;
  TextPosition position;
};

// lhs op rhs. For =~ ~ ~~ : every lhs name with every term. For := and == : no names and terms but
// the sides as text without spaces, and parsed (the right side of :=, both sides of ==).
struct ModelStatement {
  std::string op;
  TextPosition position;  // of its first character
  std::vector<ModelName> lhs;
  std::vector<ModelTerm> terms;
  std::string lhs_text, rhs_text;
  std::vector<Expression> sides;
};

// Throws kBadInput naming line and column, showing the line with a caret; the hint says what to
// write instead. Text is at most 1 MiB.
std::vector<ModelStatement> ParseModelSyntax(std::string_view text);

// The error of ParseModelSyntax, for later stages that find a fault in a statement: message,
// "line 3, column 7", the line and a caret under the column.
[[noreturn]] void FailAtModelText(std::string_view text, TextPosition at,
                                  const std::string& message, const std::string& hint);

}  // namespace partita::stats
