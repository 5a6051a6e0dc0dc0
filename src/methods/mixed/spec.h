// A model with a random intercept as a study file asks for it. All of it is public.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/model_columns.h"
#include "stats/glm/family.h"
#include "stats/mixed/random_intercept.h"

namespace partita::methods::mixed {

inline constexpr char kMethodName[] = "mixed";
inline constexpr uint32_t kMethodVersion = 2;  // 2: families
// Levels: of a linear model with a random intercept nothing opens on the way, of others points do.
inline constexpr char kSealed[] = "sealed", kIterates[] = "iterates";
inline constexpr char kEstimates[] = "estimates";    // what it releases, as study files name it
inline constexpr char kCovariance[] = "covariance";  // the key, and as envelopes name what opens
inline constexpr char kReml[] = "REML", kMl[] = "ML", kLaplace[] = "Laplace";
// The word in (1 | site): every holder is a group.
inline constexpr char kSite[] = "site";
// Beside the intercept a fit says two things of the sites' means: that they vary by lambda, and that
// their weighted sum is 0. So of three sites one solves for the other two; of five any two that pool
// what they know are left with three unknown means.
inline constexpr uint64_t kFewestSites = 5;
inline constexpr uint64_t kFewestRowsOfSite = 5;
inline constexpr uint64_t kFewestGroups = 3;

// The outcome of a linear model is (value - centre) / scale, in [-1, 1]; of others it is 0 or 1, or a count.
struct Spec : data::ModelColumns {
  stats::glm::Law law;  // gaussian, binomial with the logit, poisson with the log
  std::string formula;
  std::string outcome;          // a design column, or a factor with two levels
  bool outcome_levels = false;  // 1 where the code is 1
  double centre = 0, scale = 1;
  double lower = 0, upper = 1;         // of an outcome that is not scaled
  std::optional<size_t> slope;         // the column whose coefficient differs between groups
  std::string group;                   // a variable of the dictionary; empty: sites
  std::vector<std::string> variables;  // of the dictionary: outcome, covariates, group
  stats::mixed::Criterion criterion = stats::mixed::Criterion::kReml;
  int steps = 6;  // where points open: after the first
  double confidence = 0.95;
  bool covariance = false;  // of the coefficients opens, in the place of their standard errors
  bool told_to_all = false;

  bool linear() const { return law.family == stats::glm::Family::kGaussian; }
  // Whether points open on the way: of models that are not linear, and of those with a slope.
  bool by_path() const { return !linear() || slope; }
  bool binary() const { return law.family == stats::glm::Family::kBinomial; }
  const char* level() const { return by_path() ? kIterates : kSealed; }
  bool by_site() const { return group.empty(); }
  bool reml() const { return criterion == stats::mixed::Criterion::kReml; }
  std::string group_name() const { return by_site() ? kSite : group; }
};

}  // namespace partita::methods::mixed
