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
#include <vector>

#include "base/error.h"

namespace partita::net {
namespace {

constexpr int kBacklog = 256;

void SetOption(int fd, int level, int option, int value) {
  // An option that the system refuses costs speed, not correctness.
  setsockopt(fd, level, option, &value, sizeof value);
}

}  // namespace

void NoticeLoss(int fd, bool soon) {
  SetOption(fd, IPPROTO_TCP, TCP_KEEPIDLE, soon ? 30 : 60);
  SetOption(fd, IPPROTO_TCP, TCP_KEEPINTVL, soon ? 10 : 75);
  SetOption(fd, IPPROTO_TCP, TCP_KEEPCNT, soon ? 3 : 9);
}

namespace {

// Buffer sizes are left to the kernel, which grows them further than setsockopt may.
void TuneConnection(int fd) {
  SetOption(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  SetOption(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  NoticeLoss(fd, false);
}

sockaddr* Raw(Endpoint& endpoint) { return reinterpret_cast<sockaddr*>(&endpoint.address); }
const sockaddr* Raw(const Endpoint& endpoint) {
  return reinterpret_cast<const sockaddr*>(&endpoint.address);
}

Socket Open(const Endpoint& endpoint) {
  const int family = endpoint.address.ss_family;
  return Socket(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

void Append(const std::vector<Endpoint>& more, std::vector<Endpoint>& endpoints) {
  endpoints.insert(endpoints.end(), more.begin(), more.end());
}

std::string ShowAddress(const Endpoint& endpoint) {
  char host[NI_MAXHOST], port[NI_MAXSERV];
  if (getnameinfo(Raw(endpoint), endpoint.size, host, sizeof host, port, sizeof port,
                  NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return "unknown address";
  }
  // An IPv4 address as an IPv6 socket sees it.
  constexpr std::string_view kMapped = "::ffff:";
  const std::string_view text = host;
  if (text.starts_with(kMapped) && text.find('.') != std::string_view::npos) {
    return fmt::format("{}:{}", text.substr(kMapped.size()), port);
  }
  return endpoint.address.ss_family == AF_INET6 ? fmt::format("[{}]:{}", host, port)
                                                : fmt::format("{}:{}", host, port);
}

}  // namespace

Socket::~Socket() {
  if (fd_ >= 0) close(fd_);
}

Listener Listen(const std::string& host, const std::string& port) {
  const bool any = host.empty() || host == "0.0.0.0" || host == "::";
  std::string reason = "no address found";
  std::vector<Endpoint> endpoints;
  for (const char* address : {"::", "0.0.0.0"}) {
    if (any) Append(NumericEndpoints(address, port), endpoints);
  }
  if (endpoints.empty()) endpoints = NumericEndpoints(host, port);
  if (endpoints.empty()) endpoints = SystemLookUp(host, port, reason);
  for (const Endpoint& endpoint : endpoints) {
    Socket socket = Open(endpoint);
    SetOption(socket.fd(), SOL_SOCKET, SO_REUSEADDR, 1);
    if (endpoint.address.ss_family == AF_INET6) {
      SetOption(socket.fd(), IPPROTO_IPV6, IPV6_V6ONLY, any ? 0 : 1);
    }
    Endpoint bound;
    bound.size = sizeof bound.address;
    if (socket.valid() && bind(socket.fd(), Raw(endpoint), endpoint.size) == 0 &&
        listen(socket.fd(), kBacklog) == 0 &&
        getsockname(socket.fd(), Raw(bound), &bound.size) == 0) {
      return {std::move(socket), ShowAddress(bound)};
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
  Endpoint endpoint;
  endpoint.size = sizeof endpoint.address;
  Socket socket(
      accept4(listener.socket.fd(), Raw(endpoint), &endpoint.size, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (socket.valid()) {
    TuneConnection(socket.fd());
    remote = ShowAddress(endpoint);
  }
  return socket;
}

bool IsOutOfDescriptors(int error) { return error == EMFILE || error == ENFILE; }

void RequireDescriptors(int error) {
  if (!IsOutOfDescriptors(error)) return;
  throw Error(ErrorCode::kUsage,
              fmt::format("no more connections may be open {}",
                          error == EMFILE ? "in this process" : "on this machine"),
              "Raise the limit on open files: ulimit -n shows and sets it.");
}

Socket StartConnect(const Endpoint& endpoint, std::string& reason) {
  Socket socket = Open(endpoint);
  if (socket.valid() &&
      (connect(socket.fd(), Raw(endpoint), endpoint.size) == 0 || errno == EINPROGRESS)) {
    TuneConnection(socket.fd());
    return socket;
  }
  RequireDescriptors(errno);
  reason = std::strerror(errno);
  return {};
}

std::string ConnectFailure(const Socket& socket) {
  int error = 0;
  socklen_t size = sizeof error;
  if (getsockopt(socket.fd(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
  return error == 0 ? "" : std::strerror(error);
}

}  // namespace partita::net
