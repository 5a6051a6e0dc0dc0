#include "methods/describe/templates.h"

namespace partita::methods::describe {
namespace {

constexpr char kDescribe[] = R"(
[design]
site = "ignore"
missing = "complete"               # rows that lack a variable are left out

[engine]
name = "dealer"                    # or "replicated": three parties, none of them a dealer,
                                   # or "shamir": three to seven, of whom fewer than half collude

[network]
timeout_seconds = 60               # how long a party waits for another one

# A table of counts, means, standard deviations and quantiles, for each group and for all rows.
[[analysis]]
method = "describe"
release = ["table"]
variables = ["age", "dose", "sex"]
group = "relapse"                  # a factor; leave it out for one column
quantiles = [0.25, 0.5, 0.75]
)";

}  // namespace

std::vector<study::StudyTemplate> Templates() {
  return {
      {data::PartitionKind::kHorizontal, false,
       study::HorizontalStart(study::RowCounts::kSecret) + study::PatientDictionary() + kDescribe}};
}

}  // namespace partita::methods::describe
