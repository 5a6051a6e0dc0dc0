partita_bench(mpc_bench mpc_bench.cc DEPENDS partita_mpc)
partita_bench(oracle_bench oracle_bench.cc DEPENDS partita_mpc)
target_include_directories(oracle_bench PRIVATE ${CMAKE_SOURCE_DIR})
