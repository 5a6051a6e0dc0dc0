// An HTTPS server for requests that are small and many.
//
// The handler runs on the server's threads and must not block: it answers at once, or hands the
// Reply to somebody who answers later, from any thread. Every bound is a promise about memory and
// time that holds against anybody who can connect: at most `connections` at once, each with at most
// header_bytes + 64 KiB beside its body, bodies of at most body_bytes each and all_body_bytes
// together, each closed unless its handshake and every whole request arrive in time (which also
// bounds how long one may idle, and defeats senders of single bytes). What is not HTTP, of no
// declared length (chunked), too large or too slow never reaches the handler; it is counted.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "net/https.h"
#include "net/socket.h"

namespace partita::net {

struct HttpsLimits {
  size_t body_bytes = size_t{1} << 16;
  uint32_t header_bytes = 8192;
  // Of bodies, as declared, that are read at one time; at least body_bytes.
  uint64_t all_body_bytes = uint64_t{1} << 30;
  size_t connections = 1000;
  // Of one IPv4 address, or of the /64 of an IPv6 address, at once; 0: as many as there are.
  size_t connections_per_address = 0;
  std::chrono::milliseconds handshake{10'000};
  std::chrono::milliseconds request{30'000};  // from the last answer to the end of the next request
  std::chrono::milliseconds response{60'000};  // to take an answer, and 1 s more per 64 KiB
};

struct HttpsServerCounts {
  uint64_t connections = 0;  // accepted so far
  uint64_t open = 0;         // now
  uint64_t crowded = 0;      // closed at once: too many
  uint64_t handshakes = 0;   // that failed
  uint64_t slow = 0;         // closed: not in time
  uint64_t oversized = 0;    // 413 and 431
  uint64_t malformed = 0;    // 400: not HTTP; 411: a body of no declared length
  uint64_t requests = 0;     // that reached the handler
  uint64_t overloaded = 0;   // 503: too much is being read
  uint64_t failures = 0;     // closed: exceptions, such as memory that is not there
  uint64_t body_bytes = 0;   // declared of bodies that are being read now
};

// Answers one request; further calls have no effect. May outlive the server. A request whose Reply
// is dropped without a call is answered with 500.
using HttpReply = std::function<void(HttpResponse)>;
using HttpHandler = std::function<void(HttpRequest, HttpReply)>;
// Sees a request before its body is read (its body is empty), on the server's threads; an answer
// refuses it, and ends the connection. Requests without a body go to the handler at once.
using HttpScreen = std::function<std::optional<HttpResponse>(const HttpRequest&)>;

class HttpsServer {
 public:
  // Serves from now on. A handler that throws is answered with 500. Throws kInternal if TLS cannot
  // be set up. A listener without a socket accepts nothing: see Take.
  HttpsServer(Listener listener, const crypto::Identity& identity, const HttpsLimits& limits,
              unsigned threads, HttpHandler handler, HttpScreen screen = {});
  // With settings of TLS that somebody else made (MakeBrowserContext).
  HttpsServer(Listener listener, const std::shared_ptr<ssl_ctx_st>& tls, const HttpsLimits& limits,
              unsigned threads, HttpHandler handler, HttpScreen screen = {});
  // As Stop with no grace.
  ~HttpsServer();
  HttpsServer(const HttpsServer&) = delete;
  HttpsServer& operator=(const HttpsServer&) = delete;

  const std::string& address() const;  // "host:port"
  HttpsServerCounts Counts() const;

  // Serves a connection that somebody else accepted, and that nothing was read from. From any thread;
  // never blocks. `place` is kept for as long as the connection, and may be null.
  void Take(Socket socket, std::shared_ptr<const void> place);

  // Takes no more connections or requests, lets those that were taken be answered for at most
  // `grace`, and ends the threads. Again: no effect.
  void Stop(std::chrono::milliseconds grace);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace partita::net
