#include "methods/glm/own_rows.h"

#include <algorithm>
#include <map>

#include "stats/glm/robust.h"

namespace partita::methods::glm {
namespace {

class DesignRows {
 public:
  DesignRows(const Spec& spec, const CountTables& tables, const data::Table& table,
             const std::vector<size_t>& rows)
      : spec_(spec), tables_(tables), table_(table), rows_(rows), own_(NoData(spec, tables)) {}

  OwnData Make() {
    const auto n = static_cast<Eigen::Index>(rows_.size());
    own_.rows.x.setOnes(n, static_cast<Eigen::Index>(spec_.columns.size()));
    own_.rows.y.setZero(n);
    own_.rows.offset.setZero(n);
    const data::Column& outcome = table_.Get(spec_.outcome.name);
    for (Eigen::Index i = 0; i < n; ++i)
      own_.rows.y[i] = OutcomeOf(spec_.outcome, outcome, RowAt(i));
    for (size_t c = 0; c < spec_.columns.size(); ++c) SetColumn(c);
    for (const std::string& name : spec_.offsets) {
      const data::Column& offset = table_.Get(name);
      for (Eigen::Index i = 0; i < n; ++i)
        own_.rows.offset[i] += offset.numbers[RowAt(i)] / spec_.outcome.scale;
    }
    SetWeights();
    SetClusters();
    Count();
    return std::move(own_);
  }

 private:
  size_t RowAt(Eigen::Index i) const { return rows_[static_cast<size_t>(i)]; }

  void SetColumn(size_t c) {
    const std::vector<double> values = data::ColumnValues(spec_.columns[c], table_, rows_);
    own_.rows.x.col(static_cast<Eigen::Index>(c)) =
        Eigen::Map<const Eigen::VectorXd>(values.data(), own_.rows.x.rows());
  }

  void SetWeights() {
    own_.rows.copies = spec_.copies();
    if (spec_.weights.empty()) return;
    const std::vector<double>& numbers = table_.Get(spec_.weights).numbers;
    own_.rows.weights.resize(own_.rows.x.rows());
    for (Eigen::Index i = 0; i < own_.rows.x.rows(); ++i)
      own_.rows.weights[i] = numbers[RowAt(i)] / spec_.weight_unit();
  }

  void SetClusters() {
    if (!spec_.clustered()) return;
    const data::Column& column = table_.Get(spec_.cluster);
    std::map<double, uint32_t> places;
    for (Eigen::Index i = 0; i < own_.rows.x.rows(); ++i) {
      const size_t r = RowAt(i);
      const double value = column.codes.empty() ? column.numbers[r] : column.codes[r];
      const auto place = static_cast<uint32_t>(places.size());
      own_.rows.clusters.push_back(places.emplace(value, place).first->second);
    }
  }

  void Count() {
    std::vector<uint8_t> classes;
    std::vector<Int128> copies;
    const Eigen::Index n = own_.rows.x.rows();
    for (Eigen::Index i = 0; i < n; ++i) {
      if (tables_.classes > 1) classes.push_back(static_cast<uint8_t>(own_.rows.y[i]));
      if (own_.rows.copies) copies.push_back(static_cast<Int128>(own_.rows.weights[i]));
    }
    const std::vector<Int128> cells =
        data::CountCells(spec_, tables_, table_, rows_, classes, copies);
    std::copy(cells.begin(), cells.end(), own_.counts.begin());
    for (size_t i = 0; i < classes.size(); ++i)
      own_.counts[tables_.num_cells + classes[i]] += copies.empty() ? 1 : copies[i];
    if (tables_.clustered)
      own_.counts[own_.counts.size() - 2] = static_cast<Int128>(NumClusters(own_.rows));
    own_.counts.back() = static_cast<Int128>(own_.rows.count());
  }

  const Spec& spec_;
  const CountTables& tables_;
  const data::Table& table_;
  const std::vector<size_t>& rows_;
  OwnData own_;
};

}  // namespace

double OutcomeOf(const Outcome& outcome, const data::Column& column, size_t row) {
  if (outcome.levels) return column.codes[row];
  return (column.numbers[row] - outcome.centre) / outcome.scale;
}

CountTables::CountTables(const Spec& spec, const data::Schema& factors)
    : data::ModelCounts(spec, factors, spec.law.binary ? 2 : std::max<size_t>(spec.law.classes, 1)),
      clustered(spec.counts_clusters()) {}

std::vector<std::string> NeededColumns(const Spec& spec) {
  std::vector<std::string> names = data::NeededColumns(spec);
  if (!spec.outcome.levels) names.push_back(spec.outcome.name);
  return names;
}

OwnData NoData(const Spec& spec, const CountTables& tables) {
  OwnData own;
  own.rows.x.resize(0, static_cast<Eigen::Index>(spec.columns.size()));
  own.rows.y.resize(0);
  own.rows.offset.resize(0);
  own.counts.resize(tables.total());
  return own;
}

void TakeMoments(const Spec& spec, int bits, OwnData& own) {
  RoundRows(own.rows, bits);
  own.moments = MomentsOf(own.rows, spec.columns.size(), bits);
  own.rows = {};
}

OwnData OwnDataOf(const Spec& spec, const CountTables& tables, const data::Table& table,
                  const std::vector<size_t>& rows) {
  return DesignRows(spec, tables, table, rows).Make();
}

}  // namespace partita::methods::glm
