#include "stats/glm/sites.h"

#include <algorithm>

#include "stats/glm/fit.h"

namespace partita::stats::glm {
namespace {

bool HasNoMaximum(const Law& law, const Eigen::VectorXd& y) {
  const bool counts = law.family == Family::kBinomial || law.family == Family::kPoisson;
  if (y.size() == 0 || (counts && y.maxCoeff() == 0)) return true;
  return law.family == Family::kBinomial && y.minCoeff() == 1;
}

Rows NoRows(const Rows& rows) {
  Rows none{Eigen::MatrixXd(0, rows.x.cols()), Eigen::VectorXd(0), Eigen::VectorXd(0)};
  none.copies = rows.copies;
  return none;
}

}  // namespace

Rows ProfiledRows(const Law& law, const Rows& rows, const Eigen::VectorXd& point,
                  const Limits& limits) {
  if (HasNoMaximum(law, rows.y)) return NoRows(rows);
  const Eigen::Index n = rows.x.rows();
  Rows alone{Eigen::MatrixXd::Ones(n, 1), rows.y, rows.offset + rows.x * point, rows.weights,
             rows.copies};
  const double own = Maximise(law, alone, limits).point[0];
  Eigen::VectorXd weights(n);
  for (Eigen::Index i = 0; i < n; ++i) {
    const double eta = std::clamp(alone.offset[i] + own, limits.lower, limits.upper);
    weights[i] = rows.weight(i) * TermsAt(law, rows.y[i], eta).weight;
  }
  const Eigen::VectorXd means = rows.x.transpose() * weights / weights.sum();
  Rows profiled = rows;
  profiled.x.rowwise() -= means.transpose();
  profiled.offset.array() += own + means.dot(point);
  return profiled;
}

FirstSums FirstProfiledSums(const Law& law, const Rows& rows, const Limits& limits) {
  const Eigen::Index p = rows.x.cols();
  FirstSums sums{Eigen::VectorXd::Zero(p), Eigen::MatrixXd::Zero(p, p), 0,
                 Eigen::VectorXd::Zero(p)};
  if (HasNoMaximum(law, rows.y)) return sums;
  const Rows with_intercept = WithSiteColumns({rows});
  sums.own = Maximise(law, with_intercept, limits,
                      Eigen::VectorXd::Constant(with_intercept.x.cols(), kOwnRidge))
                 .point.head(p);
  const PointSums at = SumsAt(law, ProfiledRows(law, rows, sums.own, limits), sums.own, limits);
  sums.information = at.information;
  sums.weighted = at.information * sums.own;
  sums.pearson = at.pearson;
  return sums;
}

Rows WithSiteColumns(const std::vector<Rows>& by_site) {
  Rows all = Pooled(by_site);
  const Eigen::Index p = all.x.cols(), n = all.x.rows();
  all.x.conservativeResize(n, p + static_cast<Eigen::Index>(by_site.size()));
  all.x.rightCols(all.x.cols() - p).setZero();
  Eigen::Index next = 0, column = p;
  for (const Rows& rows : by_site) {
    all.x.col(column++).segment(next, rows.x.rows()).setOnes();
    next += rows.x.rows();
  }
  return all;
}

}  // namespace partita::stats::glm
