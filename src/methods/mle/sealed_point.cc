#include "methods/mle/sealed_point.h"

#include <cmath>

#include "methods/mle/sealed_values.h"
#include "mpc/compare.h"
#include "mpc/functions/definite.h"
#include "mpc/functions/reciprocal.h"

namespace partita::methods::mle {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using mpc::Engine;
using mpc::Shape;
using mpc::Shared;
using mpc::SharedBits;
using stats::RamCell;
using stats::RamGroup;
using stats::RamMatrix;

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

  void Run(std::vector<SealedPoint>& all) {
    const int v = model_.ram.num_variables, k = model_.ram.num_parameters;
    for (SealedPoint& at : all) at.groups.resize(samples_.size());
    ForGroups(all, [&](GroupAt& group, size_t g, const SealedPoint& at) {
      const RamGroup& ram = model_.ram.groups[g];
      group.regression = Fill(ram.regression, Pattern(ram, RamMatrix::kRegression, v, k), at.theta);
      group.covariance = Fill(ram.covariance, Pattern(ram, RamMatrix::kCovariance, v, k), at.theta);
      group.mean = Fill(ram.mean, Pattern(ram, RamMatrix::kMean, v, k), at.theta);
    });
    SumPaths(all);
    Products products(engine_);
    ForGroups(all, [&](GroupAt& group, size_t, const SealedPoint&) {
      products.Matrix(group.b, group.covariance, group.bs);
      if (problem_.means()) products.Matrix(group.b, group.mean, group.eta);
    });
    products.Run();
    ForGroups(all, [&](GroupAt& group, size_t, const SealedPoint&) {
      products.Matrix(group.bs, engine_.Transpose(group.b), group.full);
    });
    products.Run();
    ForGroups(all, [&](GroupAt& group, size_t g, const SealedPoint&) {
      products.Elementwise(engine_.Slice(group.full, 0, 0, {p_, p_}), problem_.outer, group.r);
      if (!problem_.means()) return;
      const Shared residual =
          Minus(engine_, SampleMean(problem_, g), engine_.Slice(group.eta, 0, 0, {p_, 1}));
      products.Elementwise(residual, problem_.inverse_sd, group.distance);
    });
    products.Run();
    KeepUsable(all);
    Discrepancy(all);
  }

 private:
  Shared Fill(const MatrixXd& fixed, const MatrixXd& pattern, const Shared& theta) {
    const Shared moved = engine_.MultiplyPublic(EncodeMatrix(pattern, 0), theta);
    const Shape shape{static_cast<size_t>(fixed.rows()), static_cast<size_t>(fixed.cols())};
    return Plus(engine_, mpc::Reshape(moved, shape),
                engine_.Public(EncodeMatrix(fixed, kSealedBits)));
  }

  // B = I + A + A^2 + ... by Horner's rule.
  void SumPaths(std::vector<SealedPoint>& all) {
    const Shared identity = engine_.Public(EncodeMatrix(
        MatrixXd::Identity(static_cast<Index>(v_), static_cast<Index>(v_)), kSealedBits));
    ForGroups(all, [&](GroupAt& group, size_t, const SealedPoint&) {
      group.b = Plus(engine_, identity, group.regression);
    });
    for (size_t step = 1; step < model_.path_length; ++step) {
      Products products(engine_);
      std::vector<Shared> next(all.size() * samples_.size());
      size_t i = 0;
      ForGroups(all, [&](GroupAt& group, size_t, const SealedPoint&) {
        products.Matrix(group.regression, group.b, next[i++]);
      });
      products.Run();
      i = 0;
      ForGroups(all, [&](GroupAt& group, size_t, const SealedPoint&) {
        group.b = Plus(engine_, identity, next[i++]);
      });
    }
  }

  // Where an |R_ij| exceeds its bound R becomes the identity, so that nothing overflows, and usable
  // 0.
  void KeepUsable(std::vector<SealedPoint>& all) {
    const Shared limit = Bounded(Constant(engine_, {p_, p_}, kLargestCorrelation));
    std::vector<mpc::Comparison> comparisons;
    ForGroups(all, [&](GroupAt& group, size_t, const SealedPoint&) {
      comparisons.push_back({limit, group.r});
      comparisons.push_back({group.r, Bounded(engine_.Scale(limit, -1))});
    });
    const std::vector<SharedBits> beyond = mpc::LessThan(engine_, comparisons);
    std::vector<SharedBits> either;
    for (size_t i = 0; i < beyond.size(); i += 2) {
      either.push_back(engine_.Xor(beyond[i], beyond[i + 1]));  // never both
    }
    std::vector<Shared> violations;
    for (const Shared& bits : engine_.ToRing(either)) {
      violations.push_back(SumAll(engine_, bits, static_cast<double>(p_ * p_)));
    }
    const std::vector<Shared> usable = engine_.ToRing(mpc::IsZero(engine_, violations));
    const Shared identity = engine_.Public(EncodeMatrix(
        MatrixXd::Identity(static_cast<Index>(p_), static_cast<Index>(p_)), kSealedBits));
    mpc::ProductRound round(engine_);
    std::vector<Shared> kept(usable.size());
    size_t i = 0;
    ForGroups(all, [&](GroupAt& group, size_t, const SealedPoint&) {
      group.usable = usable[i];
      round.Add(group.usable, AsRow(Minus(engine_, group.r, identity)), kLargestCorrelation,
                kept[i]);
      ++i;
    });
    round.Run();
    i = 0;
    ForGroups(all, [&](GroupAt& group, size_t, const SealedPoint&) {
      group.r = Plus(engine_, mpc::Reshape(kept[i++], {p_, p_}), identity, kLargestCorrelation);
    });
  }

  // R^-1 and F; kWorst where R is no covariance or was not usable.
  void Discrepancy(std::vector<SealedPoint>& all) {
    std::vector<mpc::DefiniteMatrix> matrices;
    ForGroups(all, [&](GroupAt& group, size_t, const SealedPoint&) {
      matrices.push_back({group.r, kSmallestPivot});
    });
    const std::vector<mpc::DefiniteInverse> inverses =
        mpc::InvertDefinite(engine_, matrices, kSealedBits);
    std::vector<mpc::Pivots> pivots;
    for (const mpc::DefiniteInverse& inverse : inverses) {
      pivots.push_back({inverse.pivots, kSmallestPivot});
    }
    const std::vector<Shared> log_dets = mpc::LogDeterminant(engine_, pivots, kSealedBits);

    Products products(engine_);
    std::vector<Shared> trace(inverses.size()), solved(inverses.size()), form(inverses.size());
    size_t i = 0;
    ForGroups(all, [&](GroupAt& group, size_t g, const SealedPoint&) {
      group.inverse = inverses[i].inverse;
      products.Elementwise(problem_.scaled[g], group.inverse, trace[i], kWorst / 64);
      if (problem_.means()) products.Matrix(group.inverse, group.distance, solved[i], kWorst / 64);
      ++i;
    });
    products.Run();
    if (problem_.means()) {
      i = 0;
      ForGroups(all, [&](GroupAt& group, size_t, const SealedPoint&) {
        products.Gram(group.distance, solved[i], form[i], kWorst / 64);
        ++i;
      });
      products.Run();
    }
    std::vector<Shared> faults, values;
    i = 0;
    ForGroups(all, [&](GroupAt& group, size_t, const SealedPoint&) {
      Shared value = Plus(engine_, SumAll(engine_, trace[i], kWorst / 64), log_dets[i], kWorst / 4);
      if (problem_.means()) value = Plus(engine_, value, form[i], kWorst / 2);
      values.push_back(value);
      const Shared unusable = engine_.Subtract(Constant(engine_, {1, 1}, 1, 0), group.usable);
      faults.push_back(Bounded(
          engine_.Add(SumAll(engine_, inverses[i].collinear, static_cast<double>(p_)), unusable),
          static_cast<double>(p_ + 1)));
      ++i;
    });
    Weigh(all, values, faults);
  }

  // F of all groups, by their parts of the rows.
  void Weigh(std::vector<SealedPoint>& all, const std::vector<Shared>& values,
             const std::vector<Shared>& faults) {
    const size_t groups = samples_.size();
    std::vector<std::vector<Shared>> lists;
    std::vector<Shared> counts;
    for (size_t c = 0; c < all.size(); ++c) {
      const auto of_point = std::span(values).subspan(c * groups, groups);
      lists.emplace_back(of_point.begin(), of_point.end());
      Shared count = faults[c * groups];
      for (size_t g = 1; g < groups; ++g) count = engine_.Add(count, faults[c * groups + g]);
      counts.push_back(count);
    }
    const std::vector<Shared> sums = OverGroups(problem_, lists, kWorst / 2);
    const std::vector<Shared> good = engine_.ToRing(mpc::IsZero(engine_, counts));
    const Shared worst = Constant(engine_, {1, 1}, kWorst);
    mpc::ProductRound round(engine_);
    std::vector<Shared> better(all.size());
    for (size_t c = 0; c < all.size(); ++c) {
      round.Add(good[c], Minus(engine_, sums[c], worst, 4 * kWorst), 4 * kWorst, better[c]);
    }
    round.Run();
    for (size_t c = 0; c < all.size(); ++c) {
      all[c].value = Plus(engine_, better[c], worst, 8 * kWorst);
    }
  }

  template <typename F>
  static void ForGroups(std::vector<SealedPoint>& all, F body) {
    for (SealedPoint& at : all) {
      for (size_t g = 0; g < at.groups.size(); ++g) body(at.groups[g], g, at);
    }
  }

  const SealedProblem& problem_;
  Engine& engine_;
  const SealedModel& model_;
  const std::vector<SealedSample>& samples_;
  size_t p_, v_;
};

}  // namespace

SealedProblem ScaleProblem(Engine& engine, const SealedModel& model,
                           const std::vector<SealedSample>& samples) {
  SealedProblem problem{engine, model, samples};
  const mpc::PositiveValue variances{Bounded(Diagonal(engine, samples.front().covariance), 1),
                                     kSmallestVariance};
  const double largest = 1 / std::sqrt(kSmallestVariance);
  problem.inverse_sd =
      Bounded(mpc::InverseRoot(engine, std::span(&variances, 1), kSealedBits).front(), largest);
  problem.sd = Bounded(mpc::Root(engine, std::span(&variances, 1), kSealedBits).front(), 1);
  Products products(engine);
  products.Matrix(problem.inverse_sd, engine.Transpose(problem.inverse_sd), problem.outer,
                  largest * largest);
  products.Run();
  problem.scaled.resize(samples.size());
  for (size_t g = 0; g < samples.size(); ++g) {
    products.Elementwise(samples[g].covariance, problem.outer, problem.scaled[g],
                         kLargestCorrelation);
  }
  products.Run();
  return problem;
}

Shared SampleMean(const SealedProblem& problem, size_t group) {
  return Plus(problem.engine, problem.samples[group].mean,
              problem.engine.Public(EncodeMatrix(problem.model.shift, kSealedBits)));
}

void Evaluate(const SealedProblem& problem, std::vector<SealedPoint>& points) {
  Evaluation(problem).Run(points);
}

std::vector<Shared> OverGroups(const SealedProblem& problem,
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
