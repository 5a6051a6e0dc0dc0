#include "stats/erm/gradient_rounding.h"

namespace partita::stats::erm {

double GradientRounding(const Loss& loss, double lambda, size_t rows, size_t dimension,
                        double norm) {
  const double c = MaxCurvature(loss);
  return 0x1p-52 * (static_cast<double>(rows) + c * static_cast<double>(dimension) * norm +
                    2 * lambda * norm + 4 * c + 16);
}

}  // namespace partita::stats::erm
