#include "methods/mcmc/templates.h"

namespace partita::methods::mcmc {
namespace {

constexpr char kScaledAndDesign[] = R"toml(
# Predictors on a scale that is public, so that coefficients are near 1.
[[derived]]
name = "decades"                   # of age, from 50
from = "age"
transform = "scale"
centre = 50
scale = 10

[[derived]]
name = "doses"
from = "dose"
transform = "scale"
centre = 5
scale = 5

[design]
site = "ignore"
missing = "complete"               # rows with a missing value are left out; or "refuse"

[engine]
name = "dealer"                    # or "replicated": three parties, none of them a dealer,
                                   # or "shamir": three to seven, of whom fewer than half collude

[network]
timeout_seconds = 60               # how long a party waits for another one
)toml";

constexpr char kExact[] = R"toml(
# A Bayesian regression. Of its chains only the decisions to go or to stay open, to all parties.
[[analysis]]
method = "mcmc"
protocol = "decisions"             # docs/study-file.md has the others
model = "logistic"                 # or linear, poisson, negative-binomial, weibull, cox
outcome = "relapse.yes"            # the level of a factor as 0 or 1
predictors = ["decades", "doses", "sex.male"]
release = ["decisions"]
# Four chains go on until they have converged, or have made so many decisions each. draws = 1000
# would end them after 1000 draws, converged or not.
most_decisions = 70000
# chains = 4
# warmup = 1000
# thin = 4                         # one draw of so many steps
# speculation = 2                  # decisions at a time: fewer rounds, more work

[analysis.priors]
coefficients = "normal(0, 2.5)"    # of all that has none of its own
intercept = "normal(0, 2.5)"

# [analysis.start]
# intercept = -1
)toml";

constexpr char kPrivate[] = R"toml(
# A Bayesian regression. Of its chains only the decisions to go or to stay open, to all parties:
# a promise of differential privacy covers them all, so their number is part of its price.
[[analysis]]
method = "mcmc"
protocol = "decisions"             # docs/study-file.md has the others
model = "logistic"                 # or linear, poisson, negative-binomial, weibull
outcome = "relapse.yes"            # the level of a factor as 0 or 1
predictors = ["decades", "doses", "sex.male"]
release = ["decisions"]
chains = 4
warmup = 500
draws = 1000                       # that are kept of each chain

[analysis.priors]
coefficients = "normal(0, 2.5)"    # of all that has none of its own
intercept = "normal(0, 2.5)"

[analysis.privacy]
epsilon = 6
delta = 1e-5                       # below one over the number of rows
adjacency = "replace"
clip = 0.005                       # cuts each row's log likelihood: near the posterior, not it;
                                   # or lipschitz = 0.05, which bounds the steps instead
)toml";

std::string ChainRelease(const std::string& protocol) {
  if (protocol == "penalty") return "noisy-log-ratios";
  return protocol == "decisions" ? protocol : "noisy-sums";
}

}  // namespace

study::AnalysisStart Start(const study::Said& said) {
  using study::SaidAs;
  const std::string protocol = study::SaidOr(said, "protocol", "decisions");
  study::AnalysisStart start;
  start.keys = {{"protocol", "what opens of the chains", "decisions"},
                {"model", "linear, logistic, poisson, negative-binomial, weibull or cox", {}},
                {"outcome", "the outcome; of a factor, a level as 0 or 1: relapse.yes", {}},
                {"predictors", "the predictors; of factors, levels: sex.male", {}, SaidAs::kTexts},
                {"release", "what opens", ChainRelease(protocol), SaidAs::kTexts}};
  if (!study::SaidOr(said, "privacy.epsilon", "").empty() &&
      study::SaidOr(said, "privacy.lipschitz", "").empty()) {
    start.keys.push_back({"privacy.clip",
                          "where each row's log likelihood is cut, for example 0.005",
                          {},
                          SaidAs::kValue});
  }
  start.missing = "complete";
  return start;
}

std::vector<study::StudyTemplate> Templates() {
  using data::PartitionKind;
  const std::string start = study::HorizontalStart(study::RowCounts::kSecret) +
                            study::PatientDictionary() + kScaledAndDesign;
  return {{PartitionKind::kHorizontal, false, start + kExact},
          {PartitionKind::kHorizontal, true, start + kPrivate}};
}

}  // namespace partita::methods::mcmc
