#include "methods/survival/cox/concordance.h"

#include <algorithm>
#include <cmath>

#include "mpc/functions/arithmetic.h"
#include "mpc/functions/division.h"

namespace partita::methods::survival {
namespace {

using mpc::Engine;
using mpc::Shared;
using mpc::WithBound;
using Kind = mpc::Product::Kind;

constexpr size_t kMostBins = 256, kFewestBins = 64, kMostBinned = size_t{1} << 21;

}  // namespace

size_t PredictorBins::Of(double predictor) const {
  if (most == 0) return 0;
  const double place = (predictor / most + 1) / 2 * static_cast<double>(count);
  return static_cast<size_t>(std::clamp(place, 0.0, static_cast<double>(count) - 1));
}

PredictorBins BinsAt(const CoxCells& cells, const Eigen::VectorXd& point) {
  return {cells.count() * kMostBins <= kMostBinned ? kMostBins : kFewestBins,
          point.cwiseAbs().sum()};
}

OrderedRows OrderRows(const CoxRows& rows, const CoxCells& cells, const Eigen::VectorXd& point) {
  const PredictorBins bins = BinsAt(cells, point);
  const size_t width = bins.count + 1;
  OrderedRows own;
  own.events.resize(cells.count() * width);
  // Of who leaves in each cell less who enters in it, and added up from the last one.
  std::vector<Int128> leaving(cells.count() * bins.count);
  const Eigen::VectorXd predictor = rows.x * point;
  for (Eigen::Index i = 0; i < predictor.size(); ++i) {
    const auto row = static_cast<size_t>(i);
    const size_t bin = bins.Of(predictor[i]);
    ++leaving[rows.place[row] * bins.count + bin];
    if (!rows.entry.empty()) --leaving[rows.entry[row] * bins.count + bin];
    if (rows.event[row] == 0) continue;
    ++own.events[rows.place[row] * width + bin];
    ++own.events[rows.place[row] * width + bins.count];
  }
  own.at_risk.resize(own.events.size());
  std::vector<Int128> at_risk(bins.count);
  for (size_t place = cells.count(); place-- > 0;) {
    if (place % cells.cells == cells.cells - 1) std::fill(at_risk.begin(), at_risk.end(), 0);
    Int128 lower = 0;
    for (size_t k = 0; k < bins.count; ++k) {
      at_risk[k] += leaving[place * bins.count + k];
      const Int128 others = at_risk[k] - own.events[place * width + k];
      own.at_risk[place * width + k] = 2 * lower + others;
      lower += others;
    }
    own.at_risk[place * width + bins.count] = 2 * lower;
  }
  return own;
}

stats::survival::Concordance BinnedConcordance(const CoxCells& cells,
                                               const stats::survival::CoxRows& rows,
                                               const Eigen::VectorXd& point) {
  const PredictorBins bins = BinsAt(cells, point);
  const Eigen::VectorXd predictor = rows.x * point;
  std::vector<double> places;
  for (const double value : predictor) places.push_back(static_cast<double>(bins.Of(value)));
  return stats::survival::ConcordanceOf(rows, places);
}

Shared ConcordanceOnShares(Engine& engine, const CoxCells& cells,
                           const std::vector<run::RowHolder>& holders, size_t bins,
                           const OrderedRows& own, int fraction_bits) {
  const mpc::Shape shape{cells.count(), bins + 1};
  std::vector<mpc::PrivateMatrix> inputs;
  for (const run::RowHolder& holder : holders) {
    inputs.push_back(run::SumsOfHolder(engine, holder, shape, 0, 1, own.events));
    inputs.push_back(run::SumsOfHolder(engine, holder, shape, 0, 2, own.at_risk));
  }
  const std::vector<Shared> shared = engine.Input(inputs);
  const auto most = static_cast<double>(run::MostRows(holders));
  Shared events = shared[0], at_risk = shared[1];
  for (size_t h = 1; h < holders.size(); ++h) {
    events = engine.Add(events, shared[2 * h]);
    at_risk = engine.Add(at_risk, shared[2 * h + 1]);
  }
  const auto column = [&](const Shared& of, size_t first, size_t count, double bound) {
    const Shared part = engine.Slice(of, 0, first, {shape.rows, count});
    return WithBound(mpc::Reshape(part, {shape.rows * count, 1}), bound);
  };
  const double most_pairs = 2 * most * most;
  Shared ordered, pairs;
  mpc::ProductRound sums(engine);
  sums.Add(Kind::kGram, column(events, 0, bins, most), column(at_risk, 0, bins, 2 * most),
           most_pairs, ordered);
  sums.Add(Kind::kGram, column(events, bins, 1, most), column(at_risk, bins, 1, 2 * most),
           most_pairs, pairs);
  sums.Run();
  const std::vector<mpc::Quotient> quotients = {{ordered, {pairs, 1}, 1}};
  const Shared part =
      WithBound(mpc::Divide(engine, quotients, fraction_bits + kConcordanceLog2).front(), 2);
  return WithBound(mpc::TimesPowerOfTwo(part, kConcordanceLog2), std::ldexp(2, kConcordanceLog2));
}

}  // namespace partita::methods::survival
