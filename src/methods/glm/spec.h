// A generalised linear model as a study file asks for it. All of it is public.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/model_columns.h"
#include "stats/glm/family.h"
#include "study/file/study_file.h"

namespace partita::methods::glm {

inline constexpr char kMethodName[] = "glm";
inline constexpr uint32_t kMethodVersion =
    6;  // 6: errors of clusters and risk groups at level sealed
// Levels: what opens on the way.
inline constexpr char kIterates[] = "iterates", kAggregates[] = "aggregates", kSealed[] = "sealed";
inline constexpr char kEstimates[] = "estimates";  // what it releases, as study files name it

// A number that follows from a column of the table: (value - centre) / scale.
struct Outcome {
  std::string name;     // of the design column, or of a factor with two levels
  bool levels = false;  // 1 where the code is 1
  double centre = 0, scale = 1;
  double lower = 0, upper = 1;            // of the scaled number
  std::vector<std::string> classes = {};  // levels of an ordinal or multinomial outcome
};

// A number of a point (NumParameters of stats/glm/family.h): what is estimated is it times
// outcome.scale / scale.
struct Parameter {
  std::string name;  // of its column; "mild: age" of a level; "mild|severe", a cut point
  double scale = 1;
  bool effect = true;  // of a column; not an intercept, cut point or log(theta)
};

// Of what the standard errors are (stats/glm/robust.h): of the model; of the rows, as they are or
// times sqrt(n / (n - p)); of the clusters, times sqrt(G / (G - 1)).
enum class Errors { kModel, kRobust, kRobustAdjusted, kCluster };

// Offsets are divided by outcome.scale.
struct Spec : data::ModelColumns {
  stats::glm::Law law;
  std::string formula;
  Outcome outcome;
  Errors errors = Errors::kModel;
  std::string weights;  // a variable of the dictionary; empty: none
  study::WeightsKind weights_kind = study::WeightsKind::kNone;
  std::vector<Parameter> parameters;
  double most_weight = 1;  // upper bound of the variable
  std::string cluster;     // the same
  uint64_t sites = 0;      // intercepts of holders' own (stats/glm/sites.h), in the place of one

  std::vector<std::string> variables;  // of the dictionary, the outcome's included

  double ridge = 0;                  // for each row; of columns in [-1, 1]
  bool firth = false;                // Firth's penalty (stats/glm/firth.h)
  std::vector<double> lasso;         // penalties, falling; for each row; of columns in [-1, 1]
  std::vector<double> cuts;          // of predicted probabilities (risk.h)
  std::vector<std::string> dropped;  // terms that a smaller model lacks (nested.h)
  std::vector<std::string> kept;     // names of its columns
  bool aggregates = false, sealed = false;  // the level; else iterates
  int steps = 3;                            // after the first point, of all penalties of a lasso
  double confidence = 0.95;
  bool covariance = false;   // of the estimates opens, in the place of standard errors
  bool told_to_all = false;  // estimates open to all anyway; their errors and the fit then, too

  size_t num_coefficients() const { return parameters.size() + sites; }
  const char* level() const { return sealed ? kSealed : aggregates ? kAggregates : kIterates; }
  bool robust() const { return errors != Errors::kModel; }
  bool clustered() const { return errors == Errors::kCluster; }
  // Whether each holder has its clusters whole and counts them; at level sealed sealed/clusters.h does.
  bool counts_clusters() const { return clustered() && !sealed; }
  // Those of level sealed are counted as sealed/clusters.h says.
  bool seals_clusters() const { return clustered() && sealed; }
  bool copies() const { return weights_kind == study::WeightsKind::kFrequency; }
  // Weights of other kinds are divided by the largest that there can be.
  double weight_unit() const { return copies() || weights.empty() ? 1 : most_weight; }
};

}  // namespace partita::methods::glm
