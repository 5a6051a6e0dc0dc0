#include "net/https_server.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <thread>
#include <vector>

#include "base/error.h"
#include "net/https_session.h"

namespace partita::net {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using asio::ip::tcp;

using std::chrono::milliseconds;

// After an accept that failed (no descriptors left).
constexpr milliseconds kAcceptPause{100};

// An owned copy of the socket for asio, which closes it.
int Duplicate(const Socket& socket) { return fcntl(socket.fd(), F_DUPFD_CLOEXEC, 0); }

tcp FamilyOf(const Socket& socket) {
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  getsockname(socket.fd(), reinterpret_cast<sockaddr*>(&bound), &size);
  return bound.ss_family == AF_INET6 ? tcp::v6() : tcp::v4();
}

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

// Of parties: who shows a certificate proves to hold it.
std::shared_ptr<ssl_ctx_st> MakePartyContext(const crypto::Identity& identity) {
  std::shared_ptr<ssl_ctx_st> context = MakeHttpsContext(&identity);
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_cert_verify_callback(context.get(), VerifyAny, nullptr);
  return context;
}

}  // namespace

struct HttpsServer::Impl {
  Impl(Listener own, const std::shared_ptr<ssl_ctx_st>& tls, const HttpsLimits& limits,
       HttpHandler handler, HttpScreen screen)
      : address(std::move(own.address)),
        core(limits, std::move(handler), std::move(screen)),
        guard(asio::make_work_guard(core.io)),
        acceptor(asio::make_strand(core.io)),
        pause(acceptor.get_executor()) {
    SSL_CTX_up_ref(tls.get());  // asio owns one reference
    core.tls = std::make_unique<asio::ssl::context>(tls.get());
    if (!own.socket.valid()) return;
    const int descriptor = Duplicate(own.socket);
    if (descriptor < 0) throw Error(ErrorCode::kInternal, "no descriptor is left to listen on");
    acceptor.assign(FamilyOf(own.socket), descriptor);
    Accept();
  }

  void Accept() {
    acceptor.async_accept(asio::make_strand(core.io),
                          [this](beast::error_code error, tcp::socket socket) {
                            if (core.stopping || error == asio::error::operation_aborted) return;
                            if (!error) {
                              try {
                                Begin(std::move(socket), nullptr);
                              } catch (const std::exception&) {
                                ++core.failures;
                              }
                              return Accept();
                            }
                            pause.expires_after(kAcceptPause);
                            pause.async_wait([this](beast::error_code) { Accept(); });
                          });
  }

  void Take(const Socket& socket, std::shared_ptr<const void> place) {
    const int descriptor = Duplicate(socket);
    if (descriptor < 0) {
      ++core.failures;
      return;
    }
    tcp::socket taken(asio::make_strand(core.io));
    taken.assign(FamilyOf(socket), descriptor);
    asio::post(acceptor.get_executor(),
               [this, taken = std::move(taken), place = std::move(place)]() mutable {
                 if (!core.stopping) Begin(std::move(taken), std::move(place));
               });
  }

  void Begin(tcp::socket socket, std::shared_ptr<const void> place) {
    ++core.connections;
    std::shared_ptr<HttpsSession> session;
    {
      const std::lock_guard lock(core.mutex);
      if (core.sessions.size() >= core.limits.connections) {
        ++core.crowded;
        return;
      }
      session = std::make_shared<HttpsSession>(std::move(socket), core, door, std::move(place));
      if (IsFull(*session)) {
        ++core.crowded;
        return;
      }
      core.sessions[session.get()] = session;
    }
    session->Start();
  }

  // Whether its address has as many connections as it may.
  bool IsFull(const HttpsSession& session) const {
    const size_t most = core.limits.connections_per_address;
    if (most == 0) return false;
    const auto same = std::count_if(
        core.sessions.begin(), core.sessions.end(),
        [&](const auto& entry) { return entry.second->network() == session.network(); });
    return static_cast<size_t>(same) >= most;
  }

  // One thread of the server. What a connection throws ends that connection only.
  void Serve() {
    for (;;) {
      try {
        core.io.run();
        return;
      } catch (const std::exception&) {
        ++core.failures;
      }
    }
  }

  std::string address;
  std::shared_ptr<HttpsDoor> door = std::make_shared<HttpsDoor>();
  HttpsCore core;
  asio::executor_work_guard<asio::io_context::executor_type> guard;
  tcp::acceptor acceptor;
  asio::steady_timer pause;
  std::vector<std::thread> threads;
};

HttpsServer::HttpsServer(Listener listener, const crypto::Identity& identity,
                         const HttpsLimits& limits, unsigned threads, HttpHandler handler,
                         HttpScreen screen)
    : HttpsServer(std::move(listener), MakePartyContext(identity), limits, threads,
                  std::move(handler), std::move(screen)) {}

HttpsServer::HttpsServer(Listener listener, const std::shared_ptr<ssl_ctx_st>& tls,
                         const HttpsLimits& limits, unsigned threads, HttpHandler handler,
                         HttpScreen screen)
    : impl_(std::make_unique<Impl>(std::move(listener), tls, limits, std::move(handler),
                                   std::move(screen))) {
  for (unsigned i = 0; i < threads; ++i) {
    impl_->threads.emplace_back([impl = impl_.get()] { impl->Serve(); });
  }
}

HttpsServer::~HttpsServer() { Stop(milliseconds(0)); }

const std::string& HttpsServer::address() const { return impl_->address; }

void HttpsServer::Take(Socket socket, std::shared_ptr<const void> place) {
  impl_->Take(socket, std::move(place));
}

HttpsServerCounts HttpsServer::Counts() const {
  HttpsCore& core = impl_->core;
  HttpsServerCounts counts;
  counts.connections = core.connections;
  counts.crowded = core.crowded;
  counts.handshakes = core.handshakes;
  counts.slow = core.slow;
  counts.oversized = core.oversized;
  counts.malformed = core.malformed;
  counts.requests = core.requests;
  counts.overloaded = core.overloaded;
  counts.failures = core.failures;
  counts.body_bytes = core.body_bytes;
  const std::lock_guard lock(core.mutex);
  counts.open = core.sessions.size();
  return counts;
}

void HttpsServer::Stop(milliseconds grace) {
  HttpsCore& core = impl_->core;
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
