#include "data/describe.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <string_view>
#include <unordered_set>

#include "base/date.h"
#include "base/trim.h"
#include "data/csv_tokenizer.h"
#include "data/number_text.h"
#include "data/source/open_table.h"
#include "data/utf8.h"

namespace partita::data {

namespace {

constexpr std::array<std::string_view, 14> kMissingWords = {
    "NA", "N/A", "n/a", "na", "NaN", "nan", "NULL", "null", ".", "-", "?", "missing", "#N/A", ".."};
// Codes that questionnaires and registries use for "no answer" where a number belongs.
constexpr std::array<double, 14> kSentinels = {-9, -99, -999, -9999, -1,   -8,   -7,
                                               99, 999, 9999, 888,   8888, 7777, 99999};

bool IsMissingWord(std::string_view text) {
  return std::find(kMissingWords.begin(), kMissingWords.end(), text) != kMissingWords.end();
}

bool IsSentinel(double number) {
  return std::find(kSentinels.begin(), kSentinels.end(), number) != kSentinels.end();
}

// "29.02.2024", "2/29/24", "2024/02/29": three groups of digits with two equal marks between them.
bool LooksLikeDate(std::string_view text) {
  size_t groups = 0, digits = 0;
  char mark = 0;
  for (char c : text) {
    if (c >= '0' && c <= '9') {
      if (++digits > 4) return false;
      continue;
    }
    if (digits == 0 || (c != '.' && c != '/' && c != '-') || (mark != 0 && c != mark)) return false;
    mark = c;
    digits = 0;
    ++groups;
  }
  return groups == 2 && digits > 0;
}

// Counts the cells of one column.
class Profiler {
 public:
  explicit Profiler(std::string name) { profile_.name = std::move(name); }

  void Add(std::string_view cell) {
    ++profile_.cells;
    const std::string_view text = Trim(cell);
    if (text.size() != cell.size()) ++profile_.outer_spaces;
    if (text.empty()) {
      ++profile_.empty;
      return;
    }
    if (IsMissingWord(text)) {
      ++profile_.missing_words;
      ++profile_.missing_texts[std::string(text)];
      return;
    }
    Remember(text);
    Classify(text);
  }

  ColumnProfile Take() {
    profile_.distinct = hashes_.size();
    if (overflow_) profile_.values.clear();
    SortOutSentinels();
    return std::move(profile_);
  }

 private:
  void Remember(std::string_view text) {
    hashes_.insert(std::hash<std::string_view>()(text));
    if (overflow_) return;
    ++profile_.values[std::string(text)];
    overflow_ = profile_.values.size() > kMaxProfileLevels;
  }

  void Classify(std::string_view text) {
    if (const std::optional<double> number = ParseNumber(text, '.')) {
      const bool whole = text.find_first_of(".eE") == std::string_view::npos;
      ++(whole ? profile_.whole_numbers : profile_.point_numbers);
      if (whole && text.size() > 1 && text.front() == '0') ++profile_.leading_zeros;
      return AddNumber(text, *number);
    }
    if (const std::optional<double> number = ParseNumber(text, ',')) {
      ++profile_.comma_numbers;
      return AddNumber(text, *number);
    }
    if (ParseDate(text)) {
      ++profile_.iso_dates;
      const std::string day(text);
      if (profile_.first_day.empty() || day < profile_.first_day) profile_.first_day = day;
      if (day > profile_.last_day) profile_.last_day = day;
      return;
    }
    if (LooksLikeDate(text)) {
      ++profile_.other_dates;
      return;
    }
    ++profile_.texts;
    if (profile_.some_texts.size() < kMaxSomeTexts) profile_.some_texts.emplace(text);
  }

  void AddNumber(std::string_view text, double number) {
    if (IsSentinel(number)) {
      auto& [count, value] = sentinels_[std::string(text)];
      ++count;
      value = number;
      return;
    }
    Extend(number);
  }

  void Extend(double number) {
    profile_.minimum = any_number_ ? std::min(profile_.minimum, number) : number;
    profile_.maximum = any_number_ ? std::max(profile_.maximum, number) : number;
    any_number_ = true;
  }

  // A code is a sentinel only if it lies half a range or more outside of the other numbers, or is
  // negative where they are not; else it is a number like all others.
  void SortOutSentinels() {
    const double low = profile_.minimum, high = profile_.maximum, margin = (high - low) / 2;
    const bool others = any_number_;
    for (const auto& [text, counted] : sentinels_) {
      const auto& [count, value] = counted;
      const bool far =
          others && (value > high + margin || value < low - margin || (value < 0 && low >= 0));
      if (far) {
        profile_.sentinels[text] = count;
      } else {
        Extend(value);
      }
    }
  }

  ColumnProfile profile_;
  std::unordered_set<size_t> hashes_;  // of the distinct texts
  std::map<std::string, std::pair<uint64_t, double>> sentinels_;
  bool overflow_ = false, any_number_ = false;
};

// How often it stands in the line outside of quotes.
size_t CountOutsideQuotes(std::string_view line, char separator) {
  size_t count = 0;
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') quoted = !quoted;
    if (!quoted && c == separator) ++count;
  }
  return count;
}

char SniffSeparator(const ByteSource& source, std::string& head) {
  head.resize(1 << 16);
  head.resize(source({reinterpret_cast<uint8_t*>(head.data()), head.size()}));
  const std::string_view line = std::string_view(head).substr(0, head.find('\n'));
  char best = ',';
  for (char candidate : {',', ';', '\t'}) {
    if (CountOutsideQuotes(line, candidate) > CountOutsideQuotes(line, best)) best = candidate;
  }
  return best;
}

// The source again from its beginning, after `head` was read from it.
ByteSource Rejoined(std::string_view head, const ByteSource& rest) {
  return [begin = FromText(head), &rest](std::span<uint8_t> out) {
    const size_t from_head = begin(out);
    return from_head + (from_head < out.size() ? rest(out.subspan(from_head)) : 0);
  };
}

std::vector<Profiler> ReadProfilers(CsvTokenizer& tokenizer) {
  if (!tokenizer.Next()) {
    throw Error(ErrorCode::kBadData, tokenizer.source_name() + ": the file is empty",
                "its first line must name the columns");
  }
  std::vector<Profiler> columns;
  std::unordered_set<std::string> names;
  std::string scratch;
  for (const CsvField& field : tokenizer.fields()) {
    const std::string name(CsvTokenizer::Text(field, scratch));
    if (!names.insert(name).second) {
      throw Error(
          ErrorCode::kBadData,
          fmt::format("{}:1: two columns are named '{}'", tokenizer.source_name(), Printable(name)),
          "rename one of them");
    }
    columns.emplace_back(name);
  }
  return columns;
}

}  // namespace

TableProfile ProfileTable(const ByteSource& source, std::string source_name,
                          std::optional<char> separator) {
  TableProfile profile;
  std::string head;
  profile.separator = separator ? *separator : SniffSeparator(source, head);
  CsvOptions options;
  options.separator = profile.separator;
  const ByteSource all = Rejoined(head, source);
  const ByteObserver nobody;
  CsvTokenizer tokenizer(all, std::move(source_name), options, nobody);
  profile.source = tokenizer.source_name();
  std::vector<Profiler> columns = ReadProfilers(tokenizer);
  std::string scratch;
  while (tokenizer.Next()) {
    const auto fields = tokenizer.fields();
    if (fields.size() != columns.size()) {
      throw Error(ErrorCode::kBadData,
                  fmt::format("{}:{}: the record has {} fields, but the header has {}",
                              profile.source, tokenizer.line(), fields.size(), columns.size()),
                  "put fields that contain the separator in quotes, or name the right --separator");
    }
    ++profile.num_rows;
    for (size_t c = 0; c < columns.size(); ++c)
      columns[c].Add(CsvTokenizer::Text(fields[c], scratch));
  }
  uint64_t points = 0, commas = 0;
  for (Profiler& column : columns) {
    profile.columns.push_back(column.Take());
    points += profile.columns.back().point_numbers;
    commas += profile.columns.back().comma_numbers;
  }
  if (commas > points && profile.separator != ',') profile.decimal = ',';
  return profile;
}

TableProfile ProfileTableFile(const std::filesystem::path& path, std::optional<char> separator) {
  const OpenedTable table = OpenTable(path);
  TableProfile profile = ProfileTable(table.bytes, path.string(),
                                      table.dialect ? table.dialect->separator : separator);
  profile.says_dialect = table.dialect.has_value();
  return profile;
}

char FindSeparator(const std::filesystem::path& path) {
  if (IsDatabase(path)) return CsvDialect().separator;
  const OpenedTable table = OpenTable(path);
  std::string head;
  return table.dialect ? table.dialect->separator : SniffSeparator(table.bytes, head);
}

std::string_view DraftTypeName(DraftType type) {
  switch (type) {
    case DraftType::kNumeric:
      return "numeric";
    case DraftType::kInteger:
      return "integer";
    case DraftType::kFactor:
      return "factor";
    case DraftType::kOrdered:
      return "ordered";
    case DraftType::kDate:
      return "date";
    case DraftType::kKey:
      return "key";
    case DraftType::kFreeText:
      return "free text";
    case DraftType::kEmpty:
      return "empty";
  }
  throw Error(ErrorCode::kInternal, "unknown draft type");
}

}  // namespace partita::data
