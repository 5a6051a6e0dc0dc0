#include "methods/mle/moments/public_scale.h"

#include "data/scaling.h"

namespace partita::methods::mle {

stats::StatisticsScale PublicScale(const MleAnalysis& analysis) {
  const auto p = static_cast<Eigen::Index>(analysis.variables.size());
  stats::StatisticsScale scale{Eigen::VectorXd(p), Eigen::VectorXd(p)};
  for (Eigen::Index i = 0; i < p; ++i) {
    const data::ColumnScale column =
        data::ScaleOf(analysis.variables[static_cast<size_t>(i)].schema);
    scale.centre[i] = column.centre;
    scale.half_width[i] = column.half_width;
  }
  return scale;
}

}  // namespace partita::methods::mle
