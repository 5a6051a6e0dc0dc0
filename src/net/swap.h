// One message of the same size from everybody to everybody.
#pragma once

#include <vector>

#include "net/channel.h"

namespace partita::net {

// Sends own[peer] to every peer and returns what came from each, by party; the own place is zeros.
// Every message has `size` bytes. One round. Throws as Channel::Exchange.
std::vector<Bytes> Swap(Channel& channel, const std::vector<Bytes>& own, size_t size);
// The same message to every peer; the own place has it too.
std::vector<Bytes> Swap(Channel& channel, const Bytes& own);

}  // namespace partita::net
