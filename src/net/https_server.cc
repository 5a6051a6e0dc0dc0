#include "net/https_server.h"

#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "base/error.h"

namespace partita::net {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;

using Stream = beast::ssl_stream<beast::tcp_stream>;
using Parser = http::request_parser<http::vector_body<uint8_t>>;
using Response = http::response<http::vector_body<uint8_t>>;
using std::chrono::milliseconds;

// After a refusal: how long, and how much, of what the client still sends is read, so that it sees
// the answer.
constexpr milliseconds kLinger{2000};
constexpr size_t kLingerBytes = size_t{1} << 18;
// After an accept that failed (no descriptors left).
constexpr milliseconds kAcceptPause{100};
constexpr size_t kBytesPerSecond = size_t{1} << 16;

// A client's certificate may be unknown here, but not expired, and not of another kind than ours.
int VerifyAny(X509_STORE_CTX* store, void*) {
  bool good = false;
  try {
    const X509& leaf = *X509_STORE_CTX_get0_cert(store);
    const crypto::CertificateInfo info = crypto::Describe(leaf);
    good = !crypto::CertificateProblem(leaf, info.name, info.fingerprint).has_value();
  } catch (const std::exception&) {  // must not cross OpenSSL's frames
  }
  X509_STORE_CTX_set_error(store, good ? X509_V_OK : X509_V_ERR_APPLICATION_VERIFICATION);
  return good ? 1 : 0;
}

class Session;

// What all connections share.
struct Core {
  Core(const HttpsLimits& server_limits, HttpHandler server_handler)
      : limits(server_limits), handler(std::move(server_handler)) {}

  void Forget(Session* session);

  HttpsLimits limits;
  HttpHandler handler;
  asio::io_context io;
  std::unique_ptr<asio::ssl::context> tls;
  std::atomic<bool> stopping{false};
  std::atomic<uint64_t> connections{0}, crowded{0}, handshakes{0}, slow{0}, oversized{0},
      malformed{0}, requests{0};
  std::mutex mutex;
  std::condition_variable empty;
  std::map<Session*, std::shared_ptr<Session>> sessions;
};

// How answers find their way back, also after the server is gone.
struct Door {
  std::mutex mutex;
  bool open = true;  // the server's threads still run
};

// One connection. Everything runs on its strand.
class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(tcp::socket socket, Core& core, std::shared_ptr<Door> door)
      : core_(core), door_(std::move(door)), stream_(std::move(socket), *core.tls) {
    beast::error_code ignored;
    const auto endpoint = lowest().socket().remote_endpoint(ignored);
    remote_ = endpoint.address().to_string(ignored) + ":" + std::to_string(endpoint.port());
    lowest().socket().set_option(tcp::no_delay(true), ignored);
  }

  void Start() {
    lowest().expires_after(core_.limits.handshake);
    stream_.async_handshake(asio::ssl::stream_base::server,
                            [self = shared_from_this()](beast::error_code error) {
                              if (error) {
                                ++self->core_.handshakes;
                                return self->Close();
                              }
                              self->NotePeer();
                              self->Read();
                            });
  }

  // Of a server that stops: a connection that waits for a request ends now.
  void Hurry() {
    asio::post(stream_.get_executor(), [self = shared_from_this()] {
      if (self->reading_ && !self->parser_->got_some() && self->buffer_.size() == 0) {
        self->lowest().cancel();
      }
    });
  }

  // After the server's threads ended: what is queued for the session, and keeps it, never runs.
  void Drop() {
    beast::error_code ignored;
    lowest().socket().close(ignored);
  }

  // Of the answer numbered `request`, once.
  void Answer(uint64_t request, HttpResponse answer) {
    if (request != request_ || reading_) return;
    ++request_;
    Write(std::move(answer), parser_->get().keep_alive() && !core_.stopping);
  }

 private:
  class Pending;

  beast::tcp_stream& lowest() { return beast::get_lowest_layer(stream_); }

  void NotePeer() {
    X509* certificate = SSL_get1_peer_certificate(stream_.native_handle());
    if (certificate == nullptr) return;
    certificate_ = {certificate, X509_free};
    fingerprint_ = crypto::Fingerprint(*certificate);
  }

  void Read() {
    if (core_.stopping) return Shutdown();
    parser_.emplace();
    parser_->header_limit(core_.limits.header_bytes);
    parser_->body_limit(core_.limits.body_bytes);
    lowest().expires_after(core_.limits.request);
    reading_ = true;
    http::async_read(stream_, buffer_, *parser_,
                     [self = shared_from_this()](beast::error_code error, size_t) {
                       self->reading_ = false;
                       error ? self->RefuseRead(error) : self->Handle();
                     });
  }

  void RefuseRead(beast::error_code error) {
    if (error == beast::error::timeout) {
      ++core_.slow;
      return Close();
    }
    if (error == http::error::end_of_stream) return Shutdown();
    const bool is_http =
        error.category() == beast::error_code(http::error::body_limit).category() &&
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

  void Handle();

  void Write(HttpResponse answer, bool keep) {
    auto response = std::make_shared<Response>();
    response->version(11);
    response->result(answer.status);
    response->set(http::field::content_type, answer.content_type);
    if (answer.retry_after > 0) {
      response->set(http::field::retry_after, std::to_string(answer.retry_after));
    }
    response->body() = std::move(answer.body);
    response->keep_alive(keep);
    response->prepare_payload();
    lowest().expires_after(core_.limits.response +
                           std::chrono::seconds(response->body().size() / kBytesPerSecond));
    http::async_write(stream_, *response,
                      [self = shared_from_this(), response, keep](beast::error_code error, size_t) {
                        if (error == beast::error::timeout) ++self->core_.slow;
                        if (error) return self->Close();
                        keep ? self->Read() : self->Shutdown();
                      });
  }

  // The end of what we send, and of what the client sends, if it comes soon.
  void Shutdown() {
    lowest().expires_after(kLinger);
    stream_.async_shutdown([self = shared_from_this()](beast::error_code) {
      beast::error_code ignored;
      self->lowest().socket().shutdown(tcp::socket::shutdown_send, ignored);
      self->lowest().expires_after(kLinger);
      self->Discard(0);
    });
  }

  void Discard(size_t so_far) {
    if (so_far >= kLingerBytes) return Close();
    lowest().async_read_some(asio::buffer(discarded_), [self = shared_from_this(), so_far](
                                                           beast::error_code error, size_t size) {
      error ? self->Close() : self->Discard(so_far + size);
    });
  }

  void Close() {
    beast::error_code ignored;
    lowest().socket().close(ignored);
    ERR_clear_error();
    core_.Forget(this);
  }

  Core& core_;
  std::shared_ptr<Door> door_;
  Stream stream_;
  beast::flat_buffer buffer_;
  std::optional<Parser> parser_;
  std::shared_ptr<x509_st> certificate_;
  std::string fingerprint_, remote_;
  uint64_t request_ = 0;
  bool reading_ = false;
  std::array<char, 4096> discarded_{};
};

// An answer that somebody owes; dropped, it is an apology.
class Session::Pending {
 public:
  Pending(const std::shared_ptr<Session>& session, std::shared_ptr<Door> door, uint64_t request)
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
    const std::shared_ptr<Session> session = session_.lock();
    if (session == nullptr) return;
    asio::post(session->stream_.get_executor(),
               [session, request = request_, answer = std::move(answer)]() mutable {
                 session->Answer(request, std::move(answer));
               });
  }

  std::weak_ptr<Session> session_;
  std::shared_ptr<Door> door_;
  uint64_t request_;
  std::atomic<bool> called_{false};
};

void Session::Handle() {
  ++core_.requests;
  lowest().expires_never();
  auto& message = parser_->get();
  HttpRequest request;
  request.method = std::string(message.method_string());
  request.target = std::string(message.target());
  constexpr std::string_view kBearer = "Bearer ";
  const std::string authorization(message[http::field::authorization]);
  if (authorization.starts_with(kBearer)) request.bearer = authorization.substr(kBearer.size());
  request.time = std::string(message[std::string(kTimeHeader)]);
  request.body = std::move(message.body());
  request.certificate = certificate_;
  request.fingerprint = fingerprint_;
  request.remote = remote_;
  auto pending = std::make_shared<Pending>(shared_from_this(), door_, request_);
  HttpReply reply = [pending](HttpResponse answer) { pending->Answer(std::move(answer)); };
  pending.reset();
  try {
    core_.handler(std::move(request), std::move(reply));
  } catch (const std::exception&) {
    // The reply was dropped with it, which answers.
  }
}

void Core::Forget(Session* session) {
  const std::lock_guard lock(mutex);
  sessions.erase(session);
  if (sessions.empty()) empty.notify_all();
}

}  // namespace

struct HttpsServer::Impl {
  Impl(Listener own, const crypto::Identity& identity, const HttpsLimits& limits,
       HttpHandler handler)
      : address(std::move(own.address)),
        core(limits, std::move(handler)),
        guard(asio::make_work_guard(core.io)),
        acceptor(asio::make_strand(core.io)),
        pause(acceptor.get_executor()) {
    const std::shared_ptr<ssl_ctx_st> made = MakeHttpsContext(&identity);
    SSL_CTX_set_verify(made.get(), SSL_VERIFY_PEER, nullptr);
    SSL_CTX_set_cert_verify_callback(made.get(), VerifyAny, nullptr);
    SSL_CTX_up_ref(made.get());  // asio owns one reference
    core.tls = std::make_unique<asio::ssl::context>(made.get());
    sockaddr_storage bound{};
    socklen_t size = sizeof bound;
    getsockname(own.socket.fd(), reinterpret_cast<sockaddr*>(&bound), &size);
    const int descriptor = dup(own.socket.fd());
    if (descriptor < 0) throw Error(ErrorCode::kInternal, "no descriptor is left to listen on");
    acceptor.assign(bound.ss_family == AF_INET6 ? tcp::v6() : tcp::v4(), descriptor);
    Accept();
  }

  void Accept() {
    acceptor.async_accept(asio::make_strand(core.io),
                          [this](beast::error_code error, tcp::socket socket) {
                            if (core.stopping || error == asio::error::operation_aborted) return;
                            if (!error) {
                              Begin(std::move(socket));
                              return Accept();
                            }
                            pause.expires_after(kAcceptPause);
                            pause.async_wait([this](beast::error_code) { Accept(); });
                          });
  }

  void Begin(tcp::socket socket) {
    ++core.connections;
    std::shared_ptr<Session> session;
    {
      const std::lock_guard lock(core.mutex);
      if (core.sessions.size() >= core.limits.connections) {
        ++core.crowded;
        return;
      }
      session = std::make_shared<Session>(std::move(socket), core, door);
      core.sessions[session.get()] = session;
    }
    session->Start();
  }

  std::string address;
  std::shared_ptr<Door> door = std::make_shared<Door>();
  Core core;
  asio::executor_work_guard<asio::io_context::executor_type> guard;
  tcp::acceptor acceptor;
  asio::steady_timer pause;
  std::vector<std::thread> threads;
};

HttpsServer::HttpsServer(Listener listener, const crypto::Identity& identity,
                         const HttpsLimits& limits, unsigned threads, HttpHandler handler)
    : impl_(std::make_unique<Impl>(std::move(listener), identity, limits, std::move(handler))) {
  for (unsigned i = 0; i < threads; ++i) {
    impl_->threads.emplace_back([core = &impl_->core] { core->io.run(); });
  }
}

HttpsServer::~HttpsServer() { Stop(milliseconds(0)); }

const std::string& HttpsServer::address() const { return impl_->address; }

HttpsServerCounts HttpsServer::Counts() const {
  Core& core = impl_->core;
  HttpsServerCounts counts;
  counts.connections = core.connections;
  counts.crowded = core.crowded;
  counts.handshakes = core.handshakes;
  counts.slow = core.slow;
  counts.oversized = core.oversized;
  counts.malformed = core.malformed;
  counts.requests = core.requests;
  const std::lock_guard lock(core.mutex);
  counts.open = core.sessions.size();
  return counts;
}

void HttpsServer::Stop(milliseconds grace) {
  Core& core = impl_->core;
  if (impl_->threads.empty()) return;
  core.stopping = true;
  asio::post(impl_->acceptor.get_executor(), [impl = impl_.get()] {
    beast::error_code ignored;
    impl->acceptor.close(ignored);
    impl->pause.cancel();
  });
  {
    std::unique_lock lock(core.mutex);
    for (const auto& [raw, session] : core.sessions) session->Hurry();
    core.empty.wait_for(lock, grace, [&] { return core.sessions.empty(); });
  }
  {
    const std::lock_guard lock(impl_->door->mutex);
    impl_->door->open = false;
  }
  core.io.stop();
  for (std::thread& thread : impl_->threads) thread.join();
  impl_->threads.clear();
  const std::lock_guard lock(core.mutex);
  for (const auto& [raw, session] : core.sessions) session->Drop();
  core.sessions.clear();
}

}  // namespace partita::net
