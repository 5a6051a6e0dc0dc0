#include "privacy/sampling/release_statement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "base/error.h"
#include "base/memo.h"

namespace partita::privacy {
namespace {

// Of the standard normal law at 95 %.
constexpr double kQuantile95 = 1.6448536269514722;
constexpr double kLargestSlope = 700;      // its exponential is finite
constexpr double kLineRounding = 0x1p-49;  // of a line, below 1

PrivacyLoss Unlimited() {
  PrivacyLoss loss;
  loss.infinite = true;
  return loss;
}

// mu of the Gaussian of the same size.
double MuAbout(GridL2Sensitivity sensitivity, const DiscreteGaussianNoise& noise) {
  return sensitivity.value() /
         (StddevLowerBound(noise.share_variance) * std::sqrt(static_cast<double>(noise.shares)));
}

// The epsilon of its tangent where the type I error has this upper quantile.
double SlopeOf(double mu, double quantile) {
  return std::min(std::abs(mu * quantile - mu * mu / 2), kLargestSlope);
}

// beta(5 %) by the supporting line of the trade-off curve that is best for the Gaussian of the same
// size; every line is a lower bound.
double BetaOf(const DiscreteGaussianProfileOf& profile, double mu) {
  const double slope = SlopeOf(mu, kQuantile95);
  const double delta = profile.Delta(Epsilon(slope)).upper;
  return delta < 1 ? BetaAt5Percent(slope, delta) : 0;
}

// Type I errors that are shown, with the upper quantiles of the standard normal law: for these the
// best line of the Gaussian of the same size is known. Any line is a bound, so digits do not
// matter.
struct ShownPoint {
  double alpha;
  double quantile;
};
constexpr ShownPoint kShown[] = {
    {0.0001, 3.719}, {0.001, 3.0902}, {0.005, 2.5758}, {0.01, 2.3263},  {0.02, 2.0537},
    {0.05, 1.6449},  {0.1, 1.2816},   {0.15, 1.0364},  {0.2, 0.8416},   {0.25, 0.6745},
    {0.3, 0.5244},   {0.35, 0.3853},  {0.4, 0.2533},   {0.45, 0.1257},  {0.5, 0},
    {0.55, -0.1257}, {0.6, -0.2533},  {0.65, -0.3853}, {0.7, -0.5244},  {0.75, -0.6745},
    {0.8, -0.8416},  {0.85, -1.0364}, {0.9, -1.2816},  {0.95, -1.6449}, {0.99, -2.3263}};

// An epsilon with bounds of its delta.
struct Line {
  double epsilon = 0;
  Bounds delta;
};

std::vector<Line> LinesOf(const DiscreteGaussianProfileOf& profile, double mu) {
  std::vector<double> epsilons = {0};
  for (const ShownPoint& point : kShown) epsilons.push_back(SlopeOf(mu, point.quantile));
  std::sort(epsilons.begin(), epsilons.end());
  epsilons.erase(std::unique(epsilons.begin(), epsilons.end()), epsilons.end());
  std::vector<Line> lines;
  for (double epsilon : epsilons) lines.push_back({epsilon, profile.Delta(Epsilon(epsilon))});
  return lines;
}

// The larger one of the line 1 - delta - e^epsilon alpha and its mirror image.
double LineBeta(double alpha, double epsilon, double delta) {
  return std::max(1 - delta - std::exp(epsilon) * alpha, std::exp(-epsilon) * (1 - delta - alpha));
}

// Every line from above is a guarantee. For what is reached, between two neighbouring epsilons the
// line is at most that of the smaller epsilon with the larger one's delta, and beyond the last one
// that of delta 0.
TradeOffPoint PointAt(const std::vector<Line>& lines, double alpha) {
  double lower = 0, upper = 0;
  for (size_t i = 0; i < lines.size(); ++i) {
    const double next = i + 1 < lines.size() ? lines[i + 1].delta.lower : 0;
    lower = std::max(lower, LineBeta(alpha, lines[i].epsilon, lines[i].delta.upper));
    upper = std::max(upper, LineBeta(alpha, lines[i].epsilon, next));
  }
  upper = std::clamp(upper + kLineRounding, 0.0, 1 - alpha);
  return {alpha, std::clamp(lower - kLineRounding, 0.0, upper), upper};
}

std::vector<TradeOffPoint> TradeOffOf(const DiscreteGaussianProfileOf& profile, double mu) {
  const std::vector<Line> lines = LinesOf(profile, mu);
  std::vector<TradeOffPoint> points = {PointAt(lines, 0)};
  for (const ShownPoint& shown : kShown) points.push_back(PointAt(lines, shown.alpha));
  points.push_back(PointAt(lines, 1));
  return points;
}

// Against `size` parties, who know their own shares.
StatementRow CoalitionRow(const GaussianRelease& release, const Adversary& adversary, uint32_t size,
                          GridL2Sensitivity sensitivity) {
  const uint32_t parties = release.noise.sharing.parties;
  StatementRow row = {adversary, Adjacency::kReplace, Unlimited(), {}};
  if (size >= parties) {
    row.reason = "knows all of the noise";
  } else if (!Withstands(release.engine, size, parties)) {
    row.reason = BeyondThreshold(release.engine);
  } else {
    row.loss = GaussianLoss(sensitivity, RemainingNoise(release.noise, size), release.delta);
    row.reason = fmt::format("rows of the others; {} of {} noise shares are unknown to it",
                             parties - size, parties);
    NameTooLittleNoise(row);
  }
  return row;
}

StatementRow OutsideRow(const GaussianRelease& release) {
  StatementRow row;
  row.adversary.kind = AdversaryKind::kOutsideAnalyst;
  row.adjacency = release.adjacency;
  row.loss = GaussianLoss(release.sensitivity, RemainingNoise(release.noise, 0), release.delta);
  row.reason = fmt::format("all {} noise shares are unknown to it", release.noise.sharing.parties);
  NameTooLittleNoise(row);
  return row;
}

// Alone the dealer is an outside analyst.
void AddDealerRows(std::vector<StatementRow>& rows) {
  StatementRow dealer = rows.front();
  dealer.adversary.kind = AdversaryKind::kDealer;
  dealer.reason = "sees no inputs, and the noise is not from it";
  rows.push_back(std::move(dealer));
  Adversary with_party;
  with_party.kind = AdversaryKind::kParty;
  with_party.with_dealer = true;
  rows.push_back({with_party, Adjacency::kReplace, Unlimited(),
                  "the dealer's masks and a party's messages give every input"});
}

std::string MechanismText(const GaussianRelease& release) {
  const NoiseSharing& sharing = release.noise.sharing;
  const double share = StddevLowerBound(release.noise.share_variance);
  return fmt::format(
      "Discrete Gaussian noise on {} coordinates: each of {} parties adds a share of standard "
      "deviation {} grid units, so that any {} shares suffice; one row changes the result by "
      "at "
      "most {} grid units (L2 norm, {}).",
      release.noise.dimension, sharing.parties, RoundedText(share, 6, false),
      sharing.parties - sharing.known_shares, RoundedText(release.sensitivity.value(), 6, true),
      AdjacencyName(release.adjacency));
}

std::vector<std::string> Caveats(const GaussianRelease& release) {
  std::vector<std::string> caveats = {
      "Holds if all computing parties follow the protocol and each adds its share of the noise."};
  if (release.adjacency == Adjacency::kReplace && release.public_rows) {
    caveats.push_back("The number of rows is public.");
  }
  if (release.earlier_exact_releases > 0) {
    caveats.push_back(fmt::format(
        "Speaks of this release alone; {} exact results of this table were released before.",
        release.earlier_exact_releases));
  } else {
    caveats.push_back("Speaks of this release alone; losses of several releases add up.");
  }
  return caveats;
}

PrivacyLoss ComputeGaussianLoss(GridL2Sensitivity sensitivity,
                                const DiscreteGaussianNoise& remaining, Delta delta) {
  const DiscreteGaussianProfileOf profile(sensitivity, remaining);
  const Bounds epsilon = profile.EpsilonAt(delta);
  if (std::isinf(epsilon.upper)) return Unlimited();
  PrivacyLoss loss;
  loss.epsilon_lower = epsilon.lower;
  loss.epsilon_upper = epsilon.upper;
  loss.delta = delta.value();
  const double mu = MuAbout(sensitivity, remaining);
  loss.beta_at_5_percent = BetaOf(profile, mu);
  loss.trade_off = TradeOffOf(profile, mu);
  return loss;
}

}  // namespace

PrivacyLoss GaussianLoss(GridL2Sensitivity sensitivity, const DiscreteGaussianNoise& remaining,
                         Delta delta) {
  using Key = std::tuple<double, UInt128, UInt128, int, uint32_t, size_t, double>;
  static Memo<Key, PrivacyLoss> memo;
  const GridVariance& variance = remaining.share_variance;
  return memo.Get({sensitivity.value(), variance.numerator, variance.denominator, variance.exponent,
                   remaining.shares, remaining.dimension, delta.value()},
                  [&] { return ComputeGaussianLoss(sensitivity, remaining, delta); });
}

void NameTooLittleNoise(StatementRow& row) {
  if (!row.loss.infinite) return;
  row.reason += fmt::format("; too little noise: epsilon is above {:.0f}", kUselessEpsilon);
}

Statement StateRelease(const GaussianRelease& release) {
  const NoiseSharing& sharing = release.noise.sharing;
  if (release.parties.size() != sharing.parties) {
    throw Error(ErrorCode::kUsage, fmt::format("{} names for {} parties that add noise",
                                               release.parties.size(), sharing.parties));
  }
  const std::vector<GridL2Sensitivity>& by_party = release.party_sensitivities;
  if (!by_party.empty() && by_party.size() != sharing.parties) {
    throw Error(ErrorCode::kUsage, fmt::format("{} sensitivities for {} parties that add noise",
                                               by_party.size(), sharing.parties));
  }
  Statement statement;
  statement.mechanism = MechanismText(release);
  statement.rows.push_back(OutsideRow(release));
  Adversary party;
  party.kind = AdversaryKind::kParty;
  for (size_t i = 0; i < release.parties.size(); ++i) {
    party.party = release.parties[i];
    statement.rows.push_back(CoalitionRow(
        release, party, 1, by_party.empty() ? release.replace_sensitivity : by_party[i]));
  }
  // Up to what the noise was sized for, and one row at least where a coalition can exist.
  const uint32_t largest = std::min(sharing.parties - 1, std::max(2U, sharing.known_shares));
  for (uint32_t size = 2; size <= largest; ++size) {
    Adversary coalition;
    coalition.kind = AdversaryKind::kCoalition;
    coalition.size = size;
    statement.rows.push_back(CoalitionRow(
        release, coalition, size,
        size == 2 ? release.two_parties_sensitivity.value_or(release.replace_sensitivity)
                  : release.replace_sensitivity));
  }
  if (release.engine == EngineStructure::kDealer) AddDealerRows(statement.rows);
  statement.caveats = Caveats(release);
  CheckStatement(statement);
  return statement;
}

}  // namespace partita::privacy
