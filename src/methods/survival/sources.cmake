list(APPEND method_sources
  survival/cells.cc
  survival/cox/fitter.cc
  survival/cox/result.cc
  survival/cox/rows.cc
  survival/curves.cc
  survival/log_rank.cc
  survival/medians.cc
  survival/own_counts.cc
  survival/protocol.cc
  survival/result.cc
  survival/risk_sets.cc
  survival/time_grid.cc
)
list(APPEND cold_method_sources
  survival/compare.cc
  survival/cox/compare.cc
  survival/cox/document.cc
  survival/cox/plan.cc
  survival/cox/section.cc
  survival/cox/study.cc
  survival/document.cc
  survival/plain_curves.cc
  survival/plan.cc
  survival/section.cc
  survival/study.cc
  survival/templates.cc
)
