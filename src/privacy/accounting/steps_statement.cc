#include "privacy/accounting/steps_statement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <tuple>

#include "base/error.h"
#include "base/memo.h"
#include "base/normal.h"
#include "privacy/accounting/guarantee.h"
#include "privacy/accounting/mechanism.h"
#include "privacy/accounting/pld.h"
#include "privacy/accounting/types.h"
#include "privacy/rounded_text.h"
#include "privacy/sampling/calibrate.h"

namespace partita::privacy {
namespace {

constexpr double kLargestSlope = 600;               // beyond, nothing is left to hide
constexpr double kQuantile95 = 1.6448536269514722;  // of the standard normal law
// Of the trade-off function: lines at so many epsilons, up to a multiple of the one stated, each to
// this relative width of its delta. Beyond the largest epsilon there is nothing left to draw.
constexpr int kCurveLines = 41;
constexpr double kCurveReach = 1.5, kCurveWidth = 3e-2, kLargestCurve = 30;

// (1 - g) h + g covers h + gap for every divergence h <= largest: g = gap / (1 - largest).
double FailureProbability(const NoisySteps& steps, double noise, double shift) {
  if (steps.gap == 0) return 0;
  const double largest = std::erf(shift / noise / std::sqrt(8.0));  // total variation of one step
  if (largest > 0.9) {
    throw Error(ErrorCode::kUsage,
                "the noise of one step is so small that the distance of its law from a Gaussian "
                "cannot be bounded",
                "use more noise");
  }
  return steps.gap / (1 - largest) * (1 + 1e-12);
}

// delta of telling N(0, 1) from N(mu, 1); good enough to choose a line by.
double AboutDelta(double mu, double epsilon) {
  return NormalTail(epsilon / mu - mu / 2) - std::exp(epsilon) * NormalTail(epsilon / mu + mu / 2);
}

// The slope of the supporting line of the trade-off curve at 5 % that is best for a Gaussian of the
// same (epsilon, delta); every line is a lower bound.
double Slope(double epsilon, double delta) {
  double low = 0, high = 100;
  for (int i = 0; i < 60; ++i) {
    const double mu = (low + high) / 2;
    (AboutDelta(mu, epsilon) > delta ? high : low) = mu;
  }
  return std::abs(low * kQuantile95 - low * low / 2);
}

// The profile of what a row is about: epsilon at a delta, delta at an epsilon.
struct ProfileOf {
  std::function<Interval(double delta)> epsilon;
  std::function<Interval(double epsilon, const PldOptions& accuracy)> delta;
};

std::vector<TradeOffPoint> TradeOffOf(const ProfileOf& profile, double largest_epsilon) {
  PldOptions accuracy;
  accuracy.relative_width = kCurveWidth;
  std::vector<ProfilePoint> lines;
  for (int i = 0; i < kCurveLines; ++i) {
    const double epsilon = largest_epsilon * i / (kCurveLines - 1);
    Interval delta = profile.delta(epsilon, accuracy);
    // A smaller epsilon's delta is a bound, too.
    if (!lines.empty()) delta.upper = std::min(delta.upper, lines.back().delta.upper);
    lines.push_back({epsilon, delta});
  }
  std::vector<TradeOffPoint> points;
  for (const CertifiedPoint& point : CertifiedTradeOff(lines, ShowingAlphas())) {
    points.push_back({point.alpha, point.beta.lower, point.beta.upper});
  }
  return points;
}

PrivacyLoss LossFrom(const ProfileOf& profile, double delta) {
  PrivacyLoss loss;
  const Interval epsilon = profile.epsilon(delta);
  if (!std::isfinite(epsilon.upper)) {
    loss.infinite = true;
    return loss;
  }
  loss.epsilon_lower = epsilon.lower;
  loss.epsilon_upper = epsilon.upper;
  loss.delta = delta;
  loss.beta_at_5_percent = 0;
  if (epsilon.upper < kLargestSlope) {
    const double slope = Slope(epsilon.upper, delta);
    const double at_slope = profile.delta(slope, {}).upper;
    if (at_slope < 1) loss.beta_at_5_percent = BetaAt5Percent(slope, at_slope);
  }
  if (epsilon.upper > 0 && epsilon.upper < kLargestCurve) {
    loss.trade_off = TradeOffOf(profile, kCurveReach * epsilon.upper);
  }
  return loss;
}

// Of sampled Gaussian noise, with a failure of probability `failure` in each of the uses.
PrivacyLoss ComputeSampledLoss(double noise, const SamplingSpec& neighbours, uint64_t uses,
                               double failure, double delta) {
  std::vector<Event> events = {{GaussianMechanism(noise, neighbours), uses}};
  if (failure > 0) events.push_back({ApproximateDpMechanism({0, failure}), uses});
  return LossFrom(
      {[&](double d) { return PldEpsilon(events, d).value; },
       [&](double e, const PldOptions& accuracy) { return PldDelta(events, e, accuracy).value; }},
      delta);
}

PrivacyLoss Unlimited() {
  PrivacyLoss loss;
  loss.infinite = true;
  return loss;
}

PrivacyLoss SampledLoss(double noise, const SamplingSpec& neighbours, uint64_t uses, double failure,
                        double delta) {
  using Key = std::tuple<double, Adjacency, double, uint64_t, double, double>;
  static Memo<Key, PrivacyLoss> memo;
  return memo.Get({noise, neighbours.adjacency, neighbours.sampling_rate, uses, failure, delta},
                  [&] { return ComputeSampledLoss(noise, neighbours, uses, failure, delta); });
}

// All rows in every use: one Gaussian, and failures that add up.
PrivacyLoss ComputeGaussianLoss(double shift, double noise, uint64_t uses, double failure,
                                double delta) {
  const double failures = failure * static_cast<double>(uses);
  if (failures >= delta) return Unlimited();
  const L2Sensitivity total(shift * std::sqrt(static_cast<double>(uses)) * (1 + 1e-15));
  return LossFrom({[&](double d) {
                     const Bounds smooth = GaussianEpsilon(total, noise, Delta(d));
                     const Bounds charged = GaussianEpsilon(total, noise, Delta(d - failures));
                     return Interval{smooth.lower, charged.upper};
                   },
                   [&](double e, const PldOptions&) {
                     const Bounds smooth = GaussianDelta(total, noise, Epsilon(e));
                     return Interval{smooth.lower, std::min(1.0, smooth.upper + failures)};
                   }},
                  delta);
}

PrivacyLoss GaussianLossOf(double shift, double noise, uint64_t uses, double failure,
                           double delta) {
  using Key = std::tuple<double, double, uint64_t, double, double>;
  static Memo<Key, PrivacyLoss> memo;
  return memo.Get({shift, noise, uses, failure, delta},
                  [&] { return ComputeGaussianLoss(shift, noise, uses, failure, delta); });
}

StatementRow OutsideRow(const NoisySteps& steps, AdversaryKind kind, const PrivacyLoss& loss) {
  StatementRow row;
  row.adversary.kind = kind;
  row.adjacency = steps.adjacency;
  row.loss = loss;
  row.reason = kind == AdversaryKind::kDealer ? "sees no inputs, and neither noise nor batches are "
                                                "from it"
               : steps.sampling_rate < 1
                   ? fmt::format("which rows a step used is hidden from it (sampling rate {})",
                                 GivenText(steps.sampling_rate, 4, true))
                   : "all noise is unknown to it";
  return row;
}

StatementRow CoalitionRow(const NoisySteps& steps, Adversary adversary, uint32_t size) {
  const auto parties = static_cast<uint32_t>(steps.parties.size());
  StatementRow row;
  row.adversary = std::move(adversary);
  row.adjacency = Adjacency::kReplace;
  if (size >= parties) {
    row.loss = Unlimited();
    row.reason = "knows all of the noise";
  } else if (!Withstands(steps.engine, size, parties)) {
    row.loss = Unlimited();
    row.reason = BeyondThreshold(steps.engine);
  } else {
    const uint64_t uses = steps.max_uses.value_or(steps.steps);
    row.loss = LossOfUses(steps, size, uses);
    row.reason = fmt::format(
        "columns of the others in one record, used in at most {} steps; knows the batches and {} "
        "of {} noise shares",
        uses, size, parties);
  }
  return row;
}

void RequireValid(const NoisySteps& steps) {
  RequirePositive(steps.noise_multiplier, "the noise multiplier");
  RequireSamplingRate(steps.sampling_rate);
  RequireCount(steps.steps);
  RequireDelta(steps.delta);
  RequireProbability(steps.gap, "the gap");
  if (steps.parties.empty() || steps.parties.size() > 1000) {
    throw Error(ErrorCode::kUsage, "the noise needs 1 to 1000 parties");
  }
  if (steps.max_uses && (*steps.max_uses == 0 || *steps.max_uses > steps.steps)) {
    throw Error(
        ErrorCode::kUsage,
        fmt::format("a record cannot be used {} times in {} steps", *steps.max_uses, steps.steps),
        "the cap must be 1 to the number of steps");
  }
  if (!steps.analyst.empty() &&
      std::find(steps.parties.begin(), steps.parties.end(), steps.analyst) == steps.parties.end()) {
    throw Error(ErrorCode::kUsage,
                fmt::format("the analyst {} is none of the parties", steps.analyst));
  }
}

std::vector<std::string> Caveats(const NoisySteps& steps) {
  std::vector<std::string> caveats = {
      "Parties are told apart from outsiders: they know which records a step used, and for them "
      "one "
      "record differs in the columns of the others only (vertically partitioned differential "
      "privacy).",
      "Holds if all computing parties follow the protocol."};
  if (!steps.max_uses) {
    caveats.push_back(
        "No record's uses are capped: against parties every step counts. A cap, or disjoint "
        "batches, "
        "lowers that.");
  }
  return caveats;
}

}  // namespace

PrivacyLoss LossOfUses(const NoisySteps& steps, uint32_t known, uint64_t uses) {
  RequireValid(steps);
  const auto parties = static_cast<uint32_t>(steps.parties.size());
  if (known >= parties) return Unlimited();
  const double noise = steps.noise_multiplier *
                       std::sqrt(static_cast<double>(parties - known) / parties) * (1 - 1e-15);
  return GaussianLossOf(2, noise, uses, FailureProbability(steps, noise, 2), steps.delta);
}

Statement StateSteps(const NoisySteps& steps) {
  RequireValid(steps);
  const double shift = steps.adjacency == Adjacency::kReplace ? 2 : 1;
  const double noise = steps.noise_multiplier;
  const double failure = FailureProbability(steps, noise, shift);
  const PrivacyLoss outside = steps.sampling_rate < 1
                                  ? SampledLoss(noise, {steps.adjacency, steps.sampling_rate},
                                                steps.steps, failure, steps.delta)
                                  : GaussianLossOf(shift, noise, steps.steps, failure, steps.delta);
  Statement statement;
  statement.mechanism = fmt::format(
      "{} steps, each a sum over a batch with Gaussian noise of {} times the clipping norm; "
      "every row is in a batch with probability {}; each of {} parties adds a share of the "
      "noise.",
      steps.steps, GivenText(steps.noise_multiplier, 6, false),
      GivenText(steps.sampling_rate, 6, true), steps.parties.size());
  statement.rows.push_back(OutsideRow(steps, AdversaryKind::kOutsideAnalyst, outside));
  Adversary party;
  party.kind = AdversaryKind::kParty;
  StatementRow party_row = CoalitionRow(steps, party, 1);
  for (const std::string& name : steps.parties) {
    party_row.adversary.party = name;
    const bool headline = name == steps.analyst;
    statement.rows.insert(headline ? statement.rows.begin() : statement.rows.end(), party_row);
  }
  for (uint32_t size = 2; size < steps.parties.size(); ++size) {
    Adversary coalition;
    coalition.kind = AdversaryKind::kCoalition;
    coalition.size = size;
    statement.rows.push_back(CoalitionRow(steps, std::move(coalition), size));
  }
  if (steps.engine == EngineStructure::kDealer) {
    statement.rows.push_back(OutsideRow(steps, AdversaryKind::kDealer, outside));
    party.with_dealer = true;
    StatementRow row;
    row.adversary = party;
    row.loss = Unlimited();
    row.reason = "the dealer's masks and a party's messages give every input";
    statement.rows.push_back(std::move(row));
  }
  statement.caveats = Caveats(steps);
  CheckStatement(statement);
  return statement;
}

}  // namespace partita::privacy
