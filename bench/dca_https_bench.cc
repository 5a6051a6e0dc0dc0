// Uploads per second at one compute node over HTTPS, durable in an SQLite file: registered clients,
// rows of 1 KiB and of 8 KiB, over kept connections, and with a connection and handshake each.
//
//   dca_https_bench            the file lies in the folder TMPDIR names: name a disk that counts
//
// Clients and node share this machine's cores. Drawing and encrypting uploads is not in the time.
#include <benchmark/benchmark.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "net/https_client.h"
#include "net/https_server.h"
#include "run/simulate/temporary_folder.h"
#include "sums/protocol/client.h"
#include "sums/protocol/compute_node.h"
#include "sums/service/upload_queue.h"
#include "sums/spool/sqlite_spool.h"

namespace partita {
namespace {

using sums::Contract;
using sums::Verdict;

constexpr unsigned kClientThreads = 16;

Contract ContractOf(uint32_t clients, size_t dimension) {
  Contract contract;
  contract.dimension = dimension;
  contract.nodes = 2;
  contract.clients = clients;
  contract.max_drop = clients / 10;
  contract.max_collude = clients / 10;
  contract.clip = {privacy::Norm::kL2, 1.0, 32};
  contract.variance = privacy::VarianceOfStddev(0x1.8p35);
  return contract;
}

// What one node needs, and uploads that are ready to be sent.
struct Prepared {
  Prepared(uint32_t clients, size_t dimension)
      : identity(crypto::MakeIdentity({.name = "node"})), contract(ContractOf(clients, dimension)) {
    sums::Splitter splitter(contract);
    sums::Shares shares = splitter.MakeShares();
    const std::vector<double> row(dimension, 0.01);
    for (uint32_t client = 0; client < clients; ++client) {
      sums::ClientId id{};
      std::memcpy(id.data(), &client, sizeof client);
      const std::vector<crypto::Key> keys = {crypto::RandomKey(random), crypto::RandomKey(random)};
      directory[id] = keys[0];
      splitter.Split(row, random, shares);
      uploads.push_back(RegisteredUpload(contract, id, 1, shares, keys, random).front());
    }
  }

  crypto::SystemRandom random;
  crypto::Identity identity;
  Contract contract;
  sums::ClientDirectory directory;
  std::vector<Bytes> uploads;
};

void SendAll(const Prepared& prepared, const net::HttpsPeer& peer, bool keep,
             std::atomic<uint32_t>& next, std::atomic<uint32_t>& accepted) {
  SilentProgress progress;
  net::HttpsClient client(peer, {});
  net::HttpRequest request;
  request.method = "POST";
  request.target = "/";
  for (uint32_t i = next++; i < prepared.uploads.size(); i = next++) {
    if (!keep) client = net::HttpsClient(peer, {});
    request.body = prepared.uploads[i];
    accepted += client.Send(request, std::chrono::minutes(1), 100, progress).status == 200 ? 1 : 0;
  }
}

void Ingest(benchmark::State& state) {
  const auto clients = static_cast<uint32_t>(state.range(0));
  const auto dimension = static_cast<size_t>(state.range(1)) / 8;
  const bool keep = state.range(2) != 0;
  Prepared prepared(clients, dimension);
  for (auto unused : state) {
    (void)unused;
    state.PauseTiming();
    const run::TemporaryFolder folder;
    sums::SqliteSpool spool(folder.path() / "spool", prepared.contract.study, 1);
    sums::ComputeNode node({{prepared.contract, 1, 0, crypto::MakeBoxKeyPair(prepared.random)},
                            prepared.identity,
                            {prepared.identity.certificate, prepared.identity.certificate},
                            2},
                           prepared.directory, spool, prepared.random);
    sums::UploadQueue queue(
        [&node](std::span<const ByteView> uploads) { return node.Accept(uploads); }, {});
    net::HttpsServer server(
        net::Listen("127.0.0.1", "0"), prepared.identity, {}, 2,
        [&queue](net::HttpRequest request, const net::HttpReply& reply) {
          queue.Offer(std::move(request.body), [reply](std::optional<Verdict> verdict) {
            const bool good = verdict == Verdict::kAccepted;
            reply(net::TextResponse(good ? 200 : 400, good ? "accepted" : "refused"));
          });
        });
    const net::HttpsPeer peer = {"node", server.address(),
                                 crypto::Fingerprint(*prepared.identity.certificate)};
    std::atomic<uint32_t> next{0}, accepted{0};
    state.ResumeTiming();
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < kClientThreads; ++i) {
      threads.emplace_back([&] { SendAll(prepared, peer, keep, next, accepted); });
    }
    for (std::thread& thread : threads) thread.join();
    if (accepted != clients) state.SkipWithError("not every upload was accepted");
    state.PauseTiming();
    server.Stop(std::chrono::milliseconds(100));
    state.ResumeTiming();
  }
  state.counters["uploads_per_second"] =
      benchmark::Counter(clients, benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(Ingest)
    ->ArgNames({"uploads", "row_bytes", "keep_alive"})
    ->Args({20000, 1024, 1})
    ->Args({20000, 8192, 1})
    ->Args({4000, 1024, 0})
    ->Iterations(1)
    ->UseRealTime()
    ->Unit(benchmark::kSecond);

}  // namespace
}  // namespace partita

BENCHMARK_MAIN();
