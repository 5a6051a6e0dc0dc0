#include "net/socket.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "base/error.h"

namespace partita::net {
namespace {

constexpr int kBacklog = 256;
constexpr int kKeepAliveSeconds = 60;

using AddressList = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

AddressList LookUp(const std::string& host, const std::string& port, bool passive,
                   std::string& reason) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | (passive ? AI_PASSIVE : 0);
  addrinfo* found = nullptr;
  const int result = getaddrinfo(host.c_str(), port.c_str(), &hints, &found);
  if (result != 0) reason = gai_strerror(result);
  return {result == 0 ? found : nullptr, freeaddrinfo};
}

void SetOption(int fd, int level, int option, int value) {
  // An option that the system refuses costs speed, not correctness.
  setsockopt(fd, level, option, &value, sizeof value);
}

// Buffer sizes are left to the kernel, which grows them further than setsockopt may.
void TuneConnection(int fd) {
  SetOption(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  SetOption(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  SetOption(fd, IPPROTO_TCP, TCP_KEEPIDLE, kKeepAliveSeconds);
}

std::string ShowAddress(const sockaddr_storage& address, socklen_t size) {
  char host[NI_MAXHOST], port[NI_MAXSERV];
  if (getnameinfo(reinterpret_cast<const sockaddr*>(&address), size, host, sizeof host, port,
                  sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return "unknown address";
  }
  return address.ss_family == AF_INET6 ? fmt::format("[{}]:{}", host, port)
                                       : fmt::format("{}:{}", host, port);
}

}  // namespace

Socket::~Socket() {
  if (fd_ >= 0) close(fd_);
}

Listener Listen(const std::string& host, const std::string& port) {
  std::string reason = "no address found";
  const AddressList list = LookUp(host, port, true, reason);
  for (const addrinfo* at = list.get(); at != nullptr; at = at->ai_next) {
    Socket socket(::socket(at->ai_family, at->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    SetOption(socket.fd(), SOL_SOCKET, SO_REUSEADDR, 1);
    sockaddr_storage bound{};
    socklen_t size = sizeof bound;
    if (socket.valid() && bind(socket.fd(), at->ai_addr, at->ai_addrlen) == 0 &&
        listen(socket.fd(), kBacklog) == 0 &&
        getsockname(socket.fd(), reinterpret_cast<sockaddr*>(&bound), &size) == 0) {
      return {std::move(socket), ShowAddress(bound, size)};
    }
    reason = std::strerror(errno);
  }
  throw Error(ErrorCode::kUnreachable,
              fmt::format("cannot listen on {}:{}: {}", host, port, reason),
              "Choose an address of this machine and a free port; behind a router or in a "
              "container, listen on 0.0.0.0 and forward the port.");
}

void SetNonBlocking(const Socket& socket) {
  const int flags = fcntl(socket.fd(), F_GETFL);
  if (flags < 0 || fcntl(socket.fd(), F_SETFL, flags | O_NONBLOCK) != 0) {
    throw Error(ErrorCode::kUsage,
                fmt::format("descriptor {} is not a socket to listen on: {}", socket.fd(),
                            std::strerror(errno)),
                "Pass the number of a listening socket that this process inherits.");
  }
}

Socket Accept(const Listener& listener, std::string& remote) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  Socket socket(accept4(listener.socket.fd(), reinterpret_cast<sockaddr*>(&address), &size,
                        SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (socket.valid()) {
    TuneConnection(socket.fd());
    remote = ShowAddress(address, size);
  }
  return socket;
}

Socket StartConnect(const std::string& host, const std::string& port, std::string& reason) {
  const AddressList list = LookUp(host, port, false, reason);
  for (const addrinfo* at = list.get(); at != nullptr; at = at->ai_next) {
    Socket socket(::socket(at->ai_family, at->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (socket.valid() &&
        (connect(socket.fd(), at->ai_addr, at->ai_addrlen) == 0 || errno == EINPROGRESS)) {
      TuneConnection(socket.fd());
      return socket;
    }
    reason = std::strerror(errno);
  }
  return {};
}

std::string ConnectFailure(const Socket& socket) {
  int error = 0;
  socklen_t size = sizeof error;
  if (getsockopt(socket.fd(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
  return error == 0 ? "" : std::strerror(error);
}

}  // namespace partita::net
