list(APPEND method_sources
  mixture/adult.cc
  mixture/cells.cc
  mixture/checkpoint.cc
  mixture/columns.cc
  mixture/forecast.cc
  mixture/mixture.cc
  mixture/model_file.cc
  mixture/paper.cc
  mixture/root.cc
  mixture/run.cc
  mixture/run_keys.cc
  mixture/session.cc
  mixture/statement.cc
  mixture/step.cc
  mixture/synthetic.cc
  mixture/utility.cc
  mixture/weights.cc
)
list(APPEND cold_method_sources
  mixture/compare.cc
  mixture/plan.cc
  mixture/report.cc
  mixture/schedules.cc
  mixture/section.cc
  mixture/study.cc
  mixture/templates.cc
)
