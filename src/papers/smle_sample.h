// Rows to compare protocols of maximum likelihood on, and who holds what of them.
#pragma once

#include <Eigen/Core>
#include <string>
#include <vector>

#include "crypto/random.h"
#include "methods/mle/fit/analysis.h"
#include "methods/mle/published/normal.h"
#include "stats/sem/linear_statistics.h"

namespace partita::papers {

struct SmleSample {
  std::string name;                      // for people: "growth curve of 4 waves, 200 rows"
  methods::mle::MleAnalysis analysis;    // one group, with a mean structure
  Eigen::MatrixXd rows;                  // columns in the order of analysis.table.observed
  stats::StatisticsScale scale() const;  // public bounds of the columns
};

// Normal with intercept and slope factors: loadings 1 and 0, 1, 2, ...
struct GrowthPopulation {
  double intercept_mean = 5, slope_mean = 0.7;
  // Lower triangular root of the factors' covariance.
  double intercept_sd = 1.5, slope_on_intercept = 0.3, slope_rest_sd = 0.6;
  double residual_sd = 1.3;
};

// lavaan's text of the growth curve of waves t1, t2, ... with one residual variance: six free
// parameters (methods.md 1; Snoke et al. 2018, section 5).
std::string GrowthModel(Eigen::Index waves);

// Made-up rows. Bounds are eight standard deviations on either side of the means of the population,
// the same for all waves.
SmleSample GrowthSample(Eigen::Index rows, Eigen::Index waves, const GrowthPopulation& population,
                        crypto::RandomSource& random);
// Five items of one factor.
SmleSample FactorSample(Eigen::Index rows, crypto::RandomSource& random);

// Somebody's rows and model; bounds are taken from the rows. function: lavaan's wrapper. Throws
// kBadInput for files that cannot be read or a model with mistakes, kBadData with line and column
// for a cell that is missing or no number.
SmleSample ReadSample(const std::string& csv_file, const std::string& model_file,
                      const std::string& function);

// Divisor n.
stats::GroupMoments MomentsOfRows(const Eigen::MatrixXd& rows);

// Nodes 0 .. centre - 1 hold rows, the central node none.
struct SmleSetting {
  methods::mle::published::Layout layout;
  std::vector<methods::mle::published::OwnRows> rows;  // by party
};

// Every node has about as many columns of all rows. Throws kUsage for more nodes than columns.
SmleSetting SplitColumns(const Eigen::MatrixXd& rows, size_t nodes);
// Every node has about as many whole rows.
SmleSetting SplitRows(const Eigen::MatrixXd& rows, size_t nodes);
// Table 1 of the paper: node 0 has the first column of the first `first` rows, node 1 that of the
// others, node 2 all other columns.
SmleSetting SplitFirstColumn(const Eigen::MatrixXd& rows, Eigen::Index first);

}  // namespace partita::papers
