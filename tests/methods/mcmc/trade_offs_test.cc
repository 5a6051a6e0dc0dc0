// The trade-off functions against likelihood-ratio tests on fine grids, against simulation, and
// composed over chains against exact binomial tests.
#include "methods/mcmc/trade_offs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>
#include <functional>

#include "base/error.h"
#include "methods/mcmc/figures.h"
#include "methods/mcmc/statement.h"
#include "privacy/accounting/pld.h"
#include "stats/blr/variates.h"
#include "tests/privacy/accounting/renyi_orders.h"
#include "tests/privacy/accounting/trade_offs.h"
#include "tests/stats/blr/random.h"

namespace partita::methods::mcmc::trade_offs_test {
namespace {

using privacy::TradeOff;
using stats::blr::TestRandom;

// One bit that is 1 with probability p under H0 and q under H1.
TradeOff BitTradeOff(double p, double q) {
  // The bit that is likelier under H1 is rejected first.
  const double first = q >= p ? p : 1 - p, found = q >= p ? q : 1 - q;
  const auto beta = [first, found](double alpha) {
    if (alpha <= first) return first == 0 ? 1 - found : 1 - found * alpha / first;
    return (1 - found) * (1 - alpha) / (1 - first);
  };
  return {privacy::CurveSide::kExact, "one bit", beta,
          [beta](double alpha) { return 1 - beta(alpha); }};
}

// beta(alpha) of the best test between two laws given by the masses of the same cells.
class BestTest {
 public:
  BestTest(std::vector<double> p, std::vector<double> q) {
    std::vector<size_t> order;
    for (size_t cell = 0; cell < p.size(); ++cell) {
      if (p[cell] > 0 || q[cell] > 0) order.push_back(cell);
    }
    std::sort(order.begin(), order.end(),
              [&](size_t a, size_t b) { return q[a] * p[b] > q[b] * p[a]; });
    double alpha = 0, power = 0;
    points_.emplace_back(0, 0);
    for (const size_t cell : order) {
      alpha += p[cell];
      power += q[cell];
      points_.emplace_back(alpha, power);
    }
  }
  double Beta(double alpha) const {
    const auto at = std::lower_bound(points_.begin() + 1, points_.end() - 1, alpha,
                                     [](const auto& point, double a) { return point.first < a; });
    const auto before = at - 1;
    const double width = at->first - before->first;
    const double part = width <= 0 ? 1 : std::min(1.0, (alpha - before->first) / width);
    return 1 - (before->second + part * (at->second - before->second));
  }

 private:
  std::vector<std::pair<double, double>> points_;
};

// Cells between low and high that are fine near each pole, which lies at a border.
struct Mesh {
  double low = 0, high = 1;
  std::vector<double> poles;
  int cells = 1000;  // on each side of each pole
};

std::vector<double> Masses(const std::function<double(double)>& cdf, const Mesh& mesh) {
  std::vector<double> borders = {mesh.high};
  for (const double pole : mesh.poles) {
    for (int k = -mesh.cells; k <= mesh.cells; ++k) {
      const double part = static_cast<double>(k) / mesh.cells;
      const double at = pole + part * std::abs(part) * (mesh.high - mesh.low);
      if (at > mesh.low && at < mesh.high) borders.push_back(at);
    }
  }
  std::sort(borders.begin(), borders.end());
  std::vector<double> masses;
  double before = 0;
  for (const double at : borders) {
    const double here = at == mesh.high ? 1 : cdf(at);
    masses.push_back(std::max(0.0, here - before));
    before = here;
  }
  return masses;
}

constexpr double kAlphas[] = {0.001, 0.01, 0.05, 0.2, 0.5, 0.8, 0.99};

// The first cell at a pole is 3e-5 wide and holds at most 0.006 of Gamma(1/2); within a cell the
// grid takes a straight line, which is off by less than a quarter of that.
TEST(SumTradeOff, IsTheBestTests) {
  for (const double shape : {0.5, 2.0 / 3, 1.0}) {
    for (const double shift : {-0.3, -0.01, 0.01, 0.3}) {
      const auto law = [shape](double at) {
        return [shape, at](double x) { return x <= at ? 0 : boost::math::gamma_p(shape, x - at); };
      };
      // log r = shift under H0, 0 under H1; both borders lie on the grid.
      const Mesh mesh{-1, 29, {0, shift}, 1000};
      const BestTest best(Masses(law(shift), mesh), Masses(law(0), mesh));
      const TradeOff exact = SumTradeOff(shape, shift);
      for (const double alpha : kAlphas) {
        EXPECT_NEAR(exact.beta(alpha), best.Beta(alpha), 2e-3) << shape << " " << shift;
        // The guarantee lies below every one of them.
        EXPECT_LE(SumGuarantee(shape, std::abs(shift)).beta(alpha), exact.beta(alpha) + 1e-12);
      }
      EXPECT_TRUE(privacy::testing::LooksLikeTradeOff(exact));
    }
  }
}

// The profile is constant in epsilon, and the text's pair holds but says less.
TEST(SumTradeOff, LosesDeltaAtEveryEpsilon) {
  for (const uint32_t parties : {2, 3, 7}) {
    const double shape = RemainingShape(parties, 1);
    for (const double delta : {0.01, 0.1}) {
      const double lost = SumDelta(shape, delta);
      double worst_0 = 0, worst_2 = 0;
      for (const double shift : {-delta, delta}) {
        worst_0 = std::max(worst_0, privacy::DeltaOf(SumTradeOff(shape, shift), 0));
        worst_2 = std::max(worst_2, privacy::DeltaOf(SumTradeOff(shape, shift), 2));
      }
      EXPECT_NEAR(worst_0, lost, 1e-6);
      EXPECT_NEAR(worst_2, lost, 1e-6);
      for (const double tau : {delta, 3 * delta}) {
        const double epsilon = delta + std::log1p(delta / tau) / parties;
        EXPECT_LE(privacy::DeltaOf(SumTradeOff(shape, delta), epsilon),
                  SumDelta(shape, tau) + 1e-9);
      }
    }
  }
  // research/peers-dp.md: two parties, Delta = 0.01.
  EXPECT_NEAR(SumDelta(RemainingShape(2, 1), 0.01), 0.112, 0.001);
  EXPECT_THROW(RemainingShape(3, 3), Error);
}

// Simulated: 200000 draws of either side; the error of a test at the formula's own threshold within
// 5.5 standard errors (12 comparisons, a false alarm below 1e-6).
TEST(SumTradeOff, IsSimulated) {
  TestRandom random(21);
  stats::blr::Variates variates(random);
  constexpr size_t kDraws = 200000;
  for (const double shift : {0.05, 0.4}) {
    const double shape = 0.5;
    std::vector<double> p, q;
    for (size_t k = 0; k < kDraws; ++k) {
      p.push_back(shift + variates.Gamma(shape));
      q.push_back(variates.Gamma(shape));
    }
    std::sort(p.begin(), p.end());
    for (const double alpha : {0.01, 0.1, 0.5}) {
      // Reject where H0 is impossible and above the (1 - alpha) quantile.
      const double upper = p[static_cast<size_t>((1 - alpha) * kDraws)];
      const auto missed =
          std::count_if(q.begin(), q.end(), [&](double x) { return x >= shift && x < upper; });
      const double beta = static_cast<double>(missed) / kDraws;
      EXPECT_NEAR(beta, SumTradeOff(shape, shift).beta(alpha),
                  5.5 * std::sqrt(0.25 / kDraws) + 5.5 * std::sqrt(alpha / kDraws));
    }
  }
}

// 400000 draws: within 5.5 standard errors of the empirical distribution function at each of 21
// points, a false alarm below 1e-6.
TEST(ProductLaw, IsSimulated) {
  TestRandom random(22);
  stats::blr::Variates variates(random);
  constexpr size_t kDraws = 400000;
  for (const double rho : {-1.5, -0.2, 0.5}) {
    std::vector<double> draws;
    for (size_t k = 0; k < kDraws; ++k) {
      draws.push_back((rho + variates.Exponential()) * variates.Exponential());
    }
    for (const double x : {-2.0, -0.5, -0.01, 0.001, 0.3, 1.0, 4.0}) {
      const auto below =
          std::count_if(draws.begin(), draws.end(), [&](double d) { return d <= x; });
      const double p = ProductCdf(rho, x);
      EXPECT_NEAR(static_cast<double>(below) / kDraws, p,
                  5.5 * std::sqrt(p * (1 - p) / kDraws) + 1e-12)
          << rho << " " << x;
    }
  }
  // research/peers-dp.md: the form for log r <= 0 would give 0.2674.
  EXPECT_NEAR(ProductCdf(0.5, 0.5), 0.3524, 1e-4);
  EXPECT_NEAR(ProductCdf(-0.7, 0), 1 - std::exp(-0.7), 1e-12);
}

TEST(ProductTradeOff, IsTheBestTests) {
  for (const auto& [rho, other] : std::vector<std::pair<double, double>>{
           {-0.5, -0.4}, {-0.4, -0.5}, {-2, -1.9}, {0, -0.1}, {-0.1, 0}}) {
    const auto law = [](double ratio) {
      return [ratio](double x) { return ProductCdf(ratio, x); };
    };
    const Mesh mesh{-20, 60, {0}, 1000};
    const BestTest best(Masses(law(rho), mesh), Masses(law(other), mesh));
    const TradeOff exact = ProductTradeOff(rho, other);
    for (const double alpha : kAlphas) {
      EXPECT_NEAR(exact.beta(alpha), best.Beta(alpha), 3e-3) << rho << " " << other << " " << alpha;
    }
  }
  EXPECT_THROW(ProductTradeOff(0.1, 0), Error);
}

// A participant of Version 2 sees (log r + v + V)(w + W) with v and w known: never more than
// Version 1 tells it.
TEST(ProductTradeOff, TellsAParticipantLessThanTheSum) {
  const double shape = 0.5, rho = -0.3, other = -0.2, v = 0.1, w = 0.6;
  // Masses of the product by integration over its second factor.
  const auto law = [&](double ratio) {
    return [=](double x) {
      double total = 0;
      constexpr int kSteps = 100;
      for (int k = 0; k < kSteps; ++k) {
        const double factor = w + boost::math::gamma_p_inv(shape, (k + 0.5) / kSteps);
        const double at = x / factor - ratio - v;
        total += at <= 0 ? 0 : boost::math::gamma_p(shape, at);
      }
      return total / kSteps;
    };
  };
  const Mesh mesh{-3, 40, {0}, 300};
  const BestTest best(Masses(law(rho), mesh), Masses(law(other), mesh));
  for (const double alpha : kAlphas) {
    EXPECT_GE(best.Beta(alpha), SumTradeOff(shape, rho - other).beta(alpha) - 5e-3);
  }
}

// Every bit of Barker's rule, and the worst of them at each alpha.
TEST(Barker, GuaranteeIsTheWorstBit) {
  const double delta = 0.4;
  const TradeOff guarantee = BarkerGuarantee(delta);
  for (const double alpha : kAlphas) {
    double worst = 1;
    for (double ratio = -12; ratio <= 12; ratio += 0.001) {
      const double p = 1 / (1 + std::exp(-ratio)), q = 1 / (1 + std::exp(-ratio - delta));
      const double beta = std::min(BitTradeOff(p, q).beta(alpha), BitTradeOff(q, p).beta(alpha));
      EXPECT_GE(beta, guarantee.beta(alpha) - 1e-12);
      worst = std::min(worst, beta);
    }
    // The next vertex is within 1e-3 / 8 of alpha, where the slopes differ by less than 1.
    EXPECT_NEAR(worst, guarantee.beta(alpha), 1.3e-4);
  }
  EXPECT_NEAR(privacy::DeltaOf(guarantee, delta), 0, 1e-9);
  EXPECT_TRUE(privacy::testing::LooksLikeTradeOff(guarantee));
}

double LogChoose(uint64_t n, uint64_t k) {
  return std::lgamma(static_cast<double>(n + 1)) - std::lgamma(static_cast<double>(k + 1)) -
         std::lgamma(static_cast<double>(n - k + 1));
}

// delta at epsilon of n bits that fall with probability p or q.
double BinomialDelta(uint64_t n, double p, double q, double epsilon) {
  double delta = 0;
  for (uint64_t k = 0; k <= n; ++k) {
    const auto hits = static_cast<double>(k), misses = static_cast<double>(n - k);
    const double choose = LogChoose(n, k);
    const double under_p = std::exp(choose + hits * std::log(p) + misses * std::log1p(-p));
    const double under_q = std::exp(choose + hits * std::log(q) + misses * std::log1p(-q));
    delta += std::max(0.0, under_p - std::exp(epsilon) * under_q);
  }
  return delta;
}

// methods.md 5.3: total variation over chains of bits at Delta = 0.01.
TEST(Barker, ChainsAreBoundedByBothAccountants) {
  const double delta = 0.01;
  privacy::PldOptions coarse;
  coarse.relative_width = 2e-2;
  const std::pair<uint64_t, double> known[] = {{100, 0.020}, {1000, 0.063}, {10000, 0.197}};
  for (const auto& [n, variation] : known) {
    const double p = 1 / (1 + std::exp(-delta / 2));
    EXPECT_NEAR(BinomialDelta(n, p, 1 - p, 0), variation, 0.0006);
    for (const double epsilon : {0.0, 0.05, 0.5, 2.0}) {
      const double pld =
          privacy::PldDelta({{BarkerMechanism(delta), n}}, epsilon, coarse).value.upper;
      for (const double ratio : {-3.0, -0.5, 0.005, 1.0}) {
        const double a = 1 / (1 + std::exp(-ratio)), b = 1 / (1 + std::exp(delta - ratio));
        const double exact =
            std::max(BinomialDelta(n, a, b, epsilon), BinomialDelta(n, b, a, epsilon));
        EXPECT_LE(exact, pld + 1e-9);
        const double rho = static_cast<double>(n) * BarkerRho(delta);
        EXPECT_LE(exact, privacy::testing::RdpDeltaAt([rho](double order) { return rho * order; },
                                                      epsilon, privacy::testing::DefaultOrders()) +
                             1e-9);
      }
    }
  }
}

// Metropolis: bits that are always 1 against bits that are 1 with probability e^-Delta.
TEST(Metropolis, AChainOfBitsLosesLinearly) {
  const double delta = 0.01;
  for (const uint64_t n : {1, 100, 1000}) {
    const double always = std::exp(-delta * static_cast<double>(n));
    const TradeOff chain = MetropolisChain(delta, n);
    for (const double alpha : kAlphas) {
      EXPECT_NEAR(chain.beta(alpha), BitTradeOff(0, 1 - always).beta(alpha), 1e-12);
    }
  }
  EXPECT_NEAR(1 - MetropolisChain(delta, 100).beta(0), 0.632, 0.001);
}

// Counted bits are the best test of them all: the profile is that of exact binomials, and one bit
// is one bit.
TEST(BitsTradeOff, IsTheTestOfTheirCount) {
  for (const auto& [p, q] : {std::pair{0.5, 0.6}, std::pair{0.6, 0.5}, std::pair{0.02, 0.05}}) {
    const TradeOff one = BitsTradeOff(p, q, 1);
    for (const double alpha : kAlphas) {
      EXPECT_NEAR(one.beta(alpha), BitTradeOff(p, q).beta(alpha), 1e-12);
    }
    const TradeOff many = BitsTradeOff(p, q, 300);
    EXPECT_TRUE(privacy::testing::LooksLikeTradeOff(many));
    for (const double epsilon : {0.0, 0.5, 2.0}) {
      EXPECT_NEAR(privacy::DeltaOf(many, epsilon), BinomialDelta(300, q, p, epsilon), 1e-6);
    }
  }
  EXPECT_THROW(BitsTradeOff(0, 0.5, 10), Error);
  EXPECT_THROW(BitsTradeOff(0.5, 0.5, 0), Error);
}

// Openings of Version 1 at a fixed pair, simulated: the product of likelihood ratios is the best
// test of a chain of them, and nowhere below the guarantee. 40000 chains of 5 openings, thresholds
// at the simulated quantiles: both errors within 5.5 standard errors, a false alarm below 1e-6.
TEST(LosingChain, IsBelowTheBestTestOfAChain) {
  constexpr size_t kChains = 40000, kOpenings = 5;
  const double delta = 0.05;
  const double slack = 2 * 5.5 * std::sqrt(0.25 / kChains);
  TestRandom random(31);
  stats::blr::Variates variates(random);
  for (const double shape : {6.0 / 7, 1.0}) {
    // log density of V at x - at, -infinity below.
    const auto log_density = [shape](double x) {
      return x <= 0 ? -HUGE_VAL : (shape - 1) * std::log(x) - x;
    };
    // H0: log r = 0, H1: log r = -delta. Below -delta + 0 only H1 is possible.
    const auto ratios = [&](double at) {
      std::vector<double> all;
      for (size_t k = 0; k < kChains; ++k) {
        double ratio = 0;
        for (size_t i = 0; i < kOpenings; ++i) {
          const double x = at + variates.Gamma(shape);
          const double under_0 = log_density(x), under_1 = log_density(x + delta);
          if (under_0 == -HUGE_VAL) ratio = HUGE_VAL;
          if (ratio != HUGE_VAL) ratio += under_1 - under_0;
        }
        all.push_back(ratio);
      }
      std::sort(all.begin(), all.end());
      return all;
    };
    const std::vector<double> under_0 = ratios(0), under_1 = ratios(-delta);
    const TradeOff guarantee = LosingChain(SumDelta(shape, delta), kOpenings);
    for (const double alpha : {0.001, 0.05, 0.3}) {
      const double border = under_0[static_cast<size_t>((1 - alpha) * kChains)];
      const auto kept = std::upper_bound(under_1.begin(), under_1.end(), border) - under_1.begin();
      const double beta = static_cast<double>(kept) / kChains;
      EXPECT_GE(beta, guarantee.beta(alpha) - slack) << shape << " " << alpha;
      // And the guarantee is not idle: what it gives away at alpha = 0 is certain.
      EXPECT_LE(beta, guarantee.beta(0) + slack) << shape << " " << alpha;
    }
  }
  EXPECT_NEAR(LosingChain(0.1, 2).beta(0.01), 0.8, 1e-12);
  EXPECT_EQ(LosingChain(0.1, 1000).beta(0.01), 0);
  EXPECT_THROW(LosingChain(1.5, 1), Error);
}

const FigureLine& LineOf(const std::vector<FigureLine>& lines, uint64_t decisions,
                         const std::string& adversary, const std::string& name) {
  const auto line = std::find_if(lines.begin(), lines.end(), [&](const FigureLine& one) {
    return one.decisions == decisions && one.adversary == adversary && one.curve.name == name;
  });
  if (line == lines.end()) throw std::runtime_error("no line " + name);
  return *line;
}

TEST(Figures, GuaranteesLieBelowEverythingThatIsReached) {
  FigureSettings settings;
  settings.chains = {50, 1000};
  SilentProgress progress;
  const std::vector<FigureLine> lines = TradeOffFigures(settings, progress);
  ASSERT_EQ(lines.size(), 3u * 5 + 2 + 2 * 3 * 5);
  const auto below = [](const TradeOff& low, const TradeOff& high) {
    for (const double alpha : kAlphas) {
      EXPECT_LE(low.beta(alpha), high.beta(alpha) + 1e-9) << low.name << ", " << high.name;
    }
  };
  const std::string sums = "Versions 1 and 2, guarantee";
  for (const char* adversary : {"outside", "one party", "3 parties"}) {
    const auto line = [&](uint64_t decisions, const std::string& name) -> const TradeOff& {
      return LineOf(lines, decisions, adversary, name).curve;
    };
    below(line(1, sums), line(1, "Version 1 at log r = 0 against -0.1"));
    below(line(1, sums), line(1, "Version 1 at log r = -0.1 against 0"));
    // Nobody knows a part of a threshold: whoever looks, Version 3 tells no more than Version 1.
    below(line(1, sums), line(1, "Version 3, Metropolis, guarantee"));
    below(line(1, "Version 3, Metropolis, guarantee"), line(1, "Version 3, Barker, guarantee"));
    for (const uint64_t decisions : settings.chains) {
      for (const std::string rule : {"Metropolis", "Barker"}) {
        below(line(decisions, "Version 3, " + rule + ", guarantee"),
              line(decisions, "Version 3, " + rule + ", attack"));
      }
      below(line(decisions, sums), line(decisions, "Version 3, Barker, guarantee"));
      EXPECT_EQ(line(decisions, sums).side, privacy::CurveSide::kLower);
    }
  }
  below(LineOf(lines, 1, "outside", sums).curve,
        LineOf(lines, 1, "outside", "Version 2 at log r = 0 against -0.1").curve);
  // methods.md 5.3, at Delta = 0.01: 0.063 of 1000 decisions near log r = 0.
  EXPECT_NEAR(
      privacy::AttackAdvantage(LineOf(lines, 1000, "outside", "Version 3, Barker, attack").curve),
      0.063, 0.0006);
  settings.coalition = 7;
  EXPECT_THROW(TradeOffFigures(settings, progress), Error);
}

}  // namespace
}  // namespace partita::methods::mcmc::trade_offs_test
