#include "methods/mixed/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "data/suggest.h"
#include "methods/mixed/random_term.h"

namespace partita::methods::mixed {
namespace {

using data::ColumnSchema;
using data::ColumnType;

// More columns than that cost more than they are worth: the profile is computed at hundreds of points.
constexpr size_t kMostMixedColumns = 20;
constexpr double kMostCount = 1e6;

[[noreturn]] void RefuseMixed(const std::string& what, const std::string& hint) {
  throw Error(ErrorCode::kBadInput, what, hint);
}

void SetOutcome(Spec& spec, const data::FormulaAtom& atom, const data::AtomColumns& columns,
                bool intercept) {
  if (columns.levels.has_value() || columns.columns.size() != 1) {
    RefuseMixed(fmt::format("the outcome {} is not one number", atom.text),
                spec.linear() ? "a linear model has a number as its outcome; for two levels take "
                                "family = \"binomial\""
                              : "family poisson has a count as its outcome");
  }
  const ColumnSchema& schema = columns.columns.front().schema;
  spec.outcome = schema.name;
  if (!spec.linear()) {
    spec.lower = schema.lower;
    spec.upper = std::max(schema.upper, 1.0);
    if (schema.type == ColumnType::kInteger && schema.lower >= 0 && schema.upper <= kMostCount)
      return;
    RefuseMixed(fmt::format("the outcome {} of family poisson is no count", atom.text),
                fmt::format("it is an integer with bounds from 0 to {} at most", kMostCount));
  }
  spec.centre = intercept ? schema.lower + (schema.upper - schema.lower) / 2 : 0;
  spec.scale = std::max(std::abs(schema.lower - spec.centre), std::abs(schema.upper - spec.centre));
}

void SetBinaryOutcome(Spec& spec, const data::FormulaAtom& atom, const data::AtomColumns& columns) {
  const bool two = columns.levels.has_value() && columns.levels->levels.size() == 2;
  if (!two && (columns.levels || columns.columns.size() != 1 ||
               !data::IsZeroOne(columns.columns.front()))) {
    RefuseMixed(fmt::format("the outcome {} of family binomial is neither an integer from 0 to 1 "
                            "nor a factor with two levels",
                            atom.text),
                "the second level of a factor is the event; others are cut into two levels by "
                "[[derived]]");
  }
  spec.outcome_levels = two;
  spec.outcome = two ? columns.levels->name : columns.columns.front().schema.name;
}

void SetGroup(Spec& spec, const std::string& name, const data::Schema& dictionary) {
  const ColumnSchema* variable = dictionary.Find(name);
  if (variable == nullptr && name == kSite) return;
  if (variable == nullptr) {
    std::vector<std::string> names = {kSite};
    for (const ColumnSchema& column : dictionary.columns) names.push_back(column.name);
    RefuseMixed(fmt::format("the group '{}' is no [[variable]]", name),
                data::SuggestionHint(name, names) +
                    "; (1 | site) makes every holder a group without a variable");
  }
  if (!data::HasLevels(variable->type) && variable->type != ColumnType::kInteger) {
    RefuseMixed(fmt::format("the group '{}' is neither an integer nor a factor", name),
                "number the groups, and give them type = \"integer\" with bounds");
  }
  spec.group = name;
}

// The slope's column, which has a coefficient of its own: groups differ from it.
void SetSlope(Spec& spec, const std::string& name) {
  if (name.empty()) return;
  if (!spec.linear()) {
    RefuseMixed("random slopes are of linear models alone",
                fmt::format("write (1 | {})", spec.group_name()));
  }
  if (spec.by_site()) {
    RefuseMixed("sites as groups have no random slopes",
                "name a variable whose values are the groups, or take method = \"glm\" with an "
                "interaction");
  }
  std::vector<std::string> names;
  for (size_t c = spec.intercept ? 1 : 0; c < spec.columns.size(); ++c) {
    names.push_back(spec.columns[c].name);
    if (names.back() == name) spec.slope = c;
  }
  if (spec.slope) return;
  RefuseMixed(fmt::format("the random slope {} is no column of the model", name),
              data::SuggestionHint(name, names) +
                  "; a slope is a number or a 0/1 variable that is a fixed effect, too");
}

}  // namespace

Spec ModelOf(const stats::glm::Law& law, const std::string& text, const data::Schema& dictionary,
             std::span<const data::DerivedVariable> derived) {
  const SplitFormula split = SplitRandomTerm(text);
  const data::Formula formula = data::ParseFormula(split.fixed);
  data::FormulaColumns columns(dictionary, derived);
  Spec spec;
  spec.law = law;
  spec.formula = text;
  const data::AtomColumns outcome = columns.ColumnsOf(formula.outcome);
  if (spec.binary()) {
    SetBinaryOutcome(spec, formula.outcome, outcome);
  } else {
    SetOutcome(spec, formula.outcome, outcome, formula.intercept);
  }
  if (!formula.offsets.empty()) {
    RefuseMixed("offsets of a mixed model are not here",
                spec.linear() ? "subtract the offset from the outcome before"
                              : "leave it out, or take method = \"glm\" without groups");
  }
  static_cast<data::ModelColumns&>(spec) =
      columns.Build(formula, outcome.columns, spec.scale, false);
  spec.terms.clear();  // covariances of estimates do not open
  if (spec.columns.size() > kMostMixedColumns) {
    RefuseMixed(fmt::format("the model has {} columns, more than {}", spec.columns.size(),
                            kMostMixedColumns),
                "leave terms out, or join levels (transform = \"cut\" in [[derived]])");
  }
  SetGroup(spec, split.group, dictionary);
  SetSlope(spec, split.slope);
  if (!spec.linear() && spec.by_site()) {
    RefuseMixed("(1 | site) is of linear models alone",
                "name a variable whose values are the groups, or take method = \"glm\" with "
                "site = \"fixed\"");
  }
  spec.variables = data::VariablesOf(dictionary, outcome.columns, spec.covariates);
  const bool known =
      std::find(spec.variables.begin(), spec.variables.end(), spec.group) != spec.variables.end();
  if (!spec.by_site() && !known) spec.variables.push_back(spec.group);
  return spec;
}

}  // namespace partita::methods::mixed
