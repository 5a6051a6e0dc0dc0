// The sum of the shares that a compute node has in its spool.
#pragma once

#include <span>

#include "crypto/random.h"
#include "sums/protocol/masked_sum.h"
#include "sums/protocol/open_upload.h"
#include "sums/spool/spool.h"

namespace partita::sums {

// The key of one node's store of one round; whoever has the node's secret key can make it again.
crypto::Key StoreKey(const NodeRound& round);

// Shares are encrypted in the spool under a key of the compute node, bound to client and upload.
Bytes EncryptShare(const crypto::Key& store_key, const AcceptedUpload& upload, ByteView content,
                   crypto::RandomSource& random);

// What a share takes in a page of the spool.
size_t StoredBytes(const Contract& contract, uint16_t node);

// The sum, over exactly the uploads of `agreed`, of what node `node` holds of them, on `threads`
// threads. Memory: per thread one page of shares (4 MiB, or one share) and two vectors. Throws
// kBadInput if the store lacks one of them or holds one that was changed.
MaskedSum SumShares(Spool& spool, const crypto::Key& store_key, const Contract& contract,
                    uint16_t node, const AcceptedSet& agreed, unsigned threads);

// The same for a part of an agreed set, consecutive in its order, on the calling thread.
MaskedSum SumRange(Spool& spool, const crypto::Key& store_key, const Contract& contract,
                   uint16_t node, std::span<const AcceptedUpload> uploads);

}  // namespace partita::sums
