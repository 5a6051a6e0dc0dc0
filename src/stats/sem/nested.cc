#include "stats/sem/nested.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "stats/sem/fit_measures.h"

namespace partita::stats {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

void RequireComparable(const std::vector<ComparedModel>& models) {
  if (models.size() < 2) {
    throw Error(ErrorCode::kBadInput, "a comparison needs two models at least",
                "name the results of two or more nested models");
  }
  for (const ComparedModel& model : models) {
    const ComparedModel& first = models.front();
    if (model.num_rows != first.num_rows || model.num_groups != first.num_groups) {
      throw Error(ErrorCode::kBadInput,
                  fmt::format("'{}' was fitted to {} rows in {} groups, '{}' to {} in {}",
                              first.name, first.num_rows, first.num_groups, model.name,
                              model.num_rows, model.num_groups),
                  "compare models that were fitted to the same rows");
    }
    if ((model.scaling_factor != 1) == (first.scaling_factor != 1)) continue;
    throw Error(
        ErrorCode::kBadInput,
        fmt::format("only one of '{}' and '{}' has a scaled chi-square", first.name, model.name),
        "fit all models with robust = true, or none");
  }
}

ModelDifference DifferenceOf(const ComparedModel& wide, const ComparedModel& narrow, bool scaled) {
  ModelDifference difference;
  difference.df = narrow.df - wide.df;
  difference.chisq = narrow.chisq - wide.chisq;
  difference.rmsea = kNaN;
  if (!(difference.df > 0)) {
    difference.p_value = kNaN;
    return difference;
  }
  if (scaled) {
    const double c =
        (narrow.df * narrow.scaling_factor - wide.df * wide.scaling_factor) / difference.df;
    difference.chisq = c > 0 ? difference.chisq / c : kNaN;
  } else {
    const double excess = std::max(difference.chisq - difference.df, 0.0);
    difference.rmsea = std::sqrt(excess / (difference.df * narrow.num_rows) * narrow.num_groups);
  }
  difference.p_value = ChiSquareTail(difference.chisq, difference.df);
  return difference;
}

}  // namespace

ComparedModel ComparedModelOf(const std::string& name, const SemFit& fit, const RobustFit* robust,
                              size_t num_groups) {
  const auto measure = [&](const char* of) {
    const auto found = fit.fit_measures.find(of);
    return found == fit.fit_measures.end() ? kNaN : found->second;
  };
  ComparedModel model;
  model.name = name;
  model.chisq = measure("chisq");
  model.df = measure("df");
  model.aic = measure("aic");
  model.bic = measure("bic");
  model.num_rows = measure("ntotal");
  model.num_groups = static_cast<double>(num_groups);
  if (robust != nullptr) model.scaling_factor = robust->scaling_factor;
  if (std::isfinite(model.chisq) && std::isfinite(model.df)) return model;
  throw Error(ErrorCode::kBadInput, fmt::format("the fit of '{}' has no chi-square", name),
              "use protocol = \"pooled-moments\", or \"sealed\" with the release \"fit\"");
}

ModelComparison CompareNested(std::vector<ComparedModel> models) {
  RequireComparable(models);
  std::stable_sort(models.begin(), models.end(),
                   [](const auto& a, const auto& b) { return a.df < b.df; });
  ModelComparison comparison;
  comparison.scaled = models.front().scaling_factor != 1;
  for (size_t i = 0; i + 1 < models.size(); ++i) {
    comparison.differences.push_back(DifferenceOf(models[i], models[i + 1], comparison.scaled));
  }
  comparison.models = std::move(models);
  return comparison;
}

}  // namespace partita::stats
