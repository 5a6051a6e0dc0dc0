// A generalised linear model as a study file asks for it. All of it is public.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/design.h"
#include "stats/glm/family.h"
#include "study/file/study_file.h"

namespace partita::methods::glm {

inline constexpr char kMethodName[] = "glm";
inline constexpr uint32_t kMethodVersion = 1;
// Levels: what opens on the way.
inline constexpr char kIterates[] = "iterates", kAggregates[] = "aggregates";
inline constexpr char kEstimates[] = "estimates";  // what it releases, as study files name it

// A column of the design: the product of its parts, divided by `scale`, so that it is in [-1, 1].
struct ModelColumn {
  std::string name;                // "age", "sex.male:age"; "(Intercept)"
  std::vector<std::string> parts;  // design columns (data/design.h); none: ones
  double scale = 1;                // the largest magnitude of the product
  bool zero_one = false;
};

// A number that follows from a column of the table: (value - centre) / scale.
struct Outcome {
  std::string name;     // of the design column, or of a factor with two levels
  bool levels = false;  // 1 where the code is 1
  double centre = 0, scale = 1;
  double lower = 0, upper = 1;  // of the scaled number
};

// A term of several columns, which is tested as a whole.
struct ModelTerm {
  std::string name;             // as in the formula
  std::vector<size_t> columns;  // of Spec::columns
};

// Of what the standard errors are (stats/glm/robust.h): of the model; of the rows, as they are or
// times sqrt(n / (n - p)); of the clusters, times sqrt(G / (G - 1)).
enum class Errors { kModel, kRobust, kRobustAdjusted, kCluster };

struct Spec {
  stats::glm::Law law;
  std::string formula;
  bool intercept = true;
  Outcome outcome;
  std::vector<ModelColumn> columns;  // the intercept first
  std::vector<ModelTerm> terms;      // those of several columns
  std::vector<std::string> offsets;  // design columns, added up and divided by outcome.scale
  double offset_lower = 0, offset_upper = 0;  // after that division

  Errors errors = Errors::kModel;
  std::string weights;  // a variable of the dictionary; empty: none
  study::WeightsKind weights_kind = study::WeightsKind::kNone;
  double most_weight = 1;  // upper bound of the variable
  std::string cluster;     // the same
  uint64_t sites = 0;      // intercepts of holders' own (stats/glm/sites.h), in the place of one

  // What is counted before anything opens.
  std::vector<std::string> factors;   // with levels
  std::vector<std::string> binaries;  // 0/1 design columns of integers
  std::vector<size_t> products;       // columns that are products of 0/1 columns

  std::vector<data::DerivedVariable> made;     // by functions of the formula
  std::vector<data::DesignColumn> covariates;  // that the columns and offsets are made of
  std::vector<std::string> variables;          // of the dictionary, the outcome's included

  double ridge = 0;         // for each row; of columns in [-1, 1]
  bool aggregates = false;  // the level; else iterates
  int steps = 3;            // after the first point
  double confidence = 0.95;
  bool told_to_all = false;  // estimates open to all anyway; their errors and the fit then, too

  size_t num_coefficients() const { return columns.size() + sites; }
  bool robust() const { return errors != Errors::kModel; }
  bool clustered() const { return errors == Errors::kCluster; }
  bool copies() const { return weights_kind == study::WeightsKind::kFrequency; }
  // Weights of other kinds are divided by the largest that there can be.
  double weight_unit() const { return copies() || weights.empty() ? 1 : most_weight; }
};

}  // namespace partita::methods::glm
