list(APPEND method_sources
  mcmc/chain.cc
  mcmc/decisions.cc
  mcmc/figures.cc
  mcmc/noisy_sums.cc
  mcmc/penalty.cc
  mcmc/plots.cc
  mcmc/predictive_checks.cc
  mcmc/prior_draws.cc
  mcmc/prior_sensitivity.cc
  mcmc/record.cc
  mcmc/registries.cc
  mcmc/result.cc
  mcmc/row_checks.cc
  mcmc/spec.cc
  mcmc/statement.cc
  mcmc/trade_offs.cc
)
list(APPEND cold_method_sources
  mcmc/compare.cc
  mcmc/document.cc
  mcmc/prior_predictive.cc
  mcmc/schedules.cc
  mcmc/section.cc
  mcmc/study.cc
  mcmc/study_run.cc
  mcmc/templates.cc
)
