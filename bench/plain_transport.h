// Parties as processes of one host over plain TCP on loopback: what TLS costs is the difference.
// For benchmarks only; the product always encrypts.
#pragma once

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "net/socket.h"
#include "net/transport.h"

namespace partita::mpc::bench {

// One end of a connection.
class PlainStream {
 public:
  explicit PlainStream(net::Socket socket) : socket_(std::move(socket)) {
    const int on = 1;
    setsockopt(socket_.fd(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    net::SetNonBlocking(socket_);
  }
  int fd() const { return socket_.fd(); }
  bool unsent() const { return begin_ != queue_.size(); }

  // A header and what follows it leave together.
  net::Io Write(ByteView bytes) {
    size_t done = 0;
    if (bytes.size() < kDirectBytes) {
      if (queue_.size() - begin_ >= kQueueBytes) Flush();
      if (queue_.size() - begin_ >= kQueueBytes) return {0, closed_};
      queue_.insert(queue_.end(), bytes.begin(), bytes.end());
      return {bytes.size(), closed_};
    }
    while (Flush() && done < bytes.size() && !closed_) {
      const size_t sent = Send(bytes.subspan(done));
      if (sent == 0) break;
      done += sent;
    }
    return {done, closed_};
  }
  bool Flush() {
    while (unsent() && !closed_) {
      const size_t sent = Send(ByteView(queue_).subspan(begin_));
      if (sent == 0) return false;
      begin_ += sent;
    }
    queue_.clear();
    begin_ = 0;
    return true;
  }
  net::Io Read(std::span<uint8_t> out) {
    if (received_begin_ == received_.size() && out.size() < kDirectBytes) {
      received_.resize(kReceiveBytes);
      const net::Io io = Receive(received_);
      received_.resize(io.bytes);
      received_begin_ = 0;
      if (io.bytes == 0) return io;
    }
    const size_t ready = std::min(out.size(), received_.size() - received_begin_);
    if (ready == 0) return Receive(out);
    std::copy_n(received_.begin() + static_cast<ptrdiff_t>(received_begin_), ready, out.begin());
    received_begin_ += ready;
    return {ready, false};
  }

 private:
  static constexpr size_t kDirectBytes = 4096, kQueueBytes = size_t{1} << 16,
                          kReceiveBytes = size_t{1} << 16;

  size_t Send(ByteView bytes) {
    const ssize_t sent = send(socket_.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0) return static_cast<size_t>(sent);
    closed_ = errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR;
    return 0;
  }
  net::Io Receive(std::span<uint8_t> out) {
    const ssize_t count = recv(socket_.fd(), out.data(), out.size(), 0);
    if (count > 0) return {static_cast<size_t>(count), false};
    return {0, count == 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)};
  }

  net::Socket socket_;
  Bytes queue_, received_;
  size_t begin_ = 0, received_begin_ = 0;
  bool closed_ = false;
};

// All connections of a mesh, made before the processes are forked: [party][peer].
using PlainMesh = std::vector<std::vector<std::unique_ptr<PlainStream>>>;

inline PlainMesh MakePlainMesh(size_t count) {
  PlainMesh mesh(count);
  for (auto& row : mesh) row.resize(count);
  const net::Listener listener = net::Listen("127.0.0.1", "0");
  sockaddr_in address{};
  socklen_t size = sizeof address;
  getsockname(listener.socket.fd(), reinterpret_cast<sockaddr*>(&address), &size);
  for (size_t i = 0; i < count; ++i) {
    for (size_t j = i + 1; j < count; ++j) {
      net::Socket near(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), far;
      if (connect(near.fd(), reinterpret_cast<const sockaddr*>(&address), size) != 0) {
        throw Error(ErrorCode::kUnreachable, "cannot connect to a socket of this process");
      }
      std::string remote;
      while (!far.valid()) far = net::Accept(listener, remote);
      mesh[i][j] = std::make_unique<PlainStream>(std::move(near));
      mesh[j][i] = std::make_unique<PlainStream>(std::move(far));
    }
  }
  return mesh;
}

class PlainTransport : public net::Transport {
 public:
  // `secrets`: of every pair, [party][peer], by whoever made the mesh.
  PlainTransport(std::vector<std::unique_ptr<PlainStream>> streams, std::vector<std::string> names,
                 net::PartyIndex self, std::vector<crypto::Key> secrets)
      : streams_(std::move(streams)),
        names_(std::move(names)),
        self_(self),
        secrets_(std::move(secrets)) {}

  net::PartyIndex self() const override { return self_; }
  const std::vector<std::string>& names() const override { return names_; }
  net::Io Write(net::PartyIndex to, ByteView bytes) override { return streams_[to]->Write(bytes); }
  bool Flush(net::PartyIndex to) override { return streams_[to]->Flush(); }
  net::Io Read(net::PartyIndex from, std::span<uint8_t> out) override {
    return streams_[from]->Read(out);
  }
  void Wait(std::span<const net::Interest> interests, std::chrono::nanoseconds timeout) override {
    entries_.clear();
    for (const net::Interest& interest : interests) {
      const int events = (interest.read ? POLLIN : 0) | (interest.write ? POLLOUT : 0);
      entries_.push_back({streams_[interest.peer]->fd(), static_cast<short>(events), 0});
    }
    const timespec limit{timeout.count() / 1'000'000'000, timeout.count() % 1'000'000'000};
    ppoll(entries_.data(), entries_.size(), &limit, nullptr);
  }
  const crypto::Key& PairwiseSecret(net::PartyIndex peer) const override { return secrets_[peer]; }

 private:
  std::vector<std::unique_ptr<PlainStream>> streams_;
  std::vector<std::string> names_;
  net::PartyIndex self_;
  std::vector<crypto::Key> secrets_;
  std::vector<pollfd> entries_;
};

}  // namespace partita::mpc::bench
