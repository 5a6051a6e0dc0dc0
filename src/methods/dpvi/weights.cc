#include "methods/dpvi/weights.h"

#include <fmt/format.h>

#include <cmath>
#include <memory>

#include "base/error.h"
#include "methods/dpvi/root.h"
#include "mpc/functions/arithmetic.h"
#include "mpc/functions/softmax.h"

namespace partita::methods::dpvi {
namespace {

using namespace mpc;  // NOLINT: arithmetic on shares, line by line
using Eigen::ArrayXd;
using Eigen::Index;

constexpr int kDensityBits = 60;  // of m, and of a
// Log densities of more than two holders, after renormalising, end here: e^-64 < 2^-92.
constexpr double kLowestLog = 64;
constexpr int kLogBits = 40, kSoftmaxBits = 48, kSquareInputBits = 30, kMixBits = 20;

// B x cols numbers of one holder, row by row, zero beyond the batch.
class Column {
 public:
  Column(const StepDesign& design, PartyIndex owner, size_t cols, int fraction_bits, double bound)
      : fraction_bits_(fraction_bits) {
    const size_t rows = design.batch_rows * design.components;
    matrix_ = {owner, {rows, cols}, fraction_bits, bound, nullptr};
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
              ToGrid(number(static_cast<Index>(n), static_cast<Index>(k), col), fraction_bits_);
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
  int fraction_bits_;
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

// What the inverse root needs: a (B x K at kDensityBits), den^2 and Q (B x 1).
struct Sums {
  Shared a, square_of_den, q;
  RootRange range;
};

Sums SumsOfTwo(Engine& engine, const StepDesign& design, const StepParameters& parameters,
               const std::optional<HolderValues>& own) {
  const StepFormat format = FormatOf(design);
  const size_t rows = design.batch_rows, components = design.components;
  const size_t count = parameters.batch.size();
  const double inverse_square = 1 / (format.clip_to * format.clip_to);
  const int mix_exponent = Log2OfMixWeights(format.clip_to);
  const PartyIndex first = design.holders[0].party, second = design.holders[1].party;
  const bool is_first = engine.self() == first, is_second = engine.self() == second;

  // Everything at most 1: scores divided by 2^L, weights of the linear terms by theirs.
  Column firsts(design, first, 3, kDensityBits, 1), first_alone(design, first, 1, kDensityBits, 1);
  Column second_alone(design, second, 1, kDensityBits, 1),
      scored(design, second, 1, kDensityBits, 1);
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
    return engine.Slice(matrix, 0, col, {rows * components, 1});
  };
  const Shape shape = {rows, components};
  Shared a = WithBound(Reshape(column(together[0], 0), shape), 1);
  Shared scores = Reshape(engine.Add(column(together[0], 1), together[1]), shape);
  Shared mixed = SumOfRows(engine, Reshape(column(together[0], 2), shape), 1);
  Shared den = SumOfRows(engine, a, 1);

  const double largest = std::ldexp(1.0, format.log2_largest);
  scores = WithBound(TimesPowerOfTwo(scores, format.log2_largest), largest);
  mixed = TimesPowerOfTwo(mixed, mix_exponent);
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

Sums SumsOfMany(Engine& engine, const StepDesign& design, const StepParameters& parameters,
                const std::optional<HolderValues>& own) {
  const StepFormat format = FormatOf(design);
  const size_t rows = design.batch_rows, components = design.components;
  const double inverse_square = 1 / (format.clip_to * format.clip_to);
  const double largest = std::ldexp(1.0, format.log2_largest);
  std::vector<PrivateMatrix> inputs;
  for (size_t h = 0; h < design.holders.size(); ++h) {
    const PartyIndex party = design.holders[h].party;
    Column logs(design, party, 1, kLogBits, kLowestLog + (h == 0 ? kLowestLog : 0));
    Column squares(design, party, 1, kSquareInputBits, design.holder_square() * inverse_square + 1);
    if (own && engine.self() == party) {
      Eigen::ArrayXXd shifted = own->log_densities;
      shifted.rowwise() -= own->log_densities.colwise().maxCoeff();
      shifted = shifted.max(-kLowestLog);
      if (h == 0) shifted.colwise() += parameters.pi.log().max(-kLowestLog);
      logs.Fill(parameters.batch.size(), components,
                [&](Index n, Index k, size_t) { return shifted(k, n); });
      squares.Fill(parameters.batch.size(), components, [&](Index n, Index k, size_t) {
        return own->squared_scores(k, n) * inverse_square;
      });
    }
    inputs.push_back(logs.matrix());
    inputs.push_back(squares.matrix());
  }
  const std::vector<Shared> shared = engine.Input(inputs);
  Shared logs = shared[0], squares = shared[1];
  for (size_t i = 2; i < shared.size(); i += 2) {
    logs = engine.Add(logs, shared[i]);
    squares = engine.Add(squares, shared[i + 1]);
  }
  const Shape shape = {rows, components};
  logs = Reshape(logs, shape);
  squares = PlusConstant(engine, Reshape(squares, shape), inverse_square, largest);

  Sums sums;
  sums.a = Lift(engine, RowSoftmax(engine, {&logs, 1}, kSoftmaxBits)[0], kDensityBits);
  sums.a.bound = 1;
  // den is 1.
  const ArrayXd mix = MixWeights(parameters, format.clip_to);
  PublicMatrix mixes{{{components, 1}, std::vector<Int128>(components)}, kMixBits};
  for (size_t k = 0; k < components; ++k) {
    mixes.values.values[k] = EncodeFixed(mix(static_cast<Index>(k)), kMixBits);
  }
  Shared quadratic;
  ProductRound products(engine);
  products.AddCut(sums.a, squares, largest, format.square_bits, quadratic);
  products.Run();
  products.Add(sums.a, quadratic, largest, quadratic);
  products.Run();
  const double mix_bound = std::ldexp(1.0, Log2OfMixWeights(format.clip_to));
  const Shared linear =
      engine.MultiplyPublic(WithBound(sums.a, 1 / static_cast<double>(components)), mixes);
  sums.q = WithBound(
      engine.Add(SumOfRows(engine, quadratic, largest),
                 WithBound(Lift(engine, WithBound(linear, mix_bound), quadratic.fraction_bits),
                           mix_bound)),
      largest);
  sums.square_of_den = ConstantLike(engine, sums.q, 1, sums.q.fraction_bits);
  sums.range = {1, std::max(2, format.log2_largest)};
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
  if (design.holders.size() == 2) return;
  for (Index n = 0; n < expected; ++n) {
    if ((values.squared_scores.col(n) <= design.holder_square()).all()) continue;
    throw Error(ErrorCode::kBadData,
                fmt::format("the squared gradient of row {} of the own table exceeds {:.6g}",
                            parameters.batch[static_cast<size_t>(n)] + 1, design.holder_square()),
                "tighten the bounds of its columns, or raise max_square");
  }
}

}  // namespace

Shared ClippedWeights(Engine& engine, const StepDesign& design, const StepParameters& parameters,
                      const std::optional<HolderValues>& own_values) {
  if (own_values) RequireNumbers(design, parameters, *own_values);
  const Sums sums = design.holders.size() == 2 ? SumsOfTwo(engine, design, parameters, own_values)
                                               : SumsOfMany(engine, design, parameters, own_values);
  const Shared root = InverseRootOfLarger(engine, sums.square_of_den, sums.q, sums.range);
  ProductRound products(engine);
  Shared t;
  products.AddCut(sums.a, root, 1.25, kWeightBits, t);
  products.Run();
  // Every party knows the batch: what padding weighs is public.
  PublicMatrix real{{{design.batch_rows, 1}, std::vector<Int128>(design.batch_rows)}, 0};
  std::fill_n(real.values.values.begin(), parameters.batch.size(), 1);
  const Product masked = {Product::Kind::kElementwise, t, std::move(real)};
  return WithBound(engine.Multiply({&masked, 1})[0], 1.25);
}

}  // namespace partita::methods::dpvi
