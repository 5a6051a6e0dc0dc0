#include "methods/mle/study/missing_patterns.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace partita::methods::mle {
namespace {

// The patterns whose moments a check would have had opened.
std::set<size_t> OpenedPatterns(const MleStudy& study, const DisclosureCheck& check) {
  std::set<size_t> patterns;
  const Computation& computation = study.computations[check.count.computation];
  if (computation.protocol == kSealed) return patterns;
  for (const CountForm::Term& term : check.count.terms) {
    const std::optional<size_t>& pattern = computation.selections[term.cell].pattern;
    if (pattern) patterns.insert(*pattern);
  }
  // A check of all of them together is not about a rare one.
  if (patterns.size() == study.file.design.patterns.size() && patterns.size() > 1) return {};
  return patterns;
}

// Of this party's rows, those that have one of the patterns by its own columns.
size_t OwnRowsOf(const MleStudy& study, const std::set<size_t>& patterns,
                 const std::vector<std::vector<LocalBlock>>& blocks) {
  size_t most = 0;
  for (size_t c = 0; c < blocks.size(); ++c) {
    size_t count = 0;
    for (const LocalBlock& block : blocks[c]) {
      std::vector<bool> has(block.num_rows, false);
      for (size_t cell = 0; cell < block.selectors.size(); ++cell) {
        const std::optional<size_t>& pattern = study.computations[c].selections[cell].pattern;
        if (!pattern || patterns.count(*pattern) == 0) continue;
        for (size_t r = 0; r < block.selectors[cell].size(); ++r)
          has[r] = has[r] || block.selectors[cell][r] != 0;
      }
      count += static_cast<size_t>(std::count(has.begin(), has.end(), true));
    }
    most = std::max(most, count);
  }
  return most;
}

}  // namespace

std::string RarePatternsHint(const MleStudy& study, const std::vector<DisclosureCheck>& failed,
                             const std::vector<std::vector<LocalBlock>>& blocks) {
  std::set<size_t> rare;
  for (const DisclosureCheck& check : failed) rare.merge(OpenedPatterns(study, check));
  if (rare.empty()) return "";
  const std::vector<data::Segment>& segments = study.partition.segments;
  const bool split = std::any_of(segments.begin(), segments.end(),
                                 [](const data::Segment& segment) { return segment.shared(); });
  const size_t own = OwnRowsOf(study, rare, blocks);
  const std::string which =
      rare.size() == 1 ? "the pattern" : fmt::format("the {} patterns", rare.size());
  std::string hint = fmt::format(
      "few rows have {} named here. Either take {} out of `patterns` in [design] and write "
      "other_patterns = \"leave-out\": that leaves {}{} of your own rows out of all analyses, and "
      "is right if these are like the others",
      which, rare.size() == 1 ? "it" : "them", split ? "at most " : "", own);
  if (!IsImputed(study)) {
    hint +=
        "; or write protocol = \"sealed\" and keep all patterns: no pattern's moments open there, "
        "no row is left out, but there are no fit measures and the run is longer";
  }
  return hint;
}

std::string PatternText(const study::MissingPattern& pattern) {
  if (pattern.empty()) return "complete rows";
  std::string text = "rows without ";
  for (size_t i = 0; i < pattern.size(); ++i)
    text += (i == 0 ? "" : i + 1 == pattern.size() ? " and " : ", ") + pattern[i];
  return text;
}

bool Lacks(const study::MissingPattern& pattern, const data::DesignColumn& column) {
  const std::vector<std::string> sources = data::SourcesOf(column);
  return std::any_of(sources.begin(), sources.end(), [&](const std::string& source) {
    return std::find(pattern.begin(), pattern.end(), source) != pattern.end();
  });
}

bool BlockHas(const MleStudy& study, size_t block, const std::string& variable) {
  const std::vector<std::string>& names = study.partition.variables;
  const auto index = std::find(names.begin(), names.end(), variable) - names.begin();
  return study.partition.segments[block].Has(static_cast<size_t>(index));
}

bool BlockAllows(const MleStudy& study, size_t block, const study::MissingPattern& pattern) {
  return std::all_of(study.modelled.begin(), study.modelled.end(), [&](const std::string& name) {
    return BlockHas(study, block, name) ||
           std::find(pattern.begin(), pattern.end(), name) != pattern.end();
  });
}

}  // namespace partita::methods::mle
