#include "methods/mixture/weights.h"

#include <fmt/format.h>

#include <cmath>
#include <memory>

#include "base/error.h"
#include "methods/mixture/root.h"
#include "mpc/functions/arithmetic.h"
#include "mpc/functions/magnitude.h"

namespace partita::methods::mixture {
namespace {

using namespace mpc;  // NOLINT: arithmetic on shares, line by line
using Eigen::ArrayXd;
using Eigen::Index;

constexpr int kDensityBits = 60;  // of m, and of a
// Of more than two holders: the sum of a row of a product of two of them is told apart from 2^-40
// on.
constexpr int kPairFloor = 40;

// B K x cols numbers of one holder, at most 1, row by row, zero beyond the batch.
class Column {
 public:
  Column(const StepDesign& design, PartyIndex owner, size_t cols) {
    const size_t rows = design.batch_rows * design.components;
    matrix_ = {owner, {rows, cols}, kDensityBits, 1, nullptr};
  }
  // At the owner: number(n, k, col).
  template <typename Number>
  void Fill(size_t num_rows, size_t components, const Number& number) {
    const size_t cols = matrix_.shape.cols;
    auto values = std::make_shared<std::vector<Int128>>(matrix_.shape.size());
    size_t at = 0;
    for (size_t n = 0; n < num_rows; ++n) {
      for (size_t k = 0; k < components; ++k) {
        for (size_t col = 0; col < cols; ++col) {
          (*values)[at++] =
              ToGrid(number(static_cast<Index>(n), static_cast<Index>(k), col), kDensityBits);
        }
      }
    }
    matrix_.read = [values, cols](size_t first, size_t count, Int128* out) {
      std::copy_n(values->begin() + static_cast<ptrdiff_t>(first * cols), count * cols, out);
    };
  }
  const PrivateMatrix& matrix() const { return matrix_; }

 private:
  PrivateMatrix matrix_;
};

// What the linear terms of ||g||^2 / C'^2 weigh a_nk with: (sum_j pi_j^2 - 2 pi_k) / C'^2.
ArrayXd MixWeights(const StepParameters& parameters, double clip_to) {
  return (parameters.pi.square().sum() - 2 * parameters.pi) / (clip_to * clip_to);
}
int Log2OfMixWeights(double clip_to) {
  return static_cast<int>(std::ceil(std::log2(2 / (clip_to * clip_to))));
}

// exp(log F - max_k log F), and nothing for a row whose scores exceed what the clipping can see.
Eigen::ArrayXXd Renormalised(const HolderValues& values, double largest_square) {
  Eigen::ArrayXXd m(values.log_densities.rows(), values.log_densities.cols());
  for (Index n = 0; n < m.cols(); ++n) {
    m.col(n) = (values.log_densities.col(n) - values.log_densities.col(n).maxCoeff()).exp();
    if (values.squared_scores.col(n).maxCoeff() > largest_square) m.col(n).setZero();
  }
  return m;
}

// Exact products, B K x 1 at twice kDensityBits: the densities a, and a times scores and weights of
// the linear terms, both as far scaled down as their holders do it.
struct Products {
  Shared a, scores, mixed;
};

Products ProductsOfTwo(Engine& engine, const StepDesign& design, const StepParameters& parameters,
                       const std::optional<HolderValues>& own) {
  const StepFormat format = FormatOf(design);
  const size_t rows = design.batch_rows * design.components, components = design.components;
  const size_t count = parameters.batch.size();
  const double inverse_square = 1 / (format.clip_to * format.clip_to);
  const int mix_exponent = Log2OfMixWeights(format.clip_to);
  const PartyIndex first = design.holders[0].party, second = design.holders[1].party;
  const bool is_first = engine.self() == first, is_second = engine.self() == second;

  // Everything at most 1: scores divided by 2^L, weights of the linear terms by theirs.
  Column firsts(design, first, 3), first_alone(design, first, 1);
  Column second_alone(design, second, 1), scored(design, second, 1);
  if (own && (is_first || is_second)) {
    Eigen::ArrayXXd m = Renormalised(*own, design.holder_square());
    if (is_first) m.colwise() *= parameters.pi;
    // What enters is on the grid; the scores multiply that.
    m = (m * 0x1p60).round() * 0x1p-60;
    const double to_scores = inverse_square * std::ldexp(1.0, -format.log2_largest);
    const Eigen::ArrayXXd& d = own->squared_scores;
    if (is_first) {
      const ArrayXd mix = MixWeights(parameters, format.clip_to) * std::ldexp(1.0, -mix_exponent);
      firsts.Fill(count, components, [&](Index n, Index k, size_t col) {
        if (m(k, n) == 0) return 0.0;
        return m(k, n) * (col == 0 ? 1 : col == 1 ? (1 + d(k, n)) * to_scores : mix(k));
      });
      first_alone.Fill(count, components, [&](Index n, Index k, size_t) { return m(k, n); });
    } else {
      second_alone.Fill(count, components, [&](Index n, Index k, size_t) { return m(k, n); });
      scored.Fill(count, components, [&](Index n, Index k, size_t) {
        return m(k, n) == 0 ? 0.0 : m(k, n) * d(k, n) * to_scores;
      });
    }
  }
  const Product pairs[] = {{Product::Kind::kElementwise, firsts.matrix(), second_alone.matrix()},
                           {Product::Kind::kElementwise, first_alone.matrix(), scored.matrix()}};
  const std::vector<Shared> together = engine.Multiply(pairs);
  const auto column = [&](const Shared& matrix, size_t col) {
    return engine.Slice(matrix, 0, col, {rows, 1});
  };
  return {column(together[0], 0), engine.Add(column(together[0], 1), together[1]),
          column(together[0], 2)};
}

// Products of neighbours, and each row times the power of two that brings its sum to [1/2, 1) (or
// as near as kPairFloor allows). B K x 1 at kDensityBits, as the factors; the last of an odd number
// stays as it is. What `round` and `cuts` hold already runs along, in the same rounds.
std::vector<Operand> MultiplyNeighbours(Engine& engine, const StepDesign& design,
                                        const std::vector<Operand>& factors, ProductRound& round,
                                        CutRound& cuts) {
  const size_t pairs = factors.size() / 2;
  const Shape shape = {design.batch_rows, design.components};
  std::vector<Shared> products(pairs), sums;
  for (size_t i = 0; i < pairs; ++i) round.Add(factors[2 * i], factors[2 * i + 1], 1, products[i]);
  round.Run();
  for (Shared& product : products) {
    product = Reshape(product, shape);
    sums.push_back(SumOfRows(engine, product, 1));
  }
  const PowersOfTwo powers = {-kPairFloor, kPairFloor + 1};
  std::vector<SharedBits> below;
  for (Magnitude& size : MagnitudesOf(engine, sums, std::vector<PowersOfTwo>(pairs, powers)))
    below.push_back(std::move(size.below));
  const std::vector<Shared> planes = engine.ToRing(below);
  // A sum that is below 2^e and not below 2^(e - 1) is multiplied by 2^-e.
  std::vector<double> scales;
  for (int exponent = -kPairFloor; exponent <= 0; ++exponent)
    scales.push_back(std::ldexp(1.0, -exponent));
  scales.push_back(1);
  for (size_t i = 0; i < pairs; ++i) {
    round.Add(products[i], NumberOfClass(engine, planes[i], sums[i].shape, scales, 0), 1,
              products[i]);
  }
  round.Run();
  for (Shared& product : products) cuts.Add(product, kDensityBits, 1);
  cuts.Run();
  std::vector<Operand> results;
  for (const Shared& product : products)
    results.emplace_back(WithBound(Reshape(product, {shape.size(), 1}), 1));
  if (factors.size() % 2 == 1) results.push_back(factors.back());
  return results;
}

// All but the last holder's densities become one factor, which meets the last one's, alone and
// times the scores of all.
Products ProductsOfMany(Engine& engine, const StepDesign& design, const StepParameters& parameters,
                        const std::optional<HolderValues>& own) {
  const StepFormat format = FormatOf(design);
  const size_t holders = design.holders.size(), last = holders - 1;
  const size_t count = parameters.batch.size(), components = design.components;
  const double inverse_square = 1 / (format.clip_to * format.clip_to);
  const double to_scores = inverse_square * std::ldexp(1.0, -format.log2_largest);
  const double to_mix = std::ldexp(1.0, -Log2OfMixWeights(format.clip_to));
  std::vector<Operand> factors;
  std::vector<PrivateMatrix> squares;
  std::optional<Column> last_alone, last_mixed;
  for (size_t h = 0; h < holders; ++h) {
    const PartyIndex party = design.holders[h].party;
    Column alone(design, party, 1), mixed(design, party, 1), scores(design, party, 1);
    if (own && engine.self() == party) {
      Eigen::ArrayXXd m = Renormalised(*own, design.holder_square());
      // Sums of products of two holders are at most 1: of the two, one is weighted.
      if (h == 0) m.colwise() *= parameters.pi;
      if (h > 0 && h % 2 == 0 && h + 1 < last) m /= static_cast<double>(components);
      m = (m * 0x1p60).round() * 0x1p-60;
      const ArrayXd mix = MixWeights(parameters, format.clip_to) * to_mix;
      const Eigen::ArrayXXd d = own->squared_scores.min(design.holder_square());
      const double one = h == 0 ? 1 : 0;
      alone.Fill(count, components, [&](Index n, Index k, size_t) { return m(k, n); });
      mixed.Fill(count, components, [&](Index n, Index k, size_t) { return m(k, n) * mix(k); });
      scores.Fill(count, components,
                  [&](Index n, Index k, size_t) { return (one + d(k, n)) * to_scores; });
    }
    squares.push_back(scores.matrix());
    if (h < last) {
      factors.emplace_back(alone.matrix());
    } else {
      last_alone = alone;
      last_mixed = mixed;
    }
  }
  const std::vector<Shared> inputs = engine.Input(squares);
  Shared square = inputs[0];
  for (size_t h = 1; h < holders; ++h) square = engine.Add(square, inputs[h]);

  Shared scored;
  ProductRound round(engine);
  CutRound cuts(engine);
  round.Add(last_alone->matrix(), WithBound(square, 1), 1, scored);
  cuts.Add(scored, kDensityBits, 1);
  while (factors.size() > 1) factors = MultiplyNeighbours(engine, design, factors, round, cuts);
  Products exact;
  round.Add(factors[0], last_alone->matrix(), 1, exact.a);
  round.Add(factors[0], scored, 1, exact.scores);
  round.Add(factors[0], last_mixed->matrix(), 1, exact.mixed);
  round.Run();
  return exact;
}

// What the inverse root needs: a (B x K at kDensityBits), den^2 and Q (B x 1).
struct Sums {
  Shared a, square_of_den, q;
  RootRange range;
};

Sums SumsOf(Engine& engine, const StepDesign& design, const Products& exact) {
  const StepFormat format = FormatOf(design);
  const Shape shape = {design.batch_rows, design.components};
  Shared a = WithBound(Reshape(exact.a, shape), 1);
  Shared scores = Reshape(exact.scores, shape);
  Shared mixed = SumOfRows(engine, Reshape(exact.mixed, shape), 1);
  Shared den = SumOfRows(engine, a, 1);

  const double largest = std::ldexp(1.0, format.log2_largest);
  scores = WithBound(TimesPowerOfTwo(scores, format.log2_largest), largest);
  mixed = TimesPowerOfTwo(mixed, Log2OfMixWeights(format.clip_to));
  CutRound cuts(engine);
  cuts.Add(a, kDensityBits, 1);
  cuts.Add(den, format.square_bits, 1);
  cuts.Add(scores, format.square_bits, largest);
  cuts.Add(mixed, format.square_bits, mixed.bound);
  cuts.Run();

  const Shared whole = SumOfRows(engine, a, 1.0 + 0x1p-20);
  ProductRound products(engine);
  Sums sums;
  Shared quadratic, linear;
  products.Add(a, scores, largest, quadratic);
  products.Add(whole, mixed, mixed.bound, linear);
  products.Add(whole, den, 1, sums.square_of_den);
  products.Run();
  sums.a = a;
  sums.q = WithBound(engine.Add(SumOfRows(engine, quadratic, largest), linear), largest);
  sums.range = {-2 * format.floor, format.log2_largest};
  return sums;
}

void RequireNumbers(const StepDesign& design, const StepParameters& parameters,
                    const HolderValues& values) {
  const auto expected = static_cast<Index>(parameters.batch.size());
  const auto components = static_cast<Index>(design.components);
  if (values.log_densities.cols() != expected || values.squared_scores.cols() != expected ||
      values.log_densities.rows() != components || values.squared_scores.rows() != components) {
    throw Error(ErrorCode::kUsage, "densities or scores have the wrong shape");
  }
  for (Index n = 0; n < expected; ++n) {
    const bool finite = values.log_densities.col(n).isFinite().all() &&
                        values.squared_scores.col(n).isFinite().all() &&
                        (values.squared_scores.col(n) >= 0).all();
    if (finite) continue;
    throw Error(ErrorCode::kBadData,
                fmt::format("row {} of the own table has a density or a gradient that is not a "
                            "number under the current parameters",
                            parameters.batch[static_cast<size_t>(n)] + 1),
                "check the row against the bounds of its columns");
  }
}

}  // namespace

Shared ClippedWeights(Engine& engine, const StepDesign& design, const StepParameters& parameters,
                      const std::optional<HolderValues>& own_values) {
  if (own_values) RequireNumbers(design, parameters, *own_values);
  const Products exact = design.holders.size() == 2
                             ? ProductsOfTwo(engine, design, parameters, own_values)
                             : ProductsOfMany(engine, design, parameters, own_values);
  const Sums sums = SumsOf(engine, design, exact);
  const Shared t =
      TimesInverseRootOfLarger(engine, sums.a, sums.square_of_den, sums.q, sums.range, kWeightBits);
  // Every party knows the batch: what padding weighs is public.
  PublicMatrix real{{{design.batch_rows, 1}, std::vector<Int128>(design.batch_rows)}, 0};
  std::fill_n(real.values.values.begin(), parameters.batch.size(), 1);
  const Product masked = {Product::Kind::kElementwise, t, std::move(real)};
  return WithBound(engine.Multiply({&masked, 1})[0], 1.25);
}

}  // namespace partita::methods::mixture
