#include "stats/glm/ordinal.h"

#include <algorithm>
#include <cmath>

namespace partita::stats::glm {
namespace {

using Eigen::Index;
using Eigen::VectorXd;

double Logistic(double value) { return 1 / (1 + std::exp(-value)); }

// log(1 + e^value).
double Log1pExp(double value) {
  return value > 0 ? value + std::log1p(std::exp(-value)) : std::log1p(std::exp(value));
}

// What a row adds, of its two linear predictors: derivatives of the log-likelihood and less the second.
struct CutTerms {
  double upper = 0, lower = 0;                 // by u, by v
  double of_upper = 0, of_lower = 0, gap = 0;  // F(u) (1 - F(u)), the same of v, and of u - v
  double minus_log = 0;
  double pearson = 0;  // P
  bool outside = false;
};

class OrdinalRows {
 public:
  OrdinalRows(const Law& law, const Rows& rows, const VectorXd& point, const Limits& limits)
      : rows_(rows),
        limits_(limits),
        last_(static_cast<Index>(law.classes) - 1),
        p_(rows.x.cols()),
        cuts_(point.tail(last_) / kCutScale),
        eta_(rows.x * point.head(p_) + rows.offset) {}

  CutTerms TermsOf(Index i) const {
    const auto k = static_cast<Index>(rows_.y[i]);
    CutTerms terms;
    if (k < last_) {
      const double u = Within(cuts_[k] - eta_[i], terms), f = Logistic(u);
      terms.upper = 1 - f;
      terms.of_upper = f * (1 - f);
      terms.pearson += std::exp(-u);
      terms.minus_log += Log1pExp(-u);
    }
    if (k > 0) {
      const double v = Within(cuts_[k - 1] - eta_[i], terms), f = Logistic(v);
      terms.lower = -f;
      terms.of_lower = f * (1 - f);
      terms.pearson += std::exp(v);
      terms.minus_log += Log1pExp(v);
    }
    if (k == 0 || k == last_) return terms;
    const double apart = cuts_[k] - cuts_[k - 1], gap = std::max(apart, kLeastGap);
    terms.outside = terms.outside || gap != apart;
    const double more = std::expm1(gap);
    terms.upper += 1 / more;
    terms.lower -= 1 / more;
    terms.gap = (more + 1) / (more * more);
    terms.pearson += std::exp(-gap);
    terms.minus_log -= std::log(-std::expm1(-gap));
    return terms;
  }

 private:
  double Within(double value, CutTerms& terms) const {
    const double clamped = std::clamp(value, limits_.lower, limits_.upper);
    terms.outside = terms.outside || clamped != value;
    return clamped;
  }

  const Rows& rows_;
  const Limits limits_;
  const Index last_, p_;
  const VectorXd cuts_, eta_;
};

}  // namespace

PointSums OrdinalSums(const Law& law, const Rows& rows, const VectorXd& point,
                      const Limits& limits) {
  const Index p = rows.x.cols(), n = rows.x.rows(), all = point.size();
  PointSums sums{VectorXd::Zero(all), Eigen::MatrixXd::Zero(all, all)};
  const OrdinalRows at(law, rows, point, limits);
  // Derivatives by x'b, and less the second; of a cut point and x'b.
  VectorXd of_eta(n), curved(n);
  Eigen::MatrixXd crossed = Eigen::MatrixXd::Zero(p, all - p);
  for (Index i = 0; i < n; ++i) {
    const CutTerms terms = at.TermsOf(i);
    const double w = rows.weight(i);
    const auto k = static_cast<Index>(rows.y[i]);
    const bool has_upper = k<all - p, has_lower = k> 0;
    of_eta[i] = -w * (terms.upper + terms.lower);
    curved[i] = w * (terms.of_upper + terms.of_lower);
    sums.deviance += 2 * w * terms.minus_log;
    sums.outside += terms.outside ? 1 : 0;
    const auto add = [&](Index cut, double score, double information) {
      sums.score[p + cut] += w * score / kCutScale;
      sums.information(p + cut, p + cut) += w * (information + terms.gap) / (kCutScale * kCutScale);
      crossed.col(cut) -= w * information / kCutScale * rows.x.row(i).transpose();
    };
    if (has_upper) add(k, terms.upper, terms.of_upper);
    if (has_lower) add(k - 1, terms.lower, terms.of_lower);
    if (!has_upper || !has_lower) continue;
    const double between = w * terms.gap / (kCutScale * kCutScale);
    sums.information(p + k, p + k - 1) -= between;
    sums.information(p + k - 1, p + k) -= between;
  }
  sums.score.head(p) = rows.x.transpose() * of_eta;
  sums.information.topLeftCorner(p, p) = rows.x.transpose() * curved.asDiagonal() * rows.x;
  sums.information.topRightCorner(p, all - p) = crossed;
  sums.information.bottomLeftCorner(all - p, p) = crossed.transpose();
  return sums;
}

RowScore OrdinalScore(const Law& law, const Rows& rows, const VectorXd& point,
                      const Limits& limits) {
  const OrdinalRows at(law, rows, point, limits);
  const Index p = rows.x.cols(), last = point.size();
  return [at, p, last, &rows](Index i, VectorXd& score) {
    const CutTerms terms = at.TermsOf(i);
    const auto k = static_cast<Index>(rows.y[i]);
    score.setZero();
    score.head(p) = -(terms.upper + terms.lower) * rows.x.row(i).transpose();
    if (p + k < last) score[p + k] = terms.upper / kCutScale;
    if (k > 0) score[p + k - 1] = terms.lower / kCutScale;
    return terms.pearson;
  };
}

VectorXd OrdinalStart(const Law& law, const Rows& rows) {
  VectorXd counts = VectorXd::Constant(static_cast<Index>(law.classes), 0.5);
  for (Index i = 0; i < rows.y.size(); ++i) counts[static_cast<Index>(rows.y[i])] += rows.weight(i);
  const Index p = rows.x.cols();
  VectorXd start = VectorXd::Zero(p + counts.size() - 1);
  double below = 0;
  for (Index k = 0; k + 1 < counts.size(); ++k) {
    below += counts[k];
    start[p + k] = kCutScale * std::log(below / (counts.sum() - below));
  }
  return start;
}

Rows WithRowOfEachClass(const Law& law, const Rows& rows) {
  const auto classes = static_cast<Index>(law.classes);
  const Index n = rows.x.rows();
  Rows more{Eigen::MatrixXd::Zero(n + classes, rows.x.cols()), VectorXd(n + classes),
            VectorXd::Zero(n + classes), VectorXd(n + classes)};
  more.x.topRows(n) = rows.x;
  more.offset.head(n) = rows.offset;
  more.y << rows.y, VectorXd::LinSpaced(classes, 0, static_cast<double>(classes - 1));
  for (Index i = 0; i < n + classes; ++i) more.weights[i] = i < n ? rows.weight(i) : 0.5;
  return more;
}

}  // namespace partita::stats::glm
