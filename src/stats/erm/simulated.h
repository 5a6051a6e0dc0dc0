// The simulated experiment of Rajkumar & Agarwal, section 6: data, splits, and mean test errors of
// the methods. Noise is drawn in floating point: this compares error rates and protects nobody.
#pragma once

#include <Eigen/Core>
#include <span>
#include <string>
#include <vector>

#include "base/progress.h"
#include "stats/blr/variates.h"
#include "stats/erm/minimize.h"
#include "stats/erm/objective_noise.h"

namespace partita::stats::erm {

// Training and test rows uniform in the unit ball of R^d, labels by the sign of a plane that is
// uniform on the sphere.
struct SimulatedData {
  LabelledRows train, test;
};
SimulatedData DrawUnitBallData(size_t dimension, size_t train, size_t test,
                               blr::Variates& variates);

// Row counts in proportion to the weights by largest remainder, at least 1 each; rows at random.
std::vector<LabelledRows> SplitRows(const LabelledRows& rows, std::span<const double> weights,
                                    blr::Variates& variates);
// Weights uniform on the simplex.
std::vector<double> DrawWeights(size_t parties, blr::Variates& variates);

// eta of N(0, stddev^2 I).
Eigen::VectorXd DrawNormal(size_t dimension, double stddev, blr::Variates& variates);
// Density proportional to exp(-|v| / scale): eq. (2).
Eigen::VectorXd DrawSphericalLaplace(size_t dimension, double scale, blr::Variates& variates);

enum class Method {
  kErm,           // all rows in one place
  kModelAverage,  // of the parties' own classifiers, without noise
  kSingleParty,   // a party's own classifier, each party counting once
  kLocalAggregation,
  kPsgd,
  kObjectivePerturbation,
  kApproximateMinima,
  kDescent
};
const char* MethodName(Method method);
// Whether the error does not depend on how the rows are split.
bool IgnoresSplit(Method method);

struct Setting {
  Method method = Method::kErm;
  double lambda = 0.1;
  double epsilon = 0.1;
  double delta = 0.05;
  NoiseRule rule = NoiseRule::kCorrected;  // objective perturbation and PSGD
  std::vector<double> weights;             // of the parties; empty: `parties` random ones
  size_t parties = 5;
  size_t iterations = 1000;  // PSGD, descent
  double step = 1;           // descent
};

// Mean test error over `draws` splits and noises. rows: training rows in the unit ball.
double MeanTestError(const SimulatedData& data, const Setting& setting, size_t draws,
                     blr::Variates& variates);

}  // namespace partita::stats::erm
