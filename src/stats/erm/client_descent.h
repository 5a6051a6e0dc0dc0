// Logistic regression by DP-SGD or DP-Adam (Abadi et al., CCS 2016) over sums of clients' clipped
// gradients: what to use where only a classifier is wanted, and no posterior
// (stats/blr/logistic_vi.h, whose batches, gradients and privacy these are: each epoch deals all
// clients into batches of one public size, and no amplification by sampling is claimed).
#pragma once

#include "stats/blr/logistic_vi.h"
#include "stats/erm/descent.h"

namespace partita::stats::erm {

struct ClientDescentOptions {
  size_t epochs = 10, batch_size = 100;
  double lambda = 0.01, step = 1;
  Optimiser optimiser = Optimiser::kSgd;
};

// Minimises the mean logistic loss plus lambda/2 |w|^2. The gradients that `gradient_sum` adds up
// are those of the log likelihood. source: the public draws of the batches. Returns the average of
// the second half of the iterates. Throws kUsage if the clients are no multiple of the batch, for
// no epoch, and for a lambda or step out of range.
Eigen::VectorXd ClientDescent(size_t clients, size_t features, const ClientDescentOptions& options,
                              const blr::GradientSum& gradient_sum, crypto::RandomSource& source);

}  // namespace partita::stats::erm
