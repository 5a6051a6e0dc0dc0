// The text of a draft dictionary: describe.h.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "data/describe.h"
#include "data/utf8.h"

namespace partita::data {

namespace {

// A level in fewer rows than this is pointed out to the owner.
constexpr uint64_t kRareLevel = 5;
constexpr size_t kMaxFactorLevels = 20;

// Scales whose order is known, lowest first.
const std::vector<std::vector<std::string>>& KnownScales() {
  static const std::vector<std::vector<std::string>> scales = {
      {"low", "medium", "high"},
      {"low", "middle", "high"},
      {"none", "mild", "moderate", "severe"},
      {"never", "rarely", "sometimes", "often", "always"},
      {"never", "former", "current"},
      {"poor", "fair", "good", "very good", "excellent"},
      {"strongly disagree", "disagree", "neutral", "agree", "strongly agree"},
      {"very dissatisfied", "dissatisfied", "neutral", "satisfied", "very satisfied"},
      {"I", "II", "III", "IV", "V"},
      {"primary", "secondary", "tertiary"}};
  return scales;
}

std::string LowerCase(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

// The values in the order of the scale that has them all; empty if there is none. Two of a scale's
// values are too few to tell.
std::vector<std::string> InKnownOrder(const std::map<std::string, uint64_t>& values) {
  if (values.size() < 3) return {};
  for (const std::vector<std::string>& scale : KnownScales()) {
    std::vector<std::string> ordered;
    for (const std::string& step : scale) {
      for (const auto& [value, count] : values) {
        if (LowerCase(value) == LowerCase(step)) ordered.push_back(value);
      }
    }
    if (ordered.size() == values.size()) return ordered;
  }
  return {};
}

bool NamedLikeKey(const std::string& name) {
  static constexpr std::array<std::string_view, 9> kNames = {
      "id", "key", "pid", "pseudonym", "patient", "person", "subject", "participant", "case"};
  const std::string lower = LowerCase(name);
  return std::any_of(kNames.begin(), kNames.end(), [&](std::string_view part) {
    return lower == part || lower.ends_with("_" + std::string(part)) ||
           lower == std::string(part) + "_id" || lower == std::string(part) + "id";
  });
}

}  // namespace

bool IsVariableName(const std::string& name) {
  const auto letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; };
  if (name.empty() || (!letter(name[0]) && name[0] != '.')) return false;
  return std::all_of(name.begin(), name.end(), [&](char c) {
    return letter(c) || (c >= '0' && c <= '9') || c == '.' || c == '_';
  });
}

namespace {

std::string SuggestedName(const std::string& name) {
  std::string suggested;
  for (char c : name) {
    const bool fits = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_';
    if (fits || suggested.empty() || suggested.back() != '_') suggested += fits ? c : '_';
  }
  while (!suggested.empty() && suggested.back() == '_') suggested.pop_back();
  if (!IsVariableName(suggested)) suggested = "v" + suggested;
  return suggested;
}

std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (char c : Printable(text)) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

std::string ListOf(const std::vector<std::string>& texts) {
  std::string list;
  for (const std::string& text : texts) list += (list.empty() ? "" : ", ") + Quoted(text);
  return "[" + list + "]";
}

std::vector<std::string> MissingCodes(const ColumnProfile& column) {
  std::vector<std::string> codes;
  for (const auto& [text, count] : column.missing_texts) codes.push_back(text);
  for (const auto& [text, count] : column.sentinels) codes.push_back(text);
  return codes;
}

// Numbers apart from a few words, which then are missing codes.
bool MostlyNumbers(const ColumnProfile& column) {
  return column.numbers() > 0 && 10 * column.numbers() >= 9 * column.present();
}

std::string Own(const std::string& text) { return "#! " + text + "\n"; }

std::string SeenNumbers(const ColumnProfile& column) {
  std::string text;
  if (column.numbers() > 0) {
    text += Own(fmt::format("in this file from {:g} to {:g}, {} missing", column.minimum,
                            column.maximum, column.empty + column.missing_words));
  }
  for (const auto& [code, count] : column.sentinels) {
    text +=
        Own(fmt::format("{} cells are {}: taken for a missing code; remove it from "
                        "missing_codes if it is a value",
                        count, code));
  }
  if (column.texts + column.other_dates + column.iso_dates > 0) {
    std::string some;
    for (const std::string& one : column.some_texts)
      some += (some.empty() ? "" : ", ") + Quoted(one);
    text += Own(fmt::format(
        "{} cells are not numbers{}: correct them, or add their texts to missing_codes",
        column.texts + column.other_dates + column.iso_dates,
        some.empty() ? ""
                     : fmt::format(" ({}{})", some,
                                   column.some_texts.size() < kMaxSomeTexts ? "" : ", ...")));
  }
  return text;
}

std::string OpenBounds(bool dates) {
  const char* what = dates ? "\"YYYY-MM-DD\"" : "...";
  return fmt::format(
      "# lower = {}, fill in from knowledge of the {}, not from the data\n"
      "# upper = {}, likewise: everybody sees the bounds, and values outside stop the study\n",
      what, dates ? "study period" : "instrument", what);
}

std::string Numeric(const ColumnProfile& column, bool integer) {
  std::string text = SeenNumbers(column);
  if (integer && column.distinct <= 10 && !column.values.empty()) {
    text +=
        Own(fmt::format("{} different values: if they are codes of categories, write type = "
                        "\"factor\" and levels instead",
                        column.distinct));
  }
  if (column.leading_zeros > 0) {
    text +=
        Own(fmt::format("{} cells begin with 0 as codes do, which a number loses: codes are a "
                        "factor with levels, or a key",
                        column.leading_zeros));
  }
  text += fmt::format("type = \"{}\"\n", integer ? "integer" : "numeric");
  return text + OpenBounds(false) + "# unit = \"...\"\n";
}

std::string Factor(const ColumnProfile& column, bool ordered) {
  std::string text;
  std::vector<std::string> levels =
      ordered ? InKnownOrder(column.values) : std::vector<std::string>{};
  if (levels.empty()) {
    for (const auto& [value, count] : column.values) levels.push_back(value);
  }
  for (const auto& [value, count] : column.values) {
    if (count >= kRareLevel) continue;
    text +=
        Own(fmt::format("the level {} stands in {}: rare levels can identify people, "
                        "merge it with another if nobody else would list it",
                        Quoted(value), count == 1 ? "1 row" : fmt::format("{} rows", count)));
  }
  if (levels.size() < 2) {
    text += Own(
        "only one level in this file: list every level that may occur, or delete this variable: "
        "columns that no variable names are not read");
  }
  text += fmt::format("type = \"{}\"\n", ordered ? "ordered" : "factor");
  text += "levels = " + ListOf(levels);
  text +=
      ordered ? "  # lowest first\n" : "  # the first is the reference; add those not seen here\n";
  return text;
}

std::string DraftEntry(const ColumnProfile& column, DraftType type) {
  std::string text = fmt::format("\n[[variable]]\nname = {}\n", Quoted(column.name));
  if (column.outer_spaces > 0) {
    text += Own(fmt::format("{} cells begin or end with a space: remove the spaces from the file",
                            column.outer_spaces));
  }
  switch (type) {
    case DraftType::kNumeric:
    case DraftType::kInteger:
      text += Numeric(column, type == DraftType::kInteger);
      break;
    case DraftType::kFactor:
    case DraftType::kOrdered:
      text += Factor(column, type == DraftType::kOrdered);
      break;
    default:
      if (column.other_dates > 0) {
        text += Own(fmt::format("{} cells are dates of another form: write all as YYYY-MM-DD",
                                column.other_dates));
      }
      if (!column.first_day.empty()) {
        text += Own(fmt::format("in this file from {} to {}", column.first_day, column.last_day));
      }
      text += "type = \"date\"\n" + OpenBounds(true);
  }
  const std::vector<std::string> codes = MissingCodes(column);
  if (!codes.empty()) text += "missing_codes = " + ListOf(codes) + "\n";
  return text;
}

std::string Head(const TableProfile& profile) {
  std::string text = fmt::format(
      "# A draft dictionary, for the owner of the table only.\n"
      "# Lines that begin with #! tell what was seen in the data. Remove them before you show "
      "this\n"
      "# to anybody (grep -v '^#!'). Levels were taken from the data as well: list what can "
      "occur,\n"
      "# not what did. Every number and date needs bounds, which only you can know: write them "
      "here,\n"
      "# or say them to partita study new (--bounds); no study file is valid without them.\n"
      "{}\n[table]\n",
      Own(fmt::format("{} rows, {} columns", profile.num_rows, profile.columns.size())));
  if (!profile.says_dialect && profile.separator != ',')
    text += fmt::format("separator = \"{}\"\n",
                        profile.separator == '\t' ? "\\t" : std::string(1, profile.separator));
  if (!profile.says_dialect && profile.decimal != '.') text += "decimal = \",\"\n";
  for (const ColumnProfile& column : profile.columns) {
    if (GuessType(column) != DraftType::kKey) continue;
    text +=
        fmt::format("# key = {}  # different in every row: needed if others hold the same rows\n",
                    Quoted(column.name));
  }
  return text;
}

}  // namespace

DraftType GuessType(const ColumnProfile& column) {
  if (column.present() == 0) return DraftType::kEmpty;
  const bool unique = column.distinct == column.cells && column.cells >= 2;
  const bool texts_only = column.texts == column.present();
  if (unique && (NamedLikeKey(column.name) || (texts_only && column.cells > kMaxFactorLevels)))
    return DraftType::kKey;
  if (10 * (column.iso_dates + column.other_dates) >= 9 * column.present()) return DraftType::kDate;
  if (MostlyNumbers(column)) {
    return column.whole_numbers == column.numbers() ? DraftType::kInteger : DraftType::kNumeric;
  }
  if (column.values.empty() || column.distinct > kMaxFactorLevels) return DraftType::kFreeText;
  return InKnownOrder(column.values).empty() ? DraftType::kFactor : DraftType::kOrdered;
}

std::string DraftDictionary(const TableProfile& profile) {
  std::string text = Head(profile);
  for (const ColumnProfile& column : profile.columns) {
    const DraftType type = GuessType(column);
    if (type == DraftType::kKey) continue;
    if (!IsVariableName(column.name)) {
      text += "\n" + Own(fmt::format("the column {} cannot be named in a model: rename it, for "
                                     "example {}, and draft again",
                                     Quoted(column.name), Quoted(SuggestedName(column.name))));
    } else if (type == DraftType::kEmpty) {
      text += "\n" + Own(fmt::format("the column {} is empty: left out", Quoted(column.name)));
    } else if (type == DraftType::kFreeText) {
      text +=
          "\n" + Own(fmt::format("the column {} is free text with {} different values: left out",
                                 Quoted(column.name), column.distinct));
    } else {
      text += DraftEntry(column, type);
    }
  }
  return text;
}

}  // namespace partita::data
