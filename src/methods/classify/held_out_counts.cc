#include "methods/classify/held_out_counts.h"

#include <fmt/format.h>

#include <cmath>
#include <numeric>

#include "base/error.h"
#include "privacy/sampling/discrete_gaussian.h"
#include "privacy/sampling/release_statement.h"
#include "stats/blr/variates.h"

namespace partita::methods::classify {
namespace {

using Eigen::Index;
using Eigen::VectorXd;
using stats::erm::LabelledRows;
using stats::erm::ScoreCounts;

privacy::GridL2Sensitivity SensitivityOf(const CountsTask& task, privacy::Adjacency adjacency) {
  const double moved = adjacency == privacy::Adjacency::kReplace ? std::sqrt(2.0) : 1;
  return privacy::ToGrid(privacy::L2Sensitivity(moved * (1 + 1e-15)), task.fraction_bits,
                         2 * task.bins, 0);
}

LabelledRows Take(const LabelledRows& rows, std::span<const Index> chosen) {
  const std::vector<Index> list(chosen.begin(), chosen.end());
  return {rows.x(list, Eigen::all), rows.y(list)};
}

}  // namespace

HeldAside HoldAside(const LabelledRows& rows, double share, crypto::RandomSource& random) {
  const auto n = static_cast<size_t>(rows.x.rows());
  if (!(share >= 0 && share < 1)) {
    throw Error(ErrorCode::kUsage, "the share of test rows is from 0 to below 1");
  }
  const auto test = static_cast<size_t>(std::llround(share * static_cast<double>(n)));
  if (test >= n) throw Error(ErrorCode::kUsage, "no row is left to train with");
  std::vector<Index> order(n);
  std::iota(order.begin(), order.end(), Index{0});
  stats::blr::Variates variates(random);
  for (size_t i = n; i > 1; --i) std::swap(order[i - 1], order[variates.Below(i)]);
  const std::span<const Index> all(order);
  return {Take(rows, all.subspan(test)), Take(rows, all.first(test))};
}

NoisedSum DesignCounts(const CountsTask& task, double epsilon, double delta) {
  if (task.bins == 0 || task.bins % 2 != 0 || task.known_shares >= task.parties) {
    throw Error(ErrorCode::kUsage,
                "counts need an even number of bins, and a noise share that the adversary does not "
                "know");
  }
  NoisedSum sum;
  sum.release = "counts";
  sum.dimension = 2 * task.bins;
  sum.fraction_bits = task.fraction_bits;
  sum.party_bound = static_cast<double>(task.party_rows) + 1;
  sum.noise = privacy::ShareNoise(
      privacy::CalibrateDiscreteGaussian(SensitivityOf(task, task.adjacency), sum.dimension,
                                         privacy::Epsilon(epsilon), privacy::Delta(delta)),
      {task.parties, task.known_shares}, sum.dimension);
  sum.to = task.to;
  return sum;
}

ScoreCounts RunCounts(mpc::Engine& engine, const CountsTask& task, const NoisedSum& sum,
                      const std::optional<LabelledRows>& test, const VectorXd& w,
                      crypto::RandomSource& random) {
  engine.BeginPhase("evaluation");
  std::vector<Int128> own;
  if (test) {
    if (static_cast<uint64_t>(test->x.rows()) > task.party_rows || test->x.cols() != w.size()) {
      throw Error(ErrorCode::kBadData,
                  "the test rows are more, or have other columns, than declared");
    }
    own.resize(sum.dimension);
    privacy::DiscreteGaussian(sum.noise.share_variance).Sample(random, own);
    const ScoreCounts counts = stats::erm::CountScores(test->x * w, test->y, task.bins);
    for (size_t b = 0; b < task.bins; ++b) {
      own[b] += mpc::EncodeFixed(counts.positive[b], task.fraction_bits);
      own[task.bins + b] += mpc::EncodeFixed(counts.negative[b], task.fraction_bits);
    }
  }
  const std::vector<Int128> opened = OpenNoisedSum(engine, sum, own);
  ScoreCounts counts;
  if (opened.empty()) return counts;
  for (size_t b = 0; b < task.bins; ++b) {
    counts.positive.push_back(mpc::DecodeFixed(opened[b], task.fraction_bits));
    counts.negative.push_back(mpc::DecodeFixed(opened[task.bins + b], task.fraction_bits));
  }
  counts.noise_stddev = TotalStddev(sum);
  return counts;
}

privacy::Statement StateCounts(const CountsTask& task, const NoisedSum& sum,
                               const Audience& audience) {
  privacy::Statement statement = privacy::StateRelease(
      {audience.parties, sum.noise, audience.engine, task.adjacency,
       SensitivityOf(task, task.adjacency), SensitivityOf(task, privacy::Adjacency::kReplace),
       privacy::Delta(audience.delta)});
  statement.mechanism =
      fmt::format("Counts of test rows in {} bins of predicted probability, by label. {}",
                  task.bins, statement.mechanism);
  statement.caveats.emplace_back(
      "Test rows are not used for training, and which rows they are does not depend on what is in "
      "them: for one row the larger loss of training and test counts, not the sum.");
  privacy::CheckStatement(statement);
  return statement;
}

}  // namespace partita::methods::classify
