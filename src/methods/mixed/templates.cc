#include "methods/mixed/templates.h"

#include "methods/mixed/spec.h"

namespace partita::methods::mixed {
namespace {

constexpr char kMixed[] = R"toml(
# Groups: a number within each holder. The same number at two holders is two groups.
[[variable]]
name = "ward"
type = "integer"
lower = 1
upper = 99

[design]
site = "ignore"
missing = "complete"               # a row that lacks a variable of the model is left out

# Fewer rows open nothing, and neither does a count from 1 to min_cell - 1 of rows of a level, in all
# rows or without one holder's own. The more rows are promised, the more may the estimates tell.
[disclosure]
min_rows = 200
min_cell = 5

[engine]
name = "dealer"                    # or "replicated": three parties, none of them a dealer,
                                   # or "shamir": three to seven, of whom fewer than half collude

[network]
timeout_seconds = 60               # how long a party waits for another one

# A linear model whose intercept differs between groups. Terms: a, a:b, a * b, - 1; log(a), log1p(a),
# sqrt(a), factor(a), I(a^2), I(a * b). Other functions are made by [[derived]].
[[analysis]]
method = "mixed"
formula = "dose ~ age + sex + (1 | ward)"  # or (1 | site): each of five holders or more is a group
release = ["estimates"]
# criterion = "ML"                 # to compare models of other fixed effects, else "REML"
# protocol = "sealed"              # nothing opens but the result
# covariance = true                # the covariance matrix opens, which tells more; checks pairs of levels
# confidence = 0.9                 # of the intervals, else 0.95
)toml";

}  // namespace

study::AnalysisStart Start(const study::Said& /*said*/) {
  study::AnalysisStart start;
  start.keys = {{"family", "gaussian (nothing), binomial or poisson", ""},
                {"formula", "the formula, such as outcome ~ age + sex + (1 | ward)", std::nullopt},
                {"release", "what opens to the receiver", kEstimates, study::SaidAs::kTexts}};
  start.missing = "complete";
  start.needs_min_rows = true;
  return start;
}

std::vector<study::StudyTemplate> Templates() {
  return {
      {data::PartitionKind::kHorizontal, false,
       study::HorizontalStart(study::RowCounts::kSecret) + study::PatientDictionary() + kMixed}};
}

}  // namespace partita::methods::mixed
