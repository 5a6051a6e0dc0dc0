#include "methods/glm/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "stats/glm/ordinal.h"

namespace partita::methods::glm {
namespace {

using data::ColumnSchema;
using data::IsZeroOne;
using stats::glm::Family;

constexpr double kMostOutcome = 1e6;

[[noreturn]] void RefuseModel(const std::string& what, const std::string& hint) {
  throw Error(ErrorCode::kBadInput, what, hint);
}

void SetClasses(Spec& spec, const data::FormulaAtom& atom, const data::AtomColumns& columns) {
  constexpr size_t kFewestClasses = 3;
  if (!columns.levels || columns.levels->levels.size() < kFewestClasses) {
    RefuseModel(fmt::format("the outcome {} of family {} is no factor with {} levels or more",
                            atom.text, FamilyName(spec.law), kFewestClasses),
                "of an integer write factor(..), cut a number by [[derived]]; for two levels take "
                "family = \"binomial\"");
  }
  spec.outcome.levels = true;
  spec.outcome.name = columns.levels->name;
  spec.outcome.classes = columns.levels->levels;
  spec.law.classes = columns.levels->levels.size();
}

// Of a multinomial outcome every term has a coefficient for each level but the first.
void SetTermsOfLevels(Spec& spec) {
  std::vector<data::ModelTerm> terms;
  const size_t p = spec.columns.size();
  for (size_t c = 0; c < p; ++c) {
    const auto of_several = [&](const data::ModelTerm& term) {
      return std::find(term.columns.begin(), term.columns.end(), c) != term.columns.end();
    };
    const auto found = std::find_if(spec.terms.begin(), spec.terms.end(), of_several);
    const bool alone = found == spec.terms.end();
    if (spec.columns[c].parts.empty() || (!alone && found->columns.front() != c)) continue;
    data::ModelTerm term = alone ? data::ModelTerm{spec.columns[c].name, {c}} : *found;
    const std::vector<size_t> columns = term.columns;
    for (size_t k = 2; k < spec.law.classes; ++k) {
      for (const size_t column : columns) term.columns.push_back(column + p * (k - 1));
    }
    terms.push_back(std::move(term));
  }
  spec.terms = std::move(terms);
}

// columns: of the outcome.
void SetOutcome(Spec& spec, const data::FormulaAtom& atom, const data::AtomColumns& columns,
                bool intercept) {
  Outcome& outcome = spec.outcome;
  const std::string family(FamilyName(spec.law));
  if (spec.law.family == Family::kOrdinal || spec.law.family == Family::kMultinomial) {
    SetClasses(spec, atom, columns);
    return;
  }
  if (spec.law.binary) {
    const bool two = columns.levels.has_value() && columns.levels->levels.size() == 2;
    const bool binary =
        !columns.levels && columns.columns.size() == 1 && IsZeroOne(columns.columns.front());
    if (!two && !binary) {
      RefuseModel(fmt::format("the outcome {} of family {} is neither an integer from 0 to "
                              "1 nor a factor with two levels",
                              atom.text, family),
                  "the second level of a factor is the event; others are cut into two levels by "
                  "[[derived]]");
    }
    outcome.levels = two;
    outcome.name = two ? columns.levels->name : columns.columns.front().schema.name;
    return;
  }
  if (columns.levels.has_value() || columns.columns.size() != 1) {
    RefuseModel(fmt::format("the outcome {} is not one number", atom.text),
                fmt::format("family {} has a number as its outcome", family));
  }
  const ColumnSchema& schema = columns.columns.front().schema;
  outcome.name = schema.name;
  if (spec.law.family == Family::kGaussian) {
    outcome.centre = intercept ? schema.lower + (schema.upper - schema.lower) / 2 : 0;
    outcome.scale =
        std::max(std::abs(schema.lower - outcome.centre), std::abs(schema.upper - outcome.centre));
  }
  outcome.lower = (schema.lower - outcome.centre) / outcome.scale;
  outcome.upper = (schema.upper - outcome.centre) / outcome.scale;
  const bool counts = schema.type == data::ColumnType::kInteger && schema.lower >= 0;
  const bool of_counts =
      spec.law.family == Family::kPoisson || spec.law.family == Family::kNegativeBinomial;
  if (of_counts && !counts) {
    RefuseModel(fmt::format("the outcome {} of family {} is no count", atom.text, family),
                "it is an integer with a lower bound of at least 0");
  }
  if (spec.law.family == Family::kGamma && schema.lower <= 0) {
    RefuseModel(
        fmt::format("the outcome {} of family gamma can be as low as {}", atom.text, schema.lower),
        "give it a lower bound above 0");
  }
  if (spec.law.family != Family::kGaussian && schema.upper > kMostOutcome) {
    RefuseModel(fmt::format("the outcome {} can be as high as {}", atom.text, schema.upper),
                fmt::format("give it an upper bound of at most {}", kMostOutcome));
  }
}

// Terms by their texts, as "a:b".
void Drop(data::Formula& formula, std::span<const std::string> dropped) {
  const auto text_of = [](const data::FormulaTerm& term) {
    std::string text;
    for (const data::FormulaAtom& atom : term) text += (text.empty() ? "" : ":") + atom.text;
    return text;
  };
  for (const std::string& name : dropped) {
    const auto found = std::find_if(formula.terms.begin(), formula.terms.end(),
                                    [&](const auto& term) { return text_of(term) == name; });
    if (found == formula.terms.end()) {
      std::string names;
      for (const data::FormulaTerm& term : formula.terms)
        names += (names.empty() ? "" : ", ") + text_of(term);
      RefuseModel(fmt::format("the formula has no term '{}'", name), "its terms are " + names);
    }
    formula.terms.erase(found);
  }
}

}  // namespace

void SetParameters(Spec& spec) {
  spec.parameters.clear();
  const bool multinomial = spec.law.family == Family::kMultinomial;
  const std::vector<std::string>& classes = spec.outcome.classes;
  for (size_t k = multinomial ? 1 : 0; k < (multinomial ? classes.size() : 1); ++k) {
    for (const data::ModelColumn& column : spec.columns) {
      spec.parameters.push_back({multinomial ? classes[k] + ": " + column.name : column.name,
                                 column.scale, !column.parts.empty()});
    }
  }
  if (spec.law.family == Family::kNegativeBinomial)
    spec.parameters.push_back({"log(theta)", 1, false});
  for (size_t k = 0; spec.law.family == Family::kOrdinal && k + 1 < classes.size(); ++k) {
    spec.parameters.push_back({classes[k] + "|" + classes[k + 1], stats::glm::kCutScale, false});
  }
  if (spec.parameters.size() > data::kMostModelColumns) {
    RefuseModel(fmt::format("the model has {} coefficients", spec.parameters.size()),
                fmt::format("take fewer terms, or join levels of the outcome: at most {}",
                            data::kMostModelColumns));
  }
}

Spec ModelOf(const stats::glm::Law& law, const std::string& text, const data::Schema& dictionary,
             std::span<const data::DerivedVariable> derived, std::span<const std::string> dropped) {
  data::Formula formula = data::ParseFormula(text);
  Drop(formula, dropped);
  data::FormulaColumns columns(dictionary, derived);
  Spec spec;
  spec.law = law;
  spec.formula = text;
  const data::AtomColumns outcome = columns.ColumnsOf(formula.outcome);
  SetOutcome(spec, formula.outcome, outcome, formula.intercept);
  static_cast<data::ModelColumns&>(spec) =
      columns.Build(formula, outcome.columns, spec.outcome.scale, law.family == Family::kOrdinal);
  if (law.family == Family::kOrdinal && (!spec.intercept || spec.columns.empty())) {
    RefuseModel(
        "a model of proportional odds without a term, or without its cut points",
        "leave out \"- 1\" and \"0 +\", and name a column: cut points stand for the intercept");
  }
  if (law.family == Family::kMultinomial) {
    if (!spec.offsets.empty()) {
      RefuseModel("a multinomial model has no offset",
                  "leave it out: it would have to say for which level it is");
    }
    SetTermsOfLevels(spec);
  }
  SetParameters(spec);
  if (law.binary && law.link == stats::glm::Link::kLog && !spec.intercept &&
      law.family == Family::kBinomial) {
    RefuseModel(
        "a binomial model with the link log has no intercept",
        "keep the intercept: probabilities are at most 1, and the fit starts at their mean");
  }
  spec.variables = data::VariablesOf(dictionary, outcome.columns, spec.covariates);
  return spec;
}

void TakeSiteEffects(Spec& spec, uint64_t sites) {
  if (!spec.intercept || spec.columns.size() < 2) {
    RefuseModel(
        "effects of sites need a model with an intercept, and a term",
        "leave out \"- 1\" and \"0 +\": each site has an intercept of its own in its place");
  }
  spec.columns.erase(spec.columns.begin());
  for (size_t& column : spec.products) --column;
  for (data::ModelTerm& term : spec.terms) {
    for (size_t& column : term.columns) --column;
  }
  SetParameters(spec);
  spec.sites = sites;
}

}  // namespace partita::methods::glm
