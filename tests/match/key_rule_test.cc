#include "match/key_rule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

namespace partita::match::key_rule_test {
namespace {

using ::testing::HasSubstr;

KeyRule Text(bool marks = false, bool punctuation = false) {
  KeyRule rule;
  rule.drop_marks = marks;
  rule.drop_punctuation = punctuation;
  return rule;
}

KeyRule Digits(size_t length, CheckDigit check = CheckDigit::kNone) {
  KeyRule rule;
  rule.kind = KeyRuleKind::kDigits;
  rule.length = length;
  rule.check = check;
  return rule;
}

KeyRule Date(const std::string& format) {
  KeyRule rule;
  rule.kind = KeyRuleKind::kDate;
  rule.format = format;
  return rule;
}

KeyRule Phone(const std::string& country, const std::string& trunk = "0") {
  KeyRule rule;
  rule.kind = KeyRuleKind::kPhone;
  rule.country = country;
  rule.trunk = trunk;
  return rule;
}

// "missing", "problem: ...", or the canonical text in brackets.
std::string Of(const KeyRule& rule, std::string_view cell) {
  const CanonicalKey key = Canonical(rule, cell);
  if (!key.problem.empty()) return "problem: " + key.problem;
  return key.text ? "[" + *key.text + "]" : "missing";
}

struct Case {
  std::string_view cell, text;
};

// ASCII is read without the library. A soft hyphen, which every rule but `exact` leaves out, sends the
// same text through it.
void ExpectAsByTheLibrary(const std::string& cell, size_t at) {
  std::string longer = cell;
  longer.insert(at, "\u00ad");
  for (const KeyRule& rule : {Text(), Text(true), Text(false, true), Text(true, true), Digits(3),
                              Date("DD.MM.YYYY"), Date("YYYYMMDD"), Phone("49"), Phone("39", "")}) {
    EXPECT_EQ(Of(rule, cell), Of(rule, longer)) << testing::PrintToString(cell) << " at " << at;
  }
}

TEST(KeyRuleTest, AsciiIsWhatTheLibraryMakesOfIt) {
  for (int point = 0; point < 128; ++point) {
    const std::string c(1, static_cast<char>(point));
    for (const std::string& cell : {c, c + c, "a" + c, c + "B", "a" + c + "B", "1" + c + "23"}) {
      for (size_t at = 0; at <= cell.size(); ++at) ExpectAsByTheLibrary(cell, at);
    }
  }
}

TEST(KeyRuleTest, RandomAsciiIsWhatTheLibraryMakesOfIt) {
  const std::vector<std::string> alphabets = {"0123456789 -./()+", "aB c'`-\t", "",
                                              "0123456789.-"};  // empty: all of ASCII
  std::mt19937 draw(20'633);
  for (int time = 0; time < 20'000; ++time) {
    const std::string& alphabet = alphabets[draw() % alphabets.size()];
    std::string cell;
    for (size_t left = draw() % 14; left > 0; --left)
      cell +=
          alphabet.empty() ? static_cast<char>(draw() % 128) : alphabet[draw() % alphabet.size()];
    ExpectAsByTheLibrary(cell, draw() % (cell.size() + 1));
  }
}

TEST(KeyRuleTest, TextFoldsCaseFormsAndWhiteSpace) {
  const std::vector<Case> cases = {
      {"Ada Lovelace", "[ada lovelace]"},
      {"  ADA \t Lovelace ", "[ada lovelace]"},
      {"ada\u00a0lovelace", "[ada lovelace]"},  // no-break space
      {"\ufeffAda", "[ada]"},                   // byte order mark
      {"a\u00adda", "[ada]"},                   // soft hyphen
      {"Ren\u00e9", "[ren\u00e9]"},             // one code point
      {"Rene\u0301", "[ren\u00e9]"},            // two
      {"Stra\u00dfe", "[strasse]"},             // sharp s
      {"STRASSE", "[strasse]"},
      {"\u1e9eA", "[ssa]"},                                        // capital sharp s
      {"\u039f\u0394\u039f\u03a3", "[\u03bf\u03b4\u03bf\u03c3]"},  // ODOS: final sigma folds
      {"\u03bf\u03b4\u03bf\u03c2", "[\u03bf\u03b4\u03bf\u03c3]"},
      {"\u0130", "[i\u0307]"},   // I with dot
      {"\u0131", "[\u0131]"},    // dotless i stays another letter
      {"\uff21\uff22", "[ab]"},  // full width
      {"\ufb01n", "[fin]"},      // ligature
      {"O'Brien-Smith", "[o'brien-smith]"},
      {"", "missing"},
      {"   ", "missing"},
      {"\u00a0\u2003", "missing"},
  };
  for (const Case& c : cases) EXPECT_EQ(Of(Text(), c.cell), c.text) << c.cell;
}

TEST(KeyRuleTest, MarksAndPunctuationGoWhereTheRuleSaysSo) {
  EXPECT_EQ(Of(Text(true, false), "Ren\u00e9 M\u00fcller"), "[rene muller]");
  EXPECT_EQ(Of(Text(true, false), "Rene\u0301"), "[rene]");
  EXPECT_EQ(Of(Text(true, false), "\u0130"), "[i]");
  EXPECT_EQ(Of(Text(false, true), "O'Brien-Smith, J."), "[obriensmith j]");
  EXPECT_EQ(Of(Text(false, true), "d\u2019Arc"), "[darc]");
  for (const char* apostrophe : {"'", "`", "\u00b4", "\u02bc", "\u2018", "\u2019", "\u2032"}) {
    const std::string name = std::string("O") + apostrophe + "Brien";
    EXPECT_EQ(Of(Text(), name), "[o'brien]");
    EXPECT_EQ(Of(Text(true, true), name), "[obrien]");
  }
  EXPECT_EQ(Of(Text(), "Anna\u2010Maria"), "[anna-maria]");
  // Marks that are vowels stay: these are three names.
  std::set<std::string> names;
  for (const char* name : {"\u0930\u093e\u092e", "\u0930\u092e\u093e", "\u0930\u094b\u092e"})
    names.insert(Of(Text(true, false), name));
  EXPECT_EQ(names.size(), 3U);
  EXPECT_EQ(Of(Text(true, false), "\u0439"), "[\u0438]");  // Cyrillic short i
  EXPECT_EQ(Of(Text(false, true), " - "), "missing");
  EXPECT_EQ(Of(Text(false, true), "a - b"), "[a b]");
}

TEST(KeyRuleTest, WhatNobodyCanFoldIsRefused) {
  EXPECT_THAT(Of(Text(), "a\xff"), HasSubstr("UTF-8"));
  EXPECT_THAT(Of(Text(), std::string_view("a\0b", 3)), HasSubstr("control character"));
  EXPECT_THAT(Of(Text(), "a\u0007"), HasSubstr("control character"));
  EXPECT_THAT(Of(Text(), "\u0378"), HasSubstr("does not know"));  // not assigned
  EXPECT_THAT(Of(Text(), std::string(kMostKeyBytes + 1, 'a')), HasSubstr("more than"));
  EXPECT_EQ(Of(Text(), std::string(kMostKeyBytes, 'a')),
            "[" + std::string(kMostKeyBytes, 'a') + "]");
}

TEST(KeyRuleTest, DigitsKeepLeadingZerosAndHaveTheirLength) {
  EXPECT_EQ(Of(Digits(4), "0123"), "[0123]");
  EXPECT_EQ(Of(Digits(4), " 01 2-3 "), "[0123]");
  EXPECT_EQ(Of(Digits(4), "01\u201323"), "[0123]");                // en dash
  EXPECT_EQ(Of(Digits(4), "\uff10\uff11\uff12\uff13"), "[0123]");  // full width
  EXPECT_EQ(Of(Digits(4), "123"), "problem: has 3 digits instead of 4");
  EXPECT_THAT(Of(Digits(3), "1e5"), HasSubstr("other than digits"));
  EXPECT_THAT(Of(Digits(3), "+12"), HasSubstr("other than digits"));
  EXPECT_THAT(Of(Digits(3), "\u0661\u0662\u0663"), HasSubstr("other than digits"));  // Arabic
  EXPECT_EQ(Of(Digits(3), "-"), "missing");
}

// 79927398713: H. P. Luhn's digit as in the usual example; 3214282912345698765432161182 is the number
// of ISO 13616's example IBAN with its country moved to the end.
TEST(KeyRuleTest, CheckDigits) {
  EXPECT_EQ(Of(Digits(11, CheckDigit::kLuhn), "79927398713"), "[79927398713]");
  for (const char* wrong : {"79927398710", "79927398731", "97927398713"})
    EXPECT_THAT(Of(Digits(11, CheckDigit::kLuhn), wrong), HasSubstr("luhn")) << wrong;
  EXPECT_EQ(Of(Digits(28, CheckDigit::kMod97), "3214282912345698765432161182"),
            "[3214282912345698765432161182]");
  EXPECT_THAT(Of(Digits(28, CheckDigit::kMod97), "3214282912345698765432161128"),
              HasSubstr("mod97"));
}

TEST(KeyRuleTest, DatesOfAllFormatsBecomeOne) {
  const std::string day = "[2001-02-03]";
  EXPECT_EQ(Of(Date("YYYY-MM-DD"), " 2001-02-03 "), day);
  EXPECT_EQ(Of(Date("DD.MM.YYYY"), "03.02.2001"), day);
  EXPECT_EQ(Of(Date("DD/MM/YYYY"), "03/02/2001"), day);
  EXPECT_EQ(Of(Date("MM/DD/YYYY"), "02/03/2001"), day);
  EXPECT_EQ(Of(Date("DD-MM-YYYY"), "03-02-2001"), day);
  EXPECT_EQ(Of(Date("YYYYMMDD"), "20010203"), day);
  EXPECT_EQ(Of(Date("YYYY/MM/DD"), "2001/02/03"), day);
  for (const char* wrong :
       {"03.02.01", "3.2.2001", "31.02.2001", "03/02/2001", "today", "29.02.1900"})
    EXPECT_THAT(Of(Date("DD.MM.YYYY"), wrong), HasSubstr("is no date")) << wrong;
  EXPECT_EQ(Of(Date("DD.MM.YYYY"), "29.02.2000"), "[2000-02-29]");
  KeyRule rule = Date("DD.MM.YYYY");
  rule.missing_codes = {"01.01.1900", "1900-01-01"};
  EXPECT_EQ(Of(rule, "01.01.1900"), "missing");
  // Of a code the canonical text counts, too.
  rule.missing_codes = {"1900-01-01"};
  EXPECT_EQ(Of(rule, "01.01.1900"), "missing");
}

TEST(KeyRuleTest, TelephoneNumbersGetTheirCountry) {
  for (const char* same : {"0171 234567", "+49 171 234567", "0049-171/234567", "(0171) 23.45.67",
                           "171234567", "+49171234567"}) {
    EXPECT_EQ(Of(Phone("49"), same), "[49171234567]") << same;
  }
  EXPECT_EQ(Of(Phone("39", ""), "06 1234567"), "[39061234567]");  // Italy keeps the zero
  EXPECT_EQ(Of(Phone("49"), "+49 (0)171 234567"), "[49171234567]");
  EXPECT_EQ(Of(Phone("49"), "0049 (0) 171 234567"), "[49171234567]");
  EXPECT_THAT(Of(Phone("49"), "49171234567"), HasSubstr("country's code without a plus"));
  EXPECT_EQ(Of(Phone("39", ""), "3912345678"), "[393912345678]");  // a mobile number
  for (const char* wrong : {"+0171234567", "12a456", "+49171234567890123", "0"})
    EXPECT_THAT(Of(Phone("49"), wrong), HasSubstr("no telephone number")) << wrong;
  EXPECT_EQ(Of(Phone("49"), "-"), "missing");
}

TEST(KeyRuleTest, ExactIsAsItStands) {
  KeyRule rule;
  rule.kind = KeyRuleKind::kExact;
  rule.missing_codes = {"NA"};
  EXPECT_EQ(Of(rule, " a A "), "[ a A ]");
  EXPECT_EQ(Of(rule, "\xff"), "[\xff]");
  EXPECT_EQ(Of(rule, "NA"), "missing");
  EXPECT_EQ(Of(rule, "na"), "[na]");
  rule.kind = KeyRuleKind::kText;
  for (const char* same : {"NA", " na ", "Na"}) EXPECT_EQ(Of(rule, same), "missing");
  rule = Date("DD.MM.YYYY");
  rule.missing_codes = {"01.01.1900"};
  EXPECT_EQ(Of(rule, " 01.01.1900 "), "missing");
}

// Texts of code points from everywhere: what is canonical stays so, and does not depend on the form
// in which the letters came.
TEST(KeyRuleTest, CanonicalTextsAreCanonical) {
  const std::vector<std::pair<uint32_t, uint32_t>> ranges = {
      {0x20, 0x7e},     {0xa0, 0x17f},    {0x180, 0x36f},    {0x370, 0x3ff},   {0x400, 0x52f},
      {0x5b0, 0x5f4},   {0x1e00, 0x1fff}, {0x2000, 0x206f},  {0x2100, 0x218f}, {0xac00, 0xac80},
      {0xfb00, 0xfb4f}, {0xff00, 0xffef}, {0x1f100, 0x1f1ff}};
  std::mt19937 random(5);
  const std::vector<KeyRule> rules = {Text(), Text(true, false), Text(false, true),
                                      Text(true, true)};
  int canonical = 0;
  for (int time = 0; time < 20000; ++time) {
    std::string cell;
    for (int i = 0; i < 6; ++i) {
      const auto& [low, high] = ranges[random() % ranges.size()];
      const uint32_t point = low + static_cast<uint32_t>(random() % (high - low + 1));
      if (point < 0x80) {
        cell += static_cast<char>(point);
      } else if (point < 0x800) {
        cell += static_cast<char>(0xc0 | (point >> 6));
        cell += static_cast<char>(0x80 | (point & 63));
      } else if (point < 0x10000) {
        cell += static_cast<char>(0xe0 | (point >> 12));
        cell += static_cast<char>(0x80 | ((point >> 6) & 63));
        cell += static_cast<char>(0x80 | (point & 63));
      } else {
        cell += static_cast<char>(0xf0 | (point >> 18));
        cell += static_cast<char>(0x80 | ((point >> 12) & 63));
        cell += static_cast<char>(0x80 | ((point >> 6) & 63));
        cell += static_cast<char>(0x80 | (point & 63));
      }
    }
    for (const KeyRule& rule : rules) {
      const CanonicalKey once = Canonical(rule, cell);
      if (!once.text) continue;
      ++canonical;
      const CanonicalKey twice = Canonical(rule, *once.text);
      ASSERT_TRUE(twice.text) << cell << ": " << twice.problem;
      ASSERT_EQ(*twice.text, *once.text) << cell;
    }
  }
  EXPECT_GT(canonical, 40000);
}

}  // namespace
}  // namespace partita::match::key_rule_test
