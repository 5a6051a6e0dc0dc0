// What a study file says of a chain, and what follows from it: parameters, plan, log likelihood.
#pragma once

#include <Eigen/Core>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "methods/mcmc/chain.h"
#include "privacy/adjacency.h"
#include "stats/mcmc/targets.h"

namespace partita::methods::mcmc {

enum class ChainModel { kLinear, kLogistic, kPoisson, kNegativeBinomial, kWeibull, kCox };
// "linear", "logistic", "poisson", "negative-binomial", "weibull", "cox", in this order.
const std::vector<std::string>& ChainModelNames();

struct ChainPrivacy {
  double epsilon = 0, delta = 0;  // promised against whoever sees the result
  privacy::Adjacency adjacency = privacy::Adjacency::kReplace;
  // L of stats/mcmc/clipped.h, the point of reference is where the chains begin; 0: `lipschitz`.
  double clip = 0;
  double lipschitz = 0;  // longest step of stats/mcmc/lipschitz.h
  double noise = 0;      // of the penalty method, in multiples of what one row contributes
};

// Whether steps are bounded instead of rows; then options.longest and reach say how.
inline bool BoundsSteps(const std::optional<ChainPrivacy>& privacy) {
  return privacy && privacy->lipschitz > 0;
}

struct ChainSpec {
  ChainModel model = ChainModel::kLinear;
  std::string outcome;                               // a design column, or a survival variable
  std::vector<std::string> predictors;               // design columns
  bool intercept = true;                             // none in Cox's model
  stats::mcmc::Prior coefficients;                   // of all that `priors` does not name
  std::map<std::string, stats::mcmc::Prior> priors;  // by parameter
  std::map<std::string, double> start;               // by parameter; 0 elsewhere
  Rule rule = Rule::kBit;
  stats::mcmc::ChainOptions options;
  double spread = 1;  // standard deviation of the points around `start` where superchains begin
  std::optional<ChainPrivacy> privacy;  // empty: no claim is made
  // Delayed acceptance: about this share of the rows decides first; 0: all rows decide at once.
  double first_stage = 0;
};

// How far one row moves a log ratio.
double RowSensitivity(const ChainPrivacy& privacy, privacy::Adjacency adjacency);

bool IsSurvival(ChainModel model);
// Whether the model has a likelihood for this outcome: 0 or 1, a count, a time above 0.
bool TakesOutcome(ChainModel model, double outcome);
// "intercept", the predictors, then "log_sigma" or "log_size".
std::vector<std::string> ParameterNames(const ChainSpec& spec);
ChainPlan PlanOf(const ChainSpec& spec);
// Parameters by chains. Superchains begin at points drawn once for ever around `start`, the same in
// every study.
Eigen::MatrixXd StartsOf(const ChainSpec& spec);
// Whether chains begin further from 0, or superchains from `start`, than bounded steps allow
// (stats/mcmc/lipschitz.h).
bool BeginsTooFar(const ChainSpec& spec);

// A party's rows: predictors without the column of ones, in the order of the spec.
struct ChainRows {
  Eigen::MatrixXd predictors;
  Eigen::VectorXd outcome, event;  // event: of survival models
};
// The rows of the two stages. Where a row belongs follows from its own values and no other row's,
// so that whoever is added or removed moves nobody else; which rows decide first has no influence
// on the target.
struct StagedRows {
  ChainRows first, later;
};
StagedRows SplitStages(const ChainRows& rows, double first_stage);

// Predictors with a column of ones first if there is an intercept.
Eigen::MatrixXd DesignOf(const ChainSpec& spec, const ChainRows& rows);
// Clipped where the spec promises privacy. A party may have no rows: its likelihood is 1. Throws as
// the targets do.
stats::mcmc::TargetPtr TargetOf(const ChainSpec& spec, const ChainRows& rows);

}  // namespace partita::methods::mcmc
