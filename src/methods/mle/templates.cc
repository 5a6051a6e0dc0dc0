#include "methods/mle/templates.h"

namespace partita::methods::mle {
namespace {

constexpr char kVariablesAndDesign[] = R"(
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
)";

constexpr char kDisclosure[] = R"(
# What every exact result must satisfy; an institution may ask for more.
# [disclosure]
# min_cell = 5
# min_rows = 20
# small_samples = "warn"           # or "refuse": fewer than 5 rows per parameter
)";

constexpr char kEngine[] = R"(
[engine]
name = "dealer"                    # or "replicated": three parties, none of them a dealer,
                                   # or "shamir": three to seven, of whom fewer than half collude,
                                   # or "ot": two parties and nobody else; slow
# fraction_bits = 40

[network]
timeout_seconds = 60               # how long a party waits for another one
)";

constexpr char kExact[] = R"(
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

constexpr char kPrivate[] = R"(
# The moments that all results are computed from are opened once, with noise. Several analyses of
# the same rows cost nothing more, if each has an equal [analysis.privacy].
[[analysis]]
name = "main"
method = "mle"
protocol = "pooled-moments"
release = ["moments"]              # with an addressee: {what = "estimates", to = "all"}
function = "cfa"                   # cfa, sem, growth or lavaan: as the functions of the R package
model = """
  visual  =~ x1 + x2 + x3
  textual =~ x4 + x5 + x6
"""

[analysis.privacy]
epsilon = 1
delta = 1e-6                       # well below one over the number of persons
adjacency = "replace"              # hides which of two persons is in the data; or "add-remove":
                                   # whether one is, for blocks without count
norm = 1                           # rows are shortened to it, after scaling to [-1, 1]
# planning_sd = {x1 = 1.5}         # typical standard deviations, for the forecast only
)";

std::string Exact(const std::string& start) {
  return start + kVariablesAndDesign + kDisclosure + kEngine + kExact;
}

// What `release` must list.
std::string MleRelease(const std::string& protocol) {
  if (protocol == "likelihood") return "likelihood";
  return protocol == "sealed" ? "estimates, standard-errors" : "moments";
}

}  // namespace

study::AnalysisStart Start(const study::Said& said) {
  using study::SaidAs;
  using study::SaidOr;
  const std::string protocol = SaidOr(said, "protocol", "pooled-moments");
  const bool latent = SaidOr(said, "model", "").find("=~") != std::string::npos;
  const bool is_private = !SaidOr(said, "privacy.epsilon", "").empty();
  const bool adds_and_removes = SaidOr(said, "privacy.adjacency", "") == "add-remove";
  study::AnalysisStart start;
  start.keys = {
      {"protocol", "how it is computed: pooled-moments, likelihood or sealed", "pooled-moments"},
      {"model", "the model in lavaan's syntax, as y ~ x1 + x2 or f =~ x1 + x2 + x3", {}},
      {"function", "what kind of model: regression, sem, cfa, growth, path, mediation, ...",
       latent ? "sem" : "regression"},
      {"release", "what opens to the receiver", MleRelease(protocol), SaidAs::kTexts}};
  if (is_private && adds_and_removes)
    start.keys.push_back({"privacy.planning_rows", "about how many rows", {}, SaidAs::kValue});
  // Of moments with noise the number of rows is public, so that no row may be left out.
  start.missing = is_private ? "refuse" : "complete";
  start.needs_counts = is_private && !adds_and_removes;
  start.clusters = {"robust", "true"};
  return start;
}

std::vector<study::StudyTemplate> Templates() {
  using data::PartitionKind;
  const std::string counted = study::HorizontalStart(study::RowCounts::kPublic);
  return {
      {PartitionKind::kHorizontal, false, Exact(study::HorizontalStart(study::RowCounts::kSecret))},
      {PartitionKind::kVertical, false, Exact(study::VerticalStart())},
      {PartitionKind::kHorizontal, true, counted + kVariablesAndDesign + kEngine + kPrivate}};
}

}  // namespace partita::methods::mle
