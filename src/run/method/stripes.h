// Rows on shares, cut into ranges that are computed apart ([engine] stripes).
//
// Ideal function   That of the method: nothing changes but who computes which rows when.
// Method           Every block whose columns are split, n rows in their order, is cut into S ranges:
//                  floor(n s / S) to floor(n (s + 1) / S) - 1 is range s. Stripe s runs the row part of the
//                  method's protocol on range s of every such block, over connections, keys and correlations
//                  of its own, with the fraction bits, bounds and masks of all n rows. What comes out are
//                  shares of sums; each party adds its own S shares (mpc/share_sum.h).
// Exactness        Sums of ring integers: the same for every S and order.
// Revealed         Nothing: a stripe opens nothing. n and S are public.
// Cost             S times the messages; the rounds of one stripe, as none waits for another one.
#pragma once

#include <cstddef>
#include <vector>

#include "mpc/engine.h"

namespace partita::run {

inline constexpr size_t kMinRowsOfStripe = 1024;

struct RowRange {
  size_t first = 0, count = 0;

  bool operator==(const RowRange&) const = default;
};
// Range `stripe` of n rows.
RowRange StripeOf(size_t num_rows, size_t stripe, size_t stripes);

// Runs them all.
class Stripes {
 public:
  virtual ~Stripes() = default;
  // By shared matrix of Study::RunStripe: this party's share of the sum over all stripes. Belongs to the
  // phase that the engine of the run is in. Once in a run.
  virtual std::vector<mpc::Shared> Sum() = 0;
};

}  // namespace partita::run
