// The only file that sees the FFT library (KissFFT inside Eigen).
#include <unsupported/Eigen/FFT>

#include "privacy/accounting/composition.h"

namespace partita::privacy {

struct FftWorkspace::Impl {
  Eigen::internal::kissfft_impl<double> fft;
};

FftWorkspace::FftWorkspace() : impl_(std::make_unique<Impl>()) {}
FftWorkspace::~FftWorkspace() = default;

void FftWorkspace::Forward(const std::vector<double>& in, std::vector<std::complex<double>>& half) {
  half.resize(in.size() / 2 + 1);
  impl_->fft.fwd(half.data(), in.data(), static_cast<int>(in.size()));
}

void FftWorkspace::Inverse(const std::vector<std::complex<double>>& half,
                           std::vector<double>& out) {
  out.resize(2 * (half.size() - 1));
  impl_->fft.inv(out.data(), half.data(), static_cast<int>(out.size()));
  const double scale = 1 / static_cast<double>(out.size());
  for (double& value : out) value *= scale;
}

}  // namespace partita::privacy
