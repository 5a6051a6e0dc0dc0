// The privacy claims of the five papers, from their parameters: docs/privacy-claims.md is the table
// of these numbers.
#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/quadrature/gauss_kronrod.hpp>
#include <boost/math/quadrature/tanh_sinh.hpp>
#include <boost/math/special_functions/gamma.hpp>

#include "base/error.h"
#include "privacy/accounting/accountant.h"
#include "privacy/accounting/normal.h"
#include "privacy/accounting/rdp.h"
#include "privacy/accounting/trade_off.h"
#include "tests/privacy/accounting/reference_data.h"
#include "tests/privacy/accounting/renyi_orders.h"

namespace partita::privacy::testing::claims_test {
namespace {

constexpr double kDelta = 1e-5;

void ExpectAround(const Interval& interval, double exact, double relative_width = 1e-3) {
  EXPECT_LE(interval.lower, exact * (1 + 1e-5));
  EXPECT_GE(interval.upper, exact * (1 - 1e-5));
  EXPECT_LE(interval.upper - interval.lower, relative_width * interval.upper);
}

// --- DPVI-VPD: "eps = 1" -------------------------------------------------------------------------

TEST(ClaimsTest, DpviVpd) {
  const double rate = 100.0 / 30162, sigma = 2.042;
  const uint64_t steps = 20000;
  ExpectAround(
      PldEpsilon({{GaussianMechanism(sigma, {Adjacency::kAddRemove, rate}), steps}}, kDelta).value,
      0.90898);
  ExpectAround(
      PldEpsilon({{GaussianMechanism(sigma, {Adjacency::kReplace, rate}), steps}}, kDelta).value,
      1.82150);
  const RdpCurve one = SampledGaussianRdp(sigma, rate);
  EXPECT_NEAR(
      RdpEpsilonAt([&](double order) { return 20000 * one(order); }, kDelta, DefaultOrders()),
      0.99485, 1e-4);
}

TEST(ClaimsTest, DpviVpdAgainstTheOtherParty) {
  // The parties know the batch: q = 1, as often as a record is used. "26 <= eps'" is Renyi at 67
  // expected uses.
  const RdpCurve one = GaussianRdp(2.042);
  EXPECT_NEAR(RdpEpsilonAt([&](double order) { return 67 * one(order); }, kDelta, DefaultOrders()),
              26.006, 1e-3);
  const auto exact = [](uint64_t uses, Adjacency adjacency) {
    return PldEpsilon({{GaussianMechanism(2.042, {adjacency, 1}), uses}}, kDelta).value;
  };
  ExpectAround(exact(67, Adjacency::kAddRemove), GaussianEpsilon(std::sqrt(67.0) / 2.042, kDelta));
  ExpectAround(exact(67, Adjacency::kAddRemove), GaussianEpsilon(std::sqrt(67.0) / 2.042, kDelta));
  ExpectAround(exact(67, Adjacency::kReplace),
               GaussianEpsilon(2 * std::sqrt(67.0) / 2.042, kDelta));
  EXPECT_NEAR(exact(67, Adjacency::kReplace).upper, 65.5, 0.1);
  // The likely maximum of uses over 30162 records, and a record in every batch.
  ExpectAround(exact(101, Adjacency::kReplace),
               GaussianEpsilon(2 * std::sqrt(101.0) / 2.042, kDelta));
  ExpectAround(exact(20000, Adjacency::kAddRemove),
               GaussianEpsilon(std::sqrt(20000.0) / 2.042, kDelta));
}

// --- DCA: 1 / (N - T - 1) ------------------------------------------------------------------------

TEST(ClaimsTest, DcaScaling) {
  for (const auto& row : Table("G_distributed_gaussian_factor")) {
    const double clients = row["inputs"]["N"], colluders = row["inputs"]["T"];
    const double share = 1 / (clients - colluders - 1);
    EXPECT_NEAR(share, row["exact"]["sigma2_j"].get<double>(), 1e-14);
    EXPECT_NEAR(clients * share,
                row["exact"]["extra_total_variance_factor_N/(N-T-1)"].get<double>(), 1e-12);
  }
}

TEST(ClaimsTest, DcaDropOutsAndColludersAreTwoNumbers) {
  // Calibrated for T = 45 of N = 100 to eps = 1; then 45 drop out AND 45 others collude: 9 honest
  // shares of 54 remain.
  const double noise = 1 / GaussianMu(1, kDelta);
  ExpectAround(PldEpsilon({{GaussianMechanism(noise, {}), 1}}, kDelta).value, 1.0);
  const Interval left =
      PldEpsilon({{GaussianMechanism(noise * std::sqrt(9.0 / 54), {}), 1}}, kDelta).value;
  EXPECT_NEAR(left.upper, 2.7, 0.1);
}

TEST(ClaimsTest, TheClassicalGaussianBreaksItsDelta) {
  // The paper's calibration at eps = 10 and 31.6, delta = 1e-4.
  for (const auto& [epsilon, truth] : {std::pair{10.0, 2.7e-4}, std::pair{31.6, 0.20}}) {
    const double sigma = std::sqrt(2 * std::log(1.25 / 1e-4)) / epsilon;
    const Interval delta = PldDelta({{GaussianMechanism(sigma, {}), 1}}, epsilon).value;
    EXPECT_GT(delta.lower, 1e-4);
    EXPECT_NEAR(delta.upper, truth, 0.05 * truth);
  }
}

// --- PSGD: sigma* --------------------------------------------------------------------------------

double ChiSquaredQuantile(double dimension, double delta) {
  return boost::math::quantile(boost::math::complement(boost::math::chi_squared(dimension), delta));
}
double CorrectedSigma(double quantile, double epsilon) {
  return (std::sqrt(quantile) + std::sqrt(quantile + 2 * epsilon)) / epsilon;
}

TEST(ClaimsTest, PsgdSigmaStarPrintedAndCorrected) {
  for (const auto& row : Table("F_rajkumar_agarwal_sigma_star")) {
    const auto& in = row["inputs"];
    const auto& exact = row["exact"];
    const double epsilon = in["epsilon"], quantile = ChiSquaredQuantile(in["d"], in["delta"]);
    EXPECT_NEAR(quantile, Number(exact["chi2_quantile"]), 1e-10 * quantile);
    const double sigma = CorrectedSigma(quantile, epsilon);
    EXPECT_NEAR(sigma, Number(exact["sigma_star"]), 1e-10 * sigma);
    // As printed, (eps/2 - 1/sigma)^2 = quantile: a root with sigma eps > 2 exists only for eps > 2
    // sqrt(quantile).
    const double gap = epsilon - 2 * std::sqrt(quantile);
    EXPECT_EQ(gap > 0, !exact["as_printed_root_sigma_eps_gt_2"].is_null());
    if (gap > 0) {
      EXPECT_NEAR(2 / gap, Number(exact["as_printed_root_sigma_eps_gt_2"]), 1e-8 * 2 / gap);
    }
    EXPECT_NEAR(2 / (epsilon + 2 * std::sqrt(quantile)),
                Number(exact["as_printed_root_sigma_eps_lt_2"]), 1e-9);
  }
}

TEST(ClaimsTest, PsgdTrueDeltasInOneDimension) {
  // Shift 2 of a Gaussian of the printed and the corrected parameter; claimed delta 0.05.
  for (double epsilon : {0.1, 0.2, 1.0}) {
    const double quantile = ChiSquaredQuantile(1, 0.05);
    const double printed = 2 / (epsilon + 2 * std::sqrt(quantile)),
                 corrected = CorrectedSigma(quantile, epsilon);
    EXPECT_GT(PldDelta({{GaussianMechanism(printed / 2, {}), 1}}, epsilon).value.lower, 0.58);
    EXPECT_LT(PldDelta({{GaussianMechanism(corrected / 2, {}), 1}}, epsilon).value.upper, 0.05);
  }
}

// --- Confidential accept-reject ------------------------------------------------------------------

TEST(ClaimsTest, AslettVersionOneProfileIsConstant) {
  int compared = 0;
  for (const auto& row : Table("E_gamma_v1_eps_delta")) {
    const auto& in = row["inputs"];
    const double m = in["m"], shift = in["Delta"], shape = (m - 1) / m;
    const double constant = boost::math::gamma_p(shape, shift);
    EXPECT_NEAR(constant, Number(row["exact"]["delta_hockey_stick_logr_plus_Delta_any_eps_ge_0"]),
                1e-9);
    // The talk's pair (eps, delta) is dominated: its delta is at least the constant, at an eps
    // above 0.
    EXPECT_GE(Number(row["exact"]["delta_talk"]), constant * (1 - 1e-9));
    EXPECT_GT(Number(row["exact"]["eps_talk"]), 0);
    // f(alpha) = 1 - F_V(Delta) - alpha: the trade-off of (0, F_V(Delta)).
    EXPECT_NEAR(EpsilonDeltaTradeOff({0, constant}).beta(0.1), std::max(0.0, 0.9 - constant),
                1e-12);
    if (compared++ >= 8) continue;
    // The other direction, by the accountant, from the two distribution functions: P = V + Delta, Q
    // = V. On the line y = -x the ratio increases for x > Delta; what is below Delta, impossible
    // under P, goes to the far left.
    const auto gamma_p = [shape](double x) {
      return x <= 0 ? 0.0 : boost::math::gamma_p(shape, std::min(x, 1e6));
    };
    const auto gamma_q = [shape](double x) {
      return x <= 0 ? 1.0 : boost::math::gamma_q(shape, std::min(x, 1e6));
    };
    const LineLaw p = {[=](double y) { return gamma_q(-y - shift); },
                       [=](double y) { return gamma_p(-y - shift); }};
    const LineLaw q = {[=](double y) { return y >= -shift ? 1.0 : constant + gamma_q(-y); },
                       [=](double y) { return y >= -shift ? 0.0 : gamma_p(-y) - constant; }};
    const Mechanism other = DistributionMechanism({p, q, -40, -shift, 1e-11}, 20000, "minus Delta");
    const double truth = Number(row["exact"]["delta_hockey_stick_at_eps_talk_logr_minus_Delta"]);
    const Interval delta = PldDelta({{other, 1}}, Number(row["exact"]["eps_talk"]), {}).forward;
    EXPECT_LE(delta.lower, truth * (1 + 1e-9));
    EXPECT_GE(delta.upper, truth * (1 - 1e-9));
    EXPECT_LT(delta.upper - delta.lower, 0.01 * truth) << in;
    const Interval plus = PldDelta({{other, 1}}, Number(row["exact"]["eps_talk"]), {}).backward;
    EXPECT_LE(plus.lower, constant * (1 + 1e-9)) << in;
    EXPECT_GE(plus.upper, constant * (1 - 1e-9)) << in;
  }
  EXPECT_GT(compared, 8);
}

// P((rho + V) W <= xi), V and W standard exponential: what an outsider sees of Version 2.
double ProductCdf(double rho, double xi) {
  boost::math::quadrature::tanh_sinh<double> rule(15);
  const auto positive = [&](double from) {  // factor above 0, threshold above 0
    return rule.integrate([&](double z) { return std::exp(-(z - rho)) * -std::expm1(-xi / z); },
                          from, 60.0 + std::max(0.0, rho));
  };
  if (xi >= 0) return (rho < 0 ? -std::expm1(rho) : 0) + positive(std::max(0.0, rho));
  if (rho >= 0) return 0;
  return rule.integrate([&](double z) { return std::exp(-(z - rho)) * std::exp(-xi / z); }, rho,
                        0.0);
}

TEST(ClaimsTest, AslettVersionTwoDistribution) {
  for (const char* table : {"E_product_v2_cdf", "E_product_v2_cdf_rho_positive"}) {
    for (const auto& row : Table(table)) {
      const double exact = Number(row["exact"]["F"]);
      EXPECT_NEAR(ProductCdf(Number(row["inputs"]["rho"]), Number(row["inputs"]["xi"])), exact,
                  2e-9)
          << row["inputs"];
    }
  }
}

TEST(ClaimsTest, BitOnlyAcceptReject) {
  // One Metropolis bit at log r = 0 against -Delta: total variation 1 - e^-Delta. n bits at r >= 1:
  // (0, 1 - e^(-n Delta)).
  const double shift = 0.01;
  const std::vector<double> sure = {1, 0}, likely = {std::exp(-shift), -std::expm1(-shift)};
  const Mechanism bit = PmfMechanism(sure, likely, "Metropolis bit");
  for (uint64_t n : {1u, 100u}) {
    const double exact = -std::expm1(-shift * static_cast<double>(n));
    for (double epsilon : {0.0, 2.0}) {
      const Interval delta = PldDelta({{bit, n}}, epsilon).value;
      EXPECT_LE(delta.lower, exact + 1e-12);
      EXPECT_GE(delta.upper, exact - 1e-12);
      EXPECT_LT(delta.upper - delta.lower, 1e-6);
    }
  }
  EXPECT_NEAR(-std::expm1(-1.0), 0.632, 1e-3);
  // Barker: each bit is Delta-DP; the worst place is log r = 0, where it is randomised response at
  // Delta/2.
  for (const auto& [n, total_variation] :
       {std::pair{100u, 0.020}, std::pair{1000u, 0.063}, std::pair{10000u, 0.197}}) {
    const Interval delta = PldDelta({{RandomisedResponse(shift / 2, {}), n}}, 0).value;
    EXPECT_NEAR(delta.upper, total_variation, 6e-4) << n;
    const double mu = shift * std::sqrt(static_cast<double>(n)) / 2;
    EXPECT_NEAR(delta.upper, DeltaOf(GaussianTradeOff(mu), 0), 5e-3 * delta.upper) << n;
  }
}

TEST(ClaimsTest, PenaltyMethod) {
  // Noise tau n^alpha c on a log-ratio of sensitivity c: K steps are sqrt(K) / (tau n^alpha)-GDP,
  // whatever c.
  const double tau = 2, n = 1000, alpha = 0.4;
  const double noise = tau * std::pow(n, alpha);
  for (uint64_t steps : {100u, 10000u}) {
    const double mu = std::sqrt(static_cast<double>(steps)) / noise;
    ExpectAround(PldEpsilon({{GaussianMechanism(noise, {}), steps}}, kDelta).value,
                 GaussianEpsilon(mu, kDelta));
  }
}

}  // namespace
}  // namespace partita::privacy::testing::claims_test
