#include "study/file/site_dictionary.h"

#include <algorithm>
#include <set>
#include <sstream>

#include "study/file/sections.h"
#include "study/file/text.h"
#include "study/file/toml_text.h"

namespace partita::study {
namespace {

const std::string kOwnName = "dictionary";  // of a text that is in no file
constexpr char kHiddenWord[] = "hidden", kVisibleWord[] = "visible";

std::vector<std::string> SiteVariableKeys() {
  std::vector<std::string> keys = kVariableKeys;
  keys.insert(keys.end(), {"description", "peers"});
  return keys;
}

// As it was written: a text without its quotes, a number or a date as TOML has it.
std::string WrittenText(const toml::table& table, const char* key) {
  const toml::node* node = table.get(key);
  if (node == nullptr) return "";
  if (const auto text = node->value_exact<std::string>()) return *text;
  std::ostringstream written;
  written << toml::toml_formatter(*node, toml::format_flags::none);
  return written.str();
}

std::vector<std::string> TextsOf(const TableReader& reader, const char* key) {
  std::vector<std::string> texts;
  if (const auto located = reader.OptionalTexts(key)) {
    for (const LocatedText& text : *located) texts.push_back(text.value);
  }
  return texts;
}

std::string TextOf(const TableReader& reader, const char* key) {
  const auto text = reader.OptionalText(key);
  return text ? text->value : "";
}

bool IsHidden(const TableReader& reader) {
  const auto peers = reader.OptionalText("peers");
  return peers && reader.Choice(*peers, "peers", {kVisibleWord, kHiddenWord}) == kHiddenWord;
}

bool IsComplete(const TableReader& reader) {
  const bool says_nothing = !reader.Has("lower") && !reader.Has("upper") && !reader.Has("levels");
  return !IsHidden(reader) || !says_nothing;
}

// Throws for whatever is wrong with it by itself.
void CheckVariable(const TableReader& reader) {
  const LocatedText name = reader.Text("name", "name = \"x1\"");
  CheckName(reader, name, kVariableName);
  if (const auto description = reader.OptionalText("description"))
    CheckPlainText(reader, *description, "description", kMaxDescriptionBytes);
  if (IsComplete(reader)) {
    ReadVariable(reader, name.value);
  } else {
    ReadVariableType(reader);
  }
}

SiteVariable TakeVariable(const TableReader& reader, const toml::table& table) {
  SiteVariable variable;
  variable.name = reader.Text("name", "name = \"x1\"").value;
  variable.type = reader.Text("type", "type = \"numeric\"").value;
  variable.description = TextOf(reader, "description");
  variable.unit = TextOf(reader, "unit");
  variable.lower = WrittenText(table, "lower");
  variable.upper = WrittenText(table, "upper");
  variable.levels = TextsOf(reader, "levels");
  variable.missing_codes = TextsOf(reader, "missing_codes");
  variable.reference = TextOf(reader, "reference");
  variable.contrasts = TextOf(reader, "contrasts");
  variable.time = TextOf(reader, "time");
  variable.event = TextOf(reader, "event");
  variable.hidden = IsHidden(reader);
  return variable;
}

// The [[variable]] parts of a tree; what is in them is not looked at.
struct VariableParts {
  std::vector<TableReader> readers;
  const toml::array* tables = nullptr;

  const toml::table& Table(size_t i) const { return *(*tables)[i].as_table(); }
};

VariableParts PartsOf(const TableReader& root, const toml::table& tree) {
  VariableParts parts{root.Tables("variable", SiteVariableKeys()), nullptr};
  if (parts.readers.size() > kMaxVariables) {
    root.Fail(parts.readers[kMaxVariables].position(), "there are too many variables",
              "a dictionary has at most " + std::to_string(kMaxVariables));
  }
  if (!parts.readers.empty()) parts.tables = tree["variable"].as_array();
  return parts;
}

void AddLine(std::string& text, const char* key, const std::string& value) {
  text += std::string(key) + " = " + value + "\n";
}

void AddText(std::string& text, const char* key, const std::string& value) {
  if (!value.empty()) AddLine(text, key, TomlText(value));
}

// What is no number or date is written as a text, for the reader to complain of.
void AddBound(std::string& text, const char* key, const std::string& value, bool date) {
  if (value.empty()) return;
  AddLine(text, key, IsTomlBound(value, date) ? value : TomlText(value));
}

// The keys that study files have, too.
std::string StudyKeysOf(const SiteVariable& variable) {
  std::string text = "[[variable]]\n";
  AddLine(text, "name", TomlText(variable.name));
  AddLine(text, "type", TomlText(variable.type));
  AddText(text, "time", variable.time);
  AddText(text, "event", variable.event);
  const bool date = variable.type == "date";
  AddBound(text, "lower", variable.lower, date);
  AddBound(text, "upper", variable.upper, date);
  AddText(text, "unit", variable.unit);
  if (!variable.levels.empty()) AddLine(text, "levels", TomlTexts(variable.levels));
  AddText(text, "reference", variable.reference);
  AddText(text, "contrasts", variable.contrasts);
  if (!variable.missing_codes.empty())
    AddLine(text, "missing_codes", TomlTexts(variable.missing_codes));
  return text;
}

// Whoever typed it has no file: of its place nothing is said.
std::string WithoutPlace(const std::string& message) {
  const size_t end = message.find(": ");
  std::string said = message.starts_with(kOwnName + ":") && end != std::string::npos
                         ? message.substr(end + 2)
                         : message;
  const std::string part = "[[variable]]";
  if (const size_t at = said.find(part); at != std::string::npos)
    said.replace(at, part.size(), "this variable");
  return said;
}

}  // namespace

const SiteVariable* SiteDictionary::Find(std::string_view name) const {
  const auto found = std::find_if(variables.begin(), variables.end(),
                                  [&](const SiteVariable& one) { return one.name == name; });
  return found == variables.end() ? nullptr : &*found;
}

SiteDictionary ParseSiteDictionary(const std::string& text, const std::string& file_name) {
  const toml::table tree = ParseToml(text, file_name);
  const TableReader root(file_name, tree, "the dictionary", {"table", "variable"});
  ReadTable(root, {}, {});
  const VariableParts parts = PartsOf(root, tree);
  std::vector<LocatedText> names;
  SiteDictionary dictionary;
  for (size_t i = 0; i < parts.readers.size(); ++i) {
    CheckVariable(parts.readers[i]);
    names.push_back(parts.readers[i].Text("name", "name = \"x1\""));
    dictionary.variables.push_back(TakeVariable(parts.readers[i], parts.Table(i)));
  }
  CheckDistinct(root, names, "variable");
  return dictionary;
}

std::string SiteDictionaryText(const SiteDictionary& dictionary) {
  std::string text =
      "# What the variables of a table are and can be, by its stewards; peers = \"hidden\": "
      "studies "
      "that ask for it are\n# refused. The pages write this file anew, without comments.\n";
  for (const SiteVariable& variable : dictionary.variables) {
    text += "\n" + StudyKeysOf(variable);
    AddText(text, "description", variable.description);
    if (variable.hidden) AddText(text, "peers", kHiddenWord);
  }
  return text;
}

std::vector<DictionaryProblem> ProblemsOf(const SiteDictionary& dictionary) {
  const toml::table tree = ParseToml(SiteDictionaryText(dictionary), kOwnName);
  const TableReader root(kOwnName, tree, "the dictionary", {"variable"});
  const VariableParts parts = PartsOf(root, tree);
  std::vector<DictionaryProblem> problems;
  std::set<std::string> names;
  for (size_t i = 0; i < parts.readers.size(); ++i) {
    const std::string& name = dictionary.variables[i].name;
    const bool is_first = names.insert(name).second;
    try {
      CheckVariable(parts.readers[i]);
      if (!is_first)
        problems.push_back({i, "there is another variable " + Quote(name), "Rename one of them."});
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kBadInput) throw;
      problems.push_back({i, WithoutPlace(error.message()), error.hint()});
    }
  }
  return problems;
}

std::string OfferedVariable(const SiteVariable& variable) {
  const std::string comment =
      variable.description.empty() ? "" : "# " + variable.description + "\n";
  return comment + StudyKeysOf(variable);
}

std::string OfferedText(const SiteDictionary& dictionary) {
  std::string text;
  for (const SiteVariable& variable : dictionary.variables) {
    if (variable.hidden) continue;
    text += (text.empty() ? "" : "\n") + OfferedVariable(variable);
  }
  return text;
}

data::Schema CompleteColumns(const SiteDictionary& dictionary) {
  const toml::table tree = ParseToml(SiteDictionaryText(dictionary), kOwnName);
  const TableReader root(kOwnName, tree, "the dictionary", {"variable"});
  const VariableParts parts = PartsOf(root, tree);
  data::Schema schema;
  for (size_t i = 0; i < parts.readers.size(); ++i) {
    if (IsComplete(parts.readers[i]))
      schema.columns.push_back(ReadVariable(parts.readers[i], dictionary.variables[i].name));
  }
  return schema;
}

}  // namespace partita::study
