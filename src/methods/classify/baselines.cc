#include "methods/classify/baselines.h"

#include <cmath>

#include "base/error.h"
#include "stats/erm/loss.h"

namespace partita::methods::classify {
namespace {

using Eigen::Index;
using Eigen::VectorXd;
using stats::erm::LabelledRows;

void CheckTask(const BaselineTask& task) {
  if (task.lambda > 0 && task.dimension > 0 && task.rows > 0 && task.party_rows > 0 &&
      task.iterations > 0) {
    return;
  }
  throw Error(ErrorCode::kUsage,
              "a baseline needs a penalty above 0, rows, columns and iterations");
}

void CheckOwn(const BaselineTask& task, const LabelledRows& rows) {
  stats::erm::CheckRows(rows);
  if (static_cast<uint64_t>(rows.x.rows()) > task.party_rows ||
      rows.x.cols() != static_cast<Index>(task.dimension) ||
      rows.x.rowwise().norm().maxCoeff() > 1) {
    throw Error(ErrorCode::kBadData,
                "the table has more rows or other columns than declared, or a row longer than 1");
  }
}

std::vector<Int128> OnGrid(const VectorXd& values, int fraction_bits) {
  std::vector<Int128> grid;
  for (const double value : values) grid.push_back(mpc::EncodeFixed(value, fraction_bits));
  return grid;
}

VectorXd OffGrid(const std::vector<Int128>& grid, int fraction_bits) {
  VectorXd values(static_cast<Index>(grid.size()));
  for (size_t j = 0; j < grid.size(); ++j) {
    values(static_cast<Index>(j)) = mpc::DecodeFixed(grid[j], fraction_bits);
  }
  return values;
}

NoisedSum ExactSum(const BaselineTask& task, const char* release, double party_bound) {
  CheckTask(task);
  NoisedSum sum;
  sum.release = release;
  sum.dimension = task.dimension;
  sum.fraction_bits = task.fraction_bits;
  sum.party_bound = party_bound;
  return sum;
}

}  // namespace

NoisedSum DesignModelAverage(const BaselineTask& task) {
  // J(w) <= J(0) bounds the minimiser.
  return ExactSum(task, "exact-average",
                  std::sqrt(2 * stats::erm::LossValue(task.loss, 0) / task.lambda) + 1);
}

NoisedSum DesignFederated(const BaselineTask& task) {
  return ExactSum(task, "exact-gradients", static_cast<double>(task.party_rows) + 1);
}

VectorXd OwnFit(const BaselineTask& task, const LabelledRows& rows) {
  CheckTask(task);
  CheckOwn(task, rows);
  stats::erm::Objective objective;
  objective.loss = task.loss;
  objective.lambda = task.lambda;
  return stats::erm::Minimize(rows, objective).w;
}

VectorXd RunModelAverage(mpc::Engine& engine, const BaselineTask& task, const NoisedSum& sum,
                         const std::optional<LabelledRows>& rows) {
  engine.BeginPhase("average");
  std::vector<Int128> own;
  if (rows) own = OnGrid(OwnFit(task, *rows), task.fraction_bits);
  return OffGrid(OpenNoisedSum(engine, sum, own), task.fraction_bits) / task.parties;
}

VectorXd RunFederated(mpc::Engine& engine, const BaselineTask& task, const NoisedSum& sum,
                      const std::optional<LabelledRows>& rows, Progress& progress) {
  CheckTask(task);
  engine.BeginPhase("gradients");
  if (rows) CheckOwn(task, *rows);
  const double curvature = task.lambda + stats::erm::MaxCurvature(task.loss);
  const double root = std::sqrt(task.lambda / curvature);
  const double momentum = (1 - root) / (1 + root);
  VectorXd w = VectorXd::Zero(static_cast<Index>(task.dimension)), ahead = w;
  for (uint64_t t = 0; t < task.iterations; ++t) {
    progress.Step(t, task.iterations);
    progress.CheckCancelled();
    std::vector<Int128> own;
    if (rows) {
      own = OnGrid(stats::erm::SumOfGradients(*rows, task.loss, ahead), task.fraction_bits);
    }
    const std::vector<Int128> opened = OpenNoisedSum(engine, sum, own);
    if (opened.empty()) continue;
    const VectorXd gradient =
        OffGrid(opened, task.fraction_bits) / static_cast<double>(task.rows) + task.lambda * ahead;
    const VectorXd next = ahead - gradient / curvature;
    ahead = next + momentum * (next - w);
    w = next;
  }
  return engine.self() ? w : VectorXd();
}

}  // namespace partita::methods::classify
