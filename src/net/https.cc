#include "net/https.h"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include <algorithm>

#include "base/error.h"
#include "base/trim.h"

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

std::string SmallLetters(std::string_view name) {
  std::string small(name);
  for (char& letter : small) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  return small;
}

std::optional<std::string> HeaderValue(const std::vector<HttpHeader>& headers,
                                       std::string_view name) {
  std::optional<std::string> value;
  for (const HttpHeader& header : headers) {
    if (header.name != name) continue;
    if (value) return std::nullopt;
    value = header.value;
  }
  return value;
}

std::optional<std::string> CookieValue(const std::vector<HttpHeader>& headers,
                                       std::string_view name) {
  std::optional<std::string> value;
  for (const HttpHeader& header : headers) {
    if (header.name != "cookie") continue;
    std::string_view rest = header.value;
    while (!rest.empty()) {
      const size_t end = std::min(rest.find(';'), rest.size());
      const std::string_view pair = Trim(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
      const size_t equals = pair.find('=');
      if (equals == std::string_view::npos || pair.substr(0, equals) != name) continue;
      if (value) return std::nullopt;
      std::string_view text = pair.substr(equals + 1);
      if (text.size() >= 2 && text.front() == '"' && text.back() == '"')
        text = text.substr(1, text.size() - 2);
      value = std::string(text);
    }
  }
  return value;
}

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

std::shared_ptr<ssl_ctx_st> MakeBrowserContext(const std::string& chain_pem,
                                               const std::string& key_pem) {
  using Text = std::unique_ptr<BIO, int (*)(BIO*)>;
  const auto reader = [](const std::string& text) {
    return Text(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), BIO_free);
  };
  const auto fail = [](const char* what) {
    ERR_clear_error();
    throw Error(ErrorCode::kBadInput, fmt::format("{} for browsers {}", what, "cannot be used"),
                "Give PEM: the certificate first, then those of who issued it; the key without a "
                "passphrase.");
  };
  std::shared_ptr<ssl_ctx_st> context = MakeHttpsContext(nullptr);
  const Text chain = reader(chain_pem), key = reader(key_pem);
  const auto next = [&chain] {
    return std::unique_ptr<X509, void (*)(X509*)>(
        PEM_read_bio_X509(chain.get(), nullptr, nullptr, nullptr), X509_free);
  };
  const auto own = next();
  if (own == nullptr || SSL_CTX_use_certificate(context.get(), own.get()) != 1)
    fail("the certificate");
  while (const auto issuer = next()) {
    CheckContext(SSL_CTX_add1_chain_cert(context.get(), issuer.get()), "use a chain");
  }
  ERR_clear_error();  // the end of the text
  // A key under a passphrase would ask for it at the terminal.
  const std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)> secret(
      PEM_read_bio_PrivateKey(
          key.get(), nullptr, [](char*, int, int, void*) { return -1; }, nullptr),
      EVP_PKEY_free);
  if (secret == nullptr || SSL_CTX_use_PrivateKey(context.get(), secret.get()) != 1 ||
      SSL_CTX_check_private_key(context.get()) != 1)
    fail("the key of the certificate");
  return context;
}

}  // namespace partita::net
