// One job: takes one order from its channel, works on the folder of one study, reports, ends.
//
// The job is a process of its own, with tables, ledger, run keys and nothing else: no node key and no
// steward's. It believes neither the daemon nor other nodes: before a table is read for others it
// verifies the study's documents again, from bytes, by what JobSettings names (documents.h).
#pragma once

#include <atomic>

#include "net/socket.h"
#include "node/job/settings.h"

namespace partita::node {

// channel: the job's end (wire.h); whoever is at its other end (SO_PEERCRED) has to be the node's user. stop: set on
// SIGTERM; a run tells its peers and ends as cancelled. Borrowed; null: nobody sets it. An errand is answered without a
// study's folder. Returns the exit code: 0 after a last word, whatever it says; 1 if the daemon could not be told, 2 for
// an order that cannot be read, 3 for one of another user, which is not read.
int RunJob(const JobSettings& settings, net::Socket channel,
           const std::atomic<bool>* stop = nullptr);

}  // namespace partita::node
