#include "methods/survival/cox/rows.h"

#include <algorithm>
#include <cmath>

#include "mpc/fixed_point.h"

namespace partita::methods::survival {

using Eigen::Index;

namespace {

// With the stratum among the factors.
data::ModelColumns CountedColumns(const CoxSpec& spec) {
  const data::ModelColumns& columns = spec;
  data::ModelColumns counted = columns;
  const std::vector<std::string>& known = spec.factors;
  if (!spec.stratum.empty() && std::find(known.begin(), known.end(), spec.stratum) == known.end())
    counted.factors.push_back(spec.stratum);
  return counted;
}

}  // namespace

data::ModelCounts CoxTables(const CoxSpec& spec, const data::Schema& factors) {
  return {CountedColumns(spec), factors, 2};
}

CoxRows NoCoxRows(const CoxSpec& spec, const data::ModelCounts& tables, const CoxCells& cells) {
  CoxRows own;
  own.x.resize(0, static_cast<Index>(spec.columns.size()));
  own.counts.resize(tables.num_cells + 3);
  own.events.resize(cells.count());
  own.event_sums.resize(spec.columns.size());
  own.timed_sums.resize(spec.columns.size());
  return own;
}

CoxRows CoxRowsOf(const CoxSpec& spec, const data::ModelCounts& tables, const CoxCells& cells,
                  size_t own_stratum, const data::Table& table, const std::vector<size_t>& rows) {
  CoxRows own = NoCoxRows(spec, tables, cells);
  const auto n = static_cast<Index>(rows.size());
  own.x.resize(n, own.x.cols());
  for (Index c = 0; c < own.x.cols(); ++c) {
    const data::ModelColumn& column = spec.columns[static_cast<size_t>(c)];
    const std::vector<double> values = data::ColumnValues(column, table, rows);
    for (Index i = 0; i < n; ++i) {
      const double value = column.scale * values[static_cast<size_t>(i)];
      own.x(i, c) = std::clamp((value - MiddleOf(column)) / HalfOf(column), -1.0, 1.0);
    }
  }
  const data::Column& outcome = table.Get(spec.outcome.name);
  const std::vector<int32_t>* levels =
      spec.stratum.empty() ? nullptr : &table.Get(spec.stratum).codes;
  const size_t first = own_stratum * (levels == nullptr ? 1 : spec.num_levels);
  for (const size_t row : rows) {
    const size_t stratum = first + (levels == nullptr ? 0 : static_cast<size_t>((*levels)[row]));
    const size_t place = stratum * cells.cells + spec.grid.Of(outcome.numbers[row]);
    own.place.push_back(static_cast<uint32_t>(place));
    own.event.push_back(outcome.codes[row] == 1 ? 1 : 0);
  }
  const std::vector<Int128> counts =
      data::CountCells(CountedColumns(spec), tables, table, rows, own.event, {});
  std::copy(counts.begin(), counts.end(), own.counts.begin());
  Eigen::VectorXd sums = Eigen::VectorXd::Zero(own.x.cols()), timed = sums;
  for (Index i = 0; i < n; ++i) {
    const auto row = static_cast<size_t>(i);
    ++own.counts[tables.num_cells + own.event[row]];
    ++own.counts.back();
    if (own.event[row] == 0) continue;
    ++own.events[own.place[row]];
    sums += own.x.row(i);
    timed += TimeOf(cells, own.place[row]) * own.x.row(i);
  }
  for (Index c = 0; c < sums.size(); ++c) {
    own.event_sums[static_cast<size_t>(c)] = mpc::EncodeFixed(sums[c], kRiskBits);
    own.timed_sums[static_cast<size_t>(c)] = mpc::EncodeFixed(timed[c], kRiskBits);
  }
  return own;
}

namespace {

// w, w x and the upper triangle of w xx' to the sums that begin here.
void AddWeighted(double weight, const Eigen::RowVectorXd& x, double* at) {
  *at++ += weight;
  for (Index a = 0; a < x.size(); ++a) *at++ += weight * x[a];
  for (Index a = 0; a < x.size(); ++a) {
    for (Index b = a; b < x.size(); ++b) *at++ += weight * x[a] * x[b];
  }
}

}  // namespace

RiskSums RiskSumsAt(const CoxRows& rows, const CoxCells& cells, const Eigen::VectorXd& point) {
  const Index p = point.size();
  const size_t width = NumRiskSums(static_cast<size_t>(p));
  RiskSums risk;
  // Of who leaves in each cell, and added up from the last one.
  std::vector<double> sums(cells.count() * width), tied(cells.count() * width);
  const Eigen::VectorXd predictor = rows.x * point;
  for (Index i = 0; i < predictor.size(); ++i) {
    if (std::abs(predictor[i]) > kMostPredictor) ++risk.outside;
    const double weight = std::exp(std::clamp(predictor[i], -kMostPredictor, kMostPredictor));
    const auto row = static_cast<size_t>(i);
    const size_t first = rows.place[row] * width;
    AddWeighted(weight, rows.x.row(i), &sums[first]);
    if (rows.event[row] != 0) AddWeighted(weight, rows.x.row(i), &tied[first]);
  }
  for (size_t place = cells.count(); place-- > 0;) {
    if (place % cells.cells == cells.cells - 1) continue;
    for (size_t k = 0; k < width; ++k) sums[place * width + k] += sums[(place + 1) * width + k];
  }
  const auto encoded = [](const std::vector<double>& values) {
    std::vector<Int128> integers;
    integers.reserve(values.size());
    for (const double value : values) integers.push_back(mpc::EncodeFixed(value, kRiskBits));
    return integers;
  };
  risk.sums = encoded(sums);
  risk.tied = encoded(tied);
  return risk;
}

stats::survival::CoxRows PooledCoxRows(const CoxCells& cells,
                                       const std::vector<CoxRows>& by_holder) {
  stats::survival::CoxRows pooled;
  Index count = 0;
  for (const CoxRows& own : by_holder) count += own.x.rows();
  pooled.x.resize(count, by_holder.front().x.cols());
  count = 0;
  for (const CoxRows& own : by_holder) {
    pooled.x.middleRows(count, own.x.rows()) = own.x;
    count += own.x.rows();
    for (size_t i = 0; i < own.place.size(); ++i) {
      pooled.time.push_back(static_cast<double>(own.place[i] % cells.cells));
      pooled.stratum.push_back(static_cast<int>(own.place[i] / cells.cells));
      pooled.event.push_back(own.event[i]);
    }
  }
  return pooled;
}

}  // namespace partita::methods::survival
