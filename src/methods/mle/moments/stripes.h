// Moments of split columns by ranges of rows (run/method/stripes.h): what one stripe is of a task and of a
// party's rows, and how its sums are handed on.
//
// Method    Stripe s multiplies range s of every block whose columns are split. Stripe 0 also shares what
//           every holder adds up alone, over all rows, so that with one stripe the messages are those of
//           ComputeMoments.
#pragma once

#include <optional>
#include <vector>

#include "base/bytes.h"
#include "methods/mle/moments/moments_task.h"
#include "methods/mle/moments/own_moments.h"
#include "methods/mle/moments/shared_moments.h"
#include "mpc/engine.h"

namespace partita::methods::mle {

// Split blocks have the rows of the range; everything else, max_rows too, stays.
MomentsTask StripeTask(const MomentsTask& task, size_t stripe, size_t stripes);

// A party's part of it.
struct StripeLocal {
  std::vector<LocalBlock> blocks;  // by block; empty where it is not split. Readers are shared
  std::optional<OwnMoments> own;   // at stripe 0
};
StripeLocal StripeLocalOf(const MomentsTask& task, mpc::PartyIndex self,
                          const std::vector<LocalBlock>& local, size_t stripe, size_t stripes);

// Of a stripe but 0: for another process of the party, which trusts this one. The values as they are read,
// 16 bytes each, and the weights. task of the second: of the stripe.
void EncodeStripeLocal(const MomentsTask& task, mpc::PartyIndex self, const StripeLocal& local,
                       ByteWriter& writer);
StripeLocal DecodeStripeLocal(const MomentsTask& task, mpc::PartyIndex self, ByteReader& reader);

// task: whole. local: null where engine.self() is empty.
std::vector<SharedMoments> ComputeStripe(mpc::Engine& engine, const MomentsTask& task,
                                         size_t stripe, size_t stripes, const StripeLocal* local);

// Three matrices for every cell, one after the other.
void AppendMoments(const std::vector<SharedMoments>& cells, std::vector<mpc::Shared>& out);
// Takes the next `cells` of them from `at` on.
std::vector<SharedMoments> TakeMoments(size_t cells, std::vector<mpc::Shared>::const_iterator& at);

}  // namespace partita::methods::mle
