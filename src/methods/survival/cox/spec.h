// A model of proportional hazards (D. R. Cox, JRSS B 1972) as a study file asks for it. All of it is
// public.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/model_columns.h"
#include "methods/survival/spec.h"
#include "stats/survival/cox.h"

namespace partita::methods::survival {

inline constexpr char kCoxModel[] = "cox";          // as study files name it
inline constexpr char kCoxProtocol[] = "iterates";  // its level: points open, rounded
inline constexpr char kEstimates[] = "estimates";   // what it releases
inline constexpr char kIdentity[] = "identity", kNone[] = "none";  // g of the test
inline constexpr char kModelErrors[] = "model", kRobustErrors[] = "robust",
                      kClusterErrors[] = "cluster";
inline constexpr char kCoxCovariance[] = "covariance";  // the key, and as envelopes name what opens
inline constexpr char kBreslow[] = "breslow", kEfron[] = "efron";

// Columns are without an intercept, which the baseline hazard is.
struct CoxSpec : data::ModelColumns {
  std::string formula;
  data::ColumnSchema outcome;          // a survival variable
  std::vector<std::string> variables;  // of the dictionary: outcome, covariates, stratum
  TimeGrid grid;
  std::string entry;      // a numeric variable; empty: all are at risk from the first cell
  std::string stratum;    // a factor; empty: none
  size_t num_levels = 1;  // of it
  bool by_site = false;   // holders are strata
  stats::survival::Ties ties = stats::survival::Ties::kBreslow;
  size_t most_ties =
      1;  // events in a cell that count one after the other: by Efron, else all at once
  bool proportional = false;   // whether hazards are so is tested
  bool robust = false;         // the standard errors (robust.h), also those of clusters
  std::string cluster;         // of the standard errors; empty: rows are independent
  bool concordance = false;    // whether it is computed
  bool covariance = false;     // of the estimates opens, in the place of standard errors
  std::vector<size_t> report;  // cells at whose ends the cumulative hazard opens, increasing
  int steps = 5;               // from 0
  double confidence = 0.95;
  bool told_to_all = false;

  bool clustered() const { return !cluster.empty(); }
  // Whether robust errors are sums over clusters, or over rows that enter late (units.h).
  bool by_units() const { return robust && (clustered() || !entry.empty()); }
};

inline const char* NameOfTies(const CoxSpec& spec) {
  return spec.ties == stats::survival::Ties::kEfron ? kEfron : kBreslow;
}

std::string TiesText(const CoxSpec& spec);  // what is checked

// Columns are centred and scaled to [-1, 1]: (value - middle) / half. The partial likelihood does not
// know the middle.
inline double MiddleOf(const data::ModelColumn& column) {
  return column.lower + (column.upper - column.lower) / 2;
}
inline double HalfOf(const data::ModelColumn& column) { return (column.upper - column.lower) / 2; }

}  // namespace partita::methods::survival
