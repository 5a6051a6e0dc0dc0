#include "methods/dca/sum_statement.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "privacy/sampling/release_statement.h"

namespace partita::methods::dca {
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

// Against all compute nodes but one and T_collude + 1 clients.
DiscreteGaussianNoise RemainingAgainstNodes(const Contract& contract, uint32_t accepted) {
  if (ByClients(contract)) {
    return RemainingAgainstClients(contract, accepted, contract.max_collude + 1);
  }
  return {ShareVariance(contract), 1, contract.dimension};
}

StatementRow Row(AdversaryKind kind, uint32_t size, privacy::PrivacyLoss loss, std::string reason) {
  StatementRow row;
  row.adversary.kind = kind;
  row.adversary.size = size;
  row.adjacency = privacy::Adjacency::kReplace;
  row.loss = std::move(loss);
  row.reason = std::move(reason);
  return row;
}

std::string ClientsReason(const Contract& contract, uint32_t accepted, uint32_t known) {
  if (!ByClients(contract)) return "clients: they know nothing of the compute nodes' noise";
  return fmt::format("clients: {} of {} noise shares are unknown to them", accepted - known,
                     accepted);
}

std::string NodesReason(const Contract& contract, uint32_t accepted) {
  if (!ByClients(contract))
    return "one compute node's noise, which is all of it, is unknown to them";
  const uint32_t known = contract.max_collude + 1;
  return fmt::format("and {} clients with them: {} of {} noise shares are unknown", known,
                     accepted - known, accepted);
}

std::string Mechanism(const Contract& contract, uint32_t accepted) {
  const double share = privacy::StddevUpperBound(ShareVariance(contract));
  const double bound = SumSensitivity(contract).value();
  if (ByClients(contract)) {
    return fmt::format(
        "Discrete Gaussian noise on {} coordinates: each of {} clients that arrived ({} planned, "
        "{} at least) adds a share of standard deviation {:.6g} grid units; one client's row "
        "changes the sum by at most {:.6g} grid units (L2 norm, replace).",
        contract.dimension, accepted, contract.clients, MinAccepted(contract), share, bound);
  }
  return fmt::format(
      "Discrete Gaussian noise on {} coordinates: each of {} compute nodes adds noise of standard "
      "deviation {:.6g} grid units, which suffices alone; one of {} clients' rows changes the sum "
      "by at most {:.6g} grid units (L2 norm, replace).",
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
    caveats.insert(caveats.begin() + 1, "Holds if that compute node adds its noise.");
  }
  return caveats;
}

}  // namespace

DiscreteGaussianNoise RemainingAgainstClients(const Contract& contract, uint32_t accepted,
                                              uint32_t known) {
  if (!ByClients(contract)) return {ShareVariance(contract), contract.nodes, contract.dimension};
  if (known >= accepted) {
    throw Error(ErrorCode::kUsage,
                fmt::format("no noise remains against {} of {} clients", known, accepted));
  }
  return {ShareVariance(contract), accepted - known, contract.dimension};
}

privacy::GridL2Sensitivity SumSensitivity(const Contract& contract) {
  return privacy::GridL2Sensitivity(
      std::ldexp(contract.clip.bound, contract.clip.fraction_bits + 1));
}

privacy::PrivacyLoss ChargedLoss(const Contract& contract, uint32_t accepted,
                                 privacy::Delta delta) {
  RequireEnough(contract, accepted);
  return privacy::GaussianLoss(SumSensitivity(contract), RemainingAgainstNodes(contract, accepted),
                               delta);
}

privacy::Statement StateSum(const Contract& contract, uint32_t accepted, privacy::Delta delta) {
  RequireEnough(contract, accepted);
  const privacy::GridL2Sensitivity sensitivity = SumSensitivity(contract);
  privacy::Statement statement;
  statement.mechanism = Mechanism(contract, accepted);
  statement.rows.push_back(
      Row(AdversaryKind::kOutsideAnalyst, 0,
          privacy::GaussianLoss(sensitivity, RemainingAgainstClients(contract, accepted, 0), delta),
          "sees the sum and who took part"));
  std::vector<uint32_t> coalitions = {1};
  if (contract.max_collude > 0) coalitions.push_back(contract.max_collude + 1);
  for (const uint32_t size : coalitions) {
    statement.rows.push_back(
        Row(AdversaryKind::kCoalition, size,
            privacy::GaussianLoss(sensitivity, RemainingAgainstClients(contract, accepted, size),
                                  delta),
            ClientsReason(contract, accepted, size)));
  }
  statement.rows.push_back(Row(AdversaryKind::kComputeNodes, contract.nodes - 1U,
                               ChargedLoss(contract, accepted, delta),
                               NodesReason(contract, accepted)));
  privacy::PrivacyLoss unlimited;
  unlimited.infinite = true;
  statement.rows.push_back(Row(AdversaryKind::kComputeNodes, contract.nodes, unlimited,
                               "together they add up any client's shares"));
  statement.caveats = Caveats(contract);
  CheckStatement(statement);
  return statement;
}

}  // namespace partita::methods::dca
