#include "net/https_client.h"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>

#include "base/clock.h"
#include "net/roster.h"

namespace partita::net {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;

using Stream = beast::ssl_stream<beast::tcp_stream>;
using Request = http::request<http::vector_body<uint8_t>>;
using Parser = http::response_parser<http::vector_body<uint8_t>>;

// Between looks at Progress.
constexpr auto kClientSlice = std::chrono::milliseconds(50);
constexpr uint32_t kHeaderBytes = 8192;

// What the handshake has to find, and why it did not.
struct Pin {
  HttpsPeer peer;
  std::string problem;
};

// Called inside the handshake. Returns 1 to accept; OpenSSL then checks that the peer holds the
// key.
int VerifyPin(X509_STORE_CTX* store, void* argument) {
  auto* pin = static_cast<Pin*>(argument);
  try {
    const X509& shown = *X509_STORE_CTX_get0_cert(store);
    std::string name = pin->peer.name;
    if (name.empty()) name = crypto::Describe(shown).name;
    const auto problem = crypto::CertificateProblem(shown, name, pin->peer.fingerprint);
    pin->problem = problem.value_or("");
  } catch (const std::exception& error) {  // must not cross OpenSSL's frames
    pin->problem = error.what();
  }
  X509_STORE_CTX_set_error(store,
                           pin->problem.empty() ? X509_V_OK : X509_V_ERR_APPLICATION_VERIFICATION);
  return pin->problem.empty() ? 1 : 0;
}

}  // namespace

struct HttpsClient::Impl {
  Impl(HttpsPeer peer, crypto::Identity own)
      : pin{std::move(peer), {}},
        address(ParseAddress(pin.peer.address)),
        identity(std::move(own)) {
    const std::shared_ptr<ssl_ctx_st> made = MakeHttpsContext(identity.key ? &identity : nullptr);
    SSL_CTX_set_verify(made.get(), SSL_VERIFY_PEER, nullptr);
    SSL_CTX_set_cert_verify_callback(made.get(), VerifyPin, &pin);
    SSL_CTX_up_ref(made.get());  // asio owns one reference
    context = std::make_unique<asio::ssl::context>(made.get());
  }

  // Runs until the started operation has set `finished`, or throws.
  void Run(Deadline deadline, Progress& progress) {
    while (!finished) {
      io->restart();
      io->run_for(std::min<std::chrono::milliseconds>(kClientSlice, deadline.remaining()));
      if (finished) break;
      progress.CheckCancelled();
      if (deadline.passed()) {
        throw Error(ErrorCode::kTimeout,
                    fmt::format("{} at {} did not answer in time", pin.peer.name, pin.peer.address),
                    "Try again later, or ask those who run it.");
      }
    }
    finished = false;
  }

  // A handler that notes the outcome. Operations that are given up die with `io`.
  auto Done() {
    return [this](beast::error_code code, auto&&...) {
      error = code;
      finished = true;
    };
  }

  [[noreturn]] void FailConnect() {
    const std::string who = fmt::format("{} at {}", pin.peer.name, pin.peer.address);
    if (!pin.problem.empty()) {
      throw Error(ErrorCode::kUntrusted,
                  fmt::format("{} is not who it should be: {}", who, pin.problem),
                  "Compare the fingerprint with those who run it, over another way.");
    }
    throw Error(ErrorCode::kUnreachable, fmt::format("cannot reach {}: {}", who, error.message()),
                "Check that it runs, the address and the firewall.");
  }

  void Connect(Deadline deadline, Progress& progress) {
    Disconnect();
    io = std::make_unique<asio::io_context>(1);
    stream = std::make_unique<Stream>(*io, *context);
    pin.problem.clear();
    asio::ip::tcp::resolver resolver(*io);
    asio::ip::tcp::resolver::results_type endpoints;
    resolver.async_resolve(
        address.host, address.port,
        [&](beast::error_code code, asio::ip::tcp::resolver::results_type found) {
          error = code;
          endpoints = std::move(found);
          finished = true;
        });
    Run(deadline, progress);
    if (error) FailConnect();
    beast::get_lowest_layer(*stream).async_connect(endpoints, Done());
    Run(deadline, progress);
    if (error) FailConnect();
    beast::get_lowest_layer(*stream).socket().set_option(asio::ip::tcp::no_delay(true), error);
    stream->async_handshake(asio::ssl::stream_base::client, Done());
    Run(deadline, progress);
    if (error) FailConnect();
    connected = true;
  }

  void Disconnect() {
    connected = false;
    finished = false;
    stream.reset();
    io.reset();
    buffer.clear();
    ERR_clear_error();
  }

  // False if a kept connection turned out to be closed before any of the answer came.
  bool TryExchange(const Request& request, Parser& parser, size_t max_body, bool kept,
                   Deadline deadline, Progress& progress) {
    http::async_write(*stream, request, Done());
    Run(deadline, progress);
    // Also if not all of it could be sent: a server that refuses a request answers and closes
    // before it has read the rest, and the answer is here then.
    http::async_read_header(*stream, buffer, parser, Done());
    Run(deadline, progress);
    // Nothing of a body is taken in that has no length, or too long a one.
    if (!error && parser.content_length_remaining().value_or(max_body + 1) > max_body) {
      throw Error(
          ErrorCode::kPeerFault,
          fmt::format("{} sent an answer that is too long, or of no known length", pin.peer.name),
          "Ask those who run it to update Partita.");
    }
    if (!error) {
      http::async_read(*stream, buffer, parser, Done());
      Run(deadline, progress);
    }
    if (!error) return true;
    if (kept && !parser.got_some()) return false;
    const std::string who = fmt::format("{} at {}", pin.peer.name, pin.peer.address);
    // The category of HTTP: what came was no answer, or too long.
    if (error.category() == http::make_error_code(http::error::end_of_stream).category() &&
        error != http::error::end_of_stream && error != http::error::partial_message) {
      throw Error(ErrorCode::kPeerFault,
                  fmt::format("{} sent what is no answer: {}", who, error.message()),
                  "Ask those who run it to update Partita.");
    }
    throw Error(ErrorCode::kUnreachable,
                fmt::format("the connection to {} broke: {}", who, error.message()),
                "Try again; it may be full, or about to stop.");
  }

  Pin pin;
  Address address;
  crypto::Identity identity;
  std::unique_ptr<asio::ssl::context> context;
  std::unique_ptr<asio::io_context> io;
  std::unique_ptr<Stream> stream;
  beast::flat_buffer buffer;
  beast::error_code error;
  bool finished = false, connected = false;
};

HttpsClient::HttpsClient(HttpsPeer peer, crypto::Identity identity)
    : impl_(std::make_unique<Impl>(std::move(peer), std::move(identity))) {}
HttpsClient::~HttpsClient() {
  if (impl_) impl_->Disconnect();
}
HttpsClient::HttpsClient(HttpsClient&&) noexcept = default;
HttpsClient& HttpsClient::operator=(HttpsClient&&) noexcept = default;

HttpResponse HttpsClient::Send(const HttpRequest& request, std::chrono::milliseconds timeout,
                               size_t max_body, Progress& progress) {
  const Deadline deadline = Deadline::After(timeout);
  Request message(http::string_to_verb(request.method), request.target, 11);
  message.set(http::field::host, impl_->pin.peer.address);
  if (!request.bearer.empty()) message.set(http::field::authorization, "Bearer " + request.bearer);
  if (!request.time.empty()) message.set(std::string(kTimeHeader), request.time);
  for (const HttpHeader& header : request.headers) message.set(header.name, header.value);
  message.body() = request.body;
  message.prepare_payload();
  try {
    for (;;) {
      const bool kept = impl_->connected;
      if (!kept) impl_->Connect(deadline, progress);
      Parser parser;
      parser.header_limit(kHeaderBytes);
      parser.body_limit(max_body);
      if (!impl_->TryExchange(message, parser, max_body, kept, deadline, progress)) {
        impl_->Disconnect();
        continue;
      }
      const bool keep = parser.get().keep_alive();
      HttpResponse response;
      response.status = parser.get().result_int();
      response.content_type = std::string(parser.get()[http::field::content_type]);
      for (const auto& field : parser.get())
        response.headers.push_back(
            {SmallLetters(std::string(field.name_string())), std::string(field.value())});
      response.body = std::move(parser.get().body());
      response.connection = NameConnection(*impl_->stream->native_handle());
      response.certificate = {SSL_get1_peer_certificate(impl_->stream->native_handle()), X509_free};
      if (!keep) impl_->Disconnect();
      return response;
    }
  } catch (...) {
    impl_->Disconnect();
    throw;
  }
}

}  // namespace partita::net
