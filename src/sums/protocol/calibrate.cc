#include "sums/protocol/calibrate.h"

#include <cmath>

#include "base/error.h"
#include "privacy/sampling/calibrate.h"
#include "privacy/sampling/discrete_gaussian_mechanism.h"
#include "sums/protocol/sum_statement.h"

namespace partita::sums {
namespace {

constexpr int kBits = 20;

// In the leading 20 bits.
double RoundedUp(double value) {
  int exponent = 0;
  const double mantissa = std::frexp(value, &exponent);
  return std::ldexp(std::ceil(std::ldexp(mantissa, kBits)), exponent - kBits);
}

}  // namespace

void CalibrateNoise(Contract& contract, privacy::Epsilon epsilon,
                    std::optional<privacy::Delta> delta) {
  if (contract.noise_law == NoiseLaw::kGaussian) {
    if (!delta) {
      throw Error(ErrorCode::kUsage, "Gaussian noise is not sized without a delta",
                  "give a delta, such as 1e-6");
    }
    const privacy::GridVariance least = privacy::CalibrateDiscreteGaussian(
        SumSensitivity(contract), contract.dimension, epsilon, *delta);
    contract.variance = privacy::VarianceOfStddev(RoundedUp(privacy::StddevUpperBound(least)));
    return;
  }
  const double sensitivity = std::ldexp(RowSensitivity(contract), contract.clip.fraction_bits);
  const privacy::GridScale least =
      privacy::DiscreteLaplaceScale(privacy::GridL1Sensitivity(sensitivity), epsilon);
  const UInt128 whole = (least.numerator + least.denominator - 1) / least.denominator;
  // A double of 53 bits may lie below `whole`: one unit in its last place more does not.
  contract.laplace_scale =
      static_cast<UInt128>(std::ceil(RoundedUp(static_cast<double>(whole) * (1 + 0x1p-52))));
}

}  // namespace partita::sums
