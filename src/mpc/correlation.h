// Correlated randomness: what operations consume besides messages.
#pragma once

#include <cstdint>
#include <vector>

#include "mpc/engine.h"

namespace partita::mpc {

// One piece of correlated randomness, by kind and shape.
struct Correlation {
  enum class Kind {
    kTriple,          // shares of U, V and U V: shared times shared
    kMixedTriple,     // shares of U, V known to one party, shares of U V: shared times private
    kPrivateProduct,  // U known to one party, V to another, shares of U V: private times private
    kTruncation,      // shares of r, (r mod 2^(k-1)) >> f and of r's top bit: rescale
    kRandomSharing,   // pairwise keys only: zero shares for an opening, masks of an input
    kOracleRows,      // left: the oracle's matrix, under a mask b; right: rows a of its centre, at
                      // most so many, with shares of a b
    // Of bits; left is {width, entries}.
    kBitTriple,  // shares of u, v and u AND v
    kBitMask,    // shares of r modulo 2^width, and of its bits, or its values in windows: decompose
    kBitConversion,  // shares of a bit, and of it as a ring element: to ring
  };
  Kind kind = Kind::kTriple;
  Product::Kind product = Product::Kind::kElementwise;  // of the three kinds of products
  Shape left, right;                                    // right is empty where nothing is said
  bool operator==(const Correlation&) const = default;
};

// What operations eat, in the order of use. Stored correlations are marked spent before they are
// used.
using Requirements = std::vector<Correlation>;

}  // namespace partita::mpc
