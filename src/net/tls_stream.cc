#include "net/tls_stream.h"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace partita::net {
namespace {

constexpr char kExporterLabel[] = "EXPORTER-partita-pairwise-secret";
// AES-128-GCM first: the fastest where the processor has AES instructions.
constexpr char kCipherSuites[] =
    "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256";
constexpr size_t kRecordBytes = size_t{1} << 14;
// Encrypted records are handed to the kernel in pieces of at least kSendBytes; beyond kFullBytes
// nothing more is encrypted until the socket takes some.
constexpr size_t kSendBytes = size_t{1} << 16;
constexpr size_t kFullBytes = size_t{1} << 18;
// Several records per recv.
constexpr size_t kReceiveBytes = size_t{1} << 17;
// Discarded at most when a stream is closed.
constexpr int kDrainReads = 64;

void Check(long result, const char* what) {
  if (result > 0) return;
  ERR_clear_error();
  throw Error(ErrorCode::kInternal, fmt::format("OpenSSL cannot {}", what));
}

// The whole verification: a pinned leaf, its name and its dates. OpenSSL then checks that the peer
// holds the key. Returns 1 to accept.
int VerifyPeer(X509_STORE_CTX* store, void*) {
  const auto* ssl =
      static_cast<SSL*>(X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()));
  auto* check = static_cast<PeerCheck*>(SSL_get_app_data(ssl));
  const X509* leaf = X509_STORE_CTX_get0_cert(store);
  X509_STORE_CTX_set_error(store, X509_V_ERR_APPLICATION_VERIFICATION);
  try {
    const std::string fingerprint = crypto::Fingerprint(*leaf);
    check->problem = fmt::format("its fingerprint is {}, which is not expected here", fingerprint);
    for (PartyIndex i = check->first; i <= check->last; ++i) {
      const RosterEntry& party = (*check->roster)[i];
      if (check->first != check->last && party.fingerprint != fingerprint) continue;
      const auto problem = crypto::CertificateProblem(*leaf, party.name, party.fingerprint);
      check->problem = problem.value_or("");
      if (problem) return 0;
      check->peer = i;
      X509_STORE_CTX_set_error(store, X509_V_OK);
      return 1;
    }
  } catch (const std::exception& error) {  // must not cross OpenSSL's frames
    check->problem = error.what();
  }
  return 0;
}

// What the peer's alert (RFC 8446, section 6) means here.
std::string AlertText(int alert) {
  switch (alert) {
    case SSL_AD_HANDSHAKE_FAILURE:  // what VerifyPeer's refusal becomes
    case SSL_AD_BAD_CERTIFICATE:
    case SSL_AD_UNSUPPORTED_CERTIFICATE:
    case SSL_AD_CERTIFICATE_REVOKED:
    case SSL_AD_CERTIFICATE_EXPIRED:
    case SSL_AD_CERTIFICATE_UNKNOWN:
    case SSL_AD_UNKNOWN_CA:
    case SSL_AD_ACCESS_DENIED:
    case TLS13_AD_CERTIFICATE_REQUIRED:
      return "it does not accept our certificate";
    case SSL_AD_PROTOCOL_VERSION:
      return "it does not speak TLS 1.3";
    default:
      return fmt::format("it ended the connection with TLS alert {}", alert);
  }
}

}  // namespace

// The socket under libssl. Writing never fails for want of room: encrypted bytes queue up here, and
// TlsStream::Write stops making more. So libssl never asks to repeat a write.
struct TlsWire {
  Socket socket;
  Bytes queue;
  size_t queue_begin = 0;
  bool end_of_stream = false;
  bool send_failed = false;
  WireBytes bytes;

  size_t unsent() const { return queue.size() - queue_begin; }

  void Send() {
    while (unsent() != 0 && !send_failed) {
      // MSG_NOSIGNAL: a peer that went away must not kill this process with SIGPIPE.
      const ssize_t sent =
          send(socket.fd(), queue.data() + queue_begin, unsent(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent >= 0) {
        queue_begin += static_cast<size_t>(sent);
        bytes.sent += static_cast<uint64_t>(sent);
      } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
        break;
      } else if (errno != EINTR) {
        send_failed = true;
      }
    }
    if (unsent() == 0 || send_failed) {
      queue.clear();
      queue_begin = 0;
    } else if (queue_begin >= kFullBytes) {
      queue.erase(queue.begin(), queue.begin() + static_cast<ptrdiff_t>(queue_begin));
      queue_begin = 0;
    }
  }
};

namespace {

int WireWrite(BIO* bio, const char* data, int size) {
  auto* wire = static_cast<TlsWire*>(BIO_get_data(bio));
  BIO_clear_retry_flags(bio);
  try {
    const auto* bytes = reinterpret_cast<const uint8_t*>(data);
    wire->queue.insert(wire->queue.end(), bytes, bytes + size);
  } catch (const std::exception&) {
    return -1;
  }
  return size;
}

int WireRead(BIO* bio, char* data, int size) {
  auto* wire = static_cast<TlsWire*>(BIO_get_data(bio));
  BIO_clear_retry_flags(bio);
  ssize_t received = 0;
  do {
    received = recv(wire->socket.fd(), data, static_cast<size_t>(size), MSG_DONTWAIT);
  } while (received < 0 && errno == EINTR);
  if (received < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
    BIO_set_retry_read(bio);
  } else if (received <= 0) {
    wire->end_of_stream = true;
  } else {
    wire->bytes.received += static_cast<uint64_t>(received);
  }
  return static_cast<int>(received);
}

long WireControl(BIO* bio, int command, long, void*) {
  if (command == BIO_CTRL_FLUSH) return 1;  // TlsStream sends after every call
  if (command == BIO_CTRL_EOF) return static_cast<TlsWire*>(BIO_get_data(bio))->end_of_stream;
  return 0;
}

// Built once; libssl's way to describe a kind of stream. Never changed or freed.
const BIO_METHOD* WireMethod() {
  static const BIO_METHOD* const method = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "partita wire");
    Check(made != nullptr, "describe a stream");
    BIO_meth_set_write(made, WireWrite);
    BIO_meth_set_read(made, WireRead);
    BIO_meth_set_ctrl(made, WireControl);
    return made;
  }();
  return method;
}

}  // namespace

std::shared_ptr<ssl_ctx_st> MakeTlsContext(const crypto::Identity& identity) {
  std::shared_ptr<SSL_CTX> context(SSL_CTX_new(TLS_method()), SSL_CTX_free);
  Check(context != nullptr, "make a TLS context");
  SSL_CTX* raw = context.get();
  Check(SSL_CTX_set_min_proto_version(raw, TLS1_3_VERSION), "require TLS 1.3");
  Check(SSL_CTX_set_max_proto_version(raw, TLS1_3_VERSION), "require TLS 1.3");
  Check(SSL_CTX_set_ciphersuites(raw, kCipherSuites), "choose cipher suites");
  Check(SSL_CTX_set1_groups_list(raw, "X25519:P-256"), "choose key exchange groups");
  SSL_CTX_set_options(raw, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                               SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_IGNORE_UNEXPECTED_EOF);
  Check(SSL_CTX_set_num_tickets(raw, 0), "switch tickets off");
  SSL_CTX_set_session_cache_mode(raw, SSL_SESS_CACHE_OFF);
  Check(SSL_CTX_set_max_early_data(raw, 0), "switch early data off");
  SSL_CTX_set_mode(raw, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_read_ahead(raw, 1);
  SSL_CTX_set_default_read_buffer_len(raw, kReceiveBytes);
  SSL_CTX_set_verify(raw, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  SSL_CTX_set_cert_verify_callback(raw, VerifyPeer, nullptr);
  Check(SSL_CTX_use_certificate(raw, identity.certificate.get()), "use the certificate");
  Check(SSL_CTX_use_PrivateKey(raw, identity.key.get()), "use the private key");
  return context;
}

TlsStream::TlsStream(ssl_ctx_st& context, Socket socket, Side side, PeerCheck& check,
                     uint64_t records_per_key, const std::string& server_name)
    : wire_(std::make_unique<TlsWire>()),
      ssl_(SSL_new(&context), SSL_free),
      records_per_key_(records_per_key) {
  wire_->socket = std::move(socket);
  BIO* bio = BIO_new(WireMethod());
  Check(ssl_ != nullptr && bio != nullptr, "make a TLS connection");
  BIO_set_data(bio, wire_.get());
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl_.get(), bio, bio);
  SSL_set_app_data(ssl_.get(), &check);
  if (!server_name.empty()) {
    Check(SSL_set_tlsext_host_name(ssl_.get(), server_name.c_str()), "ask for a server name");
  }
  side == Side::kClient ? SSL_set_connect_state(ssl_.get()) : SSL_set_accept_state(ssl_.get());
}

TlsStream::~TlsStream() {
  if (established_ && !broken_) SSL_shutdown(ssl_.get());
  ERR_clear_error();
  wire_->Send();
  shutdown(wire_->socket.fd(), SHUT_WR);
  // Unread bytes would turn the close into a reset, which may overtake what we sent last.
  std::array<char, 4096> discarded{};
  for (int i = 0; i < kDrainReads; ++i) {
    if (recv(wire_->socket.fd(), discarded.data(), discarded.size(), MSG_DONTWAIT) <= 0) break;
  }
}

WireBytes TlsStream::wire_bytes() const { return wire_->bytes; }

int TlsStream::fd() const { return wire_->socket.fd(); }
bool TlsStream::unsent() const { return wire_->unsent() != 0; }

bool TlsStream::Flush() {
  wire_->Send();
  return !unsent();
}

// Notes why libssl gave up after `result`.
void TlsStream::Fail(int result) {
  broken_ = true;
  const int kind = SSL_get_error(ssl_.get(), result);
  const unsigned long code = ERR_peek_last_error();
  if (kind == SSL_ERROR_SSL && code != 0) {
    const int alert = ERR_GET_REASON(code) - SSL_AD_REASON_OFFSET;
    refused_ = alert >= 0;
    damaged_ = established_ && !refused_;
    failure_ = refused_   ? AlertText(alert)
               : damaged_ ? "a part of it fails its check"
                          : "it did not answer as Partita does, by TLS 1.3";
  } else {
    failure_ = "it closed the connection";
  }
  ERR_clear_error();
}

TlsStream::Waiting TlsStream::Look() {
  if (broken_) return Waiting::kEnd;
  ERR_clear_error();
  uint8_t byte = 0;
  size_t seen = 0;
  const int result = SSL_peek_ex(ssl_.get(), &byte, 1, &seen);
  if (result == 1) return Waiting::kBytes;
  const int kind = SSL_get_error(ssl_.get(), result);
  if (kind == SSL_ERROR_WANT_READ) return Waiting::kNothing;
  if (kind != SSL_ERROR_ZERO_RETURN) Fail(result);
  return Waiting::kEnd;
}

bool TlsStream::HungUp() const {
  pollfd entry{fd(), POLLRDHUP, 0};
  return poll(&entry, 1, 0) > 0;
}

TlsStream::Progress TlsStream::Handshake() {
  ERR_clear_error();
  const int result = SSL_do_handshake(ssl_.get());
  const bool pending = result != 1 && SSL_get_error(ssl_.get(), result) == SSL_ERROR_WANT_READ;
  if (result != 1 && !pending) Fail(result);
  wire_->Send();  // also an alert that tells the peer why
  if (pending) return wire_->send_failed ? Progress::kFailed : Progress::kPending;
  established_ = result == 1;
  return established_ ? Progress::kDone : Progress::kFailed;
}

Io TlsStream::Write(ByteView bytes) {
  size_t done = 0;
  while (done < bytes.size() && !broken_) {
    if (wire_->unsent() >= kSendBytes) wire_->Send();
    if (wire_->unsent() >= kFullBytes || wire_->send_failed) break;
    if (++records_ % records_per_key_ == 0) {
      SSL_key_update(ssl_.get(), SSL_KEY_UPDATE_NOT_REQUESTED);
    }
    ERR_clear_error();
    size_t written = 0;
    const size_t size = std::min(kRecordBytes, bytes.size() - done);
    const int result = SSL_write_ex(ssl_.get(), bytes.data() + done, size, &written);
    if (result != 1) Fail(result);
    done += written;
  }
  return {done, broken_ || wire_->send_failed};
}

Io TlsStream::Read(std::span<uint8_t> out) {
  if (broken_) return {0, true};
  ERR_clear_error();
  size_t received = 0;
  const int result = SSL_read_ex(ssl_.get(), out.data(), out.size(), &received);
  if (result == 1) return {received, false};
  const int kind = SSL_get_error(ssl_.get(), result);
  if (kind == SSL_ERROR_WANT_READ) return {0, false};
  if (kind != SSL_ERROR_ZERO_RETURN) Fail(result);
  return {0, true};
}

crypto::Key TlsStream::ExportSecret() const { return ExportKey(kExporterLabel); }

crypto::Key TlsStream::ExportKey(std::string_view label) const {
  crypto::Key secret;
  Check(SSL_export_keying_material(ssl_.get(), secret.Expose().data(), secret.Expose().size(),
                                   label.data(), label.size(), nullptr, 0, 0),
        "export keying material");
  return secret;
}

}  // namespace partita::net
