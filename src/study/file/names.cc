#include <fmt/format.h>

#include <unordered_map>

#include "study/file/limits.h"
#include "study/file/sections.h"
#include "study/file/text.h"

namespace partita::study {
namespace {

constexpr size_t kMaxLevels = 1000;
constexpr size_t kMaxLevelBytes = 256;

// `set` lists characters and ranges: "a-z0-9-".
bool InSet(char c, std::string_view set) {
  for (size_t i = 0; i < set.size(); ++i) {
    if (i + 2 < set.size() && set[i + 1] == '-') {
      if (c >= set[i] && c <= set[i + 2]) return true;
      i += 2;
    } else if (c == set[i]) {
      return true;
    }
  }
  return false;
}

}  // namespace

const NameRule kStudyName = {"study", "a-z0-9", "a-z0-9-", 64,
                             "small letters, digits and -, starting with a letter or digit"};
const NameRule kPartyName = {"party", "a-z0-9", "a-z0-9-", 32,
                             "small letters, digits and -, starting with a letter or digit"};
const NameRule kBlockName = {"row block", "A-Za-z0-9", "A-Za-z0-9._-", 64,
                             "letters, digits, '.', '_' and '-', starting with a letter or digit"};
const NameRule kVariableName = {"variable", "A-Za-z.", "A-Za-z0-9._", 64,
                                "letters, digits, '.' and '_', starting with a letter"};

const NameRule kAnalysisName = {"analysis", "a-z0-9", "a-z0-9-", 64,
                                "small letters, digits and -, starting with a letter or digit"};

void CheckName(const TableReader& reader, const LocatedText& name, const NameRule& rule) {
  const std::string& text = name.value;
  bool good = !text.empty() && text.size() <= rule.max_length && InSet(text[0], rule.first);
  for (char c : text) good = good && InSet(c, rule.rest);
  if (good) return;
  reader.Fail(name.position, Quote(text) + " is no " + rule.kind + " name",
              "use 1 to " + std::to_string(rule.max_length) + " characters: " + rule.description);
}

FileNames ReadNames(const TableReader& root, std::string_view example) {
  const LocatedText name = root.Text("name", example);
  CheckName(root, name, kStudyName);
  FileNames names = {name.value, name.value};
  if (const auto title = root.OptionalText("title")) {
    CheckPlainText(root, *title, "title", kMaxTitleBytes);
    names.title = title->value;
  }
  return names;
}

void CheckFormat(const TableReader& root, const std::string& key, int64_t format) {
  const auto found = root.OptionalInteger(key);
  const std::string line = key + " = " + std::to_string(format);
  if (!found) root.FailMissing(key, line);
  if (found->value != format) {
    root.Fail(found->position,
              "this version of Partita cannot read format " + std::to_string(found->value),
              "write " + line + ", or use the version of Partita that the file was written for");
  }
}

void CheckPlainText(const TableReader& reader, const LocatedText& text, std::string_view key,
                    size_t max_bytes) {
  const std::string& value = text.value;
  const bool good = !value.empty() && value.size() <= max_bytes && value.front() != ' ' &&
                    value.back() != ' ' && !HasControl(value);
  if (good) return;
  reader.Fail(text.position, "'" + std::string(key) + "' in " + reader.where() + " is not usable",
              "write 1 to " + std::to_string(max_bytes) +
                  " bytes of text on one line, without control characters and outer spaces");
}

void CheckDistinct(const TableReader& reader, const std::vector<LocatedText>& texts,
                   std::string_view what) {
  std::unordered_map<std::string_view, Position> seen;
  for (const LocatedText& text : texts) {
    const auto [first, is_new] = seen.emplace(text.value, text.position);
    if (is_new) continue;
    reader.Fail(text.position, std::string(what) + " " + Quote(text.value) + " is there twice",
                "the first one is on line " + std::to_string(first->second.line) +
                    "; remove or rename one of them");
  }
}

std::vector<std::string> ReadLevelList(const TableReader& reader, std::string_view key,
                                       const std::vector<LocatedText>& levels) {
  if (levels.size() < 2 || levels.size() > kMaxLevels) {
    reader.Fail(reader.PositionOf(key),
                "a factor has 2 to " + std::to_string(kMaxLevels) + " levels, not " +
                    std::to_string(levels.size()),
                "list every value that the column can hold");
  }
  std::vector<std::string> names;
  for (const LocatedText& level : levels) {
    CheckPlainText(reader, level, key, kMaxLevelBytes);
    names.push_back(level.value);
  }
  CheckDistinct(reader, levels, "level");
  return names;
}

const data::ColumnSchema& FindVariable(const TableReader& reader, const LocatedText& name,
                                       std::string_view key, const data::Schema& dictionary) {
  return *dictionary.Find(reader.Choice(name, key, Names(dictionary)));
}

void RequireLevels(const TableReader& reader, Position position, std::string_view what,
                   const data::ColumnSchema& variable) {
  if (data::HasLevels(variable.type)) return;
  reader.Fail(position,
              fmt::format("the {} {} is of type {} and has no levels", what, Quote(variable.name),
                          data::ColumnTypeName(variable.type)),
              fmt::format("of a code such as 0 and 1 write type = \"factor\" and levels = [\"0\", "
                          "\"1\"] in the dictionary (partita study new: --levels {}=0,1); of a "
                          "number make a factor by [[derived]] with transform = \"cut\"",
                          variable.name));
}

void FailWith(const TableReader& reader, Position position, const Error& error) {
  reader.Fail(position, error.message(), error.hint());
}

std::vector<std::string> Names(const data::Schema& schema) {
  std::vector<std::string> names;
  names.reserve(schema.columns.size());
  for (const data::ColumnSchema& column : schema.columns) names.push_back(column.name);
  return names;
}

std::vector<std::string> Names(const std::vector<RowBlock>& blocks) {
  std::vector<std::string> names;
  names.reserve(blocks.size());
  for (const RowBlock& block : blocks) names.push_back(block.name);
  return names;
}

}  // namespace partita::study
