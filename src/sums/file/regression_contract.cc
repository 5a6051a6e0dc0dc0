#include "sums/file/regression_contract.h"

namespace partita::sums {

void ShapeContract(const regression::Spec& spec, Contract& contract) {
  const regression::SumShape shape = regression::ShapeOf(spec, regression::DesignOf(spec));
  contract.dimension = shape.dimension;
  // Second moments of values of 24 bits, summed over many clients.
  contract.ring = RingBits::k128;
  contract.clip = {spec.laplace ? privacy::Norm::kL1 : privacy::Norm::kL2, shape.bound,
                   shape.fraction_bits};
  contract.noise_law = spec.laplace ? NoiseLaw::kLaplace : NoiseLaw::kGaussian;
  contract.sensitivity = shape.sensitivity;
}

}  // namespace partita::sums
