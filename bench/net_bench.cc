// The network floor: small all-to-all rounds, bulk throughput, key streams. Parties other than the
// measuring one are forked processes, as in `study simulate`.
#include <benchmark/benchmark.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "crypto/prg.h"
#include "net/channel.h"
#include "net/tls_transport.h"

namespace partita::net {
namespace {

using std::chrono::seconds;

// A mesh of TLS parties on loopback: party 0 is this process, the others run `party` in children.
class ProcessMesh {
 public:
  ProcessMesh(size_t parties, const std::function<void(Channel&)>& party) {
    std::vector<crypto::Identity> identities;
    std::vector<Listener> listeners;
    Roster roster;
    for (size_t i = 0; i < parties; ++i) {
      const std::string name = "party" + std::to_string(i);
      identities.push_back(crypto::MakeIdentity({name}));
      listeners.push_back(Listen("127.0.0.1", "0"));
      roster.push_back(
          {name, listeners[i].address, crypto::Fingerprint(*identities[i].certificate)});
    }
    for (size_t i = 1; i <= parties; ++i) {
      const PartyIndex self = i % parties;
      const pid_t child = self == 0 ? 0 : fork();
      if (child != 0) {
        children_.push_back(child);
        continue;
      }
      TlsOptions options;
      options.identity = identities[self];
      options.roster = roster;
      options.self = self;
      options.listener = std::move(listeners[self]);
      channel_ = std::make_unique<Channel>(
          ConnectTls(std::move(options), Deadline::After(seconds(10))), Bytes{1}, 1);
      if (self == 0) continue;
      try {
        party(*channel_);
      } catch (const Error&) {  // party 0 is done
      }
      _exit(0);
    }
  }

  ~ProcessMesh() {
    channel_ = nullptr;
    for (pid_t child : children_) waitpid(child, nullptr, 0);
  }

  Channel& channel() { return *channel_; }

 private:
  std::vector<pid_t> children_;
  std::unique_ptr<Channel> channel_;
};

void Round(Channel& channel, const Bytes& out, std::vector<Bytes>& in) {
  std::vector<Send> sends;
  std::vector<Receive> receives;
  for (PartyIndex peer = 0; peer < channel.num_parties(); ++peer) {
    if (peer == channel.self()) continue;
    sends.push_back({peer, out, 0, {}});
    receives.push_back({peer, in[peer], 0, {}, nullptr, 0});
  }
  channel.Exchange(sends, receives);
}

// All-to-all round of parties x bytes.
void BM_TlsRound(benchmark::State& state) {
  const auto parties = static_cast<size_t>(state.range(0));
  const auto size = static_cast<size_t>(state.range(1));
  auto work = [&](Channel& channel, const std::function<bool()>& more) {
    const Bytes out(size, 7);
    std::vector<Bytes> in(parties, Bytes(size));
    while (more()) Round(channel, out, in);
  };
  ProcessMesh mesh(parties, [&](Channel& channel) { work(channel, [] { return true; }); });
  work(mesh.channel(), [&] { return state.KeepRunning(); });
}
BENCHMARK(BM_TlsRound)
    ->Args({2, 1600})
    ->Args({3, 1600})
    ->Args({3, 100'000})
    ->UseRealTime()
    ->Unit(benchmark::kMicrosecond);

// Bulk data one way, acknowledged per message of 256 MB. The other party is a process of its own,
// so the CPU column is what one end costs: its inverse bounds the throughput of two idle cores.
void BM_TlsThroughput(benchmark::State& state) {
  const size_t size = size_t{256} << 20;
  const bool stream = state.range(0) != 0;
  const bool receiving = state.range(1) != 0;
  const Consumer ignore = [](uint64_t, ByteView) {};
  const Producer produce = [](uint64_t, std::span<uint8_t>) {};
  const Bytes out(stream ? 0 : size, 7);
  Bytes in(stream ? 0 : size), ack(1);
  auto send_bulk = [&](Channel& channel) {
    const PartyIndex peer = 1 - channel.self();
    const Send send{peer, out, size, stream ? produce : Producer()};
    const Receive receive{peer, ack, 0, {}, nullptr, 0};
    channel.Exchange({&send, 1}, {&receive, 1});
  };
  auto receive_bulk = [&](Channel& channel) {
    const PartyIndex peer = 1 - channel.self();
    const Receive receive{peer, in, size, stream ? ignore : Consumer(), nullptr, 0};
    channel.Exchange({}, {&receive, 1});
    const Send send{peer, ack, 0, {}};
    channel.Exchange({&send, 1}, {});
  };
  ProcessMesh mesh(2, [&](Channel& channel) {
    while (true) receiving ? send_bulk(channel) : receive_bulk(channel);
  });
  for (auto _ : state) {
    receiving ? receive_bulk(mesh.channel()) : send_bulk(mesh.channel());
  }
  state.SetBytesProcessed(static_cast<int64_t>(size) * state.iterations());
}
BENCHMARK(BM_TlsThroughput)
    ->ArgNames({"stream", "receiving"})
    ->ArgsProduct({{0, 1}, {0, 1}})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

void BM_Prg(benchmark::State& state) {
  crypto::Prg prg{crypto::Key()};
  Bytes out(static_cast<size_t>(state.range(0)));
  for (auto _ : state) {
    prg.Fill(out);
    benchmark::DoNotOptimize(out.data());
  }
  state.SetBytesProcessed(state.range(0) * state.iterations());
}
BENCHMARK(BM_Prg)->Arg(16)->Arg(4096)->Arg(1 << 16)->Arg(1 << 24);

void BM_PairwiseKey(benchmark::State& state) {
  ProcessMesh mesh(2, [](Channel& channel) {
    Bytes in(1);
    const Receive receive{0, in, 0, {}, nullptr, 0};
    channel.Exchange({}, {&receive, 1});
  });
  uint64_t counter = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(mesh.channel().PairwiseKey(1, "bench", counter++));
  }
}
BENCHMARK(BM_PairwiseKey);

}  // namespace
}  // namespace partita::net

BENCHMARK_MAIN();
