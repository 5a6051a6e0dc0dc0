#include "study/file/short_study.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "study/file/toml_text.h"

namespace partita::study {
namespace {

std::string Line(const std::string& key, const std::string& value) {
  return fmt::format("{} = {}\n", key, value);
}

std::string PartyText(const ShortParty& party, bool common) {
  std::vector<std::string> roles;
  if (party.holder) roles.emplace_back("holder");
  if (party.receiver) roles.emplace_back("receiver");
  if (roles.empty()) roles.emplace_back("dealer");
  std::string text = "\n[[party]]\n" + Line("name", TomlText(party.name));
  text += Line("roles", TomlTexts(roles));
  if (!party.holder) return text;
  return text + (common ? Line("columns", TomlTexts(party.columns))
                        : Line("rows", TomlTexts({party.name})));
}

std::string RowsText(const std::string& name, const std::optional<uint64_t>& count) {
  std::string text = "\n[[rows]]\n" + Line("name", TomlText(name));
  return count ? text + Line("count", std::to_string(*count)) : text;
}

std::string MatchText(const RowMatch& match) {
  std::string text =
      "[rows.match]\n" + Line("level", TomlText(match.hidden ? "hidden" : "matched-ids")) +
      Line("matching", TomlText(match.matching)) + Line("record", TomlText(ToHex(match.record)));
  if (match.hidden) text += Line("count", TomlText(MatchCountName(match.count)));
  return match.linker.empty() ? text : text + Line("linker", TomlText(match.linker));
}

std::string TableText(const DictionaryDraft& dictionary) {
  std::string text;
  if (!dictionary.key.empty()) text += Line("key", TomlText(dictionary.key));
  if (dictionary.separator != ',')
    text += Line("separator", TomlText(std::string(1, dictionary.separator)));
  if (dictionary.decimal != '.') text += Line("decimal", "\",\"");
  return text.empty() ? "" : "\n[table]\n" + text;
}

std::string VariableText(const DraftVariable& variable) {
  static constexpr std::array<const char*, 8> kOrder = {
      "time", "event", "lower", "upper", "unit", "reference", "contrasts", "missing_codes"};
  std::string text = "\n[[variable]]\n" + Line("name", TomlText(variable.name)) +
                     Line("type", TomlText(variable.type));
  if (!variable.levels.empty()) text += Line("levels", TomlTexts(variable.levels));
  for (const char* key : kOrder) {
    const auto value = variable.values.find(key);
    if (value != variable.values.end()) text += Line(key, value->second);
  }
  return text;
}

// The keys of [[analysis]] first, then those of each of its tables.
std::string AnalysisText(const std::vector<std::pair<std::string, std::string>>& analysis) {
  std::string text = "\n[[analysis]]\n";
  std::vector<std::pair<std::string, std::string>> tables;
  for (const auto& [path, value] : analysis) {
    const size_t dot = path.find('.');
    if (dot == std::string::npos) {
      text += Line(path, value);
      continue;
    }
    const std::string name = path.substr(0, dot);
    auto table = std::find_if(tables.begin(), tables.end(),
                              [&](const auto& other) { return other.first == name; });
    if (table == tables.end()) table = tables.insert(tables.end(), {name, ""});
    table->second += Line(path.substr(dot + 1), value);
  }
  for (const auto& [name, lines] : tables) text += fmt::format("\n[analysis.{}]\n{}", name, lines);
  return text;
}

}  // namespace

std::string ShortStudyText(const ShortStudy& study) {
  const bool common = study.common_rows.has_value();
  std::string text = "partita = 1\n" + Line("name", TomlText(study.name));
  if (!study.title.empty()) text += Line("title", TomlText(study.title));
  text += DeclarationText(study.declared);
  for (const ShortParty& party : study.parties) text += PartyText(party, common);
  if (common) {
    text += RowsText("all", study.common_rows);
    if (study.match) text += MatchText(*study.match);
  } else {
    for (const ShortParty& party : study.parties) {
      if (party.holder) text += RowsText(party.name, party.rows);
    }
  }
  text += TableText(study.dictionary);
  for (const DraftVariable& variable : study.dictionary.variables) text += VariableText(variable);
  text += "\n[design]\n" + Line("site", TomlText(study.site));
  text += Line("missing", TomlText(study.missing));
  for (const auto& [key, value] : {std::pair("weights", study.weights),
                                   {"weights_type", study.weights_type},
                                   {"cluster", study.cluster}})
    if (!value.empty()) text += Line(key, TomlText(value));
  if (study.min_rows || study.min_cell) text += "\n[disclosure]\n";
  if (study.min_rows) text += Line("min_rows", std::to_string(*study.min_rows));
  if (study.min_cell) text += Line("min_cell", std::to_string(*study.min_cell));
  if (!study.accept.empty()) text += "\n[release]\n" + Line("accept", TomlText(study.accept));
  text += "\n[engine]\n" + Line("name", TomlText(study.engine));
  for (const auto& [key, value] : study.engine_keys) text += Line(key, value);
  return text + AnalysisText(study.analysis);
}

}  // namespace partita::study
