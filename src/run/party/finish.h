// The end of everything that processes do together.
#pragma once

#include "base/bytes.h"
#include "net/channel.h"

namespace partita::run {

// Phase "finish", one round: everybody tells everybody that it is done, so that a connection is
// closed only when nothing is under way on it, and every party knows whether all ended well. The
// messages are empty.
void ConfirmFinish(net::Channel& channel);

// The same where the first num_computing processes ended with results that must be equal: their
// messages to each other are `common`, a digest of it. At the others it is not used, and has the
// same size. Throws kPeerFault naming two parties whose results differ.
void ConfirmFinish(net::Channel& channel, size_t num_computing, const Bytes& common);

// Before a refusal that every computing party comes to from the same openings: one round of empty
// messages among the first num_computing processes, in the phase that is under way. Of a stop peers
// are told a number only (net/stop.h), so each must have found the reason before another stops. Who
// stops has heard of all, so that whatever goes wrong in this round does not matter.
void ConfirmRefusal(net::Channel& channel, size_t num_computing);

}  // namespace partita::run
