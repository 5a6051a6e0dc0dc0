// What the private protocols are compared with. NOT private: what opens here is exact, and nothing
// limits what it says about single rows.
//
// Model average   Every party minimises its own objective; the sum of the minimisers opens, once.
//                 Divided by K it is local aggregation (local_aggregation.h) without noise.
// Federated fit   The minimum of the pooled objective: in every iteration the sum of all gradients
//                 at v_t opens, and
//                   w_{t+1} = v_t - grad J(v_t) / (lambda + c),
//                   v_{t+1} = w_{t+1} + b (w_{t+1} - w_t),  b = (1 - r)/(1 + r),
//                 r = sqrt(lambda / (lambda + c)) (Nesterov 2004, 2.2.1): the error of J falls by
//                 1 - r in each. c: largest curvature of the loss.
// Revealed        To everybody: the average; or every iteration's sum of gradients, hence all
//                 iterates.
// Cost            That of noised_sum.h, once or T times.
#pragma once

#include <Eigen/Core>
#include <optional>

#include "base/progress.h"
#include "methods/classify/noised_sum.h"
#include "stats/erm/minimize.h"

namespace partita::methods::classify {

struct BaselineTask {
  stats::erm::Loss loss;
  double lambda = 0.1;
  size_t dimension = 0;
  uint64_t rows = 0;        // over all parties; public
  uint64_t party_rows = 0;  // at most this many at one party
  uint64_t iterations = 1;  // of the federated fit; public
  uint32_t parties = 2;
  int fraction_bits = 40;
};

// The sums that open: no noise. Throw kUsage for a task out of range.
NoisedSum DesignModelAverage(const BaselineTask& task);
NoisedSum DesignFederated(const BaselineTask& task);

// rows: this party's own, of norm at most 1. Phases "average" and "gradients". The same everywhere;
// empty at the dealer. Throw kBadData to the owner of rows that are too many or too long.
Eigen::VectorXd RunModelAverage(mpc::Engine& engine, const BaselineTask& task, const NoisedSum& sum,
                                const std::optional<stats::erm::LabelledRows>& rows);
Eigen::VectorXd RunFederated(mpc::Engine& engine, const BaselineTask& task, const NoisedSum& sum,
                             const std::optional<stats::erm::LabelledRows>& rows,
                             Progress& progress);

// The minimum of one party's own objective, for its own eyes: no messages.
Eigen::VectorXd OwnFit(const BaselineTask& task, const stats::erm::LabelledRows& rows);

}  // namespace partita::methods::classify
