#include "methods/classify/psgd.h"

#include <cmath>
#include <numeric>

#include "base/error.h"
#include "methods/classify/descent.h"
#include "privacy/accounting/normal.h"
#include "privacy/sampling/discrete_gaussian.h"

namespace partita::methods::classify {

using Eigen::Index;
using Eigen::VectorXd;
using stats::erm::LabelledRows;

PsgdNoise DesignPsgd(const PsgdTask& task) {
  if (!(task.options.lambda > 0) || task.options.iterations == 0 || task.rows == 0 ||
      task.dimension == 0 || task.known_shares >= task.parties) {
    throw Error(ErrorCode::kUsage,
                "PSGD needs a penalty above 0, rows, columns, iterations, and a noise share that "
                "the adversary does not know");
  }
  const auto share = [&](double stddev) {
    return privacy::ShareNoise(privacy::VarianceOfStddev(std::ldexp(stddev, task.fraction_bits)),
                               {task.parties, task.known_shares}, task.dimension);
  };
  PsgdNoise noise;
  noise.eta = share(task.eta_stddev);
  noise.sum.release = "gradients";
  noise.sum.dimension = task.dimension;
  noise.sum.fraction_bits = task.fraction_bits;
  noise.sum.party_bound =
      static_cast<double>(task.party_rows) * (1 + std::ldexp(1.0, -task.fraction_bits)) +
      kLargestShare *
          std::ldexp(privacy::StddevUpperBound(noise.eta.share_variance), -task.fraction_bits);
  noise.sum.noise = share(task.rho_stddev);
  return noise;
}

VectorXd RunPsgd(mpc::Engine& engine, const PsgdTask& task, const PsgdNoise& noise,
                 const std::optional<LabelledRows>& rows, crypto::RandomSource& random,
                 Progress& progress) {
  engine.BeginPhase("psgd");
  std::vector<Int128> eta, rho;
  if (rows) {
    stats::erm::CheckRows(*rows);
    if (static_cast<uint64_t>(rows->x.rows()) > task.party_rows ||
        rows->x.cols() != static_cast<Index>(task.dimension) ||
        rows->x.rowwise().norm().maxCoeff() > 1) {
      throw Error(ErrorCode::kBadData,
                  "the table has more rows or other columns than declared, or a row longer than 1");
    }
    eta.resize(task.dimension);
    privacy::DiscreteGaussian(noise.eta.share_variance).Sample(random, eta);
    rho.resize(task.dimension * task.options.iterations);
    privacy::DiscreteGaussian(noise.sum.noise.share_variance).Sample(random, rho);
  }
  // Every row's gradient goes to the grid by itself, no longer than 1 there: the sums are exact,
  // and one row changes them by 2 at most.
  DescentTask grid;
  grid.options.loss = task.options.loss;
  grid.options.clip_norm = 1;
  grid.dimension = task.dimension;
  grid.fraction_bits = task.fraction_bits;
  std::vector<Index> all(rows ? static_cast<size_t>(rows->x.rows()) : 0);
  std::iota(all.begin(), all.end(), Index{0});
  VectorXd w = VectorXd::Zero(static_cast<Index>(task.dimension));
  for (size_t t = 0; t < task.options.iterations; ++t) {
    progress.Step(t, task.options.iterations);
    progress.CheckCancelled();
    std::vector<Int128> own;
    if (rows) {
      own = GradientOnGrid(*rows, all, grid, w);
      for (size_t j = 0; j < task.dimension; ++j) own[j] += eta[j] + rho[t * task.dimension + j];
    }
    const std::vector<Int128> opened = OpenNoisedSum(engine, noise.sum, own);
    if (opened.empty()) continue;
    VectorXd sum(w.size());
    for (size_t j = 0; j < opened.size(); ++j) {
      sum(static_cast<Index>(j)) = mpc::DecodeFixed(opened[j], task.fraction_bits);
    }
    w -= PsgdStep(task.options, t) *
         (sum / static_cast<double>(task.rows) + (task.options.lambda + task.options.slack) * w);
  }
  return engine.self() ? w : VectorXd();
}

}  // namespace partita::methods::classify
