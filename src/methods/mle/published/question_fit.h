// A fit by questions about the log-likelihood: the optimiser at the central node.
//
// stats/sem/oracle_fit.h needs linear functions of the sufficient statistics, a question gives -2
// LL at one normal distribution. Both are the same thing, since LL is linear in the statistics with
// weights that follow from mean and precision: a gradient component, whose weights alone belong to
// no distribution, is the difference of the answers at K and at K + t M, divided by t, exactly, for
// every t for which K + t M is positive definite. No step size has to be chosen small. The span of
// what is asked is that of the likelihoods and gradients.
#pragma once

#include <functional>
#include <vector>

#include "base/progress.h"
#include "methods/mle/published/normal.h"
#include "stats/sem/oracle_fit.h"

namespace partita::methods::mle::published {

using Asker = std::function<Answer(const Question&)>;

struct QuestionFitInput {
  std::vector<double> n;         // rows of each group
  stats::StatisticsScale scale;  // public bounds of the columns, for start values
  // The nodes' rows are (y - centre) / half_width of these.
  stats::StatisticsScale units;
  Asker ask;
};

struct QuestionFit {
  stats::OracleFit fit;
  int questions = 0;
};

// The table must have a mean structure (the likelihood needs means), else kBadInput. Throws what
// the asker and stats::FitSemFromOracle throw.
QuestionFit FitByQuestions(const stats::ParameterTable& table, const QuestionFitInput& input,
                           Progress& progress);

// One third of the half-width: about a standard deviation if the bounds are what they should be.
stats::StatisticsScale DeviationUnits(const stats::StatisticsScale& scale);
// y itself.
stats::StatisticsScale NaturalUnits(Eigen::Index num_variables);

}  // namespace partita::methods::mle::published
