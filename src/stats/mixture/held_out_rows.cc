#include "stats/mixture/held_out_rows.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/error.h"
#include "crypto/hash.h"
#include "crypto/prg.h"
#include "privacy/sampling/lazy_uniform.h"

namespace partita::stats::mixture {

RowSplit SplitRows(uint32_t num_rows, uint32_t num_test, uint64_t seed) {
  if (num_test > num_rows) throw Error(ErrorCode::kUsage, "more test rows than rows");
  ByteWriter purpose;
  purpose.String("partita mixture test rows");
  purpose.U32(num_rows);
  purpose.U64(seed);
  crypto::Prg stream(crypto::Key(crypto::Sha256Of(purpose.bytes())));
  RowSplit split;
  // Selection in order (Knuth 3.4.2, algorithm S): a row with the chance that is left for it.
  for (uint32_t row = 0; row < num_rows; ++row) {
    const uint32_t wanted = num_test - static_cast<uint32_t>(split.test.size());
    const bool chosen = privacy::ReadBelow(stream, num_rows - row) < wanted;
    (chosen ? split.test : split.train).push_back(row);
  }
  return split;
}

}  // namespace partita::stats::mixture
