// Uniform, normal and exponential variates in floating point, for estimation only: Markov chains
// and auxiliary data. Noise that protects a release is drawn in privacy/sampling.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "crypto/random.h"

namespace partita::stats::blr {

class Variates {
 public:
  // The source must outlive the object.
  explicit Variates(crypto::RandomSource& source) : source_(source) {}

  double Uniform();            // in (0, 1)
  double Normal();             // by the polar method (Marsaglia & Bray 1964)
  double Exponential();        // mean 1
  double Gamma(double shape);  // scale 1, shape > 0 (Marsaglia & Tsang 2000)
  size_t Below(size_t count);  // uniform in [0, count); exact

 private:
  uint64_t Next();

  crypto::RandomSource& source_;
  std::array<uint64_t, 256> buffer_{};
  size_t used_ = 256;
  double spare_ = 0;
  bool has_spare_ = false;
};

}  // namespace partita::stats::blr
