// Confidential accept-reject (Aslett): the trade-off curves of both versions and of the bit alone,
// from outside and from a participant's side. docs/privacy-claims.md has the numbers.
//
// m parties hold shares of V and W; the log-ratio rho is shifted by Delta when one person changes.
// Version 1 opens rho + V, Version 2 opens (rho + V) W. All shares together are standard
// exponential, the m - t of the others Gamma((m - t)/m).
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/math/quadrature/tanh_sinh.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>
#include <vector>

#include "privacy/accounting/trade_off.h"
#include "tests/privacy/accounting/trade_offs.h"

namespace partita::privacy::testing::accept_reject_claims_test {
namespace {

constexpr double kShift = 0.01;

// Errors of one test.
struct OperatingPoint {
  double alpha = 0, beta = 0;
};

double Shape(double parties, double known) { return (parties - known) / parties; }

// --- Version 1 -----------------------------------------------------------------------------------

// P = law of V + Delta, Q = law of V. The ratio p/q falls from infinity at Delta to e^Delta, and P
// puts nothing below Delta. So the best tests of Q against P reject on (Delta, t):
//   alpha = F(t) - F(Delta),       beta = 1 - F(t - Delta);
// those of P against Q reject below Delta, for nothing, and then above t:
//   alpha = 1 - F(t - Delta),      beta = F(t) - F(Delta).
struct VersionOne {
  double shape = 1, shift = kShift;

  double F(double x) const { return x <= 0 ? 0 : boost::math::gamma_p(shape, x); }
  double FromQ(double alpha) const {
    const double rest = 1 - alpha - F(shift);
    if (rest <= 0) return 0;
    return 1 - F(boost::math::gamma_q_inv(shape, rest) - shift);
  }
  double FromP(double alpha) const {
    if (alpha <= 0) return 1 - F(shift);
    if (alpha >= 1) return 0;
    return F(shift + boost::math::gamma_q_inv(shape, alpha)) - F(shift);
  }
  TradeOff Curve(bool from_p) const {
    const VersionOne self = *this;
    const auto beta = [self, from_p](double alpha) {
      return from_p ? self.FromP(alpha) : self.FromQ(alpha);
    };
    return {CurveSide::kExact, "version 1", beta, [beta](double a) { return 1 - beta(a); }};
  }
};

TEST(AcceptRejectClaimsTest, VersionOneCurvesAreInverseToEachOther) {
  for (const double shape : {1.0, 0.5, 0.9}) {
    const VersionOne law{shape, 0.1};
    for (double alpha = 0.01; alpha < 1 - law.F(0.1); alpha += 0.07) {
      EXPECT_NEAR(law.FromP(law.FromQ(alpha)), alpha, 1e-9) << shape << " " << alpha;
    }
    EXPECT_TRUE(LooksLikeTradeOff(law.Curve(true)));
    EXPECT_TRUE(LooksLikeTradeOff(law.Curve(false)));
  }
}

TEST(AcceptRejectClaimsTest, VersionOneIsZeroDeltaPrivateAndThePrintedLineIsItsTangent) {
  for (const double shape : {1.0, 0.5, 0.9}) {
    const VersionOne law{shape, kShift};
    const double delta = law.F(kShift);
    // 1 - F(Delta) - alpha touches the curve at alpha = 0 and lies below it elsewhere.
    EXPECT_NEAR(law.FromP(0), 1 - delta, 1e-15);
    for (double alpha = 0.01; alpha < 1; alpha += 0.03) {
      const double line = std::max(0.0, 1 - delta - alpha);
      EXPECT_GE(law.FromP(alpha), line - 1e-12);
      EXPECT_GE(law.FromQ(alpha), line - 1e-12);
    }
    for (const double epsilon : {0.0, 0.5, 3.0}) {
      EXPECT_NEAR(DeltaOf(law.Curve(true), epsilon), delta, 1e-8) << shape << " " << epsilon;
    }
    // Against an honest coin: at 5 % false alarms an attacker is right in 5 % + delta of the cases
    // at most.
    EXPECT_LE(law.Curve(true).power(0.05), 0.05 + delta + 1e-12);
  }
}

TEST(AcceptRejectClaimsTest, VersionOneFromEverySide) {
  // delta of an outsider, a participant and a coalition of m - 1, Delta = 0.01.
  EXPECT_NEAR((VersionOne{Shape(2, 0), kShift}.F(kShift)), 0.00995, 1e-5);
  EXPECT_NEAR((VersionOne{Shape(2, 1), kShift}.F(kShift)), 0.1125, 1e-4);
  EXPECT_NEAR((VersionOne{Shape(5, 1), kShift}.F(kShift)), 0.02676, 1e-4);
  EXPECT_NEAR((VersionOne{Shape(5, 4), kShift}.F(kShift)), 0.4328, 1e-3);
}

// --- Version 2 -----------------------------------------------------------------------------------

// P((rho + v + V') (w + W') <= xi), V' and W' of law Gamma(shape), v and w the shares that the
// adversary knows. shape 1, v = w = 0: an outsider.
struct VersionTwo {
  double rho = 0, shape = 1, v = 0, w = 0;

  // Of W' <= x.
  double WCdf(double x) const { return x <= 0 ? 0 : boost::math::gamma_p(shape, x); }
  double WTail(double x) const { return x <= 0 ? 1 : boost::math::gamma_q(shape, x); }
  // int over V' in (from, to) of value(rho + v + V'). In u = V'^shape the density is
  // exp(-u^(1/shape)) / Gamma(shape + 1), without a pole.
  template <typename Value>
  double OverV(double from, double to, const Value& value) const {
    static thread_local boost::math::quadrature::tanh_sinh<double> rule(12);
    const double low = std::pow(std::max(0.0, from), shape), high = std::pow(to, shape);
    if (!(high > low)) return 0;
    const auto at = [&](double u) {
      const double x = std::pow(u, 1 / shape);
      return std::exp(-x) * value(rho + v + x);
    };
    return rule.integrate(at, low, high, 1e-11) / std::tgamma(shape + 1);
  }
  double Cdf(double xi) const {
    const double base = rho + v;
    const double zero = std::max(0.0, -base);  // V' where the factor changes its sign
    // Where W' may be anything: beyond it, xi / z - w is negative.
    const double turn = w > 0 ? xi / w - base : (xi > 0 ? zero + 60 : 0);
    if (xi > 0) {
      return OverV(0, zero, [](double) { return 1; }) +
             OverV(zero, std::min(zero + 60, turn), [&](double z) { return WCdf(xi / z - w); });
    }
    // Factor below 0: W' >= xi / z - w.
    const double sure = w > 0 ? std::clamp(turn, 0.0, zero) : 0;
    return OverV(0, sure, [](double) { return 1; }) +
           OverV(sure, zero, [&](double z) { return WTail(xi / z - w); });
  }
};

// The trade-off of two laws by cells with ends at `ends`: best tests take cells by their likelihood
// ratio. Cutting into cells only hides something, so that this lies above the truth (kUpper), and
// falls to it as the cells become finer.
std::vector<OperatingPoint> CellCurve(const VersionTwo& p, const VersionTwo& q,
                                      const std::vector<double>& ends) {
  std::vector<std::pair<double, double>> cells;
  double p_below = 0, q_below = 0;
  for (const double end : ends) {
    const double p_here = p.Cdf(end), q_here = q.Cdf(end);
    cells.emplace_back(std::max(0.0, p_here - p_below), std::max(0.0, q_here - q_below));
    p_below = p_here;
    q_below = q_here;
  }
  cells.emplace_back(std::max(0.0, 1 - p_below), std::max(0.0, 1 - q_below));
  std::sort(cells.begin(), cells.end(),
            [](const auto& a, const auto& b) { return a.second * b.first < b.second * a.first; });
  std::vector<OperatingPoint> points = {{0, 1}};
  double alpha = 0, power = 0;
  for (const auto& [p_mass, q_mass] : cells) {
    power += p_mass;
    alpha += q_mass;
    points.push_back({std::min(1.0, alpha), std::max(0.0, 1 - power)});
  }
  return points;
}

double TotalVariation(const std::vector<OperatingPoint>& points) {
  double largest = 0;
  for (const OperatingPoint& point : points) {
    largest = std::max(largest, 1 - point.beta - point.alpha);
  }
  return largest;
}

// Ends of cells, closer together around each of the places.
std::vector<double> Ends(const std::vector<double>& places, int per_side) {
  std::vector<double> ends;
  for (const double place : places) {
    for (int i = -per_side; i <= per_side; ++i) {
      const double x = static_cast<double>(i) / per_side;
      ends.push_back(place + std::copysign(12 * x * x * x * x, x));
    }
  }
  std::sort(ends.begin(), ends.end());
  return ends;
}

// The same law, integrated over the other variable: w + W' is never negative, so that no case is
// distinguished.
double CdfOverW(const VersionTwo& law, double xi) {
  boost::math::quadrature::tanh_sinh<double> rule(12);
  const double base = law.rho + law.v;
  // V' <= xi / (w + W') - base is possible from, or up to, here.
  const double turn = base == 0 ? 0 : xi / base - law.w;
  const double from = base < 0 && xi < 0 ? std::max(0.0, turn) : 0;
  const double to = base > 0 ? std::clamp(turn, 0.0, 60.0) : 60;
  if (base > 0 && xi <= 0) return 0;
  const auto at = [&](double u) {
    const double x = std::pow(u, 1 / law.shape);
    const double limit = xi / (law.w + x) - base;
    return limit <= 0 ? 0.0 : std::exp(-x) * boost::math::gamma_p(law.shape, limit);
  };
  return rule.integrate(at, std::pow(from, law.shape), std::pow(to, law.shape), 1e-11) /
         std::tgamma(law.shape + 1);
}

TEST(AcceptRejectClaimsTest, VersionTwoDistributionBothWays) {
  // The outsider's: accepted with probability e^rho; corrected value at rho = 0.5, xi = 0.5.
  EXPECT_NEAR((VersionTwo{-0.7}.Cdf(0)), -std::expm1(-0.7), 1e-9);
  EXPECT_NEAR((VersionTwo{0.5}.Cdf(0.5)), 0.3524, 1e-4);
  for (const VersionTwo& law : {VersionTwo{-1}, VersionTwo{0.5}, VersionTwo{-1, 0.5, 0.2, 0.5},
                                VersionTwo{0.5, 0.5, 0.2, 0.5}, VersionTwo{0.5, 0.8, 0.1, 2}}) {
    for (const double xi : {-2.0, -0.3, 0.1, 0.9, 4.0}) {
      EXPECT_NEAR(law.Cdf(xi), CdfOverW(law, xi), 1e-9) << law.rho << " " << law.shape << " " << xi;
    }
  }
}

// Delta = 0.01, two parties: a participant faces shape 1/2. Its own shares v and w at their median,
// 0.23, and w also at 5, a draw in 600.
struct Side {
  double rho, shape, v, w;
  double total_variation;  // between rho and rho - Delta, of docs/privacy-claims.md
};
const std::vector<Side> kSides = {
    {-1, 1, 0, 0, 0.0042},         {0, 1, 0, 0, 0.00995},          {0.5, 1, 0, 0, 0.0031},
    {-1, 0.5, 0.23, 0.23, 0.0146}, {0.5, 0.5, 0.23, 0.23, 0.0056}, {0.5, 0.5, 0.23, 5, 0.0258},
};

// The sign of what Version 2 opens is the bit, and what it opens is what Version 1 opens times an
// independent number: its curve lies between theirs, from the same side.
TEST(AcceptRejectClaimsTest, VersionTwoLiesBetweenTheBitAndVersionOne) {
  for (const Side& side : kSides) {
    SCOPED_TRACE(::testing::Message() << side.rho << " " << side.shape << " " << side.w);
    const VersionTwo with{side.rho, side.shape, side.v, side.w};
    const VersionTwo without{side.rho - kShift, side.shape, side.v, side.w};
    const double edge = (side.rho + side.v) * side.w;
    std::vector<double> places = {0};
    if (edge != 0) places = {0, edge, edge - kShift * side.w};
    const auto coarse = CellCurve(with, without, Ends(places, 25));
    const auto fine = CellCurve(with, without, Ends(places, 100));
    EXPECT_GE(TotalVariation(fine), TotalVariation(coarse) - 1e-9);
    EXPECT_NEAR(TotalVariation(fine), side.total_variation, 0.03 * side.total_variation);
    const double bit = std::fabs(with.Cdf(0) - without.Cdf(0));
    EXPECT_GE(TotalVariation(fine), bit - 1e-9);
    const VersionOne first{side.shape, kShift};
    EXPECT_LE(TotalVariation(fine), first.F(kShift) + 1e-9);
    // Point by point: the larger of the two directions of Version 1 is below.
    for (const OperatingPoint& point : fine) {
      const double below = std::min(first.FromP(point.alpha), first.FromQ(point.alpha));
      EXPECT_GE(point.beta, below - 1e-7) << point.alpha;
    }
  }
}

// Somebody whose own w is large sees Version 1 of the others' shares: no bound below it holds.
TEST(AcceptRejectClaimsTest, VersionTwoOfAParticipantTendsToVersionOne) {
  const double first = VersionOne{0.5, kShift}.F(kShift);
  double before = 0;
  for (const double w : {5.0, 500.0, 5e5}) {
    const VersionTwo with{0.5, 0.5, 0.23, w}, without{0.5 - kShift, 0.5, 0.23, w};
    const double edge = 0.73 * w;
    // The best single threshold: P puts nothing below its edge but W' / w.
    double largest = 0;
    for (int i = 0; i <= 200; ++i) {
      const double end = edge + kShift * w * (i - 150) / 50.0;
      largest = std::max(largest, without.Cdf(end) - with.Cdf(end));
    }
    EXPECT_GT(largest, before);
    EXPECT_LE(largest, first + 1e-9);
    before = largest;
  }
  EXPECT_GT(before, 0.9 * first);
}

// --- the bit alone -------------------------------------------------------------------------------

// n Metropolis bits at r >= 1 against r e^-Delta: one rejection tells, so that the curve is
// e^(-n Delta) (1 - alpha), and its inverse the other way round.
TEST(AcceptRejectClaimsTest, MetropolisBitsHaveALineForACurve) {
  for (const uint64_t bits : {1u, 100u}) {
    const double all_accepted = std::exp(-kShift * static_cast<double>(bits));
    const std::vector<double> sure = {1, 0};
    const std::vector<double> likely = {std::exp(-kShift), -std::expm1(-kShift)};
    const std::vector<Event> events = {{PmfMechanism(sure, likely, "Metropolis bit"), bits}};
    const TradeOff lower = LowerTradeOff(Profile(events, {0, 0.5, 2}));
    for (const double alpha : {0.0, 0.05, 0.3, 0.9}) {
      EXPECT_LE(lower.beta(alpha), all_accepted * (1 - alpha) + 1e-9);
    }
  }
}

// Barker: log r = +-Delta/2 is randomised response at Delta/2, and n of them nearly Gaussian with
// mu = Delta sqrt(n)/2. At 5 % false alarms after 1000 bits an attacker is right 6.9 % of the time
// at most, against Metropolis in all.
TEST(AcceptRejectClaimsTest, BarkerBitsAreNearlyGaussian) {
  for (const uint64_t bits : {100u, 1000u, 10000u}) {
    const double mu = kShift * std::sqrt(static_cast<double>(bits)) / 2;
    const std::vector<Event> events = {{RandomisedResponse(kShift / 2, {}), bits}};
    const std::vector<ProfilePoint> profile = Profile(events, ShowingEpsilons(events, 30));
    const TradeOff lower = LowerTradeOff(profile), upper = UpperTradeOff(profile);
    for (const double alpha : {0.01, 0.05, 0.2, 0.5, 0.8}) {
      const double limit = GaussianTradeOff(mu).beta(alpha);
      EXPECT_LE(lower.beta(alpha), limit + 2e-3) << bits << " " << alpha;
      EXPECT_GE(upper.beta(alpha), limit - 2e-3) << bits << " " << alpha;
    }
    const double metropolis = 1 - 0.95 * std::exp(-kShift * static_cast<double>(bits));
    EXPECT_LT(lower.power(0.05), metropolis);
  }
  EXPECT_NEAR(GaussianTradeOff(kShift * std::sqrt(1000.0) / 2).power(0.05), 0.0687, 1e-3);
}

}  // namespace
}  // namespace partita::privacy::testing::accept_reject_claims_test
