// TCP sockets: an owned descriptor, listening, connecting.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "net/resolver.h"

namespace partita::net {

// A file descriptor, closed on destruction.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int fd) : fd_(fd) {}
  ~Socket();
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }

  int fd() const { return fd_; }
  bool valid() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

// A socket that accepts connections. Bound before the roster is written where ports are chosen by
// the system (simulate, tests), so that nobody else can take the port in between.
struct Listener {
  Socket socket;
  std::string address;  // "host:port" with the actual port
};

// host may be a name (then its first address that belongs to this machine counts) or an address;
// port "0" lets the system choose. "", "0.0.0.0" and "::" all stand for every address of this
// machine, of IPv6 and IPv4 alike, or of IPv4 alone where the system has no IPv6. Asks the resolver
// for a name, and waits for it. Throws kUnreachable.
Listener Listen(const std::string& host, const std::string& port);
// For a descriptor that another program opened.
void SetNonBlocking(const Socket& socket);
// The next waiting connection, non-blocking and ready for use; invalid if there is none. `remote`
// becomes its address.
Socket Accept(const Listener& listener, std::string& remote);
// Whether `error` says that no more files and connections may be open; throws kUsage then.
bool IsOutOfDescriptors(int error);
void RequireDescriptors(int error);
// How soon a connection notices that the other host went away without a word: in a minute, or as
// runs have it, which outlast an interruption of ten.
void NoticeLoss(int fd, bool soon);
// Begins to connect without blocking; invalid with a reason on failure. Throws as
// RequireDescriptors.
Socket StartConnect(const Endpoint& endpoint, std::string& reason);
// After the socket became writable: empty if it is connected, else the reason.
std::string ConnectFailure(const Socket& socket);

}  // namespace partita::net
