list(APPEND method_sources
  describe/layout.cc
  describe/mantel_haenszel.cc
  describe/means.cc
  describe/named_rows.cc
  describe/own_columns.cc
  describe/own_numbers.cc
  describe/protocol.cc
  describe/quantiles.cc
  describe/ranks.cc
  describe/result.cc
  describe/share_table.cc
  describe/spec.cc
  describe/task.cc
)
list(APPEND cold_method_sources
  describe/compare.cc
  describe/comparison_tables.cc
  describe/comparisons.cc
  describe/document.cc
  describe/group_bits.cc
  describe/plain_table.cc
  describe/plan.cc
  describe/section.cc
  describe/study.cc
  describe/study_rows.cc
  describe/templates.cc
)
