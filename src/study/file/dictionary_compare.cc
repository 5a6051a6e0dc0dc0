#include "study/file/dictionary_compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "study/file/text.h"

namespace partita::study {
namespace {

constexpr size_t kMostNamed = 5;

// "'a', 'b' and 3 more"
std::string Some(const std::vector<std::string>& texts) {
  std::vector<std::string> named;
  for (size_t i = 0; i < std::min(texts.size(), kMostNamed); ++i) named.push_back(Quote(texts[i]));
  const std::string list = Join(named);
  return texts.size() > kMostNamed ? fmt::format("{} and {} more", list, texts.size() - kMostNamed)
                                   : list;
}

std::vector<std::string> Without(const std::vector<std::string>& texts,
                                 const std::vector<std::string>& others) {
  std::vector<std::string> left;
  for (const std::string& text : texts) {
    if (std::find(others.begin(), others.end(), text) == others.end()) left.push_back(text);
  }
  return left;
}

std::string Said(const std::string& text) { return text.empty() ? "nothing" : Quote(text); }

void CompareTexts(const std::string& what, const std::string& before, const std::string& after,
                  std::vector<std::string>& changes) {
  if (before != after)
    changes.push_back(fmt::format("{} {} instead of {}", what, Said(after), Said(before)));
}

void CompareLists(const std::string& what, const std::vector<std::string>& before,
                  const std::vector<std::string>& after, std::vector<std::string>& changes) {
  const std::vector<std::string> gone = Without(before, after), fresh = Without(after, before);
  if (!fresh.empty()) changes.push_back(fmt::format("new {} {}", what, Some(fresh)));
  if (!gone.empty()) changes.push_back(fmt::format("{} {} are gone", what, Some(gone)));
  if (gone.empty() && fresh.empty() && before != after)
    changes.push_back(fmt::format("{} in another order", what));
}

std::vector<std::string> ChangesOf(const SiteVariable& before, const SiteVariable& after) {
  std::vector<std::string> changes;
  if (before.hidden != after.hidden)
    changes.push_back(after.hidden ? "hidden from other sites now" : "visible for other sites now");
  CompareTexts("type", before.type, after.type, changes);
  CompareTexts("lower bound", before.lower, after.lower, changes);
  CompareTexts("upper bound", before.upper, after.upper, changes);
  CompareTexts("unit", before.unit, after.unit, changes);
  CompareLists("levels", before.levels, after.levels, changes);
  CompareTexts("reference", before.reference, after.reference, changes);
  CompareTexts("contrasts", before.contrasts, after.contrasts, changes);
  CompareLists("missing codes", before.missing_codes, after.missing_codes, changes);
  CompareTexts("column of the time", before.time, after.time, changes);
  CompareTexts("column of the event", before.event, after.event, changes);
  CompareTexts("description", before.description, after.description, changes);
  return changes;
}

std::string StudyLevels(const data::ColumnSchema& study, const data::ColumnSchema& own) {
  const std::vector<std::string> fresh = Without(study.levels, own.levels),
                                 gone = Without(own.levels, study.levels);
  std::string text;
  if (!fresh.empty()) text += fmt::format(" levels {} that the dictionary lacks", Some(fresh));
  if (!gone.empty())
    text += fmt::format("{} not the levels {} of the dictionary", text.empty() ? "" : ", and",
                        Some(gone));
  return text.empty() ? " its levels in another order" : text;
}

// Some databases take "INCOME" for the column "income".
bool SameColumn(const std::string& a, const std::string& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) ==
           std::tolower(static_cast<unsigned char>(y));
  });
}

// Of one variable that both have.
void AddDifferences(const data::ColumnSchema& study, const data::ColumnSchema& own,
                    std::vector<std::string>& differences) {
  const std::string name = Quote(study.name);
  const auto add = [&](const std::string& what, const std::string& asked, const std::string& ours) {
    differences.push_back(
        fmt::format("{} {} {} in the study, {} in the dictionary", name, what, asked, ours));
  };
  if (study.type != own.type) {
    add("is", std::string(data::ColumnTypeName(study.type)),
        std::string(data::ColumnTypeName(own.type)));
    return;
  }
  if (data::HasBounds(own.type) && (study.lower != own.lower || study.upper != own.upper))
    add("is in", data::BoundsText(study), data::BoundsText(own));
  if (study.unit != own.unit) add("has the unit", Said(study.unit), Said(own.unit));
  if (study.levels != own.levels)
    differences.push_back(fmt::format("{} has in the study{}", name, StudyLevels(study, own)));
  const std::vector<std::string> codes = Without(own.missing_codes, study.missing_codes);
  if (!codes.empty())
    differences.push_back(fmt::format("{} has the missing codes {}, which the study does not know",
                                      name, Some(codes)));
  if (study.time_column != own.time_column || study.event_column != own.event_column)
    add("is of the columns", Quote(study.time_column) + " and " + Quote(study.event_column),
        Quote(own.time_column) + " and " + Quote(own.event_column));
}

}  // namespace

std::vector<std::string> ChangesBetween(const SiteDictionary& before, const SiteDictionary& after) {
  std::vector<std::string> changes, order_before, order_after;
  for (const SiteVariable& variable : after.variables) {
    const SiteVariable* was = before.Find(variable.name);
    if (was == nullptr) {
      changes.push_back(fmt::format("{}: new, {}", Quote(variable.name),
                                    variable.hidden ? "hidden" : "visible for other sites"));
      continue;
    }
    order_after.push_back(variable.name);
    if (const std::vector<std::string> of = ChangesOf(*was, variable); !of.empty())
      changes.push_back(fmt::format("{}: {}", Quote(variable.name), Join(of, "; ")));
  }
  for (const SiteVariable& variable : before.variables) {
    if (after.Find(variable.name) == nullptr) {
      changes.push_back(fmt::format("{}: taken out{}", Quote(variable.name),
                                    variable.hidden ? ", and no longer hidden" : ""));
    } else {
      order_before.push_back(variable.name);
    }
  }
  if (order_before != order_after) changes.emplace_back("the variables are in another order");
  return changes;
}

std::vector<std::string> DifferencesFrom(const SiteDictionary& dictionary,
                                         const data::Schema& asked) {
  const data::Schema own = CompleteColumns(dictionary);
  std::vector<std::string> differences;
  for (const data::ColumnSchema& column : asked.columns) {
    if (column.type == data::ColumnType::kKey) continue;
    if (const data::ColumnSchema* ours = own.Find(column.name)) {
      AddDifferences(column, *ours, differences);
    } else if (dictionary.Find(column.name) == nullptr) {
      differences.push_back(Quote(column.name) + " is not in the dictionary");
    }
  }
  return differences;
}

std::vector<std::string> HiddenAmong(const SiteDictionary& dictionary,
                                     const std::vector<std::string>& columns) {
  std::vector<std::string> hidden;
  for (const std::string& column : columns) {
    const auto hides = [&](const SiteVariable& one) {
      return one.hidden && (SameColumn(one.name, column) || SameColumn(one.time, column) ||
                            SameColumn(one.event, column));
    };
    if (std::any_of(dictionary.variables.begin(), dictionary.variables.end(), hides))
      hidden.push_back(column);
  }
  return hidden;
}

}  // namespace partita::study
