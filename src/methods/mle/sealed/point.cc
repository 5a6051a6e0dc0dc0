#include "methods/mle/sealed/point.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "methods/mle/sealed/values.h"
#include "mpc/functions/reciprocal.h"

namespace partita::methods::mle {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using mpc::Engine;
using mpc::Shape;
using mpc::Shared;
using stats::RamCell;
using stats::RamGroup;
using stats::RamMatrix;

// Of the rows, a variable's: 1 / kMostRows of sample.h.
constexpr double kSmallestWeight = 0x1p-28;
// Of a pattern's covariances, in squared standard deviations over all rows.
constexpr double kLargestOfPattern = 0x1p10;

// The cells of the matrix, row by row, that move with each parameter.
MatrixXd Pattern(const RamGroup& group, RamMatrix matrix, int v, int parameters) {
  const int columns = matrix == RamMatrix::kMean ? 1 : v;
  MatrixXd pattern = MatrixXd::Zero(v * columns, parameters);
  for (const RamCell& cell : group.cells) {
    if (cell.matrix != matrix) continue;
    pattern(cell.row * columns + cell.column, cell.parameter) = 1;
    if (matrix == RamMatrix::kCovariance) pattern(cell.column * v + cell.row, cell.parameter) = 1;
  }
  return pattern;
}

class Evaluation {
 public:
  explicit Evaluation(const SealedProblem& problem)
      : problem_(problem),
        engine_(problem.engine),
        model_(problem.model),
        samples_(problem.samples),
        p_(problem.observed()),
        v_(problem.variables()) {}

  void Imply(std::vector<SealedPoint>& all) {
    const int v = model_.ram.num_variables, k = model_.ram.num_parameters;
    for (SealedPoint& at : all) {
      at.groups.resize(model_.ram.groups.size());
      at.samples.resize(samples_.size());
    }
    ForGroups(all, [&](GroupAt& group, size_t g, const SealedPoint& at) {
      const RamGroup& ram = model_.ram.groups[g];
      group.regression = Fill(ram.regression, Pattern(ram, RamMatrix::kRegression, v, k), at.theta);
      group.covariance = Fill(ram.covariance, Pattern(ram, RamMatrix::kCovariance, v, k), at.theta);
      group.mean = Fill(ram.mean, Pattern(ram, RamMatrix::kMean, v, k), at.theta);
    });
    SumPaths(all);
    Products products(engine_);
    std::vector<Shared> moved(all.size() * model_.ram.groups.size());
    size_t i = 0;
    ForGroups(all, [&](GroupAt& group, size_t, const SealedPoint&) {
      products.Matrix(group.b, group.covariance, moved[i++]);
      if (problem_.means()) products.Matrix(group.b, group.mean, group.eta);
    });
    products.Run();
    i = 0;
    ForGroups(all, [&](GroupAt& group, size_t, const SealedPoint&) {
      products.Matrix(moved[i++], engine_.Transpose(group.b), group.full, kLargestImplied);
    });
    ForSamples(all, [&](SampleAt& sample, size_t s, const GroupAt& group) {
      if (!problem_.means()) return;
      const std::vector<size_t> observed = problem_.ObservedOf(s);
      const Shared residual =
          Minus(engine_, SampleMean(problem_, s), engine_.SelectRows(group.eta, observed));
      products.Elementwise(residual, engine_.SelectRows(problem_.inverse_sd, observed),
                           sample.distance, kLargestImplied);
    });
    products.Run();
    Scale(all);
  }

 private:
  Shared Fill(const MatrixXd& fixed, const MatrixXd& pattern, const Shared& theta) {
    const Shared moved = engine_.MultiplyPublic(EncodeMatrix(pattern, 0), theta);
    const Shape shape{static_cast<size_t>(fixed.rows()), static_cast<size_t>(fixed.cols())};
    return Plus(engine_, mpc::Reshape(moved, shape),
                engine_.Public(EncodeMatrix(fixed, kSealedBits)));
  }

  // From units of half-widths to those of the sample.
  void Scale(std::vector<SealedPoint>& all) {
    Products products(engine_);
    ForGroups(all, [&](GroupAt& group, size_t, const SealedPoint&) {
      const std::vector<Shared> both = {engine_.Slice(group.b, 0, 0, {p_, v_}),
                                        Bounded(engine_.Slice(group.full, 0, 0, {p_, v_}))};
      products.Elementwise(engine_.Slice(group.full, 0, 0, {p_, p_}), problem_.outer, group.r);
      products.Elementwise(engine_.Concatenate(both, false), problem_.inverse_sd, group.vectors);
    });
    ForSamples(all, [&](SampleAt& sample, size_t, const GroupAt&) {
      if (!problem_.means()) return;
      products.Matrix(sample.distance, engine_.Transpose(sample.distance), sample.spread);
    });
    products.Run();
    SelectSamples(all);
  }

  void SelectSamples(std::vector<SealedPoint>& all) {
    ForSamples(all, [&](SampleAt& sample, size_t s, const GroupAt& group) {
      sample.r = SelectBoth(engine_, group.r, problem_.ObservedOf(s));
    });
  }

  // B = I + A + A^2 + ... by Horner's rule.
  void SumPaths(std::vector<SealedPoint>& all) {
    const Shared identity = engine_.Public(EncodeMatrix(
        MatrixXd::Identity(static_cast<Index>(v_), static_cast<Index>(v_)), kSealedBits));
    ForGroups(all, [&](GroupAt& group, size_t, const SealedPoint&) {
      group.b = Plus(engine_, identity, group.regression);
      group.paths = {group.b};
    });
    for (size_t step = 1; step < model_.path_length; ++step) {
      Products products(engine_);
      std::vector<Shared> next(all.size() * model_.ram.groups.size());
      size_t i = 0;
      ForGroups(all, [&](GroupAt& group, size_t, const SealedPoint&) {
        products.Matrix(group.regression, group.b, next[i++]);
      });
      products.Run();
      i = 0;
      ForGroups(all, [&](GroupAt& group, size_t, const SealedPoint&) {
        group.b = Plus(engine_, identity, next[i++]);
        group.paths.push_back(group.b);
      });
    }
  }

  template <typename F>
  static void ForGroups(std::vector<SealedPoint>& all, F body) {
    for (SealedPoint& at : all) {
      for (size_t g = 0; g < at.groups.size(); ++g) body(at.groups[g], g, at);
    }
  }

  template <typename F>
  void ForSamples(std::vector<SealedPoint>& all, F body) const {
    for (SealedPoint& at : all) {
      for (size_t s = 0; s < samples_.size(); ++s)
        body(at.samples[s], s, at.groups[samples_[s].group]);
    }
  }

  const SealedProblem& problem_;
  Engine& engine_;
  const SealedModel& model_;
  const std::vector<SealedSample>& samples_;
  size_t p_, v_;
};

bool IsComplete(const std::vector<SealedSample>& samples) {
  return std::all_of(samples.begin(), samples.end(),
                     [](const SealedSample& sample) { return sample.observed.empty(); });
}

// Means and variances of every variable over the rows that have it, p x 1 each; zero where no row
// does.
std::pair<Shared, Shared> AvailableMoments(const SealedProblem& problem) {
  Engine& engine = problem.engine;
  const size_t num_samples = problem.samples.size();
  if (num_samples == 1 && problem.samples.front().observed.size() < problem.observed()) {
    throw Error(ErrorCode::kInternal, "a variable that no sample has");
  }
  Products products(engine);
  std::vector<Shared> squares(num_samples), means(num_samples), seconds(num_samples);
  for (size_t s = 0; s < num_samples; ++s) {
    const Shared& mean = problem.samples[s].mean;
    products.Elementwise(mean, mean, squares[s], 1);
  }
  products.Run();
  const Shared one = Constant(engine, {1, 1}, 1);
  const auto weight = [&](size_t s) {
    return num_samples == 1 ? one : Bounded(problem.samples[s].weight, 1);
  };
  for (size_t s = 0; s < num_samples; ++s) {
    const SealedSample& sample = problem.samples[s];
    const Shared second = Plus(engine, Diagonal(engine, sample.covariance), squares[s], 2);
    products.Elementwise(weight(s), AsRow(sample.mean), means[s], 1);
    products.Elementwise(weight(s), AsRow(second), seconds[s], 2);
  }
  products.Run();
  // To all variables, over the weights of the samples that have them.
  const auto pooled = [&](auto row_of) {
    Shared sum = Constant(engine, {1, problem.observed()}, 0);
    for (size_t s = 0; s < num_samples; ++s) {
      const std::vector<size_t> observed = problem.ObservedOf(s);
      MatrixXd places = MatrixXd::Zero(static_cast<Index>(observed.size()),
                                       static_cast<Index>(problem.observed()));
      for (size_t i = 0; i < observed.size(); ++i)
        places(static_cast<Index>(i), static_cast<Index>(observed[i])) = 1;
      const Shared row = row_of(s, observed.size());
      sum = Plus(engine, sum, engine.MultiplyPublic(row, EncodeMatrix(places, 0)), 4);
    }
    return sum;
  };
  const Shared rows = pooled([&](size_t s, size_t k) {
    const MatrixXd ones = MatrixXd::Ones(1, static_cast<Index>(k));
    return engine.MultiplyPublic(weight(s), EncodeMatrix(ones, 0));
  });
  const mpc::PositiveValue parts{Bounded(rows, 2), kSmallestWeight};
  const Shared inverse = mpc::Reciprocal(engine, std::span(&parts, 1), kSealedBits).front();
  Shared mean, second, squared;
  products.Elementwise(inverse, pooled([&](size_t s, size_t) { return means[s]; }), mean, 1);
  products.Elementwise(inverse, pooled([&](size_t s, size_t) { return seconds[s]; }), second, 2);
  products.Run();
  products.Elementwise(mean, mean, squared, 1);
  products.Run();
  return {engine.Transpose(mean), engine.Transpose(Minus(engine, second, squared, 4))};
}

Shared Shift(const SealedProblem& problem, const std::vector<size_t>& observed) {
  const std::vector<Index> places(observed.begin(), observed.end());
  return problem.engine.Public(EncodeMatrix(problem.model.shift(places), kSealedBits));
}

}  // namespace

std::vector<size_t> SealedProblem::ObservedOf(size_t sample) const {
  if (!samples[sample].observed.empty()) return samples[sample].observed;
  std::vector<size_t> all(observed());
  std::iota(all.begin(), all.end(), size_t{0});
  return all;
}

SealedProblem ScaleProblem(Engine& engine, const SealedModel& model,
                           const std::vector<SealedSample>& samples) {
  SealedProblem problem{engine, model, samples};
  const bool complete = IsComplete(samples);
  Shared variance;
  if (complete) {
    variance = Diagonal(engine, samples.front().covariance);
    if (problem.means()) problem.mean = SampleMean(problem, 0);
  } else {
    std::tie(problem.mean, variance) = AvailableMoments(problem);
    std::vector<size_t> all(problem.observed());
    std::iota(all.begin(), all.end(), size_t{0});
    problem.mean = Plus(engine, problem.mean, Shift(problem, all));
  }
  const mpc::PositiveValue variances{Bounded(variance, 1), kSmallestVariance};
  const double largest = 1 / std::sqrt(kSmallestVariance);
  const mpc::BothRoots roots =
      mpc::RootAndInverse(engine, std::span(&variances, 1), kSealedBits).front();
  problem.inverse_sd = Bounded(roots.inverse, largest);
  problem.sd = Bounded(roots.root, 1);
  Products products(engine);
  products.Matrix(problem.inverse_sd, engine.Transpose(problem.inverse_sd), problem.outer,
                  largest * largest);
  products.Run();
  problem.scaled.resize(samples.size());
  for (size_t s = 0; s < samples.size(); ++s) {
    const Shared outer =
        complete ? problem.outer : SelectBoth(engine, problem.outer, problem.ObservedOf(s));
    products.Elementwise(samples[s].covariance, outer, problem.scaled[s],
                         complete ? kLargestCorrelation : kLargestOfPattern);
  }
  products.Run();
  return problem;
}

Shared SampleMean(const SealedProblem& problem, size_t sample) {
  return Plus(problem.engine, problem.samples[sample].mean,
              Shift(problem, problem.ObservedOf(sample)));
}

Shared SecondMoment(const SealedProblem& problem, const SampleAt& at, size_t sample) {
  return problem.means() ? Plus(problem.engine, problem.scaled[sample], at.spread)
                         : problem.scaled[sample];
}

void Imply(const SealedProblem& problem, std::vector<SealedPoint>& points) {
  Evaluation(problem).Imply(points);
}

std::vector<Shared> OverSamples(const SealedProblem& problem,
                                const std::vector<std::vector<Shared>>& lists, double bound) {
  std::vector<Shared> sums;
  if (problem.samples.size() == 1) {
    for (const std::vector<Shared>& list : lists) sums.push_back(list.front());
    return sums;
  }
  std::vector<std::vector<Shared>> parts(lists.size(), std::vector<Shared>(problem.samples.size()));
  mpc::ProductRound round(problem.engine);
  for (size_t i = 0; i < lists.size(); ++i) {
    for (size_t g = 0; g < problem.samples.size(); ++g) {
      round.Add(problem.samples[g].weight, lists[i][g], bound, parts[i][g]);
    }
  }
  round.Run();
  for (const std::vector<Shared>& list : parts) {
    Shared sum = list.front();
    for (size_t g = 1; g < list.size(); ++g) {
      sum =
          Bounded(problem.engine.Add(Bounded(sum, bound / 2), Bounded(list[g], bound / 2)), bound);
    }
    sums.push_back(sum);
  }
  mpc::CutRound cut(problem.engine);
  for (Shared& sum : sums) cut.Add(sum, kSealedBits, bound);
  cut.Run();
  return sums;
}

}  // namespace partita::methods::mle
