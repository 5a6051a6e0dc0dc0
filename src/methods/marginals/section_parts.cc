#include "methods/marginals/section_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "study/file/sections.h"
#include "study/file/text.h"

namespace partita::methods::marginals {

using study::LocatedText;
using study::Quote;
using study::StudyFile;
using study::TableReader;

int64_t WholeOr(const TableReader& reader, std::string_view key, int64_t low, int64_t high,
                int64_t otherwise, const std::string& hint) {
  const auto whole = reader.OptionalInteger(key);
  if (!whole) return otherwise;
  if (whole->value < low || whole->value > high) {
    reader.Fail(whole->position, fmt::format("'{}' must be from {} to {}", key, low, high), hint);
  }
  return whole->value;
}

namespace {

std::vector<std::string> NamesOf(const Spec& spec) {
  std::vector<std::string> names;
  for (const LevelColumn& column : spec.columns) names.push_back(column.encoding.column.name);
  return names;
}

// The level of a column by its name.
ColumnLevel ReadLevel(const TableReader& entry, const LevelColumn& column, uint32_t attribute,
                      const LocatedText& text) {
  const std::vector<std::string> names = LevelNames(column);
  entry.Choice(text, column.encoding.column.name, names);
  const auto found = std::ranges::find(names, text.value);
  return {attribute, static_cast<uint32_t>(found - names.begin())};
}

}  // namespace

void ReadImpossible(const TableReader& analysis, Spec& spec) {
  const std::vector<std::string> names = NamesOf(spec);
  constexpr std::string_view kPair = "{sex = \"male\", pregnant = \"yes\"}";
  for (const TableReader& entry : analysis.Entries("impossible", names, kPair)) {
    std::vector<ColumnLevel> levels;
    for (uint32_t a = 0; a < names.size(); ++a) {
      const auto text = entry.OptionalText(names[a]);
      if (text) levels.push_back(ReadLevel(entry, spec.columns[a], a, *text));
    }
    if (levels.size() != 2) {
      entry.Fail(entry.position(), "an impossible pair has a level of each of two columns",
                 "write, for example: " + std::string(kPair));
    }
    spec.impossible.push_back(
        {levels[0].attribute, levels[0].level, levels[1].attribute, levels[1].level});
  }
}

void ReadTriples(const TableReader& analysis, Spec& spec) {
  const std::vector<std::string> names = NamesOf(spec);
  constexpr std::string_view kTriple = "{columns = [\"age\", \"sex\", \"smoking\"]}";
  for (const TableReader& entry : analysis.Entries("triples", {"columns"}, kTriple)) {
    const auto columns = entry.OptionalTexts("columns");
    if (!columns || columns->size() != 3) {
      entry.Fail(entry.position(), "a triple names three columns",
                 "write, for example: " + std::string(kTriple));
    }
    study::CheckDistinct(entry, *columns, "column");
    stats::marginals::Triple triple{};
    for (size_t i = 0; i < 3; ++i) {
      const std::string name = entry.Choice((*columns)[i], "columns", names);
      triple[i] = static_cast<uint32_t>(std::ranges::find(names, name) - names.begin());
    }
    std::ranges::sort(triple);
    spec.triples.push_back(triple);
  }
}

void ReadTargets(const TableReader& analysis, Spec& spec) {
  const auto targets = analysis.OptionalTexts("targets");
  if (!targets) return;
  study::CheckDistinct(analysis, *targets, "target");
  const std::vector<std::string> names = NamesOf(spec);
  for (const LocatedText& target : *targets) {
    const std::string name = analysis.Choice(target, "targets", names);
    spec.targets.push_back(static_cast<uint32_t>(std::ranges::find(names, name) - names.begin()));
  }
  if (targets->empty() || 2 * targets->size() > names.size()) {
    analysis.Fail(
        analysis.PositionOf("targets"),
        fmt::format("{} of {} columns are targets", targets->size(), names.size()),
        "name one or a few columns that are to be predicted from the others, or leave the key out");
  }
}

namespace {

// The party that holds a column where columns are split; none where rows are.
const study::Party* HolderOf(const StudyFile& study, const std::string& name) {
  for (const study::Party& party : study.parties) {
    if (std::ranges::find(party.columns, name) != party.columns.end()) return &party;
  }
  return nullptr;
}

ColumnLevel ReadTarget(const TableReader& entry, const StudyFile& study, const Spec& spec) {
  const LocatedText name = entry.Text("variable", "variable = \"income\"");
  const std::vector<std::string> names = NamesOf(spec);
  const std::string variable = entry.Choice(name, "variable", names);
  const auto a = static_cast<uint32_t>(std::ranges::find(names, variable) - names.begin());
  const study::Party* holder = HolderOf(study, variable);
  if (holder != nullptr && std::ranges::count_if(names, [&](const std::string& other) {
                             return HolderOf(study, other) == holder;
                           }) == 1) {
    entry.Fail(name.position,
               fmt::format("{} holds no other column to predict {} from", Quote(holder->name),
                           Quote(variable)),
               "name a column of a holder with two columns or more: rows never leave it");
  }
  return ReadLevel(entry, spec.columns[a], a, entry.Text("level", "level = \"high\""));
}

}  // namespace

void ReadUtility(const TableReader& analysis, const StudyFile& study, Spec& spec) {
  const auto reader =
      analysis.OptionalTable("utility", {"test_rows", "seed", "targets"}, "[analysis.utility]");
  if (!reader) return;
  for (const char* key : {"test_rows", "seed"}) {
    if (!reader->Has(key)) reader->FailMissing(key, fmt::format("{} = 100", key));
  }
  spec.utility.test_rows = static_cast<uint32_t>(
      WholeOr(*reader, "test_rows", 1, kMostRows, 0,
              "rows of each block that are set aside are not counted; a fifth is usual"));
  spec.utility.seed =
      static_cast<uint64_t>(WholeOr(*reader, "seed", 0, std::numeric_limits<int64_t>::max(), 0,
                                    "any whole number will do; it is public"));
  for (const study::RowBlock& block : study.blocks) {
    if (!block.count) {
      reader->Fail(
          reader->position(), "rows are set aside by their place among a public number of rows",
          "leave out [analysis.utility], or declare the numbers and write adjacency = \"replace\"");
    }
    if (*block.count > spec.utility.test_rows) continue;
    reader->Fail(reader->PositionOf("test_rows"),
                 fmt::format("block {} has {} rows, and {} are set aside", Quote(block.name),
                             *block.count, spec.utility.test_rows),
                 "set fewer aside: a fifth of the smallest block is usual");
  }
  for (const TableReader& entry : reader->Entries("targets", {"variable", "level"},
                                                  "{variable = \"income\", level = \"high\"}")) {
    spec.utility.targets.push_back(ReadTarget(entry, study, spec));
  }
}

}  // namespace partita::methods::marginals
