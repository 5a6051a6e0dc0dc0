#include "stats/glm/family.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "base/error.h"

namespace partita::stats::glm {
namespace {

constexpr double kLargestLogOdds = 15, kLargestProbit = 6, kBeyondBounds = 2;
constexpr double kSmallestLogRate = -20, kLargestLogRisk = -0x1p-7;
constexpr double kTimesOutcome = 4;

double YLogRatio(double y, double mu) { return y > 0 ? y * std::log(y / mu) : 0; }

// A probability with its complement and its derivative by the linear predictor.
struct Probability {
  double mu = 0, other = 0, slope = 0;
};

Probability ProbabilityAt(Link link, double eta) {
  if (link == Link::kProbit) {
    const double root = std::sqrt(0.5);
    return {std::erfc(-eta * root) / 2, std::erfc(eta * root) / 2,
            std::exp(-eta * eta / 2) / std::sqrt(2 * std::numbers::pi)};
  }
  if (link == Link::kCloglog) {
    const double hazard = std::exp(eta), other = std::exp(-hazard);
    return {-std::expm1(-hazard), other, hazard * other};
  }
  const double mu = std::exp(eta);
  return {mu, -std::expm1(eta), mu};
}

RowTerms BinomialTerms(Link link, double y, double eta) {
  if (link == Link::kLogit) {
    const double mu = 1 / (1 + std::exp(-eta)), other = 1 / (1 + std::exp(eta));
    const double residual = y > 0 ? other : -mu, weight = mu * other;
    // -2 log of the probability of y.
    const double deviance = 2 * (y > 0 ? std::log1p(std::exp(-eta)) : std::log1p(std::exp(eta)));
    return {weight, residual, deviance, residual * residual / weight};
  }
  const Probability p = ProbabilityAt(link, eta);
  const double weight = p.slope * p.slope / (p.mu * p.other);
  if (y > 0) return {weight, p.slope / p.mu, -2 * std::log(p.mu), p.other / p.mu};
  return {weight, -p.slope / p.other, -2 * std::log(p.other), p.mu / p.other};
}

struct NamedLaw {
  std::string_view name;
  Law law;
};
constexpr std::array<NamedLaw, 10> kLaws = {
    {{"gaussian", {Family::kGaussian, Link::kIdentity, false, false}},
     {"binomial", {Family::kBinomial, Link::kLogit, false, true}},
     {"poisson", {Family::kPoisson, Link::kLog, false, false}},
     {"gamma", {Family::kGamma, Link::kLog, false, false}},
     {"quasi-binomial", {Family::kBinomial, Link::kLogit, true, true}},
     {"quasi-poisson", {Family::kPoisson, Link::kLog, true, false}},
     {"modified-poisson", {Family::kPoisson, Link::kLog, false, true}},
     {"negative-binomial", {Family::kNegativeBinomial, Link::kLog, false, false}},
     {"ordinal", {Family::kOrdinal, Link::kLogit, false, false}},
     {"multinomial", {Family::kMultinomial, Link::kLogit, false, false}}}};

RowTerms NegativeBinomialTerms(double theta, double y, double eta) {
  const double mu = std::exp(eta), shrunk = 1 + mu / theta, residual = y - mu;
  const double deviance =
      2 * (YLogRatio(y, mu) - (y + theta) * std::log1p(residual / (mu + theta)));
  return {mu / shrunk, residual / shrunk, deviance, residual * residual / (mu * shrunk)};
}

}  // namespace

Law LawOf(Family family) {
  return std::find_if(kLaws.begin(), kLaws.end(),
                      [&](const NamedLaw& named) { return named.law.family == family; })
      ->law;
}

const std::vector<std::string>& FamilyNames() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const NamedLaw& named : kLaws) all.emplace_back(named.name);
    return all;
  }();
  return names;
}

Law LawByName(std::string_view name) {
  for (const NamedLaw& named : kLaws) {
    if (named.name == name) return named.law;
  }
  throw Error(ErrorCode::kInternal, "there is no such family");
}

std::string_view FamilyName(const Law& law) {
  for (const NamedLaw& named : kLaws) {
    if (named.law.family == law.family && named.law.quasi == law.quasi &&
        named.law.binary == law.binary)
      return named.name;
  }
  throw Error(ErrorCode::kInternal, "this family has no name");
}

std::string_view LinkName(Link link) {
  static constexpr std::array<std::string_view, 5> kNames = {"identity", "logit", "log", "probit",
                                                             "cloglog"};
  return kNames[static_cast<size_t>(link)];
}

std::vector<Link> LinksOf(Family family) {
  if (family == Family::kBinomial) return {Link::kLogit, Link::kProbit, Link::kCloglog, Link::kLog};
  return {LawOf(family).link};
}

bool HasDispersion(const Law& law) {
  return law.family == Family::kGaussian || law.family == Family::kGamma || law.quasi;
}

bool HasLikelihood(const Law& law) {
  return !law.quasi && !(law.family == Family::kPoisson && law.binary);
}

bool HasRatios(const Law& law) { return law.link == Link::kLogit || law.link == Link::kLog; }

std::string_view RatioName(const Law& law) {
  if (law.link == Link::kLogit) return "odds ratio";
  if (law.link != Link::kLog) return "";
  if (law.binary) return "risk ratio";
  return law.family == Family::kGamma ? "ratio of means" : "rate ratio";
}

bool HasMoreParameters(const Law& law) {
  return law.family == Family::kNegativeBinomial || law.family == Family::kOrdinal ||
         law.family == Family::kMultinomial;
}

bool HasNull(const Law& law) { return !HasMoreParameters(law); }

size_t NumParameters(const Law& law, size_t columns) {
  if (law.family == Family::kNegativeBinomial) return columns + 1;
  if (law.family == Family::kOrdinal) return columns + law.classes - 1;
  if (law.family == Family::kMultinomial) return columns * (law.classes - 1);
  return columns;
}

RowTerms TermsAt(const Law& law, double y, double eta) {
  switch (law.family) {
    case Family::kGaussian: {
      const double residual = y - eta;
      return {1, residual, residual * residual, residual * residual};
    }
    case Family::kBinomial:
      return BinomialTerms(law.link, y, eta);
    case Family::kPoisson: {
      const double mu = std::exp(eta);
      return {mu, y - mu, 2 * (YLogRatio(y, mu) - (y - mu)), (y - mu) * (y - mu) / mu};
    }
    case Family::kNegativeBinomial:
      return NegativeBinomialTerms(law.theta, y, eta);
    case Family::kOrdinal:
    case Family::kMultinomial:
      throw Error(ErrorCode::kInternal, "a row of this family has several linear predictors");
    case Family::kGamma:
      break;
  }
  const double mu = std::exp(eta);
  const double score = std::clamp((y - mu) / mu, -kMostScore, kMostScore);
  return {1, score, 2 * ((y - mu) / mu - std::log(y / mu)), score * score};
}

double FirstPredictor(const Law& law, double y) {
  // Of probabilities of 3/4 and 1/4.
  constexpr double kUpperProbit = 0.6744897501960817;
  switch (law.family) {
    case Family::kGaussian:
      return y;
    case Family::kBinomial:
      if (law.link == Link::kProbit) return y > 0 ? kUpperProbit : -kUpperProbit;
      if (law.link == Link::kCloglog) return std::log(-std::log(y > 0 ? 0.25 : 0.75));
      if (law.link == Link::kLog) return std::log(y > 0 ? 0.75 : 0.25);
      return y > 0 ? std::log(3.0) : -std::log(3.0);
    case Family::kPoisson:
    case Family::kNegativeBinomial:
      return std::log(y + 0.1);
    case Family::kOrdinal:
    case Family::kMultinomial:
      return 0;
    case Family::kGamma:
      break;
  }
  return std::log(y);
}

Limits LimitsOf(const Law& law, double y_lower, double y_upper) {
  switch (law.family) {
    case Family::kGaussian: {
      const double most = kTimesOutcome * std::max(std::abs(y_lower), std::abs(y_upper));
      return {-most, most};
    }
    case Family::kBinomial:
      if (law.link == Link::kProbit) return {-kLargestProbit, kLargestProbit};
      if (law.link == Link::kCloglog) return {-kLargestLogOdds, std::log(kLargestLogOdds)};
      if (law.link == Link::kLog) return {-kLargestLogOdds, kLargestLogRisk};
      return {-kLargestLogOdds, kLargestLogOdds};
    case Family::kPoisson:
    case Family::kNegativeBinomial:
      return {kSmallestLogRate, std::log(y_upper) + kBeyondBounds};
    case Family::kOrdinal:
    case Family::kMultinomial:
      return {-kLargestLogOdds, kLargestLogOdds};
    case Family::kGamma:
      break;
  }
  return {std::log(y_lower) - kBeyondBounds, std::log(y_upper) + kBeyondBounds};
}

}  // namespace partita::stats::glm
