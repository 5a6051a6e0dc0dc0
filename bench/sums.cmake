partita_bench(dca_bench dca_bench.cc DEPENDS partita_sums partita_crypto partita_privacy_sampling)
# It starts a PostgreSQL server as the tests do.
if(TARGET partita_postgres_server)
  partita_bench(dca_spool_bench dca_spool_bench.cc DEPENDS partita_postgres_server partita_crypto)
  partita_bench(pushed_sums_bench pushed_sums_bench.cc DEPENDS partita_data partita_postgres_server PkgConfig::SQLITE fmt::fmt)
endif()
partita_bench(dca_https_bench dca_https_bench.cc DEPENDS partita_sums partita_net partita_methods)
