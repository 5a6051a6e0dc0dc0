#include "methods/glm/templates.h"

#include "methods/glm/spec.h"

namespace partita::methods::glm {
namespace {

constexpr char kGlm[] = R"toml(
[design]
site = "ignore"
missing = "complete"               # a row that lacks a variable of the model is left out

# Fewer rows open nothing, and neither does a count from 1 to min_cell - 1 of rows of a level with
# one outcome, in all rows or without one holder's own. The more rows are promised, the more may the
# estimates tell.
[disclosure]
min_rows = 200
min_cell = 5

[engine]
name = "dealer"                    # or "replicated": three parties, none of them a dealer,
                                   # or "shamir": three to seven, of whom fewer than half collude

[network]
timeout_seconds = 60               # how long a party waits for another one

# A logistic regression. Terms: a, a:b, a * b, - 1; log(a), log1p(a), sqrt(a), factor(a), I(a^2),
# I(a * b), offset(a). Other functions are made by [[derived]].
[[analysis]]
method = "glm"
family = "binomial"                # or "gaussian", "poisson", "gamma", "quasi-binomial",
                                   # "quasi-poisson"; "modified-poisson" for risk ratios
formula = "relapse ~ age + sex + log1p(dose)"
release = ["estimates"]
# errors = "robust"                # whatever the variance is; "cluster" with one in [design]
# penalty = {ridge = 0.01}         # draws estimates towards 0, for each row: where outcomes separate
# protocol = "aggregates"          # sums open to the receiver: faster, tells the table of covariates
# steps = 5                        # of Fisher scoring after the first point; 3 are usual
# confidence = 0.9                 # of the intervals, else 0.95
)toml";

}  // namespace

study::AnalysisStart Start(const study::Said& /*said*/) {
  study::AnalysisStart start;
  start.keys = {{"family", "binomial, gaussian, poisson or gamma", "binomial"},
                {"formula", "the formula, such as outcome ~ age + sex", std::nullopt},
                {"release", "what opens to the receiver", kEstimates, study::SaidAs::kTexts}};
  start.missing = "complete";
  start.needs_min_rows = true;
  return start;
}

std::vector<study::StudyTemplate> Templates() {
  return {{data::PartitionKind::kHorizontal, false,
           study::HorizontalStart(study::RowCounts::kSecret) + study::PatientDictionary() + kGlm}};
}

}  // namespace partita::methods::glm
