#include "data/factor_coding.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "data/contrasts.h"

namespace partita::data {
namespace {

using Json = nlohmann::ordered_json;

// As study files name them.
const char* ContrastsName(Contrasts contrasts) {
  switch (contrasts) {
    case Contrasts::kTreatment:
      return "treatment";
    case Contrasts::kSum:
      return "sum";
    case Contrasts::kPolynomial:
      return "polynomial";
    case Contrasts::kScores:
      return "scores";
  }
  throw Error(ErrorCode::kInternal, "unknown contrasts");
}

// factor(k) is made of k; any other factor is a variable itself.
std::string VariableOf(const ModelColumns& model, const std::string& factor) {
  const auto made = std::ranges::find(model.made, factor, &DerivedVariable::name);
  return made == model.made.end() ? factor : made->from;
}

}  // namespace

std::vector<FactorCoding> FactorCodings(const ModelColumns& model, const Schema& factors) {
  std::vector<FactorCoding> codings;
  for (const std::string& name : model.factors) {
    const ColumnSchema& factor = *factors.Find(name);
    FactorCoding coding{name, VariableOf(model, name), factor.contrasts, factor.levels, "", {}};
    for (ContrastColumn& column : ContrastColumns(factor))
      coding.columns.push_back({name + column.suffix, std::move(column.values)});
    const bool in_model = std::ranges::any_of(model.covariates, [&](const DesignColumn& column) {
      return column.schema.name == coding.columns.front().name;
    });
    if (!in_model) continue;
    if (factor.contrasts == Contrasts::kTreatment)
      coding.reference = factor.reference.empty() ? factor.levels.front() : factor.reference;
    codings.push_back(std::move(coding));
  }
  return codings;
}

Json FactorCodingsJson(const ModelColumns& model, const Schema& factors) {
  Json json = Json::array();
  for (const FactorCoding& coding : FactorCodings(model, factors)) {
    Json columns = Json::array();
    for (const FactorCoding::Column& column : coding.columns)
      columns.push_back({{"name", column.name}, {"values", column.values}});
    json.push_back({{"name", coding.name},
                    {"variable", coding.variable},
                    {"contrasts", ContrastsName(coding.contrasts)},
                    {"levels", coding.levels},
                    {"reference", coding.reference.empty() ? Json() : Json(coding.reference)},
                    {"columns", std::move(columns)}});
  }
  return json;
}

}  // namespace partita::data
