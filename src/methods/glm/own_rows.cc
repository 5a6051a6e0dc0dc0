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
    const auto column = static_cast<Eigen::Index>(c);
    for (const std::string& part : spec_.columns[c].parts) {
      const std::vector<double>& numbers = table_.Get(part).numbers;
      for (Eigen::Index i = 0; i < own_.rows.x.rows(); ++i)
        own_.rows.x(i, column) *= numbers[RowAt(i)];
    }
    own_.rows.x.col(column) /= spec_.columns[c].scale;
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

  size_t ClassOf(Eigen::Index i) const { return tables_.classes > 1 && own_.rows.y[i] > 0 ? 1 : 0; }

  Int128 CopiesOf(Eigen::Index i) const {
    return own_.rows.copies ? static_cast<Int128>(own_.rows.weights[i]) : 1;
  }

  void Count() {
    size_t first = 0;
    const auto add = [&](size_t cell, Eigen::Index i) {
      own_.counts[first + cell * tables_.classes + ClassOf(i)] += CopiesOf(i);
    };
    const Eigen::Index n = own_.rows.x.rows();
    size_t next = 0;
    for (const std::string& name : spec_.factors) {
      const std::vector<int32_t>& codes = table_.Get(name).codes;
      for (Eigen::Index i = 0; i < n; ++i) add(static_cast<size_t>(codes[RowAt(i)]), i);
      first += tables_.sizes[next++];
    }
    for (const std::string& name : spec_.binaries) {
      const std::vector<double>& numbers = table_.Get(name).numbers;
      for (Eigen::Index i = 0; i < n; ++i) add(numbers[RowAt(i)] > 0 ? 1 : 0, i);
      first += tables_.sizes[next++];
    }
    for (const size_t c : spec_.products) {
      for (Eigen::Index i = 0; i < n; ++i) {
        if (own_.rows.x(i, static_cast<Eigen::Index>(c)) > 0) add(0, i);
      }
      first += tables_.sizes[next++];
    }
    if (tables_.classes > 1) {
      for (Eigen::Index i = 0; i < n; ++i) add(0, i);
    }
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

CountTables::CountTables(const Spec& spec, const data::Schema& factors) {
  if (spec.law.binary) classes = 2;
  clustered = spec.clustered();
  const auto add = [&](const std::string& name, size_t cells) {
    names.push_back(name);
    sizes.push_back(cells * classes);
    num_cells += sizes.back();
  };
  for (const std::string& name : spec.factors) add(name, factors.Find(name)->levels.size());
  for (const std::string& name : spec.binaries) add(name, 2);
  for (const size_t c : spec.products) add(spec.columns[c].name, 1);
}

data::Schema FactorsOf(const Spec& spec, const data::Schema& dictionary,
                       std::vector<data::DerivedVariable> derived) {
  derived.insert(derived.end(), spec.made.begin(), spec.made.end());
  return data::WithDerivedFactors(dictionary, derived);
}

std::vector<std::string> NeededColumns(const Spec& spec) {
  std::vector<std::string> names = spec.offsets;
  if (!spec.outcome.levels) names.push_back(spec.outcome.name);
  for (const ModelColumn& column : spec.columns)
    names.insert(names.end(), column.parts.begin(), column.parts.end());
  names.insert(names.end(), spec.binaries.begin(), spec.binaries.end());
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

OwnData OwnDataOf(const Spec& spec, const CountTables& tables, const data::Table& table,
                  const std::vector<size_t>& rows) {
  return DesignRows(spec, tables, table, rows).Make();
}

}  // namespace partita::methods::glm
