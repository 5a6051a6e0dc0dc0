// Words of the model language, shared by the statement parser and the expression parser.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stats/sem/expression.h"

namespace partita::stats {

// Text and where its first character stands in the text that the user wrote.
struct SourceText {
  std::string_view text;
  TextPosition origin;
};

enum class TokenKind {
  kName,
  kNumber,
  kQuoted,     // value holds the text between the quotes
  kSymbol,     // operators, brackets, commas
  kSeparator,  // a semicolon, or a line break that ends a statement
  kEnd
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string_view raw;    // as written
  std::string_view value;  // raw without quotes
  double number = 0;
  TextPosition position;

  bool Is(std::string_view symbol) const { return kind == TokenKind::kSymbol && raw == symbol; }
  bool IsText() const { return kind == TokenKind::kName || kind == TokenKind::kQuoted; }
};

// Splits the text; comments and spaces vanish. Line breaks become separators unless they stand
// inside brackets or beside an operator. The last token is kEnd. Brackets are balanced afterwards.
// Throws kBadInput for foreign characters, text that is not UTF-8 and numbers out of range.
// The tokens point into source.text.
std::vector<Token> Tokenize(const SourceText& source);

// Throws kBadInput: message with line and column, then the line and a caret below the column.
[[noreturn]] void FailAt(const SourceText& source, TextPosition at, const std::string& message,
                         const std::string& hint);

// For messages: 'x1', or "the end of the line".
std::string DescribeToken(const Token& token);

// Parses the tokens (without separators; the last one may be kEnd) as one expression.
Expression ParseExpressionTokens(const SourceText& source, std::span<const Token> tokens);

}  // namespace partita::stats
