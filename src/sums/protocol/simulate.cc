#include "sums/protocol/simulate.h"

#include <algorithm>
#include <cstring>
#include <ctime>
#include <exception>
#include <mutex>
#include <thread>

#include "base/clock.h"
#include "base/error.h"
#include "crypto/prg.h"
#include "sums/protocol/client.h"
#include "sums/protocol/open_upload.h"

namespace partita::sums {
namespace {

// Clients whose seeds a thread expands together.
constexpr uint32_t kBatch = 64;
constexpr uint64_t kEpoch = 1;

// Processor time of this thread.
double ThreadSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

ClientId IdOf(uint32_t client) {
  ClientId id{};
  std::memcpy(id.data(), &client, sizeof(client));
  return id;
}

// Keys of everybody, drawn ahead.
struct World {
  std::vector<NodeRound> rounds;  // M
  NodeKeys node_keys;
  std::vector<crypto::Key> registered;  // client * M + node
};

World MakeWorld(const Simulation& simulation, crypto::RandomSource& random) {
  const Contract& contract = simulation.contract;
  World world;
  for (uint16_t node = 0; node < contract.nodes; ++node) {
    world.rounds.push_back({contract, kEpoch, node, crypto::MakeBoxKeyPair(random)});
    world.node_keys.push_back(world.rounds.back().box.public_key);
  }
  if (simulation.transport == SimulatedTransport::kRegistered) {
    crypto::Prg keys(crypto::RandomKey(random));
    world.registered.resize(size_t{contract.clients} * contract.nodes);
    for (crypto::Key& key : world.registered) keys.Fill(key.Expose());
  }
  return world;
}

// One thread: clients [begin, end) and its part of every node's sum.
class Worker {
 public:
  Worker(const Simulation& simulation, const World& world, const Splitter& splitter,
         const crypto::Key& key)
      : simulation_(simulation),
        world_(world),
        random_(key),
        splitter_(splitter),
        row_(simulation.contract.dimension),
        seeds_(simulation.contract.nodes) {
    for (uint16_t node = 0; node < simulation.contract.nodes; ++node) {
      sums_.push_back(MaskedSum::Of(simulation.contract));
    }
    for (uint32_t i = 0; i < kBatch; ++i) batch_.push_back(splitter_.MakeShares());
  }

  void Run(uint32_t begin, uint32_t end) {
    for (uint32_t first = begin; first < end; first += kBatch) {
      const uint32_t count = std::min(kBatch, end - first);
      const double start = ThreadSeconds();
      for (uint32_t i = 0; i < count; ++i) MakeUpload(first + i, i);
      const double made = ThreadSeconds();
      for (uint32_t i = 0; i < count; ++i) TakeUpload(first + i, i);
      AddSeeds();
      client_seconds_ += made - start;
      node_seconds_ += ThreadSeconds() - made;
    }
  }

  const std::vector<MaskedSum>& sums() const { return sums_; }
  double client_seconds() const { return client_seconds_; }
  double node_seconds() const { return node_seconds_; }
  uint64_t upload_bytes() const { return upload_bytes_; }

 private:
  void MakeUpload(uint32_t client, uint32_t slot) {
    const Contract& contract = simulation_.contract;
    simulation_.row(client, row_);
    Shares& shares = batch_[slot];
    splitter_.Split(row_, random_, shares);
    if (simulation_.transport == SimulatedTransport::kNone) return;
    if (simulation_.transport == SimulatedTransport::kRegistered) {
      envelopes_[slot] =
          RegisteredUpload(contract, IdOf(client), kEpoch, shares, RegisteredKeys(client), random_);
    } else {
      envelopes_[slot] =
          SealedUpload(contract, IdOf(client), kEpoch, shares, world_.node_keys, random_);
    }
    for (const Bytes& envelope : envelopes_[slot]) upload_bytes_ += envelope.size();
  }

  std::span<const crypto::Key> RegisteredKeys(uint32_t client) const {
    const size_t nodes = simulation_.contract.nodes;
    return std::span(world_.registered).subspan(client * nodes, nodes);
  }

  void TakeUpload(uint32_t client, uint32_t slot) {
    if (simulation_.transport == SimulatedTransport::kNone) {
      const Shares& shares = batch_[slot];
      sums_[0].AddWords(shares.masked.words());
      for (size_t i = 0; i < shares.seeds.size(); ++i) seeds_[i + 1].push_back(shares.seeds[i]);
      return;
    }
    for (size_t node = 0; node < sums_.size(); ++node) {
      // A directory of this client alone, in the memory of the last.
      auto entry = directory_.extract(directory_.begin());
      entry.key() = IdOf(client);
      if (simulation_.transport == SimulatedTransport::kRegistered) {
        entry.mapped() = RegisteredKeys(client)[node];
      }
      directory_.insert(std::move(entry));
      const OpenedUpload upload =
          OpenUpload(envelopes_[slot][node], world_.rounds[node], directory_);
      if (upload.verdict != Verdict::kAccepted) {
        throw Error(ErrorCode::kInternal, "a simulated upload was refused");
      }
      if (node == 0) {
        sums_[0].AddWords(upload.content);
      } else {
        std::ranges::copy(upload.content, seeds_[node].emplace_back().Expose().begin());
      }
    }
  }

  void AddSeeds() {
    for (size_t node = 1; node < sums_.size(); ++node) {
      sums_[node].AddStreams(seeds_[node]);
      seeds_[node].clear();
    }
  }

  const Simulation& simulation_;
  const World& world_;
  crypto::Prg random_;
  Splitter splitter_;
  std::vector<double> row_;
  std::vector<Shares> batch_;
  std::array<std::vector<Bytes>, kBatch> envelopes_;
  std::vector<std::vector<crypto::Key>> seeds_;  // of the batch, per node
  ClientDirectory directory_ = {{ClientId{}, std::nullopt}};
  std::vector<MaskedSum> sums_;
  double client_seconds_ = 0, node_seconds_ = 0;
  uint64_t upload_bytes_ = 0;
};

}  // namespace

SimulationResult Simulate(const Simulation& simulation, crypto::RandomSource& random) {
  const Contract& contract = simulation.contract;
  const uint64_t clients = simulation.arrived > 0 ? simulation.arrived : contract.clients;
  if (simulation.threads == 0 || clients > contract.clients) {
    throw Error(ErrorCode::kUsage,
                "a simulation without a thread, or with more clients than planned");
  }
  CheckContract(contract);
  const World world = MakeWorld(simulation, random);
  const auto start = SteadyClock::now();
  const Splitter splitter(contract);
  SimulationResult result;
  MaskedSum total = MaskedSum::Of(contract);
  std::mutex mutex;
  std::exception_ptr error;
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < simulation.threads; ++i) {
    const auto begin = static_cast<uint32_t>(clients * i / simulation.threads);
    const auto end = static_cast<uint32_t>(clients * (i + 1) / simulation.threads);
    threads.emplace_back([&, begin, end, key = crypto::RandomKey(random)] {
      try {
        Worker worker(simulation, world, splitter, key);
        worker.Run(begin, end);
        const std::lock_guard lock(mutex);
        for (const MaskedSum& sum : worker.sums()) total.AddWords(sum.words());
        result.client_seconds += worker.client_seconds();
        result.node_seconds += worker.node_seconds();
        result.upload_bytes += worker.upload_bytes();
      } catch (...) {
        const std::lock_guard lock(mutex);
        error = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (error) std::rethrow_exception(error);
  if (contract.noise_source == NoiseSource::kNodes) {
    const NoiseShare share(contract);
    std::vector<Int128> noise(contract.dimension);
    for (uint16_t node = 0; node < contract.nodes; ++node) {
      share.Sample(random, noise);
      total.AddIntegers(noise);
    }
  }
  result.sum = total.Signed();
  result.wall_seconds = SecondsSince(start);
  result.stream_bytes =
      2ULL * clients * (contract.nodes - 1U) * contract.dimension * WordBytes(contract);
  return result;
}

}  // namespace partita::sums
