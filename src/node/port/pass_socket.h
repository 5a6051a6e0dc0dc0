// Connections that one process accepts and another serves: passed unread over a Unix socket
// (SCM_RIGHTS, unix(7)).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "net/socket_source.h"

namespace partita::node {

// Two connected ends, one for each process: they keep the boundaries of messages and do not block. Some ten
// messages that were not taken fill one, as whoever sends is told (Passing::kBusy). Throws kInternal.
std::pair<net::Socket, net::Socket> MakeSocketPair();

// What became of a connection that was to be handed over: the other process has it; it has not taken
// those before, so try again when the channel is writable; it is gone. Unless passed, nothing was
// sent.
enum class Passing { kPassed, kBusy, kGone };

// Hands a copy of the connection over. Never blocks.
Passing PassSocket(const net::Socket& channel, const net::Arrival& arrival);

// The other way, once, before anything is taken: the job of a run says how many stripes the study has that it
// verified. Throws kUnreachable where the other process is gone.
void TellStripes(const net::Socket& channel, uint32_t stripes);
// What it said, once; none while it has not, or if it said something else. Never blocks.
std::optional<uint32_t> HearStripes(const net::Socket& channel);

// The connections that come over `channel`. Takes nothing but one TCP connection a message; what
// else comes is closed, and skipped. fd() is -1 once the other end is closed and what it had sent was taken.
std::shared_ptr<net::SocketSource> PassedSockets(net::Socket channel);

}  // namespace partita::node
