partita_bench(kernels_bench kernels_bench.cc DEPENDS partita_mpc)
