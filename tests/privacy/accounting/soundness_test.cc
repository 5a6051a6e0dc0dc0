// R66 on a fast sample, and proof that the check notices accountants that cut corners.
#include "tests/privacy/accounting/soundness.h"

#include <algorithm>
#include <numeric>

namespace partita::privacy::testing::soundness_test {
namespace {

TEST(SoundnessTest, ClosedFormsAgainst256Bits) {
  const Soundness found = CheckClosedForms(Product, 120, 1);
  ExpectSound(found, 150);
  EXPECT_EQ(found.wide, 0);
}

TEST(SoundnessTest, SmallDiscreteCompositionsAgainstExactArithmetic) {
  ExpectSound(CheckDiscrete(ProductInLittleMemory, 200, 2), 150);
}

TEST(SoundnessTest, SampledGaussiansAgainstLaplaceInversion) {
  const Soundness found = CheckSampledGaussians(Product, 24, 3);
  ExpectSound(found, 10);
  EXPECT_EQ(found.wide, 0);
}

// --- Planted faults ------------------------------------------------------------------------------

// delta of a law on a grid, by the textbook: untilted FFT power, nothing charged.
double TextbookDelta(const LossPmf& pmf, uint64_t uses, double epsilon, size_t size) {
  FftWorkspace fft;
  std::vector<double> law(size, 0.0), composed;
  for (size_t i = 0; i < pmf.mass.size(); ++i) law[i % size] += pmf.mass[i];
  std::vector<std::complex<double>> spectrum;
  fft.Forward(law, spectrum);
  for (auto& y : spectrum) y = std::pow(y, static_cast<double>(uses));
  fft.Inverse(spectrum, composed);
  // The window is centred on the mean.
  double mean = 0, mass = 0;
  for (size_t i = 0; i < pmf.mass.size(); ++i) {
    mean += pmf.mass[i] * static_cast<double>(i);
    mass += pmf.mass[i];
  }
  const double full = static_cast<double>((pmf.mass.size() - 1) * uses + 1);
  const double centre = mean / mass * static_cast<double>(uses);
  const double low = full <= static_cast<double>(size)
                         ? 0
                         : std::max(0.0, std::floor(centre - static_cast<double>(size) / 2));
  const double base = static_cast<double>(uses) * pmf.Loss(0);
  double delta = 0;
  for (size_t j = 0; j < size; ++j) {
    const double loss = base + pmf.spacing * (low + static_cast<double>(j));
    const size_t at =
        static_cast<size_t>(std::fmod(low + static_cast<double>(j), static_cast<double>(size)));
    if (loss > epsilon) delta += composed[at] * -std::expm1(epsilon - loss);
  }
  return delta + -std::expm1(static_cast<double>(uses) * std::log1p(-pmf.infinity));
}

LossPmf UpperPmf(const Event& event, double spacing) {
  const LossPair& pair = *event.mechanism.forward;
  const double step = FittingSpacing(spacing, pair.period),
               anchor = pair.period > 0 ? pair.anchor : 0;
  return Dominating(pair.cells({anchor, step, 1, 1e-30}), {anchor, step});
}

double Sd(const LossPmf& pmf) {
  const Cumulants k = TiltedCumulants({{&pmf, 1}}, 0);
  return std::sqrt(k.variance);
}

// Forgets that a double FFT is rounded.
PldResult ForgetsRounding(const std::vector<Event>& events, double epsilon) {
  const LossPmf pmf = UpperPmf(events[0], events[0].mechanism.forward->loss_scale / 40);
  const double delta = TextbookDelta(pmf, events[0].count, epsilon, 1 << 14);
  return {{0, delta}, {}, {}, true, 0, 0};
}

// Keeps a window of three standard deviations and forgets what is folded in or lost.
PldResult ForgetsWrapAround(const std::vector<Event>& events, double epsilon) {
  const LossPmf pmf = UpperPmf(events[0], events[0].mechanism.forward->loss_scale / 40);
  const double cells = 3 * Sd(pmf) * std::sqrt(static_cast<double>(events[0].count)) / pmf.spacing;
  const double delta = TextbookDelta(pmf, events[0].count, epsilon,
                                     std::bit_ceil(static_cast<size_t>(cells) + 4) / 2);
  return {{0, delta}, {}, {}, true, 0, 0};
}

// Rounds losses down, and calls the result an upper bound.
PldResult RoundsDown(const std::vector<Event>& events, double epsilon) {
  LossPmf pmf = UpperPmf(events[0], events[0].mechanism.forward->loss_scale / 40);
  const std::vector<LossCell> cells =
      events[0].mechanism.forward->cells({pmf.anchor, pmf.spacing, 1, 1e-30});
  std::fill(pmf.mass.begin(), pmf.mass.end(), 0.0);
  for (const LossCell& cell : cells) {
    const double index =
        std::floor((cell.low - pmf.anchor) / pmf.spacing) - static_cast<double>(pmf.first);
    if (index >= 0 && index < static_cast<double>(pmf.mass.size()))
      pmf.mass[static_cast<size_t>(index)] += cell.p;
  }
  const double delta = TextbookDelta(pmf, events[0].count, epsilon, 1 << 14);
  return {{0, delta}, {}, {}, true, 0, 0};
}

// The three run on Gaussians in small steps, so that their grids are long.
Soundness CheckSmallSteps(const DeltaAccountant& accountant, double standard_deviations) {
  Soundness found;
  for (uint64_t uses : {20u, 50u, 100u, 200u}) {
    const double noise = 4 * std::sqrt(static_cast<double>(uses));
    const Real mu = Sqrt(Real(static_cast<double>(uses))) / Real(noise);
    const double epsilon = mu.ToDouble() * (mu.ToDouble() / 2 + standard_deviations);
    // Sampling at a rate just below 1 keeps the accountant from combining the steps.
    Mechanism mechanism = GaussianMechanism(noise, {});
    mechanism.gaussian_mu = 0;
    Judge(accountant({{mechanism, uses}}, epsilon), GaussianDelta256(mu, Real(epsilon)).ToDouble(),
          1e-12, found);
  }
  return found;
}

TEST(PlantedFaultTest, TheProductPassesWhereTheFaultyFail) {
  for (double sd : {2.0, 5.0, 8.0, 9.0}) ExpectSound(CheckSmallSteps(Product, sd), 4);
}

TEST(PlantedFaultTest, ForgottenRoundingIsCaught) {
  // Where delta is about 1e-19 the rounding of an untilted transform is all there is.
  int wrong = 0;
  for (double sd : {8.5, 9.0, 9.5, 10.0}) wrong += CheckSmallSteps(ForgetsRounding, sd).below;
  EXPECT_GT(wrong, 0);
}

TEST(PlantedFaultTest, ForgottenWrapAroundIsCaught) {
  EXPECT_GT(CheckSmallSteps(ForgetsWrapAround, 5).below, 0);
}

TEST(PlantedFaultTest, RoundingDownIsCaught) {
  EXPECT_EQ(CheckSmallSteps(RoundsDown, 2).below, 4);
  EXPECT_EQ(CheckSmallSteps(RoundsDown, 5).below, 4);
}

}  // namespace
}  // namespace partita::privacy::testing::soundness_test
