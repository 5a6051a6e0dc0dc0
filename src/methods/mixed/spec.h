// A linear model with a random intercept as a study file asks for it. All of it is public.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/model_columns.h"
#include "stats/mixed/random_intercept.h"

namespace partita::methods::mixed {

inline constexpr char kMethodName[] = "mixed";
inline constexpr uint32_t kMethodVersion = 1;
inline constexpr char kSealed[] = "sealed";        // its level: nothing opens on the way
inline constexpr char kEstimates[] = "estimates";  // what it releases, as study files name it
inline constexpr char kReml[] = "REML", kMl[] = "ML";
// The word in (1 | site): every holder is a group.
inline constexpr char kSite[] = "site";
// Beside the intercept a fit says two things of the sites' means: that they vary by lambda, and that
// their weighted sum is 0. So of three sites one solves for the other two; of five any two that pool
// what they know are left with three unknown means.
inline constexpr uint64_t kFewestSites = 5;
inline constexpr uint64_t kFewestRowsOfSite = 5;
inline constexpr uint64_t kFewestGroups = 3;

// The outcome is (value - centre) / scale, in [-1, 1].
struct Spec : data::ModelColumns {
  std::string formula;
  std::string outcome;  // a design column
  double centre = 0, scale = 1;
  std::string group;                   // a variable of the dictionary; empty: sites
  std::vector<std::string> variables;  // of the dictionary: outcome, covariates, group
  stats::mixed::Criterion criterion = stats::mixed::Criterion::kReml;
  double confidence = 0.95;
  bool told_to_all = false;

  bool by_site() const { return group.empty(); }
  bool reml() const { return criterion == stats::mixed::Criterion::kReml; }
  std::string group_name() const { return by_site() ? kSite : group; }
};

}  // namespace partita::methods::mixed
