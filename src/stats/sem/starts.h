// Start values for the maximum-likelihood fit.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "stats/sem/moments.h"
#include "stats/sem/parameter_table.h"
#include "stats/sem/ram.h"

namespace partita::stats {

// Attempts in the order in which they should be tried.
enum class StartMethod {
  kFabin,   // loadings by FABIN3 (Hagglund 1982), equations among observed variables by least
            // squares, half of each variance unexplained
  kSimple,  // all loadings equal but for signs, which are those of the covariances with the factor's
            // reference indicator where these are 0 with a probability below 0.05; regressions 0
  kCautious  // as kSimple with small latent variances; also ignores start(...)
};

// x in internal units. Means and intercepts are the least-squares solution given the rest. Values
// given by the user through start() win, except under kCautious.
Eigen::VectorXd StartValues(const ParameterTable& table, const RamModel& model,
                            const std::vector<GroupSample>& samples, StartMethod method);

}  // namespace partita::stats
