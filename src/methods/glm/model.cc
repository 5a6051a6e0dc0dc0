#include "methods/glm/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace partita::methods::glm {
namespace {

using data::ColumnSchema;
using data::IsZeroOne;
using stats::glm::Family;

constexpr double kMostOutcome = 1e6;

[[noreturn]] void RefuseModel(const std::string& what, const std::string& hint) {
  throw Error(ErrorCode::kBadInput, what, hint);
}

// columns: of the outcome.
void SetOutcome(Spec& spec, const data::FormulaAtom& atom, const data::AtomColumns& columns,
                bool intercept) {
  Outcome& outcome = spec.outcome;
  const std::string family(FamilyName(spec.law));
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
  if (spec.law.family == Family::kPoisson && !counts) {
    RefuseModel(fmt::format("the outcome {} of family poisson is no count", atom.text),
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

}  // namespace

Spec ModelOf(const stats::glm::Law& law, const std::string& text, const data::Schema& dictionary,
             std::span<const data::DerivedVariable> derived) {
  const data::Formula formula = data::ParseFormula(text);
  data::FormulaColumns columns(dictionary, derived);
  Spec spec;
  spec.law = law;
  spec.formula = text;
  const data::AtomColumns outcome = columns.ColumnsOf(formula.outcome);
  SetOutcome(spec, formula.outcome, outcome, formula.intercept);
  static_cast<data::ModelColumns&>(spec) =
      columns.Build(formula, outcome.columns, spec.outcome.scale, false);
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
  spec.sites = sites;
}

}  // namespace partita::methods::glm
