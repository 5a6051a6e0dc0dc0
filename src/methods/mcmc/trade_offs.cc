#include "methods/mcmc/trade_offs.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <boost/math/quadrature/gauss_kronrod.hpp>
#include <boost/math/special_functions/bessel.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <boost/math/tools/roots.hpp>
#include <cmath>
#include <limits>

#include "base/error.h"

namespace partita::methods::mcmc {
namespace {

using privacy::CurveSide;
using privacy::TradeOff;

constexpr size_t kCells = 4000;

// The smallest count with no more than `alpha` above it.
double SmallestBorder(const boost::math::binomial& count, double alpha) {
  double border = boost::math::quantile(boost::math::complement(count, alpha));
  while (boost::math::cdf(boost::math::complement(count, border)) > alpha) ++border;
  return border;
}

double CheckedDelta(double delta) {
  if (!(delta > 0) || !std::isfinite(delta)) {
    throw Error(ErrorCode::kUsage, "the sensitivity of a log ratio must be positive");
  }
  return delta;
}

TradeOff FromBeta(CurveSide side, std::string name, std::function<double(double)> beta) {
  auto checked = [beta = std::move(beta)](double alpha) {
    privacy::RequireProbability(alpha, "a type I error");
    return std::clamp(beta(alpha), 0.0, 1 - alpha);
  };
  return {side, std::move(name), checked, [checked](double alpha) { return 1 - checked(alpha); }};
}

// P(X <= x) of Gamma(shape, 1), 0 below 0; its quantile, and that of the upper tail.
double Below(double shape, double x) { return x <= 0 ? 0 : boost::math::gamma_p(shape, x); }
double At(double shape, double probability) {
  if (probability <= 0) return 0;
  if (probability >= 1) return HUGE_VAL;
  return boost::math::gamma_p_inv(shape, probability);
}
double UpperAt(double shape, double tail) {
  if (tail <= 0) return HUGE_VAL;
  if (tail >= 1) return 0;
  return boost::math::gamma_q_inv(shape, tail);
}

double Integral(const std::function<double(double)>& integrand, double low, double high) {
  return boost::math::quadrature::gauss_kronrod<double, 61>::integrate(integrand, low, high, 12,
                                                                       1e-13);
}

// The x with ProductCdf(log_ratio, x) = probability.
double ProductQuantile(double log_ratio, double probability) {
  const auto distance = [&](double x) { return ProductCdf(log_ratio, x) - probability; };
  double low = -1, high = 1;
  while (distance(low) > 0 && low > -1e12) low *= 2;
  while (distance(high) < 0 && high < 1e12) high *= 2;
  std::uintmax_t steps = 200;
  const auto bracket = boost::math::tools::toms748_solve(
      distance, low, high, boost::math::tools::eps_tolerance<double>(48), steps);
  return (bracket.first + bracket.second) / 2;
}

double Logistic(double x) {
  return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x));
}

}  // namespace

double RemainingShape(uint32_t parties, uint32_t known) {
  if (parties < 1 || known >= parties) {
    throw Error(ErrorCode::kUsage, "somebody who knows all noise is protected from by none of it",
                "let fewer parties pool what they know");
  }
  return static_cast<double>(parties - known) / parties;
}

double SumDelta(double shape, double delta) { return Below(shape, CheckedDelta(delta)); }

TradeOff SumTradeOff(double shape, double shift) {
  return FromBeta(CurveSide::kExact, fmt::format("log ratio with Gamma({:.4g}) noise", shape),
                  [shape, shift](double alpha) {
                    if (shift > 0) {
                      const double threshold = UpperAt(shape, alpha);
                      return std::isinf(threshold)
                                 ? 1 - Below(shape, shift)
                                 : Below(shape, threshold + shift) - Below(shape, shift);
                    }
                    const double reached = std::min(alpha + Below(shape, -shift), 1.0);
                    if (reached == 1) return 0.0;
                    return 1 - Below(shape, At(shape, reached) + shift);
                  });
}

TradeOff LosingChain(double lost, uint64_t decisions) {
  privacy::RequireProbability(lost, "what a decision loses");
  const double kept = std::pow(1 - lost, static_cast<double>(decisions));
  return FromBeta(CurveSide::kLower, "decisions that tell all or nothing",
                  [kept](double alpha) { return std::max(0.0, kept - alpha); });
}

TradeOff SumGuarantee(double shape, double delta) { return LosingChain(SumDelta(shape, delta), 1); }

double ProductCdf(double log_ratio, double x) {
  const double rho = log_ratio;
  if (x <= 0) {
    if (rho >= 0) return 0;
    // b = -s < 0: W >= x / b.
    return Integral([&](double s) { return s == 0 ? 0 : std::exp(rho + s + x / s); }, 0, -rho);
  }
  if (rho <= 0) {
    const double root = 2 * std::sqrt(x);
    return 1 - std::exp(rho) * root * boost::math::cyl_bessel_k(1, root);
  }
  return 1 - Integral([&](double u) { return std::exp(-u - x / (rho + u)); }, 0,
                      std::numeric_limits<double>::infinity());
}

TradeOff ProductTradeOff(double log_ratio, double other) {
  if (!(log_ratio <= 0) || !(other <= 0)) {
    throw Error(ErrorCode::kUsage, "the trade-off of the product is known for ratios up to 1 only");
  }
  return FromBeta(CurveSide::kExact, "log ratio times an exponential variate",
                  [log_ratio, other](double alpha) {
                    if (alpha >= 1) return 0.0;
                    if (log_ratio <= other) {
                      if (alpha <= 0) return 1.0;
                      return ProductCdf(other, ProductQuantile(log_ratio, 1 - alpha));
                    }
                    if (alpha <= 0) return 1.0;
                    return 1 - ProductCdf(other, ProductQuantile(log_ratio, alpha));
                  });
}

TradeOff BitsTradeOff(double p, double q, uint64_t bits) {
  const double first = q >= p ? p : 1 - p, found = q >= p ? q : 1 - q;
  if (!(first > 0 && found < 1) || bits == 0 || bits > uint64_t{1} << 40) {
    throw Error(ErrorCode::kUsage, "bits need probabilities between 0 and 1, and there is no bit");
  }
  const auto trials = static_cast<double>(bits);
  const boost::math::binomial under_p(trials, first), under_q(trials, found);
  return FromBeta(CurveSide::kExact, "bits that are counted", [=](double alpha) {
    if (alpha <= 0) return 1.0;
    if (alpha >= 1) return 0.0;
    // Rejected: more than `border` ones, and `border` ones with the probability that is left.
    const double border = SmallestBorder(under_p, alpha);
    const double above = boost::math::cdf(boost::math::complement(under_p, border));
    const double share = std::clamp((alpha - above) / boost::math::pdf(under_p, border), 0.0, 1.0);
    return boost::math::cdf(under_q, border) - share * boost::math::pdf(under_q, border);
  });
}

TradeOff BarkerGuarantee(double delta) {
  CheckedDelta(delta);
  return FromBeta(CurveSide::kLower, "one decision by Barker's rule", [delta](double alpha) {
    if (alpha <= 0 || alpha >= 1) return 1 - alpha;
    return Logistic(std::log1p(-alpha) - std::log(alpha) - delta);
  });
}

privacy::Mechanism BarkerMechanism(double delta) {
  CheckedDelta(delta);
  privacy::LinePair pair;
  pair.p = {[delta](double x) { return Logistic(x - delta); },
            [delta](double x) { return Logistic(delta - x); }};
  pair.q = {[](double x) { return Logistic(x); }, [](double x) { return Logistic(-x); }};
  pair.low = -40;
  pair.high = 40 + delta;
  pair.relative_error = 1e-14;
  privacy::Mechanism mechanism = privacy::DistributionMechanism(
      pair, kCells, fmt::format("Barker's rule, log ratios within {:.4g}", delta));
  mechanism.pure_epsilon = delta;
  return mechanism;
}

TradeOff MetropolisChain(double delta, uint64_t decisions) {
  const double kept = std::exp(-CheckedDelta(delta) * static_cast<double>(decisions));
  return FromBeta(CurveSide::kUpper, "Metropolis's rule",
                  [kept](double alpha) { return (1 - alpha) * kept; });
}

double BarkerRho(double delta) { return CheckedDelta(delta) * delta / 8; }

}  // namespace partita::methods::mcmc
