#include "methods/mixture/templates.h"

namespace partita::methods::mixture {
namespace {

constexpr char kMixture[] = R"(
# The dictionary: what every variable means. Bounds and levels are public and must come from what
# the variable can be, never from the data. A value outside stops the study at its owner.
[[variable]]
name = "x1"
type = "integer"                   # few values: one level each; many: a Beta density
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

# The method takes every row as it is.
[design]
site = "ignore"
missing = "refuse"

[engine]
name = "dealer"                    # or "replicated": three parties, none of them a dealer,
                                   # or "ot": two parties and nobody else; slow

[network]
timeout_seconds = 60               # how long a party waits for another one

# A mixture of products of simple distributions, learned with differential privacy, and synthetic
# tables of it for the receiver. All of it is public: choose it without the data.
[[analysis]]
method = "mixture"
# Without `columns`: all variables, factors and integers of few values by their levels.
columns = [
  "x1",
  {variable = "x2", family = "bernoulli"},
  {variable = "x3", family = "gaussian"},
  "x4",
  {variable = "x5", rare = ["islands", "abroad"]},  # levels that share one
  {variable = "x6", family = "categorical", bins = 10},
]
components = 4                     # few rows under noise bear few
epochs = 30                        # passes through the rows; or iterations = 120
learning_rate = 0.05
synthetic_rows = 300
synthetic_sets = 2
# checkpoint_every = 100           # so many iterations are lost at most when all parties stop
# reserve = 2                      # openings in the place of lost ones, charged with the others

# Every row in one batch of each pass, or mode = "poisson": by chance, which hides from outsiders
# and not from the parties; or "full". `partita study plan` compares them.
[analysis.batch]
mode = "disjoint"
size = 60

[analysis.privacy]
epsilon = 3                        # or noise_multiplier = 2
against = "parties"                # who know the batches; or "outside": whoever sees the model
delta = 1e-5
adjacency = "replace"
# clip = 1

# Rows that are never trained on; their holders judge the synthetic rows of their own columns by
# them.
# [analysis.utility]
# test_rows = 60
# seed = 1                         # public: says which rows
# targets = [{variable = "x2", level = "yes"}]
)";

}  // namespace

study::AnalysisStart Start(const study::Said& said) {
  using study::SaidAs;
  study::AnalysisStart start;
  start.keys = {{"components", "how many components", "20", SaidAs::kValue},
                {"epochs", "passes through the rows", "30", SaidAs::kValue},
                {"synthetic_rows", "rows of a synthetic table", {}, SaidAs::kValue},
                {"batch.mode", "how batches are chosen: disjoint, poisson or full", "disjoint"},
                {"privacy.against", "whom epsilon protects from: parties or outside", "parties"}};
  if (study::SaidOr(said, "batch.mode", "") != "full") {
    start.keys.insert(start.keys.end() - 1,
                      {"batch.size", "rows of a batch, for example a fifth", {}, SaidAs::kValue});
  }
  start.is_private = start.needs_counts = true;
  start.uses_all = study::SaidOr(said, "columns", "").empty();
  return start;
}

std::vector<study::StudyTemplate> Templates() {
  return {{data::PartitionKind::kVertical, true, study::VerticalStart() + kMixture}};
}

}  // namespace partita::methods::mixture
