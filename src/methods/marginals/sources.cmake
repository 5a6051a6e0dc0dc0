list(APPEND method_sources
  marginals/columns.cc
  marginals/noise_design.cc
  marginals/protocol.cc
)
list(APPEND cold_method_sources
  marginals/compare.cc
  marginals/document.cc
  marginals/model_file.cc
  marginals/plan.cc
  marginals/section.cc
  marginals/study.cc
  marginals/templates.cc
)
