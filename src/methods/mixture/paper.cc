#include "methods/mixture/paper.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "base/error.h"
#include "mpc/functions/arithmetic.h"
#include "mpc/functions/norm.h"
#include "mpc/functions/reciprocal.h"

namespace partita::methods::mixture {
namespace {

using namespace mpc;  // NOLINT: arithmetic on shares, line by line
using Eigen::ArrayXXd;
using Eigen::Index;

constexpr int kBits = 40, kPaperDensityBits = 30;
constexpr double kSmallestDen = 0x1p-24;

PrivateMatrix FromArray(PartyIndex owner, Shape shape, int bits, double bound,
                        std::shared_ptr<std::vector<Int128>> values) {
  PrivateMatrix matrix{owner, shape, bits, bound, nullptr};
  if (values) {
    matrix.read = [values = std::move(values), cols = shape.cols](size_t first, size_t count,
                                                                  Int128* out) {
      std::copy_n(values->begin() + static_cast<ptrdiff_t>(first * cols), count * cols, out);
    };
  }
  return matrix;
}

// m of one holder, pi in the first one's: B x K, zero beyond the batch.
PrivateMatrix Densities(const Engine& engine, const StepDesign& design,
                        const StepParameters& parameters, const std::optional<HolderValues>& own,
                        size_t holder) {
  const PartyIndex party = design.holders[holder].party;
  const Shape shape = {design.batch_rows, design.components};
  std::shared_ptr<std::vector<Int128>> values;
  if (own && engine.self() == party) {
    ArrayXXd m = own->log_densities;
    m = (m.rowwise() - own->log_densities.colwise().maxCoeff()).exp();
    if (holder == 0) m.colwise() *= parameters.pi;
    values = std::make_shared<std::vector<Int128>>(shape.size());
    for (Index i = 0; i < m.size(); ++i) {
      (*values)[static_cast<size_t>(i)] = ToGrid(m.data()[i], kPaperDensityBits);
    }
  }
  return FromArray(party, shape, kPaperDensityBits, 1, std::move(values));
}

// d_nk. of one holder for every component: B x J_p each.
std::vector<PrivateMatrix> Gradients(const Engine& engine, const StepDesign& design,
                                     const StepParameters& parameters,
                                     const std::vector<StatisticReader>& own, size_t holder) {
  const auto [party, columns, statistic_bound] = design.holders[holder];
  const Shape shape = {design.batch_rows, columns};
  const double bound = std::sqrt(design.holder_square());
  const bool here = engine.self() == party;
  std::vector<double> statistics(here ? parameters.batch.size() * columns : 0);
  for (size_t n = 0; here && n < parameters.batch.size(); ++n) {
    own[holder](parameters.batch[n], 1, statistics.data() + n * columns);
  }
  std::vector<PrivateMatrix> gradients;
  for (size_t k = 0; k < design.components; ++k) {
    std::shared_ptr<std::vector<Int128>> values;
    if (here) {
      values = std::make_shared<std::vector<Int128>>(shape.size());
      const auto line = static_cast<Index>(k);
      for (size_t n = 0; n < parameters.batch.size(); ++n) {
        const double* row = statistics.data() + n * columns;
        for (size_t j = 0; j < columns; ++j) {
          const auto column = static_cast<Index>(j);
          double d = parameters.slope[holder](line, column) * row[j] +
                     parameters.offset[holder](line, column);
          if (j > 0) d += parameters.below[holder](line, column) * row[j - 1];
          (*values)[n * columns + j] = ToGrid(d, kBits);
        }
      }
    }
    gradients.push_back(FromArray(party, shape, kBits, bound, std::move(values)));
  }
  return gradients;
}

// a_nk / den_n.
Shared Responsibilities(Engine& engine, const StepDesign& design, const StepParameters& parameters,
                        const std::optional<HolderValues>& own) {
  const Product pair = {Product::Kind::kElementwise, Densities(engine, design, parameters, own, 0),
                        Densities(engine, design, parameters, own, 1)};
  ProductRound products(engine);
  Shared a = WithBound(engine.Multiply({&pair, 1})[0], 1);
  const Shared den = SumOfRows(engine, a, 1);  // exact, at 60 bits
  const PositiveValue value = {den, kSmallestDen};
  const Shared inverse = Reciprocal(engine, {&value, 1}, kBits)[0];
  Shared r;
  products.AddCut(a, inverse, 1.25, kBits, r);
  products.Run();
  return r;
}

}  // namespace

Shared PaperSum(Engine& engine, const StepDesign& design, const StepParameters& parameters,
                const std::optional<HolderValues>& own_values,
                const std::vector<StatisticReader>& own) {
  const size_t rows = design.batch_rows, components = design.components;
  const Shared r = Responsibilities(engine, design, parameters, own_values);
  ProductRound products(engine);
  std::vector<Shared> parts(1 + components * design.holders.size());
  size_t at = 1;
  const double bound = 1.25 * std::sqrt(design.holder_square());
  for (size_t h = 0; h < design.holders.size(); ++h) {
    const std::vector<PrivateMatrix> gradients = Gradients(engine, design, parameters, own, h);
    for (size_t k = 0; k < components; ++k) {
      products.AddCut(engine.Slice(r, 0, k, {rows, 1}), gradients[k], bound, kBits, parts[at++]);
    }
  }
  products.Run();

  // r_nk - pi_k, for real rows.
  PublicMatrix prior{{{rows, components}, std::vector<Int128>(rows * components)}, kBits};
  for (size_t n = 0; n < parameters.batch.size(); ++n) {
    for (size_t k = 0; k < components; ++k) {
      prior.values.values[n * components + k] = ToGrid(parameters.pi(static_cast<Index>(k)), kBits);
    }
  }
  parts[0] = WithBound(engine.Subtract(r, engine.Public(prior)), bound);
  for (Shared& part : parts) part.bound = bound;
  const RowsWithNorm all = {engine.Concatenate(parts, false), design.clip};
  const Shared clipped = ClipRows(engine, {&all, 1})[0];

  // 1 x (K + K J_1 + K J_2), to K x (1 + J_1 + J_2).
  const Shared sum = Lift(engine, engine.SumRows(clipped), kGridBits);
  std::vector<Shared> blocks = {Reshape(engine.Slice(sum, 0, 0, {1, components}), {components, 1})};
  size_t from = components;
  for (const Holder& holder : design.holders) {
    const size_t count = components * holder.num_columns;
    blocks.push_back(
        Reshape(engine.Slice(sum, 0, from, {1, count}), {components, holder.num_columns}));
    from += count;
  }
  return engine.Concatenate(blocks, false);
}

}  // namespace partita::methods::mixture
