// One connection of an HTTPS server, and what all of them share. Only https_server.cc needs this.
#pragma once

#include <array>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "net/https_server.h"

namespace partita::net {

class HttpsSession;

// What all connections share.
struct HttpsCore {
  HttpsCore(const HttpsLimits& server_limits, HttpHandler server_handler, HttpScreen server_screen)
      : limits(server_limits),
        handler(std::move(server_handler)),
        screen(std::move(server_screen)) {}

  void Forget(HttpsSession* session);

  HttpsLimits limits;
  HttpHandler handler;
  HttpScreen screen;
  boost::asio::io_context io;
  std::unique_ptr<boost::asio::ssl::context> tls;
  std::atomic<bool> stopping{false};
  std::atomic<uint64_t> connections{0}, crowded{0}, handshakes{0}, slow{0}, oversized{0},
      malformed{0}, requests{0}, overloaded{0}, failures{0}, body_bytes{0};
  std::mutex mutex;
  std::condition_variable empty;
  std::map<HttpsSession*, std::shared_ptr<HttpsSession>> sessions;
};

// How answers find their way back, also after the server is gone.
struct HttpsDoor {
  std::mutex mutex;
  bool open = true;  // the server's threads still run
};

// One connection. Everything runs on its strand.
class HttpsSession : public std::enable_shared_from_this<HttpsSession> {
 public:
  // place: kept for as long as the session; may be null.
  HttpsSession(boost::asio::ip::tcp::socket socket, HttpsCore& core,
               std::shared_ptr<HttpsDoor> door, std::shared_ptr<const void> place);

  void Start();

  // What counts as the other end's one address: an IPv4 address, or the /64 of an IPv6 address.
  const std::string& network() const { return network_; }

  // Of a server that stops: a connection that waits for a request ends now.
  void Hurry();

  // After the server's threads ended: what is queued for the session, and keeps it, never runs.
  void Drop();

  // Of the answer numbered `request`, once.
  void Answer(uint64_t request, HttpResponse answer);

 private:
  using Stream = boost::beast::ssl_stream<boost::beast::tcp_stream>;
  using Parser = boost::beast::http::request_parser<boost::beast::http::vector_body<uint8_t>>;

  class Pending;
  class Turn;
  template <class Act>
  struct Completion;

  // The handler of an operation: calls `act` with its outcome. If the operation ends without an
  // outcome, or `act` throws, the connection is closed.
  template <class Act>
  Completion<Act> Step(Act act);

  boost::beast::tcp_stream& lowest() { return boost::beast::get_lowest_layer(stream_); }

  void NotePeer();

  void Read();

  // After the header of a request that has a body. What is refused here is never read.
  void ReadBody();

  // False if the bodies of all connections together would be too long.
  bool Reserve(uint64_t length);
  void Release() { core_.body_bytes -= std::exchange(reserved_, 0); }

  HttpRequest HeaderOf(const Parser::value_type& message) const;

  void RefuseRead(boost::beast::error_code error);

  void Handle();

  void Write(HttpResponse answer, bool keep);

  // The end of what we send, and of what the client sends, if it comes soon.
  void Shutdown();

  void Discard(size_t so_far);

  void Close();

  std::shared_ptr<const void> place_;  // given back last
  HttpsCore& core_;
  std::shared_ptr<HttpsDoor> door_;
  Stream stream_;
  boost::beast::flat_buffer buffer_;
  std::optional<Parser> parser_;
  std::shared_ptr<x509_st> certificate_;
  std::string fingerprint_, remote_, network_;
  ConnectionName connection_{};
  uint64_t request_ = 0;
  bool reading_ = false;
  uint64_t reserved_ = 0;  // of core_.body_bytes
  std::array<char, 4096> discarded_{};
};

}  // namespace partita::net
