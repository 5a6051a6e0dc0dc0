partita_bench(mpc_bench mpc_bench.cc DEPENDS partita_mpc)
