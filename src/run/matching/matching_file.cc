#include "run/matching/matching_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/files.h"
#include "data/source/open_table.h"
#include "study/file/limits.h"
#include "study/file/sections.h"
#include "study/file/text.h"

namespace partita::run {
namespace {

using match::KeyColumn;
using match::KeyRule;
using match::KeyRuleKind;
using study::LocatedText;
using study::TableReader;

constexpr int kMatchingFormat = 1;
constexpr size_t kFewestHolders = 2, kMostHolders = 5;
constexpr int64_t kMostDigits = 40;
constexpr size_t kMostMissingCodes = 32;

const std::vector<std::string> kMatchingKeys = {
    "matching", "name",  "title",   "keys",  "duplicates", "faulty", "minimum",
    "level",    "count", "epsilon", "delta", "column",     "party"};
const std::vector<std::string> kColumnKeys = {"name",   "rule",         "marks",  "punctuation",
                                              "length", "check",        "format", "country",
                                              "trunk",  "missing_codes"};
const std::vector<std::string> kPartyKeys = {"name", "role", "rows", "column"};
const std::vector<std::string> kPartyColumnKeys = {"name", "header", "format", "missing_codes"};

KeyRuleKind ReadKind(const TableReader& column) {
  const std::vector<std::string> kinds = {"text", "digits", "date", "phone", "exact"};
  const std::string kind = column.Choice(column.Text("rule", "rule = \"text\""), "rule", kinds);
  return static_cast<KeyRuleKind>(std::find(kinds.begin(), kinds.end(), kind) - kinds.begin());
}

// Keys that only one rule has.
void RefuseUnless(const TableReader& column, bool is_theirs, std::string_view rule,
                  const std::vector<std::string>& keys) {
  for (const std::string& key : keys) {
    if (is_theirs || !column.Has(key)) continue;
    column.Fail(column.PositionOf(key), fmt::format("'{}' is for the rule {}", key, rule),
                "remove it, or write another rule");
  }
}

bool ReadDrop(const TableReader& column, const std::string& key) {
  const auto text = column.OptionalText(key);
  return text && column.Choice(*text, key, {"keep", "drop"}) == "drop";
}

void ReadDigits(const TableReader& column, KeyRule& rule) {
  const auto length = column.OptionalInteger("length");
  if (!length) column.FailMissing("length", "length = 10");
  if (length->value < 1 || length->value > kMostDigits) {
    column.Fail(length->position, fmt::format("'length' must be from 1 to {}", kMostDigits),
                "write how many digits every number has, leading zeros included");
  }
  rule.length = static_cast<size_t>(length->value);
  const auto check = column.OptionalText("check");
  if (!check) return;
  const std::string name = column.Choice(*check, "check", {"none", "luhn", "mod97"});
  if (name == "luhn") rule.check = match::CheckDigit::kLuhn;
  if (name == "mod97") rule.check = match::CheckDigit::kMod97;
}

void ReadPhone(const TableReader& column, KeyRule& rule) {
  const auto digits = [&](const LocatedText& text, size_t most) {
    if (text.value.size() <= most && std::all_of(text.value.begin(), text.value.end(),
                                                 [](char c) { return c >= '0' && c <= '9'; }))
      return text.value;
    column.Fail(text.position, study::Quote(text.value) + " is no prefix of telephone numbers",
                fmt::format("write at most {} digits", most));
  };
  const LocatedText country = column.Text("country", "country = \"49\"");
  rule.country = digits(country, 3);
  if (rule.country.empty() || rule.country.starts_with("0")) {
    column.Fail(country.position, "'country' is the country's code without + or 00",
                "for example country = \"49\"");
  }
  if (const auto trunk = column.OptionalText("trunk")) rule.trunk = digits(*trunk, 2);
}

std::string ReadFormat(const TableReader& column, const LocatedText& format) {
  return column.Choice(format, "format", match::DateFormats());
}

std::vector<std::string> ReadMissingCodes(const TableReader& column) {
  std::vector<std::string> codes;
  if (const auto texts = column.OptionalTexts("missing_codes")) {
    study::CheckDistinct(column, *texts, "code for missing cells");
    if (texts->size() > kMostMissingCodes) {
      column.Fail(column.PositionOf("missing_codes"),
                  fmt::format("missing_codes has {} codes; at most {} are allowed", texts->size(),
                              kMostMissingCodes),
                  "every cell is compared with each: name those that the table has");
    }
    for (const LocatedText& text : *texts) codes.push_back(text.value);
  }
  return codes;
}

KeyColumn ReadColumn(const TableReader& column) {
  const LocatedText name = column.Text("name", "name = \"nid\"");
  study::CheckPlainText(column, name, "name", study::kMaxColumnNameBytes);
  KeyRule rule;
  rule.kind = ReadKind(column);
  RefuseUnless(column, rule.kind == KeyRuleKind::kText, "text", {"marks", "punctuation"});
  RefuseUnless(column, rule.kind == KeyRuleKind::kDigits, "digits", {"length", "check"});
  RefuseUnless(column, rule.kind == KeyRuleKind::kDate, "date", {"format"});
  RefuseUnless(column, rule.kind == KeyRuleKind::kPhone, "phone", {"country", "trunk"});
  rule.drop_marks = ReadDrop(column, "marks");
  rule.drop_punctuation = ReadDrop(column, "punctuation");
  rule.missing_codes = ReadMissingCodes(column);
  if (rule.kind == KeyRuleKind::kDigits) ReadDigits(column, rule);
  if (rule.kind == KeyRuleKind::kPhone) ReadPhone(column, rule);
  if (rule.kind == KeyRuleKind::kDate)
    rule.format = ReadFormat(column, column.Text("format", "format = \"YYYY-MM-DD\""));
  return {name.value, rule};
}

match::Unusable ReadUnusable(const TableReader& root, const std::string& key) {
  const auto text = root.OptionalText(key);
  const bool leave_out = text && root.Choice(*text, key, {"refuse", "leave-out"}) == "leave-out";
  return leave_out ? match::Unusable::kLeaveOut : match::Unusable::kRefuse;
}

std::vector<std::string> NamesOf(const match::KeySpec& spec) {
  std::vector<std::string> names;
  for (const KeyColumn& column : spec.columns) names.push_back(column.name);
  return names;
}

size_t ColumnIndex(const TableReader& reader, const LocatedText& name, std::string_view key,
                   const match::KeySpec& spec) {
  const std::vector<std::string> names = NamesOf(spec);
  const std::string found = reader.Choice(name, key, names);
  return static_cast<size_t>(std::find(names.begin(), names.end(), found) - names.begin());
}

void ReadColumns(const TableReader& root, match::KeySpec& spec) {
  std::vector<LocatedText> names;
  for (const TableReader& column : root.Tables("column", kColumnKeys)) {
    spec.columns.push_back(ReadColumn(column));
    names.push_back({spec.columns.back().name, column.position()});
  }
  study::CheckDistinct(root, names, "column");
  if (names.empty() || names.size() > kMostMatchedColumns) {
    root.Fail(root.position(), fmt::format("there must be 1 to {} columns", kMostMatchedColumns),
              "write a [[column]] with name and rule for everything that a key is made of");
  }
}

void ReadPasses(const TableReader& root, match::KeySpec& spec) {
  constexpr std::string_view kExample = "keys = [[\"nid\"]]";
  const auto passes = root.OptionalTextLists("keys", kExample);
  if (!passes) root.FailMissing("keys", kExample);
  if (passes->empty() || passes->size() > match::kMostPasses) {
    root.Fail(root.PositionOf("keys"),
              fmt::format("'keys' must list 1 to {} passes", match::kMostPasses),
              "each is a list of columns that together tell a person from all others");
  }
  std::vector<bool> used(spec.columns.size(), false);
  for (const auto& pass : *passes) {
    study::CheckDistinct(root, pass.value, "column of a pass");
    std::vector<size_t> columns;
    for (const LocatedText& name : pass.value) {
      columns.push_back(ColumnIndex(root, name, "keys", spec));
      used[columns.back()] = true;
    }
    if (columns.empty() ||
        std::find(spec.passes.begin(), spec.passes.end(), columns) != spec.passes.end()) {
      root.Fail(pass.position, "a pass is empty, or is there twice", "remove it");
    }
    spec.passes.push_back(std::move(columns));
  }
  const auto unused = std::find(used.begin(), used.end(), false);
  if (unused == used.end()) return;
  root.Fail(
      root.PositionOf("keys"),
      fmt::format("no pass has the column {}",
                  study::Quote(spec.columns[static_cast<size_t>(unused - used.begin())].name)),
      "name it in 'keys', or remove its [[column]]");
}

void ReadPartyColumn(const TableReader& column, MatchingParty& party) {
  const size_t index =
      ColumnIndex(column, column.Text("name", "name = \"born\""), "name", party.keys);
  KeyRule& rule = party.keys.columns[index].rule;
  if (const auto header = column.OptionalText("header")) {
    study::CheckPlainText(column, *header, "header", study::kMaxColumnNameBytes);
    party.headers[index] = header->value;
  }
  RefuseUnless(column, rule.kind == KeyRuleKind::kDate, "date", {"format"});
  if (const auto format = column.OptionalText("format")) rule.format = ReadFormat(column, *format);
  if (column.Has("missing_codes")) rule.missing_codes = ReadMissingCodes(column);
}

bool IsLinker(const TableReader& party) {
  const auto role = party.OptionalText("role");
  if (!role || party.Choice(*role, "role", {"holder", "linker"}) == "holder") return false;
  for (const char* const key : {"rows", "column"}) {
    if (!party.Has(key)) continue;
    party.Fail(party.PositionOf(key), fmt::format("a linker has no '{}'", key),
               "it brings no table: remove it, or let the party be a holder");
  }
  return true;
}

MatchingParty ReadHolder(const TableReader& reader, const std::string& name,
                         const match::KeySpec& spec) {
  MatchingParty party;
  party.name = name;
  party.keys = spec;
  party.headers = NamesOf(spec);
  const auto rows = reader.OptionalInteger("rows");
  if (!rows) reader.FailMissing("rows", "rows = 50000");
  if (rows->value < 1 || static_cast<uint64_t>(rows->value) > kMostMatchedRows) {
    reader.Fail(rows->position, fmt::format("'rows' must be from 1 to {}", kMostMatchedRows),
                "write how many rows this party's table has at most; its list is padded up to "
                "that");
  }
  party.rows = static_cast<uint64_t>(rows->value);
  for (const TableReader& column : reader.Tables("column", kPartyColumnKeys))
    ReadPartyColumn(column, party);
  return party;
}

match::Level ReadLevel(const TableReader& root) {
  const auto level = root.OptionalText("level");
  const bool hidden = level && root.Choice(*level, "level", {"matched-ids", "hidden"}) == "hidden";
  if (!root.Has("count")) return hidden ? match::Level::kHiddenExact : match::Level::kMatchedIds;
  if (!hidden) {
    root.Fail(root.PositionOf("count"), "'count' is for level \"hidden\"",
              "remove it: with \"matched-ids\" each holder learns which of its rows match, and so "
              "how many");
  }
  if (!root.IsText("count")) {
    root.Fail(
        root.PositionOf("count"), "'count' is \"exact\", \"noisy\" or \"nobody\"",
        "write count = \"noisy\" and epsilon = 0.5 beside it, if holders may learn the number "
        "of matches with noise only");
  }
  const std::string count =
      root.Choice(*root.OptionalText("count"), "count", {"exact", "noisy", "nobody"});
  return count == "exact"   ? match::Level::kHiddenExact
         : count == "noisy" ? match::Level::kHiddenNoisy
                            : match::Level::kHiddenNobody;
}

double ReadNoiseNumber(const TableReader& root, const char* key, double least, double most,
                       double usual) {
  const auto number = root.OptionalNumber(key);
  if (!number) return usual;
  if (number->value >= least && number->value <= most) return number->value;
  root.Fail(number->position, fmt::format("'{}' must be from {} to {}", key, least, most),
            "the smaller it is, the less the number of matches says of one person");
}

// After the parties are known.
CountNoise ReadNoise(const TableReader& root, const MatchingFile& file,
                     const match::KeySpec& spec) {
  for (const char* const key : {"epsilon", "delta"}) {
    if (file.level == match::Level::kHiddenNoisy || !root.Has(key)) continue;
    root.Fail(root.PositionOf(key), fmt::format("'{}' is for count = \"noisy\"", key),
              "write level = \"hidden\" and count = \"noisy\", or remove it");
  }
  CountNoise noise;
  if (file.level != match::Level::kHiddenNoisy) return noise;
  if (!root.Has("epsilon")) root.FailMissing("epsilon", "epsilon = 0.5");
  noise.epsilon =
      ReadNoiseNumber(root, "epsilon", kLeastCountEpsilon, kMostCountEpsilon, kMostCountEpsilon);
  if (file.linked() && root.Has("delta")) {
    root.Fail(root.PositionOf("delta"), "a linker's noise has no 'delta'",
              "remove it: delta is for two holders without a linker");
  }
  constexpr double kUsualDelta = 1e-9;
  if (!file.linked())
    noise.delta = ReadNoiseNumber(root, "delta", kLeastCountDelta, kMostCountDelta, kUsualDelta);
  const auto refuse = [&](const char* key, const std::string& what, const char* hint) {
    root.Fail(root.PositionOf(key),
              "count = \"noisy\" is not for " + what +
                  ": one person could change the number by more than 1",
              hint);
  };
  if (spec.duplicates == match::Unusable::kLeaveOut)
    refuse("duplicates", "duplicates = \"leave-out\"", "write duplicates = \"refuse\"");
  if (spec.passes.size() > 1) refuse("keys", "several passes", "write one pass");
  return noise;
}

uint64_t ReadMinimum(const TableReader& root, match::Level level) {
  const auto minimum = root.OptionalInteger("minimum");
  if (level == match::Level::kHiddenNobody) {
    if (minimum) {
      root.Fail(minimum->position,
                "'minimum' is not for count = \"nobody\": whether it is reached would tell of the "
                "number of matches",
                "remove it; min_rows of a study is tested on shares before anything opens");
    }
    return 0;
  }
  if (!minimum) return kUsualMinimum;
  if (minimum->value < 1 || static_cast<uint64_t>(minimum->value) > kMostMatchedRows) {
    root.Fail(minimum->position, fmt::format("'minimum' must be from 1 to {}", kMostMatchedRows),
              "write how many matches there must be before anybody learns which rows they are");
  }
  return static_cast<uint64_t>(minimum->value);
}

void ReadParties(const TableReader& root, const match::KeySpec& spec, MatchingFile& file) {
  std::vector<LocatedText> names;
  for (const TableReader& party : root.Tables("party", kPartyKeys)) {
    const LocatedText name = party.Text("name", "name = \"registry\"");
    study::CheckName(party, name, study::kPartyName);
    names.push_back({name.value, party.position()});
    if (!IsLinker(party)) {
      file.parties.push_back(ReadHolder(party, names.back().value, spec));
    } else if (file.linked()) {
      party.Fail(party.position(), "there is more than one linker",
                 "let one party link; the others have no part in the matching");
    } else {
      file.linker = names.back().value;
    }
  }
  study::CheckDistinct(root, names, "party");
  if (file.parties.size() < kFewestHolders || file.parties.size() > kMostHolders) {
    root.Fail(root.position(),
              fmt::format("there must be {} to {} holders", kFewestHolders, kMostHolders),
              "write a [[party]] with name and rows for every institution whose list is matched");
  }
}

}  // namespace

MatchingFile ParseMatchingFile(std::string text, std::string file_name) {
  if (text.size() > study::kMaxStudyFileBytes) {
    study::FailAt(file_name, {1, 1}, "the file is larger than 1 MiB",
                  "a matching file says how lists are matched; the lists stay in their tables");
  }
  MatchingFile file;
  file.file_name = std::move(file_name);
  file.text = std::move(text);
  const toml::table tree = study::ParseToml(file.text, file.file_name);
  const TableReader root(file.file_name, tree, "the matching file", kMatchingKeys);
  study::CheckFormat(root, "matching", kMatchingFormat);
  study::FileNames names = study::ReadNames(root, "name = \"cohort-2026\"");
  file.name = std::move(names.name);
  file.title = std::move(names.title);
  match::KeySpec spec;
  spec.duplicates = ReadUnusable(root, "duplicates");
  spec.faulty = ReadUnusable(root, "faulty");
  file.level = ReadLevel(root);
  file.minimum = ReadMinimum(root, file.level);
  ReadColumns(root, spec);
  ReadPasses(root, spec);
  ReadParties(root, spec, file);
  file.noise = ReadNoise(root, file, spec);
  return file;
}

MatchingFile LoadMatchingFile(const std::string& path) {
  return ParseMatchingFile(ReadFile(path, study::kMaxStudyFileBytes, "the matching file"), path);
}

std::vector<std::string> MatchingFile::Names() const {
  std::vector<std::string> names;
  for (const MatchingParty& party : parties) names.push_back(party.name);
  if (linked()) names.push_back(linker);
  return names;
}

const MatchingParty& MatchingPartyByName(const MatchingFile& file, const std::string& name) {
  std::vector<std::string> names;
  for (const MatchingParty& party : file.parties) {
    if (party.name == name) return party;
    names.push_back(party.name);
  }
  if (file.linked() && name == file.linker) {
    throw Error(ErrorCode::kUsage, fmt::format("party {} links and brings no table", name),
                "tables are checked and matched by their holders: " + study::Join(names));
  }
  throw Error(ErrorCode::kUsage,
              fmt::format("{}: there is no party {}", file.file_name, study::Quote(name)),
              study::KnownNamesHint(name, names));
}

match::KeyList ReadKeyList(const MatchingParty& party, const std::string& table, char separator,
                           Progress* progress) {
  const data::OpenedTable opened = data::OpenTableFile(table);
  data::CsvOptions options;
  options.separator = separator;
  options = data::WithDialect(options, opened.dialect);
  options.max_rows = party.rows;
  match::KeyListMaker maker(party.keys, party.rows);
  match::ReadKeyRows(
      opened.bytes, table, party.headers, options,
      [&maker](uint64_t line, std::span<std::string> cells) { maker.Add(line, cells); },
      [progress](ByteView) {
        if (progress != nullptr) progress->CheckCancelled();
      });
  return maker.Finish();
}

}  // namespace partita::run
