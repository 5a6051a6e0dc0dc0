#include "net/https.h"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

namespace partita::net {
namespace {

constexpr std::string_view kConnectionLabel = "EXPORTER-partita-https-connection";
constexpr char kHttpsCipherSuites[] =
    "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256";
// A chain of one self-signed certificate is all that anybody shows.
constexpr long kMaxChainBytes = 4096;

void CheckContext(long result, const char* what) {
  if (result > 0) return;
  ERR_clear_error();
  throw Error(ErrorCode::kInternal, fmt::format("OpenSSL cannot {}", what));
}

}  // namespace

HttpResponse TextResponse(unsigned status, std::string_view text) {
  const ByteView bytes = AsBytes(text);
  HttpResponse response;
  response.status = status;
  response.body.assign(bytes.begin(), bytes.end());
  return response;
}

std::string BodyText(const HttpResponse& response) {
  return {response.body.begin(), response.body.end()};
}

ConnectionName NameConnection(ssl_st& connection) {
  ConnectionName name{};
  CheckContext(
      SSL_export_keying_material(&connection, name.data(), name.size(), kConnectionLabel.data(),
                                 kConnectionLabel.size(), nullptr, 0, 0),
      "export keying material");
  return name;
}

std::shared_ptr<ssl_ctx_st> MakeHttpsContext(const crypto::Identity* identity) {
  std::shared_ptr<SSL_CTX> context(SSL_CTX_new(TLS_method()), SSL_CTX_free);
  CheckContext(context != nullptr, "make a TLS context");
  SSL_CTX* raw = context.get();
  CheckContext(SSL_CTX_set_min_proto_version(raw, TLS1_3_VERSION), "require TLS 1.3");
  CheckContext(SSL_CTX_set_max_proto_version(raw, TLS1_3_VERSION), "require TLS 1.3");
  CheckContext(SSL_CTX_set_ciphersuites(raw, kHttpsCipherSuites), "choose cipher suites");
  CheckContext(SSL_CTX_set1_groups_list(raw, "X25519:P-256"), "choose key exchange groups");
  SSL_CTX_set_options(raw, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                               SSL_OP_CIPHER_SERVER_PREFERENCE);
  CheckContext(SSL_CTX_set_num_tickets(raw, 0), "switch tickets off");
  SSL_CTX_set_session_cache_mode(raw, SSL_SESS_CACHE_OFF);
  CheckContext(SSL_CTX_set_max_early_data(raw, 0), "switch early data off");
  SSL_CTX_set_max_cert_list(raw, kMaxChainBytes);
  if (identity != nullptr) {
    CheckContext(SSL_CTX_use_certificate(raw, identity->certificate.get()), "use the certificate");
    CheckContext(SSL_CTX_use_PrivateKey(raw, identity->key.get()), "use the private key");
  }
  return context;
}

}  // namespace partita::net
