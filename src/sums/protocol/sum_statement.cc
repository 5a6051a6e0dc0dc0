#include "sums/protocol/sum_statement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "privacy/sampling/calibrate.h"
#include "privacy/sampling/release_statement.h"

namespace partita::sums {
namespace {

using privacy::AdversaryKind;
using privacy::DiscreteGaussianNoise;
using privacy::StatementRow;

void RequireEnough(const Contract& contract, uint32_t accepted) {
  if (accepted < MinAccepted(contract) || accepted > contract.clients) {
    throw Error(ErrorCode::kRefused,
                fmt::format("no statement for {} uploads: between {} and {} are planned", accepted,
                            MinAccepted(contract), contract.clients));
  }
}

bool ByClients(const Contract& contract) { return contract.noise_source == NoiseSource::kClients; }

// The loss of the shares that remain, whoever the adversary is.
privacy::PrivacyLoss LaplaceLoss(const Contract& contract) {
  const privacy::Bounds epsilon = privacy::DiscreteLaplaceEpsilon(
      privacy::GridL1Sensitivity(std::ldexp(RowSensitivity(contract), contract.clip.fraction_bits)),
      {contract.laplace_scale, 1});
  privacy::PrivacyLoss loss;
  // More shares than needed only blur it further.
  loss.epsilon_lower = 0;
  loss.epsilon_upper = epsilon.upper;
  loss.beta_at_5_percent = privacy::BetaAt5Percent(epsilon.upper, 0);
  return loss;
}

privacy::PrivacyLoss LossOf(const Contract& contract, const DiscreteGaussianNoise& remaining,
                            std::optional<privacy::Delta> delta) {
  if (!delta) {
    throw Error(ErrorCode::kUsage, "Gaussian noise has no epsilon without a delta",
                "give a delta, such as 1e-6");
  }
  return privacy::GaussianLoss(SumSensitivity(contract), remaining, *delta);
}

StatementRow Row(AdversaryKind kind, uint32_t size, privacy::PrivacyLoss loss, std::string reason) {
  StatementRow row;
  row.adversary.kind = kind;
  row.adversary.size = size;
  row.adjacency = privacy::Adjacency::kReplace;
  row.loss = std::move(loss);
  row.reason = std::move(reason);
  privacy::NameTooLittleNoise(row);
  return row;
}

std::string OutsideReason(const Contract& contract, uint32_t accepted) {
  std::string sees = "sees the sum and who took part";
  if (!ByClients(contract) || contract.max_collude == 0) return sees;
  return fmt::format("{}; {} of {} noise shares count, the others may not have been added", sees,
                     accepted - UncountedShares(contract, 0), accepted);
}

std::string ClientsReason(const Contract& contract, uint32_t accepted, uint32_t clients) {
  if (!ByClients(contract)) return "clients: they know nothing of the compute nodes' noise";
  return fmt::format("clients: {} of {} noise shares count against them",
                     accepted - UncountedShares(contract, clients), accepted);
}

std::string NodesReason(const Contract& contract, uint32_t accepted) {
  if (!ByClients(contract))
    return "one compute node's noise, which is all of it, is unknown to them";
  const uint32_t known = contract.max_collude + 1;
  return fmt::format("and {} clients with them: {} of {} noise shares are unknown", known,
                     accepted - known, accepted);
}

// Noise is rounded down, what hides in it up.
std::string GridText(double grid_units, bool up) { return privacy::RoundedText(grid_units, 6, up); }

std::string LaplaceMechanism(const Contract& contract, uint32_t accepted) {
  return fmt::format(
      "Discrete Laplace noise on {} coordinates, as differences of Polya shares: any {} of the {} "
      "shares that were added make one full noise of scale {} grid units; one of {} clients' "
      "rows changes the sum by at most {} grid units (L1 norm, replace).",
      contract.dimension, SharesNeeded(contract), ByClients(contract) ? accepted : contract.nodes,
      GridText(static_cast<double>(contract.laplace_scale), false), accepted,
      GridText(std::ldexp(RowSensitivity(contract), contract.clip.fraction_bits), true));
}

std::string Mechanism(const Contract& contract, uint32_t accepted) {
  if (IsLaplace(contract)) return LaplaceMechanism(contract, accepted);
  const std::string share = GridText(privacy::StddevLowerBound(ShareVariance(contract)), false);
  const std::string bound = GridText(SumSensitivity(contract).value(), true);
  if (ByClients(contract)) {
    return fmt::format(
        "Discrete Gaussian noise on {} coordinates: each of {} clients that arrived ({} planned, "
        "{} at least) adds a share of standard deviation {} grid units; one client's row "
        "changes the sum by at most {} grid units (L2 norm, replace).",
        contract.dimension, accepted, contract.clients, MinAccepted(contract), share, bound);
  }
  return fmt::format(
      "Discrete Gaussian noise on {} coordinates: each of {} compute nodes adds noise of standard "
      "deviation {} grid units, which suffices alone; one of {} clients' rows changes the sum "
      "by at most {} grid units (L2 norm, replace).",
      contract.dimension, contract.nodes, share, accepted, bound);
}

std::vector<std::string> Caveats(const Contract& contract) {
  std::vector<std::string> caveats = {
      "Holds if at least one compute node follows the protocol and keeps its shares to itself.",
      "Who takes part and how many do is public.",
      "Speaks of this release alone; losses of several releases add up.",
      "A client that does not follow the protocol can shift the result arbitrarily; it does not "
      "weaken the privacy of others beyond what is counted as collusion."};
  if (ByClients(contract)) {
    caveats.insert(caveats.begin() + 1,
                   fmt::format("Holds if at most {} clients tell their noise or do not add it.",
                               contract.max_collude));
  } else {
    caveats.insert(caveats.begin() + 1,
                   "Holds if that compute node adds its noise and keeps its box key secret, also "
                   "afterwards.");
  }
  return caveats;
}

}  // namespace

uint32_t UncountedShares(const Contract& contract, uint32_t clients) {
  return clients == 0 ? contract.max_collude : std::max(clients, contract.max_collude + 1);
}

DiscreteGaussianNoise RemainingAgainstClients(const Contract& contract, uint32_t accepted,
                                              uint32_t known) {
  if (!ByClients(contract)) return {ShareVariance(contract), contract.nodes, contract.dimension};
  if (known >= accepted) {
    throw Error(ErrorCode::kUsage,
                fmt::format("no noise remains against {} of {} clients", known, accepted));
  }
  return {ShareVariance(contract), accepted - known, contract.dimension};
}

DiscreteGaussianNoise RemainingAgainstNodes(const Contract& contract, uint32_t accepted) {
  if (ByClients(contract)) {
    return RemainingAgainstClients(contract, accepted, UncountedShares(contract, 1));
  }
  return {ShareVariance(contract), 1, contract.dimension};
}

privacy::GridL2Sensitivity SumSensitivity(const Contract& contract) {
  return privacy::GridL2Sensitivity(
      std::ldexp(RowSensitivity(contract), contract.clip.fraction_bits));
}

privacy::PrivacyLoss ChargedLoss(const Contract& contract, uint32_t accepted,
                                 std::optional<privacy::Delta> delta) {
  RequireEnough(contract, accepted);
  if (IsLaplace(contract)) return LaplaceLoss(contract);
  return LossOf(contract, RemainingAgainstNodes(contract, accepted), delta);
}

privacy::Statement StateSum(const Contract& contract, uint32_t accepted,
                            std::optional<privacy::Delta> delta) {
  RequireEnough(contract, accepted);
  const auto against_clients = [&](uint32_t clients) {
    if (IsLaplace(contract)) return LaplaceLoss(contract);
    return LossOf(contract,
                  RemainingAgainstClients(contract, accepted, UncountedShares(contract, clients)),
                  delta);
  };
  privacy::Statement statement;
  statement.mechanism = Mechanism(contract, accepted);
  statement.rows.push_back(Row(AdversaryKind::kOutsideAnalyst, 0, against_clients(0),
                               OutsideReason(contract, accepted)));
  std::vector<uint32_t> coalitions = {1};
  if (contract.max_collude > 0) coalitions.push_back(contract.max_collude + 1);
  for (const uint32_t size : coalitions) {
    statement.rows.push_back(Row(AdversaryKind::kCoalition, size, against_clients(size),
                                 ClientsReason(contract, accepted, size)));
  }
  statement.rows.push_back(Row(AdversaryKind::kComputeNodes, contract.nodes - 1U,
                               ChargedLoss(contract, accepted, delta),
                               NodesReason(contract, accepted)));
  privacy::PrivacyLoss unlimited;
  unlimited.infinite = true;
  StatementRow all;
  all.adversary = {AdversaryKind::kComputeNodes, "", contract.nodes};
  all.loss = unlimited;
  all.reason = "together they add up any client's shares";
  statement.rows.push_back(std::move(all));
  statement.caveats = Caveats(contract);
  CheckStatement(statement);
  return statement;
}

}  // namespace partita::sums
