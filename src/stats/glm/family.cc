#include "stats/glm/family.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace partita::stats::glm {
namespace {

constexpr double kLargestLogOdds = 15, kBeyondBounds = 2, kSmallestLogRate = -20;
constexpr double kTimesOutcome = 4;

double YLogRatio(double y, double mu) { return y > 0 ? y * std::log(y / mu) : 0; }

}  // namespace

std::string_view FamilyName(Family family) { return FamilyNames()[static_cast<size_t>(family)]; }

const std::vector<std::string>& FamilyNames() {
  static const std::vector<std::string> names = {"gaussian", "binomial", "poisson", "gamma"};
  return names;
}

Family FamilyByName(std::string_view name) {
  const std::vector<std::string>& names = FamilyNames();
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) throw Error(ErrorCode::kInternal, "there is no such family");
  return static_cast<Family>(found - names.begin());
}

std::string_view LinkName(Family family) {
  switch (family) {
    case Family::kGaussian:
      return "identity";
    case Family::kBinomial:
      return "logit";
    case Family::kPoisson:
    case Family::kGamma:
      break;
  }
  return "log";
}

bool HasDispersion(Family family) {
  return family == Family::kGaussian || family == Family::kGamma;
}

bool HasRatios(Family family) { return family != Family::kGaussian; }

std::string_view RatioName(Family family) {
  switch (family) {
    case Family::kBinomial:
      return "odds ratio";
    case Family::kPoisson:
      return "rate ratio";
    case Family::kGamma:
      return "ratio of means";
    case Family::kGaussian:
      break;
  }
  return "";
}

RowTerms TermsAt(Family family, double y, double eta) {
  switch (family) {
    case Family::kGaussian: {
      const double residual = y - eta;
      return {1, residual, residual * residual, residual * residual};
    }
    case Family::kBinomial: {
      const double mu = 1 / (1 + std::exp(-eta)), other = 1 / (1 + std::exp(eta));
      const double residual = y > 0 ? other : -mu, weight = mu * other;
      // -2 log of the probability of y.
      const double deviance = 2 * (y > 0 ? std::log1p(std::exp(-eta)) : std::log1p(std::exp(eta)));
      return {weight, residual, deviance, residual * residual / weight};
    }
    case Family::kPoisson: {
      const double mu = std::exp(eta);
      return {mu, y - mu, 2 * (YLogRatio(y, mu) - (y - mu)), (y - mu) * (y - mu) / mu};
    }
    case Family::kGamma:
      break;
  }
  const double mu = std::exp(eta);
  const double score = std::clamp((y - mu) / mu, -kMostScore, kMostScore);
  return {1, score, 2 * ((y - mu) / mu - std::log(y / mu)), score * score};
}

double FirstPredictor(Family family, double y) {
  switch (family) {
    case Family::kGaussian:
      return y;
    case Family::kBinomial:
      return y > 0 ? std::log(3.0) : -std::log(3.0);
    case Family::kPoisson:
      return std::log(y + 0.1);
    case Family::kGamma:
      break;
  }
  return std::log(y);
}

Limits LimitsOf(Family family, double y_lower, double y_upper) {
  switch (family) {
    case Family::kGaussian: {
      const double most = kTimesOutcome * std::max(std::abs(y_lower), std::abs(y_upper));
      return {-most, most};
    }
    case Family::kBinomial:
      return {-kLargestLogOdds, kLargestLogOdds};
    case Family::kPoisson:
      return {kSmallestLogRate, std::log(y_upper) + kBeyondBounds};
    case Family::kGamma:
      break;
  }
  return {std::log(y_lower) - kBeyondBounds, std::log(y_upper) + kBeyondBounds};
}

}  // namespace partita::stats::glm
