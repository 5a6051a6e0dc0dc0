#include "stats/erm/loss.h"

#include <cmath>

#include "base/error.h"

namespace partita::stats::erm {
namespace {

// 1 / (1 + exp(z)), without overflow.
double Logistic(double z) {
  if (z < 0) return 1 / (1 + std::exp(z));
  const double e = std::exp(-z);
  return e / (1 + e);
}

}  // namespace

double LossValue(const Loss& loss, double margin) {
  if (loss.kind == LossKind::kLogistic) {
    return margin > 0 ? std::log1p(std::exp(-margin)) : std::log1p(std::exp(margin)) - margin;
  }
  const double h = loss.huber_width;
  if (margin >= 1 + h) return 0;
  if (margin <= 1 - h) return 1 - margin;
  return (1 + h - margin) * (1 + h - margin) / (4 * h);
}

double LossSlope(const Loss& loss, double margin) {
  if (loss.kind == LossKind::kLogistic) return -Logistic(margin);
  const double h = loss.huber_width;
  if (margin >= 1 + h) return 0;
  if (margin <= 1 - h) return -1;
  return -(1 + h - margin) / (2 * h);
}

double LossCurvature(const Loss& loss, double margin) {
  if (loss.kind == LossKind::kLogistic) {
    const double p = Logistic(margin);
    return p * (1 - p);
  }
  return std::abs(1 - margin) < loss.huber_width ? 1 / (2 * loss.huber_width) : 0;
}

double MaxCurvature(const Loss& loss) {
  if (loss.kind == LossKind::kLogistic) return 0.25;
  if (!(loss.huber_width > 0)) {
    throw Error(ErrorCode::kUsage, "the width of the Huber loss must be positive",
                "0.5 is a common choice");
  }
  return 1 / (2 * loss.huber_width);
}

}  // namespace partita::stats::erm
