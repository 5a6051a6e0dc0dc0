// ShareSummary as JSON: harmonise.h.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "data/harmonise.h"
#include "data/utf8.h"

namespace partita::data {

namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMaxColumns = 4096;
constexpr size_t kMaxNameBytes = 512;

constexpr std::array kShareClasses = {ShareClass::kSuppressed, ShareClass::kNone, ShareClass::kFew,
                                      ShareClass::kSome,       ShareClass::kMost, ShareClass::kAll};
constexpr std::array kTypes = {ColumnType::kNumeric, ColumnType::kInteger, ColumnType::kFactor,
                               ColumnType::kOrdered, ColumnType::kDate,    ColumnType::kSurvival,
                               ColumnType::kKey};

Json ColumnJson(const ColumnShare& column) {
  Json levels = Json::array();
  for (const LevelShare& level : column.levels)
    levels.push_back({{"level", level.level}, {"present", level.present}});
  return {{"name", column.name},
          {"type", ColumnTypeName(column.type)},
          {"unit", column.unit},
          {"in_file", column.in_file},
          {"missing", ShareClassName(column.missing)},
          {"unreadable", ShareClassName(column.unreadable)},
          {"other_decimal", ShareClassName(column.other_decimal)},
          {"fractional", ShareClassName(column.fractional)},
          {"below", ShareClassName(column.below)},
          {"above", ShareClassName(column.above)},
          {"numbers_for_levels", ShareClassName(column.numbers_for_levels)},
          {"levels", levels},
          {"unknown_levels", column.unknown_levels},
          {"half_decade", column.half_decade ? Json(*column.half_decade) : Json()},
          {"digit_keys", column.digit_keys},
          {"keys_of_one_length", column.keys_of_one_length}};
}

// Reads one object and insists on its keys.
class ObjectReader {
 public:
  ObjectReader(const Json& object, std::string source, size_t num_keys)
      : object_(object), source_(std::move(source)) {
    if (!object.is_object()) Fail("not an object where one belongs");
    if (object.size() != num_keys) Fail("an object with unknown or missing keys");
  }

  const Json& At(const char* key) const {
    const auto found = object_.find(key);
    if (found == object_.end()) Fail(fmt::format("the key '{}' is missing", key));
    return *found;
  }

  std::string Text(const char* key) const {
    const Json& value = At(key);
    if (!value.is_string()) Fail(fmt::format("'{}' is not a text", key));
    std::string text = value.get<std::string>();
    const bool control = std::any_of(text.begin(), text.end(),
                                     [](char c) { return (c >= 0 && c < 0x20) || c == 0x7F; });
    if (text.size() > kMaxNameBytes || control || !IsUtf8(text))
      Fail(fmt::format("'{}' is not a plain text", key));
    return text;
  }

  bool Flag(const char* key) const {
    if (!At(key).is_boolean()) Fail(fmt::format("'{}' is neither true nor false", key));
    return At(key).get<bool>();
  }

  uint64_t Natural(const char* key) const {
    if (!At(key).is_number_unsigned()) Fail(fmt::format("'{}' is not a whole number", key));
    return At(key).get<uint64_t>();
  }

  const Json& List(const char* key) const {
    if (!At(key).is_array() || At(key).size() > kMaxColumns)
      Fail(fmt::format("'{}' is not a list of reasonable length", key));
    return At(key);
  }

  // The value whose name the text is.
  template <typename Values, typename NameOf>
  auto Choice(const char* key, const Values& values, NameOf name_of) const {
    const std::string text = Text(key);
    for (const auto value : values) {
      if (name_of(value) == text) return value;
    }
    Fail(fmt::format("'{}' is not one of the known words", key));
  }

  ShareClass Share(const char* key) const { return Choice(key, kShareClasses, ShareClassName); }

  [[noreturn]] void Fail(const std::string& what) const {
    throw Error(ErrorCode::kBadInput, fmt::format("{}: no summary of a table: {}", source_, what),
                "make it with partita data check FILE --study STUDY --party PARTY --share SUMMARY");
  }

 private:
  const Json& object_;
  std::string source_;
};

std::optional<int> ReadHalfDecade(const ObjectReader& reader) {
  const Json& value = reader.At("half_decade");
  if (value.is_null()) return std::nullopt;
  if (!value.is_number_integer()) reader.Fail("'half_decade' is not a whole number");
  // Out of range values, of either sign, are refused before the conversion to int.
  const bool fits = value.is_number_unsigned()
                        ? value.get<uint64_t>() <= static_cast<uint64_t>(kMaxHalfDecade)
                        : value.get<int64_t>() >= kMinHalfDecade;
  if (!fits) reader.Fail("'half_decade' is out of range");
  return value.get<int>();
}

ColumnShare ReadColumn(const Json& json, const std::string& source) {
  const ObjectReader reader(json, source, 16);
  ColumnShare column;
  column.name = reader.Text("name");
  column.type = reader.Choice("type", kTypes, ColumnTypeName);
  column.unit = reader.Text("unit");
  column.in_file = reader.Flag("in_file");
  column.missing = reader.Share("missing");
  column.unreadable = reader.Share("unreadable");
  column.other_decimal = reader.Share("other_decimal");
  column.fractional = reader.Share("fractional");
  column.below = reader.Share("below");
  column.above = reader.Share("above");
  column.numbers_for_levels = reader.Share("numbers_for_levels");
  for (const Json& level : reader.List("levels")) {
    const ObjectReader entry(level, source, 2);
    column.levels.push_back({entry.Text("level"), entry.Flag("present")});
  }
  column.unknown_levels = reader.Natural("unknown_levels");
  column.half_decade = ReadHalfDecade(reader);
  column.digit_keys = reader.Flag("digit_keys");
  column.keys_of_one_length = reader.Flag("keys_of_one_length");
  return column;
}

}  // namespace

std::string ShareJson(const ShareSummary& summary) {
  Json columns = Json::array();
  for (const ColumnShare& column : summary.columns) columns.push_back(ColumnJson(column));
  const Json json = {{"partita_share", kShareFormat}, {"study", summary.study},
                     {"party", summary.party},        {"dictionary", summary.dictionary},
                     {"min_cell", summary.min_cell},  {"columns", columns}};
  return json.dump(2) + "\n";
}

ShareSummary ParseShare(const std::string& text, const std::string& source) {
  if (text.size() > kMaxShareBytes) {
    throw Error(ErrorCode::kBadInput,
                fmt::format("{}: larger than {} bytes", source, kMaxShareBytes),
                "a summary of a table is much smaller: is this another file?");
  }
  const Json json = Json::parse(text, nullptr, false);
  const ObjectReader reader(json, source, 6);
  if (reader.Natural("partita_share") != kShareFormat) {
    reader.Fail(fmt::format("its format is not {}: it was made by another release", kShareFormat));
  }
  ShareSummary summary;
  summary.study = reader.Text("study");
  summary.party = reader.Text("party");
  summary.dictionary = reader.Text("dictionary");
  summary.min_cell = reader.Natural("min_cell");
  for (const Json& column : reader.List("columns"))
    summary.columns.push_back(ReadColumn(column, source));
  return summary;
}

}  // namespace partita::data
