partita_bench(net_bench net_bench.cc DEPENDS partita_net partita_crypto)
