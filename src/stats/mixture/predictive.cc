#include "stats/mixture/predictive.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/error.h"
#include "stats/mixture/gradient.h"

namespace partita::stats::mixture {
namespace {

using Eigen::ArrayXd;
using Eigen::ArrayXXd;
using Eigen::Index;

constexpr size_t kRowsAtOnce = 512;  // their log densities stay in the cache

// Cumulative sums, the last one exactly 1.
std::vector<double> Cumulative(const ArrayXd& probabilities) {
  std::vector<double> sums;
  double sum = 0;
  for (const double p : probabilities) sums.push_back(sum += p);
  sums.back() = 1;
  return sums;
}

size_t DrawIndex(const std::vector<double>& cumulative, blr::Variates& variates) {
  const auto found = std::upper_bound(cumulative.begin(), cumulative.end(), variates.Uniform());
  return static_cast<size_t>(std::min(found, cumulative.end() - 1) - cumulative.begin());
}

// Sums of exponential gaps for small rates; above, a Poisson variate is that of a Gamma split
// (Ahrens & Dieter 1974): the m-th event of the process falls before the end or after it.
double DrawPoisson(double rate, blr::Variates& variates) {
  double count = 0;
  while (rate > 30) {
    const double m = std::floor(rate * 7 / 8);
    const double time = variates.Gamma(m);
    if (time <= rate) {
      count += m;
      rate -= time;
      continue;
    }
    for (double i = 0; i < m - 1; ++i) count += variates.Uniform() < rate / time ? 1 : 0;
    return count;
  }
  for (double time = variates.Exponential(); time < rate; time += variates.Exponential()) ++count;
  return count;
}

using DrawValue = std::function<double(size_t component)>;

DrawValue CategoricalValues(const Feature& feature, Index first, const ArrayXXd& rho,
                            blr::Variates& variates) {
  std::vector<std::vector<double>> cumulative;
  for (Index k = 0; k < rho.rows(); ++k) {
    const ArrayXd logits = rho.row(k).segment(first, static_cast<Index>(feature.levels));
    cumulative.push_back(Cumulative(LogSoftmax(logits).exp()));
  }
  return [cumulative = std::move(cumulative), &variates](size_t k) {
    return static_cast<double>(DrawIndex(cumulative[k], variates));
  };
}

DrawValue BetaValues(Index j, const ArrayXXd& rho, blr::Variates& variates) {
  return [j, &rho, &variates](size_t component) {
    const auto k = static_cast<Index>(component);
    const double shape_a = Softplus(rho(k, j)), shape_b = Softplus(rho(k, j + 1));
    const double a = variates.Gamma(shape_a), b = variates.Gamma(shape_b);
    // Both underflow only where shapes are so small that nearly all mass is at 0 and 1.
    const double end = variates.Uniform() < shape_a / (shape_a + shape_b) ? 1 : 0;
    return std::clamp(a + b > 0 ? a / (a + b) : end, 1e-12, 1 - 1e-12);
  };
}

DrawValue ValuesOf(const Layout& layout, size_t f, const ArrayXXd& rho, blr::Variates& variates) {
  const Feature& feature = layout.features[f];
  const auto j = static_cast<Index>(layout.first[f]);
  const auto line = [](size_t k) { return static_cast<Index>(k); };
  switch (feature.family) {
    case Family::kCategorical:
      return CategoricalValues(feature, j, rho, variates);
    case Family::kBernoulli:
      return [=, &rho, &variates](size_t k) {
        return variates.Uniform() < 1 / (1 + std::exp(-rho(line(k), j))) ? 1.0 : 0.0;
      };
    case Family::kBeta:
      return BetaValues(j, rho, variates);
    case Family::kGaussian:
      return [=, &rho, &variates](size_t k) {
        return rho(line(k), j) + variates.Normal() / std::sqrt(Softplus(rho(line(k), j + 1)));
      };
    case Family::kPoisson:
      return [=, &rho, &variates, scale = feature.scale](size_t k) {
        return DrawPoisson(scale * Softplus(rho(line(k), j)), variates);
      };
  }
  throw Error(ErrorCode::kInternal, "unknown family of a feature");
}

}  // namespace

ArrayXd LogDensityOfRows(const Layout& layout, const Rows& rows, const ArrayXXd& theta) {
  const Components components =
      MakeComponents(layout, theta.rightCols(static_cast<Index>(layout.num_columns)));
  const ArrayXd log_pi = LogSoftmax(theta.col(0));
  const std::vector<uint32_t> all = AllRows(rows.num_rows);
  ArrayXd out(static_cast<Index>(rows.num_rows));
  for (size_t begin = 0; begin < all.size(); begin += kRowsAtOnce) {
    const size_t count = std::min(kRowsAtOnce, all.size() - begin);
    ArrayXXd joint = LogDensities(layout, components, rows, std::span(all).subspan(begin, count));
    joint.colwise() += log_pi;
    const Eigen::Array<double, 1, Eigen::Dynamic> top = joint.colwise().maxCoeff();
    joint = (joint.rowwise() - top).exp();
    out.segment(static_cast<Index>(begin), static_cast<Index>(count)) =
        (top + joint.colwise().sum().log()).transpose();
  }
  return out;
}

double PlugInLogDensity(const Layout& layout, const Rows& rows, const VariationalState& state) {
  return LogDensityOfRows(layout, rows, state.mean).mean();
}

double PredictiveLogDensity(const Layout& layout, const Rows& rows, const VariationalState& state,
                            size_t draws, blr::Variates& variates) {
  if (draws == 0) throw Error(ErrorCode::kUsage, "a predictive density needs a draw");
  ArrayXd sum;  // log of the sum of densities so far
  for (size_t i = 0; i < draws; ++i) {
    const ArrayXd next = LogDensityOfRows(layout, rows, DrawTheta(state, variates));
    if (i == 0) {
      sum = next;
    } else {
      const ArrayXd top = sum.max(next);
      sum = top + ((sum - top).exp() + (next - top).exp()).log();
    }
  }
  return sum.mean() - std::log(static_cast<double>(draws));
}

std::vector<double> SortedWeights(const VariationalState& state) {
  const ArrayXd pi = LogSoftmax(state.mean.col(0)).exp();
  std::vector<double> weights(pi.begin(), pi.end());
  std::sort(weights.begin(), weights.end(), std::greater<>());
  return weights;
}

size_t ActiveComponents(const VariationalState& state) {
  const std::vector<double> weights = SortedWeights(state);
  return static_cast<size_t>(std::count_if(weights.begin(), weights.end(),
                                           [](double weight) { return weight > kActiveWeight; }));
}

ArrayXXd DrawTheta(const VariationalState& state, blr::Variates& variates) {
  return ThetaAt(state, DrawEta(state, variates));
}

std::vector<std::vector<double>> DrawRows(const Layout& layout, const ArrayXXd& theta, size_t count,
                                          blr::Variates& variates) {
  const ArrayXXd rho = theta.rightCols(static_cast<Index>(layout.num_columns));
  const std::vector<double> weights = Cumulative(LogSoftmax(theta.col(0)).exp());
  std::vector<DrawValue> draw;
  for (size_t f = 0; f < layout.features.size(); ++f)
    draw.push_back(ValuesOf(layout, f, rho, variates));
  std::vector<std::vector<double>> values(draw.size());
  for (size_t n = 0; n < count; ++n) {
    const size_t component = DrawIndex(weights, variates);
    for (size_t f = 0; f < draw.size(); ++f) values[f].push_back(draw[f](component));
  }
  return values;
}

}  // namespace partita::stats::mixture
