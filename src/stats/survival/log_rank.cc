#include "stats/survival/log_rank.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <boost/math/distributions/chi_squared.hpp>
#include <map>

namespace partita::stats::survival {
namespace {

struct Leaving {
  Eigen::VectorXd events, all;  // by group
};

// U' V^-1 U over all groups with a positive expectation but one.
void Test(LogRank& test) {
  std::vector<Eigen::Index> kept;
  for (Eigen::Index g = 0; g < test.expected.size(); ++g) {
    if (test.expected[g] > 0) kept.push_back(g);
  }
  if (kept.size() < 2) return;
  kept.pop_back();
  const auto df = static_cast<Eigen::Index>(kept.size());
  Eigen::VectorXd u(df);
  Eigen::MatrixXd v(df, df);
  for (Eigen::Index i = 0; i < df; ++i) {
    const Eigen::Index g = kept[static_cast<size_t>(i)];
    u[i] = static_cast<double>(test.observed[static_cast<size_t>(g)]) - test.expected[g];
    for (Eigen::Index j = 0; j < df; ++j) v(i, j) = test.variance(g, kept[static_cast<size_t>(j)]);
  }
  test.chi_square = u.dot(v.ldlt().solve(u));
  test.df = static_cast<int>(df);
}

void AddGroups(const std::vector<std::vector<Observation>>& groups, LogRank& test) {
  const Eigen::Index k = test.expected.size();
  std::map<double, Leaving> times;
  Eigen::VectorXd at_risk(k);
  for (Eigen::Index g = 0; g < k; ++g) {
    const auto group = static_cast<size_t>(g);
    const std::vector<Observation>& rows = groups[group];
    test.rows[group] += rows.size();
    test.observed[group] += static_cast<uint64_t>(
        std::count_if(rows.begin(), rows.end(), [](const auto& row) { return row.event; }));
    at_risk[g] = static_cast<double>(rows.size());
    for (const Observation& row : rows) {
      Leaving& leaving =
          times.try_emplace(row.time, Leaving{Eigen::VectorXd::Zero(k), Eigen::VectorXd::Zero(k)})
              .first->second;
      ++leaving.all[g];
      if (row.event) ++leaving.events[g];
    }
  }
  for (const auto& [time, leaving] : times) {
    const double n = at_risk.sum(), d = leaving.events.sum();
    const Eigen::VectorXd share = at_risk / n;
    test.expected += d * share;
    if (n > 1) {
      const Eigen::MatrixXd of_one =
          Eigen::MatrixXd(share.asDiagonal()) - share * share.transpose();
      test.variance += d * (n - d) / (n - 1) * of_one;
    }
    at_risk -= leaving.all;
  }
}

}  // namespace

LogRank LogRankOf(const std::vector<std::vector<Observation>>& groups) {
  const size_t count = groups.size();
  const auto k = static_cast<Eigen::Index>(count);
  LogRank test;
  test.rows.assign(count, 0);
  test.observed.assign(count, 0);
  test.expected.setZero(k);
  test.variance.setZero(k, k);
  AddGroups(groups, test);
  Test(test);
  return test;
}

double ChiSquareTail(double statistic, int df) {
  if (df == 0) return 1;
  return boost::math::cdf(
      boost::math::complement(boost::math::chi_squared(df), std::max(statistic, 0.0)));
}

}  // namespace partita::stats::survival
