#include "methods/classify/statement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/error.h"
#include "privacy/accounting/steps_statement.h"
#include "privacy/ledger/statement_charges.h"
#include "privacy/rounded_text.h"
#include "privacy/sampling/release_statement.h"
#include "stats/erm/objective_noise.h"

namespace partita::methods::classify {
namespace {

using privacy::Adjacency;
using privacy::AdversaryKind;
using privacy::PrivacyLoss;
using privacy::Statement;
using privacy::StatementRow;

PrivacyLoss Unlimited() {
  PrivacyLoss loss;
  loss.infinite = true;
  return loss;
}

// The loss against somebody who knows so many noise shares, under this adjacency.
using MechanismLoss = std::function<PrivacyLoss(uint32_t known, Adjacency adjacency)>;

StatementRow CoalitionRow(const Audience& audience, privacy::Adversary adversary, uint32_t size,
                          const MechanismLoss& loss_of, const std::string& sees) {
  StatementRow row{std::move(adversary), Adjacency::kReplace, Unlimited(), {}};
  const auto parties = static_cast<uint32_t>(audience.parties.size());
  if (size >= parties) {
    row.reason = "knows all of the noise";
  } else if (!privacy::Withstands(audience.engine, size, parties)) {
    row.reason = privacy::BeyondThreshold(audience.engine);
  } else {
    row.loss = loss_of(size, Adjacency::kReplace);
    row.reason = fmt::format("rows of the others; {}; {} of {} noise shares are unknown to it",
                             sees, parties - size, parties);
  }
  return row;
}

// outside: the adjacency of the outside analyst. sees: what is opened, one clause.
Statement StateFor(const Audience& audience, Adjacency outside, const MechanismLoss& loss_of,
                   const std::string& sees) {
  if (audience.parties.empty() || audience.parties.size() > 1000) {
    throw Error(ErrorCode::kUsage, "the noise needs 1 to 1000 parties");
  }
  Statement statement;
  const StatementRow analyst{
      {}, outside, loss_of(0, outside), sees + "; all noise is unknown to it"};
  statement.rows.push_back(analyst);
  privacy::Adversary party;
  party.kind = AdversaryKind::kParty;
  StatementRow party_row = CoalitionRow(audience, party, 1, loss_of, sees);
  for (const std::string& name : audience.parties) {
    party_row.adversary.party = name;
    statement.rows.push_back(party_row);
  }
  const auto parties = static_cast<uint32_t>(audience.parties.size());
  const uint32_t largest = std::min(parties - 1, std::max(2U, audience.known_shares));
  for (uint32_t size = 2; size <= largest; ++size) {
    privacy::Adversary coalition;
    coalition.kind = AdversaryKind::kCoalition;
    coalition.size = size;
    statement.rows.push_back(CoalitionRow(audience, coalition, size, loss_of, sees));
  }
  if (audience.engine == privacy::EngineStructure::kDealer) {
    StatementRow dealer = analyst;
    dealer.adversary.kind = AdversaryKind::kDealer;
    dealer.reason = "sees no inputs, and neither noise nor batches are from it";
    statement.rows.push_back(dealer);
    party.with_dealer = true;
    statement.rows.push_back({party, Adjacency::kReplace, Unlimited(),
                              "the dealer's masks and a party's messages give every input"});
  }
  statement.caveats = {
      "Holds if all computing parties follow the protocol and each adds its share of the noise.",
      "Every party's number of rows is public."};
  return statement;
}

void RequireParties(const Audience& audience, uint32_t parties) {
  if (audience.parties.size() == parties) return;
  throw Error(ErrorCode::kUsage, fmt::format("{} names for {} parties that add noise",
                                             audience.parties.size(), parties));
}

// Of `steps` noisy sums of which a row changes each by `shift` noise standard deviations at most.
// gap: distance of one step's law from a Gaussian (steps_statement.h).
PrivacyLoss LossOfSteps(double noise_multiplier, double rate, uint64_t steps, Adjacency adjacency,
                        double delta, double gap) {
  privacy::NoisySteps all;
  all.parties = {"all"};
  all.noise_multiplier = noise_multiplier;
  all.sampling_rate = rate;
  all.steps = steps;
  all.adjacency = adjacency;
  all.delta = delta;
  all.gap = gap;
  all.engine = privacy::EngineStructure::kTwoParties;
  return privacy::StateSteps(all).rows.front().loss;
}

// What is certainly lost at `delta`, as far as this loss tells: a lower end holds at its own delta
// and at smaller ones, and says nothing of the smaller epsilon of a larger delta.
double LowerEndAt(const PrivacyLoss& loss, double delta) {
  return loss.delta >= delta ? loss.epsilon_lower : 0;
}

// Nothing limits what anybody learns.
Statement StateNoBound(const std::string& mechanism, const std::string& reason,
                       const Audience& audience) {
  Statement statement;
  statement.mechanism = mechanism;
  const auto add = [&](AdversaryKind kind, const std::string& party) {
    StatementRow row{{}, Adjacency::kReplace, Unlimited(), reason};
    row.adversary.kind = kind;
    row.adversary.party = party;
    statement.rows.push_back(std::move(row));
  };
  add(AdversaryKind::kOutsideAnalyst, "");
  for (const std::string& name : audience.parties) add(AdversaryKind::kParty, name);
  if (audience.engine == privacy::EngineStructure::kDealer) add(AdversaryKind::kDealer, "");
  privacy::CheckStatement(statement);
  return statement;
}

// d / (8 s) and the gap of the shares (discrete_gaussian_mechanism.h), with room.
double GapOf(const privacy::DistributedNoise& noise) {
  const double sigma = privacy::StddevLowerBound(noise.share_variance);
  return static_cast<double>(noise.dimension) / (sigma * sigma);
}

}  // namespace

Statement StateAggregation(const AggregationTask& task, const NoisedSum& sum,
                           const Audience& audience) {
  privacy::GaussianRelease release{audience.parties,
                                   sum.noise,
                                   audience.engine,
                                   Adjacency::kReplace,
                                   SumSensitivity(task),
                                   SumSensitivity(task),
                                   privacy::Delta(audience.delta)};
  Statement statement = privacy::StateRelease(release);
  statement.mechanism = fmt::format(
      "The average of {} parties' own classifiers, opened once; the smallest party's {} rows and "
      "the "
      "penalty {:g} set the noise. {}",
      task.parties, task.smallest_rows, task.lambda, statement.mechanism);
  statement.caveats.emplace_back("Every party's number of rows is public.");
  privacy::CheckStatement(statement);
  return statement;
}

Statement StateDescent(const DescentTask& task, double noise_multiplier, const Audience& audience) {
  RequireParties(audience, task.parties);
  const NoisedSum sum = DesignDescent(task, noise_multiplier);
  const MechanismLoss loss_of = [&](uint32_t known, Adjacency adjacency) {
    const double remaining =
        noise_multiplier *
        std::sqrt(static_cast<double>(task.parties - known) / (task.parties - task.known_shares));
    return LossOfSteps(remaining * (1 - 1e-15), task.options.rate, task.options.iterations,
                       adjacency, audience.delta, GapOf(sum.noise));
  };
  Statement statement = StateFor(audience, task.adjacency, loss_of, "sees every noisy sum");
  statement.mechanism = fmt::format(
      "DP-SGD: {} noisy sums of gradients of norm at most {}; every row is in a batch with "
      "probability {}, drawn in secret by its owner; noise of {} times that norm remains "
      "against {} known shares.",
      task.options.iterations, privacy::GivenText(task.options.clip_norm, 6, true),
      privacy::GivenText(task.options.rate, 6, true),
      privacy::GivenText(noise_multiplier, 6, false), task.known_shares);
  statement.caveats.emplace_back(
      "The statement covers every iterate, not only the classifier that is reported.");
  privacy::CheckStatement(statement);
  return statement;
}

Statement StatePsgd(const PsgdTask& task, const Audience& audience) {
  RequireParties(audience, task.parties);
  const PsgdNoise noise = DesignPsgd(task);
  // A row's gradient on the grid is no longer than 1; the rest is slack.
  const double norm =
      1 + std::ldexp(std::sqrt(static_cast<double>(task.dimension)), -task.fraction_bits);
  const MechanismLoss loss_of = [&](uint32_t known, Adjacency adjacency) {
    const double remaining = task.rho_stddev * std::sqrt(static_cast<double>(task.parties - known) /
                                                         (task.parties - task.known_shares));
    return LossOfSteps(remaining / norm * (1 - 1e-15), 1, task.options.iterations, adjacency,
                       audience.delta, GapOf(noise.sum.noise));
  };
  Statement statement = StateFor(audience, Adjacency::kReplace, loss_of, "sees every noisy sum");
  statement.mechanism = fmt::format(
      "PSGD: {} noisy sums of gradients; noise rho of standard deviation {} in each remains "
      "against {} known shares. The noise eta, drawn once, cancels in differences of the sums and "
      "is "
      "not counted.",
      task.options.iterations, privacy::GivenText(task.rho_stddev, 6, false), task.known_shares);
  statement.caveats.emplace_back(
      "The theorem of Rajkumar and Agarwal speaks of the classifier at convergence. A run that "
      "stops "
      "is not there, so the losses are those of all sums, for the outside analyst, too.");
  privacy::CheckStatement(statement);
  return statement;
}

Statement StateMinimum(const PrivateMinimum& design, const MinimumBudget& budget,
                       const Audience& audience) {
  const auto parties = static_cast<uint32_t>(design.task.party_rows.size());
  RequireParties(audience, parties);
  const privacy::Delta delta(budget.delta);
  const double output_delta = budget.output_share * budget.delta;
  const double linear_delta = (budget.delta - output_delta) * (1 - 1e-6);
  const privacy::L2Sensitivity apart(2 * design.gamma / design.task.lambda * (1 + 1e-12));
  const privacy::GridL2Sensitivity distance =
      privacy::ToGrid(apart, kMinimumBits, design.task.dimension, 0);
  const double determinants = stats::erm::DeterminantEpsilon(
      design.task.lambda, TotalRows(design.task), stats::erm::MaxCurvature({}));
  const MechanismLoss loss_of = [&](uint32_t known, Adjacency) {
    const double remaining = design.linear_stddev * std::sqrt(static_cast<double>(parties - known) /
                                                              (parties - budget.known_shares));
    const double linear =
        stats::erm::ObjectiveEpsilonRest(stats::erm::NoiseRule::kLinearModel, design.task.dimension,
                                         remaining * (1 - 1e-12), privacy::Delta(linear_delta));
    const privacy::Bounds output = privacy::DiscreteGaussianEpsilon(
        distance, privacy::RemainingNoise(*design.output, known), privacy::Delta(output_delta));
    if (!std::isfinite(output.upper)) return Unlimited();
    PrivacyLoss loss;
    loss.epsilon_upper = (determinants + linear + output.upper) * (1 + 1e-12);
    loss.delta = delta.value();
    return loss;
  };
  Statement statement = StateFor(audience, Adjacency::kReplace, loss_of,
                                 "sees the certificate's bit and the noisy coefficients");
  statement.mechanism = fmt::format(
      "Approximate minima perturbation on shares: linear noise sigma* = {} against {} known "
      "shares, penalty {:.6g} with slack, output noise for a gradient of norm {}.",
      privacy::RoundedText(design.linear_stddev, 6, false), budget.known_shares, design.task.lambda,
      privacy::RoundedText(design.gamma, 3, true));
  statement.caveats.emplace_back(
      "The certificate's bit is not covered by the noise. The number of steps is enough for every "
      "table within the bounds, so that it is yes unless a computation fails; a no opens nothing "
      "and "
      "the budget stays charged.");
  privacy::CheckStatement(statement);
  return statement;
}

Statement StateExact(const std::string& what, const Audience& audience) {
  return StateNoBound(what, "what opens is exact", audience);
}

Statement StateObjective(const PrivateMinimum& design, const MinimumBudget& budget,
                         const Audience& audience) {
  const auto parties = static_cast<uint32_t>(design.task.party_rows.size());
  RequireParties(audience, parties);
  Statement statement = StateNoBound(
      fmt::format(
          "Gaussian objective perturbation on shares: linear noise sigma* = {} against {} "
          "known "
          "shares, penalty {:.6g}, of which the slack Delta is {:.6g}. The theorem gives epsilon "
          "{} at delta {} for the EXACT minimiser of the perturbed objective.",
          privacy::RoundedText(design.linear_stddev, 6, false), budget.known_shares,
          design.task.lambda, design.slack, privacy::GivenText(budget.epsilon, 6, true),
          privacy::DeltaText(budget.delta)),
      fmt::format("the theorem covers the exact minimiser; what opens is up to {} away from it, "
                  "and no noise covers that",
                  privacy::RoundedText(design.gamma / design.task.lambda, 3, true)),
      audience);
  statement.caveats.emplace_back(
      "NOT private as it is opened; protocol \"approximate-minima\" covers the distance with "
      "output "
      "noise.");
  statement.caveats.emplace_back("Every party's number of rows is public.");
  return statement;
}

std::vector<privacy::ledger::Charge> ChargesOf(const Statement& statement,
                                               const std::string& release, uint32_t coalition,
                                               double delta) {
  std::vector<privacy::ledger::Charge> charges = privacy::ledger::ChargesOf(
      statement, {release, delta, std::max(coalition, 1U),
                  "use another engine, more parties that add noise or a smaller coalition"});
  const bool insider = std::any_of(charges.begin(), charges.end(), [](const auto& charge) {
    return privacy::ledger::ClassOf(charge.adversary) == privacy::ledger::AdversaryClass::kInsider;
  });
  if (!insider) {
    throw Error(
        ErrorCode::kRefused,
        fmt::format("no noise is sized against {} parties that pool what they know", coalition),
        "raise known_shares, or use more parties that add noise");
  }
  return charges;
}

Statement Together(const std::vector<Statement>& one_after_other, const Statement* instead) {
  Statement all = one_after_other.front();
  if (one_after_other.size() == 1 && instead == nullptr) return all;
  for (StatementRow& row : all.rows) {
    // Bounds that are added have no common trade-off function.
    row.loss.trade_off.clear();
    row.loss.mu.reset();
    if (one_after_other.size() > 1) row.loss.beta_at_5_percent.reset();
  }
  const auto check = [&](const Statement& other) {
    if (other.rows.size() == all.rows.size()) return;
    throw Error(ErrorCode::kInternal, "statements for different audiences");
  };
  for (size_t k = 1; k < one_after_other.size(); ++k) {
    const Statement& next = one_after_other[k];
    check(next);
    for (size_t i = 0; i < all.rows.size(); ++i) {
      PrivacyLoss& loss = all.rows[i].loss;
      const PrivacyLoss& more = next.rows[i].loss;
      if (loss.infinite || more.infinite) {
        loss = Unlimited();
        continue;
      }
      // What each loses is lost together, too.
      const double delta = loss.delta + more.delta;
      loss.epsilon_lower = std::max(LowerEndAt(loss, delta), LowerEndAt(more, delta));
      loss.epsilon_upper = (loss.epsilon_upper + more.epsilon_upper) * (1 + 1e-15);
      loss.delta = delta;
    }
    all.mechanism += " " + next.mechanism;
    all.caveats.insert(all.caveats.end(), next.caveats.begin(), next.caveats.end());
  }
  if (instead != nullptr) {
    check(*instead);
    for (size_t i = 0; i < all.rows.size(); ++i) {
      PrivacyLoss& loss = all.rows[i].loss;
      const PrivacyLoss& other = instead->rows[i].loss;
      if (loss.infinite) continue;
      if (other.infinite) {
        loss = other;
        continue;
      }
      loss.beta_at_5_percent.reset();
      const double delta = std::max(loss.delta, other.delta);
      loss.epsilon_lower = std::max(LowerEndAt(loss, delta), LowerEndAt(other, delta));
      loss.epsilon_upper = std::max(loss.epsilon_upper, other.epsilon_upper);
      loss.delta = delta;
    }
    all.mechanism += " " + instead->mechanism;
    all.caveats.insert(all.caveats.end(), instead->caveats.begin(), instead->caveats.end());
  }
  std::vector<std::string> caveats;
  for (std::string& caveat : all.caveats) {
    if (std::find(caveats.begin(), caveats.end(), caveat) == caveats.end()) {
      caveats.push_back(std::move(caveat));
    }
  }
  all.caveats = std::move(caveats);
  privacy::CheckStatement(all);
  return all;
}

void RequireSmallDelta(double delta, uint64_t rows) {
  if (delta * static_cast<double>(rows) <= 1) return;
  throw Error(ErrorCode::kRefused,
              fmt::format("delta {:g} is above one over the {} rows", delta, rows),
              "publishing a row at random would meet such a delta; use one well below 1/n");
}

}  // namespace partita::methods::classify
