#include "privacy/accounting/rdp.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "privacy/accounting/pld.h"
#include "tests/privacy/accounting/renyi_orders.h"

namespace partita::privacy::rdp_test {
namespace {

// Mironov, Talwar & Zhang 2019, eq. for integer orders: sum_k C(a,k) (1-q)^(a-k) q^k e^(k(k-1)/(2
// s^2)).
double IntegerOrder(double sigma, double rate, int order) {
  long double sum = 0;
  for (int k = 0; k <= order; ++k) {
    const double log_choose =
        std::lgamma(order + 1.0) - std::lgamma(k + 1.0) - std::lgamma(order - k + 1.0);
    sum +=
        std::exp(static_cast<long double>(log_choose + (order - k) * std::log1p(-rate) +
                                          k * std::log(rate) + k * (k - 1) / (2 * sigma * sigma)));
  }
  return static_cast<double>(std::log(sum)) / (order - 1);
}

TEST(RdpTest, SampledGaussianAtIntegerOrders) {
  for (double sigma : {0.7, 1.0, 2.042, 10.0}) {
    for (double rate : {1e-3, 0.0033, 0.1, 0.9}) {
      const RdpCurve curve = SampledGaussianRdp(sigma, rate);
      for (int order : {2, 3, 8, 31}) {
        const double exact = IntegerOrder(sigma, rate, order);
        EXPECT_NEAR(curve(order), exact, 1e-9 * exact + 1e-15)
            << sigma << " " << rate << " " << order;
      }
    }
  }
}

// (alpha - 1) rho(alpha) is convex and rho increases: fractional orders lie where they must.
TEST(RdpTest, FractionalOrdersFollowConvexity) {
  const RdpCurve curve = SampledGaussianRdp(0.9, 0.02);
  for (double order = 1.1; order < 20; order += 0.37) {
    EXPECT_LE(curve(order), curve(order + 0.3));
    const double whole = std::floor(order), t = order - whole;
    if (whole < 2) continue;
    const double chord = (1 - t) * (whole - 1) * curve(whole) + t * whole * curve(whole + 1);
    EXPECT_LE((order - 1) * curve(order), chord * (1 + 1e-9));
  }
}

TEST(RdpTest, LimitsAndPureMechanisms) {
  EXPECT_DOUBLE_EQ(GaussianRdp(2)(8), 1);
  EXPECT_NEAR(SampledGaussianRdp(2, 1 - 1e-12)(8), 1, 1e-9);
  for (double order : {1.5, 4.0, 50.0, 1000.0}) {
    EXPECT_LE(LaplaceRdp(2)(order), 0.5);
    EXPECT_LE(RandomisedResponseRdp(0.5)(order), 0.5);
    EXPECT_LE(RandomisedResponseRdp(0.5)(order), PureDpRdp(0.5)(order));
  }
  EXPECT_NEAR(LaplaceRdp(2)(1e5), 0.5, 1e-3);
}

// Never below what the proved accountant says, and not absurdly above.
TEST(RdpTest, IsAnUpperBound) {
  for (const auto& [sigma, rate, uses] :
       {std::tuple{2.042, 0.0033, 20000}, {1.0, 0.01, 1000}, {5.0, 0.2, 100}}) {
    const RdpCurve one = SampledGaussianRdp(sigma, rate);
    const double count = uses;
    const RdpCurve all = [&](double order) { return count * one(order); };
    const Interval pld = PldEpsilon({{GaussianMechanism(sigma, {Adjacency::kAddRemove, rate}),
                                      static_cast<uint64_t>(uses)}},
                                    1e-5, {})
                             .value;
    const double best = RdpEpsilon(all, 1e-5);
    EXPECT_GE(best, pld.lower);
    EXPECT_LE(best, 1.5 * pld.upper);
    EXPECT_LE(best, testing::RdpEpsilonAt(all, 1e-5, testing::DefaultOrders()) + 1e-12);
  }
}

TEST(RdpTest, Zcdp) {
  // Bun & Steinke's rho + 2 sqrt(rho log(1/delta)).
  EXPECT_LT(ZcdpEpsilon(0.1, 1e-6), 0.1 + 2 * std::sqrt(0.1 * std::log(1e6)));
  const Interval gaussian =
      PldEpsilon({{GaussianMechanism(std::sqrt(5.0), {}), 1}}, 1e-6, {}).value;  // rho = 0.1
  EXPECT_GT(ZcdpEpsilon(0.1, 1e-6), gaussian.lower);
}

TEST(RdpTest, BadInput) {
  EXPECT_THROW(GaussianRdp(0), Error);
  EXPECT_THROW(GaussianRdp(1)(1), Error);
  EXPECT_THROW(GaussianRdp(1)(std::nan("")), Error);
  EXPECT_THROW(SampledGaussianRdp(1, 1.5), Error);
  EXPECT_THROW(RdpEpsilon(GaussianRdp(1), 0), Error);
}

}  // namespace
}  // namespace partita::privacy::rdp_test
