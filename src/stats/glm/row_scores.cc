#include "stats/glm/row_scores.h"

#include <algorithm>

#include "stats/glm/multinomial.h"
#include "stats/glm/negative_binomial.h"
#include "stats/glm/ordinal.h"

namespace partita::stats::glm {

RowScore RowScoreAt(const Law& law, const Rows& rows, const Eigen::VectorXd& point,
                    const Limits& limits) {
  if (law.family == Family::kOrdinal) return OrdinalScore(law, rows, point, limits);
  if (law.family == Family::kMultinomial) return MultinomialScore(law, rows, point, limits);
  const Eigen::Index p = rows.x.cols();
  const Law at = AtPoint(law, rows, point);
  const Eigen::VectorXd eta = rows.x * point.head(p) + rows.offset;
  return [at, eta, limits, p, &rows](Eigen::Index i, Eigen::VectorXd& score) {
    const RowTerms terms = TermsAt(at, rows.y[i], std::clamp(eta[i], limits.lower, limits.upper));
    score.setZero();
    score.head(p) = terms.score * rows.x.row(i).transpose();
    return terms.pearson;
  };
}

}  // namespace partita::stats::glm
