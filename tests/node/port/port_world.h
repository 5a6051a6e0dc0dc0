// A port of a test, with what it hands on, and clients that send what they like.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "net/roster.h"
#include "node/port/one_port.h"
#include "node/port/pass_socket.h"

namespace partita::node {

// Long enough for any machine: only a failure waits for it.
inline constexpr std::chrono::seconds kPatience{60};

// A port that keeps what is the node's, and tells when its counts are as wanted.
class PortWorld {
 public:
  explicit PortWorld(const std::string& host, GateLimits limits = {},
                     std::set<AddressKey> known = {}) {
    OnePortOptions options;
    options.listener = net::Listen("127.0.0.1", "0");
    options.host = host;
    options.limits = limits;
    options.known = std::move(known);
    options.serve = [this](net::Arrival arrival, std::shared_ptr<const void> place) {
      const std::lock_guard lock(mutex_);
      served_.push_back(std::move(arrival));
      places_.push_back(std::move(place));
      changed_.notify_all();
    };
    options.changed = [this](const OnePortCounts& counts) {
      const std::lock_guard lock(mutex_);
      counts_ = counts;
      changed_.notify_all();
    };
    port_ = std::make_unique<OnePort>(std::move(options));
  }
  ~PortWorld() { port_ = nullptr; }

  OnePort& port() { return *port_; }
  const std::string& address() const { return port_->address(); }

  // The counts, once `wanted` holds of them.
  template <class Wanted>
  OnePortCounts WaitFor(Wanted wanted) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, kPatience, [&] { return wanted(counts_); })) {
      throw Error(ErrorCode::kInternal, "the port did not come to what was waited for");
    }
    return counts_;
  }
  // The next connection that is the node's.
  net::Arrival TakeServed() {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, kPatience, [&] { return !served_.empty(); })) {
      throw Error(ErrorCode::kInternal, "nothing was handed to the node");
    }
    net::Arrival first = std::move(served_.front());
    served_.erase(served_.begin());
    return first;
  }
  void DropPlaces() {
    std::vector<std::shared_ptr<const void>> dropped;
    const std::lock_guard lock(mutex_);
    dropped.swap(places_);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  OnePortCounts counts_;
  std::vector<net::Arrival> served_;
  std::vector<std::shared_ptr<const void>> places_;
  std::unique_ptr<OnePort> port_;
};

inline bool WaitReadable(int fd) {
  pollfd entry{fd, POLLIN, 0};
  const auto limit = std::chrono::milliseconds(kPatience).count();
  return poll(&entry, 1, static_cast<int>(limit)) > 0;
}

// A blocking connection; `from` is the address that it comes from, of 127.0.0.0/8.
inline net::Socket Call(const std::string& where, const std::string& from = "127.0.0.1") {
  const net::Address to = net::ParseAddress(where);
  net::Socket socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in own{}, other{};
  own.sin_family = other.sin_family = AF_INET;
  inet_pton(AF_INET, from.c_str(), &own.sin_addr);
  inet_pton(AF_INET, to.host.c_str(), &other.sin_addr);
  other.sin_port = htons(static_cast<uint16_t>(std::stoi(to.port)));
  const timeval limit{kPatience.count(), 0};
  setsockopt(socket.fd(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  const int now = 1;
  setsockopt(socket.fd(), IPPROTO_TCP, 1 /* TCP_NODELAY */, &now, sizeof now);
  if (bind(socket.fd(), reinterpret_cast<sockaddr*>(&own), sizeof own) != 0 ||
      connect(socket.fd(), reinterpret_cast<sockaddr*>(&other), sizeof other) != 0) {
    throw Error(ErrorCode::kInternal, "the test cannot connect");
  }
  return socket;
}

inline void SendAll(const net::Socket& socket, ByteView bytes) {
  if (send(socket.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(bytes.size())) {
    throw Error(ErrorCode::kInternal, "the test cannot send");
  }
}

// Whether the other end closed without a word; waits for it.
inline bool IsClosed(const net::Socket& socket) {
  char byte = 0;
  const ssize_t size = recv(socket.fd(), &byte, 1, 0);
  return size == 0 || (size < 0 && errno == ECONNRESET);
}

// What can be read from a non-blocking socket until `size` bytes are there.
inline Bytes ReceiveAll(int fd, size_t size) {
  Bytes bytes(size);
  size_t done = 0;
  while (done < size && WaitReadable(fd)) {
    const ssize_t got = recv(fd, bytes.data() + done, size - done, MSG_DONTWAIT);
    if (got <= 0) break;
    done += static_cast<size_t>(got);
  }
  bytes.resize(done);
  return bytes;
}

// The next connection that a job gets.
inline net::Arrival TakePassed(net::SocketSource& source) {
  for (;;) {
    std::optional<net::Arrival> arrival = source.Next();
    if (arrival) return std::move(*arrival);
    if (!WaitReadable(source.fd())) throw Error(ErrorCode::kInternal, "nothing was passed");
  }
}

}  // namespace partita::node
