#include "methods/mle/study/missing_patterns.h"

#include <algorithm>

namespace partita::methods::mle {

std::string PatternText(const study::MissingPattern& pattern) {
  if (pattern.empty()) return "complete rows";
  std::string text = "rows without ";
  for (size_t i = 0; i < pattern.size(); ++i)
    text += (i == 0 ? "" : i + 1 == pattern.size() ? " and " : ", ") + pattern[i];
  return text;
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
