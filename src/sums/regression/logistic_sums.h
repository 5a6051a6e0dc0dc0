// Logistic regression over the sums of sums/protocol, by variational inference or by DP-SGD: every
// step is one private sum of the clipped gradients of one batch of clients.
//
// Whoever trains knows the batches, and so does every client that is asked: no row claims
// amplification by sampling (R-g). A client is in one batch per epoch, so replacing it moves E sums
// by at most 2 C each.
#pragma once

#include <Eigen/Core>

#include "crypto/random.h"
#include "privacy/statement.h"
#include "sums/protocol/contract.h"
#include "sums/regression/logistic.h"

namespace partita::sums::regression {

// Of one batch.
struct LogisticRound {
  uint16_t nodes = 3;
  uint32_t max_drop = 0;     // clients of a batch that may not arrive
  uint32_t max_collude = 0;  // and that may tell their noise
  NoiseSource noise_source = NoiseSource::kClients;
};

// The contract of every batch: d gradients clipped to C, and noise so that what must remain of all
// epochs together meets epsilon and delta. Throws kUsage for what CheckContract refuses.
Contract BatchContract(size_t features, const LogisticViOptions& options,
                       const LogisticRound& round);

struct SimulatedLogistic {
  LogisticPosterior posterior;
  privacy::Statement statement;  // of the whole training
  uint64_t sums = 0;
  double wall_seconds = 0;
};

// One client per row, all steps in one process through clients and compute nodes, keys of
// registered clients. x: rows by features; labels 0 or 1. Throws as FitLogisticVi.
SimulatedLogistic SimulateLogistic(const Eigen::MatrixXd& x, const Eigen::VectorXd& labels,
                                   const LogisticViOptions& options, const LogisticRound& round,
                                   crypto::RandomSource& random);

struct SimulatedDescent {
  Eigen::VectorXd coefficients;
  double noise_stddev = 0;       // of every entry of every sum
  privacy::Statement statement;  // of the whole training
  uint64_t sums = 0;
  double wall_seconds = 0;
};

// The same by DP-SGD or DP-Adam. options: of the batches, clipping and privacy; its prior is
// `lambda` here. Throws as ClientDescent.
SimulatedDescent SimulateDescent(const Eigen::MatrixXd& x, const Eigen::VectorXd& labels,
                                 const LogisticViOptions& options, Optimiser optimiser,
                                 double lambda, const LogisticRound& round,
                                 crypto::RandomSource& random);

// The statement for `clients` clients: whoever knows the batches, coalitions of clients, compute
// nodes. Gaussian composition of all steps that used one record (accounting/steps_statement.h).
privacy::Statement StateLogistic(const Contract& batch, uint64_t clients,
                                 const LogisticViOptions& options);

}  // namespace partita::sums::regression
