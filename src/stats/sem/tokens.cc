#include "stats/sem/tokens.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include "base/error.h"

namespace partita::stats {
namespace {

constexpr std::size_t kMaxTextBytes = std::size_t{1} << 20;
constexpr int kMaxNesting = 200;
constexpr int kShownColumns = 100;

// Longest first where one begins another.
constexpr std::array<std::string_view, 24> kSymbols = {
    "~*~", "=~", "==", "~~", "<~", ":=", "**", "~", "<", ">", ":", "|",
    "%",   "+",  "-",  "*",  "/",  "^",  "(",  ")", ",", "?", "=", "@"};

// Characters that word processors put in place of those of the language.
struct Lookalike {
  std::string_view bytes, meant;
};
constexpr std::array<Lookalike, 15> kLookalikes = {{{"\u02DC", "~"},
                                                    {"\u223C", "~"},
                                                    {"\uFF5E", "~"},
                                                    {"\u2212", "-"},
                                                    {"\u2013", "-"},
                                                    {"\u2014", "-"},
                                                    {"\u201C", "\""},
                                                    {"\u201D", "\""},
                                                    {"\u2018", "'"},
                                                    {"\u2019", "'"},
                                                    {"\u00D7", "*"},
                                                    {"\u22C5", "*"},
                                                    {"\u00A0", "an ordinary space"},
                                                    {"\u200B", "nothing"},
                                                    {"\uFEFF", "nothing"}}};

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsAsciiLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool IsContinuationByte(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }
bool IsNonAscii(char c) { return static_cast<unsigned char>(c) >= 0x80U; }
bool IsNameStart(char c) { return IsAsciiLetter(c) || c == '.' || c == '_' || IsNonAscii(c); }
bool IsNameCharacter(char c) { return IsNameStart(c) || IsDigit(c); }

// Bytes of the well-formed UTF-8 character at the front; 0 if there is none.
std::size_t Utf8Length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80U) return 1;
  const std::size_t length = first >= 0xF0U ? 4 : first >= 0xE0U ? 3 : 2;
  if (first < 0xC2U || first > 0xF4U || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if (!IsContinuationByte(text[i])) return 0;
  }
  // Overlong forms, surrogates and what lies beyond the last plane.
  if ((first == 0xE0U && byte(1) < 0xA0U) || (first == 0xEDU && byte(1) >= 0xA0U) ||
      (first == 0xF0U && byte(1) < 0x90U) || (first == 0xF4U && byte(1) >= 0x90U)) {
    return 0;
  }
  return length;
}

class Tokenizer {
 public:
  explicit Tokenizer(const SourceText& source) : source_(source), here_(source.origin) {}

  std::vector<Token> Run() {
    if (source_.text.size() > kMaxTextBytes) {
      FailAt(
          source_, here_,
          fmt::format("the model has {} bytes, more than {}", source_.text.size(), kMaxTextBytes),
          "shorten the model");
    }
    while (SkipBlanks()) ReadToken();
    if (!open_brackets_.empty()) {
      FailAt(source_, open_brackets_.back(), "this '(' is never closed", "add the missing ')'");
    }
    Push(TokenKind::kEnd, 0);
    return JoinContinuedLines(std::move(tokens_));
  }

 private:
  // Spaces and comments. Returns false at the end of the text.
  bool SkipBlanks() {
    while (!Rest().empty()) {
      const char c = Rest().front();
      if (c == '#' || c == '!') {
        Advance(std::min(Rest().find('\n'), Rest().size()));
      } else if (c == ' ' || c == '\t' || c == '\r') {
        Advance(1);
      } else {
        return true;
      }
    }
    return false;
  }

  void ReadToken() {
    const std::string_view rest = Rest();
    const char c = rest.front();
    if (c == '\n' || c == ';') {
      // Inside brackets a line break is a space, but a semicolon cannot be meant.
      if (!open_brackets_.empty() && c == ';') {
        FailAt(source_, open_brackets_.back(), "this '(' is never closed", "add the missing ')'");
      }
      Push(TokenKind::kSeparator, 1);
    } else if (IsDigit(c) || (c == '.' && rest.size() > 1 && IsDigit(rest[1]))) {
      ReadNumber();
    } else if (c == '"' || c == '\'') {
      ReadQuoted();
    } else if (IsNameStart(c)) {
      ReadName();
    } else {
      ReadSymbol();
    }
  }

  void ReadName() {
    std::size_t size = 0;
    while (size < Rest().size() && IsNameCharacter(Rest()[size])) {
      size += CheckedCharacter(size);
    }
    Push(TokenKind::kName, size);
  }

  // Length of the character at `offset` from here, once it is known to be fit for a name.
  std::size_t CheckedCharacter(std::size_t offset) {
    const std::string_view rest = Rest().substr(offset);
    if (!IsNonAscii(rest.front())) return 1;
    const std::size_t length = Utf8Length(rest);
    if (length == 0) {
      FailAt(source_, PositionAfter(offset), "this is not valid UTF-8 text",
             "save the model as UTF-8");
    }
    for (const Lookalike& lookalike : kLookalikes) {
      if (rest.starts_with(lookalike.bytes)) {
        FailAt(source_, PositionAfter(offset),
               fmt::format("the character '{}' only looks right", lookalike.bytes),
               fmt::format("write {} instead", lookalike.meant));
      }
    }
    return length;
  }

  TextPosition PositionAfter(std::size_t bytes) const {
    TextPosition at = here_;
    for (const char c : Rest().substr(0, bytes)) at.column += IsContinuationByte(c) ? 0 : 1;
    return at;
  }

  void ReadNumber() {
    const std::string_view rest = Rest();
    double number = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
    const auto size = static_cast<std::size_t>(end - rest.data());
    if (error == std::errc::result_out_of_range) {
      FailAt(source_, here_, fmt::format("the number {} is out of range", rest.substr(0, size)),
             "use a number between 1e-300 and 1e300");
    }
    if (size < rest.size() && IsNameStart(rest[size])) {
      FailAt(
          source_, here_,
          fmt::format("a name cannot begin with a digit, nor a number go on with '{}'",
                      rest.substr(size, std::max<std::size_t>(1, Utf8Length(rest.substr(size))))),
          "put names that begin with a digit in quotes, like \"1st\"");
    }
    Push(TokenKind::kNumber, size);
    tokens_.back().number = number;
  }

  void ReadQuoted() {
    const std::string_view rest = Rest();
    const std::size_t close = rest.find_first_of(std::string{rest.front(), '\n'}, 1);
    if (close == std::string_view::npos || rest[close] == '\n') {
      FailAt(source_, here_, "this quote is never closed", "close it on the same line");
    }
    for (std::size_t i = 1; i < close;) {
      const std::size_t length = Utf8Length(rest.substr(i, close - i));
      if (length == 0 || static_cast<unsigned char>(rest[i]) < 0x20U) {
        FailAt(source_, here_, "the quoted text is not valid UTF-8 or holds a control character",
               "retype the name and save the model as UTF-8");
      }
      i += length;
    }
    Push(TokenKind::kQuoted, close + 1);
    tokens_.back().value = rest.substr(1, close - 1);
  }

  void ReadSymbol() {
    const std::string_view rest = Rest();
    const auto* symbol =
        std::find_if(kSymbols.begin(), kSymbols.end(),
                     [&](std::string_view candidate) { return rest.starts_with(candidate); });
    if (symbol == kSymbols.end()) {
      const bool printable = rest.front() > ' ' && rest.front() < 0x7F;
      FailAt(source_, here_,
             printable ? fmt::format("the character '{}' means nothing here", rest.front())
                       : fmt::format("the control character 0x{:02x} means nothing here",
                                     static_cast<unsigned char>(rest.front())),
             "remove it, or put the name in quotes");
    }
    if (*symbol == "(") OpenBracket();
    if (*symbol == ")") CloseBracket();
    Push(TokenKind::kSymbol, symbol->size());
  }

  void OpenBracket() {
    if (open_brackets_.size() >= kMaxNesting) {
      FailAt(source_, here_, fmt::format("more than {} nested brackets", kMaxNesting),
             "write it more simply");
    }
    open_brackets_.push_back(here_);
  }

  void CloseBracket() {
    if (open_brackets_.empty()) {
      FailAt(source_, here_, "this ')' closes nothing", "remove it or add the missing '('");
    }
    open_brackets_.pop_back();
  }

  std::string_view Rest() const { return source_.text.substr(offset_); }

  void Push(TokenKind kind, std::size_t size) {
    const std::string_view raw = Rest().substr(0, size);
    const bool in_brackets = !open_brackets_.empty();
    if (kind != TokenKind::kSeparator || !in_brackets) {
      tokens_.push_back({.kind = kind, .raw = raw, .value = raw, .position = here_});
    }
    Advance(size);
  }

  void Advance(std::size_t size) {
    for (const char c : Rest().substr(0, size)) {
      if (c == '\n') {
        ++here_.line;
        here_.column = 1;
      } else if (!IsContinuationByte(c)) {
        ++here_.column;
      }
    }
    offset_ += size;
  }

  // A line break beside an operator does not end the statement.
  static std::vector<Token> JoinContinuedLines(std::vector<Token> tokens) {
    std::vector<Token> joined;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      if (tokens[i].kind == TokenKind::kSeparator && tokens[i].raw == "\n") {
        const auto next = std::find_if(tokens.begin() + static_cast<std::ptrdiff_t>(i),
                                       tokens.end(), [](const Token& t) { return t.raw != "\n"; });
        const bool after = !joined.empty() && Continues(joined.back());
        const bool before = next != tokens.end() && Continues(*next);
        const auto last = static_cast<std::size_t>(next - tokens.begin()) - 1;
        if (!after && !before) joined.push_back(tokens[i]);
        i = last;
      } else {
        joined.push_back(tokens[i]);
      }
    }
    return joined;
  }

  static bool Continues(const Token& token) {
    return token.kind == TokenKind::kSymbol && token.raw != "(" && token.raw != ")";
  }

  const SourceText& source_;
  std::size_t offset_ = 0;
  TextPosition here_;
  std::vector<TextPosition> open_brackets_;
  std::vector<Token> tokens_;
};

std::string_view LineAt(const SourceText& source, int line) {
  std::string_view rest = source.text;
  for (int i = source.origin.line; i < line; ++i) {
    const std::size_t end = rest.find('\n');
    if (end == std::string_view::npos) return {};
    rest.remove_prefix(end + 1);
  }
  return rest.substr(0, rest.find('\n'));
}

// The line's characters, one string each, with whatever a terminal would not show replaced.
std::vector<std::string> ShownCharacters(std::string_view line) {
  std::vector<std::string> characters;
  while (!line.empty()) {
    const std::size_t length = Utf8Length(line);
    const bool control = static_cast<unsigned char>(line.front()) < 0x20U || line.front() == 0x7F;
    const bool broken = length == 0;
    if (line.front() == '\t') {
      characters.emplace_back(" ");
    } else if (control || broken) {
      // A stray continuation byte counts as no column, see Tokenizer::Advance.
      if (control || !IsContinuationByte(line.front())) characters.emplace_back("?");
    } else {
      characters.emplace_back(line.substr(0, length));
    }
    line.remove_prefix(broken ? 1 : length);
  }
  return characters;
}

}  // namespace

std::vector<Token> Tokenize(const SourceText& source) { return Tokenizer(source).Run(); }

void FailAt(const SourceText& source, TextPosition at, const std::string& message,
            const std::string& hint) {
  const std::vector<std::string> characters = ShownCharacters(LineAt(source, at.line));
  const int offset = at.line == source.origin.line ? source.origin.column : 1;
  const int caret = std::max(0, at.column - offset);
  // A window of the line, with the caret inside it.
  const int first = caret < kShownColumns ? 0 : caret - kShownColumns / 2;
  const int last = std::min(static_cast<int>(characters.size()), first + kShownColumns);
  std::string shown;
  for (int i = first; i < last; ++i) shown += characters[static_cast<std::size_t>(i)];
  throw Error(ErrorCode::kBadInput,
              fmt::format("model line {}, column {}: {}\n  {}\n  {:>{}}", at.line, at.column,
                          message, shown, "^", caret - first + 1),
              hint);
}

std::string DescribeToken(const Token& token) {
  if (token.kind == TokenKind::kEnd) return "the end of the model";
  if (token.kind == TokenKind::kSeparator) return "the end of the line";
  return fmt::format("'{}'", token.raw);
}

}  // namespace partita::stats
