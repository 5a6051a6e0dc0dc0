// Noise on the number of matches (level hidden, count = "noisy"), so that what holders learn of it says
// little about any single person.
//
// Neighbours      Lists of one holder that differ in one row, replaced by another, its key included, or
//                 added or taken away. With one pass and duplicates refused the join changes by at most
//                 one row out and one in, and the number by at most 1, in however many lists the
//                 person may be (count_noise_test.cc goes through all small lists). Keys that become
//                 duplicates, and later passes, can change it by more: both are refused.
// With a linker   It adds one draw of the discrete Laplace law of scale 1 / epsilon, and only the sum
//                 leaves it, cut to 0 and the shortest bound: (epsilon, 0) against holders and everybody
//                 else; the linker sees the number itself. There are as many positions as places.
// Two holders     For each holder a pool of T keys that nobody's table has, made from public numbers.
//                 Each lists all of the other's pool, and z of its own: z is drawn from the discrete
//                 Laplace law of scale 1 / epsilon about T / 2 and drawn again until it is in 0..T. What
//                 is missing to 2 T is filled up like padding. Both see the number of matches and both z
//                 together, of which each knows its own: the other's protects from it. Against it and
//                 everybody else (epsilon, delta), delta = PoolDelta: the law and its shift by 1 differ by more than e^epsilon at
//                 the ends only. Rows of pools are at no position. A holder that leaves out keys of
//                 the other's pool sees the number itself, unnoticed: the statement is about those who
//                 follow the protocol.
#pragma once

#include <cstdint>
#include <vector>

#include "crypto/hash.h"
#include "crypto/random.h"

namespace partita::run {

inline constexpr double kLeastCountEpsilon = 0.01, kMostCountEpsilon = 10;
inline constexpr double kLeastCountDelta = 1e-15, kMostCountDelta = 1e-5;

struct CountNoise {
  double epsilon = 0;  // 0: there is none
  double delta = 0;    // two holders; with a linker 0
};

// Of the law about `pool` / 2 on 0..pool, and it shifted by 1, in both directions; rounded up.
double PoolDelta(double epsilon, uint64_t pool);
// T: the smallest even one whose PoolDelta is at most delta. 0 without noise or with a linker.
uint64_t PoolSize(const CountNoise& noise);

// One draw of the linker.
int64_t DrawCountNoise(const CountNoise& noise, crypto::RandomSource& random);
// z of one holder, 0..PoolSize.
uint64_t DrawPooled(const CountNoise& noise, crypto::RandomSource& random);

// What a holder lists beside its own keys: `pooled` of its own pool, and the other's. party: 0 or 1.
std::vector<crypto::Digest> PoolKeys(size_t party, uint64_t pool, uint64_t pooled);

}  // namespace partita::run
