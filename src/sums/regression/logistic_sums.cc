#include "sums/regression/logistic_sums.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/clock.h"
#include "base/error.h"
#include "privacy/accounting/steps_statement.h"
#include "privacy/rounded_text.h"
#include "sums/protocol/simulate.h"
#include "sums/protocol/sum_statement.h"

namespace partita::sums::regression {
namespace {

using Eigen::VectorXd;
using privacy::AdversaryKind;

// How far the law of the sum of shares is from a Gaussian of the same variance s, as a hockey-stick
// divergence (discrete_gaussian_mechanism.h, "continuous plus gap" and "sum of P"):
//   d/(24 s) + exp(d/(6 s) + D^2/(12 s^2)) - 1 bounds the first, for -(d/2) log(1 - 1/(6 s)) is at
//   most d/(6 s) for s >= 1/3; exp(4 d tau) - 1 the second.
double GapOf(const Contract& contract, const privacy::DiscreteGaussianNoise& remaining) {
  const double share = privacy::StddevLowerBound(remaining.share_variance);
  const double s = share * share * remaining.shares * (1 - 0x1p-40);
  const auto d = static_cast<double>(remaining.dimension);
  const double distance = SumSensitivity(contract).value();
  const double tau = privacy::ShareGap(remaining.share_variance, remaining.shares);
  return (d / (24 * s) + std::expm1(d / (6 * s) + distance * distance / (12 * s * s)) +
          std::expm1(4 * d * tau)) *
         (1 + 0x1p-40);
}

privacy::PrivacyLoss LossOf(const Contract& contract,
                            const privacy::DiscreteGaussianNoise& remaining, uint64_t clients,
                            const LogisticViOptions& options) {
  privacy::NoisySteps steps;
  steps.parties = {"all shares that remain"};
  steps.noise_multiplier = privacy::StddevLowerBound(remaining.share_variance) *
                           std::sqrt(remaining.shares) * (1 - 0x1p-50) /
                           (SumSensitivity(contract).value() / 2);
  steps.steps = options.epochs * (clients / options.batch_size);
  steps.max_uses = options.epochs;
  steps.delta = options.delta;
  steps.gap = GapOf(contract, remaining);
  return privacy::LossOfUses(steps, 0, options.epochs);
}

privacy::StatementRow Row(AdversaryKind kind, uint32_t size, privacy::PrivacyLoss loss,
                          std::string reason) {
  privacy::StatementRow row;
  row.adversary.kind = kind;
  row.adversary.size = size;
  row.adjacency = privacy::Adjacency::kReplace;
  row.loss = std::move(loss);
  row.reason = std::move(reason);
  return row;
}

// One client per row; a sum is a round of clients and compute nodes.
class ClientGradients {
 public:
  ClientGradients(const Eigen::MatrixXd& x, const VectorXd& labels,
                  const LogisticViOptions& options, const LogisticRound& round,
                  crypto::RandomSource& random)
      : x_(x), labels_(labels), clip_norm_(options.clip_norm), random_(random) {
    if (labels.size() != x.rows()) {
      throw Error(ErrorCode::kUsage, "there are as many labels as rows", "give one label per row");
    }
    simulation_.contract = BatchContract(features(), options, round);
    simulation_.transport = SimulatedTransport::kRegistered;
  }

  size_t count() const { return static_cast<size_t>(x_.rows()); }
  size_t features() const { return static_cast<size_t>(x_.cols()); }
  uint64_t sums() const { return sums_; }
  const Contract& contract() const { return simulation_.contract; }
  double NoiseStddev() const {
    return std::ldexp(TotalNoiseStddev(contract(), contract().clients), -kGradientBits);
  }

  GradientSum Sum() {
    return [this](const VectorXd& beta, std::span<const size_t> batch) {
      simulation_.row = [&](uint32_t client, std::span<double> row) {
        const auto index = static_cast<Eigen::Index>(batch[client]);
        std::vector<Int128> gradient(features());
        ClippedLogisticGradient(x_.row(index).transpose(), labels_(index), beta, clip_norm_,
                                gradient);
        std::ranges::transform(gradient, row.begin(), [](Int128 value) {
          return std::ldexp(static_cast<double>(value), -kGradientBits);
        });
      };
      ++sums_;
      return NoisyGradient{Simulate(simulation_, random_).sum, NoiseStddev()};
    };
  }

 private:
  const Eigen::MatrixXd& x_;
  const VectorXd& labels_;
  double clip_norm_;
  crypto::RandomSource& random_;
  Simulation simulation_;
  uint64_t sums_ = 0;
};

}  // namespace

Contract BatchContract(size_t features, const LogisticViOptions& options,
                       const LogisticRound& round) {
  Contract contract;
  contract.dimension = features;
  contract.nodes = round.nodes;
  contract.clients = static_cast<uint32_t>(options.batch_size);
  contract.max_drop = round.max_drop;
  contract.max_collude = round.max_collude;
  contract.noise_source = round.noise_source;
  // A gradient of norm C on the grid passes the clip of the sum unchanged; it moves by 2 C.
  contract.clip = {privacy::Norm::kL2, options.clip_norm * (1 + 2 * privacy::kClipMargin),
                   kGradientBits};
  contract.sensitivity = 2 * options.clip_norm;
  contract.variance =
      privacy::VarianceOfStddev(std::ldexp(LogisticNoiseStddev(options), kGradientBits));
  CheckContract(contract);
  return contract;
}

SimulatedLogistic SimulateLogistic(const Eigen::MatrixXd& x, const VectorXd& labels,
                                   const LogisticViOptions& options, const LogisticRound& round,
                                   crypto::RandomSource& random) {
  ClientGradients clients(x, labels, options, round, random);
  SimulatedLogistic result;
  const auto start = SteadyClock::now();
  result.posterior =
      FitLogisticVi(clients.count(), clients.features(), options, clients.Sum(), random);
  result.wall_seconds = SecondsSince(start);
  result.sums = clients.sums();
  result.statement = StateLogistic(clients.contract(), clients.count(), options);
  return result;
}

SimulatedDescent SimulateDescent(const Eigen::MatrixXd& x, const VectorXd& labels,
                                 const LogisticViOptions& options, Optimiser optimiser,
                                 double lambda, const LogisticRound& round,
                                 crypto::RandomSource& random) {
  ClientGradients clients(x, labels, options, round, random);
  SimulatedDescent result;
  const auto start = SteadyClock::now();
  result.coefficients = ClientDescent(
      clients.count(), clients.features(),
      {options.epochs, options.batch_size, lambda, options.step, optimiser}, clients.Sum(), random);
  result.wall_seconds = SecondsSince(start);
  result.noise_stddev = clients.NoiseStddev();
  result.sums = clients.sums();
  result.statement = StateLogistic(clients.contract(), clients.count(), options);
  return result;
}

privacy::Statement StateLogistic(const Contract& batch, uint64_t clients,
                                 const LogisticViOptions& options) {
  // At least that many of a batch arrive, or its sum is not opened.
  const uint32_t arrived = MinAccepted(batch);
  const uint32_t known = batch.max_collude + 1;
  const auto loss = [&](const privacy::DiscreteGaussianNoise& remaining) {
    return LossOf(batch, remaining, clients, options);
  };
  privacy::Statement statement;
  statement.mechanism = fmt::format(
      "{} private sums of gradients clipped to the L2 norm {}, in {} epochs of batches of {} "
      "clients; a client is in one sum of each epoch, and replacing it moves that sum by at most "
      "{}; noise that must remain in each: standard deviation {}.",
      options.epochs * (clients / options.batch_size),
      privacy::GivenText(options.clip_norm, 6, true), options.epochs, options.batch_size,
      privacy::GivenText(2 * options.clip_norm, 6, true),
      privacy::RoundedText(std::ldexp(privacy::StddevLowerBound(batch.variance), -kGradientBits), 6,
                           false));
  statement.rows.push_back(
      Row(AdversaryKind::kBatchObserver, 0,
          loss(RemainingAgainstClients(batch, arrived, UncountedShares(batch, 0))),
          "sees all sums and who was in which batch"));
  statement.rows.push_back(Row(AdversaryKind::kCoalition, known,
                               loss(RemainingAgainstClients(batch, arrived, known)),
                               fmt::format("clients: in every batch at most {} of them", known)));
  statement.rows.push_back(Row(AdversaryKind::kComputeNodes, batch.nodes - 1U,
                               loss(RemainingAgainstNodes(batch, arrived)),
                               "and as many clients with them"));
  privacy::PrivacyLoss unlimited;
  unlimited.infinite = true;
  statement.rows.push_back(Row(AdversaryKind::kComputeNodes, batch.nodes, unlimited,
                               "together they add up any client's gradients"));
  statement.caveats = {
      "Holds if at least one compute node follows the protocol and keeps its shares to itself.",
      batch.noise_source == NoiseSource::kClients
          ? fmt::format("Holds if in every batch at most {} clients tell their noise or do not add "
                        "it.",
                        batch.max_collude)
          : "Holds if that compute node adds its noise.",
      "Batches are known to whoever trains and to the clients: sampling them adds no privacy.",
      "Speaks of this training alone; losses of several releases add up.",
      "A client that does not follow the protocol can shift the result arbitrarily."};
  privacy::CheckStatement(statement);
  return statement;
}

}  // namespace partita::sums::regression
