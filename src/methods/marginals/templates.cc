#include "methods/marginals/templates.h"

namespace partita::methods::marginals {
namespace {

constexpr char kMarginals[] = R"(
# The dictionary: what every variable means. Bounds and levels are public and must come from what
# the variable can be, never from the data. A number outside counts as the nearest bound.
[[variable]]
name = "x1"
type = "integer"                   # few values: one level each; many: ten bins
lower = 18
upper = 100
unit = "years"

[[variable]]
name = "x2"
type = "factor"
levels = ["no", "yes"]

[[variable]]
name = "x3"
type = "numeric"
lower = 0
upper = 10

[[variable]]
name = "x4"
type = "integer"
lower = 0
upper = 12

[[variable]]
name = "x5"
type = "factor"
levels = ["north", "south", "islands", "abroad"]

[[variable]]
name = "x6"
type = "numeric"
lower = 0
upper = 10000

# The method takes every row: a cell without a value is a level of its own.
[design]
site = "ignore"
missing = "complete"

[engine]
name = "dealer"                    # or "replicated": three parties, "shamir": three to seven,
                                   # "ot": two parties and nobody else; slow

[network]
timeout_seconds = 60               # how long a party waits for another one

# Counts of all levels and of all pairs of levels, opened once with noise, and synthetic tables
# made of them for the receiver. All of it is public: choose it without the data.
[[analysis]]
method = "marginals"
# Without `columns`: all variables, factors and integers of few values by their levels.
columns = [
  {variable = "x1", bins = 8},     # of equal width
  "x2",
  {variable = "x3", bins = 5},
  "x4",
  {variable = "x5", rare = ["islands", "abroad"]},  # levels that share one
  {variable = "x6", edges = [0, 1, 100, 1000, 10000]},   # unequal bins
]
# impossible = [{x2 = "yes", x5 = "abroad"}]   # pairs of levels that no row can have
# triples = [{columns = ["x2", "x3", "x5"]}]   # three-way tables, of columns of one or two parties
# targets = ["x2"]                 # tables with these columns get less noise, the others more
synthetic_rows = 300
# synthetic_sets = 2

# Rows set aside, never counted; every holder compares its own columns of them on its terminal.
# [analysis.utility]
# test_rows = 60
# seed = 1
# targets = [{variable = "x2", level = "yes"}]

[analysis.privacy]
epsilon = 3
delta = 1e-5
adjacency = "replace"              # the number of rows is public; "add-remove": see docs/marginals.md
against = "parties"                # also against each of the parties; or "outside"
)";

constexpr char kTableOne[] = R"(
# The method takes every row: a cell without a value is a level of its own.
[design]
site = "ignore"
missing = "complete"

[engine]
name = "dealer"                    # or "replicated": three parties, "shamir": three to seven,
                                   # "ot": two parties and nobody else; slow

[network]
timeout_seconds = 60               # how long a party waits for another one

# Counts of all levels, and of them within each group, opened once with noise to all; means, standard
# deviations and quartiles with intervals follow from them alone. Choose all of it without the data.
[[analysis]]
method = "describe"
# Without `variables`: all. Numbers are counted in bins, ten of equal width if nothing is said: means
# and quartiles are as precise as the bins are.
variables = [{variable = "age", bins = 16}, {variable = "dose", bins = 10}, "sex"]
group = "relapse"                  # leave it out for one column
compare = ["differences"]          # of two groups

[analysis.privacy]
epsilon = 1
delta = 1e-6
adjacency = "replace"              # the number of rows is public; "add-remove": see docs/marginals.md
against = "parties"                # also against each of the parties; or "outside"
)";

constexpr char kNoisedCurves[] = R"toml(
# A time of follow-up with whether it ended in the event: two columns of the tables.
[[variable]]
name = "death"
type = "survival"
time = "days"
event = "died"                     # 1: the event, 0: last seen without it
lower = 0
upper = 1095
unit = "days"

# The method takes every row: one without a time, an event or a group is counted as such.
[design]
site = "ignore"
missing = "complete"

[engine]
name = "dealer"                    # or "replicated": three parties, "shamir": three to seven,
                                   # "ot": two parties and nobody else; slow

[network]
timeout_seconds = 60               # how long a party waits for another one

# Who leaves in each interval of time, with the event or without, opened once with noise to all; curves,
# medians and differences with intervals follow from the counts alone. Choose all of it without the data.
[[analysis]]
method = "survival"
formula = "Surv(days, died) ~ sex" # a factor; ~ 1 for one curve; ~ sex + arm for each combination
report = [180, 365, 730]
# cell = 5                         # narrower intervals of time than those between report times: less is
                                   # unknown of when rows leave, and there is more noise
# confidence = 0.9                 # of the intervals, else 0.95

[analysis.privacy]
epsilon = 1
delta = 1e-6
adjacency = "replace"              # the number of rows is public; "add-remove": see docs/survival.md
against = "parties"                # also against each of the parties; or "outside"
)toml";

}  // namespace

study::AnalysisStart Start(const study::Said& said) {
  using study::SaidAs;
  study::AnalysisStart start;
  const bool grouped = !study::SaidOr(said, "group", "").empty(),
             scored = !study::SaidOr(said, "pairs", "").empty();
  start.keys = {
      {"group", "count only the pairs with this column, for a Table 1 (nothing: all pairs)", ""},
      {"pairs", "count so many pairs, chosen by noisy scores (nothing: all)", "", SaidAs::kValue},
      {"select", "which pairs are counted: all, scores or group",
       grouped  ? "group"
       : scored ? "scores"
                : ""},
      {"triples",
       "three-way tables to count as well, such as [{columns = [\"age\", \"sex\", \"smoking\"]}] "
       "(nothing: none)",
       "", SaidAs::kValue},
      {"synthetic_rows", "rows of a synthetic table; without, the tables open alone", "",
       SaidAs::kValue},
      {"privacy.against", "whom epsilon protects from: parties or outside", "parties"}};
  start.missing = "complete";
  start.complete_means = "such cells are a level of their own";
  start.is_private = start.needs_counts = true;
  start.uses_all = study::SaidOr(said, "columns", "").empty();
  return start;
}

std::vector<study::StudyTemplate> Templates() {
  return {{data::PartitionKind::kVertical, true, study::VerticalStart() + kMarginals}};
}

std::vector<study::StudyTemplate> CurveTemplates() {
  return {{data::PartitionKind::kHorizontal, true,
           study::HorizontalStart(study::RowCounts::kPublic) + study::PatientDictionary() +
               kNoisedCurves}};
}

std::vector<study::StudyTemplate> TableOneTemplates() {
  return {
      {data::PartitionKind::kHorizontal, true,
       study::HorizontalStart(study::RowCounts::kPublic) + study::PatientDictionary() + kTableOne}};
}

}  // namespace partita::methods::marginals
