#include "methods/survival/templates.h"

#include "methods/survival/cox/spec.h"
#include "methods/survival/spec.h"

namespace partita::methods::survival {
namespace {

constexpr char kSurvival[] = R"toml(
# A time of follow-up with whether it ended in the event: two columns of the tables.
[[variable]]
name = "death"
type = "survival"
time = "days"
event = "died"                     # 1: the event, 0: last seen without it
lower = 0
upper = 1095
unit = "days"

[design]
site = "ignore"
missing = "complete"               # a row without a time, an event or a group is left out

# Fewer rows open nothing. Where a curve, between two report times, would be of 1 to min_cell - 1
# rows, in all rows or without one holder's own, it is withheld. The more rows are promised, the more
# may the curves tell.
[disclosure]
min_rows = 400
min_cell = 5

[engine]
name = "dealer"                    # or "replicated": three parties, none of them a dealer,
                                   # or "shamir": three to seven, of whom fewer than half collude

[network]
timeout_seconds = 60               # how long a party waits for another one

# Kaplan-Meier curves with intervals at the report times, medians, and a log-rank test. For hazard
# ratios: model = "cox", no report times, release = ["estimates"].
[[analysis]]
method = "survival"
formula = "Surv(days, died) ~ sex" # a factor; ~ 1 for one curve; ~ sex + arm for each combination
report = [180, 365, 730]
release = ["curves"]
# cell = 5                         # times are counted in cells so wide, else 1
# confidence = 0.9                 # of the intervals, else 0.95
)toml";

// With a promise: the counts open with noise, to all, and which rows there are is public or protected.
study::AnalysisStart StartWithNoise(const study::Said& said) {
  study::AnalysisStart start;
  const bool hidden = study::SaidOr(said, "privacy.adjacency", "") == "add-remove";
  start.keys = {
      {"formula", "the formula, such as Surv(days, died) ~ arm", std::nullopt},
      {"report", "the times at which the curves are shown, such as [365, 730]", std::nullopt,
       study::SaidAs::kValue},
      {"privacy.adjacency",
       "whether the number of rows is public: replace, or protected: add-remove", "replace"},
      {"privacy.against", "whom epsilon protects from: parties or outside", "parties"}};
  if (hidden) {
    start.keys.push_back({"expected_rows", "for how many rows the noise is forecast, a guess",
                          std::nullopt, study::SaidAs::kValue});
  }
  start.missing = "complete";
  start.complete_means = "such rows are counted as such";
  start.is_private = true;
  start.needs_counts = !hidden;
  return start;
}

}  // namespace

study::AnalysisStart Start(const study::Said& said) {
  if (!study::SaidOr(said, "privacy.epsilon", "").empty()) return StartWithNoise(said);
  const bool cox = study::SaidOr(said, "model", "") == kCoxModel;
  study::AnalysisStart start;
  start.keys = {{"formula", "the formula, such as Surv(days, died) ~ arm", std::nullopt},
                {"model", "cox for hazard ratios, nothing for curves", ""}};
  if (!cox) {
    start.keys.push_back({"report", "the times at which the curves open, such as [365, 730]",
                          std::nullopt, study::SaidAs::kValue});
  }
  start.keys.push_back(
      {"release", "what opens to the receiver", cox ? kEstimates : kCurves, study::SaidAs::kTexts});
  start.missing = "complete";
  start.needs_min_rows = true;
  if (cox) start.clusters = {"errors", "cluster"};
  return start;
}

std::vector<study::StudyTemplate> Templates() {
  return {
      {data::PartitionKind::kHorizontal, false,
       study::HorizontalStart(study::RowCounts::kSecret) + study::PatientDictionary() + kSurvival}};
}

}  // namespace partita::methods::survival
