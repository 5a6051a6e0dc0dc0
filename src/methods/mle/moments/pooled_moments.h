// Pooled moments: n, sums and cross products over sets of rows, opened to one receiver and to
// nobody else.
//
// Ideal function   (every holder's cells) -> for every wanted cell of rows: n, the wanted sums and
//                  cross products, to the receiver only.
// Method           shared_moments.h, then one opening per release.
// Revealed         To the receiver: what MomentsRelease lists, once. To everybody else: nothing.
//                  Public beforehand: who holds which columns of which blocks, the counts of split
//                  blocks, the cells, who selects.
// Cost             One round and one message per other party and opening.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "methods/mle/moments/moments_task.h"
#include "methods/mle/moments/shared_moments.h"

namespace partita::methods::mle {

// What one release opens: of every cell the count, these sums, and these cross products.
struct MomentsRelease {
  std::string id;
  mpc::PartyIndex receiver = 0;
  std::vector<size_t> cells;
  std::vector<size_t> variables;                 // ascending
  std::vector<std::pair<size_t, size_t>> pairs;  // first <= second, ascending
  // By entry of `cells`: variables that no row of it has, so that nothing of them is opened there.
  // Empty: none.
  std::vector<std::vector<size_t>> absent = {};
};

// What is opened of one entry of `cells`.
bool Opens(const MomentsRelease& release, size_t cell, size_t variable);

// Every pair of `variables`.
std::vector<std::pair<size_t, size_t>> AllPairs(const std::vector<size_t>& variables);

// Ring elements of the opening.
uint64_t NumReleasedValues(const MomentsRelease& release);

// Exact integer moments of one cell on the variables of the task: sum at fraction_bits, cross at 2
// * fraction_bits, symmetric. What was not opened is zero.
struct IntegerMoments {
  Int128 n = 0;
  std::vector<Int128> sum;
  std::vector<Int128> cross;  // row-major
};

// One entry per cell of the release at the receiver, an empty vector elsewhere. Throws kPeerFault
// if a count cannot be one.
std::vector<IntegerMoments> OpenMoments(mpc::Engine& engine, const MomentsTask& task,
                                        const std::vector<SharedMoments>& shared,
                                        const MomentsRelease& release);

// The moments of some of the variables, in that order.
IntegerMoments Restrict(const IntegerMoments& moments, const std::vector<size_t>& variables);

}  // namespace partita::methods::mle
