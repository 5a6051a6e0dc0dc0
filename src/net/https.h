// Messages and limits of HTTPS: what both ends of a connection share.
//
// TLS 1.3 alone, certificates pinned by their fingerprint as everywhere in Partita; HTTP/1.1 with
// keep-alive; bodies are bytes of a known length. HTTP itself is Boost.Beast's business, TLS is
// OpenSSL's.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "crypto/certificate.h"

struct ssl_ctx_st;
struct ssl_st;

namespace partita::net {

inline constexpr std::string_view kTimeHeader = "Partita-Time";

// Known to the two ends of one connection, and different for every connection (RFC 8446, section
// 7.5): by it they notice that somebody is in between.
using ConnectionName = std::array<uint8_t, 32>;

struct HttpHeader {
  std::string name;  // in small letters, of what came
  std::string value;

  bool operator==(const HttpHeader&) const = default;
};

struct HttpRequest {
  std::string method;  // "GET", "POST"
  std::string target;  // "/v1/status"
  std::string bearer;  // token of the Authorization header; empty: none
  Bytes body;
  // When the client sends it, by the client's clock (header Partita-Time); empty: not said.
  std::string time = {};
  // Server only: the certificate that the client proved to hold, and its fingerprint; valid today,
  // and otherwise unknown. Null and empty: it showed none.
  std::shared_ptr<x509_st> certificate = nullptr;
  std::string fingerprint = {};
  std::string remote = {};  // address, for the log
  ConnectionName connection = {};
  // As they came; a client sends them beside its own, or instead of those that have their names.
  std::vector<HttpHeader> headers = {};
};

struct HttpResponse {
  unsigned status = 200;
  std::string content_type = "text/plain";
  Bytes body;
  // Seconds after which to try again (503, 429); 0: not said.
  unsigned retry_after = 0;
  // Client only: the connection that it came by, and the certificate that the server proved to hold.
  ConnectionName connection = {};
  std::shared_ptr<x509_st> certificate = nullptr;
  // Beside those of the fields above; what a client got, all of them.
  std::vector<HttpHeader> headers = {};
};

// A header's name as it is kept.
std::string SmallLetters(std::string_view name);
// What stands there; none if the header is not there, or more than once. name: in small letters.
std::optional<std::string> HeaderValue(const std::vector<HttpHeader>& headers,
                                       std::string_view name);
// The value of a cookie (RFC 6265, section 4.2.1), without the quotation marks that it may have; none if
// it is not there, or more than once.
std::optional<std::string> CookieValue(const std::vector<HttpHeader>& headers,
                                       std::string_view name);

HttpResponse TextResponse(unsigned status, std::string_view text);
std::string BodyText(const HttpResponse& response);

// After the handshake. Throws kInternal.
ConnectionName NameConnection(ssl_st& connection);

// The settings of every TLS context here: TLS 1.3, no tickets, no resumption, no early data, no
// renegotiation. identity: null for a client that shows none.
std::shared_ptr<ssl_ctx_st> MakeHttpsContext(const crypto::Identity* identity);
// The same for browsers: certificates as PEM, the own one first, then those of who issued it. Clients are
// not asked for theirs. Throws kBadInput for text that is none, or a key of another certificate.
std::shared_ptr<ssl_ctx_st> MakeBrowserContext(const std::string& chain_pem,
                                               const std::string& key_pem);

}  // namespace partita::net
