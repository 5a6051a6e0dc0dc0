#include "methods/classify/templates.h"

namespace partita::methods::classify {
namespace {

constexpr char kClassify[] = R"(
# The numbers of rows are public, so every row takes part.
[design]
site = "ignore"
missing = "refuse"

[engine]
name = "dealer"                    # or "replicated": three parties, none of them a dealer,
                                   # or "shamir": three to seven, of whom fewer than half collude

[network]
timeout_seconds = 60               # how long a party waits for another one

# A linear classifier, learned with differential privacy. All of it is public: choose it without the
# data.
[[analysis]]
method = "classify"
protocol = "dp-sgd"                # docs/study-file.md has the others
outcome = "relapse"                # a factor
positive = "yes"                   # the level whose chance is modelled
predictors = ["age", "dose", "sex"]
row_norm = 0.6                     # longer rows are shortened to it, after scaling to [-1, 1]
lambda = 0.0001                    # penalty
iterations = 100
step = 4
sampling_rate = 0.2                # chance of a row to be in a batch
# clip_norm = 1                    # bound of a row's gradient
evaluation = "private"             # counts of rows set aside, with noise; or "local" or "none"
test_share = 0.25
# interval_share = 0.4             # of the budget, for intervals of the coefficients

[analysis.privacy]
epsilon = 2
delta = 1e-5                       # below one over the number of rows
adjacency = "replace"
)";

}  // namespace

std::vector<study::StudyTemplate> Templates() {
  return {
      {data::PartitionKind::kHorizontal, true,
       study::HorizontalStart(study::RowCounts::kPublic) + study::PatientDictionary() + kClassify}};
}

}  // namespace partita::methods::classify
