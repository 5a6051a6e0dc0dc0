partita_bench(stats_bench stats_bench.cc DEPENDS partita_stats Eigen3::Eigen)
partita_bench(marginals_bench marginals_bench.cc DEPENDS partita_stats fmt::fmt)
