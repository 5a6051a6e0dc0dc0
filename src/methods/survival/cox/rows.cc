#include "methods/survival/cox/rows.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "methods/survival/cox/baseline.h"
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
  own.counts.resize(tables.num_cells + NumOtherCounts(spec));
  own.events.resize(cells.count());
  own.event_sums.resize(spec.columns.size());
  own.timed_sums.resize(spec.columns.size());
  return own;
}

std::vector<size_t> RowsAtRisk(const CoxSpec& spec, const data::Table& table,
                               const std::vector<size_t>& rows) {
  if (spec.entry.empty()) return rows;
  const std::vector<double>& entries = table.Get(spec.entry).numbers;
  const std::vector<double>& times = table.Get(spec.outcome.name).numbers;
  std::vector<size_t> at_risk;
  for (const size_t row : rows) {
    if (spec.grid.Of(entries[row]) < spec.grid.Of(times[row])) at_risk.push_back(row);
  }
  return at_risk;
}

namespace {

// Numbers of the values of a variable, in the order of the rows.
std::vector<uint32_t> ClustersOf(const data::Column& column, const std::vector<size_t>& rows) {
  std::map<double, uint32_t> numbers;
  std::vector<uint32_t> clusters;
  for (const size_t row : rows) {
    const double value = column.codes.empty() ? column.numbers[row] : column.codes[row];
    const auto next = static_cast<uint32_t>(numbers.size());
    clusters.push_back(numbers.emplace(value, next).first->second);
  }
  return clusters;
}

}  // namespace

size_t NumUnits(const CoxRows& rows) {
  if (rows.unit.empty()) return static_cast<size_t>(rows.x.rows());
  return 1 + *std::max_element(rows.unit.begin(), rows.unit.end());
}

CoxRows CoxRowsOf(const CoxSpec& spec, const data::ModelCounts& tables, const CoxCells& cells,
                  size_t own_stratum, const data::Table& table, const std::vector<size_t>& taken) {
  const std::vector<size_t> rows = RowsAtRisk(spec, table, taken);
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
    if (!spec.entry.empty()) {
      const size_t entry = spec.grid.Of(table.Get(spec.entry).numbers[row]);
      own.entry.push_back(static_cast<uint32_t>(stratum * cells.cells + entry));
    }
    own.event.push_back(outcome.codes[row] == 1 ? 1 : 0);
  }
  if (spec.clustered()) {
    own.unit = ClustersOf(table.Get(spec.cluster), rows);
    own.counts[tables.num_cells] = static_cast<Int128>(NumUnits(own));
  }
  if (!spec.report.empty()) own.hazard_counts = HazardCounts(spec, cells, own);
  const std::vector<Int128> counts =
      data::CountCells(CountedColumns(spec), tables, table, rows, own.event, {});
  std::copy(counts.begin(), counts.end(), own.counts.begin());
  Eigen::VectorXd sums = Eigen::VectorXd::Zero(own.x.cols()), timed = sums;
  for (Index i = 0; i < n; ++i) {
    const auto row = static_cast<size_t>(i);
    ++own.counts[own.counts.size() - 3 + own.event[row]];
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

// w, w x and the upper triangle of w xx', each rounded to kRiskBits: by llrint, which is fast, where
// weights are at most e^kMostPredictor.
template <typename Round>
void Weigh(double weight, const Eigen::RowVectorXd& x, Round round, std::vector<Int128>& values) {
  size_t next = 0;
  const auto add = [&](double value) { values[next++] = round(value); };
  add(weight);
  for (Index a = 0; a < x.size(); ++a) add(weight * x[a]);
  for (Index a = 0; a < x.size(); ++a) {
    for (Index b = a; b < x.size(); ++b) add(weight * x[a] * x[b]);
  }
}

Int128 RoundedRisk(double value) { return std::llrint(std::ldexp(value, kRiskBits)); }
Int128 RoundedSquare(double value) { return mpc::EncodeFixed(value, kRiskBits); }

}  // namespace

RiskSums RiskSumsAt(const CoxRows& rows, const CoxCells& cells, const Eigen::VectorXd& point) {
  const size_t width = NumRiskSums(static_cast<size_t>(point.size()));
  RiskSums risk;
  // Of who leaves in each cell less who enters in it, and added up from the last one. In whole units,
  // so that what enters takes away exactly what it weighs.
  risk.sums.resize(cells.count() * width);
  risk.tied.resize(cells.count() * width);
  std::vector<Int128> own(width);
  const Eigen::VectorXd predictor = rows.x * point;
  for (Index i = 0; i < predictor.size(); ++i) {
    const auto row = static_cast<size_t>(i);
    if (std::abs(predictor[i]) > kMostPredictor) ++risk.outside;
    Weigh(WeightOf(predictor[i]), rows.x.row(i), RoundedRisk, own);
    const auto add = [&](std::vector<Int128>& sums, size_t place, int sign) {
      for (size_t k = 0; k < width; ++k) sums[place * width + k] += sign * own[k];
    };
    add(risk.sums, rows.place[row], 1);
    if (!rows.entry.empty()) add(risk.sums, rows.entry[row], -1);
    if (rows.event[row] != 0) add(risk.tied, rows.place[row], 1);
  }
  for (size_t place = cells.count(); place-- > 0;) {
    if (place % cells.cells == cells.cells - 1) continue;
    for (size_t k = 0; k < width; ++k)
      risk.sums[place * width + k] += risk.sums[(place + 1) * width + k];
  }
  return risk;
}

LeavingSums LeavingSumsAt(const CoxRows& rows, const CoxCells& cells, const Eigen::VectorXd& point,
                          bool apart) {
  const auto p = static_cast<size_t>(point.size());
  const size_t width = NumRiskSums(p);
  LeavingSums leaving;
  leaving.events.resize(cells.count() * p);
  for (std::vector<Int128>* sums : {&leaving.weighted, &leaving.squared, &leaving.others})
    sums->resize(apart || sums != &leaving.others ? cells.count() * width : 0);
  leaving.event_squares.setZero(point.size(), point.size());
  std::vector<Int128> own(width);
  const Eigen::VectorXd predictor = rows.x * point;
  for (Index i = 0; i < predictor.size(); ++i) {
    const size_t place = rows.place[static_cast<size_t>(i)];
    const bool event = rows.event[static_cast<size_t>(i)] != 0;
    const double weight = WeightOf(predictor[i]);
    const Eigen::RowVectorXd x = rows.x.row(i);
    const auto add = [&](double weighs, std::vector<Int128>& sums) {
      Weigh(weighs, x, RoundedSquare, own);
      for (size_t k = 0; k < width; ++k) sums[place * width + k] += own[k];
    };
    add(weight * weight, apart && !event ? leaving.others : leaving.squared);
    if (!event) continue;
    add(weight, leaving.weighted);
    for (size_t k = 0; k < p; ++k)
      leaving.events[place * p + k] += mpc::EncodeFixed(x[static_cast<Index>(k)], kRiskBits);
    leaving.event_squares += x.transpose() * x;
  }
  return leaving;
}

stats::survival::CoxRows PooledCoxRows(const CoxCells& cells,
                                       const std::vector<CoxRows>& by_holder) {
  stats::survival::CoxRows pooled;
  Index count = 0;
  for (const CoxRows& own : by_holder) count += own.x.rows();
  pooled.x.resize(count, by_holder.front().x.cols());
  count = 0;
  int clusters = 0;
  for (const CoxRows& own : by_holder) {
    // Those of two holders are not the same.
    for (const uint32_t unit : own.unit)
      pooled.cluster.push_back(clusters + static_cast<int>(unit));
    if (!own.unit.empty()) clusters += static_cast<int>(NumUnits(own));
    pooled.x.middleRows(count, own.x.rows()) = own.x;
    count += own.x.rows();
    for (size_t i = 0; i < own.place.size(); ++i) {
      pooled.time.push_back(static_cast<double>(own.place[i] % cells.cells));
      pooled.stratum.push_back(static_cast<int>(own.place[i] / cells.cells));
      pooled.event.push_back(own.event[i]);
      if (!own.entry.empty())
        pooled.entry.push_back(static_cast<double>(own.entry[i] % cells.cells));
    }
  }
  return pooled;
}

}  // namespace partita::methods::survival
