#include "methods/mcmc/statement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "base/error.h"
#include "base/memo.h"
#include "methods/mcmc/trade_offs.h"
#include "privacy/accounting/guarantee.h"
#include "privacy/accounting/pld.h"
#include "privacy/accounting/rdp.h"
#include "privacy/ledger/statement_charges.h"

namespace partita::methods::mcmc {
namespace {

using privacy::Adversary;
using privacy::AdversaryKind;
using privacy::PrivacyLoss;
using privacy::StatementRow;

// variates.h: a threshold's law is so close to the continuous one.
constexpr double kVariateError = 0x1p-39;
// Of the discrete noise from the continuous one, in every opening (discrete_gaussian_mechanism.h).
constexpr double kNoiseGap = 1e-20;
constexpr int kCurveLines = 25;

uint64_t Decided(const ChainPlan& plan) {
  return stats::mcmc::DecisionsOf(plan.options) * plan.options.chains;
}

PrivacyLoss Unlimited() {
  PrivacyLoss loss;
  loss.infinite = true;
  return loss;
}

// What a pair of neighbours may compose to: one of these.
using Cases = std::vector<std::vector<privacy::Event>>;

// Curve and error at 5 % from a profile up to the stated epsilon.
void AddCurve(const Cases& cases, double spared, PrivacyLoss& loss) {
  if (!(loss.epsilon_upper > 0) || loss.epsilon_upper > 30) return;
  privacy::PldOptions coarse;
  coarse.relative_width = 3e-2;
  std::vector<privacy::ProfilePoint> lines;
  for (int i = 0; i < kCurveLines; ++i) {
    const double epsilon = 1.5 * loss.epsilon_upper * i / (kCurveLines - 1);
    privacy::Interval delta{0, 0};
    for (const std::vector<privacy::Event>& events : cases) {
      const privacy::Interval one = privacy::PldDelta(events, epsilon, coarse).value;
      delta = {std::max(delta.lower, one.lower), std::max(delta.upper, one.upper)};
    }
    delta.upper = std::min(1.0, delta.upper + spared * (1 + std::exp(epsilon)));
    if (!lines.empty()) delta.upper = std::min(delta.upper, lines.back().delta.upper);
    if (!lines.empty()) delta.lower = std::min(delta.lower, lines.back().delta.lower);
    lines.push_back({epsilon, delta});
  }
  for (const auto& point : privacy::CertifiedTradeOff(lines, privacy::ShowingAlphas())) {
    loss.trade_off.push_back({point.alpha, point.beta.lower, point.beta.upper});
  }
  double best = 0;
  for (const privacy::ProfilePoint& line : lines) {
    if (line.delta.upper < 1) {
      best = std::max(best, privacy::BetaAt5Percent(line.epsilon, line.delta.upper));
    }
  }
  loss.beta_at_5_percent = best;
}

// Bits that move for one person: `bits` of them by `moved` at most.
struct MovedBits {
  double moved = 0;
  uint64_t bits = 0;
  bool operator<(const MovedBits& other) const {
    return std::tie(moved, bits) < std::tie(other.moved, other.bits);
  }
};

// By how much which bits move. A row decides in one stage. Where it is replaced, its successor may
// be in the other one: then both bits move, by half as much. Several rows of a person may be in
// both.
std::vector<MovedBits> MovesOf(const ChainPlan& plan, const ChainAudience& audience,
                               double sensitivity) {
  const uint64_t decisions = Decided(plan);
  const double moved = sensitivity * audience.rows_per_person;
  if (!plan.staged) return {{moved, decisions}};
  if (audience.rows_per_person > 1) return {{moved, 2 * decisions}};
  if (audience.adjacency == privacy::Adjacency::kAddRemove) return {{moved, decisions}};
  return {{moved, decisions}, {moved / 2, 2 * decisions}};
}

PrivacyLoss ComputeBarkerLoss(const std::vector<MovedBits>& moves, double spared, double delta) {
  Cases cases;
  double rho = 0;
  for (const auto& [moved, bits] : moves) {
    cases.push_back({{BarkerMechanism(moved), bits}});
    rho = std::max(rho, static_cast<double>(bits) * BarkerRho(moved));
  }
  // delta covers delta' + (1 + e^epsilon) spared; a larger epsilon only needs more of it.
  PrivacyLoss loss;
  double rest = delta - 2 * spared;
  for (int i = 0; i < 100 && rest > 0; ++i) {
    double pld = 0;
    for (const auto& events : cases)
      pld = std::max(pld, privacy::PldEpsilon(events, rest).value.upper);
    const double epsilon = std::min(pld, privacy::ZcdpEpsilon(rho, rest));
    const double needed = rest + (1 + std::exp(epsilon)) * spared;
    if (needed <= delta) {
      loss.epsilon_upper = epsilon;
      loss.epsilon_lower = 0;
      loss.delta = delta;
      AddCurve(cases, spared, loss);
      return loss;
    }
    rest = std::min(rest * 0.9, delta - (1 + std::exp(epsilon)) * spared);
  }
  return Unlimited();
}

PrivacyLoss BarkerLoss(const ChainPlan& plan, const ChainAudience& audience, double sensitivity) {
  const auto bits = static_cast<double>((plan.staged ? 2 : 1) * Decided(plan));
  std::vector<MovedBits> moves = MovesOf(plan, audience, sensitivity);
  // Every party rounds its difference to the grid.
  for (auto& [moved, count] : moves)
    moved += static_cast<double>(audience.parties.size()) * 0x1p-40;
  const double spared = bits * kVariateError;
  static Memo<std::tuple<std::vector<MovedBits>, double, double>, PrivacyLoss> memo;
  return memo.Get({moves, spared, audience.delta},
                  [&] { return ComputeBarkerLoss(moves, spared, audience.delta); });
}

PrivacyLoss PenaltyLoss(const ChainPlan& plan, const ChainAudience& audience, uint32_t known) {
  const auto parties = static_cast<double>(audience.parties.size());
  const double left = (parties - known) / parties;
  if (left <= 0) return Unlimited();
  const double factor = (audience.adjacency == privacy::Adjacency::kReplace ? 2 : 1) *
                        static_cast<double>(audience.rows_per_person);
  const double multiplier = std::sqrt(left) / (factor * StandardisedSensitivity(plan.penalty));
  const uint64_t openings = Decided(plan);
  const std::vector<privacy::Event> events = {
      {privacy::GaussianMechanism(multiplier, {privacy::Adjacency::kAddRemove, 1}), openings}};
  const double spared = static_cast<double>(openings) * kNoiseGap;
  const privacy::Interval epsilon = privacy::PldEpsilon(events, audience.delta - spared).value;
  if (!std::isfinite(epsilon.upper)) return Unlimited();
  PrivacyLoss loss;
  loss.epsilon_lower = epsilon.lower;
  loss.epsilon_upper = epsilon.upper;
  loss.delta = audience.delta;
  loss.mu = std::sqrt(static_cast<double>(openings)) / multiplier;
  AddCurve({events}, spared, loss);
  return loss;
}

struct Claim {
  bool made = false;
  std::string reason;  // why it is, or is not
};

Claim ClaimOf(const ChainPlan& plan, const Sensitivity& sensitivity) {
  if (plan.rule == Rule::kSum || plan.rule == Rule::kProduct) {
    return {false, "noisy log ratios open, of which a chain of them loses privacy at every step"};
  }
  if (plan.rule == Rule::kBit && plan.options.acceptance == stats::mcmc::Acceptance::kMetropolis) {
    return {false, "Metropolis's rule: one rejection can tell two data sets apart"};
  }
  if (!sensitivity) return {false, "nothing bounds what one person contributes to a decision"};
  if (plan.rule == Rule::kPenalty) return {true, "noise that all parties add to every log ratio"};
  return {true, "only the decisions open; nobody knows a part of their thresholds"};
}

std::string MechanismText(const ChainPlan& plan, const Sensitivity& sensitivity) {
  const uint64_t decisions = Decided(plan);
  if (plan.rule == Rule::kPenalty) {
    return fmt::format("penalty method, {} noisy log ratios, noise {} x what one row contributes",
                       decisions,
                       privacy::RoundedText(1 / StandardisedSensitivity(plan.penalty), 4, false));
  }
  const char* rule =
      plan.options.acceptance == stats::mcmc::Acceptance::kBarker ? "Barker's" : "Metropolis's";
  return fmt::format("{} decisions by {} rule{}{}", decisions, rule,
                     plan.staged ? " in two stages, a bit each" : "",
                     sensitivity ? fmt::format(", log ratios within {} of each other",
                                               privacy::RoundedText(*sensitivity, 4, true))
                                 : "");
}

}  // namespace

privacy::Statement StateChain(const ChainPlan& plan, const ChainAudience& audience,
                              const Sensitivity& sensitivity) {
  if (sensitivity && !(*sensitivity > 0 && std::isfinite(*sensitivity))) {
    throw Error(ErrorCode::kUsage, "the sensitivity of a log ratio must be positive");
  }
  const Claim claim = ClaimOf(plan, sensitivity);
  privacy::Statement statement;
  statement.mechanism = MechanismText(plan, sensitivity);
  const auto parties = static_cast<uint32_t>(audience.parties.size());
  std::optional<PrivacyLoss> barker;
  const auto add = [&](Adversary adversary, uint32_t known) {
    StatementRow row;
    row.adversary = std::move(adversary);
    row.adjacency = audience.adjacency;
    row.reason = claim.reason;
    if (!claim.made) {
      row.loss = Unlimited();
    } else if (row.adversary.with_dealer || !privacy::Withstands(audience.engine, known, parties)) {
      row.loss = Unlimited();
      row.reason = row.adversary.with_dealer ? "the dealer with a party reads everything"
                                             : privacy::BeyondThreshold(audience.engine);
    } else if (plan.rule == Rule::kPenalty) {
      row.loss = PenaltyLoss(plan, audience, known);
    } else {
      if (!barker) barker = BarkerLoss(plan, audience, *sensitivity);
      row.loss = *barker;
      if (row.loss.infinite) {
        row.reason = fmt::format(
            "no epsilon covers {} decisions at this delta: the law of a threshold is known to "
            "2^-39 "
            "only",
            Decided(plan));
      }
    }
    statement.rows.push_back(std::move(row));
  };
  add({AdversaryKind::kOutsideAnalyst, "", 0, false}, 0);
  for (const std::string& name : audience.parties) add({AdversaryKind::kParty, name, 0, false}, 1);
  for (uint32_t size = 2; size < parties; ++size) {
    add({AdversaryKind::kCoalition, "", size, false}, size);
  }
  if (audience.engine == privacy::EngineStructure::kDealer) {
    add({AdversaryKind::kDealer, "", 0, false}, 0);
    add({AdversaryKind::kParty, audience.parties.front(), 1, true}, 1);
  }
  if (claim.made && plan.options.longest > 0) {
    statement.caveats.emplace_back(
        "The chain samples the posterior itself: proposals are public and so short that no row "
        "moves a decision by more than is stated. It needs more decisions for as many effective "
        "draws.");
  } else if (claim.made && plan.rule == Rule::kBit) {
    statement.caveats.emplace_back(
        "The chain samples the clipped target, not the posterior: contributions of single rows are "
        "cut where they are large.");
  }
  if (claim.made) {
    statement.caveats.emplace_back(
        "The loss is that of all decisions of the plan, made or not; draws, summaries and the "
        "adaptation of the proposals are computed from them and cost nothing more.");
  }
  privacy::CheckStatement(statement);
  return statement;
}

std::vector<privacy::ledger::Charge> ChargesOf(const ChainPlan& plan, const ChainAudience& audience,
                                               const Sensitivity& sensitivity, uint32_t coalition) {
  return privacy::ledger::ChargesOf(
      StateChain(plan, audience, sensitivity),
      {ReleaseOf(plan).id, audience.delta, coalition,
       "clip contributions and use Barker's rule or the penalty method, another engine, or a "
       "smaller coalition"});
}

}  // namespace partita::methods::mcmc
