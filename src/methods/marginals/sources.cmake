list(APPEND method_sources
  marginals/noise_design.cc
  marginals/protocol.cc
)
