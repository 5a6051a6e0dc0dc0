// An HTTPS client of one pinned server, over one connection that is kept.
#pragma once

#include <chrono>
#include <memory>

#include "base/progress.h"
#include "net/https.h"

namespace partita::net {

struct HttpsPeer {
  std::string name;         // in its certificate; empty: of any party
  std::string address;      // "host:port"
  std::string fingerprint;  // of its certificate
};

class HttpsClient {
 public:
  // identity: what to show; its certificate and key may be empty: nothing. Throws kBadInput for an
  // address without a port.
  HttpsClient(HttpsPeer peer, crypto::Identity identity);
  ~HttpsClient();
  HttpsClient(HttpsClient&&) noexcept;
  HttpsClient& operator=(HttpsClient&&) noexcept;

  // One request and its answer, whatever its status; also one that came before all of the request
  // was sent. Connects if there is no connection; if a kept
  // one proves to be closed, connects once more: requests must be such that twice is as good as
  // once. `timeout` bounds all of it, but for a resolver that hangs. Throws kUnreachable,
  // kUntrusted (not the pinned certificate), kTimeout, kPeerFault (no HTTP, or longer than
  // max_body), kCancelled. The next call then connects anew.
  HttpResponse Send(const HttpRequest& request, std::chrono::milliseconds timeout, size_t max_body,
                    Progress& progress);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace partita::net
