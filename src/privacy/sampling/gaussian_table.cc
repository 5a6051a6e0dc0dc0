#include "privacy/sampling/gaussian_table.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "privacy/sampling/interval.h"

namespace partita::privacy {
namespace {

constexpr mpfr_prec_t kPrecision = 128;

// e(m) for many m.
class Density {
 public:
  explicit Density(const GridVariance& variance)
      : inverse_two_variance_(ShiftLeft(
            PreciseInterval::Of(UInt128{1}, kPrecision) / PreciseInterval::Of(variance, kPrecision),
            -1)) {}
  PreciseInterval At(UInt128 m) const {
    const PreciseInterval position = PreciseInterval::Of(m, kPrecision);
    return Exp(-(position * position * inverse_two_variance_));
  }
  const PreciseInterval& inverse_two_variance() const { return inverse_two_variance_; }

 private:
  PreciseInterval inverse_two_variance_;
};

uint64_t Ceiling(const PreciseInterval& value) {
  return mpfr_get_ui(value.upper().get(), MPFR_RNDU);
}
uint64_t Floor(const PreciseInterval& value) { return mpfr_get_ui(value.lower().get(), MPFR_RNDD); }

// S: as large as the sum of the weights allows.
uint64_t Scale(const std::vector<PreciseInterval>& starts, const PreciseInterval& tail) {
  PreciseInterval sum = ShiftLeft(tail, 7);
  for (const PreciseInterval& start : starts) sum = sum + start;
  // Every weight is rounded up by less than 1.
  const PreciseInterval room =
      PreciseInterval::Of((UInt128{1} << 64) - starts.size() - 2, kPrecision) / sum;
  return Floor(room);
}

}  // namespace

GaussianTable BuildGaussianTable(const GridVariance& variance, double tail_stddevs) {
  CheckVariance(variance);
  if (!(tail_stddevs >= 1 && tail_stddevs <= 16)) {
    throw Error(ErrorCode::kUsage, "the tail of the Gaussian table must start at 1 to 16 sigma");
  }
  GaussianTable table;
  table.variance = variance;
  const double stddev = StddevUpperBound(variance);
  // sigma / 64 < 2^s <= sigma / 32, but never below one grid unit.
  table.width_bits = std::max(0, std::ilogb(StddevLowerBound(variance)) - 5);
  table.bins =
      static_cast<uint32_t>(std::ceil(tail_stddevs * std::ldexp(stddev, -table.width_bits)));

  const Density density(variance);
  const auto start_of = [&](uint32_t bin) { return static_cast<UInt128>(bin) << table.width_bits; };
  std::vector<PreciseInterval> starts;
  for (uint32_t bin = 0; bin < table.bins; ++bin) starts.push_back(density.At(start_of(bin)));
  const PreciseInterval tail = density.At(start_of(table.bins));
  table.scale = Scale(starts, tail);
  const PreciseInterval scale = PreciseInterval::Of(UInt128{table.scale}, kPrecision);

  UInt128 total = 0;
  for (uint32_t bin = 0; bin < table.bins; ++bin) {
    const PreciseInterval mass = scale * starts[bin];
    const uint64_t weight = Ceiling(mass);
    const PreciseInterval divisor = PreciseInterval::Of(UInt128{weight}, kPrecision);
    const PreciseInterval last = scale * density.At(start_of(bin + 1) - 1) / divisor;
    table.weights.push_back(weight);
    table.ratio_at_start.push_back((mass / divisor).Middle());
    table.quick.push_back(
        static_cast<uint16_t>(std::min<uint64_t>(0xffff, Floor(ShiftLeft(last, 16)))));
    total += weight;
  }
  table.weights.push_back(std::max<uint64_t>(1, Ceiling(ShiftLeft(scale * tail, 7))));
  total += table.weights.back();
  table.weights.push_back(static_cast<uint64_t>((UInt128{1} << 64) - total));
  table.quick.insert(table.quick.end(), 2, 0);
  table.inverse_two_variance = density.inverse_two_variance().Middle();
  table.alias = BuildAliasTable(table.weights, table.quick);
  return table;
}

}  // namespace partita::privacy
