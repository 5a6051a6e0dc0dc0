#include "privacy/accounting/trade_off.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "privacy/accounting/normal.h"

namespace partita::privacy {
namespace {

double Checked(double alpha) { return RequireProbability(alpha, "a type I error"); }

double NonNegative(double value, const char* what) {
  if (!(value >= 0 && std::isfinite(value)))
    throw Error(ErrorCode::kUsage,
                fmt::format("{} must not be negative, and finite, not {}", what, value));
  return value;
}

TradeOff FromBeta(CurveSide side, std::string name, const std::function<double(double)>& beta) {
  const auto power = [beta](double alpha) { return 1 - beta(alpha); };
  return {side, std::move(name), beta, power};
}

// The smallest alpha with f(alpha) <= beta.
double InverseAt(const std::function<double(double)>& f, double beta) {
  double low = 0, high = 1;
  if (f(0) <= beta) return 0;
  for (int i = 0; i < 200; ++i) {
    const double middle = 0.5 * (low + high);
    if (middle <= low || middle >= high) break;
    (f(middle) <= beta ? high : low) = middle;
  }
  return high;
}

// A line 1 - delta - slope alpha of the lower envelope, and the mirrored one.
struct Line {
  double epsilon = 0;
  double delta = 0;
};

double LinesBeta(const std::vector<Line>& lines, double alpha) {
  double beta = 0;
  for (const Line& line : lines) {
    beta = std::max(beta, 1 - line.delta - std::exp(line.epsilon) * alpha);
    beta = std::max(beta, std::exp(-line.epsilon) * (1 - line.delta - alpha));
  }
  return std::min(beta, 1 - alpha);
}

double LinesPower(const std::vector<Line>& lines, double alpha) {
  double power = 1;
  for (const Line& line : lines) {
    power = std::min(power, line.delta + std::exp(line.epsilon) * alpha);
    power = std::min(power,
                     -std::expm1(-line.epsilon) + std::exp(-line.epsilon) * (line.delta + alpha));
  }
  return std::max(power, alpha);
}

TradeOff FromLines(CurveSide side, std::string name, const std::vector<Line>& lines) {
  return {side, std::move(name), [lines](double alpha) { return LinesBeta(lines, Checked(alpha)); },
          [lines](double alpha) { return LinesPower(lines, Checked(alpha)); }};
}

void CheckProfile(const std::vector<ProfilePoint>& profile) {
  if (profile.empty())
    throw Error(ErrorCode::kBadInput, "the profile has no points", "give at least one");
  for (size_t i = 0; i < profile.size(); ++i) {
    const ProfilePoint& point = profile[i];
    const bool good = point.epsilon >= 0 && std::isfinite(point.epsilon) &&
                      point.delta.lower >= 0 && point.delta.lower <= point.delta.upper &&
                      point.delta.upper <= 1;
    const bool ordered = i == 0 || (profile[i - 1].epsilon < point.epsilon &&
                                    profile[i - 1].delta.upper >= point.delta.lower);
    if (!good || !ordered) {
      throw Error(ErrorCode::kBadInput,
                  fmt::format("point {} of the profile is inconsistent", i + 1),
                  "epsilons must increase, deltas in [0, 1] must not, lower ends must not exceed "
                  "upper ends");
    }
  }
}

double SafeMu(double epsilon, double delta) {
  return delta > 1e-300 ? GaussianMu(epsilon, delta) : 0;
}

}  // namespace

TradeOff GaussianTradeOff(double mu) {
  NonNegative(mu, "mu");
  return {CurveSide::kExact, fmt::format("Gaussian, mu {:.6g}", mu),
          [mu](double alpha) {
            if (Checked(alpha) == 0) return 1.0;
            return alpha == 1 ? 0.0 : NormalUpperTail(mu - NormalUpperQuantile(alpha));
          },
          [mu](double alpha) {
            if (Checked(alpha) == 0) return 0.0;
            return alpha == 1 ? 1.0 : NormalUpperTail(NormalUpperQuantile(alpha) - mu);
          }};
}

TradeOff LaplaceTradeOff(double mu) {
  NonNegative(mu, "mu");
  return {
      CurveSide::kExact, fmt::format("Laplace, mu {:.6g}", mu),
      [mu](double alpha) {
        if (Checked(alpha) > 0.5) return std::exp(-mu) * (1 - alpha);
        return alpha < std::exp(-mu) / 2 ? 1 - std::exp(mu) * alpha : std::exp(-mu) / (4 * alpha);
      },
      [mu](double alpha) {
        if (Checked(alpha) > 0.5) return -std::expm1(-mu) + std::exp(-mu) * alpha;
        return alpha < std::exp(-mu) / 2 ? std::exp(mu) * alpha : 1 - std::exp(-mu) / (4 * alpha);
      }};
}

TradeOff EpsilonDeltaTradeOff(const EpsilonDelta& guarantee) {
  RequireProbability(guarantee.delta, "delta");
  return FromLines(CurveSide::kExact,
                   fmt::format("({:.6g}, {:.6g})-DP", guarantee.epsilon, guarantee.delta),
                   {{RequireEpsilon(guarantee.epsilon), guarantee.delta}});
}

TradeOff SampledOneSided(const TradeOff& f, double sampling_rate) {
  const double p = RequireSamplingRate(sampling_rate);
  return {f.side, fmt::format("{}, sampled at {:.6g}, one direction", f.name, p),
          [f, p](double alpha) { return p * f.beta(alpha) + (1 - p) * (1 - alpha); },
          [f, p](double alpha) { return p * f.power(alpha) + (1 - p) * alpha; }};
}

TradeOff SampledTwoSided(const TradeOff& f, double sampling_rate) {
  const TradeOff one = SampledOneSided(f, sampling_rate);
  // f meets the diagonal at `fixed`; there p f + (1-p) Id has slope -1 and so has its inverse
  // further right.
  double low = 0, high = 1;
  for (int i = 0; i < 200; ++i) {
    const double middle = 0.5 * (low + high);
    (f.beta(middle) > middle ? low : high) = middle;
  }
  const double fixed = 0.5 * (low + high), above = one.beta(fixed);
  return FromBeta(f.side, fmt::format("{}, sampled at {:.6g}", f.name, sampling_rate),
                  [one, fixed, above](double alpha) {
                    if (Checked(alpha) <= fixed) return one.beta(alpha);
                    return alpha <= above ? fixed + above - alpha : InverseAt(one.beta, alpha);
                  });
}

TradeOff Inverse(const TradeOff& f) {
  return FromBeta(f.side, f.name + ", exchanged",
                  [f](double alpha) { return InverseAt(f.beta, Checked(alpha)); });
}

std::vector<ProfilePoint> Profile(const std::vector<Event>& events,
                                  const std::vector<double>& epsilons, const PldOptions& options) {
  std::vector<ProfilePoint> profile;
  for (double epsilon : epsilons)
    profile.push_back({epsilon, PldDelta(events, epsilon, options).value});
  for (size_t i = 1; i < profile.size(); ++i) {  // a smaller epsilon's delta is a bound, too
    profile[i].delta.upper = std::min(profile[i].delta.upper, profile[i - 1].delta.upper);
  }
  CheckProfile(profile);
  return profile;
}

std::vector<double> ShowingEpsilons(const std::vector<Event>& events, size_t count,
                                    const PldOptions& options) {
  PldOptions rough = options;
  rough.relative_width = 0.05;
  double last = PldEpsilon(events, 1e-9, rough).value.upper;
  if (!std::isfinite(last)) last = 10;
  if (last <= 0) last = 1e-3;
  std::vector<double> epsilons;
  for (size_t i = 0; i < count; ++i)
    epsilons.push_back(last * static_cast<double>(i) /
                       static_cast<double>(std::max<size_t>(1, count - 1)));
  return epsilons;
}

TradeOff LowerTradeOff(const std::vector<ProfilePoint>& profile) {
  CheckProfile(profile);
  std::vector<Line> lines;
  for (const ProfilePoint& point : profile) lines.push_back({point.epsilon, point.delta.upper});
  return FromLines(CurveSide::kLower, "guaranteed", lines);
}

TradeOff UpperTradeOff(const std::vector<ProfilePoint>& profile) {
  CheckProfile(profile);
  // For epsilon in [a, b]: 1 - delta(epsilon) - e^epsilon alpha <= 1 - delta(b) - e^a alpha.
  std::vector<Line> lines;
  double epsilon = 0;
  for (const ProfilePoint& point : profile) {
    lines.push_back({epsilon, point.delta.lower});
    epsilon = point.epsilon;
  }
  lines.push_back({epsilon, 0});
  return FromLines(CurveSide::kUpper, "achievable by an attacker", lines);
}

TradeOff Symmetrised(const TradeOff& f, size_t points) {
  if (f.side == CurveSide::kUpper)
    throw Error(ErrorCode::kUsage, "only exact curves and guarantees are symmetrised",
                "use a lower curve");
  if (points < 3) throw Error(ErrorCode::kUsage, "symmetrising a curve needs at least 3 points");
  // delta at slopes e^+-eps, from above: between neighbouring alphas f is at least its larger end's
  // value.
  std::vector<double> alphas = {0};
  for (size_t i = 0; i < points; ++i) {
    const double t = static_cast<double>(i) / static_cast<double>(points - 1);
    alphas.push_back(std::exp(-30 * (1 - t)) / (1 + std::exp(-30 * (1 - t))));
  }
  for (size_t i = points; i-- > 1;) alphas.push_back(1 - alphas[i]);
  alphas.push_back(1);
  std::vector<double> betas;
  for (double alpha : alphas) betas.push_back(f.beta(alpha));
  std::vector<Line> lines;
  for (double epsilon = 0; epsilon <= 30; epsilon = epsilon * 1.05 + 0.01) {
    double delta = 0;
    const double slope = std::exp(epsilon);
    for (size_t i = 1; i < alphas.size(); ++i) {
      delta = std::max(delta, 1 - betas[i] - slope * alphas[i - 1]);
      delta = std::max(delta, 1 - slope * betas[i] - alphas[i - 1]);
    }
    lines.push_back({epsilon, std::min(1.0, delta)});
  }
  return FromLines(CurveSide::kLower, f.name + ", both directions", lines);
}

namespace {

// Sorted, with both ends.
std::vector<OperatingPoint> CheckedPoints(std::span<const OperatingPoint> points, bool convex) {
  std::vector<OperatingPoint> all(points.begin(), points.end());
  std::sort(all.begin(), all.end(),
            [](const OperatingPoint& a, const OperatingPoint& b) { return a.alpha < b.alpha; });
  if (all.empty() || all.front().alpha > 0) all.insert(all.begin(), {0, 1});
  if (all.back().alpha < 1) all.push_back({1, 0});
  double before = -std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < all.size(); ++i) {
    const OperatingPoint& point = all[i];
    bool good = point.alpha >= 0 && point.alpha <= 1 && point.beta >= 0 &&
                point.beta <= 1 - point.alpha + 1e-12;
    if (i > 0) {
      const double slope = (point.beta - all[i - 1].beta) / (point.alpha - all[i - 1].alpha);
      good = good && slope <= 0 && (!convex || slope >= before - 1e-9);
      before = slope;
    }
    if (!good) {
      throw Error(
          ErrorCode::kBadInput,
          fmt::format("the point ({}, {}) does not fit a trade-off function", point.alpha,
                      point.beta),
          "type II errors must fall (and be convex) in the type I error, and be at most 1 - alpha");
    }
  }
  return all;
}

}  // namespace

TradeOff PiecewiseLinear(std::span<const OperatingPoint> points) {
  const std::vector<OperatingPoint> all = CheckedPoints(points, true);
  return FromBeta(CurveSide::kExact, "given points", [all](double alpha) {
    Checked(alpha);
    const auto right =
        std::lower_bound(all.begin() + 1, all.end() - 1, alpha,
                         [](const OperatingPoint& point, double x) { return point.alpha < x; });
    const auto left = right - 1;
    const double t = (alpha - left->alpha) / (right->alpha - left->alpha);
    return left->beta + t * (right->beta - left->beta);
  });
}

bool LooksLikeTradeOff(const TradeOff& f, size_t points) {
  double before = 2, before_that = 3;
  for (size_t i = 0; i <= points; ++i) {
    const double alpha = static_cast<double>(i) / static_cast<double>(points);
    const double beta = f.beta(alpha);
    if (!(beta >= -1e-12 && beta <= 1 - alpha + 1e-9)) return false;
    if (i >= 1 && beta > before + 1e-9) return false;
    if (i >= 2 && beta - before < before - before_that - 1e-9) return false;
    before_that = before;
    before = beta;
  }
  return true;
}

double DeltaOf(const TradeOff& f, double epsilon) {
  RequireEpsilon(epsilon);
  const double slope = std::exp(epsilon);
  const auto gain = [&](double alpha) { return f.power(alpha) - slope * alpha; };
  // Concave in alpha, so unimodal in log alpha: a grid, then thirds.
  constexpr int kGrid = 400;
  const auto at = [](double i) { return std::exp(-60.0 * (1 - i / kGrid)); };
  int best = 0;
  for (int i = 1; i <= kGrid; ++i) {
    if (gain(at(i)) > gain(at(best))) best = i;
  }
  double low = std::max(0, best - 1), high = std::min(kGrid, best + 1);
  for (int i = 0; i < 100; ++i) {
    const double a = low + (high - low) / 3, b = high - (high - low) / 3;
    (gain(at(a)) < gain(at(b)) ? low : high) = gain(at(a)) < gain(at(b)) ? a : b;
  }
  return std::clamp(std::max(gain(0), gain(at(0.5 * (low + high)))), 0.0, 1.0);
}

double MuOf(const std::vector<ProfilePoint>& profile) {
  CheckProfile(profile);
  double mu = 0;
  for (size_t i = 0; i < profile.size(); ++i) {
    // Between two epsilons delta is at most the smaller one's, and the Gaussian's at least the
    // larger one's.
    const double next = i + 1 < profile.size() ? profile[i + 1].epsilon : profile[i].epsilon;
    if (profile[i].delta.upper >= 1) return std::numeric_limits<double>::infinity();
    mu = std::max(mu, SafeMu(next, profile[i].delta.upper));
  }
  return mu;
}

double MuThrough(std::span<const OperatingPoint> points) {
  CheckedPoints(points, false);
  double mu = 0;
  for (const OperatingPoint& point : points) {
    if (point.alpha <= 0 || point.alpha >= 1) continue;
    if (point.beta <= 0) return std::numeric_limits<double>::infinity();
    mu = std::max(mu, NormalUpperQuantile(point.alpha) + NormalUpperQuantile(point.beta));
  }
  return mu;
}

double EpsilonThrough(std::span<const OperatingPoint> points, double delta) {
  CheckedPoints(points, false);
  RequireProbability(delta, "delta");
  double epsilon = 0;
  for (const OperatingPoint& point : points) {
    // Each of the two lines alone suffices, as the curve is their maximum.
    const double steep =
        point.alpha > 0 ? std::log(std::max(1e-300, (1 - delta - point.beta) / point.alpha))
                        : (point.beta < 1 - delta ? std::numeric_limits<double>::infinity() : 0);
    const double flat =
        point.beta > 0 ? std::log(std::max(1e-300, (1 - delta - point.alpha) / point.beta))
                       : (point.alpha < 1 - delta ? std::numeric_limits<double>::infinity() : 0);
    epsilon = std::max({epsilon, steep, flat});
  }
  return epsilon;
}

double DeltaThrough(std::span<const OperatingPoint> points, double epsilon) {
  CheckedPoints(points, false);
  RequireEpsilon(epsilon);
  double delta = 0;
  for (const OperatingPoint& point : points) {
    delta = std::max(delta, 1 - point.beta - std::exp(epsilon) * point.alpha);
    delta = std::max(delta, 1 - point.alpha - std::exp(epsilon) * point.beta);
  }
  return delta;
}

double AttackPower(const TradeOff& f, double false_positive_rate) {
  return f.power(RequireProbability(false_positive_rate, "the false-positive rate"));
}

double AttackAdvantage(const TradeOff& f) { return DeltaOf(f, 0); }

}  // namespace partita::privacy
