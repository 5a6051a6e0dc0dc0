// An accountant that shares nothing with the one under test: for the Poisson-sampled Gaussian,
//   delta(eps) = 1/(2 pi i) int_{Re s = c} M(s)^T e^(-s eps) / (s (s + 1)) ds,
//   M(s) = E_P (dP/dQ)^s,
// by the trapezoid rule in both integrals (spectrally accurate). Not rigorous: a value counts only
// where three contours agree.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <optional>
#include <vector>

namespace partita::privacy::testing {

enum class Pair { kRemove, kAdd, kReplace };

class LaplaceInversion {
 public:
  LaplaceInversion(double rate, double sigma, double uses, Pair pair) : uses_(uses) {
    const double m = 1 / sigma, step = 0.04;
    const auto log_mix = [&](double shift_sign, double x) {
      const double l = m * (shift_sign * x - m / 2);
      return l > 0 ? l + std::log(rate + (1 - rate) * std::exp(-l))
                   : std::log1p(rate * std::expm1(l));
    };
    for (double x = -40 - m; x <= 40 + m; x += step) {
      const double base = -0.5 * x * x - 0.91893853320467274;
      const double with = log_mix(1, x), against = pair == Pair::kReplace ? log_mix(-1, x) : 0;
      const bool add = pair == Pair::kAdd;
      loss_.push_back(add ? -with : with - against);
      log_p_.push_back(std::log(step) + base + (add ? 0 : with));
    }
  }

  // log M(c) and its derivatives, c real.
  struct K {
    double value, mean, variance;
  };
  K Real(double c) const {
    double largest = -1e300;
    for (size_t i = 0; i < loss_.size(); ++i) largest = std::max(largest, log_p_[i] + c * loss_[i]);
    double sum = 0, first = 0, second = 0;
    for (size_t i = 0; i < loss_.size(); ++i) {
      const double w = std::exp(log_p_[i] + c * loss_[i] - largest);
      sum += w;
      first += w * loss_[i];
      second += w * loss_[i] * loss_[i];
    }
    const double mean = first / sum;
    return {largest + std::log(sum), mean, second / sum - mean * mean};
  }

  double Saddle(double epsilon) const {
    double low = std::log(1e-4), high = std::log(500.0);
    for (int i = 0; i < 50; ++i) {
      const double middle = 0.5 * (low + high), c = std::exp(middle);
      const double value = uses_ * Real(c).mean - epsilon - 1 / c - 1 / (c + 1);
      (value > 0 ? high : low) = middle;
    }
    return std::exp(low);
  }

  double Delta(double epsilon, double c) const {
    const K at = Real(c);
    std::vector<double> weights(loss_.size()), used;
    std::vector<double> losses;
    for (size_t i = 0; i < loss_.size(); ++i) {
      const double w = std::exp(log_p_[i] + c * loss_[i] - at.value);
      if (w > 1e-19) {
        used.push_back(w);
        losses.push_back(loss_[i]);
      }
    }
    const double sd = std::sqrt(uses_ * at.variance);
    const double dt = std::min(2 * 3.14159265358979 * c / 40, 1.2 / std::max(sd, 1e-3));
    // e^(i dt k loss) by repeated multiplication.
    std::vector<std::complex<double>> turn(used.size()), phase(used.size(), 1.0);
    for (size_t i = 0; i < used.size(); ++i) turn[i] = std::polar(1.0, dt * losses[i]);
    double sum = 0;
    int quiet = 0;
    for (int k = 0; k < 4000 && quiet < 20; ++k) {
      std::complex<double> m = 0;
      for (size_t i = 0; i < used.size(); ++i) {
        m += used[i] * phase[i];
        phase[i] *= turn[i];
      }
      const std::complex<double> s(c, dt * k);
      const std::complex<double> value =
          std::exp(uses_ * std::log(m) - std::complex<double>(0, dt * k * epsilon)) /
          (s * (s + 1.0));
      sum += (k == 0 ? 0.5 : 1) * value.real();
      quiet = std::abs(value) < 1e-14 * std::abs(sum) ? quiet + 1 : 0;
    }
    if (quiet < 20) return -1;
    return std::exp(uses_ * at.value - c * epsilon) * sum * dt / 3.14159265358979;
  }

  // Nothing if three contours disagree by more than 1e-9.
  std::optional<double> Delta(double epsilon) const {
    const double saddle = Saddle(epsilon);
    std::vector<double> values;
    for (double share : {0.5, 0.62, 0.75}) values.push_back(Delta(epsilon, share * saddle));
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    if (!(*low > 0) || *high - *low > 1e-9 * *low) return std::nullopt;
    return values[1];
  }

 private:
  double uses_;
  std::vector<double> loss_, log_p_;
};

}  // namespace partita::privacy::testing
