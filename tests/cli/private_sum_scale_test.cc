// R20: many registered clients, 20 % of whom drop out, at three compute nodes that are processes
// and store what they take in; exact, in time, in bounded memory. Uploads come through --import,
// which leaves out HTTPS alone (bench/dca_https_bench.cc).
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "net/socket.h"
#include "tests/cli/process.h"
#include "tests/cli/sum_folder.h"

namespace partita::testing::private_sum_scale_test {
namespace {

using sums::Contract;

constexpr uint16_t kNodes = 3;

void WriteAll(const net::Socket& pipe, const Bytes& bytes) {
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t size = ::write(pipe.fd(), bytes.data() + done, bytes.size() - done);
    ASSERT_GT(size, 0);
    done += static_cast<size_t>(size);
  }
}

void Append(const Bytes& envelope, Bytes& bytes) {
  ByteWriter writer;
  writer.U32(static_cast<uint32_t>(envelope.size()));
  writer.Raw(envelope);
  bytes.insert(bytes.end(), writer.bytes().begin(), writer.bytes().end());
}

// 10 % never arrive, 5 % at node 0 only, 5 % everywhere and are gone then.
void RunDropouts(uint32_t clients, size_t dimension, double most_seconds, long most_mebibytes) {
  SumFolder folder({.clients = clients,
                    .dimension = dimension,
                    .nodes = kNodes,
                    .max_drop = clients / 5,
                    .max_collude = clients / 10,
                    .bound = "100.0",
                    .client_files = false});
  const Contract& contract = folder.collection().contract;
  std::vector<std::vector<crypto::Key>> keys(clients);
  for (uint32_t client = 0; client < clients; ++client) {
    const auto id = ClientOf(folder.credential(client), folder.collection());
    for (uint16_t k = 0; k < kNodes; ++k) {
      keys[client].push_back(sums::RegisteredKey(*folder.credential(client).key,
                                                 folder.box(k).public_key, contract.study, id, k));
    }
  }
  std::vector<std::unique_ptr<Process>> nodes;
  std::vector<net::Socket> pipes;
  for (uint16_t k = 0; k < kNodes; ++k) {
    const std::string pipe = folder / ("pipe" + std::to_string(k));
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    std::vector<std::string> arguments = folder.ComputeArguments(k);
    arguments.insert(arguments.begin(), PartitaProgram());
    arguments.insert(arguments.end(), {"--import", pipe});
    nodes.push_back(std::make_unique<Process>(arguments));
    pipes.emplace_back(::open(pipe.c_str(), O_WRONLY | O_CLOEXEC));
    ASSERT_TRUE(pipes.back().valid());
  }
  const auto start = SteadyClock::now();
  crypto::SystemRandom random;
  sums::Splitter splitter(contract);
  sums::Shares shares = splitter.MakeShares();
  std::vector<double> row(dimension);
  sums::MaskedSum expected = sums::MaskedSum::Of(contract);
  uint32_t whole = 0;
  std::vector<Bytes> waiting(kNodes);
  for (uint32_t client = 0; client < clients; ++client) {
    const uint32_t kind = client % 20;
    if (kind < 2) continue;
    for (size_t i = 0; i < dimension; ++i) row[i] = static_cast<double>((client + i) % 5) - 2;
    splitter.Split(row, random, shares);
    const std::vector<Bytes> envelopes =
        RegisteredUpload(contract, ClientOf(folder.credential(client), folder.collection()),
                         folder.collection().epoch, shares, keys[client], random);
    for (uint16_t k = 0; k < (kind == 2 ? 1 : kNodes); ++k) Append(envelopes[k], waiting[k]);
    if (kind != 2) {
      ++whole;
      expected.AddWords(shares.masked.words());
      expected.AddStreams(shares.seeds);
    }
    if (client % 500 != 499) continue;
    for (uint16_t k = 0; k < kNodes; ++k) {
      WriteAll(pipes[k], waiting[k]);
      waiting[k].clear();
    }
  }
  for (uint16_t k = 0; k < kNodes; ++k) WriteAll(pipes[k], waiting[k]);
  pipes.clear();
  for (uint16_t k = 0; k < kNodes; ++k) {
    ASSERT_TRUE(nodes[k]->WaitForStandardError("uploads imported"));
    ASSERT_EQ(Partita({"compute", folder.collection_file(), "--as", folder.node(k), "--folder",
                       folder / folder.node(k), "--freeze"})
                  .exit_code,
              0);
  }
  const ProcessResult result = Partita({"aggregate", folder.collection_file(), "--folder",
                                        folder / "analyst", "--format", "json", "--wait", "5m"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const double seconds = SecondsSince(start);
  const auto data = nlohmann::json::parse(result.out)["data"];
  EXPECT_EQ(data["clients"], whole);
  const std::vector<Int128> sum = expected.Signed();
  for (size_t i = 0; i < dimension; ++i) EXPECT_EQ(data["grid"][i], ToString(sum[i]));
  for (auto& node : nodes) {
    node->Kill(SIGTERM);
    EXPECT_EQ(node->Wait().exit_code, 0);
  }
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  std::printf("%u clients: %.1f s, largest node %ld MiB\n", clients, seconds,
              usage.ru_maxrss / 1024);
  EXPECT_LT(seconds, most_seconds);
  EXPECT_LT(usage.ru_maxrss / 1024, most_mebibytes);
}

TEST(PrivateSumScaleTest, DropoutsOfAHundredThousand) { RunDropouts(100000, 100, 60, 512); }

}  // namespace
}  // namespace partita::testing::private_sum_scale_test
