#include "study/file/toml_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/date.h"
#include "base/stray_character.h"
#include "study/file/text.h"

namespace partita::study {
namespace {

Position ToPosition(const toml::source_region& region) {
  // A table that is only implied by dotted keys has no position of its own.
  return {std::max<size_t>(region.begin.line, 1), std::max<size_t>(region.begin.column, 1)};
}

std::string_view TypeName(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::table:
      return "a table";
    case toml::node_type::array:
      return "a list";
    case toml::node_type::string:
      return "text";
    case toml::node_type::integer:
      return "a whole number";
    case toml::node_type::floating_point:
      return "a number";
    case toml::node_type::boolean:
      return "true or false";
    case toml::node_type::date:
      return "a date";
    case toml::node_type::time:
      return "a time of day";
    default:
      return "a date with a time of day";
  }
}

}  // namespace

void FailAt(const std::string& file_name, Position position, const std::string& what,
            const std::string& hint) {
  throw Error(ErrorCode::kBadInput,
              file_name + ":" + std::to_string(position.line) + ":" +
                  std::to_string(position.column) + ": " + what,
              hint);
}

namespace {

// What somebody who writes TOML for the first time most likely did.
std::string TomlHint(std::string_view what) {
  const auto says = [&](std::string_view words) {
    return what.find(words) != std::string_view::npos;
  };
  if (says("could not determine value type")) {
    return "texts stand between double quotes; the only words without are true and false";
  }
  if (says("unescaped control characters")) {
    return "the closing quote is missing on this line; a text of several lines stands between "
           "\"\"\" and \"\"\"";
  }
  if (says("as array-of-tables") || says("as table") || says("cannot redefine existing table")) {
    return "where there may be several tables of one name, every header has double brackets, such "
           "as [[party]]; the others stand once";
  }
  if (says("cannot redefine existing")) {
    return "the key stands twice in one table: remove one of them";
  }
  return "this is not valid TOML: one 'key = value' per line, texts between double quotes";
}

}  // namespace

toml::table ParseToml(const std::string& text, const std::string& file_name) {
  if (const auto stray = FindStrayCharacter(text)) {
    FailAt(file_name, {stray->line, stray->column},
           "a character outside of texts and comments that is not ASCII", kStrayCharacterHint);
  }
  try {
    return toml::parse(std::string_view(text));
  } catch (const toml::parse_error& error) {
    const auto begin = error.source().begin;
    std::string what(error.description());
    constexpr std::string_view kOpening = "Error while parsing ";
    if (what.starts_with(kOpening)) what.erase(0, kOpening.size());
    for (char& c : what) c = (c < ' ' || c > '~') ? ' ' : c;
    FailAt(file_name, {begin.line, begin.column}, what, TomlHint(what));
  }
}

TableReader::TableReader(const std::string& file_name, const toml::table& table, std::string where,
                         std::vector<std::string> keys)
    : file_name_(&file_name), table_(&table), where_(std::move(where)) {
  const toml::key* unknown = nullptr;
  for (const auto& [key, node] : table) {
    if (std::find(keys.begin(), keys.end(), key.str()) != keys.end()) continue;
    const bool earlier = unknown == nullptr || key.source().begin < unknown->source().begin;
    if (earlier) unknown = &key;
  }
  if (unknown == nullptr) return;
  Fail(ToPosition(unknown->source()), "unknown key " + Quote(unknown->str()) + " in " + where_,
       KnownNamesHint(unknown->str(), keys));
}

Position TableReader::position() const { return ToPosition(table_->source()); }

Position TableReader::PositionOf(std::string_view key) const {
  const toml::node* node = Find(key);
  return node == nullptr ? position() : ToPosition(node->source());
}

void TableReader::Fail(Position position, const std::string& what, const std::string& hint) const {
  FailAt(*file_name_, position, what, hint);
}

void TableReader::FailMissing(std::string_view key, std::string_view example) const {
  Fail(position(), where_ + " needs the key '" + std::string(key) + "'",
       "add, for example: " + std::string(example));
}

void TableReader::FailType(std::string_view key, const toml::node& node,
                           std::string_view wanted) const {
  const bool text = wanted == "text";
  // A number, a truth value or a date that was put between quotes.
  const bool quoted = node.is_string() && (wanted == "a number" || wanted == "a whole number");
  Fail(ToPosition(node.source()),
       "'" + std::string(key) + "' in " + where_ + " must be " + std::string(wanted) + ", not " +
           std::string(TypeName(node)),
       text ? "put the value between double quotes"
            : "write " + std::string(wanted) + (quoted ? ", without quotes" : ""));
}

LocatedText TableReader::TextOf(std::string_view key, const toml::node& node) const {
  const auto* text = node.as_string();
  if (text == nullptr) FailType(key, node, "text");
  return {text->get(), ToPosition(node.source())};
}

std::optional<LocatedText> TableReader::OptionalText(std::string_view key) const {
  const toml::node* node = Find(key);
  if (node == nullptr) return std::nullopt;
  return TextOf(key, *node);
}

LocatedText TableReader::Text(std::string_view key, std::string_view example) const {
  auto text = OptionalText(key);
  if (!text) FailMissing(key, example);
  return *text;
}

std::optional<std::vector<LocatedText>> TableReader::OptionalTexts(std::string_view key) const {
  const toml::node* node = Find(key);
  if (node == nullptr) return std::nullopt;
  const toml::array* list = node->as_array();
  if (list == nullptr) FailType(key, *node, "a list of texts such as [\"a\", \"b\"]");
  std::vector<LocatedText> texts;
  texts.reserve(list->size());
  for (const toml::node& item : *list) texts.push_back(TextOf(key, item));
  return texts;
}

std::vector<LocatedText> TableReader::Texts(std::string_view key, std::string_view example) const {
  auto texts = OptionalTexts(key);
  if (!texts) FailMissing(key, example);
  return *texts;
}

Located<double> TableReader::NumberOf(std::string_view key, const toml::node& node) const {
  const Position position = ToPosition(node.source());
  if (const auto* whole = node.as_integer()) return {static_cast<double>(whole->get()), position};
  const auto* number = node.as_floating_point();
  if (number == nullptr) FailType(key, node, "a number");
  return {number->get(), position};
}

Located<double> TableReader::DateOf(std::string_view key, const toml::node& node) const {
  std::string text;
  if (const auto* date = node.as_date()) {
    const toml::date& value = date->get();
    text = fmt::format("{:04}-{:02}-{:02}", value.year, value.month, value.day);
  } else if (const auto* written = node.as_string()) {
    text = written->get();
  } else {
    FailType(key, node, "a date such as 2020-01-31");
  }
  const Position position = ToPosition(node.source());
  const auto days = ParseDate(text);
  if (!days) {
    Fail(position, "'" + std::string(key) + "' in " + where_ + " is no date: " + Quote(text),
         "write year-month-day, for example 2020-01-31");
  }
  return {*days, position};
}

std::optional<Located<double>> TableReader::OptionalNumber(std::string_view key) const {
  return OptionalValue(key, false);
}

std::optional<Located<double>> TableReader::OptionalValue(std::string_view key, bool date) const {
  const toml::node* node = Find(key);
  if (node == nullptr) return std::nullopt;
  return date ? DateOf(key, *node) : NumberOf(key, *node);
}

Located<double> TableReader::Value(std::string_view key, bool date,
                                   std::string_view example) const {
  auto value = OptionalValue(key, date);
  if (!value) FailMissing(key, example);
  return *value;
}

std::optional<std::vector<Located<double>>> TableReader::OptionalValues(std::string_view key,
                                                                        bool date) const {
  const toml::node* node = Find(key);
  if (node == nullptr) return std::nullopt;
  const toml::array* list = node->as_array();
  if (list == nullptr) {
    FailType(key, *node,
             date ? "a list of dates such as [2020-01-31, 2021-01-31]"
                  : "a list of numbers such as [10, 20]");
  }
  std::vector<Located<double>> values;
  for (const toml::node& item : *list) {
    values.push_back(date ? DateOf(key, item) : NumberOf(key, item));
  }
  return values;
}

std::vector<Located<double>> TableReader::Values(std::string_view key, bool date,
                                                 std::string_view example) const {
  auto values = OptionalValues(key, date);
  if (!values) FailMissing(key, example);
  return *values;
}

std::optional<std::vector<Located<std::vector<LocatedText>>>> TableReader::OptionalTextLists(
    std::string_view key, std::string_view example) const {
  const toml::node* node = Find(key);
  if (node == nullptr) return std::nullopt;
  const std::string wanted = "a list of lists such as " + std::string(example);
  const toml::array* list = node->as_array();
  if (list == nullptr) FailType(key, *node, wanted);
  std::vector<Located<std::vector<LocatedText>>> lists;
  for (const toml::node& item : *list) {
    const toml::array* texts = item.as_array();
    if (texts == nullptr) FailType(key, item, wanted);
    lists.push_back({{}, ToPosition(item.source())});
    for (const toml::node& text : *texts) lists.back().value.push_back(TextOf(key, text));
  }
  return lists;
}

bool TableReader::IsText(std::string_view key) const {
  const toml::node* node = Find(key);
  return node != nullptr && node->is_string();
}

bool TableReader::IsList(std::string_view key) const {
  const toml::node* node = Find(key);
  return node != nullptr && node->is_array();
}

std::vector<LocatedText> TableReader::TextOrTexts(std::string_view key) const {
  if (IsText(key)) return {*OptionalText(key)};
  return OptionalTexts(key).value_or(std::vector<LocatedText>{});
}

Located<double> TableReader::Number(std::string_view key, std::string_view example) const {
  auto number = OptionalNumber(key);
  if (!number) FailMissing(key, example);
  return *number;
}

std::optional<Located<int64_t>> TableReader::OptionalInteger(std::string_view key) const {
  const toml::node* node = Find(key);
  if (node == nullptr) return std::nullopt;
  const auto* whole = node->as_integer();
  if (whole == nullptr) FailType(key, *node, "a whole number");
  return Located<int64_t>{whole->get(), ToPosition(node->source())};
}

std::optional<bool> TableReader::OptionalBool(std::string_view key) const {
  const toml::node* node = Find(key);
  if (node == nullptr) return std::nullopt;
  const auto* value = node->as_boolean();
  if (value == nullptr) FailType(key, *node, "true or false, without quotes");
  return value->get();
}

std::string TableReader::Choice(const LocatedText& text, std::string_view key,
                                const std::vector<std::string>& choices) const {
  if (std::find(choices.begin(), choices.end(), text.value) == choices.end()) {
    Fail(text.position,
         "'" + std::string(key) + "' in " + where_ + " cannot be " + Quote(text.value),
         KnownNamesHint(text.value, choices));
  }
  return text.value;
}

std::optional<TableReader> TableReader::OptionalTable(std::string_view key,
                                                      std::vector<std::string> keys,
                                                      std::string header) const {
  const toml::node* node = Find(key);
  if (node == nullptr) return std::nullopt;
  if (header.empty()) header = "[" + std::string(key) + "]";
  const toml::table* table = node->as_table();
  if (table == nullptr && node->is_array_of_tables()) {
    Fail(ToPosition(node->source()), "[" + header + "] is written with double brackets",
         "write " + header + ": there is only one");
  }
  if (table == nullptr) FailType(key, *node, "a table under the header " + header);
  return TableReader(*file_name_, *table, header, std::move(keys));
}

TableReader TableReader::Table(std::string_view key, std::vector<std::string> keys,
                               std::string_view example) const {
  auto table = OptionalTable(key, std::move(keys));
  if (!table) FailMissing(key, example);
  return *table;
}

std::vector<TableReader> TableReader::Tables(std::string_view key,
                                             const std::vector<std::string>& keys) const {
  return Tables(key, "", [&](const std::string&) { return keys; });
}

std::vector<TableReader> TableReader::Tables(
    std::string_view key, std::string_view kind,
    const std::function<std::vector<std::string>(const std::string&)>& keys_of) const {
  std::vector<TableReader> tables;
  const toml::node* node = Find(key);
  if (node == nullptr) return tables;
  const std::string header = "[[" + std::string(key) + "]]";
  const std::string wanted = "tables, each under a header " + header;
  if (node->is_table()) {
    Fail(ToPosition(node->source()), "[" + std::string(key) + "] is written with single brackets",
         "write " + header + ": there may be several, each under its own header");
  }
  const toml::array* list = node->as_array();
  if (list == nullptr) FailType(key, *node, wanted);
  for (const toml::node& item : *list) {
    const toml::table* table = item.as_table();
    if (table == nullptr) FailType(key, item, wanted);
    const auto text = (*table)[kind].value<std::string>();
    tables.emplace_back(*file_name_, *table, header, keys_of(text.value_or("")));
  }
  return tables;
}

TableReader TableReader::EntryOf(std::string_view key, const toml::table& table,
                                 const std::vector<std::string>& keys) const {
  return TableReader(*file_name_, table, "an entry of '" + std::string(key) + "'", keys);
}

std::vector<TableReader> TableReader::Entries(std::string_view key,
                                              const std::vector<std::string>& keys,
                                              std::string_view example) const {
  std::vector<TableReader> entries;
  for (const TextOrTable& entry : TextsOrEntries(key, keys, example)) {
    if (entry.table) {
      entries.push_back(*entry.table);
      continue;
    }
    Fail(entry.text->position,
         "an entry of '" + std::string(key) + "' in " + where_ + " must be in braces, not text",
         "write, for example: " + std::string(key) + " = [" + std::string(example) + "]");
  }
  return entries;
}

std::vector<TextOrTable> TableReader::TextsOrEntries(std::string_view key,
                                                     const std::vector<std::string>& keys,
                                                     std::string_view example) const {
  std::vector<TextOrTable> items;
  const toml::node* node = Find(key);
  if (node == nullptr) return items;
  const std::string wanted = "a list such as [" + std::string(example) + "]";
  const toml::array* list = node->as_array();
  if (list == nullptr) FailType(key, *node, wanted);
  for (const toml::node& item : *list) {
    if (const toml::table* table = item.as_table()) {
      items.push_back({std::nullopt, EntryOf(key, *table, keys)});
    } else if (item.is_string()) {
      items.push_back({TextOf(key, item), std::nullopt});
    } else {
      FailType(key, item, wanted);
    }
  }
  return items;
}

void TableReader::RefuseMoved(std::string_view table, std::string_view key,
                              const std::string& hint) const {
  const toml::node* outer = Find(table);
  if (outer == nullptr || !outer->is_table()) return;
  for (const auto& [name, node] : *outer->as_table()) {
    if (name.str() != key) continue;
    Fail(ToPosition(name.source()),
         "'" + std::string(key) + "' does not belong in [" + std::string(table) + "]", hint);
  }
}

}  // namespace partita::study
