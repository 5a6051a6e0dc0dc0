// Which rows a step uses. Chosen from a seed that the parties make together and the analyst never
// learns (methods.md, R-b, R-g); whole numbers only, so that every party derives the same rows.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "crypto/random.h"

namespace partita::stats::mixture {

enum class BatchMode {
  kPoisson,   // every row independently with one probability: amplifies for those who do not know
              // the batches
  kDisjoint,  // every epoch a fresh random division into batches: each row once per epoch
  kFull,      // all rows in every step
};
std::string_view BatchModeName(BatchMode mode);  // "poisson", "disjoint", "full"

class Batches {
 public:
  // batch_size: the expected one (kPoisson), the largest (kDisjoint), ignored (kFull). max_batch,
  // if not 0: a larger Poisson batch is drawn again (MaxBatch says how seldom). The source must
  // outlive the object. Throws kBadInput unless 1 <= batch_size <= num_rows and max_batch >=
  // batch_size or 0.
  Batches(BatchMode mode, uint32_t num_rows, uint32_t batch_size, uint32_t max_batch,
          crypto::RandomSource& source);

  // Row numbers, increasing for kPoisson and kFull; valid until the next call.
  const std::vector<uint32_t>& Next();

  // The probability with which a row is in a batch: of kPoisson batch_size / num_rows, rounded to a
  // multiple of 2^-48; of kDisjoint one over the number of batches; 1.
  double sampling_rate() const;
  // How often each row was used so far.
  const std::vector<uint32_t>& uses() const { return uses_; }
  uint32_t max_uses() const;

 private:
  void DrawPoisson();
  void DrawDisjoint();

  BatchMode mode_;
  uint32_t num_rows_, max_batch_, num_parts_;
  uint64_t threshold_;  // of 2^48
  crypto::RandomSource& source_;
  std::vector<uint16_t> words_;
  std::vector<uint32_t> order_, batch_, uses_;
  uint32_t part_ = 0;
};

// The smallest public batch size that none of `steps` Poisson batches exceeds with more than
// `probability`: what batches are padded to. That probability is how far, in total variation, the
// batches that are drawn again are from Poisson sampling; add it to delta.
uint32_t MaxBatch(uint32_t num_rows, double sampling_rate, uint64_t steps, double probability);

}  // namespace partita::stats::mixture
