#include "methods/describe/templates.h"

#include "methods/describe/spec.h"

namespace partita::methods::describe {
namespace {

constexpr char kDescribe[] = R"(
[design]
site = "ignore"
missing = "complete"               # a missing cell is counted; its row describes the other variables

# Fewer rows open nothing, and a count from 1 to min_cell - 1, in all rows or without one holder's
# own, is withheld. The more rows are promised, the more may the table tell.
[disclosure]
min_rows = 200
min_cell = 5

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
compare = ["differences", "welch", "chi-square"]
)";

constexpr char kSplitDescribe[] = R"(
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
type = "factor"
levels = ["one", "two", "three"]

[[variable]]
name = "x4"
type = "numeric"
lower = 0
upper = 10

[[variable]]
name = "x5"
type = "integer"
lower = 0
upper = 1

[[variable]]
name = "x6"
type = "factor"
levels = ["no", "yes"]

[design]
site = "ignore"
missing = "complete"               # a missing cell is counted; its row describes the other variables

# Fewer rows open nothing, and a count from 1 to min_cell - 1 is withheld. The more rows are promised,
# the more may the table tell; and the larger min_cell, the more of the variables of whoever lacks the
# group, because it knows them of every person.
[disclosure]
min_rows = 200
min_cell = 20

[engine]
name = "dealer"                    # or "replicated": three parties, none of them a dealer,
                                   # or "shamir": three to seven, of whom fewer than half collude

[network]
timeout_seconds = 60               # how long a party waits for another one

# A table of counts, means, standard deviations and medians of the columns of both holders, for each
# group and for all rows. The holder of the group has the variables of `subset`, too.
[[analysis]]
method = "describe"
release = ["table"]
group = "x6"                       # a factor; leave it out for one column
quantiles = [0.5]
compare = ["differences", "welch", "chi-square"]
)";

// With fewer the variables of whoever lacks the group would tell too much of who is in it (group_bits.h).
constexpr uint64_t kSplitMinCell = 20;

// With a promise: the counts open with noise, to all, and which rows there are is public or protected.
study::AnalysisStart StartWithNoise(const study::Said& said) {
  using study::SaidAs;
  study::AnalysisStart start;
  const bool hidden = study::SaidOr(said, "privacy.adjacency", "") == "add-remove";
  start.keys = {
      {"variables", "what is described (nothing: all)", "", SaidAs::kTexts},
      {"group", "the variable by whose levels (nothing: all rows together)", ""},
      {"compare", "how two groups are compared: differences, or nothing", "", SaidAs::kTexts},
      {"privacy.adjacency",
       "whether the number of rows is public: replace, or protected: add-remove", "replace"},
      {"privacy.against", "whom epsilon protects from: parties or outside", "parties"}};
  if (hidden) {
    start.keys.push_back({"expected_rows", "for how many rows the noise is forecast, a guess",
                          std::nullopt, SaidAs::kValue});
  }
  start.missing = "complete";
  start.complete_means = "such cells are a level of their own";
  start.is_private = true;
  start.needs_counts = !hidden;
  start.uses_all = study::SaidOr(said, "variables", "").empty();
  return start;
}

// What the template compares by.
constexpr char kComparedByDefault[] = "differences, welch, chi-square";

}  // namespace

study::AnalysisStart Start(const study::Said& said) {
  using study::SaidAs;
  study::AnalysisStart start;
  if (!study::SaidOr(said, "privacy.epsilon", "").empty()) return StartWithNoise(said);
  start.keys = {
      {"variables", "what is described (nothing: all)", "", SaidAs::kTexts},
      {"group", "the factor by whose levels (nothing: all rows together)", ""},
      {"compare", "how groups are compared (default with a group: as the example)",
       study::SaidOr(said, "group", "").empty() ? "" : kComparedByDefault, SaidAs::kTexts},
      {"release", "what opens to the receiver", kTable, SaidAs::kTexts}};
  start.missing = "complete";
  start.needs_min_rows = true;
  start.split_min_cell = kSplitMinCell;
  start.uses_all = study::SaidOr(said, "variables", "").empty();
  start.takes_dates = false;
  return start;
}

std::vector<study::StudyTemplate> Templates() {
  return {
      {data::PartitionKind::kHorizontal, false,
       study::HorizontalStart(study::RowCounts::kSecret) + study::PatientDictionary() + kDescribe},
      {data::PartitionKind::kVertical, false, study::VerticalStart() + kSplitDescribe}};
}

}  // namespace partita::methods::describe
