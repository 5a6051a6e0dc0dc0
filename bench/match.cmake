partita_bench(match_bench match_bench.cc DEPENDS partita_match)
