// The features of the mixture model of DPVI-VPD (Tajeddine et al., Section 4.2 and eq. 15): given
// the component, features are independent, each of one exponential family
//   log F(x | rho_k) = sum_j natural_kj T_j(x) - log_normaliser_k + log h(x)
// with fixed statistics T(x) that no parameter enters, as many as parameters:
//
//   family        x                 T(x)               unconstrained parameters of a component
//   categorical   0 .. L-1          one-hot, L         L logits; probabilities = softmax
//   Bernoulli     0 or 1            x                  1 logit
//   Beta          in (0, 1)         log x, log(1-x)    both shapes = softplus
//   Gaussian      real              x, x^2             mean as it is; precision = softplus
//   Poisson       0, 1, 2, ...      x / scale          rate = scale * softplus
//
// Parameters of all K components are one matrix of K lines and 1 + J columns: column 0 holds the
// logits of the weights pi, column 1 + j the parameter that belongs to statistic j.
#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace partita::stats::mixture {

enum class Family { kCategorical, kBernoulli, kBeta, kGaussian, kPoisson };

std::string_view FamilyName(Family family);  // "categorical", ...

struct Feature {
  std::string name;
  Family family = Family::kCategorical;
  size_t levels = 0;  // kCategorical: two or more
  double scale = 1;   // kPoisson: the public unit of counts, positive
  size_t party = 0;   // who holds the column; index in the roster
};

// T(x) has this many entries.
size_t NumStatistics(const Feature& feature);

struct Layout {
  std::vector<Feature> features;
  std::vector<size_t> first;  // the first statistic of each feature
  size_t num_columns = 0;     // J
};

// Features in the order of their statistics. Throws kBadInput naming the feature: no feature, names
// empty or twice, a categorical one with fewer than two levels, a scale that is not positive.
Layout MakeLayout(std::vector<Feature> features);

// The features of one party, in the same order; throws kUsage if it has none.
Layout PartyLayout(const Layout& layout, size_t party);
// Their statistics among the J of the whole model.
std::vector<size_t> PartyColumns(const Layout& layout, size_t party);

// K x J_p: the parameters of a party's features, out of K x (1 + J).
Eigen::ArrayXXd PartyParameters(const Layout& layout, size_t party, const Eigen::ArrayXXd& theta);

}  // namespace partita::stats::mixture
