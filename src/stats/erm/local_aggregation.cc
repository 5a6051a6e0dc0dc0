#include "stats/erm/local_aggregation.h"

#include <fmt/format.h>

#include "base/error.h"

namespace partita::stats::erm {

using Eigen::VectorXd;

std::vector<VectorXd> LocalFits(std::span<const LabelledRows> parties, const Loss& loss,
                                double lambda) {
  std::vector<VectorXd> fits;
  fits.reserve(parties.size());
  for (const LabelledRows& party : parties) {
    if (party.x.rows() == 0) {
      throw Error(ErrorCode::kBadData, fmt::format("party {} has no rows", fits.size() + 1),
                  "leave it out: an average of local fits needs rows at every party");
    }
    Objective objective;
    objective.loss = loss;
    objective.lambda = lambda;
    fits.push_back(Minimize(party, objective).w);
  }
  return fits;
}

VectorXd Average(std::span<const VectorXd> fits) {
  VectorXd sum = VectorXd::Zero(fits.front().size());
  for (const VectorXd& fit : fits) sum += fit;
  return sum / static_cast<double>(fits.size());
}

double AggregationSensitivity(size_t parties, size_t smallest_rows, double lambda) {
  return 2 / (static_cast<double>(parties) * static_cast<double>(smallest_rows) * lambda);
}

}  // namespace partita::stats::erm
