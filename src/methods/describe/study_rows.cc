#include "methods/describe/study_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

namespace partita::methods::describe {
namespace {

constexpr uint64_t kMostRows = uint64_t{1} << 32;  // squares of that many fit 128 bits (means.h)

[[noreturn]] void RefuseHere(const DescribeStudy& study, const std::string& what,
                             const std::string& hint) {
  run::Refuse(study, study.Analysis().position, what, hint);
}

std::set<std::string> VariablesOf(const DescribeStudy& study, const data::SegmentPart& part) {
  std::set<std::string> names;
  for (const size_t v : part.variables) names.insert(study.partition.variables[v]);
  return names;
}

// The variables of the dictionary that say which group a row is of, and whether it takes part.
std::set<std::string> SelectingVariables(const DescribeStudy& study) {
  std::set<std::string> names;
  if (study.spec.group) names.insert(study.spec.group->source);
  for (const auto& conditions : {study.file.population.subset, study.Analysis().subset}) {
    for (const data::Condition& condition : conditions)
      names.insert(run::SourceVariable(study, condition.variable));
  }
  return names;
}

std::vector<size_t> PartiesOf(const data::Segment& segment) {
  std::vector<size_t> parties;
  for (const data::SegmentPart& part : segment.parts) parties.push_back(part.party);
  return parties;
}

std::vector<size_t> DescribedOf(const DescribeStudy& study, const std::set<std::string>& own) {
  std::vector<size_t> described;
  for (size_t v = 0; v < study.spec.variables.size(); ++v) {
    if (own.count(study.spec.variables[v].source) > 0) described.push_back(v);
  }
  return described;
}

// All parts of a block: each leaves rows out by its own conditions, and those that it lacks.
void AddHiddenParts(const DescribeStudy& study, const data::Segment& segment, Rows& rows) {
  rows.hidden = true;
  rows.selects = study.spec.group.has_value();
  for (const data::SegmentPart& part : segment.parts) {
    const std::set<std::string> own = VariablesOf(study, part);
    if (rows.selects && own.count(study.spec.group->source) > 0) rows.selecting = rows.parts.size();
    rows.parts.push_back({part.party, DescribedOf(study, own)});
  }
  rows.party = rows.parts.front().party;
}

// The parts of a block that describe something, or select.
void AddParts(const DescribeStudy& study, const data::Segment& segment, Rows& rows) {
  const std::set<std::string> selecting = SelectingVariables(study);
  rows.selects = !selecting.empty();
  for (const data::SegmentPart& segment_part : segment.parts) {
    const std::set<std::string> own = VariablesOf(study, segment_part);
    Part part{segment_part.party, DescribedOf(study, own)};
    const auto held = static_cast<size_t>(
        std::count_if(selecting.begin(), selecting.end(),
                      [&](const std::string& name) { return own.count(name) > 0; }));
    if (held > 0) rows.selecting = rows.parts.size();
    if (held > 0 && held < selecting.size()) {
      RefuseHere(study,
                 fmt::format("the group and the variables of all conditions are not at one holder "
                             "of block '{}'",
                             study.partition.blocks[segment.block].name),
                 "let one holder have them all, or group by a variable of the holder of the "
                 "conditions");
    }
    if (held > 0 || !part.variables.empty()) rows.parts.push_back(std::move(part));
  }
  rows.party = rows.parts.front().party;
}

// The blocks of a party have the same holders.
const data::Segment& SegmentOf(const DescribeStudy& study, size_t party) {
  const std::vector<size_t> blocks = study.partition.BlocksOf(party);
  const data::Segment& first = study.partition.segments[blocks.front()];
  for (const size_t block : blocks) {
    if (PartiesOf(study.partition.segments[block]) == PartiesOf(first)) continue;
    RefuseHere(study,
               fmt::format("{} has rows with some parties and other rows with others, which method "
                           "'{}' does not take",
                           study.parties[party].name, kMethodName),
               "give it blocks of the same holders");
  }
  return first;
}

}  // namespace

std::vector<Rows> HoldersOf(const DescribeStudy& study) {
  const bool named = !study.shared_blocks.empty();
  if (named && (study.spec.by_site || study.spec.compared.mantel_haenszel)) {
    RefuseHere(study, "columns are split, and holders are what is compared",
               "take another group, and leave \"mantel-haenszel\" out");
  }
  std::vector<Rows> all;
  for (const run::RowHolder& holder : RowHoldersOf(study, kMostRows)) {
    Rows rows{holder};
    if (study.partition.SharesRows(holder.party)) {
      const data::Segment& segment = SegmentOf(study, holder.party);
      if (segment.parts.front().party != holder.party) continue;  // with the rows of that one
      if (study.partition.blocks[segment.block].hidden) {
        AddHiddenParts(study, segment, rows);
      } else {
        AddParts(study, segment, rows);
      }
    }
    all.push_back(std::move(rows));
  }
  return all;
}

PlaceOfParty PlaceOf(const Task& task, size_t party) {
  for (const Rows& rows : task.holders) {
    if (rows.parts.empty() && rows.party == party) return {&rows};
    for (size_t p = 0; p < rows.parts.size(); ++p) {
      if (rows.parts[p].party != party) continue;
      const bool selects = rows.selects && p == rows.selecting;
      return {&rows, &rows.parts[p], selects, rows.ByProduct(p)};
    }
  }
  return {};
}

}  // namespace partita::methods::describe
