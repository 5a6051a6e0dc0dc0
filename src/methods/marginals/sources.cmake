list(APPEND method_sources
  marginals/columns.cc
  marginals/noise_design.cc
  marginals/protocol.cc
  marginals/scored_protocol.cc
)
list(APPEND cold_method_sources
  marginals/compare.cc
  marginals/counts.cc
  marginals/curve_cells.cc
  marginals/curves.cc
  marginals/curves_section.cc
  marginals/described.cc
  marginals/document.cc
  marginals/given.cc
  marginals/model_file.cc
  marginals/own_rows.cc
  marginals/plan.cc
  marginals/section.cc
  marginals/section_parts.cc
  marginals/section_promise.cc
  marginals/spec.cc
  marginals/study.cc
  marginals/table_one.cc
  marginals/templates.cc
)
