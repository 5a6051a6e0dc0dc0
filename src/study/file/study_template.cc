#include "study/file/study_template.h"

namespace partita::study {
namespace {

constexpr const char* kHeader =
    R"(# A Partita study file. Every party reads it, checks it and approves its plan:
#   partita study validate study.toml
#   partita study plan study.toml
# docs/study-file.md describes every key. A line that starts with # is a comment.
partita = 1                        # format of this file
)";

constexpr const char* kHorizontalParties =
    R"(name = "my-study"                  # small letters, digits and -
title = "Each institution holds rows of its own"

# The parties, in the order of the roster. Exactly one is the receiver of the result.
[[party]]
name = "north"
roles = ["holder", "receiver"]
rows = ["north-rows"]              # the row blocks that it holds

[[party]]
name = "south"
roles = ["holder"]
rows = ["south-rows"]

# The dealer hands out randomness. It sees no data and must collude with nobody.
[[party]]
name = "helper"
roles = ["dealer"]

# One row block for each institution. Add count = 120 to make its number of rows public; without it
# only the receiver learns the total.
[[rows]]
name = "north-rows"

[[rows]]
name = "south-rows"

[table]
# separator = ";"                  # of the CSV files; a comma if left out
# decimal = ","                    # a point if left out
)";

constexpr const char* kVerticalParties =
    R"(name = "my-study"                  # small letters, digits and -
title = "Each institution holds columns of the same rows"

# The parties, in the order of the roster. Exactly one is the receiver of the result.
[[party]]
name = "north"
roles = ["holder", "receiver"]
columns = ["x1", "x2", "x3"]       # the variables that it contributes

[[party]]
name = "south"
roles = ["holder"]
columns = ["x4", "x5", "x6"]

# The dealer hands out randomness. It sees no data and must collude with nobody.
[[party]]
name = "helper"
roles = ["dealer"]

# The rows that all holders have in common, and their public number.
[[rows]]
name = "all"
count = 300

[table]
key = "id"                         # the column by which the holders bring their rows in one order
# separator = ";"                  # of the CSV files; a comma if left out
# decimal = ","                    # a point if left out
)";

constexpr const char* kDictionary = R"(
# The dictionary: what every variable means. The bounds are public and must come from what the
# variable can be, never from the data. A value outside stops the study at its owner.
[[variable]]
name = "x1"
type = "numeric"                   # or integer, date, survival, or factor and ordered, which
                                   # have levels = ["no", "yes"] instead of lower and upper
lower = 0
upper = 10
# unit = "points"
# missing_codes = ["-9", "NA"]     # cells that mean "missing", beside the empty cell

[[variable]]
name = "x2"
type = "numeric"
lower = 0
upper = 10

[[variable]]
name = "x3"
type = "numeric"
lower = 0
upper = 10

[[variable]]
name = "x4"
type = "numeric"
lower = 0
upper = 10

[[variable]]
name = "x5"
type = "numeric"
lower = 0
upper = 10

[[variable]]
name = "x6"
type = "numeric"
lower = 0
upper = 10

# Variables that their owners compute, with constants that are written here.
# [[derived]]
# name = "log_x1"
# from = "x1"
# transform = "log1p"              # or log, sqrt, scale, cut, poly, ns

# [population]
# unit = "person"                  # what a row is
# max_rows_per_person = 1
# subset = [{variable = "x1", at_least = 1}, {variable = "x2", below = 9}]

# How the rows came about. Neither key has a default.
[design]
site = "ignore"                    # the institutions: ignore, fixed, strata or random
missing = "refuse"                 # a missing cell: refuse, complete, fiml or mi
# weights = "w"
# weights_type = "frequency"       # or "sampling" or "precision"
# cluster = "family"

# What every exact result must satisfy; an institution may ask for more.
# [disclosure]
# min_cell = 5
# min_rows = 20
# small_samples = "warn"           # or "refuse": fewer than 5 rows per parameter

[engine]
name = "dealer"                    # or "replicated": three parties, none of them a dealer,
                                   # or "shamir": three to seven, of whom fewer than half collude,
                                   # or "ot": two parties and nobody else; slow
# fraction_bits = 40

[network]
timeout_seconds = 60               # how long a party waits for another one

# One or more analyses of the same rows, each under its own [[analysis]] and with its own name.
[[analysis]]
name = "main"
method = "mle"
protocol = "pooled-moments"        # or "likelihood", "sealed"
release = ["moments"]              # what is opened to the receiver; with an addressee:
                                   # release = ["moments", {what = "estimates", to = "all"}]
function = "cfa"                   # cfa, sem, growth or lavaan: as the functions of the R package
model = """
  visual  =~ x1 + x2 + x3
  textual =~ x4 + x5 + x6
"""
# subset = [{variable = "x3", above = 2}]
# group = "school"                 # a factor of the dictionary
# group_equal = ["loadings"]
# std_lv = false                   # true: latent variances 1 instead of first loadings 1
# meanstructure = true
# fixed_x = false
# robust = true                    # Huber-White standard errors
information = "expected"           # for the standard errors; or "observed"
)";

constexpr const char* kMixture = R"(
# The dictionary: what every variable means. Bounds and levels are public and must come from what the
# variable can be, never from the data. A value outside stops the study at its owner.
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
components = 10
epochs = 30                        # passes through the rows; or iterations = 120
learning_rate = 0.05
synthetic_rows = 300
synthetic_sets = 2
# checkpoint_every = 100           # so many iterations are lost at most when all parties stop at once
# reserve = 2                      # openings in the place of lost ones, charged with the others

# Every row in one batch of each pass, or mode = "poisson": by chance, which hides from outsiders and
# not from the parties; or "full". `partita study plan` compares them.
[analysis.batch]
mode = "disjoint"
size = 60

[analysis.privacy]
epsilon = 3                        # or noise_multiplier = 2
against = "parties"                # who know the batches; or "outside": whoever sees the model
delta = 1e-5
adjacency = "replace"
# clip = 1

# Rows that are never trained on; their holders judge the synthetic rows of their own columns by them.
# [analysis.utility]
# test_rows = 60
# seed = 1                         # public: says which rows
# targets = [{variable = "x2", level = "yes"}]
)";

}  // namespace

std::string StudyTemplate(TemplateKind kind) {
  if (kind == TemplateKind::kMixture) return std::string(kHeader) + kVerticalParties + kMixture;
  return std::string(kHeader) +
         (kind == TemplateKind::kHorizontal ? kHorizontalParties : kVerticalParties) + kDictionary;
}

}  // namespace partita::study
