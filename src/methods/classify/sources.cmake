list(APPEND method_sources
  classify/baselines.cc
  classify/classification.cc
  classify/descent.cc
  classify/held_out_counts.cc
  classify/level_descents.cc
  classify/local_aggregation.cc
  classify/minimum_on_shares.cc
  classify/newton_sums.cc
  classify/noised_sum.cc
  classify/poisson_batch.cc
  classify/private_minimum.cc
  classify/psgd.cc
  classify/spec.cc
  classify/statement.cc
)
list(APPEND cold_method_sources
  classify/compare.cc
  classify/document.cc
  classify/fit_twin.cc
  classify/schedules.cc
  classify/section.cc
  classify/study.cc
  classify/templates.cc
)
