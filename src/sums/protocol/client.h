// The client of a private sum: clips and rounds its row, adds its share of the noise, splits the
// result into one share per compute node and encrypts each share to its node.
//
// Revealed to node k: that this client took part, and a share that is uniform and independent of
// the row together with those of any M - 2 other nodes. Bytes: one vector and M - 1 seeds
// (upload.h). A client draws its upload ONCE per epoch, stores it, and sends these bytes however
// often it must try: two uploads of one row carry the same row under different noise.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "crypto/box.h"
#include "crypto/random.h"
#include "sums/protocol/contract.h"
#include "sums/protocol/masked_sum.h"
#include "sums/protocol/noise_share.h"
#include "sums/protocol/upload.h"

namespace partita::sums {

// One client's row as M shares: words for node 0, a seed for every other.
struct Shares {
  MaskedSum masked;
  std::vector<crypto::Key> seeds;  // M - 1
};

// Makes shares. Construction takes some milliseconds (the noise's tables, which copies share); a
// Splitter serves any number of rows, but one thread at a time.
class Splitter {
 public:
  // Throws as CheckContract.
  explicit Splitter(const Contract& contract);

  // Algorithm 1, steps 1 and 2: z + eta - sum_k PRG(r_k). `row` has length d. Throws kBadData, to
  // the client only, for a value that is not a number.
  void Split(std::span<const double> row, crypto::RandomSource& random, Shares& shares);
  Shares MakeShares() const;

 private:
  Contract contract_;
  std::shared_ptr<const NoiseShare> noise_;  // if clients add it
  std::vector<Int128> row_, noise_row_;
};

// The public keys of the compute nodes, in their order.
using NodeKeys = std::vector<crypto::BoxPublicKey>;

// The long-lived secret between a registered client and a node; both compute the same (35 us; keep
// it).
crypto::Key RegisteredKey(const crypto::BoxKeyPair& own, const crypto::BoxPublicKey& peer,
                          const StudyHash& study, const ClientId& client, uint16_t node);
// Of one epoch, below that.
crypto::Key EpochKey(const crypto::Key& registered, uint64_t epoch);

// The M envelopes of an upload of `shares`, encoded. registered_keys: one per node.
std::vector<Bytes> RegisteredUpload(const Contract& contract, const ClientId& client,
                                    uint64_t epoch, const Shares& shares,
                                    std::span<const crypto::Key> registered_keys,
                                    crypto::RandomSource& random);
std::vector<Bytes> SealedUpload(const Contract& contract, const ClientId& client, uint64_t epoch,
                                const Shares& shares, const NodeKeys& nodes,
                                crypto::RandomSource& random);

}  // namespace partita::sums
