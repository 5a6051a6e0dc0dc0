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

TradeOff EpsilonDeltaTradeOff(const EpsilonDelta& guarantee) {
  RequireProbability(guarantee.delta, "delta");
  return FromLines(CurveSide::kExact,
                   fmt::format("({:.6g}, {:.6g})-DP", guarantee.epsilon, guarantee.delta),
                   {{RequireEpsilon(guarantee.epsilon), guarantee.delta}});
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

double AttackAdvantage(const TradeOff& f) { return DeltaOf(f, 0); }

}  // namespace partita::privacy
