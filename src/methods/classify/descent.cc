#include "methods/classify/descent.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "methods/classify/poisson_batch.h"
#include "privacy/accounting/accountant.h"
#include "privacy/sampling/clipping.h"
#include "privacy/sampling/discrete_gaussian.h"

namespace partita::methods::classify {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using stats::erm::LabelledRows;

// Numbers that are drawn ahead at once, 16 bytes each.
constexpr size_t kMaxDrawnAhead = size_t{1} << 22;

void CheckTask(const DescentTask& task) {
  const stats::erm::MinibatchOptions& options = task.options;
  if (!(options.rate > 0 && options.rate <= 1) || options.iterations == 0 || task.rows == 0 ||
      task.dimension == 0 || !(options.clip_norm > 0)) {
    throw Error(ErrorCode::kUsage,
                "a descent needs rows, columns, iterations, a clipping norm above 0 and a sampling "
                "rate in (0, 1]");
  }
  if (task.known_shares >= task.parties) {
    throw Error(ErrorCode::kUsage,
                fmt::format("of {} noise shares {} are known to the adversary, so none protects",
                            task.parties, task.known_shares),
                "known_shares must be below the number of parties");
  }
}

// Gathered together, so that they stay in the cache.
constexpr size_t kRowsAtOnce = 256;

// Some rows of a matrix that is stored by columns, each as a column.
MatrixXd ColumnsOf(const MatrixXd& x, std::span<const Index> rows) {
  MatrixXd columns(x.cols(), static_cast<Index>(rows.size()));
  for (Index j = 0; j < x.cols(); ++j) {
    for (size_t b = 0; b < rows.size(); ++b) columns(j, static_cast<Index>(b)) = x(rows[b], j);
  }
  return columns;
}

privacy::ClipBound Bound(const DescentTask& task) {
  return {privacy::Norm::kL2, task.options.clip_norm, task.fraction_bits};
}

// The noise of coming iterations.
class NoiseAhead {
 public:
  NoiseAhead(const NoisedSum& sum, size_t iterations, crypto::RandomSource& random)
      : gaussian_(sum.noise.share_variance),
        dimension_(sum.dimension),
        left_(iterations),
        random_(random) {
    Refill();
  }

  void AddTo(std::span<Int128> vector) {
    if (at_ == drawn_.size()) Refill();
    for (Int128& entry : vector) entry += drawn_[at_++];
  }

 private:
  void Refill() {
    const size_t iterations = std::clamp<size_t>(kMaxDrawnAhead / dimension_, 1, left_);
    drawn_.resize(iterations * dimension_);
    gaussian_.Sample(random_, drawn_);
    left_ -= iterations;
    at_ = 0;
  }

  privacy::DiscreteGaussian gaussian_;
  size_t dimension_, left_;
  crypto::RandomSource& random_;
  std::vector<Int128> drawn_;
  size_t at_ = 0;
};

VectorXd Real(std::span<const Int128> grid, int fraction_bits) {
  VectorXd real(static_cast<Index>(grid.size()));
  for (size_t j = 0; j < grid.size(); ++j) {
    real(static_cast<Index>(j)) = std::ldexp(static_cast<double>(grid[j]), -fraction_bits);
  }
  return real;
}

// All rows could be in one batch.
double PartyBound(const DescentTask& task) {
  return static_cast<double>(task.party_rows) * task.options.clip_norm;
}

std::vector<privacy::Event> Events(const DescentTask& task, double noise_multiplier) {
  const privacy::SamplingSpec spec{task.adjacency, task.options.rate};
  return {{privacy::GaussianMechanism(noise_multiplier, spec), task.options.iterations}};
}

}  // namespace

double CalibrateDescent(const DescentTask& task, double epsilon, double delta) {
  CheckTask(task);
  return privacy::NoiseForBudget(
             [&](double noise_multiplier) { return Events(task, noise_multiplier); },
             {epsilon, delta})
      .noise_multiplier;
}

NoisedSum DesignDescent(const DescentTask& task, double noise_multiplier) {
  CheckTask(task);
  NoisedSum sum;
  sum.release = "gradients";
  sum.dimension = task.dimension;
  sum.fraction_bits = task.fraction_bits;
  sum.party_bound = PartyBound(task);
  const double stddev = std::ldexp(noise_multiplier * task.options.clip_norm, task.fraction_bits);
  sum.noise = privacy::ShareNoise(privacy::VarianceOfStddev(stddev),
                                  {task.parties, task.known_shares}, task.dimension);
  return sum;
}

std::vector<Int128> GradientOnGrid(const LabelledRows& rows, std::span<const Index> batch,
                                   const DescentTask& task, const VectorXd& w) {
  std::vector<Int128> sum(task.dimension, 0), clipped(task.dimension);
  while (!batch.empty()) {
    const std::span<const Index> some = batch.first(std::min(batch.size(), kRowsAtOnce));
    batch = batch.subspan(some.size());
    const MatrixXd x = ColumnsOf(rows.x, some);
    const VectorXd scores = x.transpose() * w;
    for (size_t b = 0; b < some.size(); ++b) {
      const auto at = static_cast<Index>(b);
      const double y = rows.y(some[b]);
      const VectorXd gradient =
          stats::erm::LossSlope(task.options.loss, y * scores(at)) * y * x.col(at);
      privacy::ClipToGrid({gradient.data(), task.dimension}, Bound(task), clipped);
      for (size_t j = 0; j < task.dimension; ++j) sum[j] += clipped[j];
    }
  }
  return sum;
}

VectorXd RunDescent(mpc::Engine& engine, const DescentTask& task, const NoisedSum& sum,
                    const std::optional<LabelledRows>& rows, crypto::RandomSource& random,
                    Progress& progress) {
  CheckTask(task);
  if (rows) {
    stats::erm::CheckRows(*rows);
    if (static_cast<uint64_t>(rows->x.rows()) > task.party_rows ||
        rows->x.cols() != static_cast<Index>(task.dimension)) {
      throw Error(ErrorCode::kBadData, "the table has more rows or other columns than declared");
    }
  }
  engine.BeginPhase("descent");
  const bool opens = engine.self().has_value();
  stats::erm::MinibatchSteps steps(task.options, task.rows, task.dimension);
  std::optional<NoiseAhead> noise;
  if (rows) noise.emplace(sum, task.options.iterations, random);
  for (size_t t = 0; t < task.options.iterations; ++t) {
    progress.Step(t, task.options.iterations);
    progress.CheckCancelled();
    std::vector<Int128> own;
    if (rows) {
      own = GradientOnGrid(*rows, DrawPoissonBatch(rows->x.rows(), task.options.rate, random), task,
                           steps.w());
      noise->AddTo(own);
    }
    const std::vector<Int128> opened = OpenNoisedSum(engine, sum, own);
    if (opens) steps.Step(Real(opened, task.fraction_bits));
  }
  return opens ? steps.Result() : VectorXd();
}

}  // namespace partita::methods::classify
