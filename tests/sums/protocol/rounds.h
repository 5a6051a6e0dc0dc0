// Clients that keep what they made, so that sums can be compared exactly.
#pragma once

#include <map>
#include <optional>
#include <stdexcept>

#include "tests/sums/protocol/world.h"

namespace partita::sums {

// Each client draws one upload and sends those bytes for ever.
class Clients {
 public:
  explicit Clients(World& world, uint64_t epoch = kEpoch)
      : world_(world), epoch_(epoch), splitter_(world.contract), made_(world.contract.clients) {}

  // The envelopes of a client, one per node; made at the first call.
  const std::vector<Bytes>& Upload(uint32_t client) {
    if (!made_[client]) Make(client);
    return made_[client]->envelopes;
  }
  // The same, made before; for several threads.
  const std::vector<Bytes>& Made(uint32_t client) const { return made_[client]->envelopes; }
  UploadId UploadOf(uint32_t client) { return ParseEnvelope(Upload(client).front()).header.upload; }

  // Whose upload this is, of those that were made. Throws if it is nobody's.
  uint32_t NumberOf(const AcceptedUpload& upload) {
    for (uint32_t client = 0; client < made_.size(); ++client) {
      if (IdOf(client) == upload.client && made_[client]) return client;
    }
    throw std::runtime_error("an upload of nobody");
  }

  // Row and noise of an upload; null if it is not of these clients.
  const std::vector<Int128>* RowOf(const AcceptedUpload& upload) const {
    const auto found = rows_.find(upload);
    return found == rows_.end() ? nullptr : &found->second;
  }
  std::vector<Int128> Sum(const AcceptedSet& set) const {
    std::vector<Int128> sum(world_.contract.dimension);
    for (const AcceptedUpload& upload : set) {
      for (size_t i = 0; i < sum.size(); ++i) sum[i] += rows_.at(upload)[i];
    }
    return sum;
  }

 private:
  struct Drawn {
    std::vector<Bytes> envelopes;
  };

  void Make(uint32_t client) {
    std::vector<double> row(world_.contract.dimension);
    for (size_t i = 0; i < row.size(); ++i) {
      row[i] = (static_cast<double>(client) - 7) * (i % 2 == 0 ? 1.0 : -0.25);
    }
    Shares shares = splitter_.MakeShares();
    splitter_.Split(row, world_.random, shares);
    made_[client] = Drawn{world_.Encrypt(client, shares, epoch_)};
    rows_[{IdOf(client), UploadOf(client)}] = Open(world_.contract, shares);
  }

  World& world_;
  uint64_t epoch_;
  Splitter splitter_;
  std::vector<std::optional<Drawn>> made_;
  std::map<AcceptedUpload, std::vector<Int128>> rows_;
};

}  // namespace partita::sums
