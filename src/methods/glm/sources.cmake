list(APPEND method_sources
  glm/aggregates.cc
  glm/counts.cc
  glm/fit_numbers.cc
  glm/inputs.cc
  glm/own_rows.cc
  glm/protocol.cc
  glm/result.cc
  glm/task.cc
)
list(APPEND cold_method_sources
  glm/compare.cc
  glm/document.cc
  glm/model.cc
  glm/plan.cc
  glm/read_errors.cc
  glm/section.cc
  glm/study.cc
  glm/templates.cc
)
