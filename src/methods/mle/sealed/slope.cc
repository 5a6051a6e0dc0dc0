#include "methods/mle/sealed/slope.h"

#include <cmath>

#include "methods/mle/sealed/observed.h"
#include "methods/mle/sealed/values.h"
#include "mpc/compare.h"
#include "mpc/functions/definite.h"
#include "mpc/functions/inverse.h"
#include "mpc/functions/magnitude.h"
#include "mpc/functions/reciprocal.h"

namespace partita::methods::mle {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using mpc::Engine;
using mpc::Shared;
using stats::RamCell;
using stats::RamMatrix;

// Of the observed information in units of the expected one's diagonal, near a minimum 1 or so.
constexpr double kLargestObserved = 8;
constexpr double kSmallestObservedPivot = 0x1p-17;
// Of steps: l of slope.h, and what the inverse may be off by.
constexpr double kDamping = 0x1p-16, kStepResidual = 0x1p-8;
// Sizes of the information's diagonal, and the scales that make it at most kLargestUnit.
constexpr mpc::PowersOfTwo kSizes = {-20, 50};
constexpr int kScaleBits = 27;
constexpr double kLargestScale = 0x1p10, kLargestUnit = 1.001;
// Of NewtonStep: Y is shortened, so that D H D may be up to 2.4 times as large as D I D; sizes that
// an observed information has where it is positive definite and Y near its inverse.
constexpr double kShortened = 13.0 / 16;
constexpr int kShortenedBits = 4, kCoarseBits = 10;
constexpr double kLargestResidual = 0x1p23;
constexpr double kLargestObservedSquares = 0x1p12, kLargestResidualSquares = 16;
constexpr double kLargestPowerSquares = 0.81;

// How the cells of a group move everything: the public side of the derivatives.
struct CellEffects {
  CellEffects(const stats::RamGroup& group, int v) {
    for (const RamCell& cell : group.cells) cells.push_back(EffectOf(cell, v));
    for (size_t i = 0; i < cells.size(); ++i) {
      for (size_t j = i; j < cells.size(); ++j) pairs.emplace_back(i, j);
    }
  }
  std::vector<CellEffect> cells;
  std::vector<std::pair<size_t, size_t>> pairs;
};

// The derivatives of every sample's part of F, and the shares that they go through.
struct SampleSlope {
  const CellEffects* effects = nullptr;
  const GroupAt* group = nullptr;
  const SampleAt* at = nullptr;
  Shared vectors, difference, spread;                     // k x 2v, k x k, k x k
  Shared solved, moved;                                   // k x 2v
  Shared gram, slope;                                     // 2v x 2v
  Shared pull;                                            // 2v x 1
  Shared tau, pulled;                                     // 1 x cells
  Shared pull_tau;                                        // 2v x cells
  Shared straight, crossed, tau_pairs, mean_information;  // 1 x pairs
  Shared curved;                                          // 1 x terms
  std::vector<ObservedTerm> terms;
  std::vector<Shared> results;
};

class Derivative {
 public:
  Derivative(const SealedProblem& problem, const SealedPoint& at, stats::Information information)
      : problem_(problem),
        engine_(problem.engine),
        model_(problem.model),
        observed_(information == stats::Information::kObserved),
        p_(problem.observed()),
        v_(problem.variables()),
        k_(problem.parameters()),
        samples_(problem.samples.size()) {
    for (const stats::RamGroup& group : model_.ram.groups)
      effects_.emplace_back(group, model_.ram.num_variables);
    for (size_t s = 0; s < samples_.size(); ++s) {
      const size_t g = problem_.samples[s].group;
      samples_[s].effects = &effects_[g];
      samples_[s].group = &at.groups[g];
      samples_[s].at = &at.samples[s];
    }
  }

  // Gradients, expected and, where asked for, observed information: 1 x k and 1 x k^2, by sample.
  std::vector<std::vector<Shared>> Run() {
    Vectors();
    Grams();
    Pairs();
    mpc::CutRound cut(engine_);
    for (SampleSlope& sample : samples_) {
      ToParameters(sample);
      for (Shared& result : sample.results) cut.Add(result, kSealedBits, kLargestEntry);
    }
    cut.Run();
    std::vector<std::vector<Shared>> lists(observed_ ? 3 : 2);
    for (const SampleSlope& sample : samples_) {
      for (size_t i = 0; i < lists.size(); ++i) lists[i].push_back(sample.results[i]);
    }
    return lists;
  }

 private:
  int Width() const { return 2 * model_.ram.num_variables; }

  // [U V] of every group, and their rows for every sample.
  void Vectors() {
    const size_t groups = effects_.size();
    std::vector<Shared> u(groups), w(groups);
    Products products(engine_);
    std::vector<bool> known(groups, false);
    for (size_t s = 0; s < samples_.size(); ++s) {
      SampleSlope& sample = samples_[s];
      const size_t g = problem_.samples[s].group;
      if (!known[g]) {
        known[g] = true;
        products.Elementwise(engine_.Slice(sample.group->b, 0, 0, {p_, v_}), problem_.inverse_sd,
                             u[g]);
        products.Elementwise(engine_.Slice(sample.group->full, 0, 0, {p_, v_}), problem_.inverse_sd,
                             w[g]);
      }
      if (problem_.means()) {
        const Shared& distance = sample.at->distance;
        products.Matrix(distance, engine_.Transpose(distance), sample.spread);
      }
    }
    products.Run();
    for (size_t s = 0; s < samples_.size(); ++s) {
      SampleSlope& sample = samples_[s];
      const size_t g = problem_.samples[s].group;
      const std::vector<Shared> both = {u[g], w[g]};
      sample.vectors = engine_.SelectRows(engine_.Concatenate(both, false), problem_.ObservedOf(s));
      sample.difference = Minus(engine_, problem_.scaled[s], sample.at->r);
      if (problem_.means()) sample.difference = Plus(engine_, sample.difference, sample.spread);
    }
  }

  void Grams() {
    Products products(engine_);
    for (SampleSlope& sample : samples_)
      products.Matrix(sample.at->inverse, sample.vectors, sample.solved);
    products.Run();
    for (SampleSlope& sample : samples_) {
      products.Gram(sample.vectors, sample.solved, sample.gram);
      products.Matrix(sample.difference, sample.solved, sample.moved);
      if (problem_.means()) products.Gram(sample.solved, sample.at->distance, sample.pull);
    }
    products.Run();
    for (SampleSlope& sample : samples_) {
      if (problem_.means()) sample.tau = Tau(sample);
      products.Gram(sample.solved, sample.moved, sample.slope);
      if (problem_.means() && observed_) products.Matrix(sample.pull, sample.tau, sample.pull_tau);
    }
    products.Run();
  }

  // How far every cell moves the mean along its column of U.
  Shared Tau(const SampleSlope& sample) {
    const std::vector<CellEffect>& cells = sample.effects->cells;
    const auto count = static_cast<Index>(cells.size());
    MatrixXd ones(1, count);
    for (Index c = 0; c < count; ++c) ones(0, c) = cells[static_cast<size_t>(c)].tau;
    // Of regressions by the mean of their predictor, of others not.
    MatrixXd predictors = MatrixXd::Zero(static_cast<Index>(v_), count);
    for (Index c = 0; c < count; ++c) {
      const int predictor = cells[static_cast<size_t>(c)].tau_of;
      if (predictor >= 0) predictors(predictor, c) = 1;
    }
    const Shared moving =
        Bounded(engine_.MultiplyPublic(AsRow(sample.group->eta), EncodeMatrix(predictors, 0)));
    return Plus(engine_, moving, engine_.Public(EncodeMatrix(ones, kSealedBits)));
  }

  template <typename Place>
  Shared AtPlaces(const Shared& row, Place place, Index count) {
    std::vector<size_t> places(static_cast<size_t>(count));
    for (size_t c = 0; c < places.size(); ++c) places[c] = static_cast<size_t>(place(c));
    return Bounded(engine_.Transpose(engine_.SelectRows(engine_.Transpose(row), places)));
  }

  // Products of entries for every pair of cells.
  void Pairs() {
    Products products(engine_);
    std::vector<std::pair<Shared, Shared>> factors(samples_.size());
    std::vector<Shared> same(samples_.size());
    for (size_t s = 0; s < samples_.size(); ++s) {
      SampleSlope& sample = samples_[s];
      const std::vector<CellEffect>& cells = sample.effects->cells;
      const auto& pairs = sample.effects->pairs;
      const auto num_pairs = static_cast<Index>(pairs.size());
      const Shared grams = AsRow(sample.gram);
      const auto of_pair = [&](auto first, auto second) {
        return AtPlaces(
            grams,
            [&](size_t c) {
              return first(cells[pairs[c].first]) * Width() + second(cells[pairs[c].second]);
            },
            num_pairs);
      };
      const auto a = [](const CellEffect& cell) { return cell.a; };
      const auto b = [](const CellEffect& cell) { return cell.b; };
      same[s] = of_pair(a, a);
      products.Elementwise(of_pair(a, b), of_pair(b, a), sample.crossed);
      products.Elementwise(same[s], of_pair(b, b), sample.straight);
      if (observed_) AddObserved(sample, products);
      if (!problem_.means()) continue;
      const Shared pulls = AtPlaces(
          AsRow(sample.pull), [&](size_t c) { return cells[c].a; },
          static_cast<Index>(cells.size()));
      products.Elementwise(pulls, sample.tau, sample.pulled);
      const auto tau_at = [&](bool second) {
        return AtPlaces(
            sample.tau,
            [&](size_t c) { return static_cast<int>(second ? pairs[c].second : pairs[c].first); },
            num_pairs);
      };
      products.Elementwise(tau_at(false), tau_at(true), sample.tau_pairs);
    }
    products.Run();
    if (!problem_.means()) return;
    for (size_t s = 0; s < samples_.size(); ++s)
      products.Elementwise(samples_[s].tau_pairs, same[s], samples_[s].mean_information);
    products.Run();
  }

  void AddObserved(SampleSlope& sample, Products& products) {
    const size_t g = static_cast<size_t>(sample.effects - effects_.data());
    sample.terms = ObservedTermsOf(model_, g);
    std::vector<Shared> left = {AsRow(sample.gram), AsRow(sample.group->b),
                                AsRow(sample.group->full)};
    std::vector<Shared> right = {AsRow(sample.slope)};
    if (problem_.means()) right.push_back(AsRow(sample.pull_tau));
    for (Shared& part : left) part.bound = kLargestEntry;
    for (Shared& part : right) part.bound = kLargestEntry;
    const auto count = static_cast<Index>(sample.terms.size());
    const auto& terms = sample.terms;
    products.Elementwise(
        AtPlaces(
            engine_.Concatenate(left, false), [&](size_t t) { return terms[t].left; }, count),
        AtPlaces(
            engine_.Concatenate(right, false), [&](size_t t) { return terms[t].right; }, count),
        sample.curved);
  }

  // Of cells and pairs of cells. Weights are multiples of 1/4.
  void ToParameters(SampleSlope& sample) {
    constexpr int kQuarters = 2;
    const std::vector<CellEffect>& cells = sample.effects->cells;
    const auto& pairs = sample.effects->pairs;
    const auto k = static_cast<Index>(k_), count = static_cast<Index>(cells.size()),
               num_pairs = static_cast<Index>(pairs.size());
    MatrixXd slope_to = MatrixXd::Zero(count, k), pull_to = MatrixXd::Zero(count, k);
    for (Index c = 0; c < count; ++c) {
      const CellEffect& cell = cells[static_cast<size_t>(c)];
      slope_to(c, cell.parameter) = -2 * cell.weight;
      pull_to(c, cell.parameter) = -2;
    }
    MatrixXd pairs_to = MatrixXd::Zero(num_pairs, k * k), means_to = pairs_to;
    for (Index c = 0; c < num_pairs; ++c) {
      const auto& [i, j] = pairs[static_cast<size_t>(c)];
      const CellEffect &x = cells[i], &y = cells[j];
      const auto add = [&](int row, int column) {
        pairs_to(c, row * k + column) += 2 * x.weight * y.weight;
        means_to(c, row * k + column) += 2;
      };
      add(x.parameter, y.parameter);
      if (i != j) add(y.parameter, x.parameter);
    }
    const auto to = [&](const Shared& row, const MatrixXd& matrix) {
      return Bounded(engine_.MultiplyPublic(row, EncodeMatrix(matrix, kQuarters)),
                     kLargestEntry / 4);
    };
    const Shared at_cells = AtPlaces(
        AsRow(sample.slope), [&](size_t c) { return cells[c].a * Width() + cells[c].b; }, count);
    sample.results = {to(at_cells, slope_to),
                      to(Plus(engine_, sample.crossed, sample.straight), pairs_to)};
    if (problem_.means()) {
      sample.results[0] =
          Bounded(engine_.Add(sample.results[0], to(sample.pulled, pull_to)), kLargestEntry / 2);
      sample.results[1] = Bounded(
          engine_.Add(sample.results[1], to(sample.mean_information, means_to)), kLargestEntry / 2);
    }
    if (!observed_) return;
    MatrixXd terms_to = MatrixXd::Zero(static_cast<Index>(sample.terms.size()), k * k);
    for (size_t t = 0; t < sample.terms.size(); ++t) {
      const ObservedTerm& term = sample.terms[t];
      const Index i = term.first, j = term.second, row = static_cast<Index>(t);
      terms_to(row, i * k + j) += 2 * term.factor;
      if (term.twice) terms_to(row, j * k + i) += 2 * term.factor;
    }
    sample.results.push_back(
        Bounded(engine_.Add(sample.results[1], to(sample.curved, terms_to)), kLargestEntry));
  }

  const SealedProblem& problem_;
  Engine& engine_;
  const SealedModel& model_;
  bool observed_;
  size_t p_, v_, k_;
  std::vector<CellEffects> effects_;  // by group
  std::vector<SampleSlope> samples_;
};

// 1 where every entry is within the limit, else 0; no fraction bits.
Shared IsWithin(Engine& engine, const Shared& matrix, double limit) {
  const Shared top = Bounded(Constant(engine, matrix.shape, limit));
  const std::vector<mpc::Comparison> comparisons = {
      {top, Bounded(matrix)}, {Bounded(matrix), Bounded(engine.Scale(top, -1))}};
  const std::vector<mpc::SharedBits> beyond = mpc::LessThan(engine, comparisons);
  const mpc::SharedBits either = engine.Xor(beyond[0], beyond[1]);  // never both
  const Shared violations = SumAll(engine, engine.ToRing(std::span(&either, 1)).front(),
                                   static_cast<double>(matrix.shape.size()));
  return engine.ToRing(mpc::IsZero(engine, std::span(&violations, 1))).front();
}

// The inverse of an observed information in units of the expected one's diagonal; zero unless it is
// positive definite and within its limit.
Shared InvertObserved(Engine& engine, const Shared& information) {
  const size_t k = information.shape.rows;
  mpc::ProductRound round(engine);
  Shared kept, inverse;
  round.Add(IsWithin(engine, information, kLargestObserved), AsRow(information), kLargestObserved,
            kept);
  round.Run();
  const mpc::DefiniteMatrix matrix{mpc::Reshape(kept, {k, k}), kSmallestObservedPivot};
  const mpc::DefiniteInverse inverted =
      mpc::InvertDefinite(engine, std::span(&matrix, 1), kSealedBits).front();
  const Shared faults = SumAll(engine, inverted.collinear, static_cast<double>(k));
  const Shared good = engine.ToRing(mpc::IsZero(engine, std::span(&faults, 1))).front();
  round.Add(good, AsRow(inverted.inverse), 1 / kSmallestObservedPivot, inverse);
  round.Run();
  return mpc::Reshape(inverse, {k, k});
}

Shared PlusIdentity(Engine& engine, const Shared& square, double constant, double bound) {
  const auto size = static_cast<Index>(square.shape.rows);
  const MatrixXd identity = constant * MatrixXd::Identity(size, size);
  return Bounded(engine.Add(square, engine.Public(EncodeMatrix(identity, square.fraction_bits))),
                 bound);
}

// 2^(-e/2) for entries from 2^(e-1) to 2^e; 0 for entries below kSizes, of parameters that move
// nothing, or beyond.
Shared ScalesOf(Engine& engine, const Shared& diagonal) {
  const mpc::Magnitude magnitude =
      mpc::MagnitudesOf(engine, std::span(&diagonal, 1), std::span(&kSizes, 1)).front();
  const Shared below = engine.ToRing(std::span(&magnitude.below, 1)).front();
  std::vector<double> scales(kSizes.count + 1, 0);
  for (size_t i = 1; i < kSizes.count; ++i)
    scales[i] = std::exp2(-0.5 * (kSizes.first + static_cast<double>(i)));
  return mpc::NumberOfClass(engine, below, diagonal.shape, scales, kScaleBits);
}

// What shapes a step, in units of `scale`.
struct StepParts {
  Shared scale;     // D, k x 1
  Shared gradient;  // D g
  Shared inverse;   // Y, near that of the expected information D I D
  Shared observed;  // D H D, where asked for
};

StepParts PartsOf(const SealedProblem& problem, const SealedPoint& at,
                  stats::Information information_of) {
  Engine& engine = problem.engine;
  const size_t k = problem.parameters();
  const std::vector<Shared> sums =
      OverSamples(problem, Derivative(problem, at, information_of).Run(), kLargestEntry);
  const Shared information = mpc::Reshape(sums[1], {k, k});
  StepParts parts;
  parts.scale = ScalesOf(engine, Bounded(Diagonal(engine, information)));
  mpc::ProductRound round(engine);
  Shared outer, unit;
  round.Add(mpc::Product::Kind::kMatrix, parts.scale, engine.Transpose(parts.scale),
            kLargestScale * kLargestScale, outer);
  round.Add(mpc::Reshape(sums[0], {k, 1}), parts.scale, kLargestEntry, parts.gradient);
  round.Run();
  round.AddCut(information, outer, 1.125, kSealedBits, unit);
  round.AddCut(parts.gradient, kLargestEntry, kSealedBits, parts.gradient);
  if (information_of == stats::Information::kObserved) {
    round.AddCut(mpc::Reshape(sums[2], {k, k}), outer, kLargestEntry, kSealedBits, parts.observed);
  }
  round.Run();

  const double damping = kDamping * static_cast<double>(k);
  const mpc::PositiveMatrix matrix{PlusIdentity(engine, unit, damping, 2),
                                   kLargestUnit * static_cast<double>(k) + damping, damping};
  parts.inverse =
      mpc::InvertRoughly(engine, std::span(&matrix, 1), kStepResidual, kSealedBits).front();
  return parts;
}

Shared StepBy(Engine& engine, const StepParts& parts, const Shared& inverse) {
  Products products(engine);
  Shared inner, step;
  products.Matrix(inverse, parts.gradient, inner);
  products.Run();
  products.Elementwise(inner, parts.scale, step);
  products.Run();
  return step;
}

// 1 where all of the sums of squares of their entries are below their limits, else 0.
Shared AreSmall(Engine& engine, const std::vector<std::pair<Shared, double>>& squares) {
  std::vector<Shared> differences;
  for (const auto& [entries, limit] : squares) {
    const Shared sum = SumAll(engine, entries, kLargestEntry);
    const Shared limits = mpc::ConstantLike(engine, sum, limit, sum.fraction_bits);
    differences.push_back(mpc::OfAnySize(engine, engine.Subtract(sum, limits)));
  }
  const std::vector<mpc::SharedBits> below = mpc::IsNegative(engine, differences);
  mpc::SharedBits all = below.front();
  for (size_t i = 1; i < below.size(); ++i) {
    const mpc::BitProduct both{all, below[i]};
    all = engine.And(std::span(&both, 1)).front();
  }
  return engine.ToRing(std::span(&all, 1)).front();
}

// Of D H D, by the series of E = I - a Y D H D up to E^15. Where |E^8| in the Frobenius norm is less
// than 0.9 all eigenvalues of Y D H D lie between 0 and 2 / a, so that H is positive definite as Y
// is; where D H D and E are small, too, nothing on the way to E^8 has left its bound. Elsewhere: Y.
Shared InverseNear(Engine& engine, const StepParts& parts) {
  const double largest = 16 * parts.inverse.bound;
  Shared inverse = mpc::TimesConstant(engine, parts.inverse, kShortened, kShortenedBits);
  mpc::ProductRound round(engine);
  Shared power;
  round.AddCut(mpc::Product::Kind::kMatrix, inverse, parts.observed, kLargestResidual, kSealedBits,
               power);
  round.Run();
  power = PlusIdentity(engine, engine.Scale(power, -1), 1, 2 * kLargestResidual);

  Shared residual, observed, next;  // coarse, for their sizes
  round.AddCut(power, 2 * kLargestResidual, kCoarseBits, residual);
  round.AddCut(parts.observed, kLargestEntry, kCoarseBits, observed);
  constexpr double kLargestPowers[] = {0x1p4, 0x1p8, 0x1p16};  // of an E with |E|^2 < 16
  for (const double bound : kLargestPowers) {
    round.AddCut(mpc::Product::Kind::kMatrix, PlusIdentity(engine, power, 1, 2 * power.bound),
                 inverse, largest, kSealedBits, inverse);
    round.AddCut(mpc::Product::Kind::kMatrix, power, power, bound, kSealedBits, next);
    round.Run();
    power = next;
  }
  std::vector<Shared> squares(3);
  round.AddCut(mpc::Product::Kind::kMatrix, PlusIdentity(engine, power, 1, 2 * power.bound),
               inverse, largest, kSealedBits - 1, inverse);
  round.Add(observed, observed, kLargestEntry * kLargestEntry, squares[0]);
  round.Add(residual, residual, 4 * kLargestResidual * kLargestResidual, squares[1]);
  round.Add(power, power, power.bound, squares[2]);
  round.Run();
  inverse = mpc::TimesPowerOfTwo(engine.Add(inverse, engine.Transpose(inverse)), -1);

  const Shared good = AreSmall(engine, {{squares[0], kLargestObservedSquares},
                                        {squares[1], kLargestResidualSquares},
                                        {squares[2], kLargestPowerSquares}});
  Shared moved;
  round.Add(good, AsRow(Minus(engine, inverse, parts.inverse, 4 * largest)), 4 * largest, moved);
  round.Run();
  return Plus(engine, parts.inverse, mpc::Reshape(moved, parts.inverse.shape), 4 * largest);
}

}  // namespace

Shared ScoringStep(const SealedProblem& problem, const SealedPoint& at) {
  const StepParts parts = PartsOf(problem, at, stats::Information::kExpected);
  return StepBy(problem.engine, parts, parts.inverse);
}

Shared NewtonStep(const SealedProblem& problem, const SealedPoint& at) {
  const StepParts parts = PartsOf(problem, at, stats::Information::kObserved);
  return StepBy(problem.engine, parts, InverseNear(problem.engine, parts));
}

SealedSlope SlopeAt(const SealedProblem& problem, const SealedPoint& at,
                    stats::Information information_of) {
  Engine& engine = problem.engine;
  const size_t k = problem.parameters();
  const std::vector<Shared> sums =
      OverSamples(problem, Derivative(problem, at, information_of).Run(), kLargestEntry);
  const Shared gradient = mpc::Reshape(sums[0], {k, 1});
  const bool observed = information_of == stats::Information::kObserved;
  const Shared information = mpc::Reshape(sums[1], {k, k});

  const mpc::PositiveValue diagonal{Bounded(Diagonal(engine, information)), kSmallestInformation};
  const double largest = 1 / std::sqrt(kSmallestInformation);
  SealedSlope slope;
  slope.scale =
      Bounded(mpc::InverseRoot(engine, std::span(&diagonal, 1), kSealedBits).front(), largest);
  Products products(engine);
  Shared outer, unit_diagonal;
  products.Matrix(slope.scale, engine.Transpose(slope.scale), outer, largest * largest);
  products.Elementwise(gradient, slope.scale, slope.scaled);
  products.Run();
  products.Elementwise(mpc::Reshape(sums.back(), {k, k}), outer, unit_diagonal,
                       observed ? kLargestEntry : 1.125);
  products.Run();
  Shared inverse;
  if (observed) {
    inverse = InvertObserved(engine, unit_diagonal);
    slope.smallest_inflation = 1 / kLargestObserved;
  } else {
    const mpc::DefiniteMatrix matrix{unit_diagonal, kSmallestScaledPivot};
    inverse = mpc::InvertDefinite(engine, std::span(&matrix, 1), kSealedBits).front().inverse;
  }
  slope.inflation = Diagonal(engine, inverse);
  return slope;
}

}  // namespace partita::methods::mle
