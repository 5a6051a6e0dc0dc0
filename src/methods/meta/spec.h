// A meta-analysis of sites' own estimates as a study file asks for it. All of it is public.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "data/schema.h"
#include "methods/meta/own_model.h"
#include "stats/meta/pool.h"

namespace partita::methods::meta {

inline constexpr char kMethodName[] = "meta";
inline constexpr uint32_t kMethodVersion = 1;
// Levels: whether estimates of single sites open.
inline constexpr char kPooled[] = "pooled", kSiteEstimates[] = "site-estimates";
inline constexpr char kReleased[] = "pooled";  // what it releases, as study files name it
inline constexpr uint64_t kFewestSites = 3;
// Of errors, in units: sums of weights have so many bits that smaller ones do not fit.
inline constexpr double kLeastError = 0x1p-10;

struct Spec {
  // What a site brings: numbers of the dictionary, errors above 0; or a coefficient of its own fit.
  data::ColumnSchema estimate, standard_error;
  std::optional<OwnModel> model;
  double largest = 8;  // of a fit: larger estimates and errors count as none
  stats::meta::Estimator estimator = stats::meta::Estimator::kReml;
  bool hartung_knapp = true;
  bool ratios = false;                // estimates are logarithms of ratios
  std::optional<uint64_t> min_sites;  // of which estimates are there; none: all
  double confidence = 0.95;
  bool site_estimates = false;  // the level
  bool told_to_all = false;

  bool fixed() const { return estimator == stats::meta::Estimator::kFixed; }
  // What numbers are divided by before they are shared: no estimate or error is larger.
  double unit() const;
  double least_error() const;
  const std::string& pooled_name() const;
};

const char* EstimatorName(stats::meta::Estimator estimator);  // "reml"

}  // namespace partita::methods::meta
