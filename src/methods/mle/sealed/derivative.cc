#include "methods/mle/sealed/derivative.h"

#include <map>
#include <utility>

#include "methods/mle/sealed/observed.h"
#include "methods/mle/sealed/values.h"

namespace partita::methods::mle {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using mpc::Engine;
using mpc::Shared;
using stats::RamCell;

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
  Shared vectors, difference;                             // k x 2v, k x k
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

// An entry of a row that counts so often in an entry of what is made of it.
struct Weighted {
  size_t from = 0, to = 0;
  double weight = 0;  // a multiple of 1/4
};

// 1 x count. A public matrix with one or two entries in a column, without the others.
Shared SumWeighted(Engine& engine, const Shared& row, const std::vector<Weighted>& terms,
                   size_t count) {
  constexpr int kQuarters = 2;
  const size_t nowhere = row.shape.cols;
  // By weight: of every entry, where its first, second, .. term of this weight comes from.
  std::map<double, std::vector<std::vector<size_t>>> places;
  std::map<double, std::vector<size_t>> used;
  for (const auto& [from, to, weight] : terms) {
    std::vector<size_t>& next = used.try_emplace(weight, count, 0).first->second;
    std::vector<std::vector<size_t>>& layers = places[weight];
    if (next[to] == layers.size()) layers.emplace_back(count, nowhere);
    layers[next[to]++][to] = from;
  }
  const std::vector<Shared> parts = {engine.Transpose(row),
                                     Constant(engine, {1, 1}, 0, row.fraction_bits)};
  const Shared column = engine.Concatenate(parts, true);
  Shared sum = Constant(engine, {count, 1}, 0, row.fraction_bits + kQuarters);
  for (const auto& [weight, layers] : places) {
    for (const std::vector<size_t>& layer : layers) {
      const Shared part =
          mpc::TimesConstant(engine, engine.SelectRows(column, layer), weight, kQuarters);
      sum = engine.Add(Bounded(sum, kLargestEntry / 2), Bounded(part, kLargestEntry / 2));
    }
  }
  return engine.Transpose(sum);
}

class Derivative {
 public:
  Derivative(const SealedProblem& problem, const SealedPoint& at, stats::Information information)
      : problem_(problem),
        engine_(problem.engine),
        model_(problem.model),
        observed_(information == stats::Information::kObserved),
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

  void Vectors() {
    for (size_t s = 0; s < samples_.size(); ++s) {
      SampleSlope& sample = samples_[s];
      sample.vectors = engine_.SelectRows(sample.group->vectors, problem_.ObservedOf(s));
      sample.difference = Minus(engine_, SecondMoment(problem_, *sample.at, s), sample.at->r);
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

  // Of cells and pairs of cells.
  void ToParameters(SampleSlope& sample) {
    const std::vector<CellEffect>& cells = sample.effects->cells;
    const auto& pairs = sample.effects->pairs;
    const auto k = static_cast<Index>(k_);
    std::vector<Weighted> slope_to, pull_to, pairs_to, means_to;
    for (size_t c = 0; c < cells.size(); ++c) {
      const auto parameter = static_cast<size_t>(cells[c].parameter);
      slope_to.push_back({c, parameter, -2 * cells[c].weight});
      pull_to.push_back({c, parameter, -2});
    }
    for (size_t c = 0; c < pairs.size(); ++c) {
      const auto& [i, j] = pairs[c];
      const CellEffect &x = cells[i], &y = cells[j];
      const auto add = [&](int row, int column) {
        const auto to = static_cast<size_t>(row * k + column);
        pairs_to.push_back({c, to, 2 * x.weight * y.weight});
        means_to.push_back({c, to, 2});
      };
      add(x.parameter, y.parameter);
      if (i != j) add(y.parameter, x.parameter);
    }
    const auto to = [&](const Shared& row, const std::vector<Weighted>& terms, size_t count) {
      return Bounded(SumWeighted(engine_, row, terms, count), kLargestEntry / 4);
    };
    const Shared at_cells = AtPlaces(
        AsRow(sample.slope), [&](size_t c) { return cells[c].a * Width() + cells[c].b; },
        static_cast<Index>(cells.size()));
    sample.results = {to(at_cells, slope_to, k_),
                      to(Plus(engine_, sample.crossed, sample.straight), pairs_to, k_ * k_)};
    if (problem_.means()) {
      sample.results[0] = Bounded(engine_.Add(sample.results[0], to(sample.pulled, pull_to, k_)),
                                  kLargestEntry / 2);
      sample.results[1] =
          Bounded(engine_.Add(sample.results[1], to(sample.mean_information, means_to, k_ * k_)),
                  kLargestEntry / 2);
    }
    if (!observed_) return;
    std::vector<Weighted> terms_to;
    for (size_t t = 0; t < sample.terms.size(); ++t) {
      const ObservedTerm& term = sample.terms[t];
      const Index i = term.first, j = term.second;
      terms_to.push_back({t, static_cast<size_t>(i * k + j), 2 * term.factor});
      if (term.twice) terms_to.push_back({t, static_cast<size_t>(j * k + i), 2 * term.factor});
    }
    sample.results.push_back(Bounded(
        engine_.Add(sample.results[1], to(sample.curved, terms_to, k_ * k_)), kLargestEntry));
  }

  const SealedProblem& problem_;
  Engine& engine_;
  const SealedModel& model_;
  bool observed_;
  size_t v_, k_;
  std::vector<CellEffects> effects_;  // by group
  std::vector<SampleSlope> samples_;
};

}  // namespace

SealedDerivatives DerivativesAt(const SealedProblem& problem, const SealedPoint& at,
                                stats::Information information) {
  const size_t k = problem.parameters();
  const std::vector<Shared> sums =
      OverSamples(problem, Derivative(problem, at, information).Run(), kLargestEntry);
  SealedDerivatives derivatives;
  derivatives.gradient = mpc::Reshape(sums[0], {k, 1});
  derivatives.expected = mpc::Reshape(sums[1], {k, k});
  if (information == stats::Information::kObserved)
    derivatives.observed = mpc::Reshape(sums[2], {k, k});
  return derivatives;
}

}  // namespace partita::methods::mle
