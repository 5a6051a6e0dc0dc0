// What of a matching's run depends on its protocol: from keys to the rows that match.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/progress.h"
#include "crypto/random.h"
#include "net/channel.h"
#include "run/matching/matching_plan.h"

namespace partita::run {

struct MatchingTask {
  const MatchingFile* file = nullptr;    // borrowed, as all of these
  size_t party = 0;                      // of MatchingFile::Names
  const match::KeyList* list = nullptr;  // of a holder
  uint64_t minimum = 0;                  // the highest of the file and all approvals
  crypto::Digest session{};              // that all parties agree on, of this run
  // Called with the count of each pass as soon as this party knows it; may throw.
  std::function<void(uint64_t count)> counted;
  Progress* progress = nullptr;
};

struct MatchingFound {
  bool linked = false;           // the minimum was reached
  std::vector<uint64_t> counts;  // by pass, as far as this party knows them
  std::vector<uint32_t> rows;    // of a holder's table, in the common order
  crypto::Digest common{};       // of a holder
};

// All phases between approvals and finish: match/two_party_join.h once a pass, or
// match/two_party_spine.h, or match/linked_join.h. Errors as they say.
MatchingFound MatchByProtocol(net::Channel& channel, const MatchingTask& task,
                              crypto::RandomSource& random);

}  // namespace partita::run
