#include "net/hello_look.h"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>

namespace partita::net {
namespace {

// A kernel that is short of memory says that a socket is readable below the mark. So often it may,
// before that counts as too slow.
constexpr int kMaxShortLooks = 64;

bool HasEnded(int fd) {
  pollfd entry{fd, POLLRDHUP, 0};
  return poll(&entry, 1, 0) > 0;
}

}  // namespace

HelloLook::HelloLook(int fd) : fd_(fd) { Want(kRecordHeaderBytes); }

void HelloLook::Want(size_t bytes) {
  wanted_ = bytes;
  const int mark = static_cast<int>(bytes);
  setsockopt(fd_, SOL_SOCKET, SO_RCVLOWAT, &mark, sizeof mark);
}

HelloLook::State HelloLook::Refuse() {
  state_ = State::kRefused;
  return state_;
}

HelloLook::State HelloLook::Step() {
  std::array<uint8_t, kMaxClientHelloBytes> bytes{};
  while (state_ == State::kWaiting) {
    const ssize_t seen = recv(fd_, bytes.data(), wanted_, MSG_PEEK | MSG_DONTWAIT);
    if (seen < 0 && errno == EINTR) continue;
    if (seen < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return state_;
    if (seen <= 0) return Refuse();
    if (static_cast<size_t>(seen) < wanted_) {
      if (HasEnded(fd_) || ++short_looks_ > kMaxShortLooks) return Refuse();
      return state_;
    }
    const ByteView record(bytes.data(), wanted_);
    if (wanted_ == kRecordHeaderBytes) {
      const std::optional<size_t> size = HelloRecordBytes(record);
      if (!size) return Refuse();
      Want(*size);
      continue;
    }
    std::optional<ClientHello> hello = ParseClientHello(record);
    if (!hello) return Refuse();
    hello_ = std::move(*hello);
    Want(1);
    state_ = State::kWhole;
  }
  return state_;
}

}  // namespace partita::net
