list(APPEND method_sources
  meta/own_fit.cc
  meta/pooling.cc
  meta/protocol.cc
  meta/site_sums.cc
  meta/tau_search.cc
)
list(APPEND cold_method_sources
  meta/compare.cc
  meta/document.cc
  meta/own_model.cc
  meta/plan.cc
  meta/section.cc
  meta/study.cc
  meta/templates.cc
)
