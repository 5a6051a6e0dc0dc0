#include "methods/meta/templates.h"

#include "methods/meta/spec.h"

namespace partita::methods::meta {
namespace {

constexpr char kMeta[] =
    R"toml(# A Partita study file. Every party reads it, checks it and approves its plan:
#   partita study validate study.toml
#   partita study plan study.toml
# docs/study-file.md describes every key. A line that starts with # is a comment.
partita = 1                        # format of this file
name = "my-study"                  # small letters, digits and -
title = "Each site holds an estimate of its own"

# The parties, in the order of the roster. Exactly one is the receiver of the result.
[[party]]
name = "north"
roles = ["holder", "receiver"]
rows = ["north-estimate"]

[[party]]
name = "south"
roles = ["holder"]
rows = ["south-estimate"]

[[party]]
name = "east"
roles = ["holder"]
rows = ["east-estimate"]

[[party]]
name = "west"
roles = ["holder"]
rows = ["west-estimate"]

[[party]]
name = "centre"
roles = ["holder"]
rows = ["centre-estimate"]

# The dealer hands out randomness. It sees no data and must collude with nobody.
[[party]]
name = "helper"
roles = ["dealer"]

# A table of one row for each site: its estimate and standard error.
[[rows]]
name = "north-estimate"
count = 1

[[rows]]
name = "south-estimate"
count = 1

[[rows]]
name = "east-estimate"
count = 1

[[rows]]
name = "west-estimate"
count = 1

[[rows]]
name = "centre-estimate"
count = 1

# Bounds that hold whatever the data say. The smallest standard error is at least 1/1024 of the
# largest of these numbers.
[[variable]]
name = "log_odds_ratio"
type = "numeric"
lower = -5
upper = 5

[[variable]]
name = "log_odds_ratio_se"
type = "numeric"
lower = 0.01
upper = 5

[design]
site = "ignore"
missing = "complete"               # an empty cell: the site has no estimate

[engine]
name = "dealer"                    # or "shamir": three to seven, of whom fewer than half collude

[network]
timeout_seconds = 60               # how long a party waits for another one

[[analysis]]
method = "meta"
estimate = "log_odds_ratio"
standard_error = "log_odds_ratio_se"
ratios = true                      # logarithms of ratios, which are shown as ratios as well
release = ["pooled"]
# protocol = "site-estimates"      # every site's estimate opens as well, by name
# estimator = "dersimonian-laird"  # of tau^2, else "reml"; or "fixed"
# interval = "normal"              # else "hartung-knapp"
# min_sites = 4                    # go on if others have no estimate; else all have one
# confidence = 0.9                 # of the intervals, else 0.95
)toml";

}  // namespace

// Sites bring an estimate, or where a formula or its term is said compute it.
study::AnalysisStart Start(const study::Said& said) {
  study::AnalysisStart start;
  const auto says = [&](const char* key) { return !study::SaidOr(said, key, "").empty(); };
  const bool computed = says("formula") || says("term") || says("family");
  const bool nothing = !computed && !says("estimate") && !says("standard_error");
  const study::StartKey release = {"release", "what opens to the receiver", kReleased,
                                   study::SaidAs::kTexts};
  if (computed) {
    start.keys = {
        {"formula", "the formula that every site fits, such as outcome ~ arm + age", std::nullopt},
        {"family", "binomial, poisson or gaussian", "binomial"},
        {"term", "the column whose coefficient is pooled, such as arm.treated", std::nullopt},
        release};
    if (study::SaidOr(said, "family", "") == "gaussian") {
      start.keys.push_back({"largest", "no estimate and no standard error is larger", std::nullopt,
                            study::SaidAs::kValue});
    }
    start.needs_min_rows = true;
  } else {
    start.keys = {{"estimate", "the variable with each site's estimate", std::nullopt},
                  {"standard_error", "the variable with its standard error", std::nullopt},
                  release};
    // Options of both ways are known before anything is said.
    if (nothing) {
      start.keys.push_back({"term", "of a formula the column whose coefficient is pooled", "",
                            study::SaidAs::kText});
    }
    start.needs_counts = true;
    start.count = "1";
  }
  start.missing = "complete";
  return start;
}

std::vector<study::StudyTemplate> Templates() {
  return {{data::PartitionKind::kHorizontal, false, kMeta}};
}

}  // namespace partita::methods::meta
