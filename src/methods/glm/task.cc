#include "methods/glm/task.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "mpc/functions/scoring_path.h"
#include "stats/glm/ordinal.h"

namespace partita::methods::glm {
namespace {

using stats::glm::Family;

// Of sums with 30 bits after the point, which are multiplied with logarithms.
constexpr double kMostSumBits = 48;

// -2 log of a probability at the limits, with three terms of ordinal models (stats/glm/ordinal.h).
constexpr double kMostClassDeviance = 80;
// Of the log-likelihood of a negative binomial law at its largest and smallest theta.
constexpr double kMostLogOfCount = 64;

int BitsAbove(double value) { return static_cast<int>(std::ceil(std::log2(value))); }

// Of an outcome of 0 or 1: a deviance, score and working weight, at the limits.
stats::glm::RowTerms MostTerms(const stats::glm::Law& law, const stats::glm::Limits& limits) {
  const stats::glm::RowTerms one = TermsAt(law, 1, limits.lower),
                             none = TermsAt(law, 0, limits.upper);
  return {std::max(one.weight, none.weight), std::max(one.score, -none.score),
          std::max(one.deviance, none.deviance), 0};
}

// The largest of what a row adds to the numbers of the fit.
double MostFit(const Spec& spec, const Units& units) {
  const double y = std::max(std::abs(spec.outcome.lower), std::abs(spec.outcome.upper));
  const double offset = std::max(std::abs(spec.offset_lower), std::abs(spec.offset_upper));
  const double predictor = std::max(std::abs(units.limits.lower), units.limits.upper) + offset;
  switch (spec.law.family) {
    case Family::kGaussian:
      return std::pow(y + predictor, 2);
    case Family::kBinomial:
      return MostTerms(spec.law, units.limits).deviance + 1;
    case Family::kOrdinal:
    case Family::kMultinomial:
      return kMostClassDeviance;
    case Family::kNegativeBinomial:
    case Family::kPoisson: {
      const double log_y = std::max(1.0, std::log(y));
      return std::max(2 * (y * (log_y + predictor) + std::exp(units.limits.upper)) + y,
                      2 * std::exp(offset)) +
             kMostLogOfCount;
    }
    case Family::kGamma:
      break;
  }
  const double log_y = std::max(std::abs(std::log(spec.outcome.lower)), std::abs(std::log(y)));
  const double most_mean = y / spec.outcome.lower * std::exp(2.0);
  return std::max(2 * (most_mean + log_y + predictor + 1), y * std::exp(offset));
}

}  // namespace

uint64_t Task::max_rows() const { return run::MostRows(holders); }

size_t NumCounts(const Task& task) {
  size_t cells = 1 + (task.classes > 1 ? task.classes : 0) + (task.spec.counts_clusters() ? 1 : 0);
  for (const size_t size : task.table_sizes) cells += size;
  return cells;
}

int Task::GridBitsOf(int point) const {
  if (point == spec.steps) return grid_bits;
  return std::min(point == 0 ? kFirstGridBits : kIterateGridBits, grid_bits);
}

void SetUnits(Task& task) {
  const Spec& spec = task.spec;
  Units& units = task.units;
  units.row_bits = std::max(1, BitsAbove(static_cast<double>(task.max_rows())));
  const double lower = spec.outcome.lower, upper = spec.outcome.upper;
  units.limits = stats::glm::LimitsOf(spec.law, lower, upper);
  const double most_predictor = std::max(std::abs(units.limits.lower), units.limits.upper);
  double most_weight = 1, most_score = 1;
  switch (spec.law.family) {
    case Family::kGaussian:
      most_score = most_predictor + std::max(std::abs(lower), std::abs(upper));
      units.most_pearson = most_score * most_score;
      break;
    case Family::kBinomial:
      if (spec.law.link == stats::glm::Link::kLogit) {
        most_weight = 0.25;
      } else {
        // The weight of the link log is largest at the limit, of the others it is below 1.
        const stats::glm::RowTerms most = MostTerms(spec.law, units.limits);
        most_weight = std::max(1.0, most.weight);
        most_score = std::max(1.0, most.score);
      }
      break;
    case Family::kPoisson:
      most_weight = most_score = std::max(1.0, std::exp(units.limits.upper));
      break;
    case Family::kNegativeBinomial:
      // By log(theta) at most 4 y + 1.25 mu, and mu goes up to e^2 times the largest y.
      most_weight = most_score = std::max(2.0, 2 * std::exp(units.limits.upper));
      break;
    case Family::kOrdinal: {
      const double gap = 1 / stats::glm::kLeastGap, cut = stats::glm::kCutScale;
      most_weight = 1 + gap * gap / (cut * cut);
      most_score = 1 + gap / cut;
      break;
    }
    case Family::kMultinomial:
      most_weight = 0.25;
      break;
    case Family::kGamma:
      most_score = spec.sealed ? kMostSealedRatio : stats::glm::kMostScore;
      // On the way of the information as it is observed.
      if (spec.sealed) most_weight = kMostSealedRatio;
      units.most_pearson = most_score * most_score;
  }
  if (spec.law.quasi) units.most_pearson = stats::glm::kMostPearson;
  most_score += spec.ridge * mpc::kMostCoordinate;
  units.weight_bits = BitsAbove(most_weight + spec.ridge);
  // Of the first point I_k b_k: weights times linear predictors.
  units.most_score =
      std::max(std::ldexp(most_score, -units.weight_bits),
               most_predictor + std::max(std::abs(spec.offset_lower), std::abs(spec.offset_upper)));
  units.most_fit = MostFit(spec, units);
  if (units.row_bits + std::log2(units.most_fit) <= kMostSumBits) return;
  throw Error(ErrorCode::kBadInput,
              "sums over so many rows with these bounds of outcome and offsets do not fit",
              "declare the numbers of rows (count in [[rows]]), and give closer bounds");
}

}  // namespace partita::methods::glm
