// Clients and compute nodes of a small private sum, in one process, for tests.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "crypto/prg.h"
#include "sums/protocol/aggregate.h"
#include "sums/protocol/client.h"
#include "sums/protocol/compute_node.h"
#include "sums/spool/sqlite_spool.h"

namespace partita::sums {

inline crypto::Prg SeededStream(uint64_t seed) {
  std::array<uint8_t, 32> key{};
  std::memcpy(key.data(), &seed, sizeof(seed));
  return crypto::Prg(crypto::Key(key));
}

// In memory where there is such a file system: what is tested with it is not durability (that is
// crash_test.cc), and a disk would take milliseconds per transaction.
class TempFolder {
 public:
  TempFolder() {
    const std::filesystem::path memory = "/dev/shm";
    const auto parent =
        std::filesystem::exists(memory) ? memory : std::filesystem::temp_directory_path();
    std::string name = (parent / "partita_dca_XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
    path_ = name;
  }
  ~TempFolder() { std::filesystem::remove_all(path_); }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

inline ClientId IdOf(uint32_t client) {
  ClientId id{};
  // Not in the order of the numbers, so that orders are not mixed up unnoticed.
  const uint32_t mixed = client * 2654435761U;
  std::memcpy(id.data(), &mixed, sizeof(mixed));
  std::memcpy(id.data() + 8, &client, sizeof(client));
  return id;
}

inline Contract SmallContract(uint32_t clients = 20, size_t dimension = 3, uint16_t nodes = 3) {
  Contract contract;
  contract.study.fill(7);
  contract.dimension = dimension;
  contract.nodes = nodes;
  contract.clients = clients;
  contract.max_drop = clients / 5;
  contract.max_collude = clients / 10;
  contract.clip = {privacy::Norm::kL2, 1024.0, 20};
  contract.variance = privacy::VarianceOfStddev(0x1p20);
  return contract;
}

inline constexpr uint64_t kEpoch = 5;

// Keys of everybody. Clients with an odd number are unregistered, unless all are registered.
class World {
 public:
  explicit World(const Contract& world_contract, bool all_registered = false)
      : contract(world_contract), directories(contract.nodes), random(SeededStream(99)) {
    for (uint16_t node = 0; node < contract.nodes; ++node) {
      identities.push_back(crypto::MakeIdentity({.name = "node" + std::to_string(node)}));
      certificates.push_back(identities.back().certificate);
      boxes.push_back(crypto::MakeBoxKeyPair(random));
      node_keys.push_back(boxes.back().public_key);
    }
    client_keys.resize(contract.clients);
    for (uint32_t client = 0; client < contract.clients; ++client) {
      const bool registered = all_registered || client % 2 == 0;
      for (uint16_t node = 0; node < contract.nodes; ++node) {
        auto& entry = directories[node][IdOf(client)];
        if (!registered) continue;
        entry = crypto::RandomKey(random);
        client_keys[client].push_back(*entry);
      }
    }
  }

  // The envelopes of a client for all nodes.
  std::vector<Bytes> Upload(uint32_t client, std::span<const double> row, Splitter& splitter,
                            uint64_t epoch = kEpoch) {
    Shares shares = splitter.MakeShares();
    splitter.Split(row, random, shares);
    return Encrypt(client, shares, epoch);
  }
  std::vector<Bytes> Encrypt(uint32_t client, const Shares& shares, uint64_t epoch = kEpoch) {
    if (client_keys[client].empty()) {
      return SealedUpload(contract, IdOf(client), epoch, shares, node_keys, random);
    }
    return RegisteredUpload(contract, IdOf(client), epoch, shares, client_keys[client], random);
  }

  NodeSettings Settings(uint16_t node, uint64_t epoch = kEpoch) const {
    return {{contract, epoch, node, boxes[node]}, identities[node], certificates, 2};
  }

  Contract contract;
  std::vector<crypto::Identity> identities;
  NodeCertificates certificates;
  std::vector<crypto::BoxKeyPair> boxes;
  NodeKeys node_keys;
  std::vector<std::vector<crypto::Key>> client_keys;
  std::vector<ClientDirectory> directories;  // per node
  crypto::Prg random;
};

// M compute nodes, each with a store of its own.
class Nodes {
 public:
  explicit Nodes(World& world, uint64_t epoch = kEpoch) : world_(world), epoch_(epoch) {
    for (uint16_t node = 0; node < world.contract.nodes; ++node) {
      spools_.emplace_back();
      nodes_.emplace_back();
      Restart(node);
    }
  }
  ComputeNode& operator[](uint16_t node) { return *nodes_[node]; }
  Spool& spool(uint16_t node) { return *spools_[node]; }
  // A new process on the same store.
  void Restart(uint16_t node) {
    nodes_[node].reset();
    spools_[node].reset();
    spools_[node] = std::make_unique<SqliteSpool>(folder_ / ("node" + std::to_string(node)),
                                                  world_.contract.study, epoch_);
    nodes_[node] = std::make_unique<ComputeNode>(world_.Settings(node, epoch_),
                                                 world_.directories[node], *spools_[node], random_);
  }
  void RestartAll() {
    for (uint16_t node = 0; node < nodes_.size(); ++node) Restart(node);
  }

  AcceptedSet FreezeAndIntersect() {
    std::vector<AcceptedSet> sets;
    for (auto& node : nodes_) sets.push_back(node->Freeze());
    return Intersect(sets);
  }
  std::vector<Bytes> AgreeAll(const AcceptedSet& agreed) {
    std::vector<Bytes> closings;
    for (auto& node : nodes_) closings.push_back(node->Agree(agreed));
    return closings;
  }
  PrivateSum Finish() {
    const std::vector<Bytes> closings = AgreeAll(FreezeAndIntersect());
    std::vector<Bytes> publications;
    for (auto& node : nodes_) publications.push_back(node->Publish(closings));
    return Aggregate(publications, world_.contract, world_.certificates);
  }

 private:
  World& world_;
  uint64_t epoch_;
  TempFolder folder_;
  crypto::SystemRandom random_;
  std::vector<std::unique_ptr<SqliteSpool>> spools_;
  std::vector<std::unique_ptr<ComputeNode>> nodes_;
};

// What a share stands for: the words of all M, added.
inline std::vector<Int128> Open(const Contract& contract, const Shares& shares) {
  MaskedSum sum = MaskedSum::Of(contract);
  sum.AddWords(shares.masked.words());
  sum.AddStreams(shares.seeds);
  return sum.Signed();
}

inline void ExpectError(ErrorCode code, const std::function<void()>& call) {
  try {
    call();
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_FALSE(error.message().empty());
  }
}

}  // namespace partita::sums
