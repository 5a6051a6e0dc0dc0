partita_bench(data_bench data_bench.cc DEPENDS partita_match)
