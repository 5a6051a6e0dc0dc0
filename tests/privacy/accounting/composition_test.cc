#include "privacy/accounting/composition.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "base/error.h"
#include "privacy/accounting/mechanism.h"
#include "privacy/accounting/normal.h"

namespace partita::privacy::composition_test {
namespace {

LossPmf RandomPmf(uint64_t seed, size_t size, double spacing, double infinity) {
  std::mt19937_64 random(seed);
  LossPmf pmf;
  pmf.spacing = spacing;
  pmf.first = -static_cast<int64_t>(size / 3);
  double sum = 0;
  for (size_t i = 0; i < size; ++i) {
    pmf.mass.push_back(std::exp(std::uniform_real_distribution<double>(-12, 0)(random)));
    sum += pmf.mass.back();
  }
  for (double& mass : pmf.mass) mass *= (1 - infinity) / sum;
  pmf.infinity = infinity;
  return pmf;
}

std::vector<double> Convolve(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> sum(a.size() + b.size() - 1, 0.0);
  for (size_t i = 0; i < a.size(); ++i) {
    for (size_t j = 0; j < b.size(); ++j) sum[i + j] += a[i] * b[j];
  }
  return sum;
}

// By positive sums only.
double DirectDelta(const std::vector<WeightedPmf>& parts, double epsilon) {
  std::vector<double> law = {1};
  double base = 0, log_finite = 0;
  for (const WeightedPmf& part : parts) {
    for (uint64_t use = 0; use < part.count; ++use) {
      law = Convolve(law, part.pmf->mass);
      base += part.pmf->Loss(0);
      log_finite += std::log1p(-part.pmf->infinity);
    }
  }
  double delta = -std::expm1(log_finite);
  for (size_t i = 0; i < law.size(); ++i) {
    const double loss = base + parts[0].pmf->spacing * static_cast<double>(i);
    if (loss > epsilon) delta += law[i] * -std::expm1(epsilon - loss);
  }
  return delta;
}

// Both sides enclose direct convolution for any tilt and window, with several unlike parts.
TEST(CompositionTest, EnclosesDirectConvolution) {
  const LossPmf a = RandomPmf(1, 37, 0.05, 1e-9), b = RandomPmf(2, 100, 0.05, 0);
  const std::vector<WeightedPmf> parts = {{&a, 9}, {&b, 14}};
  FftWorkspace fft;
  const Cumulants k = TiltedCumulants(parts, 0);
  for (double sd : {0.0, 2.0, 4.0, 6.0}) {
    const double epsilon = std::max(0.0, k.mean + sd * std::sqrt(k.variance));
    const double truth = DirectDelta(parts, epsilon);
    const double saddle = TiltForEpsilon(parts, epsilon, 0);
    for (const CompositionPlan plan :
         {CompositionPlan{saddle, 1e-9}, CompositionPlan{saddle / 2, 1e-12},
          CompositionPlan{saddle, 1e-2}, CompositionPlan{0.01, 1e-9}}) {
      const ComposedLoss upper = Compose(parts, Side::kUpper, plan, 1 << 20, fft);
      const ComposedLoss lower = Compose(parts, Side::kLower, plan, 1 << 20, fft);
      EXPECT_GE(upper.Delta(epsilon), truth * (1 - 1e-12));
      EXPECT_LE(lower.Delta(epsilon), truth * (1 + 1e-12));
      if (plan.outside == 1e-9 && plan.tilt == saddle) {
        EXPECT_LT(upper.Delta(epsilon) - lower.Delta(epsilon), 1e-6 * truth);
      }
    }
  }
}

// A window that cuts the law is charged: the uncharged mass would put the upper end below the
// truth.
TEST(CompositionTest, ShortWindowsAreCharged) {
  const LossPmf a = RandomPmf(3, 200, 0.01, 0);
  const std::vector<WeightedPmf> parts = {{&a, 200}};
  FftWorkspace fft;
  const Cumulants k = TiltedCumulants(parts, 0);
  const double epsilon = std::max(0.0, k.mean);
  const double truth = DirectDelta(parts, epsilon), saddle = TiltForEpsilon(parts, epsilon, 0);
  const ComposedLoss wide = Compose(parts, Side::kUpper, {saddle, 1e-12}, 1 << 20, fft);
  EXPECT_NEAR(wide.Delta(epsilon) / truth, 1, 1e-6);
  for (double outside : {0.5, 0.1, 1e-2, 1e-3}) {
    const ComposedLoss upper = Compose(parts, Side::kUpper, {saddle, outside}, 1 << 20, fft);
    const ComposedLoss lower = Compose(parts, Side::kLower, {saddle, outside}, 1 << 20, fft);
    EXPECT_LT(upper.size(), wide.size());
    EXPECT_GE(upper.Delta(epsilon), truth);
    EXPECT_LE(lower.Delta(epsilon), truth);
  }
}

TEST(CompositionTest, EpsilonInvertsDelta) {
  const LossPmf a = RandomPmf(4, 60, 0.02, 0);
  const std::vector<WeightedPmf> parts = {{&a, 50}};
  FftWorkspace fft;
  for (double delta : {1e-3, 1e-8, 1e-15}) {
    const double saddle = TiltForDelta(parts, delta, 0);
    const ComposedLoss upper = Compose(parts, Side::kUpper, {saddle, 1e-10}, 1 << 20, fft);
    const ComposedLoss lower = Compose(parts, Side::kLower, {saddle, 1e-10}, 1 << 20, fft);
    EXPECT_LE(DirectDelta(parts, upper.Epsilon(delta)), delta * (1 + 1e-12));
    EXPECT_GE(DirectDelta(parts, lower.Epsilon(delta)), delta * (1 - 1e-12));
    EXPECT_NEAR(upper.Epsilon(delta), lower.Epsilon(delta), 1e-6);
  }
}

TEST(CompositionTest, InfiniteMass) {
  const LossPmf a = RandomPmf(5, 10, 0.1, 1e-4);
  const std::vector<WeightedPmf> parts = {{&a, 100}};
  FftWorkspace fft;
  const CompositionPlan plan{5, 1e-9};
  const double all = -std::expm1(100 * std::log1p(-1e-4));
  const ComposedLoss upper = Compose(parts, Side::kUpper, plan, 1 << 20, fft);
  const ComposedLoss lower = Compose(parts, Side::kLower, plan, 1 << 20, fft);
  EXPECT_NEAR(upper.infinity() / all, 1, 1e-12);
  EXPECT_GE(upper.infinity(), all * (1 - 1e-13));
  EXPECT_LE(lower.infinity(), all * (1 + 1e-13));
  EXPECT_TRUE(std::isinf(upper.Epsilon(all / 2)));
  EXPECT_TRUE(std::isinf(lower.Epsilon(all / 2)));
  EXPECT_FALSE(std::isinf(upper.Epsilon(all * 1.5)));
}

// The transform of the library keeps to the bound that the proof charges, on random weights.
TEST(CompositionTest, TransformsKeepToTheirBound) {
  std::mt19937_64 random(6);
  FftWorkspace fft;
  for (size_t size : {4u, 64u, 4096u, 65536u}) {
    std::vector<double> in(size);
    for (double& x : in) x = std::uniform_real_distribution<double>(0, 1)(random);
    double sum = 0;
    for (double x : in) sum += x;
    for (double& x : in) x /= sum;
    std::vector<std::complex<double>> half;
    fft.Forward(in, half);
    const double bound = 2 * (8 * std::log2(static_cast<double>(size)) + 24) * kRounding;
    for (size_t k : {size_t{0}, size_t{1}, size / 4, size / 3, size / 2}) {
      long double re = 0, im = 0;
      const long double turn = 2 * 3.14159265358979323846264338L / static_cast<long double>(size);
      for (size_t i = 0; i < size; ++i) {
        const long double angle = turn * static_cast<long double>((i * k) % size);
        re += in[i] * std::cos(angle);
        im -= in[i] * std::sin(angle);
      }
      EXPECT_LE(std::hypot(half[k].real() - static_cast<double>(re),
                           half[k].imag() - static_cast<double>(im)),
                bound);
    }
    std::vector<double> back;
    fft.Inverse(half, back);
    for (size_t i = 0; i < size; ++i) EXPECT_NEAR(back[i], in[i], 2 * bound);
  }
}

TEST(CompositionTest, TooLongWindowsAreRefused) {
  const LossPmf a = RandomPmf(7, 5000, 1e-4, 0);
  FftWorkspace fft;
  EXPECT_THROW(Compose({{&a, 1000}}, Side::kUpper, {1, 1e-9}, 1024, fft), Error);
}

}  // namespace
}  // namespace partita::privacy::composition_test
