#include "methods/mle/study/selectors.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "methods/mle/study/missing_patterns.h"

namespace partita::methods::mle {
namespace {

constexpr size_t kMostPatterns = 5;  // named in an error

// 1 where the column is not missing.
std::vector<uint8_t> Present(const data::Table& table, const std::string& name) {
  return data::CompleteRows(table, std::vector<std::string>{name});
}

}  // namespace

Selectors::Selectors(const MleStudy& study, const data::Holding& holding, size_t party)
    : study_(study), table_(*holding.table) {
  const data::Holder& holder = *study.partition.HolderOf(party);
  held_.insert(holder.columns.begin(), holder.columns.end());
  complete_ = data::CompleteRows(table_, Held(study.required));
  for (size_t r = 0; r < table_.num_rows; ++r) {
    if (table_.Neutral(r) || table_.Absent(r)) complete_[r] = 0;
  }
  for (const study::MissingPattern& pattern : study.file.design.patterns)
    fits_.push_back(FitsPattern(holding, pattern));
}

std::vector<int32_t> Selectors::Of(const RowSelection& selection) const {
  const std::vector<uint8_t> chosen = Chosen(selection.conditions);
  std::vector<int32_t> weights(table_.num_rows);
  for (size_t r = 0; r < weights.size(); ++r) weights[r] = complete_[r] * chosen[r];
  if (!selection.group.empty() && Holds(selection.group)) {
    const std::vector<int32_t>& codes = table_.Get(selection.group).codes;
    for (size_t r = 0; r < weights.size(); ++r) {
      if (codes[r] != selection.level) weights[r] = 0;
    }
  }
  if (selection.pattern) {
    const std::vector<uint8_t>& fits = fits_[*selection.pattern];
    for (size_t r = 0; r < weights.size(); ++r) weights[r] *= fits[r];
  }
  const std::string& weight = study_.file.design.weights;
  if (!weight.empty() && Holds(weight)) {
    const std::vector<double>& numbers = table_.Get(weight).numbers;
    for (size_t r = 0; r < weights.size(); ++r) {
      if (weights[r] != 0) weights[r] = static_cast<int32_t>(numbers[r]);
    }
  }
  return weights;
}

run::OwnRows Selectors::Count() const {
  run::OwnRows rows;
  const std::vector<uint8_t> chosen = Chosen(study_.file.population.subset);
  for (size_t r = 0; r < table_.num_rows; ++r) {
    if (table_.Absent(r)) continue;
    ++rows.observed;
    if (chosen[r] == 0) {
      ++rows.not_in_population;
    } else if (table_.Neutral(r)) {
      ++rows.neutral;
    } else if (complete_[r] == 0 || !FitsAny(r)) {
      ++rows.incomplete;
    }
  }
  return rows;
}

void Selectors::RequireListedPatterns(const data::Holding& holding) const {
  if (fits_.empty() || study_.file.design.leave_out_other_patterns || study_.privacy) return;
  const std::vector<uint8_t> chosen = Chosen(study_.file.population.subset);
  const std::vector<uint8_t> nowhere(table_.num_rows, 0);
  std::map<study::MissingPattern, size_t> others;
  for (const data::BlockRows& rows : holding.blocks) {
    // The holder's own columns, and what nobody holds of the block.
    std::map<std::string, std::vector<uint8_t>> present;
    for (const std::string& name : study_.modelled) {
      if (Holds(name)) present[name] = Present(table_, name);
      if (!BlockHas(study_, rows.block, name)) present[name] = nowhere;
    }
    for (size_t r = rows.first_row; r < rows.first_row + rows.num_rows; ++r) {
      if (chosen[r] == 0 || complete_[r] == 0 || FitsAny(r)) continue;
      study::MissingPattern pattern;
      for (const auto& [name, there] : present) {
        if (there[r] == 0) pattern.push_back(name);
      }
      ++others[pattern];
    }
  }
  if (others.empty()) return;
  // The most frequent ones by name.
  std::vector<std::pair<size_t, study::MissingPattern>> counted;
  size_t rows = 0, rare = 0;
  for (const auto& [pattern, count] : others) {
    counted.emplace_back(count, pattern);
    rows += count;
    if (count < study_.file.disclosure.min_cell) rare += count;
  }
  std::stable_sort(counted.begin(), counted.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string list;
  for (size_t i = 0; i < std::min(counted.size(), kMostPatterns); ++i) {
    list += fmt::format("{}{} {}", list.empty() ? "" : "; ", counted[i].first,
                        PatternText(counted[i].second));
  }
  if (counted.size() > kMostPatterns) {
    list +=
        fmt::format("; and {} more (partita data check lists all)", counted.size() - kMostPatterns);
  }
  throw Error(
      ErrorCode::kBadData,
      "the patterns of the study do not cover the table, which also has: " + list,
      fmt::format(
          "write other_patterns = \"leave-out\" in [design], which leaves these {} of your {} "
          "rows out of all analyses, if they are like the others; or add patterns to `patterns`, "
          "where everybody sees them{}",
          rows, table_.num_rows,
          IsImputed(study_) || rare == 0
              ? std::string()
              : fmt::format(
                    "; with protocol = \"pooled-moments\" those of fewer than min_cell = {} "
                    "rows of all parties stop the run ({} of your rows have patterns that "
                    "few have here), with protocol = \"sealed\" none does: no pattern's "
                    "moments open there",
                    study_.file.disclosure.min_cell, rare)));
}

bool Selectors::Holds(const std::string& name) const {
  return held_.count(run::SourceVariable(study_, name)) > 0;
}

std::vector<std::string> Selectors::Held(const std::vector<std::string>& names) const {
  std::vector<std::string> held;
  for (const std::string& name : names) {
    if (Holds(name)) held.push_back(name);
  }
  return held;
}

std::vector<uint8_t> Selectors::Chosen(const std::vector<data::Condition>& conditions) const {
  std::vector<data::Condition> own;
  for (const data::Condition& condition : conditions) {
    if (Holds(condition.variable)) own.push_back(condition);
  }
  return data::SelectRows(table_, own);
}

std::vector<uint8_t> Selectors::FitsPattern(const data::Holding& holding,
                                            const study::MissingPattern& pattern) const {
  std::vector<uint8_t> fits(table_.num_rows, 0);
  for (const data::BlockRows& rows : holding.blocks) {
    if (!BlockAllows(study_, rows.block, pattern)) continue;
    const auto first = fits.begin() + static_cast<std::ptrdiff_t>(rows.first_row);
    std::fill(first, first + static_cast<std::ptrdiff_t>(rows.num_rows), uint8_t{1});
  }
  for (const std::string& name : Held(study_.modelled)) {
    const std::vector<uint8_t> present = Present(table_, name);
    const bool missing = std::find(pattern.begin(), pattern.end(), name) != pattern.end();
    for (size_t r = 0; r < fits.size(); ++r) {
      if ((present[r] == 0) != missing) fits[r] = 0;
    }
  }
  return fits;
}

bool Selectors::FitsAny(size_t row) const {
  return fits_.empty() ||
         std::any_of(fits_.begin(), fits_.end(), [&](const auto& fits) { return fits[row] != 0; });
}

}  // namespace partita::methods::mle
