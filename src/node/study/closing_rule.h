// What becomes of an attempt, as a function of what all its parties say: the same at every node,
// since every node has the same full set.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "node/message/bodies.h"

namespace partita::node {

enum class Closed {
  kWait,      // somebody has not said anything yet
  kFinished,  // a receiver has the result, and nobody says that nothing opened
  kAgain,     // nothing opened anywhere: reservations are taken back
  kResume,    // something may have opened, and the method goes on in its folders
  kFailed,    // something may have opened: charged, and not tried again
};

struct PartyEnd {
  bool receiver = false;
  std::optional<Ended> ended;  // none: not here yet
};

// all: one for EVERY party of the roster, dealer and receiver too. What is not signed by the run key
// counts as "may have opened", and as not finished.
Closed CloseAttempt(const std::vector<PartyEnd>& all, bool resumable);

}  // namespace partita::node
