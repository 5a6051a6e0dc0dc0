#include "net/https_session.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <boost/asio/post.hpp>

namespace partita::net {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;

using Response = http::response<http::vector_body<uint8_t>>;
using std::chrono::milliseconds;

// After a refusal: how long, and how much, of what the client still sends is read, so that it sees
// the answer.
constexpr milliseconds kLinger{2000};
constexpr size_t kLingerBytes = size_t{4} << 20;
constexpr size_t kBytesPerSecond = size_t{1} << 16;
// Read from a connection at once, beyond what a header may take.
constexpr size_t kReadBytes = size_t{1} << 16;
constexpr unsigned kRetrySeconds = 1;
constexpr size_t kBytesOfNetwork = 8;  // of an IPv6 address

std::string NetworkOf(const asio::ip::address& address) {
  if (address.is_v4()) return address.to_v4().to_string();
  const asio::ip::address_v6 ipv6 = address.to_v6();
  if (ipv6.is_v4_mapped()) return asio::ip::make_address_v4(asio::ip::v4_mapped, ipv6).to_string();
  const auto bytes = ipv6.to_bytes();
  return {bytes.begin(), bytes.begin() + kBytesOfNetwork};
}

}  // namespace

// Closes the connection unless its step was done.
class HttpsSession::Turn {
 public:
  explicit Turn(std::shared_ptr<HttpsSession> session) : session_(std::move(session)) {}
  ~Turn() {
    if (done_) return;
    // Also dropped by a server that is gone.
    const std::lock_guard lock(session_->door_->mutex);
    if (session_->door_->open) session_->Close();
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  HttpsSession& session() { return *session_; }
  void SetDone() { done_ = true; }

 private:
  std::shared_ptr<HttpsSession> session_;
  bool done_ = false;
};

template <class Act>
struct HttpsSession::Completion {
  void operator()(beast::error_code error, size_t size = 0) {
    act(turn->session(), error, size);
    turn->SetDone();
  }
  std::shared_ptr<Turn> turn;
  Act act;
};

template <class Act>
HttpsSession::Completion<Act> HttpsSession::Step(Act act) {
  return {std::make_shared<Turn>(shared_from_this()), std::move(act)};
}

HttpsSession::HttpsSession(tcp::socket socket, HttpsCore& core, std::shared_ptr<HttpsDoor> door,
                           std::shared_ptr<const void> place)
    : place_(std::move(place)),
      core_(core),
      door_(std::move(door)),
      stream_(std::move(socket), *core.tls),
      buffer_(core.limits.header_bytes + kReadBytes) {
  beast::error_code ignored;
  const auto endpoint = lowest().socket().remote_endpoint(ignored);
  remote_ = endpoint.address().to_string(ignored) + ":" + std::to_string(endpoint.port());
  network_ = NetworkOf(endpoint.address());
  lowest().socket().set_option(tcp::no_delay(true), ignored);
}

void HttpsSession::Start() {
  lowest().expires_after(core_.limits.handshake);
  stream_.async_handshake(asio::ssl::stream_base::server,
                          Step([](HttpsSession& self, beast::error_code error, size_t) {
                            if (error) {
                              ++self.core_.handshakes;
                              return self.Close();
                            }
                            self.NotePeer();
                            self.Read();
                          }));
}

void HttpsSession::Hurry() {
  asio::post(stream_.get_executor(), [self = shared_from_this()] {
    if (self->reading_ && !self->parser_->got_some() && self->buffer_.size() == 0) {
      self->lowest().cancel();
    }
  });
}

void HttpsSession::Drop() {
  beast::error_code ignored;
  lowest().socket().close(ignored);
}

void HttpsSession::Answer(uint64_t request, HttpResponse answer) {
  if (request != request_ || reading_) return;
  ++request_;
  Write(std::move(answer), parser_->get().keep_alive() && !core_.stopping);
}

void HttpsSession::NotePeer() {
  connection_ = NameConnection(*stream_.native_handle());
  X509* certificate = SSL_get1_peer_certificate(stream_.native_handle());
  if (certificate == nullptr) return;
  certificate_ = {certificate, X509_free};
  fingerprint_ = crypto::Fingerprint(*certificate);
}

void HttpsSession::Read() {
  if (core_.stopping) return Shutdown();
  parser_.emplace();
  parser_->header_limit(core_.limits.header_bytes);
  parser_->body_limit(core_.limits.body_bytes);
  lowest().expires_after(core_.limits.request);
  reading_ = true;
  http::async_read_header(stream_, buffer_, *parser_,
                          Step([](HttpsSession& self, beast::error_code error, size_t) {
                            if (!error && !self.parser_->is_done()) return self.ReadBody();
                            self.reading_ = false;
                            error ? self.RefuseRead(error) : self.Handle();
                          }));
}

void HttpsSession::ReadBody() {
  std::optional<HttpResponse> refusal;
  const uint64_t length = parser_->content_length().value_or(0);
  if (parser_->chunked()) {
    ++core_.malformed;
    refusal = TextResponse(411, "malformed");
  } else if (parser_->get().count(http::field::content_length) > 1) {
    // Equal ones are one to the parser, and none to whoever looks for the one.
    ++core_.malformed;
    refusal = TextResponse(400, "malformed");
  } else if (core_.screen) {
    refusal = core_.screen(HeaderOf(parser_->get()));
  }
  if (!refusal && !Reserve(length)) {
    ++core_.overloaded;
    refusal = TextResponse(503, "overloaded");
    refusal->retry_after = kRetrySeconds;
  }
  if (refusal) {
    reading_ = false;
    return Write(std::move(*refusal), false);
  }
  http::async_read(stream_, buffer_, *parser_,
                   Step([](HttpsSession& self, beast::error_code error, size_t) {
                     self.reading_ = false;
                     error ? self.RefuseRead(error) : self.Handle();
                   }));
}

bool HttpsSession::Reserve(uint64_t length) {
  const uint64_t before = core_.body_bytes.fetch_add(length);
  reserved_ = length;
  if (before <= core_.limits.all_body_bytes && length <= core_.limits.all_body_bytes - before) {
    return true;
  }
  Release();
  return false;
}

HttpRequest HttpsSession::HeaderOf(const Parser::value_type& message) const {
  HttpRequest request;
  request.method = std::string(message.method_string());
  request.target = std::string(message.target());
  constexpr std::string_view kBearer = "Bearer ";
  const std::string authorization(message[http::field::authorization]);
  if (authorization.starts_with(kBearer)) request.bearer = authorization.substr(kBearer.size());
  request.time = std::string(message[std::string(kTimeHeader)]);
  request.certificate = certificate_;
  request.fingerprint = fingerprint_;
  request.remote = remote_;
  request.connection = connection_;
  for (const auto& field : message) {
    request.headers.push_back(
        {SmallLetters(std::string(field.name_string())), std::string(field.value())});
  }
  return request;
}

void HttpsSession::RefuseRead(beast::error_code error) {
  if (error == beast::error::timeout) {
    ++core_.slow;
    return Close();
  }
  if (error == http::error::end_of_stream) return Shutdown();
  const bool is_http = error.category() == beast::error_code(http::error::body_limit).category() &&
                       error != http::error::partial_message;
  if (!is_http) return Close();
  const bool too_long = error == http::error::body_limit || error == http::error::header_limit ||
                        error == http::error::buffer_overflow;
  ++(too_long ? core_.oversized : core_.malformed);
  Write(error == http::error::body_limit ? TextResponse(413, "oversized")
        : too_long                       ? TextResponse(431, "oversized")
                                         : TextResponse(400, "malformed"),
        false);
}

void HttpsSession::Write(HttpResponse answer, bool keep) {
  auto response = std::make_shared<Response>();
  response->version(11);
  response->result(answer.status);
  response->set(http::field::content_type, answer.content_type);
  if (answer.retry_after > 0) {
    response->set(http::field::retry_after, std::to_string(answer.retry_after));
  }
  for (const HttpHeader& header : answer.headers) response->insert(header.name, header.value);
  response->body() = std::move(answer.body);
  response->keep_alive(keep);
  response->prepare_payload();
  lowest().expires_after(core_.limits.response +
                         std::chrono::seconds(response->body().size() / kBytesPerSecond));
  http::async_write(stream_, *response,
                    Step([response, keep](HttpsSession& self, beast::error_code error, size_t) {
                      if (error == beast::error::timeout) ++self.core_.slow;
                      if (error) return self.Close();
                      keep ? self.Read() : self.Shutdown();
                    }));
}

void HttpsSession::Shutdown() {
  lowest().expires_after(kLinger);
  stream_.async_shutdown(Step([](HttpsSession& self, beast::error_code, size_t) {
    beast::error_code ignored;
    self.lowest().socket().shutdown(tcp::socket::shutdown_send, ignored);
    self.lowest().expires_after(kLinger);
    self.Discard(0);
  }));
}

void HttpsSession::Discard(size_t so_far) {
  if (so_far >= kLingerBytes) return Close();
  lowest().async_read_some(asio::buffer(discarded_),
                           Step([so_far](HttpsSession& self, beast::error_code error, size_t size) {
                             error ? self.Close() : self.Discard(so_far + size);
                           }));
}

void HttpsSession::Close() {
  beast::error_code ignored;
  lowest().socket().close(ignored);
  ERR_clear_error();
  Release();
  core_.Forget(this);
}

// An answer that somebody owes; dropped, it is an apology.
class HttpsSession::Pending {
 public:
  Pending(const std::shared_ptr<HttpsSession>& session, std::shared_ptr<HttpsDoor> door,
          uint64_t request)
      : session_(session), door_(std::move(door)), request_(request) {}
  ~Pending() {
    if (!called_.exchange(true)) Send(TextResponse(500, "failed"));
  }
  Pending(const Pending&) = delete;
  Pending& operator=(const Pending&) = delete;

  void Answer(HttpResponse answer) {
    if (!called_.exchange(true)) Send(std::move(answer));
  }

 private:
  void Send(HttpResponse answer) {
    const std::lock_guard lock(door_->mutex);
    if (!door_->open) return;
    const std::shared_ptr<HttpsSession> session = session_.lock();
    if (session == nullptr) return;
    asio::post(session->stream_.get_executor(),
               [session, request = request_, answer = std::move(answer)]() mutable {
                 session->Answer(request, std::move(answer));
               });
  }

  std::weak_ptr<HttpsSession> session_;
  std::shared_ptr<HttpsDoor> door_;
  uint64_t request_;
  std::atomic<bool> called_{false};
};

void HttpsSession::Handle() {
  ++core_.requests;
  lowest().expires_never();
  HttpRequest request = HeaderOf(parser_->get());
  request.body = std::move(parser_->get().body());
  auto pending = std::make_shared<Pending>(shared_from_this(), door_, request_);
  HttpReply reply = [pending](HttpResponse answer) { pending->Answer(std::move(answer)); };
  pending.reset();
  try {
    core_.handler(std::move(request), std::move(reply));
  } catch (const std::exception&) {
    // The reply was dropped with it, which answers.
  }
  Release();
}

void HttpsCore::Forget(HttpsSession* session) {
  const std::lock_guard lock(mutex);
  sessions.erase(session);
  if (sessions.empty()) empty.notify_all();
}

}  // namespace partita::net
