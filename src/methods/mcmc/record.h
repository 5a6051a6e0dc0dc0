// The public record of a chain: which decisions were made and how they fell. A chain is a function
// of its seed and of these bits, so the record is all that a resume needs.
//
// Nothing is revealed twice (R-d). Before a block of decisions every party marks, durably, that
// they may be open from now on (of a long chain several blocks at a time: a thousandth of it); it
// stores the record every stretch of blocks, at the end, and when a run ends with an error, and
// then takes back the marks of what it did not begin. Where a run ended, the marked decisions that
// nobody holds the bits of are skipped: the chain stays where it was for so many steps, which
// leaves its target invariant, they count as made, and their proposals are never asked about again.
#pragma once

#include <filesystem>
#include <vector>

#include "base/bytes.h"
#include "crypto/hash.h"
#include "crypto/random.h"
#include "crypto/state_file.h"
#include "net/channel.h"

namespace partita::methods::mcmc {

// One decision of all chains.
struct Decision {
  bool skipped = false;
  std::vector<bool> accepted;  // by chain; empty where skipped, and at a dealer
};

struct ChainRecord {
  std::vector<Decision> decisions;
  uint64_t may_be_open = 0;  // so many decisions, at least those above
  crypto::Key seed;  // of the proposals; means nothing at a dealer, and while nothing may be open
};

// binding: a digest of what must not change between attempts (study file, table snapshots, plan).
Bytes EncodeRecord(const ChainRecord& record, size_t chains, const crypto::Digest& binding);
// Throws kBadInput for anything that EncodeRecord did not write, kRefused for another binding.
ChainRecord DecodeRecord(ByteView bytes, size_t chains, const crypto::Digest& binding);

// A party's record in a file of its own, and its marks beside it.
class RecordFile {
 public:
  RecordFile(std::filesystem::path file, size_t chains, const crypto::Digest& binding)
      : file_(std::move(file)), chains_(chains), binding_(binding) {}
  // Durable on return.
  void Store(const ChainRecord& record) const;
  // That so many decisions may be open; after LoadOrMake.
  void Mark(uint64_t decisions) const;
  bool Exists() const;
  // With all that was marked; makes both files, of nothing, if there are none. Throws as
  // DecodeRecord.
  ChainRecord LoadOrMake() const;

 private:
  crypto::CountFile Marks() const;

  std::filesystem::path file_;
  size_t chains_;
  crypto::Digest binding_;
};

// Before a chain begins or goes on: the computing parties (the first num_computing processes) tell
// everybody how long their records are (kLengthBytes), and each other the records, if there are
// any: two rounds, or one where there is none. The longest one holds, and what may be open beyond
// it is skipped; a dealer gets decisions without bits. A party without a record gets that of the
// others: nothing opens unless every party has stored before that it may. Throws kPeerFault if two
// parties hold different seeds, or different bits of one decision, or if one says that more than
// `most` decisions, those of the plan, may be open.
inline constexpr size_t kLengthBytes = 16;
ChainRecord AgreeOnRecord(net::Channel& channel, size_t num_computing, size_t chains, uint64_t most,
                          const ChainRecord& own);

}  // namespace partita::methods::mcmc
