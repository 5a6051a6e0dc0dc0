// Local aggregation (Pathak, Rane & Raj, NIPS 2010, as compared in Rajkumar & Agarwal, section 6):
// every party minimises its own objective, the average of the minimisers is released with noise.
#pragma once

#include <Eigen/Core>
#include <span>
#include <vector>

#include "stats/erm/minimize.h"

namespace partita::stats::erm {

// eq. (4): each with its own mean loss. Throws kBadData, naming the party by its number, for one
// without rows.
std::vector<Eigen::VectorXd> LocalFits(std::span<const LabelledRows> parties, const Loss& loss,
                                       double lambda);
Eigen::VectorXd Average(std::span<const Eigen::VectorXd> fits);

// L2, one row replaced: 2 / (K n_min lambda), n_min the rows of the smallest party, |phi'| <= 1 and
// |x| <= 1. The smallest party decides, which is the method's weakness.
double AggregationSensitivity(size_t parties, size_t smallest_rows, double lambda);

}  // namespace partita::stats::erm
