#include "methods/meta/own_model.h"

#include <fmt/format.h>

#include "base/error.h"
#include "data/suggest.h"

namespace partita::methods::meta {
namespace {

[[noreturn]] void RefuseModel(const std::string& what, const std::string& hint) {
  throw Error(ErrorCode::kBadInput, what, hint);
}

void SetOutcome(OwnModel& model, const std::string& text, const data::AtomColumns& columns) {
  const bool one = columns.columns.size() == 1;
  if (model.law.binary) {
    model.outcome_levels = columns.levels.has_value() && columns.levels->levels.size() == 2;
    if (!model.outcome_levels &&
        (columns.levels || !one || !data::IsZeroOne(columns.columns.front()))) {
      RefuseModel(
          fmt::format("the outcome {} is neither an integer from 0 to 1 nor a factor with two "
                      "levels",
                      text),
          "the second level of a factor is the event");
    }
    model.outcome = model.outcome_levels ? columns.levels->name : columns.columns[0].schema.name;
    return;
  }
  if (columns.levels || !one)
    RefuseModel(fmt::format("the outcome {} is not one number", text), "name a number");
  const data::ColumnSchema& schema = columns.columns.front().schema;
  const bool counts = schema.type == data::ColumnType::kInteger && schema.lower >= 0;
  if (model.law.family == stats::glm::Family::kPoisson && !counts) {
    RefuseModel(fmt::format("the outcome {} of family poisson is no count", text),
                "it is an integer with a lower bound of at least 0");
  }
  model.outcome = schema.name;
  model.outcome_lower = schema.lower;
  model.outcome_upper = schema.upper;
}

}  // namespace

const std::vector<std::string>& FamilyNames() {
  static const std::vector<std::string> names = {"binomial", "poisson", "gaussian"};
  return names;
}

OwnModel OwnModelOf(const std::string& family, const std::string& text, const std::string& term,
                    const data::Schema& dictionary,
                    std::span<const data::DerivedVariable> derived) {
  const data::Formula formula = data::ParseFormula(text);
  data::FormulaColumns columns(dictionary, derived);
  const data::AtomColumns outcome = columns.ColumnsOf(formula.outcome);
  OwnModel model;
  static_cast<data::ModelColumns&>(model) = columns.Build(formula, outcome.columns, 1, false);
  model.law = stats::glm::LawByName(family);
  model.formula = text;
  SetOutcome(model, formula.outcome.text, outcome);
  model.variables = data::VariablesOf(dictionary, outcome.columns, model.covariates);
  std::vector<std::string> names;
  for (const data::ModelColumn& column : model.columns) names.push_back(column.name);
  while (model.term < names.size() && names[model.term] != term) ++model.term;
  if (model.term == names.size()) {
    std::string all;
    for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
    RefuseModel(fmt::format("the model has no column '{}'", term),
                data::SuggestionHint(term, names) + "; its columns are " + all);
  }
  return model;
}

}  // namespace partita::methods::meta
