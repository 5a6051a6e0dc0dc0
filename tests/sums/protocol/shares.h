// Shares and puts for tests of spools.
#pragma once

#include "tests/sums/protocol/world.h"

namespace partita::sums {

inline StoredShare Share(uint32_t client, uint8_t content, size_t size = 10) {
  StoredShare share;
  share.client = IdOf(client);
  share.upload.fill(content);
  share.request.fill(content);
  share.share = Bytes(size, content);
  return share;
}

inline PutResult PutOne(Spool& spool, const StoredShare& share) {
  return spool.Put(std::span(&share, 1)).front();
}

}  // namespace partita::sums
