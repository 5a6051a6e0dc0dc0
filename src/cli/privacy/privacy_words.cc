#include "cli/privacy/privacy_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text_table.h"
#include "privacy/accounting/guarantee.h"

namespace partita::cli {
namespace {

using privacy::AdversaryKind;
using privacy::Event;
using privacy::Interval;
using privacy::PldOptions;
using privacy::PrivacyLoss;
using privacy::StatementRow;

constexpr double kFalseAlarms = 0.05;
constexpr double kLargeEpsilon = 30;     // beyond, nothing more can be said about right guesses
constexpr double kObserverWidth = 1e-3;  // of the row that says what sampling does not do

bool Samples(const Composition& composition) {
  return std::any_of(composition.parts.begin(), composition.parts.end(),
                     [](const MechanismSpec& part) { return part.rate < 1; });
}

// sqrt of the sum of squares if all are Gaussians without sampling, rounded up.
std::optional<double> GaussianMu(const std::vector<Event>& events) {
  double square = 0;
  for (const Event& event : events) {
    const double mu = event.mechanism.gaussian_mu;
    if (!(mu > 0)) return std::nullopt;
    square += mu * mu * static_cast<double>(event.count);
  }
  return std::sqrt(square) * (1 + 1e-12);
}

PrivacyLoss LossOf(const std::vector<Event>& events, const Interval& epsilon, double delta,
                   const PldOptions& accuracy, size_t curve_points) {
  PrivacyLoss loss;
  loss.infinite = std::isinf(epsilon.upper);
  if (loss.infinite) return loss;
  loss.epsilon_lower = epsilon.lower;
  loss.epsilon_upper = epsilon.upper;
  loss.delta = delta;
  loss.mu = GaussianMu(events);
  loss.beta_at_5_percent = privacy::BetaAt5Percent(epsilon.upper, delta);
  if (epsilon.lower > kLargeEpsilon) return loss;
  loss.beta_at_5_percent =
      std::max(*loss.beta_at_5_percent,
               privacy::GuaranteedBeta(events, kFalseAlarms, epsilon.upper, accuracy));
  if (curve_points == 0) return loss;
  const auto profile = ShowingProfile(events, curve_points, accuracy);
  const std::vector<double> alphas = privacy::ShowingAlphas();
  for (const privacy::CertifiedPoint& point : privacy::CertifiedTradeOff(profile, alphas))
    loss.trade_off.push_back({point.alpha, point.beta.lower, point.beta.upper});
  return loss;
}

// The same without sampling, and at most `uses` times.
Composition AgainstObserver(const Composition& composition) {
  Composition known = composition;
  known.events.clear();
  for (MechanismSpec& part : known.parts) {
    part.rate = 1;
    if (composition.uses > 0) part.steps = composition.uses;
    known.events.push_back(MakeEvent(part, known.adjacency));
  }
  return known;
}

StatementRow ObserverRow(const Composition& composition, double delta, const PldOptions& accuracy,
                         size_t curve_points) {
  PldOptions observer = accuracy;
  observer.relative_width = std::max(accuracy.relative_width, kObserverWidth);
  StatementRow row;
  row.adversary.kind = AdversaryKind::kBatchObserver;
  row.adjacency = composition.adjacency;
  uint64_t uses = 0;
  for (const MechanismSpec& part : composition.parts)
    uses += composition.uses > 0 ? composition.uses : part.steps;
  row.uses_cap = uses;
  row.reason =
      composition.uses > 0
          ? fmt::format("no amplification; if no row is used more than {} times", FormatCount(uses))
          : fmt::format("no amplification; one row may be used all {} times", FormatCount(uses));
  try {
    const Composition known = AgainstObserver(composition);
    const Interval epsilon = privacy::PldEpsilon(known.events, delta, observer).value;
    row.loss = LossOf(known.events, epsilon, delta, observer, curve_points);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kUsage) throw;
    row.loss.infinite = true;
    row.reason += "; no finite bound was found";
  }
  return row;
}

std::string MechanismSentence(const Composition& composition) {
  if (composition.parts.size() == 1)
    return DescribeMechanism(composition.parts[0], composition.adjacency);
  uint64_t uses = 0;
  for (const MechanismSpec& part : composition.parts) uses += part.steps;
  return fmt::format("{} mechanisms, used {} times together.", composition.parts.size(),
                     FormatCount(uses));
}

bool IsContinuous(const MechanismSpec& part) {
  return part.kind == MechanismKind::kGaussian || part.kind == MechanismKind::kLaplace;
}

bool IsGiven(const MechanismSpec& part) {
  return part.kind == MechanismKind::kApproximate || part.kind == MechanismKind::kPmf;
}

std::vector<std::string> Caveats(const Composition& composition) {
  std::vector<std::string> caveats;
  caveats.emplace_back(composition.adjacency == privacy::Adjacency::kAddRemove
                           ? "Neighbouring tables differ by one row more or less (add-remove): the "
                             "number of rows is protected too."
                           : "Neighbouring tables differ by one row that is exchanged for another "
                             "(replace): the number of rows is public.");
  if (Samples(composition)) {
    caveats.emplace_back(
        "Sampling helps only against somebody who does not know which rows were in which batch, "
        "and only if every row enters every batch independently; shuffled batches of a fixed size "
        "are not that.");
  }
  caveats.emplace_back(
      "Everything that the mechanisms give out may be seen. Their random numbers are fresh in "
      "every use and known to nobody.");
  if (std::any_of(composition.parts.begin(), composition.parts.end(), IsGiven)) {
    caveats.emplace_back(
        "What is given as a guarantee or as a pair of laws is taken as true, for these "
        "neighbours.");
  }
  if (std::any_of(composition.parts.begin(), composition.parts.end(), IsContinuous)) {
    caveats.emplace_back(
        "Noise is taken as real numbers; what floating-point noise gives away beside that is not "
        "counted.");
  }
  caveats.emplace_back(
      "Speaks of one row, and of this composition alone: whoever has several rows loses more, and "
      "other releases from the same table add up.");
  return caveats;
}

int DigitsFor(const Interval& interval) {
  const double width = (interval.upper - interval.lower) / interval.upper;
  if (!(width > 0) || !std::isfinite(width)) return 6;
  return std::clamp(2 - static_cast<int>(std::floor(std::log10(width))), 4, 9);
}

}  // namespace

privacy::Statement StateComposition(const Composition& composition, const Interval& epsilon,
                                    double delta, const PldOptions& accuracy, size_t curve_points) {
  privacy::Statement statement;
  statement.mechanism = MechanismSentence(composition);
  StatementRow& outside = statement.rows.emplace_back();
  outside.adversary.kind = AdversaryKind::kOutsideAnalyst;
  outside.adjacency = composition.adjacency;
  outside.loss = LossOf(composition.events, epsilon, delta, accuracy, curve_points);
  outside.reason = outside.loss.infinite  ? "something happens with more than this delta"
                   : Samples(composition) ? "knows neither the noise nor the batches"
                                          : "does not know the noise";
  if (Samples(composition))
    statement.rows.push_back(ObserverRow(composition, delta, accuracy, curve_points));
  statement.caveats = Caveats(composition);
  privacy::CheckStatement(statement);
  return statement;
}

std::string IntervalText(const Interval& interval) {
  const int digits = DigitsFor(interval);
  return fmt::format("{} to {}", privacy::RoundedText(interval.lower, digits, false),
                     privacy::RoundedText(interval.upper, digits, true));
}

nlohmann::ordered_json IntervalJson(const Interval& interval) {
  const auto end = [](double value) -> nlohmann::ordered_json {
    if (std::isinf(value)) return "infinite";
    return value;
  };
  return {{"lower", end(interval.lower)}, {"upper", end(interval.upper)}};
}

std::vector<privacy::ProfilePoint> ShowingProfile(const std::vector<Event>& events, size_t points,
                                                  const PldOptions& accuracy) {
  return privacy::Profile(events, privacy::ShowingEpsilons(events, points, accuracy), accuracy);
}

}  // namespace partita::cli
