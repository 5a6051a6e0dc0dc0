#include "stats/glm/robust.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "stats/glm/row_scores.h"

namespace partita::stats::glm {
namespace {

// Rows in the order of their clusters.
std::vector<Eigen::Index> ByCluster(const Rows& rows) {
  std::vector<Eigen::Index> order(static_cast<size_t>(rows.y.size()));
  std::iota(order.begin(), order.end(), Eigen::Index{0});
  const auto before = [&](Eigen::Index a, Eigen::Index b) {
    return rows.clusters[static_cast<size_t>(a)] < rows.clusters[static_cast<size_t>(b)];
  };
  if (!rows.clusters.empty()) std::stable_sort(order.begin(), order.end(), before);
  return order;
}

}  // namespace

Meat MeatAt(const Law& law, const Rows& rows, const Eigen::VectorXd& point, const Limits& limits,
            double most_pearson) {
  const Eigen::Index p = point.size();
  Meat made{Eigen::MatrixXd::Zero(p, p)};
  const RowScore score_of = RowScoreAt(law, rows, point, limits);
  Eigen::VectorXd score(p);
  const std::vector<Eigen::Index> order = ByCluster(rows);
  // Of each row or cluster a column of a block, whose Gram matrix is added.
  constexpr Eigen::Index kBlock = 512;
  Eigen::MatrixXd block = Eigen::MatrixXd::Zero(p, kBlock);
  Eigen::Index used = 0;
  for (size_t next = 0; next < order.size();) {
    Eigen::VectorXd sum = Eigen::VectorXd::Zero(p);
    double pearson = 0;
    const size_t first = next;
    do {
      const Eigen::Index i = order[next];
      const double of_row = score_of(i, score);
      const bool alone = rows.clusters.empty();
      const double weight = rows.weight(i);
      sum += (alone && rows.copies ? std::sqrt(weight) : weight) * score;
      pearson += (alone && rows.copies ? 1 : weight) * of_row;
      ++next;
    } while (next < order.size() && !rows.clusters.empty() &&
             rows.clusters[static_cast<size_t>(order[next])] ==
                 rows.clusters[static_cast<size_t>(order[first])]);
    if (pearson > most_pearson) {
      ++made.outside;
      continue;
    }
    block.col(used++) = sum;
    if (used < kBlock) continue;
    made.meat += block * block.transpose();
    used = 0;
  }
  made.meat += block.leftCols(used) * block.leftCols(used).transpose();
  if (law.family == Family::kNegativeBinomial)
    made.meat(p - 1, p - 1) = SumsAt(law, rows, point, limits).information(p - 1, p - 1);
  return made;
}

Eigen::MatrixXd SandwichCovariance(const Eigen::MatrixXd& information,
                                   const Eigen::MatrixXd& meat) {
  const Eigen::LDLT<Eigen::MatrixXd> factor(information);
  const Eigen::MatrixXd half = factor.solve(meat);
  return factor.solve(half.transpose());
}

Eigen::VectorXd SandwichErrors(const Eigen::MatrixXd& information, const Eigen::MatrixXd& meat) {
  return SandwichCovariance(information, meat).diagonal().cwiseSqrt();
}

uint64_t NumClusters(const Rows& rows) {
  return std::set<uint32_t>(rows.clusters.begin(), rows.clusters.end()).size();
}

}  // namespace partita::stats::glm
