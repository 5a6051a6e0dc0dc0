// Families of generalised linear models with the link that they are used with here: a row's share
// of deviance, score and information at a linear predictor (McCullagh & Nelder, "Generalized Linear
// Models", 2nd ed., 1989, sections 2.3 to 2.5 and 8.3).
//
//   family     link      V(mu)       working weight w    score s, so that U = X' s
//   gaussian   identity  1           1                   y - mu
//   binomial   logit     mu (1 - mu) mu (1 - mu)         y - mu
//   poisson    log       mu          mu                  y - mu
//   gamma      log       mu^2        1                   (y - mu) / mu
//
// I = X' diag(w) X is the expected information for dispersion 1.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace partita::stats::glm {

enum class Family { kGaussian, kBinomial, kPoisson, kGamma };

std::string_view FamilyName(Family family);  // "gaussian", ...: as in study files
std::string_view LinkName(Family family);    // "identity", "logit", "log"
const std::vector<std::string>& FamilyNames();
// Of one of these names.
Family FamilyByName(std::string_view name);

// Whether a dispersion is estimated: then tests are Student's, else normal.
bool HasDispersion(Family family);
// Whether exp(coefficient) is a ratio: of odds or of means.
bool HasRatios(Family family);
std::string_view RatioName(Family family);  // "odds ratio", "rate ratio", "ratio of means"

struct RowTerms {
  double weight = 0, score = 0, deviance = 0;
  double pearson = 0;  // (y - mu)^2 / V(mu)
};
// binomial: y is 0 or 1.
RowTerms TermsAt(Family family, double y, double eta);

// The linear predictor that R's glm begins with.
double FirstPredictor(Family family, double y);

// Linear predictors beyond these are taken for divergence: a public range, from the bounds of y.
struct Limits {
  double lower = 0, upper = 0;
};
// binomial: odds of e^15; poisson and gamma: e^2 times beyond the bounds of y; gaussian: four times
// the largest |y|. Poisson below: e^-20.
Limits LimitsOf(Family family, double y_lower, double y_upper);

// A score larger than this counts as that (gamma with outcomes far above their mean).
inline constexpr double kMostScore = 1024;

}  // namespace partita::stats::glm
