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
family = "binomial"                # or "gaussian", "poisson", "negative-binomial", "gamma",
                                   # "ordinal", "multinomial" (a factor), "quasi-binomial",
                                   # "quasi-poisson"; "modified-poisson" for risk ratios
formula = "relapse ~ age + sex + log1p(dose)"
release = ["estimates"]
# errors = "robust"                # whatever the variance is; "cluster" with one in [design]
# covariance = true                # the covariance matrix opens, which tells more; checks pairs of levels
# penalty = {firth = true}         # of small samples, and where outcomes separate; or {ridge = 0.01}
# protocol = "aggregates"          # sums open to the receiver: faster, tells the table of covariates
# protocol = "sealed"              # nothing opens but the result; with the numbers of rows in [[rows]]
# steps = 5                        # of Fisher scoring after the first point; 3 are usual
# confidence = 0.9                 # of the intervals, else 0.95
# [analysis.risk_groups]           # calibration by predicted probability, area under the ROC curve
# cuts = [0.1, 0.3]
)toml";

constexpr char kSplitGlm[] = R"toml(
# The dictionary: what every variable means. Bounds and levels are public and must come from what
# the variable can be, never from the data.
[[variable]]
name = "x1"
type = "integer"
lower = 18
upper = 100
unit = "years"

[[variable]]
name = "x2"
type = "factor"
levels = ["female", "male"]

[[variable]]
name = "x3"
type = "numeric"
lower = 0
upper = 10

[[variable]]
name = "x4"
type = "numeric"
lower = 0
upper = 200

[[variable]]
name = "x5"
type = "integer"
lower = 0
upper = 1

[[variable]]
name = "x6"
type = "integer"
lower = 0
upper = 1

[design]
site = "ignore"
missing = "complete"               # a row that lacks a variable of the model at a holder is left out
# weights = "x4"                   # of one holder, with weights_type = "sampling" or "precision"

# Fewer rows open nothing, and neither does a count from 1 to min_cell - 1 of rows of a level with
# one outcome. The more rows are promised, the more may the estimates tell.
[disclosure]
min_rows = 200
min_cell = 5

[engine]
name = "dealer"                    # or "replicated": three parties, none of them a dealer

[network]
timeout_seconds = 60               # how long a party waits for another one

# A logistic regression of columns of two holders; a:b of columns of both is one product of each row.
# Other functions of a column are made by [[derived]] or in the formula: log(a), factor(a), I(a^2).
[[analysis]]
method = "glm"
protocol = "sealed"                # nothing opens but the result
family = "binomial"                # or "gaussian", "poisson"
formula = "x6 ~ x1 + x2 + x4 * x5"
release = ["estimates"]
# errors = "robust"                # whatever the variance is
# penalty = {ridge = 0.01}         # draws estimates towards 0; also where outcomes separate
# steps = 12                       # tried by Newton's method, else 10
# confidence = 0.9                 # of the intervals, else 0.95
# [analysis.risk_groups]           # calibration by predicted probability, area under the ROC curve
# cuts = [0.1, 0.3]
)toml";

}  // namespace

study::AnalysisStart Start(const study::Said& said) {
  study::AnalysisStart start;
  start.keys = {{"family",
                 "binomial, gaussian, poisson, gamma, modified-poisson, negative-binomial, ordinal "
                 "or multinomial",
                 "binomial"},
                {"formula", "the formula, such as outcome ~ age + sex", std::nullopt},
                {"release", "what opens to the receiver", kEstimates, study::SaidAs::kTexts}};
  start.missing = "complete";
  start.needs_min_rows = true;
  // Without them cut points are too little known beside the rows that are assumed.
  start.needs_counts = study::SaidOr(said, "family", "") == "ordinal";
  start.clusters = {"errors", "cluster"};
  return start;
}

std::vector<study::StudyTemplate> Templates() {
  return {{data::PartitionKind::kHorizontal, false,
           study::HorizontalStart(study::RowCounts::kSecret) + study::PatientDictionary() + kGlm},
          {data::PartitionKind::kVertical, false, study::VerticalStart() + kSplitGlm}};
}

}  // namespace partita::methods::glm
