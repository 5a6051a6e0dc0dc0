list(APPEND method_sources
  mixed/counts.cc
  mixed/fit.cc
  mixed/group_pairs.cc
  mixed/laplace_fit.cc
  mixed/node_sums.cc
  mixed/own_rows.cc
  mixed/path_fit.cc
  mixed/profile.cc
  mixed/reml.cc
  mixed/slope_path.cc
  mixed/task.cc
)
list(APPEND cold_method_sources
  mixed/compare.cc
  mixed/document.cc
  mixed/model.cc
  mixed/plan.cc
  mixed/random_term.cc
  mixed/result.cc
  mixed/section.cc
  mixed/study.cc
  mixed/templates.cc
)
