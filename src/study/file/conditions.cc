// The key `subset` of [population] and [[analysis]].
#include <array>

#include "study/file/sections.h"
#include "study/file/text.h"

namespace partita::study {
namespace {

using Kind = data::Condition::Kind;

constexpr std::string_view kConditionExample = "{variable = \"age\", at_least = 18}";

struct NamedKind {
  const char* key;
  Kind kind;
};
constexpr std::array<NamedKind, 7> kKinds = {{{"is", Kind::kIs},
                                              {"is_not", Kind::kIsNot},
                                              {"at_least", Kind::kAtLeast},
                                              {"at_most", Kind::kAtMost},
                                              {"above", Kind::kAbove},
                                              {"below", Kind::kBelow},
                                              {"present", Kind::kPresent}}};

std::vector<std::string> ConditionKeys() {
  std::vector<std::string> keys = {"variable"};
  for (const NamedKind& named : kKinds) keys.emplace_back(named.key);
  return keys;
}

// The one key beside `variable`.
const NamedKind& FindKind(const TableReader& entry) {
  const NamedKind* found = nullptr;
  for (const NamedKind& named : kKinds) {
    if (!entry.Has(named.key)) continue;
    if (found != nullptr) {
      entry.Fail(entry.PositionOf(named.key),
                 "a condition has '" + std::string(found->key) + "' and '" + named.key + "'",
                 "write one entry for each: rows must satisfy all entries of 'subset'");
    }
    found = &named;
  }
  if (found == nullptr) {
    entry.Fail(entry.position(), "a condition does not say what must hold",
               "beside 'variable' write one of: is, is_not, at_least, at_most, above, below, "
               "present = true");
  }
  return *found;
}

void ReadPresent(const TableReader& entry) {
  if (*entry.OptionalBool("present")) return;
  entry.Fail(entry.PositionOf("present"), "'present' can only be true",
             "rows cannot be chosen because a value is missing; leave the entry out");
}

data::Condition ReadCondition(const TableReader& entry, const data::Schema& dictionary,
                              const std::vector<data::DerivedVariable>& derived) {
  const LocatedText name = entry.Text("variable", "variable = \"age\"");
  for (const data::DerivedVariable& other : derived) {
    if (other.name != name.value) continue;
    entry.Fail(name.position, Quote(other.name) + " is a derived variable",
               "rows are chosen by variables of the dictionary: write the condition on " +
                   Quote(other.from));
  }
  const data::ColumnSchema& variable = FindVariable(entry, name, "variable", dictionary);
  const NamedKind& named = FindKind(entry);
  data::Condition condition;
  condition.variable = variable.name;
  condition.kind = named.kind;
  const bool has_levels = data::HasLevels(variable.type);
  if (named.kind == Kind::kPresent) {
    ReadPresent(entry);
  } else if (variable.type == data::ColumnType::kSurvival) {
    // No value to read: ValidateCondition says what is possible.
  } else if (has_levels) {
    for (const LocatedText& level : entry.TextOrTexts(named.key)) {
      condition.levels.push_back(level.value);
    }
  } else {
    if (entry.IsList(named.key)) {
      entry.Fail(entry.PositionOf(named.key), "a list of values for " + Quote(variable.name),
                 "a number or date is compared with one value; lists are for the levels of "
                 "factors");
    }
    condition.is_date = variable.type == data::ColumnType::kDate;
    condition.number = entry.OptionalValue(named.key, condition.is_date)->value;
  }
  try {
    data::ValidateCondition(condition, dictionary);
  } catch (const Error& error) {
    FailWith(entry, entry.PositionOf(named.key), error);
  }
  return condition;
}

}  // namespace

std::string ConditionsText(const std::vector<data::Condition>& conditions) {
  std::string text;
  for (const data::Condition& condition : conditions)
    text += (text.empty() ? "" : " and ") + data::ConditionText(condition);
  return text;
}

std::vector<data::Condition> ReadSubset(const TableReader& reader, const data::Schema& dictionary,
                                        const std::vector<data::DerivedVariable>& derived) {
  static const std::vector<std::string> kKeys = ConditionKeys();
  std::vector<data::Condition> conditions;
  for (const TableReader& entry : reader.Entries("subset", kKeys, kConditionExample)) {
    conditions.push_back(ReadCondition(entry, dictionary, derived));
    for (size_t i = 0; i + 1 < conditions.size(); ++i) {
      if (conditions[i] != conditions.back()) continue;
      entry.Fail(entry.position(),
                 "the condition '" + data::ConditionText(conditions[i]) + "' is there twice",
                 "remove one of them");
    }
  }
  return conditions;
}

}  // namespace partita::study
