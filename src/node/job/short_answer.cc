#include "node/job/short_answer.h"

#include <sys/socket.h>

#include <cerrno>

#include "base/error.h"

namespace partita::node {

bool WriteAll(const net::Socket& channel, ByteView bytes) {
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t sent =
        ::send(channel.fd(), bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
    if (sent > 0) {
      done += static_cast<size_t>(sent);
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

Bytes ReadToEnd(const net::Socket& channel, size_t most) {
  Bytes bytes;
  uint8_t buffer[1 << 16];
  while (bytes.size() <= most) {
    const ssize_t got = ::recv(channel.fd(), buffer, sizeof buffer, 0);
    if (got == 0) return bytes;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) break;
    bytes.insert(bytes.end(), buffer, buffer + got);
  }
  throw Error(ErrorCode::kRefused, "what a job was given cannot be read", "Try again.");
}

int TellShortly(const net::Socket& channel, const std::function<Bytes()>& answer) {
  Bytes told{1};
  try {
    const Bytes bytes = answer();
    told.insert(told.end(), bytes.begin(), bytes.end());
  } catch (const Error& error) {
    const ByteView sentence = AsBytes(error.message());
    told.assign(1, 0);
    told.insert(told.end(), sentence.begin(), sentence.end());
  }
  return WriteAll(channel, told) ? 0 : 1;
}

Bytes ShortAnswerIn(const Bytes& told) {
  if (!told.empty() && told[0] == 1) return {told.begin() + 1, told.end()};
  std::string why = "the job gave no answer";
  if (!told.empty() && told[0] == 0) why.assign(told.begin() + 1, told.end());
  throw Error(ErrorCode::kRefused, why, "Look at the node's log, and try again.");
}

}  // namespace partita::node
