// The end of everything that processes do together.
#pragma once

#include "net/channel.h"

namespace partita::runtime {

// Phase "finish", one round of empty messages: everybody tells everybody that it is done, so that a
// connection is closed only when nothing is under way on it, and every party knows whether all
// ended well.
void ConfirmFinish(net::Channel& channel);

}  // namespace partita::runtime
