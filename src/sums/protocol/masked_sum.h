// Sums of ring vectors, many of which exist as the seeds of pseudo-random streams only.
//
// A share is either d words or a seed that stands for the first d words of its stream
// (crypto/key_stream.h). Streams are expanded in blocks that stay in the first-level cache and are
// added while they are there; sums longer than the second-level cache are added block by block over
// a batch of seeds, so that memory sees each block once per batch.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/int128.h"
#include "crypto/key_stream.h"
#include "sums/protocol/contract.h"

namespace partita::sums {

// A vector over Z_2^64 or Z_2^128; not shared between threads.
class MaskedSum {
 public:
  MaskedSum(RingBits ring, size_t dimension);
  static MaskedSum Of(const Contract& contract) { return {contract.ring, contract.dimension}; }

  // values[i] modulo 2^k is added to word i. Throws kInternal for another length.
  void AddIntegers(std::span<const Int128> values);
  // Little-endian words. Throws kInternal for another length.
  void AddWords(ByteView words);
  void AddStreams(std::span<const crypto::Key> seeds) { Apply(seeds, false); }
  void SubtractStreams(std::span<const crypto::Key> seeds) { Apply(seeds, true); }

  void Clear();
  // The words, little-endian: what travels.
  ByteView words() const { return bytes_; }
  // The representatives in [-2^(k-1), 2^(k-1)).
  std::vector<Int128> Signed() const;

 private:
  void Apply(std::span<const crypto::Key> seeds, bool subtract);

  RingBits ring_;
  size_t dimension_;
  std::vector<uint8_t> bytes_;
  crypto::KeyStream stream_;
};

}  // namespace partita::sums
