// From what a cell says to the bytes by which two holders' rows are the same person.
//
// Canonical text of a rule:
//   text     NFKC, full case folding, NFKC (Unicode Standard Annex 15; what is left out by default,
//            such as a byte order mark or a soft hyphen, goes); white space at the ends goes, within
//            it becomes one blank; hyphens and apostrophes are one each, however typed. `drop_marks`
//            takes accents off letters that are Latin, Greek or Cyrillic (elsewhere marks are
//            vowels), `drop_punctuation` everything of the categories P.
//   digits   NFKC, blanks and hyphens go; leading zeros stay. Nothing but digits may be left, of the
//            declared length, with a valid check digit where one is declared.
//   date     "YYYY-MM-DD" of a calendar date in the declared format. Years have four digits.
//   phone    NFKC; blanks, hyphens, dots, slashes and brackets go; "+" or "00" begin a number with
//            its country, of which a trunk prefix in brackets goes; anything else is one of the
//            declared country, whose trunk prefix goes, and must not begin with the country's code.
//   exact    the cell as it stands.
// The Unicode version is the library's (UnicodeVersion): code points that it does not know are
// refused, since a later version may fold them, and both holders' plans name it.
//
// Every rule is idempotent: the canonical text of a canonical text is itself (for a phone, of "+" and
// it); tests/match/key_rule_test.cc, fuzz/match_key_fuzz.cc.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace partita::match {

enum class KeyRuleKind { kText, kDigits, kDate, kPhone, kExact };
enum class CheckDigit { kNone, kLuhn, kMod97 };

inline constexpr size_t kMostKeyBytes = 4096;

struct KeyRule {
  KeyRuleKind kind = KeyRuleKind::kText;
  std::vector<std::string> missing_codes;  // a cell that says this has no key
  bool drop_marks = false;                 // text
  bool drop_punctuation = false;           // text
  size_t length = 0;                       // digits
  CheckDigit check = CheckDigit::kNone;    // digits
  std::string format;                      // date: one of DateFormats()
  std::string country;                     // phone: "49"
  std::string trunk = "0";                 // phone
};

// "YYYY-MM-DD", "DD.MM.YYYY", ...
const std::vector<std::string>& DateFormats();
// Of the library that folds texts: "15.0.0".
std::string UnicodeVersion();

struct CanonicalKey {
  // One of the two is set, or none: the cell is empty or a code for missing.
  std::optional<std::string> text;
  std::string problem;  // why the cell fits the rule not: "has 9 digits instead of 10"
};

// A cell of more than kMostKeyBytes has a problem.
CanonicalKey Canonical(const KeyRule& rule, std::string_view cell);

}  // namespace partita::match
