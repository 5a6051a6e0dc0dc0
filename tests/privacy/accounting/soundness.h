// R66: an accountant's upper end is never below the truth, its lower end never above. Shared by the
// fast and the slow test, and by the tests that plant faults.
#pragma once

#include <gtest/gtest.h>

#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>
#include <functional>
#include <random>
#include <span>
#include <vector>

#include "privacy/accounting/pld.h"
#include "tests/privacy/accounting/laplace_inversion.h"
#include "tests/privacy/accounting/precise.h"

namespace partita::privacy::testing {

using Generator = std::mt19937_64;

inline double Uniform(Generator& random, double low, double high) {
  return std::uniform_real_distribution<double>(low, high)(random);
}
inline double LogUniform(Generator& random, double low, double high) {
  return std::exp(Uniform(random, std::log(low), std::log(high)));
}

inline bool Contains(const Interval& interval, double truth, double relative) {
  return interval.lower <= truth * (1 + relative) && interval.upper >= truth * (1 - relative);
}

// An exact hockey-stick divergence of `uses` draws from two rational pmfs.
struct SmallDiscrete {
  std::vector<int> p, q;  // counts out of `total`
  int total = 1;
  int uses = 1;

  std::vector<double> P() const { return Scaled(p); }
  std::vector<double> Q() const { return Scaled(q); }

  double Delta(double epsilon) const {
    using boost::multiprecision::cpp_int;
    std::vector<std::pair<cpp_int, cpp_int>> law = {{1, 1}};
    for (int use = 0; use < uses; ++use) {
      std::vector<std::pair<cpp_int, cpp_int>> next;
      for (const auto& [a, b] : law) {
        for (size_t i = 0; i < p.size(); ++i) next.push_back({a * p[i], b * q[i]});
      }
      law = next;
    }
    const Real weight = Exp(Real(epsilon));
    Real sum(0);
    for (const auto& [a, b] : law) {
      const Real gain = FromInteger(a) - weight * FromInteger(b);
      if (Real(0) < gain) sum = sum + gain;
    }
    Real all(1);
    for (int use = 0; use < uses; ++use) all = all * Real(total);
    return (sum / all).ToDouble();
  }

 private:
  static Real FromInteger(const boost::multiprecision::cpp_int& value) {
    Real real;
    mpfr_set_str(real.get(), value.str().c_str(), 10, MPFR_RNDN);
    return real;
  }
  std::vector<double> Scaled(const std::vector<int>& counts) const {
    std::vector<double> pmf;
    for (int count : counts) pmf.push_back(static_cast<double>(count) / total);
    return pmf;
  }
};

inline SmallDiscrete RandomDiscrete(Generator& random) {
  SmallDiscrete law;
  const int outputs = std::uniform_int_distribution<int>(2, 5)(random);
  law.total = 1 << std::uniform_int_distribution<int>(4, 10)(random);  // exact as doubles
  law.uses = std::uniform_int_distribution<int>(1, outputs <= 3 ? 6 : 4)(random);
  const auto fill = [&](std::vector<int>& counts) {
    counts.assign(static_cast<size_t>(outputs), 0);
    std::vector<double> shares;
    for (int i = 0; i < outputs; ++i) shares.push_back(-std::log(Uniform(random, 1e-3, 1)));
    int left = law.total;
    double sum = 0;
    for (double share : shares) sum += share;
    for (int i = 0; i + 1 < outputs; ++i) {
      counts[static_cast<size_t>(i)] =
          std::min(left, static_cast<int>(law.total * shares[static_cast<size_t>(i)] / sum));
      left -= counts[static_cast<size_t>(i)];
    }
    counts.back() = left;
  };
  fill(law.p);
  fill(law.q);
  return law;
}

// What a soundness run found.
struct Soundness {
  int checked = 0;
  int below = 0;  // upper < truth
  int above = 0;  // lower > truth
  int wide = 0;   // wider than asked
};

using DeltaAccountant = std::function<PldResult(const std::vector<Event>&, double epsilon)>;

inline void Judge(const PldResult& result, double truth, double relative, Soundness& found) {
  ++found.checked;
  if (!(result.value.upper >= truth * (1 - relative))) ++found.below;
  if (!(result.value.lower <= truth * (1 + relative))) ++found.above;
  if (!result.reached) ++found.wide;
}

inline Soundness CheckClosedForms(const DeltaAccountant& accountant, int sets, uint64_t seed) {
  Generator random(seed);
  Soundness found;
  for (int i = 0; i < sets; ++i) {
    const double noise = LogUniform(random, 0.2, 200);
    const uint64_t uses = static_cast<uint64_t>(LogUniform(random, 1, 1e5));
    // mu is built with 256 bits from the very double that the accountant gets.
    const Real mu = Sqrt(Real(static_cast<double>(uses))) / Real(noise);
    if (mu.ToDouble() > 30) continue;
    const double epsilon =
        mu.ToDouble() * Uniform(random, 0, 6) + mu.ToDouble() * mu.ToDouble() / 2;
    const double truth = GaussianDelta256(mu, Real(epsilon)).ToDouble();
    if (truth > 1e-200)
      Judge(accountant({{GaussianMechanism(noise, {}), uses}}, epsilon), truth, 1e-15, found);

    const double scale = LogUniform(random, 0.1, 50);
    const double below = Uniform(random, 0, 0.999) / scale;
    const double laplace = LaplaceDelta256(Real(1) / Real(scale), Real(below)).ToDouble();
    Judge(accountant({{LaplaceMechanism(scale, {}), 1}}, below), laplace, 1e-15, found);
  }
  return found;
}

inline Soundness CheckDiscrete(const DeltaAccountant& accountant, int sets, uint64_t seed) {
  Generator random(seed);
  Soundness found;
  for (int i = 0; i < sets; ++i) {
    const SmallDiscrete law = RandomDiscrete(random);
    const Mechanism mechanism = PmfMechanism(law.P(), law.Q(), "random");
    SmallDiscrete exchanged = law;
    std::swap(exchanged.p, exchanged.q);
    const double epsilon = Uniform(random, 0, 1.5 * law.uses);
    const double truth = std::max(law.Delta(epsilon), exchanged.Delta(epsilon));
    if (truth < 1e-250) continue;
    Judge(accountant({{mechanism, static_cast<uint64_t>(law.uses)}}, epsilon), truth, 1e-15, found);
  }
  return found;
}

inline Soundness CheckSampledGaussians(const DeltaAccountant& accountant, int sets, uint64_t seed) {
  Generator random(seed);
  Soundness found;
  for (int i = 0; i < sets; ++i) {
    const double rate = LogUniform(random, 1e-3, 1), noise = LogUniform(random, 0.8, 20);
    const uint64_t uses = static_cast<uint64_t>(LogUniform(random, 20, 1e5));
    const bool replace = i % 2 == 1;
    // mu of the limit says where the interesting epsilons are.
    const double mu = (replace ? 2 : 1) * rate *
                      std::sqrt(static_cast<double>(uses) * std::expm1(1 / (noise * noise)));
    if (mu > 6 || mu < 1e-3) continue;
    const double epsilon = mu * mu / 2 + mu * Uniform(random, 0.5, 5);
    std::optional<double> truth;
    const double count = static_cast<double>(uses);
    if (replace) {
      truth = LaplaceInversion(rate, noise, count, Pair::kReplace).Delta(epsilon);
    } else {
      const auto remove = LaplaceInversion(rate, noise, count, Pair::kRemove).Delta(epsilon);
      const auto add = LaplaceInversion(rate, noise, count, Pair::kAdd).Delta(epsilon);
      if (remove && add) truth = std::max(*remove, *add);
    }
    if (!truth || *truth < 1e-30) continue;
    const Adjacency adjacency = replace ? Adjacency::kReplace : Adjacency::kAddRemove;
    Judge(accountant({{GaussianMechanism(noise, {adjacency, rate}), uses}}, epsilon), *truth, 1e-8,
          found);
  }
  return found;
}

inline PldResult Product(const std::vector<Event>& events, double epsilon) {
  return PldDelta(events, epsilon, {});
}

// Laws with few, irregular atoms have lower ends that close in slowly: a small transform is enough
// to be sound.
inline PldResult ProductInLittleMemory(const std::vector<Event>& events, double epsilon) {
  PldOptions options;
  options.max_cells = 1 << 13;
  return PldDelta(events, epsilon, options);
}

inline void ExpectSound(const Soundness& found, int at_least) {
  EXPECT_GE(found.checked, at_least);
  EXPECT_EQ(found.below, 0) << "an upper end fell below the truth";
  EXPECT_EQ(found.above, 0) << "a lower end rose above the truth";
}

}  // namespace partita::privacy::testing
