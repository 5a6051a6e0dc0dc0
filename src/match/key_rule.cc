#include "match/key_rule.h"

#include <fmt/format.h>
#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>

#include "base/date.h"

namespace partita::match {
namespace {

constexpr std::string_view kBlank = " ";

CanonicalKey Found(std::string text) { return {std::move(text), {}}; }
CanonicalKey Problem(std::string problem) { return {std::nullopt, std::move(problem)}; }

struct Freed {
  void operator()(utf8proc_uint8_t* text) const { std::free(text); }  // as the library asks
};

// Throws nothing; empty with a problem if the text is no UTF-8 or has a code point without meaning.
CanonicalKey Mapped(std::string_view text, int options) {
  utf8proc_uint8_t* mapped = nullptr;
  const utf8proc_ssize_t size =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                   static_cast<utf8proc_ssize_t>(text.size()), &mapped,
                   static_cast<utf8proc_option_t>(options | UTF8PROC_STABLE | UTF8PROC_REJECTNA));
  const std::unique_ptr<utf8proc_uint8_t, Freed> owned(mapped);
  if (size == UTF8PROC_ERROR_NOTASSIGNED)
    return Problem("has a character that Unicode " + UnicodeVersion() + " does not know");
  if (size < 0) return Problem("is no UTF-8 text");
  return Found({reinterpret_cast<const char*>(mapped), static_cast<size_t>(size)});
}

bool IsAscii(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

bool IsBlank(utf8proc_int32_t point) {
  if ((point >= 9 && point <= 13) || point == 0x85) return true;
  const utf8proc_category_t category = utf8proc_category(point);
  return category == UTF8PROC_CATEGORY_ZS || category == UTF8PROC_CATEGORY_ZL ||
         category == UTF8PROC_CATEGORY_ZP;
}

bool IsPunctuation(utf8proc_int32_t point) {
  const utf8proc_category_t category = utf8proc_category(point);
  return category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_PO;
}

// What an ASCII character is by itself. ASCII is the same in every normal form, none of it is left out by
// default, and no two characters of it compose, so that of texts without others this is all there is.
struct AsciiPoint {
  bool blank = false, control = false, punctuation = false;
  char folded = 0;
};

const std::array<AsciiPoint, 0x80>& AsciiPoints() {
  static const std::array<AsciiPoint, 0x80> points = [] {
    std::array<AsciiPoint, 0x80> all;
    for (size_t i = 0; i < all.size(); ++i) {
      const auto point = static_cast<utf8proc_int32_t>(i);
      AsciiPoint& of_point = all[i];
      of_point.blank = IsBlank(point);
      of_point.control = utf8proc_category(point) == UTF8PROC_CATEGORY_CC;
      of_point.punctuation = IsPunctuation(point);
      of_point.folded = static_cast<char>(utf8proc_tolower(point));
    }
    return all;
  }();
  return points;
}

// Of valid UTF-8: blanks become one or none, punctuation goes if asked for; nothing if there is a
// control character.
std::optional<std::string> Tidied(std::string_view text, bool drop_punctuation) {
  std::string out;
  bool pending = false;
  for (size_t i = 0; i < text.size();) {
    utf8proc_int32_t point = 0;
    const utf8proc_ssize_t width =
        utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()) + i,
                         static_cast<utf8proc_ssize_t>(text.size() - i), &point);
    if (width <= 0) return std::nullopt;
    const std::string_view bytes = text.substr(i, static_cast<size_t>(width));
    i += static_cast<size_t>(width);
    if (IsBlank(point)) {
      pending = true;
      continue;
    }
    if (utf8proc_category(point) == UTF8PROC_CATEGORY_CC) return std::nullopt;
    if (drop_punctuation && IsPunctuation(point)) continue;
    if (pending && !out.empty()) out += kBlank;
    pending = false;
    out += bytes;
  }
  return out;
}

// What Plain, or Folded if the text is to be folded, makes of ASCII: blanks become one or none.
CanonicalKey OfAscii(std::string_view cell, bool fold, bool drop_punctuation) {
  std::string out;
  out.reserve(cell.size());
  bool pending = false;
  for (const char c : cell) {
    const AsciiPoint& point = AsciiPoints()[static_cast<unsigned char>(c)];
    if (point.blank) {
      pending = true;
      continue;
    }
    if (point.control) return Problem("has a control character");
    if (drop_punctuation && point.punctuation) continue;
    if (pending && !out.empty()) out += kBlank;
    pending = false;
    out += fold ? point.folded : c;
  }
  return Found(std::move(out));
}

// Compatible forms, composed, with white space made plain.
CanonicalKey Plain(std::string_view cell) {
  if (IsAscii(cell)) return OfAscii(cell, false, false);
  CanonicalKey mapped = Mapped(cell, UTF8PROC_COMPAT | UTF8PROC_COMPOSE | UTF8PROC_IGNORE);
  if (!mapped.text) return mapped;
  std::optional<std::string> tidied = Tidied(*mapped.text, false);
  if (!tidied) return Problem("has a control character");
  return Found(*std::move(tidied));
}

// Every way to write a hyphen or an apostrophe becomes one, before compatible forms make a blank and
// an accent of some.
std::string PlainSigns(std::string text) {
  if (IsAscii(text)) {
    std::replace(text.begin(), text.end(), '`', '\'');
    return text;
  }
  const auto replace = [&](std::initializer_list<std::string_view> signs, std::string_view plain) {
    for (const std::string_view sign : signs) {
      for (size_t at = text.find(sign); at != std::string::npos; at = text.find(sign))
        text.replace(at, sign.size(), plain);
    }
  };
  replace({"\u2010", "\u2011", "\u2012", "\u2013", "\u2014", "\u2015", "\u2212"}, "-");
  replace({"`", "\u00b4", "\u02b9", "\u02bc", "\u2018", "\u2019", "\u201b", "\u2032"}, "'");
  return text;
}

// Letters whose marks are accents. Elsewhere marks are vowels, and names without them others.
bool TakesAccents(utf8proc_int32_t point) {
  return point < 0x250 || (point >= 0x370 && point < 0x530) || (point >= 0x1e00 && point < 0x2000);
}

// Of valid UTF-8, decomposed.
std::string WithoutAccents(std::string_view text) {
  std::string out;
  bool accented = false;
  for (size_t i = 0; i < text.size();) {
    utf8proc_int32_t point = 0;
    const utf8proc_ssize_t width =
        utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()) + i,
                         static_cast<utf8proc_ssize_t>(text.size() - i), &point);
    const auto bytes = static_cast<size_t>(std::max<utf8proc_ssize_t>(width, 1));
    const bool mark = utf8proc_category(point) == UTF8PROC_CATEGORY_MN;
    if (!mark) accented = TakesAccents(point);
    if (!mark || !accented) out += text.substr(i, bytes);
    i += bytes;
  }
  return out;
}

CanonicalKey Folded(const KeyRule& rule, std::string_view cell) {
  constexpr int kFold = UTF8PROC_COMPAT | UTF8PROC_CASEFOLD | UTF8PROC_IGNORE;
  std::string text(cell);
  if (IsAscii(text)) return OfAscii(PlainSigns(std::move(text)), true, rule.drop_punctuation);
  // Folding can give what composes or folds again; three times is more than any character needs.
  for (int time = 0; time < 4; ++time) {
    const std::string plain = PlainSigns(text);
    CanonicalKey mapped =
        Mapped(plain, kFold | (rule.drop_marks ? UTF8PROC_DECOMPOSE : UTF8PROC_COMPOSE));
    if (mapped.text && rule.drop_marks)
      mapped = Mapped(WithoutAccents(*mapped.text), kFold | UTF8PROC_COMPOSE);
    if (!mapped.text) return mapped;
    std::optional<std::string> tidied = Tidied(*mapped.text, rule.drop_punctuation);
    if (!tidied) return Problem("has a control character");
    if (*tidied == text) return Found(std::move(text));
    text = *std::move(tidied);
  }
  return Problem("has characters without a canonical form");
}

std::string Without(std::string_view text, std::string_view dropped) {
  std::string out;
  for (const char c : text) {
    if (dropped.find(c) == std::string_view::npos) out += c;
  }
  return out;
}

bool AllDigits(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// H. P. Luhn, US patent 2,950,048 (1960).
bool HasLuhnDigit(std::string_view digits) {
  int sum = 0;
  for (size_t i = 0; i < digits.size(); ++i) {
    int digit = digits[digits.size() - 1 - i] - '0';
    if (i % 2 == 1) digit = digit > 4 ? 2 * digit - 9 : 2 * digit;
    sum += digit;
  }
  return sum % 10 == 0;
}

// ISO 7064, MOD 97-10: the number leaves 1.
bool HasMod97Digits(std::string_view digits) {
  int rest = 0;
  for (const char c : digits) rest = (rest * 10 + (c - '0')) % 97;
  return rest == 1;
}

CanonicalKey Digits(const KeyRule& rule, std::string_view cell) {
  CanonicalKey plain = Plain(cell);
  if (!plain.text) return plain;
  std::string digits = Without(PlainSigns(*std::move(plain.text)), " -");
  if (!AllDigits(digits)) return Problem("has something other than digits, blanks and hyphens");
  if (digits.empty()) return {};
  if (digits.size() != rule.length)
    return Problem(fmt::format("has {} digits instead of {}", digits.size(), rule.length));
  if (rule.check == CheckDigit::kLuhn && !HasLuhnDigit(digits))
    return Problem("has a wrong check digit (luhn)");
  if (rule.check == CheckDigit::kMod97 && !HasMod97Digits(digits))
    return Problem("has wrong check digits (mod97)");
  return Found(std::move(digits));
}

// The characters of `text` that stand where `format` has `letter`.
std::string Part(std::string_view text, std::string_view format, char letter) {
  std::string part;
  for (size_t i = 0; i < format.size(); ++i) {
    if (format[i] == letter) part += text[i];
  }
  return part;
}

CanonicalKey DateOf(const KeyRule& rule, std::string_view cell) {
  CanonicalKey plain = Plain(cell);
  if (!plain.text || plain.text->empty()) return plain.text ? CanonicalKey{} : plain;
  const std::string& text = *plain.text;
  const std::string_view format = rule.format;
  const std::string problem = "is no date " + rule.format;
  // Canonical already.
  if (ParseDate(text)) return Found(text);
  if (text.size() != format.size()) return Problem(problem);
  for (size_t i = 0; i < format.size(); ++i) {
    const bool digit = format[i] == 'Y' || format[i] == 'M' || format[i] == 'D';
    if (digit ? !AllDigits(text.substr(i, 1)) : text[i] != format[i]) return Problem(problem);
  }
  std::string date =
      Part(text, format, 'Y') + "-" + Part(text, format, 'M') + "-" + Part(text, format, 'D');
  return ParseDate(date) ? Found(std::move(date)) : Problem(problem);
}

CanonicalKey Phone(const KeyRule& rule, std::string_view cell) {
  CanonicalKey plain = Plain(cell);
  if (!plain.text) return plain;
  std::string number = Without(PlainSigns(*std::move(plain.text)), " -./");
  if (number.starts_with("+") || number.starts_with("00")) {
    number.erase(0, number.starts_with("+") ? 1 : 2);
    // As in +49 (0)171: the trunk prefix of those who dial within the country.
    const std::string dialled_within = "(" + rule.trunk + ")";
    const size_t at = rule.trunk.empty() ? std::string::npos : number.find(dialled_within);
    if (at != std::string::npos) number.erase(at, dialled_within.size());
    number = Without(number, "()[]");
  } else {
    number = Without(number, "()[]");
    if (number.empty()) return {};
    if (!rule.trunk.empty() && number.starts_with(rule.trunk)) {
      number.erase(0, rule.trunk.size());
    } else if (!rule.trunk.empty() && number.starts_with(rule.country)) {
      return Problem("begins with the country's code without a plus, or lacks its trunk prefix");
    }
    number.insert(0, rule.country);
  }
  // E.164: at most 15 digits, the first of which is none of 0.
  if (!AllDigits(number) || number.starts_with("0") || number.size() < rule.country.size() + 2 ||
      number.size() > 15) {
    return Problem("is no telephone number");
  }
  return Found(std::move(number));
}

bool IsMissing(const KeyRule& rule, std::string_view cell) {
  if (cell.empty()) return true;
  return std::find(rule.missing_codes.begin(), rule.missing_codes.end(), cell) !=
         rule.missing_codes.end();
}

CanonicalKey ByKind(const KeyRule& rule, std::string_view cell) {
  switch (rule.kind) {
    case KeyRuleKind::kText:
      return Folded(rule, cell);
    case KeyRuleKind::kDigits:
      return Digits(rule, cell);
    case KeyRuleKind::kDate:
      return DateOf(rule, cell);
    case KeyRuleKind::kPhone:
      return Phone(rule, cell);
    case KeyRuleKind::kExact:
      break;
  }
  return Found(std::string(cell));
}

}  // namespace

const std::vector<std::string>& DateFormats() {
  static const std::vector<std::string> formats = {"YYYY-MM-DD", "DD.MM.YYYY", "DD/MM/YYYY",
                                                   "MM/DD/YYYY", "DD-MM-YYYY", "YYYYMMDD",
                                                   "YYYY/MM/DD"};
  return formats;
}

std::string UnicodeVersion() { return utf8proc_unicode_version(); }

CanonicalKey Canonical(const KeyRule& rule, std::string_view cell) {
  if (IsMissing(rule, cell)) return {};
  if (cell.size() > kMostKeyBytes)
    return Problem(fmt::format("has more than {} bytes", kMostKeyBytes));
  CanonicalKey key = ByKind(rule, cell);
  if (!key.text) return key;
  if (key.text->empty() || IsMissing(rule, *key.text)) return {};
  // "NA " and "na" are the code "NA" where the rule makes them equal.
  for (const std::string& code : rule.missing_codes) {
    if (ByKind(rule, code).text == key.text) return {};
  }
  return key;
}

}  // namespace partita::match
