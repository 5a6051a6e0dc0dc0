#include "methods/marginals/section.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "methods/marginals/section_parts.h"
#include "methods/marginals/section_promise.h"
#include "run/method/study.h"
#include "study/file/sections.h"
#include "study/file/text.h"

namespace partita::methods::marginals {
namespace {

using data::ColumnEncoding;
using data::ColumnSchema;
using data::EncodingKind;
using study::LocatedText;
using study::Quote;
using study::StudyFile;
using study::TableReader;

// Of pairs that scores choose.
constexpr int64_t kPairsPerColumn = 2;
constexpr int64_t kMostBins = stats::marginals::kMaxLevels, kMostSets = 100;
// Of all synthetic tables together: they are drawn in memory.
constexpr uint64_t kMostSyntheticCells = 20'000'000;
constexpr std::string_view kExample = "\"age\", {variable = \"income\", bins = 12}";

ColumnEncoding DefaultOf(const TableReader& reader, study::Position position,
                         const ColumnSchema& variable) {
  try {
    return DefaultLevels(variable);
  } catch (const Error& error) {
    study::FailWith(reader, position, error);
  }
}

void ReadEdges(const TableReader& entry, ColumnEncoding& encoding) {
  const bool date = encoding.column.type == data::ColumnType::kDate;
  for (const study::Located<double>& edge : entry.Values("edges", date, "edges = [0, 1, 100]")) {
    encoding.edges.push_back(edge.value);
  }
  if (encoding.edges.size() < 3 || encoding.edges.size() > size_t{kMostBins} + 1) {
    entry.Fail(entry.PositionOf("edges"),
               fmt::format("'edges' has {} numbers, and there must be 3 to {}",
                           encoding.edges.size(), kMostBins + 1),
               "name the bounds of two bins or more, from the variable's lower to its upper bound");
  }
  encoding.bins = static_cast<uint32_t>(encoding.edges.size() - 1);
}

// {variable = ..., bins = ..., rare = ...}: what is said is not measured against what would be taken
// if nothing were.
ColumnEncoding ReadEntry(const TableReader& entry, study::Position position,
                         const ColumnSchema& variable) {
  const bool has_levels = data::HasLevels(variable.type);
  ColumnEncoding encoding{variable, EncodingKind::kBins, 0, {}};
  for (const char* key : {"bins", "edges"}) {
    if (!has_levels || !entry.Has(key)) continue;
    entry.Fail(entry.PositionOf(key),
               fmt::format("'{}' is for numbers and dates, not for {}", key, Quote(variable.name)),
               "remove it");
  }
  if (entry.Has("bins") && entry.Has("edges")) {
    entry.Fail(entry.PositionOf("edges"), "'edges' says how many bins there are", "remove 'bins'");
  }
  if (entry.Has("edges")) {
    ReadEdges(entry, encoding);
  } else if (!entry.Has("bins")) {
    encoding = DefaultOf(entry, position, variable);
  } else {
    encoding.bins = static_cast<uint32_t>(
        WholeOr(entry, "bins", 2, kMostBins, 0, "bins are of equal width; ten are usual"));
  }
  if (const auto rare = entry.OptionalTexts("rare")) {
    if (!has_levels) {
      entry.Fail(entry.PositionOf("rare"),
                 fmt::format("'rare' is for levels, not for {}", Quote(encoding.column.name)),
                 "remove it");
    }
    study::CheckDistinct(entry, *rare, "level");
    for (const LocatedText& level : *rare) {
      encoding.pooled.push_back(entry.Choice(level, "rare", encoding.column.levels));
    }
  }
  try {
    data::CheckEncoding(encoding);
  } catch (const Error& error) {
    study::FailWith(entry, entry.position(), error);
  }
  return encoding;
}

// key: "columns", or "variables" of a Table 1.
std::vector<ColumnEncoding> ReadColumns(const TableReader& analysis, const StudyFile& study,
                                        const char* key) {
  std::vector<ColumnEncoding> columns;
  if (!analysis.Has(key)) {
    for (const ColumnSchema& variable : study.dictionary.columns) {
      columns.push_back(DefaultOf(analysis, analysis.position(), variable));
    }
    return columns;
  }
  std::vector<LocatedText> names;
  for (const study::TextOrTable& item :
       analysis.TextsOrEntries(key, {"variable", "bins", "edges", "rare"}, kExample)) {
    if (item.text) {
      names.push_back(*item.text);
      columns.push_back(
          DefaultOf(analysis, names.back().position,
                    study::FindVariable(analysis, names.back(), key, study.dictionary)));
      continue;
    }
    const TableReader& entry = *item.table;
    names.push_back(entry.Text("variable", "{variable = \"income\", bins = 12}"));
    columns.push_back(
        ReadEntry(entry, names.back().position,
                  study::FindVariable(entry, names.back(), "variable", study.dictionary)));
  }
  if (names.empty()) {
    analysis.Fail(analysis.PositionOf(key), fmt::format("'{}' is empty", key),
                  "name the variables to count, or leave the key out to take all");
  }
  study::CheckDistinct(analysis, names, "column");
  return columns;
}

// A level is named in [[analysis]], by --given and in counts.csv.
void RequireDistinctLevels(const TableReader& analysis, const Spec& spec) {
  for (const LevelColumn& column : spec.columns) {
    std::vector<std::string> names = LevelNames(column);
    std::ranges::sort(names);
    const auto twice = std::ranges::adjacent_find(names);
    if (twice == names.end()) continue;
    analysis.Fail(analysis.position(),
                  fmt::format("two levels of {} are both called {}",
                              Quote(column.encoding.column.name), Quote(*twice)),
                  *twice == "missing"
                      ? "name the level of the dictionary otherwise: with missing = \"complete\" "
                        "cells without a value are a level of this name"
                      : "name the levels of the dictionary otherwise, or pool others with 'rare'");
  }
}

// Keys of other values of `select` than this one.
void RefuseWithout(const TableReader& analysis, const std::string& select, const char* key,
                   const char* wanted) {
  if (select == wanted || !analysis.Has(key)) return;
  analysis.Fail(analysis.PositionOf(key), fmt::format("'{}' with select = \"{}\"", key, select),
                fmt::format("remove it, or write select = \"{}\"", wanted));
}

uint32_t ReadPairs(const TableReader& analysis, study::Position select, size_t num_columns) {
  const auto columns = static_cast<int64_t>(num_columns);
  const int64_t all = columns * (columns - 1) / 2, usual = kPairsPerColumn * columns;
  const std::string hint = fmt::format(
      "scores choose some of the {} pairs of these columns; for so few write select = \"all\"",
      all);
  if (all <= 1 || (!analysis.Has("pairs") && usual >= all)) {
    analysis.Fail(select,
                  fmt::format("select = \"scores\" for {} columns, of which it would measure all "
                              "pairs",
                              columns),
                  hint);
  }
  return static_cast<uint32_t>(WholeOr(analysis, "pairs", 1, all - 1, usual, hint));
}

uint32_t ReadGroup(const TableReader& analysis, const Spec& spec) {
  const LocatedText group = analysis.Text("group", "group = \"arm\"");
  std::vector<std::string> names;
  for (const LevelColumn& column : spec.columns) names.push_back(column.encoding.column.name);
  analysis.Choice(group, "group", names);
  if (names.size() < 2) {
    analysis.Fail(group.position, "a group alone has no pairs",
                  "name the columns to describe, too");
  }
  return static_cast<uint32_t>(std::ranges::find(names, group.value) - names.begin());
}

void ReadSelect(const TableReader& analysis, Spec& spec) {
  const auto text = analysis.OptionalText("select");
  const std::string select =
      text ? analysis.Choice(*text, "select", {"all", "scores", "group"}) : "all";
  RefuseWithout(analysis, select, "triples", "all");
  RefuseWithout(analysis, select, "pairs", "scores");
  RefuseWithout(analysis, select, "group", "group");
  if (select == "scores") spec.pairs = ReadPairs(analysis, text->position, spec.columns.size());
  if (select == "group") spec.group = ReadGroup(analysis, spec);
  if (select != "all" && !spec.targets.empty()) {
    analysis.Fail(analysis.PositionOf("targets"),
                  fmt::format("'targets' beside select = \"{}\"", select),
                  "remove one of them: targets weigh all pairs of the columns");
  }
}

void ReadSynthetic(const TableReader& analysis, Spec& spec) {
  spec.synthetic_rows = static_cast<uint64_t>(
      WholeOr(analysis, "synthetic_rows", 1, kMostRows, 0,
              "write how many rows to draw, for example as many as there are"));
  spec.synthetic_sets = static_cast<uint32_t>(
      WholeOr(analysis, "synthetic_sets", 1, kMostSets, 1, "each table is drawn anew; 1 is usual"));
  if (analysis.Has("synthetic_sets") && spec.synthetic_rows == 0) {
    analysis.Fail(analysis.PositionOf("synthetic_sets"),
                  "'synthetic_sets' without 'synthetic_rows'",
                  "add, for example: synthetic_rows = 10000");
  }
  const uint64_t cells = spec.synthetic_rows * spec.synthetic_sets * spec.columns.size();
  if (cells > kMostSyntheticCells) {
    analysis.Fail(analysis.PositionOf("synthetic_rows"),
                  fmt::format("the synthetic tables have {} cells in all, more than {}", cells,
                              kMostSyntheticCells),
                  "ask for fewer rows or tables: partita synthetic draw makes more of what opened");
  }
}

std::shared_ptr<const study::Section> ReadMarginals(const TableReader& reader,
                                                    const StudyFile& study,
                                                    study::AnalysisSpec& analysis) {
  auto section = std::make_shared<MarginalsSection>();
  const bool missing = study.design.missing == study::MissingPolicy::kComplete;
  for (ColumnEncoding& encoding : ReadColumns(reader, study, "columns")) {
    section->spec.columns.push_back({std::move(encoding), missing});
  }
  RequireDistinctLevels(reader, section->spec);
  RequireRows(reader, study, section->spec);
  ReadImpossible(reader, section->spec);
  ReadTriples(reader, section->spec);
  ReadTargets(reader, section->spec);
  ReadSelect(reader, section->spec);
  try {
    CheckImpossible(TablesOfColumns(section->spec.columns, section->spec.triples),
                    section->spec.impossible);
  } catch (const Error& error) {
    study::FailWith(reader, reader.position(), error);
  }
  ReadPromise(reader, study, section->spec);
  ReadSynthetic(reader, section->spec);
  ReadUtility(reader, study, section->spec);
  analysis.protocol = kProtocol;
  return section;
}

// Of `describe` without a promise, with what is said instead.
void RefuseExact(const TableReader& reader) {
  constexpr const char* kWithNoise = "with [analysis.privacy] ";
  if (reader.Has("subset")) {
    reader.Fail(reader.PositionOf("subset"),
                std::string("'subset' ") + kWithNoise +
                    "would leave rows out, and every row is counted in every table",
                "remove it, and agree on tables of those rows");
  }
  if (reader.Has("quantiles")) {
    reader.Fail(reader.PositionOf("quantiles"),
                std::string("'quantiles' ") + kWithNoise + "are the quartiles, which cost nothing",
                "remove it; other quantiles follow from counts.csv");
  }
  if (reader.Has("release")) {
    reader.Fail(reader.PositionOf("release"),
                std::string("'release' ") + kWithNoise + "is not asked: the counts open to all",
                "remove it");
  }
}

// The group is one of the columns, named among the variables or not.
uint32_t ColumnOfGroup(const TableReader& reader, const StudyFile& study, Spec& spec,
                       bool missing) {
  const LocatedText group = reader.Text("group", "group = \"arm\"");
  const auto in_dictionary = [&](const ColumnSchema& column) { return column.name == group.value; };
  if (group.value == "site" && std::ranges::none_of(study.dictionary.columns, in_dictionary)) {
    reader.Fail(group.position,
                "group = \"site\" with [analysis.privacy]: which holder a row is of is no column, "
                "and is not counted with noise",
                "name a variable of the dictionary as the group, or leave it out");
  }
  const ColumnSchema& schema = study::FindVariable(reader, group, "group", study.dictionary);
  for (uint32_t c = 0; c < spec.columns.size(); ++c) {
    if (spec.columns[c].encoding.column.name == schema.name) return c;
  }
  spec.columns.push_back({DefaultOf(reader, group.position, schema), missing});
  return static_cast<uint32_t>(spec.columns.size() - 1);
}

// "differences" of two groups. Tests are none.
void ReadComparedWithNoise(const TableReader& reader, Spec& spec) {
  const auto names = reader.OptionalTexts("compare");
  if (!names) return;
  study::CheckDistinct(reader, *names, "comparison");
  for (const LocatedText& name : *names) {
    if (name.value != "differences") {
      reader.Fail(name.position,
                  fmt::format("{} with [analysis.privacy]: its law is that of exact counts, and "
                              "under noise it would reject too often",
                              Quote(name.value)),
                  "remove it; compare = [\"differences\"] has intervals that contain the noise");
    }
    const bool two = spec.group && data::NumLevels(spec.columns[*spec.group].encoding) == 2;
    if (!two) {
      reader.Fail(name.position, "\"differences\" with [analysis.privacy] compares two groups",
                  "name a variable of two levels as the group, or remove it");
    }
    spec.differences = true;
  }
}

}  // namespace

std::shared_ptr<const study::Section> ReadTableOne(const TableReader& reader,
                                                   const StudyFile& study,
                                                   study::AnalysisSpec& analysis) {
  auto section = std::make_shared<MarginalsSection>();
  Spec& spec = section->spec;
  spec.describes = true;
  RefuseExact(reader);
  const bool missing = study.design.missing == study::MissingPolicy::kComplete;
  for (ColumnEncoding& encoding : ReadColumns(reader, study, "variables"))
    spec.columns.push_back({std::move(encoding), missing});
  if (reader.Has("group")) spec.group = ColumnOfGroup(reader, study, spec, missing);
  if (spec.group && spec.columns.size() < 2) {
    reader.Fail(reader.PositionOf("group"), "there is no variable beside the group",
                "name the variables to describe, too");
  }
  RequireDistinctLevels(reader, spec);
  RequireRows(reader, study, spec);
  ReadComparedWithNoise(reader, spec);
  try {
    TablesOfColumns(spec.columns);
  } catch (const Error& error) {
    study::FailWith(reader, reader.position(), error);
  }
  ReadPromise(reader, study, spec);
  analysis.protocol = kProtocol;
  return section;
}

bool HasNoise(const study::AnalysisSpec& analysis) {
  return dynamic_cast<const MarginalsSection*>(analysis.section.get()) != nullptr;
}

// All parties get the tables and what is drawn from them.
study::SectionUses MarginalsSection::Uses() const {
  study::SectionUses uses;
  if (spec.pairs) {
    uses.releases.push_back({kOneWayRelease, "all", {}});
    uses.releases.push_back({kScoresRelease, "all", {}});
  }
  uses.releases.push_back({kTablesRelease, "all", {}});
  if (spec.curves) {
    for (const std::string& name : SourcesOf(*spec.curves))
      uses.variables.push_back({"the curves", name});
    return uses;
  }
  for (const LevelColumn& column : spec.columns) {
    uses.variables.push_back({"the tables", column.encoding.column.name});
  }
  return uses;
}

const Spec& SpecOf(const study::AnalysisSpec& analysis) {
  return dynamic_cast<const MarginalsSection&>(*analysis.section).spec;
}

study::SectionReader MarginalsReader() {
  return {kMethodName,
          {"columns", "impossible", "triples", "select", "pairs", "group", "targets",
           "expected_rows", "synthetic_rows", "synthetic_sets", "privacy", "utility"},
          ReadMarginals};
}

}  // namespace partita::methods::marginals
