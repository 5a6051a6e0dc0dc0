partita_bench(kernels_bench kernels_bench.cc DEPENDS partita_mpc)
partita_bench(replicated_bench replicated_bench.cc DEPENDS partita_mpc)
