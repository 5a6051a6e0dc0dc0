// Families of generalised linear models and their links: a row's share of deviance, score and
// information at a linear predictor (McCullagh & Nelder, "Generalized Linear Models", 2nd ed., 1989,
// sections 2.3 to 2.5, 4.3, 8.3 and 9.2).
//
//   family     link          V(mu)        working weight w         score s, so that U = X' s
//   gaussian   identity      1            1                        y - mu
//   binomial   logit         mu (1 - mu)  mu (1 - mu)              y - mu
//              probit, cloglog, log       d^2 / (mu (1 - mu))      d (y - mu) / (mu (1 - mu))
//   poisson    log           mu           mu                       y - mu
//   gamma      log           mu^2         1                        (y - mu) / mu
//   negative   log           mu + mu^2/t  mu / (1 + mu / t)        (y - mu) / (1 + mu / t)
//   binomial
//
// with t the size theta of the negative binomial law, which is estimated beside (negative_binomial.h).
// Outcomes with several classes have more than one linear predictor (ordinal.h, multinomial.h).
// d is the derivative of mu by the linear predictor. I = X' diag(w) X is the expected information
// for dispersion 1, and s^2 / w = (y - mu)^2 / V(mu) is Pearson's term.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace partita::stats::glm {

enum class Family {
  kGaussian,
  kBinomial,
  kPoisson,
  kGamma,
  kNegativeBinomial,
  kOrdinal,
  kMultinomial
};
enum class Link { kIdentity, kLogit, kLog, kProbit, kCloglog };

struct Law {
  Family family = Family::kGaussian;
  Link link = Link::kIdentity;
  bool quasi = false;   // the dispersion is estimated, and there is no likelihood
  bool binary = false;  // the outcome is 0 or 1
  size_t classes = 0;   // of an ordinal or multinomial outcome: 0, 1, .. to classes - 1
  double theta = 1;     // of a negative binomial law, at a point
};
// With the link that the family is used with.
Law LawOf(Family family);

// Names of study files: "gaussian", "binomial", "poisson", "gamma", "quasi-binomial",
// "quasi-poisson", "modified-poisson": poisson of an outcome that is 0 or 1, "negative-binomial",
// "ordinal" (proportional odds) and "multinomial".
const std::vector<std::string>& FamilyNames();
// Of one of these names.
Law LawByName(std::string_view name);
std::string_view FamilyName(const Law& law);
std::string_view LinkName(Link link);  // "identity", "logit", "log", "probit", "cloglog"
// Links of a family, the first where none is named.
std::vector<Link> LinksOf(Family family);

// Whether a dispersion is estimated: then tests are Student's, else normal.
bool HasDispersion(const Law& law);
// Whether there is a log-likelihood of these rows: no quasi-likelihood, no modified poisson.
bool HasLikelihood(const Law& law);
// Whether the maximum of the model with the intercept alone is known in closed form (or is without
// an offset), so that there is a null deviance.
bool HasNull(const Law& law);
// Whether there are parameters beside one coefficient for each column.
bool HasMoreParameters(const Law& law);
// Of a model with so many columns: one for each; negative binomial also log(theta); ordinal also
// classes - 1 cut points; multinomial for each class but the first one for each column.
size_t NumParameters(const Law& law, size_t columns);
// Whether exp(coefficient) is a ratio: of odds, of risks or of means.
bool HasRatios(const Law& law);
std::string_view RatioName(const Law& law);  // "odds ratio", "risk ratio", "rate ratio", ..

struct RowTerms {
  double weight = 0, score = 0, deviance = 0;
  double pearson = 0;  // (y - mu)^2 / V(mu)
};
// binary: y is 0 or 1.
RowTerms TermsAt(const Law& law, double y, double eta);

// The linear predictor that R's glm begins with.
double FirstPredictor(const Law& law, double y);

// Linear predictors beyond these are taken for divergence: a public range, from the bounds of y.
struct Limits {
  double lower = 0, upper = 0;
};
// binomial: logit odds of e^15; probit 6; cloglog probabilities between e^-15 and 1 - e^-15; log
// probabilities between e^-15 and e^(-1/128). poisson and gamma: e^2 times beyond the bounds of y;
// gaussian: four times the largest |y|. Poisson below: e^-20.
Limits LimitsOf(const Law& law, double y_lower, double y_upper);

// A score larger than this counts as that (gamma with outcomes far above their mean).
inline constexpr double kMostScore = 1024;
// Pearson's term of a row, and of a cluster its sum, where it is used: larger ones are beyond the
// limits as well.
inline constexpr double kMostPearson = kMostScore * kMostScore;

}  // namespace partita::stats::glm
