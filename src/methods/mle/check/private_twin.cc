#include "methods/mle/check/private_twin.h"

#include <cmath>

#include "data/condition.h"
#include "data/scaling.h"
#include "methods/mle/check/pooled_rows.h"

namespace partita::methods::mle {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

// Rows by columns of the task: scaled, and shortened holder by holder.
MatrixXd ClippedValues(const MleStudy& study, const Computation& computation,
                       const data::Table& table, const std::vector<std::string>& row_blocks) {
  const size_t p = computation.variables.size();
  MatrixXd values(static_cast<Index>(table.num_rows), static_cast<Index>(p));
  for (size_t v = 0; v < p; ++v) {
    const data::ColumnSchema& schema = computation.variables[v].schema;
    const data::ColumnScale scale = data::ScaleOf(schema);
    const std::vector<double>& numbers = table.Get(schema.name).numbers;
    for (size_t i = 0; i < table.num_rows; ++i) {
      const double z = (numbers[i] - scale.centre) / scale.half_width;
      values(static_cast<Index>(i), static_cast<Index>(v)) = std::isnan(z) ? 0 : z;
    }
  }
  for (const RowBlock& block : computation.task.blocks) {
    for (const BlockHolder& holder : block.holders) {
      const double bound =
          study.privacy->promise.norm * std::sqrt(static_cast<double>(holder.variables.size()) /
                                                  static_cast<double>(study.privacy->dimension));
      const std::vector<Index> own(holder.variables.begin(), holder.variables.end());
      for (size_t i = 0; i < table.num_rows; ++i) {
        if (row_blocks[i] != block.name) continue;
        const auto row = static_cast<Index>(i);
        const double norm = VectorXd(values(row, own)).norm();
        if (norm > bound) values(row, own) *= bound / norm;
      }
    }
  }
  return values;
}

// By row: whether it is in the cell.
std::vector<uint8_t> InCell(const MleStudy& study, const RowSelection& selection,
                            const data::Table& table) {
  std::vector<uint8_t> in = data::SelectRows(table, selection.conditions);
  const std::vector<uint8_t> complete = data::CompleteRows(table, study.required);
  for (size_t i = 0; i < in.size(); ++i) {
    const bool level =
        selection.group.empty() || table.Get(selection.group).codes[i] == selection.level;
    in[i] = in[i] != 0 && complete[i] != 0 && level ? 1 : 0;
  }
  return in;
}

double RealOf(Int128 grid) {
  return std::ldexp(static_cast<double>(grid), -2 * kPrivateFractionBits);
}

}  // namespace

std::vector<ReleasedNumber> ReleasedNumbers(const MleStudy& study,
                                            const std::vector<NoisedMoments>& opened,
                                            data::Table pooled,
                                            const std::vector<std::string>& row_blocks) {
  data::AddDesignColumns(pooled, study.file.dictionary, study.file.derived);
  const Computation& computation = study.computations.front();
  const PrivateMoments& design = *study.privacy;
  const MatrixXd values = ClippedValues(study, computation, pooled, row_blocks);
  const auto p = static_cast<size_t>(values.cols());
  std::vector<ReleasedNumber> numbers;
  for (size_t c = 0; c < design.release.cells.size(); ++c) {
    const std::vector<uint8_t> in =
        InCell(study, computation.selections[design.release.cells[c]], pooled);
    double count = 0;
    VectorXd sum = VectorXd::Zero(values.cols());
    MatrixXd cross = MatrixXd::Zero(values.cols(), values.cols());
    for (size_t i = 0; i < in.size(); ++i) {
      if (in[i] == 0) continue;
      const VectorXd row = values.row(static_cast<Index>(i)).transpose();
      count += 1;
      sum += row;
      cross += row * row.transpose();
    }
    const NoisedMoments& of = opened.at(c);
    numbers.push_back({!design.public_count,
                       design.public_count ? static_cast<double>(of.count) : RealOf(of.count),
                       count});
    for (const size_t v : design.release.variables)
      numbers.push_back({true, RealOf(of.sum[v]), sum(static_cast<Index>(v))});
    for (const auto& [a, b] : design.release.pairs) {
      numbers.push_back(
          {true, RealOf(of.cross[a * p + b]), cross(static_cast<Index>(a), static_cast<Index>(b))});
    }
  }
  return numbers;
}

}  // namespace partita::methods::mle
