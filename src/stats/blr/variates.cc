#include "stats/blr/variates.h"

#include <cmath>
#include <span>

namespace partita::stats::blr {

uint64_t Variates::Next() {
  if (used_ == buffer_.size()) {
    source_.Fill({reinterpret_cast<uint8_t*>(buffer_.data()), sizeof buffer_});
    used_ = 0;
  }
  return buffer_[used_++];
}

double Variates::Uniform() { return (static_cast<double>(Next() >> 12) + 0.5) * 0x1p-52; }

double Variates::Normal() {
  if (has_spare_) {
    has_spare_ = false;
    return spare_;
  }
  double x, y, square;
  do {
    x = 2 * Uniform() - 1;
    y = 2 * Uniform() - 1;
    square = x * x + y * y;
  } while (square >= 1 || square == 0);
  const double factor = std::sqrt(-2 * std::log(square) / square);
  spare_ = y * factor;
  has_spare_ = true;
  return x * factor;
}

double Variates::Exponential() { return -std::log(Uniform()); }

double Variates::Gamma(double shape) {
  if (shape < 1) return Gamma(shape + 1) * std::pow(Uniform(), 1 / shape);
  const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = Normal();
    const double root = 1 + c * x;
    if (root <= 0) continue;
    const double cube = root * root * root;
    if (std::log(Uniform()) < 0.5 * x * x + d - d * cube + d * std::log(cube)) return d * cube;
  }
}

size_t Variates::Below(size_t count) {
  const uint64_t range = count;
  const uint64_t limit = UINT64_MAX - UINT64_MAX % range;
  uint64_t value;
  do value = Next();
  while (value >= limit);
  return value % range;
}

}  // namespace partita::stats::blr
