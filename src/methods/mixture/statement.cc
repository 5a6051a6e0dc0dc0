#include "methods/mixture/statement.h"

#include <fmt/format.h>

#include <boost/math/distributions/binomial.hpp>
#include <cmath>

#include "base/error.h"
#include "privacy/accounting/accountant.h"
#include "privacy/accounting/mechanism.h"
#include "privacy/ledger/statement_charges.h"
#include "privacy/rounded_text.h"

namespace partita::methods::mixture {

using stats::mixture::BatchMode;

namespace {

// The number of uses that no record exceeds but with this probability.
uint64_t LikelyLargestUses(const RunPlan& plan, uint64_t openings) {
  if (openings == 0) return 0;
  const boost::math::binomial uses(static_cast<double>(openings), plan.sampling_rate);
  const double each = plan.request.redraw_probability / plan.request.num_rows;
  uint64_t low = 0, high = openings;
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    if (boost::math::cdf(boost::math::complement(uses, static_cast<double>(middle))) <= each) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

// Parties know the batches, and here no part of the noise.
void AddOthers(const privacy::NoisySteps& steps, const Audience& audience,
               privacy::Statement& statement) {
  if (audience.others.empty()) return;
  const uint64_t uses = steps.max_uses.value_or(steps.steps);
  privacy::StatementRow row;
  row.adversary.kind = privacy::AdversaryKind::kParty;
  row.adjacency = privacy::Adjacency::kReplace;
  row.loss = privacy::LossOfUses(steps, 0, uses);
  row.reason = fmt::format(
      "columns of the others in one record, used in at most {} steps; knows the batches and no "
      "part of the noise",
      uses);
  auto place = statement.rows.begin() + 1;
  for (const std::string& name : audience.others) {
    row.adversary.party = name;
    place = statement.rows.insert(place, row) + 1;
  }
  statement.caveats.push_back(fmt::format(
      "Parties that pool what they know without {0} learn as much as one of them, as far as the "
      "engine withstands them; together with {0}, who knows all of the noise, there is no bound.",
      fmt::join(audience.parties, ", ")));
}

const privacy::PrivacyLoss& OutsideLoss(const privacy::Statement& statement) {
  for (const privacy::StatementRow& row : statement.rows) {
    if (row.adversary.kind == privacy::AdversaryKind::kOutsideAnalyst) return row.loss;
  }
  throw Error(ErrorCode::kInternal, "a statement has no row for the outside analyst");
}

double OutsideEpsilon(const privacy::Statement& statement) {
  const privacy::PrivacyLoss& loss = OutsideLoss(statement);
  return loss.infinite ? privacy::kInfinity : loss.epsilon_upper;
}

// What a party knows of the noise: its share, if all add one.
uint32_t KnownShares(const Audience& audience) { return audience.others.empty() ? 1 : 0; }

// Without the sampling of batches: what the parties know.
privacy::PrivacyLoss LossOfKnown(const RunPlan& plan, const Audience& audience, uint32_t known) {
  const privacy::NoisySteps steps = StepsOf(plan, audience, {plan.request.max_openings(), {}});
  return privacy::LossOfUses(steps, known, steps.max_uses.value_or(steps.steps));
}

}  // namespace

privacy::NoisySteps StepsOf(const RunPlan& plan, const Audience& audience, const Made& made) {
  const BatchMode mode = plan.request.batch_mode;
  privacy::NoisySteps steps;
  steps.parties = audience.parties;
  steps.analyst = audience.analyst;
  steps.noise_multiplier = plan.request.noise_multiplier;
  steps.engine = audience.engine;
  steps.adjacency = audience.adjacency;
  steps.steps = made.openings;
  steps.max_uses = made.max_uses;
  steps.delta = audience.delta;
  if (mode == BatchMode::kPoisson) {
    steps.sampling_rate = plan.sampling_rate;
    // Batches drawn again, and before a run records used oftener than stated.
    steps.delta -= plan.request.redraw_probability * (made.max_uses ? 1 : 2);
    if (!made.max_uses) {
      steps.max_uses = std::max<uint64_t>(1, LikelyLargestUses(plan, made.openings));
    }
  } else if (mode == BatchMode::kDisjoint) {
    const auto parts = static_cast<uint64_t>(std::llround(1 / plan.sampling_rate));
    const uint64_t epochs = (made.openings + parts - 1) / parts;
    steps.steps = epochs;
    steps.max_uses = epochs;
  }
  // d / (8 s) and the gap of the shares (discrete_gaussian_mechanism.h), with room.
  const double sigma = privacy::StddevLowerBound(plan.noise.share_variance);
  steps.gap = static_cast<double>(plan.step.num_values()) / (sigma * sigma);
  return steps;
}

privacy::Statement StateRun(const RunPlan& plan, const Audience& audience, const Made& made) {
  const privacy::NoisySteps steps = StepsOf(plan, audience, made);
  privacy::Statement statement = privacy::StateSteps(steps);
  statement.mechanism =
      fmt::format("DPVI on vertical partitions, {} batches: {}",
                  stats::mixture::BatchModeName(plan.request.batch_mode), statement.mechanism);
  for (privacy::StatementRow& row : statement.rows) {
    if (row.adversary.kind != privacy::AdversaryKind::kDealer) continue;
    const uint64_t uses = steps.max_uses.value_or(steps.steps);
    row.adjacency = privacy::Adjacency::kReplace;
    row.loss = privacy::LossOfUses(steps, 0, uses);
    row.reason = fmt::format(
        "knows the batches, for it makes masks for their rows; a record used in at most {} steps",
        uses);
  }
  for (privacy::StatementRow& row : statement.rows) {
    const bool outside = row.adversary.kind == privacy::AdversaryKind::kOutsideAnalyst;
    if (outside || row.loss.infinite) continue;
    row.uses_cap = steps.max_uses;
    row.uses_realised = made.max_uses;
  }
  if (plan.request.batch_mode == BatchMode::kPoisson && !made.max_uses) {
    statement.caveats.push_back(fmt::format(
        "Uses of a record are random: the statement holds for at most {} uses, which a run exceeds "
        "for some record with a probability below {} (taken out of delta). How many "
        "there are in a run tells of its batches: only the parties, who know them, are shown it.",
        steps.max_uses.value_or(0), privacy::GivenText(plan.request.redraw_probability, 1, true)));
  }
  statement.caveats.emplace_back(
      "Holders are trusted with the norms of their own gradients: one that understates them breaks "
      "this for every row that it shares with others.");
  AddOthers(steps, audience, statement);
  privacy::CheckStatement(statement);
  return statement;
}

double NoiseFor(const RunRequest& request, const Audience& audience, double epsilon,
                Against against) {
  const auto plan_at = [&](double noise) {
    RunRequest changed = request;
    changed.noise_multiplier = noise;
    return PlanRun(std::move(changed));
  };
  constexpr double kLeast = 0.3;
  const double most = LargestNoise(request);
  const auto refuse = [&] {
    throw Error(ErrorCode::kBudget,
                fmt::format("epsilon = {:.6g} for {} iterations takes noise of more than {:.6g} "
                            "times `clip` = {:.6g}, which is the most that a run can draw",
                            epsilon, request.variational.steps, most, request.clip),
                "use a larger epsilon, fewer iterations, or a smaller clip");
  };
  if (against == Against::kOutside && request.batch_mode == BatchMode::kPoisson) {
    // Without the small terms of the statement, which the loop below pays for.
    const double rate = plan_at(1).sampling_rate;
    const auto events = [&](double noise) {
      return std::vector<privacy::Event>{
          {privacy::GaussianMechanism(noise, {audience.adjacency, rate}), request.max_openings()}};
    };
    double noise =
        privacy::NoiseForBudget(events, {epsilon, audience.delta * 0.99}, 1e-3).noise_multiplier;
    while (noise <= most && OutsideEpsilon(StateRun(plan_at(noise), audience,
                                                    {request.max_openings(), {}})) > epsilon)
      noise *= 1.002;
    if (noise > most) refuse();
    return noise;
  }
  const uint32_t known = against == Against::kOutside ? 0 : KnownShares(audience);
  const auto exceeds = [&](double noise) {
    try {
      const privacy::PrivacyLoss loss = LossOfKnown(plan_at(noise), audience, known);
      return loss.infinite || loss.epsilon_upper > epsilon;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kUsage) throw;
      return true;  // so little noise that nothing can be stated
    }
  };
  double low = kLeast, high = std::min(1.0, most);
  while (exceeds(high)) {
    if (high == most) refuse();
    low = high;
    high = std::min(2 * high, most);
  }
  while (high / low > 1.002) {
    const double middle = std::sqrt(low * high);
    (exceeds(middle) ? low : high) = middle;
  }
  return high;
}

std::vector<BatchChoice> CompareBatches(const RunPlan& plan, const Audience& audience) {
  const auto of_rows = [&](BatchMode mode, uint64_t steps) {
    RunRequest request = plan.request;
    request.batch_mode = mode;
    request.variational.steps = steps;
    if (mode == BatchMode::kFull) {
      request.batch_size = request.num_rows;
      request.reserve = static_cast<uint64_t>(
          std::ceil(static_cast<double>(request.reserve) * plan.sampling_rate - 1e-9));
    }
    return PlanRun(std::move(request));
  };
  const uint64_t steps = plan.request.variational.steps;
  const double passes = std::ceil(static_cast<double>(steps) * plan.sampling_rate);
  std::vector<RunPlan> plans;
  if (plan.request.batch_mode != BatchMode::kFull) {
    plans.push_back(of_rows(BatchMode::kPoisson, steps));
    plans.push_back(of_rows(BatchMode::kDisjoint, steps));
  }
  plans.push_back(of_rows(BatchMode::kFull, static_cast<uint64_t>(passes)));
  std::vector<BatchChoice> choices;
  for (const RunPlan& each : plans) {
    const privacy::NoisySteps of = StepsOf(each, audience, {each.request.max_openings(), {}});
    BatchChoice choice;
    choice.mode = each.request.batch_mode;
    choice.steps = each.request.variational.steps;
    choice.max_uses = of.max_uses.value_or(of.steps);
    choice.outside = choice.mode == BatchMode::kPoisson
                         ? OutsideLoss(privacy::StateSteps(of))
                         : privacy::LossOfUses(of, 0, choice.max_uses);
    choice.party = privacy::LossOfUses(of, KnownShares(audience), choice.max_uses);
    choices.push_back(std::move(choice));
  }
  return choices;
}

std::vector<privacy::ledger::Charge> ChargesOf(const RunPlan& plan, const Audience& audience,
                                               uint32_t coalition) {
  // Delta of the whole audience: what was taken out of it is charged too.
  return privacy::ledger::ChargesOf(
      StateRun(plan, audience, {plan.request.max_openings(), {}}),
      {kGradientRelease, audience.delta, coalition,
       "use another engine, more noise parties or a smaller coalition", true});
}

}  // namespace partita::methods::mixture
