#include "data/source/statistics_file.h"

#include <fmt/format.h>
#include <readstat.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <exception>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/date.h"
#include "base/error.h"
#include "data/csv_writer.h"
#include "data/source/csv_rows.h"

namespace partita::data {
namespace {

namespace fs = std::filesystem;

using Parse = readstat_error_t (*)(readstat_parser_t*, const char*, void*);

// How dates are counted: the unit in seconds, and day 0 in days before 1970-01-01.
struct Calendar {
  double unit = 1, epoch = 0;
};

struct Format {
  std::string_view ending;
  Parse parse;
};

constexpr std::array<Format, 5> kFormats = {{{".sav", readstat_parse_sav},
                                             {".zsav", readstat_parse_sav},
                                             {".dta", readstat_parse_dta},
                                             {".sas7bdat", readstat_parse_sas7bdat},
                                             {".xpt", readstat_parse_xport}}};

std::string Ending(const fs::path& path) {
  std::string ending = path.extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return ending;
}

const Format* FormatOf(const fs::path& path) {
  const std::string ending = Ending(path);
  const auto* found = std::find_if(kFormats.begin(), kFormats.end(),
                                   [&](const Format& f) { return f.ending == ending; });
  return found == kFormats.end() ? nullptr : found;
}

enum class TimeKind { kNone, kDate, kDateTime };

constexpr double kSecondsOfDay = 86'400;
// Days from 1582-10-14 and from 1960-01-01 to 1970-01-01.
constexpr double kOfSpss = 141'428, kOf1960 = 3653;

struct Variable {
  std::string name;
  std::string label_set;
  TimeKind time = TimeKind::kNone;
  Calendar calendar = {};
};

bool StartsWithAny(std::string_view format, std::initializer_list<std::string_view> names) {
  return std::any_of(names.begin(), names.end(),
                     [&](std::string_view name) { return format.starts_with(name); });
}

// By the formats that each program prints dates with.
void SetTime(std::string_view ending, std::string_view format, Variable& variable) {
  if (ending == ".dta") {
    const bool day = StartsWithAny(format, {"%td", "%d", "%-td", "%-d"});
    const bool time = StartsWithAny(format, {"%tc", "%-tc"});
    variable.time = day ? TimeKind::kDate : time ? TimeKind::kDateTime : TimeKind::kNone;
    variable.calendar = {day ? kSecondsOfDay : 1e-3, kOf1960};
    return;
  }
  const bool spss = ending == ".sav" || ending == ".zsav";
  if (StartsWithAny(format, {"DATETIME", "YMDHMS"})) {
    variable.time = TimeKind::kDateTime;
    variable.calendar = {1, spss ? kOfSpss : kOf1960};
  } else if (StartsWithAny(format, {"DATE", "ADATE", "EDATE", "SDATE", "JDATE", "MMDDYY", "DDMMYY",
                                    "YYMMDD", "E8601DA", "IS8601DA", "WORDDAT", "WEEKDATE"})) {
    variable.time = TimeKind::kDate;
    variable.calendar = spss ? Calendar{1, kOfSpss} : Calendar{kSecondsOfDay, kOf1960};
  }
}

std::string DateText(double value, const Variable& variable) {
  const double seconds = value * variable.calendar.unit;
  const double day = std::floor(seconds / kSecondsOfDay);
  const double within = seconds - day * kSecondsOfDay;
  const double days = day - variable.calendar.epoch;
  if (!(days > -719'163 && days < 2'932'897)) return fmt::format("{}", value);
  const std::string date = FormatDate(days);
  if (variable.time == TimeKind::kDate && within == 0) return date;
  const auto whole = static_cast<int>(within);
  return fmt::format("{}T{:02}:{:02}:{:02}", date, whole / 3600, whole / 60 % 60, whole % 60);
}

// What ReadStat calls back with: first variables and labels, in a second reading the values. Exceptions
// wait until the library has returned.
struct Reading {
  std::string ending;
  bool labels = true;
  std::vector<Variable> variables = {};
  // By label set, then by the number or text.
  std::map<std::string, std::map<double, std::string>> number_labels = {};
  std::map<std::string, std::map<std::string, std::string>> text_labels = {};
  std::string csv = {};
  std::exception_ptr failure = {};

  template <typename Body>
  static int Guarded(void* self, const Body& body) {
    auto& reading = *static_cast<Reading*>(self);
    try {
      body(reading);
      return READSTAT_HANDLER_OK;
    } catch (...) {
      reading.failure = std::current_exception();
      return READSTAT_HANDLER_ABORT;
    }
  }
};

int OnVariable(int index, readstat_variable_t* variable, const char* label_set, void* self) {
  return Reading::Guarded(self, [&](Reading& reading) {
    if (static_cast<size_t>(index) < reading.variables.size()) return;  // in the second reading
    Variable read;
    read.name = readstat_variable_get_name(variable);
    if (label_set != nullptr) read.label_set = label_set;
    const char* format = readstat_variable_get_format(variable);
    if (format != nullptr &&
        readstat_variable_get_type_class(variable) == READSTAT_TYPE_CLASS_NUMERIC) {
      SetTime(reading.ending, format, read);
    }
    reading.variables.push_back(std::move(read));
  });
}

double NumberOf(readstat_value_t value) { return readstat_double_value(value); }

int OnLabel(const char* label_set, readstat_value_t value, const char* label, void* self) {
  return Reading::Guarded(self, [&](Reading& reading) {
    if (readstat_value_is_system_missing(value) != 0 ||
        readstat_value_is_tagged_missing(value) != 0)
      return;
    if (readstat_value_type_class(value) == READSTAT_TYPE_CLASS_NUMERIC) {
      reading.number_labels[label_set][NumberOf(value)] = label;
    } else if (const char* text = readstat_string_value(value)) {
      reading.text_labels[label_set][text] = label;
    }
  });
}

template <typename Key>
const std::string* LabelOf(const std::map<std::string, std::map<Key, std::string>>& sets,
                           const std::string& set, const Key& key) {
  const auto labels = sets.find(set);
  if (labels == sets.end()) return nullptr;
  const auto found = labels->second.find(key);
  return found == labels->second.end() ? nullptr : &found->second;
}

std::string CellText(const Reading& reading, const Variable& variable,
                     readstat_variable_t* of_library, readstat_value_t value) {
  if (readstat_value_is_missing(value, of_library) != 0) return {};
  if (readstat_value_type_class(value) == READSTAT_TYPE_CLASS_STRING) {
    const char* given = readstat_string_value(value);
    const std::string text = given == nullptr ? "" : given;
    const std::string* label =
        reading.labels ? LabelOf(reading.text_labels, variable.label_set, text) : nullptr;
    return label == nullptr ? text : *label;
  }
  const double number = NumberOf(value);
  const std::string* label =
      reading.labels ? LabelOf(reading.number_labels, variable.label_set, number) : nullptr;
  if (label != nullptr) return *label;
  if (variable.time != TimeKind::kNone) return DateText(number, variable);
  return fmt::format("{}", number);
}

int OnValue(int, readstat_variable_t* variable, readstat_value_t value, void* self) {
  return Reading::Guarded(self, [&](Reading& reading) {
    const auto index = static_cast<size_t>(readstat_variable_get_index(variable));
    const Variable& known = reading.variables.at(index);
    reading.csv += QuotedField(CellText(reading, known, variable, value), ',');
    reading.csv += index + 1 == reading.variables.size() ? '\n' : ',';
  });
}

void ReadOnce(const fs::path& path, Parse parse, Reading& reading, bool values) {
  const std::unique_ptr<readstat_parser_t, decltype(&readstat_parser_free)> parser(
      readstat_parser_init(), readstat_parser_free);
  if (parser == nullptr) throw std::bad_alloc();
  // The library reads values of variables that it has told of.
  readstat_set_variable_handler(parser.get(), OnVariable);
  if (values) {
    readstat_set_value_handler(parser.get(), OnValue);
  } else {
    readstat_set_value_label_handler(parser.get(), OnLabel);
  }
  const readstat_error_t result = parse(parser.get(), path.c_str(), &reading);
  if (reading.failure) std::rethrow_exception(reading.failure);
  if (result != READSTAT_OK) {
    throw Error(
        ErrorCode::kBadInput,
        fmt::format("{}: cannot read the file: {}", path.string(), readstat_error_message(result)),
        "check the path, the permissions, and that the program that wrote it can open it; "
        "or export the table as CSV");
  }
}

}  // namespace

bool IsStatisticsFile(const fs::path& path) { return FormatOf(path) != nullptr; }

ByteSource OpenStatisticsFile(const fs::path& path, bool labels) {
  Reading reading{Ending(path), labels};
  const Parse parse = FormatOf(path)->parse;
  ReadOnce(path, parse, reading, false);
  std::vector<std::string> names;
  for (const Variable& variable : reading.variables) names.push_back(variable.name);
  RequireColumnNames(names, path.string());
  for (size_t i = 0; i < names.size(); ++i)
    reading.csv += QuotedField(names[i], ',') + (i + 1 == names.size() ? '\n' : ',');
  ReadOnce(path, parse, reading, true);
  const auto text = std::make_shared<const std::string>(std::move(reading.csv));
  return [text, rest = FromText(*text)](std::span<uint8_t> out) mutable { return rest(out); };
}

}  // namespace partita::data
