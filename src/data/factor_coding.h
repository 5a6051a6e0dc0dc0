// How the levels of a model's factors became its columns: as public as the study file, and told with a
// result, so that whoever predicts codes rows in the same way.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "data/model_columns.h"

namespace partita::data {

struct FactorCoding {
  std::string name;      // as columns are named by it: "sex", "factor(k)"
  std::string variable;  // of the dictionary or of [[derived]]: "sex", "k"
  Contrasts contrasts = Contrasts::kTreatment;
  std::vector<std::string> levels;
  std::string reference;  // of treatment contrasts; of others empty: they have none
  struct Column {
    std::string name;            // a design column: "sex.male", "stage.L"
    std::vector<double> values;  // by level
  };
  std::vector<Column> columns;
};

// Of the factors with columns in the model, in the order of the formula; a stratum has none. factors: of
// FactorsOf.
std::vector<FactorCoding> FactorCodings(const ModelColumns& model, const Schema& factors);

// An array of objects: docs/schemas/result-parts.json, `factors`.
nlohmann::ordered_json FactorCodingsJson(const ModelColumns& model, const Schema& factors);

}  // namespace partita::data
