#include "methods/mle/sealed_slope.h"

#include <cmath>

#include "methods/mle/sealed_values.h"
#include "mpc/functions/definite.h"
#include "mpc/functions/reciprocal.h"

namespace partita::methods::mle {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using mpc::Engine;
using mpc::Shared;
using stats::RamCell;
using stats::RamMatrix;

// How a cell moves R: by weight (a b' + b a'), a and b columns of [U V]; and the mean: by a times
// tau.
struct CellEffect {
  int a = 0, b = 0;   // 0 .. v - 1: of U; v .. 2 v - 1: of V
  double weight = 0;  // 1/2 of a variance, 0 of a mean
  double tau = 0;     // 1 of a mean
  int tau_of = -1;    // of a regression: eta[tau_of]
  int parameter = 0;
};

CellEffect EffectOf(const RamCell& cell, int v) {
  switch (cell.matrix) {
    case RamMatrix::kRegression:
      return {cell.row, v + cell.column, 1, 0, cell.column, cell.parameter};
    case RamMatrix::kCovariance:
      return {cell.row, cell.column, cell.row == cell.column ? 0.5 : 1, 0, -1, cell.parameter};
    case RamMatrix::kMean:
      return {cell.row, cell.row, 0, 1, -1, cell.parameter};
  }
  return {};
}

class Derivative {
 public:
  explicit Derivative(const SealedProblem& problem)
      : problem_(problem),
        engine_(problem.engine),
        model_(problem.model),
        p_(problem.observed()),
        v_(problem.variables()),
        k_(problem.parameters()) {}

  // 1 x k and 1 x k^2.
  std::pair<Shared, Shared> At(const GroupAt& at, size_t g) {
    const int v = model_.ram.num_variables;
    std::vector<CellEffect> cells;
    for (const RamCell& cell : model_.ram.groups[g].cells) cells.push_back(EffectOf(cell, v));

    Products products(engine_);
    Shared u, w, solved, gram, spread, moved, slope, pull;
    products.Elementwise(engine_.Slice(at.b, 0, 0, {p_, v_}), problem_.inverse_sd, u);
    products.Elementwise(engine_.Slice(at.full, 0, 0, {p_, v_}), problem_.inverse_sd, w);
    if (problem_.means()) products.Matrix(at.distance, engine_.Transpose(at.distance), spread);
    products.Run();
    const std::vector<Shared> both = {u, w};
    const Shared vectors = engine_.Concatenate(both, false);  // p x 2v
    Shared difference = Minus(engine_, problem_.scaled[g], at.r);
    if (problem_.means()) difference = Plus(engine_, difference, spread);
    products.Matrix(at.inverse, vectors, solved);
    products.Run();
    products.Gram(vectors, solved, gram);
    products.Matrix(difference, solved, moved);
    if (problem_.means()) products.Gram(solved, at.distance, pull);  // 2v x 1
    products.Run();
    products.Gram(solved, moved, slope);
    products.Run();

    const Shared grams = AsRow(gram), slopes = AsRow(slope);
    const int width = 2 * v;
    const auto at_pairs = [&](const Shared& row, auto&& place, Index count) {
      MatrixXd selection = MatrixXd::Zero(static_cast<Index>(row.shape.cols), count);
      for (Index c = 0; c < count; ++c) {
        const int entry = place(static_cast<size_t>(c));
        if (entry >= 0) selection(entry, c) = 1;
      }
      return Bounded(engine_.MultiplyPublic(row, EncodeMatrix(selection, 0)));
    };
    const auto count = static_cast<Index>(cells.size());
    std::vector<std::pair<size_t, size_t>> pairs;
    for (size_t i = 0; i < cells.size(); ++i) {
      for (size_t j = i; j < cells.size(); ++j) pairs.emplace_back(i, j);
    }
    const auto num_pairs = static_cast<Index>(pairs.size());
    const auto of_pair = [&](auto first, auto second) {
      return at_pairs(
          grams,
          [&](size_t c) {
            return first(cells[pairs[c].first]) * width + second(cells[pairs[c].second]);
          },
          num_pairs);
    };
    const auto a = [](const CellEffect& cell) { return cell.a; };
    const auto b = [](const CellEffect& cell) { return cell.b; };
    const Shared aa = of_pair(a, a), ab = of_pair(a, b), ba = of_pair(b, a), bb = of_pair(b, b);
    Shared crossed, straight;
    products.Elementwise(ab, ba, crossed);
    products.Elementwise(aa, bb, straight);

    // tau of every cell, and what the mean adds.
    Shared tau, pulled, tau_pairs, mean_information;
    if (problem_.means()) {
      tau = at_pairs(
          AsRow(at.eta), [&](size_t c) { return cells[c].tau_of; }, count);
      MatrixXd ones(1, count);
      for (Index c = 0; c < count; ++c) ones(0, c) = cells[static_cast<size_t>(c)].tau;
      tau = Plus(engine_, tau, engine_.Public(EncodeMatrix(ones, kSealedBits)));
      const Shared pulls = at_pairs(
          AsRow(pull), [&](size_t c) { return cells[c].a; }, count);
      products.Elementwise(pulls, tau, pulled);
      const auto tau_at = [&](bool second) {
        return at_pairs(
            tau,
            [&](size_t c) { return static_cast<int>(second ? pairs[c].second : pairs[c].first); },
            num_pairs);
      };
      products.Elementwise(tau_at(false), tau_at(true), tau_pairs);
    }
    products.Run();
    if (problem_.means()) {
      products.Elementwise(tau_pairs, aa, mean_information);
      products.Run();
    }

    // To parameters; weights are multiples of 1/4.
    constexpr int kQuarters = 2;
    const auto k = static_cast<Index>(k_);
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
                     kLargestEntry / 2);
    };
    const Shared at_cells = at_pairs(
        slopes, [&](size_t c) { return cells[c].a * width + cells[c].b; }, count);
    std::vector<Shared> results = {to(at_cells, slope_to),
                                   to(Plus(engine_, crossed, straight), pairs_to)};
    if (problem_.means()) {
      results[0] = Bounded(engine_.Add(results[0], to(pulled, pull_to)));
      results[1] = Bounded(engine_.Add(results[1], to(mean_information, means_to)));
    }
    mpc::CutRound cut(engine_);
    for (Shared& result : results) cut.Add(result, kSealedBits, kLargestEntry);
    cut.Run();
    return {results[0], results[1]};
  }

 private:
  const SealedProblem& problem_;
  Engine& engine_;
  const SealedModel& model_;
  size_t p_, v_, k_;
};

}  // namespace

SealedSlope SlopeAt(const SealedProblem& problem, const SealedPoint& at) {
  Engine& engine = problem.engine;
  const size_t k = problem.parameters();
  std::vector<Shared> gradients, informations;
  for (size_t g = 0; g < problem.samples.size(); ++g) {
    auto [gradient, information] = Derivative(problem).At(at.groups[g], g);
    gradients.push_back(std::move(gradient));
    informations.push_back(std::move(information));
  }
  const std::vector<Shared> sums = OverGroups(problem, {gradients, informations}, kLargestEntry);
  const Shared gradient = mpc::Reshape(sums[0], {k, 1});
  const Shared information = mpc::Reshape(sums[1], {k, k});

  const mpc::PositiveValue diagonal{Bounded(Diagonal(engine, information)), kSmallestInformation};
  const double largest = 1 / std::sqrt(kSmallestInformation);
  SealedSlope slope;
  slope.scale =
      Bounded(mpc::InverseRoot(engine, std::span(&diagonal, 1), kSealedBits).front(), largest);
  Products products(engine);
  Shared outer, unit_diagonal, inner;
  products.Matrix(slope.scale, engine.Transpose(slope.scale), outer, largest * largest);
  products.Elementwise(gradient, slope.scale, slope.scaled);
  products.Run();
  products.Elementwise(information, outer, unit_diagonal, 1.125);
  products.Run();
  const mpc::DefiniteMatrix matrix{unit_diagonal, kSmallestScaledPivot};
  const Shared inverse =
      mpc::InvertDefinite(engine, std::span(&matrix, 1), kSealedBits).front().inverse;
  slope.inflation = Diagonal(engine, inverse);
  products.Matrix(inverse, slope.scaled, inner);
  products.Run();
  products.Elementwise(inner, slope.scale, slope.step);
  products.Run();
  return slope;
}

}  // namespace partita::methods::mle
