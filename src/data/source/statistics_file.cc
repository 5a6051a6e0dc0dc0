#include "data/source/statistics_file.h"

#include <fmt/format.h>
#include <readstat.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <exception>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "base/date.h"
#include "base/error.h"
#include "data/csv_writer.h"
#include "data/number_text.h"
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
  if (StartsWithAny(format, {"DATETIME", "DATEAMPM", "YMDHMS", "E8601DT"})) {
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
  std::string date = FormatDate(days);
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
  std::vector<std::string> record = {};
  int64_t rows = 0, declared_rows = -1;  // -1: not known
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

int OnMetadata(readstat_metadata_t* metadata, void* self) {
  return Reading::Guarded(
      self, [&](Reading& reading) { reading.declared_rows = readstat_get_row_count(metadata); });
}

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

// Whether each label tells its value from all others of the set, and from numbers that it is not.
template <typename Key>
bool AreDistinct(const std::map<Key, std::string>& labels) {
  std::set<std::string> seen;
  for (const auto& [key, label] : labels) {
    if (label.empty() || !seen.insert(label).second) return false;
    const std::optional<double> number = ParseNumber(label, '.');
    if constexpr (std::is_same_v<Key, double>) {
      if (number && *number != key) return false;
    } else if (number && label != key) {
      return false;
    }
  }
  return true;
}

// The label; with the value before it where labels alone would make two values one.
template <typename Key>
std::string Labelled(const std::map<std::string, std::map<Key, std::string>>& sets,
                     const std::string& set, const std::string& value, const std::string& label) {
  return AreDistinct(sets.at(set)) ? label : fmt::format("{} ({})", value, label);
}

std::string CellText(const Reading& reading, const Variable& variable,
                     readstat_variable_t* of_library, readstat_value_t value) {
  if (readstat_value_is_missing(value, of_library) != 0) return {};
  if (readstat_value_type_class(value) == READSTAT_TYPE_CLASS_STRING) {
    const char* given = readstat_string_value(value);
    const std::string text = given == nullptr ? "" : given;
    const std::string* label =
        reading.labels ? LabelOf(reading.text_labels, variable.label_set, text) : nullptr;
    return label == nullptr ? text
                            : Labelled(reading.text_labels, variable.label_set, text, *label);
  }
  const double number = NumberOf(value);
  const std::string* label =
      reading.labels ? LabelOf(reading.number_labels, variable.label_set, number) : nullptr;
  if (label != nullptr) {
    return Labelled(reading.number_labels, variable.label_set, fmt::format("{}", number), *label);
  }
  if (variable.time != TimeKind::kNone) return DateText(number, variable);
  return fmt::format("{}", number);
}

int OnValue(int, readstat_variable_t* variable, readstat_value_t value, void* self) {
  return Reading::Guarded(self, [&](Reading& reading) {
    const auto index = static_cast<size_t>(readstat_variable_get_index(variable));
    const Variable& known = reading.variables.at(index);
    reading.record.push_back(CellText(reading, known, variable, value));
    if (index + 1 < reading.variables.size()) return;
    AppendRecord(reading.csv, reading.record, ',');
    reading.record.clear();
    ++reading.rows;
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
    readstat_set_metadata_handler(parser.get(), OnMetadata);
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

// The library takes a second data set of a SAS library for rows of the first, or leaves it out.
void RequireOneDataSet(const fs::path& path) {
  constexpr size_t kRecordBytes = 80;
  constexpr std::array<std::string_view, 2> kHeaders = {
      "HEADER RECORD*******MEMBER  HEADER RECORD!!!!!!!",
      "HEADER RECORD*******MEMBV8  HEADER RECORD!!!!!!!"};
  std::ifstream file(path, std::ios::binary);
  std::array<char, kRecordBytes> record{};
  int sets = 0;
  while (file.read(record.data(), record.size())) {
    const std::string_view text(record.data(), record.size());
    if (text.starts_with(kHeaders[0]) || text.starts_with(kHeaders[1])) ++sets;
  }
  if (sets < 2) return;
  throw Error(ErrorCode::kBadInput,
              fmt::format("{}: the transport file has {} data sets", path.string(), sets),
              "write a file for each of them: in SAS, proc copy with select");
}

// What the library does not notice. A transport file that ends between two records is whole to everybody.
void RequireWhole(const fs::path& path, const Reading& reading) {
  std::string why;
  if (reading.ending == ".xpt") {
    std::error_code error;
    if (fs::file_size(path, error) % 80 != 0 || error) why = "it ends within a record";
  } else if (reading.declared_rows != reading.rows) {
    why = "it does not have as many rows as it says";
  }
  if (reading.ending == ".sav" || reading.ending == ".zsav") {
    // The number of cases, -1 if the program that wrote the file did not know it.
    std::array<char, 84> header{};
    std::ifstream(path, std::ios::binary).read(header.data(), header.size());
    if (std::all_of(header.begin() + 80, header.end(), [](char c) { return c == '\xff'; }))
      why = "it does not say how many rows it has";
  }
  if (why.empty()) return;
  throw Error(ErrorCode::kBadInput, fmt::format("{}: cannot read the file: {}", path.string(), why),
              "save it anew in the program that wrote it, or export the table as CSV");
}

}  // namespace

bool IsStatisticsFile(const fs::path& path) { return FormatOf(path) != nullptr; }

ByteSource OpenStatisticsFile(const fs::path& path, bool labels) {
  Reading reading{Ending(path), labels};
  const Parse parse = FormatOf(path)->parse;
  if (reading.ending == ".xpt") RequireOneDataSet(path);
  ReadOnce(path, parse, reading, false);
  std::vector<std::string> names;
  for (const Variable& variable : reading.variables) names.push_back(variable.name);
  RequireColumnNames(names, path.string());
  AppendRecord(reading.csv, names, ',');
  ReadOnce(path, parse, reading, true);
  RequireWhole(path, reading);
  const auto text = std::make_shared<const std::string>(std::move(reading.csv));
  return [text, rest = FromText(*text)](std::span<uint8_t> out) mutable { return rest(out); };
}

}  // namespace partita::data
