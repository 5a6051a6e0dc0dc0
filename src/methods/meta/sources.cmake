list(APPEND method_sources
  meta/pooling.cc
  meta/protocol.cc
  meta/site_sums.cc
  meta/tau_search.cc
)
list(APPEND cold_method_sources
  meta/compare.cc
  meta/document.cc
  meta/plan.cc
  meta/section.cc
  meta/study.cc
  meta/templates.cc
)
