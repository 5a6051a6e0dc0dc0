#include "study/file/dictionary_draft.h"

#include <algorithm>
#include <initializer_list>
#include <sstream>
#include <string_view>

#include "base/files.h"
#include "study/file/sections.h"

namespace partita::study {
namespace {

std::string AsToml(const toml::node& node) {
  std::ostringstream text;
  text << toml::toml_formatter(
      node, toml::toml_formatter::default_flags & ~toml::format_flags::allow_literal_strings);
  return text.str();
}

bool IsOneOf(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Of the dictionary that a site keeps (site_dictionary.h).
bool IsHiddenHere(const TableReader& reader) {
  const auto peers = reader.OptionalText("peers");
  return peers && reader.Choice(*peers, "peers", {"visible", "hidden"}) == "hidden";
}

DraftVariable ReadDraftVariable(const TableReader& reader, const toml::table& table) {
  DraftVariable variable;
  const LocatedText name = reader.Text("name", "name = \"x1\"");
  CheckName(reader, name, kVariableName);
  variable.name = name.value;
  variable.type = reader.Text("type", "type = \"numeric\"").value;
  if (const auto levels = reader.OptionalTexts("levels")) {
    for (const LocatedText& level : *levels) variable.levels.push_back(level.value);
  }
  for (const auto& [key, value] : table) {
    if (!IsOneOf(key.str(), {"name", "type", "levels", "description", "peers"}))
      variable.values.emplace(key.str(), AsToml(value));
  }
  return variable;
}

}  // namespace

bool LacksLevels(const DraftVariable& variable) {
  return (variable.type == "factor" || variable.type == "ordered") && variable.levels.size() < 2;
}

bool LacksBounds(const DraftVariable& variable) {
  if (variable.type == "factor" || variable.type == "ordered") return false;
  return !variable.values.contains("lower") || !variable.values.contains("upper");
}

DictionaryDraft ParseDictionaryDraft(const std::string& text, const std::string& file_name) {
  // A table, or what a command printed for people.
  if (text.find_first_of("[=") == std::string::npos) {
    throw Error(ErrorCode::kBadInput, file_name + " is no dictionary",
                "partita data describe TABLE --draft --output FILE writes one");
  }
  const toml::table tree = ParseToml(text, file_name);
  const TableReader root(file_name, tree, "the dictionary", kStudyKeys);
  DictionaryDraft draft;
  draft.file = file_name;
  const TableSpec table = ReadTable(root, {}, {});
  draft.key = table.key;
  draft.separator = table.separator;
  draft.decimal = table.decimal;
  std::vector<std::string> keys = kVariableKeys;
  keys.insert(keys.end(), {"description", "peers"});
  const std::vector<TableReader> variables = root.Tables("variable", keys);
  if (variables.empty()) {
    root.FailMissing("variable", "[[variable]], which partita data describe TABLE --draft writes");
  }
  const toml::array& tables = *tree["variable"].as_array();
  for (size_t i = 0; i < variables.size(); ++i) {
    if (!IsHiddenHere(variables[i]))
      draft.variables.push_back(ReadDraftVariable(variables[i], *tables[i].as_table()));
  }
  return draft;
}

DictionaryDraft LoadDictionaryDraft(const std::string& path) {
  return ParseDictionaryDraft(ReadFile(path, kMaxStudyFileBytes, "the dictionary"), path);
}

}  // namespace partita::study
