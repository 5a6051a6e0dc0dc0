// What a job writes that is started for one answer, without an order: one byte, 1 for an answer and 0 for a sentence
// why there is none; then its bytes, to the end of the channel.
#pragma once

#include <functional>

#include "base/bytes.h"
#include "net/socket.h"

namespace partita::node {

// An error of `answer` is told by its sentence. Returns the exit code: 1 if nobody took it.
int TellShortly(const net::Socket& channel, const std::function<Bytes()>& answer);
// All of it. False if nobody took it.
bool WriteAll(const net::Socket& channel, ByteView bytes);
// What the daemon wrote before it closed its way. Throws kRefused above `most` bytes, and if the channel broke.
Bytes ReadToEnd(const net::Socket& channel, size_t most);
// At the daemon: the answer. Throws kRefused with the job's sentence, or if there is none.
Bytes ShortAnswerIn(const Bytes& told);

}  // namespace partita::node
