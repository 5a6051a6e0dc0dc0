#include "stats/erm/client_descent.h"

#include <cmath>
#include <numeric>

#include "base/error.h"
#include "stats/blr/variates.h"

namespace partita::stats::erm {

using Eigen::Index;
using Eigen::VectorXd;

Eigen::VectorXd ClientDescent(size_t clients, size_t features, const ClientDescentOptions& options,
                              const blr::GradientSum& gradient_sum, crypto::RandomSource& source) {
  blr::CheckBatches(clients, options.epochs, options.batch_size);
  if (!(options.lambda >= 0) || !(options.step > 0)) {
    throw Error(ErrorCode::kUsage, "a penalty is negative, or a step is not positive",
                "give a penalty of 0 or more and a positive step");
  }
  MinibatchOptions minibatch;
  minibatch.lambda = options.lambda;
  minibatch.step = options.step;
  minibatch.rate = static_cast<double>(options.batch_size) / static_cast<double>(clients);
  minibatch.iterations = options.epochs * (clients / options.batch_size);
  minibatch.optimiser = options.optimiser;
  MinibatchSteps steps(minibatch, clients, features);
  blr::Variates variates(source);
  std::vector<size_t> order(clients);
  std::iota(order.begin(), order.end(), size_t{0});
  for (size_t epoch = 0; epoch < options.epochs; ++epoch) {
    blr::Deal(order, variates);
    for (size_t begin = 0; begin < clients; begin += options.batch_size) {
      const blr::NoisyGradient noisy =
          gradient_sum(steps.w(), std::span(order).subspan(begin, options.batch_size));
      if (noisy.sum.size() != features) {
        throw Error(ErrorCode::kInternal, "a sum of gradients has another length than the model");
      }
      VectorXd of_loss(static_cast<Index>(features));
      for (size_t j = 0; j < features; ++j) {
        of_loss(static_cast<Index>(j)) =
            -std::ldexp(static_cast<double>(noisy.sum[j]), -blr::kGradientBits);
      }
      steps.Step(of_loss);
    }
  }
  return steps.Result();
}

}  // namespace partita::stats::erm
