#include "node/port/pass_socket.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"

namespace partita::node {
namespace {

// A message: version u8, known u8, then the address.
constexpr uint8_t kPassVersion = 1;
constexpr size_t kPassHead = 2;
constexpr size_t kMaxPassBytes = kPassHead + 96;
constexpr size_t kStripesWordBytes = 5;  // version u8, stripes u32
// Of an end: what its messages may take in the kernel, a kilobyte each and less with all that belongs to
// them. What has no room waits at the port, where places are counted; the kernel's own measure is for hundreds.
constexpr int kPairBytes = 4096;
// Room for more descriptors than may come, so that none is lost unseen.
constexpr size_t kMaxPassed = 4;

struct alignas(cmsghdr) ControlBuffer {
  std::array<char, CMSG_SPACE(kMaxPassed * sizeof(int))> bytes{};
};

int IntegerOption(int fd, int option) {
  int value = -1;
  socklen_t size = sizeof value;
  return getsockopt(fd, SOL_SOCKET, option, &value, &size) == 0 ? value : -1;
}

// A connection by TCP, not a socket that listens, and no other file.
bool IsTcpConnection(const net::Socket& socket) {
  const int domain = IntegerOption(socket.fd(), SO_DOMAIN);
  return (domain == AF_INET || domain == AF_INET6) &&
         IntegerOption(socket.fd(), SO_TYPE) == SOCK_STREAM &&
         IntegerOption(socket.fd(), SO_ACCEPTCONN) == 0;
}

// Every descriptor of a message, owned.
std::vector<net::Socket> TakeDescriptors(msghdr& message) {
  std::vector<net::Socket> taken;
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof fd);
      taken.emplace_back(fd);
    }
  }
  return taken;
}

class PassedSource : public net::SocketSource {
 public:
  explicit PassedSource(net::Socket channel) : channel_(std::move(channel)) {}

  int fd() const override { return channel_.fd(); }

  std::optional<net::Arrival> Next() override {
    bool reset = false;
    while (channel_.valid()) {
      std::array<char, kMaxPassBytes> bytes{};
      ControlBuffer control;
      iovec part{bytes.data(), bytes.size()};
      msghdr message{};
      message.msg_iov = &part;
      message.msg_iovlen = 1;
      message.msg_control = control.bytes.data();
      message.msg_controllen = control.bytes.size();
      const ssize_t size = recvmsg(channel_.fd(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
      if (size < 0 && errno == EINTR) continue;
      if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return std::nullopt;
      // The other end was closed before it read what was said to it. The kernel says so once, and before it gives
      // what that end had sent.
      if (size < 0 && errno == ECONNRESET && !std::exchange(reset, true)) continue;
      std::vector<net::Socket> taken = TakeDescriptors(message);
      if (size <= 0) {
        channel_ = net::Socket();
        return std::nullopt;
      }
      const bool whole = (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0;
      if (!whole || static_cast<size_t>(size) < kPassHead || bytes[0] != kPassVersion) continue;
      if (taken.size() != 1 || !IsTcpConnection(taken[0])) continue;
      net::Arrival arrival;
      arrival.socket = std::move(taken[0]);
      arrival.known = bytes[1] != 0;
      arrival.remote.assign(bytes.data() + kPassHead, static_cast<size_t>(size) - kPassHead);
      return arrival;
    }
    return std::nullopt;
  }

 private:
  net::Socket channel_;
};

}  // namespace

std::pair<net::Socket, net::Socket> MakeSocketPair() {
  const auto require = [](int done) {
    if (done == 0) return;
    throw Error(ErrorCode::kInternal,
                std::string("cannot make a pair of sockets: ") + std::strerror(errno));
  };
  int ends[2];
  require(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends));
  std::pair<net::Socket, net::Socket> pair{net::Socket(ends[0]), net::Socket(ends[1])};
  for (const int end : ends)
    require(setsockopt(end, SOL_SOCKET, SO_SNDBUF, &kPairBytes, sizeof kPairBytes));
  return pair;
}

Passing PassSocket(const net::Socket& channel, const net::Arrival& arrival) {
  std::array<char, kMaxPassBytes> bytes{};
  bytes[0] = kPassVersion;
  bytes[1] = arrival.known ? 1 : 0;
  const size_t named = std::min(arrival.remote.size(), kMaxPassBytes - kPassHead);
  std::memcpy(bytes.data() + kPassHead, arrival.remote.data(), named);
  iovec part{bytes.data(), kPassHead + named};
  ControlBuffer control;
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes.data();
  message.msg_controllen = CMSG_SPACE(sizeof(int));
  cmsghdr* rights = CMSG_FIRSTHDR(&message);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(sizeof(int));
  const int fd = arrival.socket.fd();
  std::memcpy(CMSG_DATA(rights), &fd, sizeof fd);
  ssize_t sent = 0;
  do {
    sent = sendmsg(channel.fd(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (sent < 0 && errno == EINTR);
  if (sent >= 0) return Passing::kPassed;
  // Too many descriptors of this user are on their way (unix(7)), or the queue is full.
  const bool busy = errno == EAGAIN || errno == EWOULDBLOCK || errno == ETOOMANYREFS ||
                    errno == ENOBUFS || errno == ENOMEM;
  return busy ? Passing::kBusy : Passing::kGone;
}

void TellStripes(const net::Socket& channel, uint32_t stripes) {
  ByteWriter word;
  word.U8(kPassVersion);
  word.U32(stripes);
  ssize_t sent = 0;
  do {
    sent =
        send(channel.fd(), word.bytes().data(), word.bytes().size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (sent < 0 && errno == EINTR);
  if (sent >= 0) return;
  throw Error(ErrorCode::kUnreachable, "the node's port is gone, by which connections come",
              "Start the node again; the study is tried again.");
}

std::optional<uint32_t> HearStripes(const net::Socket& channel) {
  std::array<uint8_t, kStripesWordBytes + 1> bytes{};
  ssize_t size = 0;
  do {
    size = recv(channel.fd(), bytes.data(), bytes.size(), MSG_DONTWAIT);
  } while (size < 0 && errno == EINTR);
  if (size != static_cast<ssize_t>(kStripesWordBytes) || bytes[0] != kPassVersion)
    return std::nullopt;
  ByteReader word(ByteView(bytes).first(kStripesWordBytes));
  word.U8();
  return word.U32();
}

std::shared_ptr<net::SocketSource> PassedSockets(net::Socket channel) {
  return std::make_shared<PassedSource>(std::move(channel));
}

}  // namespace partita::node
